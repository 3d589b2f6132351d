"""Order of arrival does not matter: any interleaving of the same tuples and queries answers alike.

PSoup's thesis as a property. It holds under two conditions, both met here: tuples bring their times
(so NOW and the windows do not depend on when they were sent), and nothing has been forgotten.
"""

import itertools
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, strategies as st

from psoup.engine.limits import SECOND_US
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from tests import strategies, strategies_sql
from tests.reference_values import Row
from tests.strategies import EPOCH_US, fewer
from tests.world import World

SMALL = StreamSchema(
    "s",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("a", ColumnType.INT64),
    ),
    "ts",
    ClockKind.HIGH_WATER,
)

TUPLES: tuple[Row, ...] = (
    {"ts": EPOCH_US, "a": 1},
    {"ts": EPOCH_US + 10 * SECOND_US, "a": 2},
    {"ts": EPOCH_US + 10 * SECOND_US, "a": None},
    {"ts": EPOCH_US + 20 * SECOND_US, "a": 1},
)

QUERIES = (
    "SELECT a, ts FROM s WHERE a >= 1 AND a < 2 BEGIN (NOW - 20) END (NOW)",
    "SELECT ts, a FROM s WHERE a IS NULL OR a + 0 > 1 BEGIN (NOW - 19) END (NOW - 5)",
    "SELECT a, ts FROM s WHERE a >= 1 AND a < 2 BEGIN (NOW - 19) END (NOW)",
)


def answered(schema: StreamSchema, entrants: Sequence[Row | str]) -> list[tuple[str, list[str]]]:
    """Let tuples and query texts enter in this order; return each query's answer at the end, sorted.

    Tuple ids tell the order of arrival, so they are left out; ties in time have no order without them.
    """
    world = World()
    world.declare(schema)
    handles = []
    for entrant in entrants:
        if isinstance(entrant, str):
            handles.append((entrant, world.register(entrant)))
        else:
            world.append(schema.name, [entrant])
    world.check()
    found = []
    for text, query_id in handles:
        answer = world.invoke(query_id)
        rows = sorted(repr((leaves_us, values)) for _, leaves_us, values in answer.rows)
        found.append((text, [repr(answer.now_us), *rows]))
    return sorted(found)


@pytest.mark.parametrize("count", [240, pytest.param(840, marks=pytest.mark.slow)])
def test_order_every_interleaving_of_a_tiny_world_answers_alike(count):
    """Four tuples in any order, three queries at any places among them: of 840 histories so many, one answer."""
    expected = answered(SMALL, [*TUPLES, *QUERIES])
    assert [1, 2, 2] == [len(rows) - 1 for _, rows in expected]
    places = itertools.combinations(range(len(TUPLES) + len(QUERIES)), len(QUERIES))
    histories = list(itertools.product(itertools.permutations(TUPLES), places))
    assert 840 == len(histories)
    for order, chosen in Random(1).sample(histories, count):
        tuples, queries = iter(order), iter(QUERIES)
        entrants = [
            next(queries) if place in chosen else next(tuples)
            for place in range(len(TUPLES) + len(QUERIES))
        ]
        assert expected == answered(SMALL, entrants), entrants


def test_order_every_order_of_queries_answers_alike():
    """Queries that share a clause, or the slots of one that was there before, do not notice."""
    expected = answered(SMALL, [*QUERIES, *TUPLES])
    for order in itertools.permutations(QUERIES):
        assert expected == answered(SMALL, [*order[:2], *TUPLES[:2], order[2], *TUPLES[2:]])


def test_order_distinct_shows_a_zero_without_sign():
    """Zeros of both signs at one time are one row, the same whichever arrives first."""
    zeros = StreamSchema(
        "s", (SMALL.columns[0], ColumnSchema("f", ColumnType.FLOAT64)), "ts", ClockKind.HIGH_WATER
    )
    texts = ("SELECT DISTINCT f FROM s", "SELECT DISTINCT f, -f AS g FROM s ORDER BY f")
    rows: tuple[Row, ...] = ({"ts": EPOCH_US, "f": 0.0}, {"ts": EPOCH_US, "f": -0.0})
    found = answered(zeros, [*texts, *rows])
    assert found == answered(zeros, [*texts, *reversed(rows)])
    assert [(texts[0], f"{(None, (0.0,))}")] == [(text, rows[1]) for text, rows in found[:1]]


@st.composite
def entrants_twice(draw: st.DrawFn) -> tuple[StreamSchema, list[Row | str], list[Row | str]]:
    """Draw a stream, tuples and queries over it, in two orders."""
    schema = draw(strategies.schemas(event_time=True))
    tuples = draw(st.lists(strategies.rows(schema), min_size=1, max_size=12))
    queries = draw(st.lists(strategies_sql.queries(schema), min_size=1, max_size=4))
    one: list[Row | str] = [*tuples, *(query.sql for query in queries)]
    return schema, one, draw(st.permutations(one))


@fewer(15)
@given(entrants_twice())
def test_order_random_permutation_answers_alike(drawn):
    """Any tuples, any queries, any order."""
    schema, one, other = drawn
    assert answered(schema, one) == answered(schema, other)


@fewer(15)
@given(data=st.data())
def test_order_query_registered_before_between_and_after_answers_alike(data):
    """One text registered three times: over no data, over half of it, over all of it (NoREC)."""
    schema = data.draw(strategies.schemas())
    query = data.draw(strategies_sql.queries(schema))
    halves = [data.draw(strategies.batches(schema)) for _ in range(2)]
    world = World()
    world.declare(schema)
    handles = [world.register(query.sql)]
    for half in halves:
        world.append(schema.name, half)
        handles.append(world.register(query.sql))
    before, between, after = (world.invoke(query_id) for query_id in handles)
    assert before == between
    assert before == after
