"""A process that warms up, serves every kind of query, and prints which kernels it had to compile after all."""

import importlib
import pkgutil
from random import Random

import numpy as np

from psoup.engine import kernels
from psoup.engine.aggregates.aggregated import aggregated
from psoup.engine.aggregates.groups import grouped
from psoup.engine.clauses import grouped_filter, locator
from psoup.engine.engine import warm_up
from psoup.engine.invocation.position.answer import Request
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize
from psoup.engine.query.values.expression import AggregateFunction
from psoup.engine.tuples.batch import DTYPES, Column
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from tests.engine.aggregates.reference import call_of, functions_of
from tests.strategies import EPOCH_US
from tests.world import World

SCHEMA = StreamSchema(
    "s",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("a", ColumnType.INT64),
        ColumnSchema("x", ColumnType.FLOAT64),
        ColumnSchema("t", ColumnType.STRING),
        ColumnSchema("b", ColumnType.BOOL),
        ColumnSchema("wide", ColumnType.INT64),
    ),
    "ts",
    ClockKind.HIGH_WATER,
)
WHERES = [
    "TRUE",
    "a > 3 AND a < 9 AND x >= 0.5",
    "a IS NULL OR a = 2 OR a > 90",
    "x < 0.25 OR x > 0.75",
    "t = 'v3'",
    "t >= 'v5' AND b",
    "NOT b AND wide > 7",
    "wide BETWEEN 5 AND 10000000000",
    "ts > TIMESTAMP '2024-01-01 00:00:01'",
    "a + 1 > 5",
    "a < 5 AND t LIKE '%7%' AND a * 2 < x",
    *(f"a = {i} AND wide > {i}" for i in range(12)),
    *(f"t = 'v{i}'" for i in range(12)),
]
JOINS = [
    "SELECT p.a FROM s AS p, s AS q WHERE p.wide = q.wide AND p.t = 'v3'",
    "SELECT p.a FROM s AS p, s AS q WHERE p.t = q.t AND p.wide < 200000000000000000 AND q.a = 3 AND q.x < 0.1",
    "SELECT p.a FROM s AS p, s AS q WHERE p.t = q.t AND p.x = q.x AND p.b AND (p.a > 3 OR q.a > 3)",
    "SELECT p.a FROM s AS p, s AS q WHERE ABS(p.wide - q.wide) < 1000000000000 AND NOT p.b",
    (
        "SELECT p.a FROM s AS p, s AS q WHERE p.ts BETWEEN q.ts AND q.ts + INTERVAL '0.000002' SECOND"
        " AND p.a + 1 < q.a AND p.x < 0.2"
    ),
    "SELECT p.a FROM s AS p, s AS q, s AS r WHERE p.wide = q.wide AND q.wide = r.wide AND p.x < q.x",
    "SELECT p.a FROM s AS p, s AS q WHERE p.x = q.a AND p.b = q.b",
    "SELECT p.a FROM s AS p, s AS q WHERE p.x < q.x AND p.a = 7 AND q.a = 8",
    (
        "SELECT p.a, COUNT(*), SUM(p.x), SUM(q.x), AVG(q.wide), MAX(q.x), MIN(q.t), MEDIAN(p.wide)"
        " FROM s AS p, s AS q WHERE p.a = q.a AND q.x < 0.1 AND p.t < 'v3' GROUP BY p.a BEGIN (NOW - 60) END (NOW)"
    ),
    (
        "SELECT COUNT(*), SUM(p.x), SUM(q.wide), BOOL_OR(q.b) FROM s AS p, s AS q"
        " WHERE p.wide < q.wide AND p.a = 7 AND q.a = 8"
    ),
]


GROUPS = [
    "SELECT COUNT(*), SUM(x), SUM(wide), MAX(x), MIN(ts) FROM s",
    "SELECT t, COUNT(x), AVG(x), MIN(x), MAX(a) FROM s GROUP BY t BEGIN (NOW - 60) END (NOW)",
]


def compiled():
    """Return all kernels with the types of arguments that they are compiled for."""
    found = set()
    for module in pkgutil.iter_modules(kernels.__path__):
        named = vars(importlib.import_module(f"{kernels.__name__}.{module.name}"))
        for name, value in named.items():
            if hasattr(value, "py_func"):
                found |= {f"{module.name}.{name}{types}" for types in value.signatures}
    return found


def rows(count, rng):
    """Return tuples: narrow whole numbers and wide ones, NULLs among them."""
    return [
        {
            "ts": EPOCH_US + i,
            "a": rng.choice([None, rng.randrange(100)]),
            "x": rng.choice([None, rng.random()]),
            "t": rng.choice([None, f"v{rng.randrange(9)}"]),
            "b": rng.choice([None, True, False]),
            "wide": rng.randrange(2**60),
        }
        for i in range(count)
    ]


def aggregate_all() -> None:
    """Compute every aggregate of every type, grouped by narrow keys, by wide ones, in order, and not at all."""
    count = 500
    rng = np.random.default_rng(1)
    wide = rng.integers(-(2**62), 2**62, count) * (np.arange(count) > 1)
    keyed = [[], [Column(ColumnType.INT64, wide)], [Column(ColumnType.INT64, wide % 5)]]
    ids = np.arange(count)
    for kind, dtype in DTYPES.items():
        some = rng.integers(0, 2, count)
        values = (
            some if kind is not ColumnType.FLOAT64 else np.ldexp(rng.normal(size=count), wide % 900)
        )
        column = Column(kind, values.astype(dtype), some > 0, ("a", "b"))
        for keys in (*keyed, [column]):
            groups = grouped(keys, count)
            for function in functions_of(kind):
                for distinct in (False, True):
                    call = call_of(function, kind, distinct=distinct)
                    columns = [column] * len(call.arguments)
                    aggregated(call, columns, None, groups=groups, times=ids, tuple_ids=ids)
    close = Column(ColumnType.FLOAT64, rng.normal(size=count))
    for keys in keyed:
        call = call_of(AggregateFunction.SUM, ColumnType.FLOAT64)
        aggregated(call, [close], None, groups=grouped(keys, count), times=ids, tuple_ids=ids)


def main() -> None:
    """Serve queries that come before their tuples and after, invoked in all their forms."""
    warm_up()
    before = compiled()
    aggregate_all()
    for recent_max, compared_max in ((1_024, 24), (2, 0)):
        grouped_filter.RECENT_SLOTS_MAX = recent_max  # type: ignore[misc]
        locator.COMPARED_BOUNDS_MAX = compared_max  # type: ignore[misc]
        grouped_filter.PIVOT_VALUES_MIN = 3  # type: ignore[misc]
        world, rng = World(), Random(recent_max)
        world.declare(SCHEMA)
        for turn in range(3):
            for number, where in enumerate(WHERES):
                kept = list(Materialize)[(turn + number) % len(Materialize)]
                sql = f"SELECT a, t FROM s WHERE {where}"
                query_id = world.register(sql, materialize=kept)
                world.invoke(query_id, limit=10_000)
            for sql in GROUPS:
                query_id = world.register(sql)
                for _ in range(2):
                    world.page(query_id, Request(10_000))
            for number, sql in enumerate(JOINS):
                kept = list(Materialize)[(turn + number) % len(Materialize)]
                query_id = world.register(sql, materialize=kept)
                world.page(query_id, Request(10_000))
                world.page(query_id, Request(1, count_only=True))
            world.append("s", rows(CHUNK_ROWS + 500, rng))
    print("\n".join(sorted(compiled() - before)))  # noqa: T201 - this is what it is run for


if __name__ == "__main__":
    main()
