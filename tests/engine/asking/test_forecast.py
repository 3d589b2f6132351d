"""Forecasts: exact where little is held, near where much is; a bound where values decide."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from psoup.engine.asking.forecast import UNKNOWN
from psoup.engine.invocation.position.answer import Request
from psoup.engine.limits import FORECAST_ROWS_MAX, SECOND_US
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from tests import strategies, strategies_sql
from tests.engine.asking.asked import forecast_of
from tests.strategies import EPOCH_US
from tests.world import World

SCHEMA = StreamSchema(
    "s",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("x", ColumnType.INT64),
        ColumnSchema("t", ColumnType.STRING),
    ),
    "ts",
    ClockKind.HIGH_WATER,
)


def row(second: int, x: int = 0, t: str = "") -> dict[str, Any]:
    return {"ts": EPOCH_US + second * SECOND_US, "x": x, "t": t}


def world_of(*rows: dict[str, Any]) -> World:
    world = World()
    world.declare(SCHEMA)
    world.append("s", rows)
    return world


@given(data=st.data())
def test_oracle_forecast_of_a_small_world_is_its_answer(data):
    """Where the sample is everything, the number of rows is that of the answer, and the basis says so."""
    schema = data.draw(strategies.schemas(retention=strategies.retentions()))
    query = data.draw(strategies_sql.queries(schema))
    world = World()
    world.declare(schema)
    for _ in range(2):
        world.append(schema.name, data.draw(strategies.batches(schema)))
    found = forecast_of(world, query.sql)
    assert (found.sampled,) == found.reached
    rows = len(world.invoke(world.register(query.sql)).rows)
    assert found.rows_at_most is not None
    if query.distinct:
        assert found.rows in {None, 0}
        assert rows <= found.rows_at_most
        return
    assert rows == found.rows == found.rows_at_most
    assert found.nbytes == 0 or rows


@pytest.mark.parametrize("share", [0.5, 0.02])
@pytest.mark.parametrize("window", ["", "BEGIN (NOW - 150) END (NOW)"])
def test_forecast_of_much_is_near(share, window):
    """A sample of 65,536 of 300,000 rows tells rows and rate within a tenth, bytes as well."""
    count = 300_000
    chance = np.random.default_rng(7)
    times = EPOCH_US + np.arange(count) * 1_000
    tuples = pa.table(
        {
            "ts": pa.array(times),
            "x": (chance.random(count) >= share).astype(np.int64),
            "t": np.where(np.arange(count) % 2, "ab", "abcd"),
        },
        schema=arrow_schema(SCHEMA),
    )
    world = World()
    world.declare(SCHEMA)
    for first in range(0, count, 100_000):
        world.append_table("s", tuples.slice(first, 100_000))
    sql = f"SELECT x, t FROM s WHERE x = 0 {window}"
    found = forecast_of(world, sql)
    rows = world.page(world.register(sql), Request(limit=1, count_only=True)).count
    assert (FORECAST_ROWS_MAX, 150_001 if window else count) == (
        found.sampled,
        _near(found.reached[0]),
    )
    assert found.rows_at_most == found.reached[0] >= rows
    assert found.rows == pytest.approx(rows, rel=0.1)
    assert found.nbytes == pytest.approx(rows * 11, rel=0.15)
    assert found.matches_per_s == pytest.approx(1_000 * share, rel=0.1)


def _near(reached: int) -> int:
    """Return the rows in reach, rounded where a chunk's edge adds some."""
    return 150_001 if 150_001 <= reached <= 150_001 + 4_096 else reached


def test_forecast_follows_limit_and_offset():
    """What LIMIT cuts is not answered."""
    world = world_of(*(row(second) for second in range(10)))
    assert [10, 3, 7, 0] == [
        forecast_of(world, f"SELECT x FROM s ORDER BY x {end}").rows
        for end in ("", "LIMIT 3", "OFFSET 3", "LIMIT 2 OFFSET 20")
    ]


@pytest.mark.parametrize(
    ("sql", "most"),
    [
        ("SELECT x, COUNT(*) AS n FROM s GROUP BY x", 4),
        ("SELECT x, COUNT(*) AS n FROM s WHERE x > 0 GROUP BY x HAVING COUNT(*) > 1", 3),
        ("SELECT COUNT(*) AS n FROM s HAVING COUNT(*) > 9", 1),
        ("SELECT DISTINCT x FROM s", 4),
        ("SELECT DISTINCT x FROM s LIMIT 3 OFFSET 2", 2),
        ("SELECT x FROM s [ROWS 2]", 2),
        ("SELECT x FROM s [PARTITION BY x ROWS 1]", 4),
    ],
)
def test_forecast_of_rows_that_values_decide_has_a_bound(sql, most):
    """How many groups there are is not told by a sample; that rows are no fewer is, and the rate of matches."""
    world = world_of(row(0), row(2, 1), row(4, 1), row(8, 2))
    found = forecast_of(world, sql)
    assert (None, None, most) == (found.rows, found.nbytes, found.rows_at_most)
    assert found.matches_per_s is not None
    assert len(world.invoke(world.register(sql)).rows) <= most


@pytest.mark.parametrize(
    "source", ["s", "s AS a, s AS b WHERE a.x = b.x BEGIN (NOW - 5) END (NOW)"]
)
@pytest.mark.parametrize("rows", [0, 3])
def test_forecast_of_one_group_of_all_rows_is_one_row(source, rows):
    """Also where no row is in it, and no NOW yet, as it is answered."""
    world = world_of(*(row(second) for second in range(rows)))
    sql = f"SELECT COUNT(*) AS n FROM {source}"
    found = forecast_of(world, sql)
    assert (1, 1) == (found.rows, found.rows_at_most)
    assert 1 == len(world.invoke(world.register(sql)).rows)


@pytest.mark.parametrize(
    ("sql", "reached", "most"),
    [
        ("SELECT a.x FROM s AS a, s AS b WHERE a.x = b.x BEGIN (NOW - 5) END (NOW)", (4, 4), 16),
        ("SELECT a.x FROM s AS a, s AS b WHERE a.x = b.x LIMIT 7", (4, 4), 7),
        ("SELECT a.x FROM s [ROWS 3] AS a, s AS b WHERE a.x = b.x", (4, 4), 12),
        ("SELECT a.x FROM s AS a LEFT JOIN e AS b ON a.x = b.x", (4, 0), 4),
        ("SELECT a.x FROM s AS a, e AS b WHERE a.x = b.x", (4, 0), 0),
    ],
)
def test_forecast_of_a_join_is_a_bound(sql, reached, most):
    """How many rows find each other is not estimated; there are not more than combinations of those in reach."""
    world = world_of(row(0), row(2, 1), row(4, 1), row(8, 2))
    world.declare(replace(SCHEMA, name="e"))
    found = forecast_of(world, sql)
    assert replace(UNKNOWN, rows_at_most=most, reached=reached) == found
    assert len(world.invoke(world.register(sql)).rows) <= most


def test_forecast_without_tuples_is_of_nothing():
    """Before the first tuple there is no NOW, no row and no rate."""
    world = World()
    world.declare(SCHEMA)
    found = forecast_of(world, "SELECT x FROM s")
    assert replace(UNKNOWN, rows=0, rows_at_most=0, nbytes=0, sampled=0, reached=(0,)) == found
