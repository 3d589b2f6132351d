"""The hits of a standing query in Spark SQL: the rows to which its shape is applied, with the columns that it reads.

Each hit tells the instants between which the windows show it, as `Window.interval` does, so that hits that the clock
will bring can be told from those that are visible. Row windows and LEFT JOIN (`left_joined.py`) are applied, as they
decide which hits there are.
"""

from collections.abc import Mapping, Sequence

from psoup.engine.query.bind.binder import bind
from psoup.engine.query.text.parser import parse
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.shaping.found_rows import ENTERS, LEAVES, TIME, id_name, value_name
from psoup.engine.tuples.schema import StreamId, StreamSchema
from psoup.pipeline.spark.sql.left_joined import alone_sql
from psoup.pipeline.spark.sql.sources import JoinedSources, joined_sources, least_sql


def hits_sql(
    text: str,
    schemas: Sequence[StreamSchema],
    *,
    now_us: int,
    read: Sequence[ColumnRef],
    is_ahead: bool,
    tables: Mapping[str, str] | None = None,
) -> str:
    """Return a SELECT of the hits of a query, for a session that is `agreeing`: the columns of `found_rows`.

    Args:
        text: the query.
        schemas: of its streams; others are ignored.
        now_us: NOW, in microseconds.
        read: the columns of streams that the hits have.
        is_ahead: whether there are also those that the clock brings though nothing arrives.
        tables: as in `joined_sources`. Those of a query with row windows or a LEFT JOIN hold the tuples as well that
            the clock brings.

    Raises:
        SqlError: psoup refuses the text.
        UntranslatedError: a condition or a partition has a function of which Spark cannot be made to say what it
            means (`calls.py`).
    """
    streams = {schema.name: (StreamId(i), schema) for i, schema in enumerate(schemas, start=1)}
    bound, syntax = bind(text, streams), parse(text)
    looks_ahead = is_ahead or bound.shape.looks_past_hits
    now = f"{bound.window.rounded(now_us)}L"
    joined, unspread = (
        joined_sources(
            syntax,
            bound,
            schemas,
            now_us=now_us,
            tables=tables,
            in_buckets=in_buckets,
            is_ahead=looks_ahead,
        )
        for in_buckets in (True, False)
    )

    def listed(enters: str, leaves: str) -> str:
        return ", ".join(
            [f"{enters} AS {ENTERS}", f"{leaves} AS {LEAVES}", *_columns(joined, read)]
        )

    hits = f"SELECT {listed(joined.enters, joined.leaves)} {joined.sql}"
    if bound.shape.left_join is not None:
        hits += f" UNION ALL {alone_sql(joined, unspread, now, listed)}"
    if not looks_ahead:
        return hits
    shown = f"{ENTERS} <= {now}"
    if is_ahead:
        shown += f" OR {LEAVES} IS NULL OR {ENTERS} < {LEAVES}"
    return " ".join(["SELECT * FROM", f"({hits})", "WHERE", shown])


def _columns(joined: JoinedSources, read: Sequence[ColumnRef]) -> list[str]:
    """Return the columns of a hit besides its instants."""
    times = [f"unix_micros({time})" for time in joined.times]
    return [
        f"{least_sql(times)} AS {TIME}",
        *(f"{sql} AS {id_name(place)}" for place, sql in enumerate(joined.ids)),
        *(f"{joined.column(ref)} AS {value_name(place)}" for place, ref in enumerate(read)),
    ]
