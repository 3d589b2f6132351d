"""The fold loop between turns, restarts and deaths: ticks, what it trims, what it takes back."""

import itertools
import threading

import pytest

from psoup.app.backend.contract import Phase
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.store.errors import CommitUnknownError, RecoveringError, StoreUnavailableError
from psoup.storage.memory.store import MemoryStore
from tests.app.faults import FaultyStore, Interfered
from tests.app.fold.folding import KEPT_US, Folding, folding, numbers, quicken, schema
from tests.app.support import START_US
from tests.patience import WAIT_S
from tests.stores import SharedServer
from tests.world import World


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_US)


@pytest.fixture
def store(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> FaultyStore:
    quicken(monkeypatch)
    return FaultyStore(clock)


def turns_pass(store: FaultyStore, one: Folding) -> None:
    """Return once the loop has gone through a whole turn, and found nothing to read."""
    reads, passed = itertools.count(), threading.Event()

    def read() -> None:
        if next(reads) == 2:
            passed.set()

    store.log.before["read"] = read
    one.loop.wake()
    assert passed.wait(WAIT_S)
    del store.log.before["read"]


def test_tick_after_a_tick_waits_its_time(store, clock):
    """However much is due, ticks follow each other by IDLE_S at the least."""
    world, elapsed_s = World(store.plain, clock), [100.0]
    with folding(store, elapsed_s=lambda: elapsed_s[0]) as one:
        world.declare(schema("s"), fold=False)
        one.wait(world.append("s", numbers(1), fold=False).seq)
        for ticks in (1, 2):
            clock.advance(2 * KEPT_US)
            turns_pass(store, one)
            assert ticks - 1 == one.loop.figures().ticks
            elapsed_s[0] += 10.0
            one.wait(store.plain.log.head() + 1)
            turns_pass(store, one)
            assert ticks == one.loop.figures().ticks
            one.wait(world.append("s", numbers(1), fold=False).seq)


def test_tick_whose_answer_was_lost_may_be_doubled(store, clock):
    """A tick that may or may not be committed is sent again; the loop stays live, the answer exact."""
    world = World(store.plain, clock)
    with folding(store) as one:
        world.declare(schema("s"), fold=False)
        query_id = world.register("SELECT a FROM s", fold=False)
        one.wait(world.append("s", numbers(1), fold=False).seq)
        lost = threading.Event()

        def lose() -> None:
            if not lost.is_set():
                lost.set()
                raise CommitUnknownError("lost")

        store.log.after["append"] = lose
        clock.advance(2 * KEPT_US)
        assert lost.wait(WAIT_S)
        one.settle(world)
        assert [] == one.answer(query_id)


@pytest.mark.parametrize("gone", ["batch", "stream"])
def test_loop_that_died_before_it_trimmed_trims_at_its_start(store, clock, gone):
    """Entries published as gone and left in the log by a death are found by the next start."""
    world = World(store.plain, clock)
    with folding(store) as one:
        world.declare(schema("s"), fold=False)
        one.wait(world.append("s", numbers(1), fold=False).seq)
        kept = [] if gone == "stream" else [2]
        with store.failing("log", "trim", StoreUnavailableError("away")) as again:
            if gone == "stream":
                seq = world.drop("s", fold=False).seq
            else:
                seq = world.append("s", numbers(), fold=False).seq
            one.wait(seq)
            assert again.wait(WAIT_S)
            one.loop.stop()
    assert kept != list(store.plain.log.held_batches(seq))
    with folding(store) as one:
        one.settle(world)
        assert kept == list(store.plain.log.held_batches(seq))
        one.loop.check()


def test_trim_that_failed_is_done_without_anything_to_publish(store, clock):
    """What a lost connection left in the log goes as soon as the store is back."""
    world = World(store.plain, clock)
    with folding(store) as one:
        world.declare(schema("s"), fold=False)
        with store.failing("log", "trim", StoreUnavailableError("away")) as again:
            seq = world.append("s", numbers(), fold=False).seq
            assert again.wait(WAIT_S)
        turns_pass(store, one)
        assert [] == list(store.plain.log.held_batches(seq))


def test_batch_and_drop_of_its_stream_in_one_publish_leave_nothing(store, clock):
    """A batch that never was published as held is trimmed all the same."""
    world = World(store.plain, clock)
    world.declare(schema("s"), fold=False)
    world.append("s", numbers(1), fold=False)
    seq = world.drop("s", fold=False).seq
    with folding(store) as one:
        one.settle(world)
        assert (seq, []) == (3, list(store.plain.log.held_batches(seq)))


def test_one_hiccup_costs_no_round_trip_per_publish(store, clock):
    """After the store was away and came back, publishing is what it was."""
    world = World(store.plain, clock)
    with folding(store, elapsed_s=lambda: 0.0) as one:
        with store.failing("log", "read", StoreUnavailableError("away")) as again:
            one.loop.wake()
            assert again.wait(WAIT_S)
        one.settle(world)
        cuts = itertools.count()
        store.results.before["cut"] = lambda: next(cuts)
        one.wait(world.declare(schema("s"), fold=False).seq)
        one.wait(world.append("s", numbers(1), fold=False).seq)
        assert 0 == next(cuts)


def test_store_that_comes_back_with_another_history_ends_the_loop(store, clock):
    """What was folded from one history is not published into another."""
    world = World(store.plain, clock)
    with folding(store) as one:
        one.wait(world.declare(schema("s"), fold=False).seq)
        clock.advance(1_000)
        other = MemoryStore(clock)
        ended = threading.Event()

        def come_back() -> None:
            store.log, store.results = Interfered(other.log), Interfered(other.results)
            ended.set()

        store.reopen = come_back
        with store.failing("log", "read", RecoveringError("restarted")):
            assert ended.wait(WAIT_S)
            one.loop.stop()
        assert Phase.FAILED is one.loop.phase
        assert 0 == other.results.cut().seq


@pytest.mark.redis
def test_restart_reads_more_than_the_server_grants_a_client(server: SharedServer, tmp_path):
    """Entries that together are past `maxmemory-clients` are read in parts, and the loop recovers."""
    clients_bytes, entries = 8 * limits.MIB, 24
    store = server.empty_store(tmp_path)
    world = World(store)
    query_id = None
    with folding(store) as one:
        one.wait(world.declare(schema("s", None), fold=False).seq)
        query_id = world.register("SELECT a FROM s WHERE a = 7", fold=False)
        for _ in range(entries):
            one.wait(world.append("s", numbers(*range(130_000)), fold=False).seq)
    assert store.log.statistics().bytes > 2 * clients_bytes
    client = server.client
    client.fetch_one("CONFIG", "SET", "maxmemory-clients", str(clients_bytes))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(limits, "FOLD_BYTES_MAX", clients_bytes // 4)
            with folding(store) as one:
                assert [7] * entries == one.answer(query_id)
                assert 0 == one.loop.figures().retries
    finally:
        client.fetch_one("CONFIG", "SET", "maxmemory-clients", "512mb")
