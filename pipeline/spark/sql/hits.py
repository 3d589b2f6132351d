"""The hits of a standing query in Spark SQL: the rows to which its shape is applied, with the columns that it reads.

Each hit tells the instants between which the windows show it, as `Window.interval` does, so that hits that the clock
will bring can be told from those that are visible.
"""

from collections.abc import Mapping, Sequence

from psoup.engine.query.bind.binder import bind
from psoup.engine.query.text.parser import parse
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.query.window import Window, windows_of
from psoup.engine.shaping.found_rows import ENTERS, LEAVES, TIME, id_name, value_name
from psoup.engine.tuples.schema import StreamId, StreamSchema
from psoup.pipeline.spark.sql.sources import joined_sources, least_sql


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
        tables: as in `joined_sources`.

    Raises:
        SqlError: psoup refuses the text.
        UntranslatedError: WHERE has a function of which Spark cannot be made to say what it means (`calls.py`).
    """
    streams = {schema.name: (StreamId(i), schema) for i, schema in enumerate(schemas, start=1)}
    bound = bind(text, streams)
    joined = joined_sources(
        parse(text),
        bound,
        schemas,
        now_us=now_us,
        tables=tables,
        in_buckets=True,
        is_ahead=is_ahead,
    )
    times = [f"unix_micros({time})" for time in joined.times]
    windows = windows_of(bound.window, bound.ranges, len(times))
    dated = list(zip(windows, times, strict=True))
    leaving = [
        _at_hop(window, f"({time} + {window.begin.us + 1}L)")
        for window, time in dated
        if window.begin is not None and window.begin.moving
    ]
    listed = [
        f"{_greatest([_enters(window, time) for window, time in dated])} AS {ENTERS}",
        f"{least_sql(leaving) if leaving else 'CAST(NULL AS BIGINT)'} AS {LEAVES}",
        f"{least_sql(times)} AS {TIME}",
        *(f"{sql} AS {id_name(place)}" for place, sql in enumerate(joined.ids)),
        *(f"{joined.column(ref)} AS {value_name(place)}" for place, ref in enumerate(read)),
    ]
    hits = f"SELECT {', '.join(listed)} {joined.sql}"
    if not is_ahead:
        return hits
    now = bound.window.rounded(now_us)
    shown = f"{ENTERS} <= {now}L OR {LEAVES} IS NULL OR {ENTERS} < {LEAVES}"
    return " ".join(["SELECT * FROM", f"({hits})", "WHERE", shown])


def _enters(window: Window, time: str) -> str:
    offset_us = window.end.us if window.end is not None and window.end.moving else 0
    return _at_hop(window, f"({time} + {offset_us}L)" if offset_us else time)


def _at_hop(window: Window, us: str) -> str:
    """Return the first hop at or after an instant; without hops the instant."""
    hops = window.hops
    return us if hops is None else f"({us} + pmod({hops.align_us}L - {us}, {hops.every_us}L))"


def _greatest(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"greatest({', '.join(terms)})"
