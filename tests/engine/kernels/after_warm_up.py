"""A process that warms up, serves every kind of query, and prints which kernels it had to compile after all."""

import importlib
import pkgutil
from random import Random

from engine import kernels
from engine.engine import warm_up
from engine.limits import CHUNK_ROWS
from engine.log.operation import Materialize
from engine.stems import grouped_filter, locator
from engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
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


def main() -> None:
    """Serve queries that come before their tuples and after, invoked in all their forms."""
    warm_up()
    before = compiled()
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
            world.append("s", rows(CHUNK_ROWS + 500, rng))
    print("\n".join(sorted(compiled() - before)))  # noqa: T201 - this is what it is run for


if __name__ == "__main__":
    main()
