"""Queries that differ in what they show share one clause, one evaluation and one set of hits."""

import pytest
from hypothesis import given, strategies as st

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.clause import StandingQueryClause
from tests.engine.batches import schema_keeping
from tests.reference import Reference
from tests.world import World

LISTS = [
    "a",
    "DISTINCT a",
    "*",
    "a, a + 1 AS next",
    "ts",
    "t",
    "t, a",
    "DISTINCT t",
    "1 AS one",
    "a IS NULL AS unknown",
]
"""Ten select lists over one stream."""
JOINED = ["x.a", "DISTINCT x.t", "x.a, y.a AS b", "*"]
WHERES = ["a < 1", "a > 7 AND t = 'x1'", "a = 3 OR t IS NULL"]
WINDOWS = ["", " BEGIN (NOW - 0.002) END (NOW)"]


def world_of(*names: str) -> World:
    world = World()
    for name in names:
        world.declare(schema_keeping(name=name))
    return world


def send(world: World, name: str, count: int, first: int = 0) -> None:
    """Append rows a microsecond apart, of which a tenth satisfies `a < 1`."""
    numbers = range(first, first + count)
    world.append(name, [{"ts": 1_000_000 + i, "a": i % 10, "t": f"x{i % 3}"} for i in numbers])


def assert_answers(world: World, handles) -> None:
    """Each query answers what the twin does, which knows of no clauses."""
    twin = Reference.fold(world.history)
    for handle in handles:
        expected = twin.invoke(handle, server_now_us=world.clock.now_us())
        assert expected == world.invoke(handle)


def clauses_of(world: World, handles) -> set[tuple[int, str]]:
    """Return id and text of the clauses that these queries have."""
    records = [world.store.results.snapshot(handle).clause for handle in handles]
    return {(record.clause_id, record.text) for record in records}


@pytest.mark.parametrize("materialize", Materialize)
def test_ten_select_lists_over_one_where_are_one_clause_with_one_set_of_hits(materialize):
    """The clause stands once in the SteM, its chunk is joined once, and each query answers as if it were alone."""
    world = world_of("s")
    handles = [
        world.register(f"SELECT {listed} FROM s WHERE a < 1", materialize=materialize)
        for listed in LISTS
    ]
    send(world, "s", CHUNK_ROWS + 50)
    ((_, text),) = clauses_of(world, handles)
    assert "SELECT 1 FROM s WHERE a < 1" == text
    kept = materialize is not Materialize.NONE
    found = world.engine.statistics()
    assert (kept, kept) == (found.query_stem.clauses, found.eddy.matched)
    assert_answers(world, handles)
    world.check()


def test_select_lists_over_one_join_share_its_composites():
    """What differs is shown alone, not what is joined."""
    world = world_of("r", "s")
    joined = "FROM r AS x, s AS y WHERE x.a = y.a AND x.ts = y.ts"
    handles = [world.register(f"SELECT {listed} {joined}") for listed in JOINED]
    send(world, "r", CHUNK_ROWS + 9)
    send(world, "s", CHUNK_ROWS + 9)
    assert 1 == len(clauses_of(world, handles)) == world.engine.statistics().query_stem.clauses
    for listed, handle in zip(JOINED, handles, strict=True):
        unkept = world.register(f"SELECT {listed} {joined}", materialize=Materialize.NONE)
        assert world.invoke(unkept).rows == world.invoke(handle).rows != ()
    world.check()


def test_policies_keep_conditions_apart():
    """What is kept of hits belongs to the condition."""
    world = world_of("s")
    handles = [
        world.register(f"SELECT {listed} FROM s WHERE a < 1", materialize=policy)
        for policy in Materialize
        for listed in LISTS[:3]
    ]
    assert len(Materialize) == len(clauses_of(world, handles))


def test_clause_goes_with_the_last_query_that_shares_it():
    """The others answer as before, whichever was the first."""
    world = world_of("s")
    handles = [world.register(f"SELECT {listed} FROM s WHERE a < 1") for listed in LISTS[:3]]
    send(world, "s", 50)
    for gone in range(len(handles)):
        assert_answers(world, handles[gone:])
        world.remove(handles[gone])
    assert 0 == world.engine.statistics().query_stem.clauses
    world.check()


queries = st.tuples(st.sampled_from(LISTS), st.sampled_from(WHERES), st.sampled_from(WINDOWS))


@given(
    steps=st.lists(queries | st.just(None) | st.integers(1, 60), min_size=2, max_size=8),
    restart=st.integers(0, 8),
)
def test_queries_share_a_clause_exactly_where_their_conditions_are_equal(steps, restart):
    """Registered and removed between rows, with an engine that is lost on the way: as many clauses as conditions."""
    world, sent = world_of("s"), 0
    standing: dict[QueryId, StandingQueryClause] = {}
    for number, step in enumerate(steps):
        if number == restart:
            world.lose_engine()
        if step is None:
            if standing:
                gone = next(iter(standing))
                world.remove(gone)
                del standing[gone]
        elif isinstance(step, int):
            send(world, "s", step, sent)
            sent += step
        else:
            listed, where, window = step
            text = f"SELECT {listed} FROM s WHERE {where}{window}"
            standing[world.register(text)] = bind(text, world.streams).clause
    assert set(standing) == {query.query_id for query in world.store.results.queries()}
    assert len(set(standing.values())) == len(clauses_of(world, standing))
    assert_answers(world, standing)
    world.check()
