"""What a simulated service is asked to do: declarations, rows and query texts from one seeded generator."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from psoup.engine.limits import SECOND_US
from psoup.engine.query.values.expression import Value
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests.reference_values import Row
from tests.strategies import EPOCH_US, POOLS
from tests.strategies_sql import instant, literal, quoted

KINDS = ("a", "b", "c", "d", "e")
"""Names of a stream's columns, one for each type."""
WIDEST = 9


def schema(rng: Random, name: str) -> StreamSchema:
    """Return a declaration with a column of each type, dated by arrival or by a sixth column."""
    columns = [
        ColumnSchema(column, kind, rng.random() < 0.7)
        for column, kind in zip(KINDS, ColumnType, strict=True)
    ]
    kept = retention(rng)
    if rng.random() < 0.3:
        return StreamSchema(name, tuple(columns), None, ClockKind.SERVER, kept)
    columns.append(ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False))
    clock = rng.choice([ClockKind.HIGH_WATER, ClockKind.HIGH_WATER, ClockKind.SERVER])
    return StreamSchema(name, tuple(columns), "ts", clock, kept)


def retention(rng: Random) -> Retention:
    """Return what a stream keeps: often as much as streams do, else little of one kind."""
    return rng.choice(
        [
            Retention(),
            Retention(),
            Retention(time_us=30 * SECOND_US),
            Retention(rows=rng.randint(1, 60)),
            Retention(bytes=rng.randint(500, 5_000)),
        ]
    )


def with_column(rng: Random, stream: StreamSchema) -> StreamSchema:
    """Return a declaration with one column more, of any type; after WIDEST columns the same."""
    if len(stream.columns) >= WIDEST:
        return stream
    column = ColumnSchema(f"more {len(stream.columns)}", rng.choice(list(ColumnType)))
    return replace(stream, columns=(*stream.columns, column))


def rows(rng: Random, stream: StreamSchema, now_us: int) -> list[Row]:
    """Return a batch around `now_us`: disorder, ties, NULLs, sometimes none at all."""
    count = rng.choice([0, 1, 1, 2, 5, 20])
    return [
        {column.name: _value(rng, column, stream, now_us) for column in stream.columns}
        for _ in range(count)
    ]


def _value(rng: Random, column: ColumnSchema, stream: StreamSchema, now_us: int) -> Value | None:
    if column.name == stream.time:
        return now_us + rng.choice([-40, -10, -3, -1, 0, 0, 0, 1]) * SECOND_US
    if column.nullable and rng.random() < 0.15:
        return None
    often, edges = POOLS[column.type]
    return rng.choice(often * 3 + edges)


def condition(rng: Random, stream: StreamSchema, depth: int = 2) -> str:
    """Return a WHERE over the stream's columns."""
    if depth and rng.random() < 0.5:
        word = rng.choice([" AND ", " OR "])
        parts = [condition(rng, stream, depth - 1) for _ in range(2)]
        return f"({word.join(parts)})"
    if rng.random() < 0.1:
        return f"NOT ({condition(rng, stream, 0)})"
    column = rng.choice(stream.columns)
    name = quoted(column.name)
    often, _ = POOLS[column.type]
    some = [literal(value, column.type) for value in rng.choices(often, k=2)]
    shapes: Sequence[str] = (
        f"{name} {rng.choice(['=', '<>', '<', '<=', '>', '>='])} {some[0]}",
        f"{name} >= {some[0]}",
        f"{name} BETWEEN {some[0]} AND {some[1]}",
        f"{name} IN ({some[0]}, {some[1]})",
        f"{name} IS NULL",
        '"a" % 3 = 1 OR "b" / 2 > 0.25',
        "\"d\" LIKE 'a%'",
        "\"d\" LIKE '%b'",
    )
    return f"({rng.choice(shapes)})"


def window(rng: Random) -> str:
    """Return a window of any kind, or none."""
    reach, delay = rng.choice([5, 20, 60]), rng.choice([0, 3])
    since = f"TIMESTAMP '{instant(EPOCH_US + rng.randint(-20, 60) * SECOND_US)}'"
    until = f"TIMESTAMP '{instant(EPOCH_US + rng.randint(60, 120) * SECOND_US)}'"
    now = "NOW" if delay == 0 else f"NOW - {delay}"
    return rng.choice(
        ["", f"BEGIN ({since}) END ({until})", f"BEGIN ({since}) END ({now})"]
        + [f"BEGIN (NOW - {reach}) END ({now})"] * 2
    )


def query(rng: Random, stream: StreamSchema) -> str:
    """Return a query over the stream."""
    shown = rng.choice(["*", '"a", "d" AS word', '"a" + 1 AS more, "c"', '"b" * 2 AS twice'])
    distinct = "DISTINCT " if rng.random() < 0.2 else ""
    where = f" WHERE {condition(rng, stream)}" if rng.random() < 0.9 else ""
    return f"SELECT {distinct}{shown} FROM {stream.name}{where} {window(rng)}".strip()
