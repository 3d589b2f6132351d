"""Row windows over one stream and over joins: who shares hits, what is read, what pages and cursors hold."""

from typing import Any

import pytest

from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.position.answer import Request
from psoup.engine.invoke import invoke
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.tuples.schema import ClockKind
from tests.engine.batches import schema_keeping
from tests.engine.one_stream import T0, ask, send, times, world_of
from tests.reference import Reference
from tests.world import World


class Counting:
    """A `TupleSource` that counts the rows whose times are asked for."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.rows = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def times(self, stream_id: Any, rows: Any) -> Any:
        self.rows += len(rows)
        return self._source.times(stream_id, rows)


def asked_with(source: Any, world: World, query_id: Any) -> Any:
    return invoke(
        world.store.results,
        source,
        query_id=query_id,
        request=Request(limit=100),
        cache=InvocationCache(BoundQueries()),
    )


def test_queries_that_differ_in_row_windows_share_one_clause():
    """Hits are those of FROM and WHERE."""
    world = world_of()
    handles = [
        world.register(f"SELECT ts FROM s {window} WHERE a > 1")
        for window in ("", "[ROWS 1]", "[ROWS 9]", "[PARTITION BY t ROWS 1]")
    ]
    records = [world.store.results.snapshot(one).clause for one in handles]
    assert 1 == len({record.clause_id for record in records})


def test_row_window_comes_before_where():
    """The newest row of each text is the only one that WHERE sees."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s [PARTITION BY t ROWS 1] WHERE a > 5")
    send(world, (T0, 9, "x"), (T0 + 1, 7, "y"), (T0 + 2, 1, "x"), (T0 + 3, 8, None))
    assert [T0 + 1, T0 + 3] == times(ask(world, query_id))
    send(world, (T0 + 4, 0, None))
    assert [T0 + 1] == times(ask(world, query_id))


def test_newest_rows_of_a_stream_in_order_are_found_without_reading_the_others():
    """[ROWS n] reads the times of the last chunks, whatever the window reaches, and hits of these alone."""
    world, rows = world_of(), 20 * CHUNK_ROWS
    world.append("s", [{"ts": T0 + row, "a": row % 5, "t": None} for row in range(rows)])
    query_id = world.register("SELECT ts FROM s [ROWS 5] WHERE a = 0")
    source = Counting(world.engine.source)
    answer = asked_with(source, world, query_id)
    assert [T0 + rows - 5] == times(answer)
    assert source.rows <= 3 * CHUNK_ROWS


def test_a_row_says_when_the_next_takes_its_place():
    """Tuples of the future enter by the clock: until then the rows they replace are shown, and no longer."""
    world = world_of(schema_keeping(clock=ClockKind.SERVER))
    now = world.clock.now_us()
    query_id = world.register("SELECT ts FROM s [ROWS 2]")
    send(world, (now - 3, 0), (now - 2, 0), (now + 10, 0), (now + 20, 0))
    answer = ask(world, query_id)
    assert [now - 3, now - 2] == times(answer)
    assert answer.leaves_us is not None
    assert [now + 10, now + 20] == answer.leaves_us.tolist()
    assert now + 10 == answer.changes_us
    world.clock.advance(10)
    assert [now - 2, now + 10] == times(ask(world, query_id))


def test_cursor_is_unchanged_by_rows_that_change_nothing_and_else_brings_all_rows():
    """A tuple that no partition shows leaves the cursor as it is; one that takes a place brings the whole answer."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s [PARTITION BY t ROWS 1] WHERE a > 5")
    send(world, (T0 + 9, 9, "x"), (T0 + 8, 9, "y"))
    first = ask(world, query_id)
    send(world, (T0 + 1, 9, "x"), (T0 + 7, 9, "z"), (T0 + 8, 0, "z"))
    second = ask(world, query_id, since=first.stands)
    assert second.unchanged
    assert second.stands is first.stands
    send(world, (T0 + 9, 0, "x"))
    third = ask(world, query_id, since=first.stands)
    assert (True, False, [T0 + 8]) == (third.reset, third.unchanged, times(third))


@pytest.mark.parametrize("cached", [True, False])
def test_later_pages_see_rows_that_took_places_before_the_oldest_row_shown(cached):
    """A late tuple has a smaller row number than all hits: pages that are computed anew look at it all the same."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s [ROWS 3] WHERE a > 5")
    send(world, (T0 + 50, 0), (T0 + 1, 9), (T0 + 51, 9), (T0 + 52, 9))
    first = ask(world, query_id, limit=1)
    cache = world.cache if cached else InvocationCache(BoundQueries())
    second = invoke(
        world.store.results,
        world.engine.source,
        query_id=query_id,
        request=Request(limit=5, position=first.next),
        cache=cache,
    )
    assert ([T0 + 51], [T0 + 52]) == (times(first), times(second))


def test_join_sees_the_latest_row_of_each_key_naive_twin():
    """Each source has its window; a side without one is joined as a whole."""
    world = World()
    for name in ("s", "r"):
        world.declare(schema_keeping(name=name))
    joined = [
        world.register(f"SELECT x.ts, y.a FROM s AS x {x}, r AS y {y} WHERE x.t = y.t AND y.a > 1")
        for x in ("", "[ROWS 2]", "[RANGE 0.000005]")
        for y in ("", "[PARTITION BY t ROWS 1]", "[PARTITION BY y.t, a % 2 ROWS 1]")
    ]
    for at in range(12):
        for name in ("s", "r"):
            row = {"ts": T0 + at * 7 % 12, "a": at % 4, "t": [None, "x", "y"][at % 3]}
            world.append(name, [row])
        twin = Reference.fold(world.history)
        for query_id in joined:
            expected = twin.invoke(query_id, server_now_us=world.clock.now_us())
            assert expected == world.invoke(query_id)
