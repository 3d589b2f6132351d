r"""A standing query as Spark SQL that must answer the same: one text over tables of the same tuples.

A table holds what a stream keeps, or an archive of it: its columns, `_id` (BIGINT, the tuple's id) and, where the
stream dates tuples by their arrival, `_arrival` (TIMESTAMP). The translation starts from the syntax of the text: it
looks names up and tells types apart, and evaluates nothing. Where psoup means something else than Spark SQL in ANSI
mode (decision record 0005), it says so in Spark's words:

- Arithmetic of BIGINT without a result is NULL, an error there: `try_add`, `try_subtract`, `try_multiply`, `try_mod`.
- `-x` and `ABS(x)` of the least integer are NULL, an error there: `nullif(x, the least)` below the sign.
- Division and remainder by zero are NULL, an error there: `try_divide`, `try_mod`.
- A DOUBLE that would be infinite is NULL, Infinity there: `nullif` with both infinities around each operation.
- An instant outside the years 1 to 9999 is NULL, goes on to 294247 there: `least` or `greatest` with the first one
  outside, and `nullif` with that.
- A number without point is a BIGINT and any other a DOUBLE, INT and DECIMAL there: `5L`, `2.5D`.
- IN compares each option by itself, brings all to one type there: a DOUBLE beside BIGINTs becomes `OR x = 2.5D`.
- LIKE has no escape unless ESCAPE names one, which takes any character; a backslash there, and that before `%`, `_`
  and itself alone: each of these three that is meant gets a backslash.
- A backslash in a literal is one, an escape there: two.
- A time needs no seconds, and its offset may be any; there it does, and up to 18 hours: seconds are added, and the
  offset is an interval.
- A string beside a TIMESTAMP is a literal of one, a cast there: `TIMESTAMP '...'`.
- NULL alone is a BOOLEAN, else of the type beside it; VOID, or DOUBLE in `abs`, there: `CAST(NULL AS ...)`.
- BEGIN-END and `[RANGE r]`, which there are none of: conditions on the time of each stream, both ends inclusive.
- DISTINCT shows equal rows as the earliest one until the last one leaves, any of them there: `GROUP BY`, `min` of time
  and ids, `max` of the time of leaving.
- Names are taken exactly, then but for capitals: looked up here, and written in backticks.

The rest means the same there: three-valued logic, BETWEEN, `/` and `%`, the order of text (by code point) and of
booleans, `0.0 = -0.0`, an integer beside a DOUBLE, joins and what stands behind their ON.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.rows_alone import check_rows_alone
from psoup.engine.query.hops import Hops
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.syntax import OutputSyntax, StarSyntax
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.tuples.schema import ColumnType, StreamId, StreamSchema
from psoup.pipeline.spark.sql.sources import (
    ID,
    JoinedSources,
    joined_sources,
    least_sql,
)
from psoup.pipeline.spark.sql.terms import interval_sql, name_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAVES: Final = "_x"

SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.variable.substitute": "false",  # ${...} in a string literal is text
}
"""What a session has to be set to for the texts made here to mean what they say."""


@dataclass(frozen=True, slots=True)
class SparkQuery:
    """A standing query at one NOW, in Spark SQL.

    Attributes:
        rows: SELECT of the answer's rows in no order: `time` (TIMESTAMP, of the row's earliest tuple), `ids`
            (ARRAY<BIGINT>, of its tuples in FROM order), `leaves` (TIMESTAMP; NULL: never), and one column for
            each output, `c0`, `c1` and so on.
        outputs: name and type of each.
    """

    rows: str
    outputs: tuple[tuple[str, ColumnType], ...]

    @property
    def text(self) -> str:
        """Return the SELECT of the answer as psoup returns it: `_id`, `_x` and the named outputs, sorted."""
        shown = [
            f"concat_ws('-', CAST(ids AS ARRAY<STRING>)) AS {name_sql(ID)}",
            f"leaves AS {name_sql(LEAVES)}",
            *(f"c{i} AS {name_sql(name)}" for i, (name, _) in enumerate(self.outputs)),
        ]
        # The qualifier tells them from outputs that are named so.
        order = "ORDER BY answer.time, answer.ids"
        return " ".join(["SELECT", ", ".join(shown), "FROM", f"({self.rows}) AS answer", order])


def agreeing(session: "SparkSession") -> "SparkSession":
    """Return a session of the same Spark context with SETTINGS, and temporary views of its own."""
    own = session.newSession()
    for name, value in SETTINGS.items():
        own.conf.set(name, value)
    return own


def spark_query(
    text: str,
    schemas: Sequence[StreamSchema],
    *,
    now_us: int,
    tables: Mapping[str, str] | None = None,
    in_buckets: bool = False,
) -> SparkQuery:
    """Translate a query to Spark SQL, for a session that is `agreeing`.

    Args:
        text: the query.
        schemas: of its streams; others are ignored.
        now_us: NOW, in microseconds.
        tables: by stream, the table in FROM: a view, a table, or a query in brackets. Default: the table with the
            stream's name.
        in_buckets: whether time-band joins get additional equalities (`time_buckets`). The answer is the same, but
            Spark need not compare all pairs of tuples.

    Raises:
        SqlError: psoup refuses the text, or it groups, orders or limits rows, or has row windows or a
            LEFT JOIN.
        UntranslatedError: a function of which Spark cannot be made to say what it means (`calls.py`).
    """
    streams = {schema.name: (StreamId(i), schema) for i, schema in enumerate(schemas, start=1)}
    bound = bind(text, streams)
    check_rows_alone(
        text,
        bound,
        detail="Groups, order, limits, LEFT JOIN and row windows are not translated to Spark SQL.",
        remedy="translate SELECT ... FROM ... WHERE alone, and aggregate its rows in Spark",
    )
    syntax = parse(text)
    joined = joined_sources(
        syntax, bound, schemas, now_us=now_us, tables=tables, in_buckets=in_buckets
    )
    named = bound.shape.outputs
    shown = [sql for entry in syntax.outputs for sql in _shown(entry, joined)]
    listed = [f"{sql} AS c{i}" for i, (sql, _) in enumerate(zip(shown, named, strict=True))]
    rows = f"SELECT {', '.join([*_ids(joined, bound.window.hops), *listed])} {joined.sql}"
    if syntax.distinct:
        rows = _distinct(rows, len(named))
    return SparkQuery(rows, tuple((output.name, output.type) for output in named))


def _ids(joined: JoinedSources, hops: Hops | None) -> list[str]:
    """Return the columns of a row besides its outputs: time, ids, and when it leaves, a hop where NOW hops."""
    leaving = [
        f"{time} + {interval_sql(source.window.reach_us + 1)}"
        for time, source in zip(joined.times, joined.sources, strict=True)
        if source.window.reach_us is not None
    ]
    leaves = least_sql(leaving) if leaving else "CAST(NULL AS TIMESTAMP)"
    if leaving and hops is not None:
        us = f"unix_micros({leaves})"
        leaves = f"timestamp_micros({us} + pmod({hops.align_us} - {us}, {hops.every_us}))"
    ids = ", ".join(joined.ids)
    return [f"{least_sql(joined.times)} AS time", f"array({ids}) AS ids", f"{leaves} AS leaves"]


def _shown(entry: OutputSyntax, joined: JoinedSources) -> list[str]:
    """Return the output columns of one entry of the select list: several for a `*`."""
    if not isinstance(entry.what, StarSyntax):
        return [joined.expression(entry.what)]
    starred = [one.expression for one in joined.scope.all_columns(entry.what.qualifier)]
    return [joined.column(one) for one in starred if isinstance(one, ColumnRef)]  # all of them are


def _distinct(rows: str, count: int) -> str:
    """Return one row for equal rows: with time and ids of the earliest one, it leaves when the last one does.

    Values are those of the group, which shows `-0.0` as `0.0`.
    """
    outputs = ", ".join(f"c{i}" for i in range(count))
    listed = f"min(struct(time, ids)) AS earliest, max(leaves) AS leaves, {outputs}"
    grouped = " ".join(["SELECT", listed, "FROM", f"({rows})", "GROUP BY", outputs])
    shown = f"earliest.time, earliest.ids, leaves, {outputs}"
    return " ".join(["SELECT", shown, "FROM", f"({grouped})"])
