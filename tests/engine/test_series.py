"""Series: each point is what an invocation at its instant answers, bit for bit, however the points are made."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from psoup.engine.errors import AnswerTooLargeError, NotFoundError, NowOutOfRangeError
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.position.answer import Request
from psoup.engine.invocation.shaped import series_groups
from psoup.engine.invocation.shaped.series_groups import in_one_pass
from psoup.engine.invoke import invoke
from psoup.engine.limits import CHUNK_ROWS, SECOND_US, SEGMENT_ROWS
from psoup.engine.log.operation import QueryId
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.query.reading import Reading
from psoup.engine.series import Point, Series, series
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamSchema,
)
from tests.strategies import EPOCH_US
from tests.strategies_sql import instant
from tests.world import World

AGGREGATES = (
    "COUNT(*) AS n, COUNT(x) FILTER (WHERE x > 0) AS above, SUM(a) AS total, AVG(x) AS mean, MIN(t) AS least, "
    "MAX(x) AS most, STDDEV_SAMP(x) AS spread, BOOL_OR(a > 8) AS high, FIRST(t) AS first, LAST(a) AS last, "
    "ARG_MAX(t, x) AS of"
)
SHAPES = [
    f"SELECT {AGGREGATES} FROM s",
    f"SELECT t, {AGGREGATES} FROM s WHERE a % 3 <> 0 GROUP BY t",
    "SELECT t, a % 2 AS odd, SUM(x) AS total FROM s GROUP BY t, a % 2 HAVING total > 0",
    "SELECT t, AVG(x) AS mean FROM s GROUP BY t ORDER BY mean DESC NULLS FIRST LIMIT 2 OFFSET 1",
    "SELECT DISTINCT COUNT(*) AS n FROM s GROUP BY a",
    "SELECT COUNT(DISTINCT t) AS texts, MEDIAN(x) AS middle FROM s",
    "SELECT a, t, x FROM s WHERE a > 5",
    "SELECT DISTINCT t FROM s",
    "SELECT a FROM s ORDER BY x LIMIT 3",
    "SELECT COUNT(*) AS n FROM s, r [RANGE 30] WHERE s.a = r.a",
]
WINDOWS = [
    "",
    "BEGIN (NOW - 20) END (NOW)",
    "BEGIN (NOW - 60) END (NOW - 7)",
    f"BEGIN (TIMESTAMP '{instant(EPOCH_US + 30 * SECOND_US)}') END (NOW)",
    f"BEGIN (TIMESTAMP '{instant(EPOCH_US)}') END (TIMESTAMP '{instant(EPOCH_US + 50 * SECOND_US)}')",
    "BEGIN (NOW - 20) END (NOW) EVERY 13",
    "BEGIN (NOW - 2) END (NOW) EVERY 13",
]


def schema(name: str = "s", **members: Any) -> StreamSchema:
    columns = (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("a", ColumnType.INT64),
        ColumnSchema("t", ColumnType.STRING),
        ColumnSchema("x", ColumnType.FLOAT64),
    )
    return StreamSchema(name, columns, "ts", ClockKind.HIGH_WATER, **members)


def row(rng: Random, second: float) -> dict[str, Any]:
    return {
        "ts": EPOCH_US + int(second * SECOND_US),
        "a": rng.choice([None, *range(12)]),
        "t": rng.choice([None, "x", "y", "zz"]),
        "x": rng.choice([None, 0.1, 1e300, -1e300, -0.0, rng.uniform(-5, 5)]),
    }


def filled(rows: int = 300, **members: Any) -> World:
    """Return a world with rows of 100 seconds, late ones and equal times among them."""
    rng, world = Random(5), World()
    for name in ("s", "r"):
        world.declare(schema(name, **members))
        world.append(name, [row(rng, rng.randrange(200) / 2) for _ in range(rows)])
    world.append("s", [row(rng, 100)])
    return world


@pytest.fixture(scope="module")
def standing() -> World:
    """A world of these rows that no test of the module adds any to."""
    return filled()


def asked(world: World, query_id: QueryId, instants: Sequence[int], **more: Any) -> Series:
    return series(
        world.store.results,
        world.engine.source,
        query_id=query_id,
        instants=lambda _: instants,
        cache=InvocationCache(BoundQueries()),
        **more,
    )


def point_of(world: World, query_id: QueryId, now_us: int) -> Point:
    """Return the point of an instant, out of an invocation."""
    answer = invoke(
        world.store.results,
        world.engine.source,
        query_id=query_id,
        request=Request(limit=100_000, now_us=now_us),
        cache=InvocationCache(BoundQueries()),
    )
    assert answer.now_us is not None
    complete_us = answer.complete_from_us
    return Point(
        answer.now_us, answer.begin_us, answer.end_us, complete_us, answer.count, answer.columns
    )


def plain(point: Point) -> tuple[Any, ...]:
    """Return a point as plain values, floats by their bits."""
    columns = [
        (name, [one.hex() if isinstance(one, float) else one for one in column.to_list()])
        for name, column in point.columns
    ]
    facts = (point.now_us, point.begin_us, point.end_us, point.complete_from_us, point.count)
    return (*facts, columns)


@pytest.mark.parametrize(
    "window",
    [
        pytest.param(one, marks=[pytest.mark.no_cover] if at % 2 == 0 else [])
        for at, one in enumerate(WINDOWS)
    ],
)
@pytest.mark.parametrize("select", SHAPES)
def test_point_is_the_answer_at_its_instant(standing: World, select: str, window: str):
    """For each kind of window and shape, forward and backward, at, between and before all tuples."""
    query_id = standing.register(f"{select} {window}")
    instants = [EPOCH_US + second * SECOND_US // 2 for second in range(-20, 201, 7)]
    answers: dict[int, tuple[Any, ...]] = {}
    for some in (instants, instants[::-1]):
        points = asked(standing, query_id, some).points
        hops = [one.now_us for one in points]
        for now_us in hops:
            if now_us not in answers:
                answers[now_us] = plain(point_of(standing, query_id, now_us))
        assert [answers[now_us] for now_us in hops] == list(map(plain, points))
        assert len(hops) == len(set(hops))
        if "EVERY" not in window:
            assert some == hops


@pytest.mark.parametrize("at_once", [1, 7])
def test_points_of_many_panes_are_merged_in_parts(monkeypatch: pytest.MonkeyPatch, at_once: int):
    """So many panes that some are merged ahead, and points that do not fit together."""
    world = filled(CHUNK_ROWS + 100)
    monkeypatch.setattr(series_groups, "GROUPS_AT_ONCE", at_once)
    query_id = world.register(f"{SHAPES[1]} BEGIN (NOW - 40) END (NOW)")
    instants = [EPOCH_US + second * SECOND_US // 2 for second in range(201)]
    found = asked(world, query_id, instants)
    for place in (0, 1, 77, 160, 200):
        expected = point_of(world, query_id, instants[place])
        assert plain(expected) == plain(found.points[place])


def test_shapes_go_the_ways_they_are_meant_to():
    """One pass for groups of one stream whose aggregates merge; the others are invoked point by point."""
    world = filled(1)
    ways = []
    for select in SHAPES:
        query = bind(select, world.streams)
        ways.append(in_one_pass(Reading(query.clause, query.shape), len(query.clause.sources)))
    assert [True] * 5 + [False] * 5 == ways


def test_series_after_retention_says_from_when_its_points_are_complete():
    """Retention that has dropped rows; what lies before it, or after NOW, is refused."""
    world = filled(retention=Retention(time_us=40 * SECOND_US))
    query_id = world.register(f"{SHAPES[1]} BEGIN (NOW - 20) END (NOW)")
    instants = [EPOCH_US + second * SECOND_US for second in range(60, 101, 5)]
    found = asked(world, query_id, instants)
    assert {None, EPOCH_US + 60 * SECOND_US} == {one.complete_from_us for one in found.points}
    for place, now_us in enumerate(instants):
        assert plain(point_of(world, query_id, now_us)) == plain(found.points[place])
    for beyond_us in (EPOCH_US + 60 * SECOND_US - 1, EPOCH_US + 100 * SECOND_US + 1):
        with pytest.raises(NowOutOfRangeError):
            asked(world, query_id, [*instants, beyond_us])


@pytest.mark.parametrize("late", [False, True])
def test_points_over_segments_in_order_are_those_of_their_instants(late: bool):
    """Rows in the order of their times are read as they lie, also where a window cuts or skips a segment."""
    world, rows = World(), 2 * SEGMENT_ROWS + 700
    world.declare(schema())
    seconds = np.arange(rows) // 2
    seconds[SEGMENT_ROWS + 5] -= late
    numbers = np.random.default_rng(9)
    table = {
        "ts": pa.array(EPOCH_US + SECOND_US * seconds),
        "a": pa.array(numbers.integers(0, 9, rows)),
        "t": pa.array(["x", "y", "zz"]).take(pa.array(numbers.integers(0, 3, rows))),
        "x": pa.array(numbers.normal(size=rows)),
    }
    world.append_table("s", pa.table(table).cast(arrow_schema(schema())))
    instants = [EPOCH_US + SECOND_US * second for second in (5, rows // 2 - 1, 20, 40_000, 33_000)]
    for keys in ("", "t, "):
        behind = "GROUP BY t" if keys else ""
        window = "BEGIN (NOW - 30000) END (NOW - 10)"
        query_id = world.register(f"SELECT {keys}{AGGREGATES} FROM s {behind} {window}")
        expected = [plain(point_of(world, query_id, now_us)) for now_us in instants]
        assert expected == list(map(plain, asked(world, query_id, instants).points))


@pytest.mark.parametrize("select", [SHAPES[1], SHAPES[6]])
def test_series_of_too_many_rows_is_refused(select: str):
    """Counted over all points, whichever way they are made."""
    world = filled()
    query_id = world.register(select)
    instants = [EPOCH_US + second * SECOND_US for second in (50, 100)]
    rows = sum(one.count for one in asked(world, query_id, instants).points)
    assert 2 == len(asked(world, query_id, instants, rows_max=rows).points)
    with pytest.raises(AnswerTooLargeError):
        asked(world, query_id, instants, rows_max=rows - 1)


def test_series_of_nothing_has_no_points():
    """No instants, or no hop that can be written; a query that is not standing is none."""
    world = World()
    world.declare(schema())
    query_id = world.register(f"{SHAPES[1]} BEGIN (NOW - 20) END (NOW)")
    found = asked(world, query_id, [])
    assert (None, []) == (found.now_us, list(found.points))
    empty = asked(world, query_id, [EPOCH_US, EPOCH_US + 1])
    assert [0, 0] == [one.count for one in empty.points]
    with pytest.raises(NotFoundError):
        asked(world, QueryId("q_none"), [])
