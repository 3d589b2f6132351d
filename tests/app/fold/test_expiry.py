"""The fold loop lets queries expire by the store's clock, which a test moves; a takeover and a death change nothing."""

import contextlib

import pytest

from psoup.app.fold import due
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.errors import NotFoundError, QueryExpiredError
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Expire, QueryId, Register, Renew
from psoup.engine.tuples.schema import StreamId
from tests.app.fold.folding import folding, quicken, schema
from tests.patience import wait_until
from tests.stores import memory_store
from tests.world import World

FIRST, SECOND, THIRD = QueryId("q_first"), QueryId("q_second"), QueryId("q_third")
TTL_US = 100 * SECOND_US
START_US = 1_700_000_000 * SECOND_US


@pytest.fixture
def clock():
    return ManualClock(START_US)


@pytest.fixture
def store(clock):
    return memory_store(clock)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    quicken(monkeypatch)


def registration(query_id, ttl_us):
    return Register(query_id, "SELECT a FROM s", {"s": StreamId(1)}, query_id, ttl_us=ttl_us)


def begun(store, clock, one):
    """Declare a stream, and register a query that lives for TTL_US and one that stands for ever, of one name each."""
    world = World(store, clock)
    world.declare(schema("s"), fold=False)
    store.log.append(registration(FIRST, TTL_US))
    seq = store.log.append(registration(SECOND, None)).seq
    one.wait(seq)
    return seq


def is_gone(one, query_id):
    with contextlib.suppress(NotFoundError):
        one.loop.results.query(query_id)
        return False
    return True


def test_loop_lets_a_query_expire_at_its_time_and_no_earlier(store, clock):
    """Its name is free then; the other one stands for ever."""
    with folding(store) as one:
        seq = begun(store, clock, one)
        clock.advance(TTL_US - 1)
        one.settle(World(store, clock))
        assert not is_gone(one, FIRST)
        clock.advance(1)
        wait_until(lambda: is_gone(one, FIRST), "the query has expired")
        with pytest.raises(QueryExpiredError):
            one.loop.results.snapshot(FIRST)
        assert not is_gone(one, SECOND)
        expiries = store.log.read(seq, operations_max=99, bytes_max=1 << 20)
        assert [Expire(FIRST)] == [o.content for o in expiries if o.content == Expire(FIRST)]
        one.loop.check()
    store.log.check()


def test_loop_lets_a_renewed_query_stand(store, clock):
    """An expiry that was about to be appended is refused by the log, which knows of the renewal."""
    with folding(store) as one:
        begun(store, clock, one)
        clock.advance(TTL_US - 1)
        renewed = store.log.append(Renew(FIRST))
        with pytest.raises(NotFoundError):
            store.log.append(Expire(FIRST))
        clock.advance(TTL_US - 1)
        one.wait(renewed.seq)
        one.settle(World(store, clock))
        assert not is_gone(one, FIRST)
        clock.advance(1)
        wait_until(lambda: is_gone(one, FIRST), "the query has expired")


def test_loop_that_takes_over_goes_on_with_the_same_times(store, clock):
    """What expired before is remembered, what did not expires at the same instant."""
    with folding(store) as one:
        seq = begun(store, clock, one)
        third = registration(THIRD, 3 * TTL_US)
        one.wait(store.log.append(third).seq)
        clock.advance(TTL_US)
        wait_until(lambda: is_gone(one, FIRST), "the query has expired")
    assert seq < store.results.cut().seq
    with folding(store) as other:
        (gone,) = other.loop.results.gone([FIRST])
        assert isinstance(gone, QueryExpiredError)
        clock.advance(2 * TTL_US - 1)
        other.settle(World(store, clock))
        assert not is_gone(other, THIRD)
        clock.advance(1)
        wait_until(lambda: is_gone(other, THIRD), "the query has expired")
        other.loop.check()


def test_loop_leaves_time_to_renew_where_the_clock_jumps(store, clock, monkeypatch):
    """A machine that has slept finds queries over that are waited for: their renewals come first."""
    monkeypatch.setattr(due, "OVERDUE_FOR_S", 2.0)
    elapsed_s = 0.0
    with folding(store, elapsed_s=lambda: elapsed_s) as one:
        world = World(store, clock)
        begun(store, clock, one)
        one.wait(store.log.append(registration(THIRD, TTL_US)).seq)
        clock.advance(9 * TTL_US)
        for later_s in (1.0, 2.5):
            elapsed_s = later_s
            one.settle(world)
            assert not is_gone(one, FIRST)
        one.wait(store.log.append(Renew(FIRST)).seq)
        elapsed_s = 3.5
        wait_until(lambda: is_gone(one, THIRD), "the one that is not renewed has expired")
        one.settle(world)
        assert not is_gone(one, FIRST)
        one.loop.check()


def test_loop_lets_many_queries_go_in_turns_that_follow_each_other(store, clock, monkeypatch):
    """A turn is bounded, for the sake of what else arrives; the next one need not wait."""
    monkeypatch.setattr(limits, "QUERIES_EXPIRED_TOGETHER_MAX", 2)
    elapsed_s = 0.0
    with folding(store, elapsed_s=lambda: elapsed_s) as one:
        begun(store, clock, one)
        others = [QueryId(f"q_{number}") for number in range(6)]
        seqs = [store.log.append(registration(query_id, TTL_US)).seq for query_id in others]
        one.wait(seqs[-1])
        clock.advance(TTL_US)
        elapsed_s = 1.0
        wait_until(lambda: all(is_gone(one, each) for each in (FIRST, *others)), "all are gone")
        assert [SECOND] == [query.query_id for query in one.loop.results.queries()]
