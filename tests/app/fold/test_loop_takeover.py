"""Loops beside each other: a standby that waits and takes over, one taken for dead, one that does not answer."""

import itertools
import threading

import pytest

from psoup.app.backend.contract import Phase
from psoup.app.figures.engine import read_figures
from psoup.app.fold import loop as fold_loop
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.errors import IntegrityError
from psoup.engine.log.operation import QueryId
from psoup.engine.store.contract import Durability
from psoup.engine.store.errors import (
    FencedError,
    RecoveringError,
    StoreUnavailableError,
    StoreUnsuitableError,
)
from tests.app.faults import FaultyStore
from tests.app.fold.folding import KEPT_US, Folding, folding, numbers, quicken, schema
from tests.app.support import START_US
from tests.patience import WAIT_S
from tests.world import World


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_US)


@pytest.fixture
def store(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> FaultyStore:
    quicken(monkeypatch)
    return FaultyStore(clock)


class Lost:
    """What a loop says when it ends without having been asked to."""

    def __init__(self) -> None:
        self.phases: list[Phase] = []
        self.told = threading.Event()

    def __call__(self, phase: Phase) -> None:
        self.phases.append(phase)
        self.told.set()


def prepared(store: FaultyStore, clock: ManualClock) -> tuple[World, QueryId]:
    """Return a world with a stream, a tuple and a query, none of it folded."""
    world = World(store.plain, clock)
    world.declare(schema("s", None), fold=False)
    world.append("s", numbers(1), fold=False)
    return world, world.register("SELECT a FROM s", fold=False)


@pytest.mark.parametrize("answers", [True, False], ids=["answers", "publishes"])
def test_standby_waits_for_the_store_and_takes_over(store, clock, answers):
    """While another engine has it nothing of the store is read; then all of the log is folded."""
    world, query_id = prepared(store, clock)
    held, looks, looked = True, itertools.count(1), threading.Event()

    def take_over() -> float:
        if next(looks) == 3:
            looked.set()
        return 0.001 if held else 0.0

    store.take_over = take_over
    calls: list[str] = []
    for contract in (store.log, store.results):
        for name in ("read", "read_at", "checkpoint", "publish", "cut", "trim", "held_batches"):
            contract.before[name] = lambda name=name: calls.append(name)
    one = Folding(store, answers=answers)
    one.loop.start()
    try:
        assert looked.wait(WAIT_S)
        assert (Phase.STANDBY, False, []) == (one.loop.phase, one.loop.wait_recovered(0), calls)
        assert (0, 0) == (one.loop.figures().applied, one.loop.statistics().gen)
        held = False
        assert one.loop.wait_recovered(WAIT_S)
        one.wait(world.append("s", numbers(2), fold=False).seq)
        assert (Phase.LIVE, [1, 2]) == (one.loop.phase, one.answer(query_id))
    finally:
        one.loop.stop()
    assert Phase.STOPPED is one.loop.phase


def test_standby_looks_again_before_a_long_lease_ends(store, monkeypatch):
    """A lease that was let go is noticed after STANDBY_LOOK_S, however long it would have lasted."""
    monkeypatch.setattr(limits, "STANDBY_LOOK_S", 0.001)
    waits = iter([1e6, 1e6, 0.0])
    store.take_over = lambda: next(waits)
    with folding(store) as one:
        assert Phase.LIVE is one.loop.phase


def test_standby_that_is_stopped_has_touched_nothing(store, clock):
    """It ends at once, and publishes nothing."""
    prepared(store, clock)
    looked = threading.Event()

    def take_over() -> float:
        looked.set()
        return 1e6

    store.take_over = take_over
    one = Folding(store)
    one.loop.start()
    assert looked.wait(WAIT_S)
    one.loop.stop()
    assert (Phase.STOPPED, 0) == (one.loop.phase, store.plain.results.cut().seq)


def test_standby_whose_store_goes_away_waits_on(store, clock):
    """An answer that was lost is asked for again; there is nothing to reopen yet."""
    world, query_id = prepared(store, clock)
    with store.failing("token", "take_over", StoreUnavailableError("away")) as again:
        one = Folding(store)
        one.loop.start()
        assert again.wait(WAIT_S)
        assert Phase.STORE_DOWN is one.loop.phase
    one.wait(store.plain.log.head())
    one.settle(world)
    assert (0, [1]) == (store.reopened, one.answer(query_id))
    one.loop.stop()


@pytest.mark.parametrize("error", [StoreUnsuitableError("no"), IntegrityError("damaged")], ids=repr)
def test_store_that_cannot_be_taken_over_ends_the_loop(store, error):
    """Who runs the process is told, once."""
    lost = Lost()
    with store.failing("token", "take_over", error):
        one = Folding(store, on_lost=lost)
        one.loop.start()
        assert lost.told.wait(WAIT_S)
        one.loop.stop()
    assert (Phase.FAILED, [Phase.FAILED]) == (one.loop.phase, lost.phases)


FENCED_CALLS = [
    ("results", "publish"),
    ("log", "trim"),
    ("log", "append"),
    ("token", "tell"),
    ("token", "renew"),
    ("token", "reopen"),
]


@pytest.mark.parametrize("answers", [True, False], ids=["answers", "publishes"])
@pytest.mark.parametrize("call", FENCED_CALLS, ids=".".join)
def test_loop_that_is_fenced_publishes_nothing_more(store, clock, monkeypatch, call, answers):
    """Wherever it finds out: it ends, says so once, and the store stays as the other engine has it."""
    contract, method = call
    monkeypatch.setattr(limits, "FIGURES_EVERY_S", 0.0)
    world = World(store.plain, clock)
    world.declare(schema("s", KEPT_US), fold=False)
    lost = Lost()
    one = Folding(store, answers=answers, on_lost=lost, lease_s=0.005)
    one.loop.start()
    assert one.loop.wait_recovered(WAIT_S)
    one.wait(world.append("s", numbers(1), fold=False).seq)
    with store.failing(contract, method, FencedError("another")):
        if method == "reopen":
            store.log.before["read"] = lambda: (_ for _ in ()).throw(RecoveringError("restarted"))
        world.append("s", numbers(), fold=False)  # to be published, and trimmed
        clock.advance(2 * KEPT_US)  # and a tick to be appended
        one.loop.wake()
        assert lost.told.wait(WAIT_S), "it was told"
        one.loop._thread.join(WAIT_S)
    assert not one.loop._thread.is_alive()
    assert ([Phase.FENCED], Phase.FENCED) == (lost.phases, one.loop.phase)
    applied = store.plain.results.cut().seq
    shown = one.loop.figures().applied
    world.append("s", numbers(2), fold=False)
    if answers:  # else nothing is at hand
        one.hand_over(world)
    one.loop.wake(at_hand=answers, lone=answers)
    one.loop.stop()
    assert (applied, shown) == (store.plain.results.cut().seq, one.loop.figures().applied)
    assert (Phase.FENCED, [Phase.FENCED]) == (one.loop.phase, lost.phases)


def test_loop_that_is_fenced_while_it_folds_is_fenced_at_once(store, clock):
    """The lease's thread does not wait for the end of an operation, and nothing that was folded is published."""
    world, _ = prepared(store, clock)
    lost = Lost()
    one = Folding(store, on_lost=lost, lease_s=0.005)
    with store.waiting("log", "read") as reading:
        one.loop.start()
        assert reading.wait(WAIT_S)
        with store.failing("token", "renew", FencedError("another")):
            assert lost.told.wait(WAIT_S)
            assert (Phase.FENCED, True) == (one.loop.phase, one.loop.wait_recovered(WAIT_S))
    one.loop.stop()
    assert (Phase.FENCED, 0) == (one.loop.phase, store.plain.results.cut().seq)
    world.check()


def test_loop_whose_store_breaks_in_every_way_says_that_it_has_failed(store, clock):
    """Asking for the token after an error may raise whatever it likes: the first error ends the loop."""
    prepared(store, clock)
    lost = Lost()
    one = Folding(store, on_lost=lost, lease_s=WAIT_S)
    one.loop.start()
    assert one.loop.wait_recovered(WAIT_S)
    broken = ValueError("an unreadable reply")
    with store.failing("log", "read", broken), store.failing("token", "renew", broken):
        one.loop.wake()
        assert lost.told.wait(WAIT_S)
    one.loop.stop()
    assert [Phase.FAILED] == lost.phases


def test_store_that_no_other_process_reaches_needs_no_lease(store, clock):
    """In memory nobody waits."""
    store.durability = Durability.MEMORY
    with store.failing("token", "renew", FencedError("another")) as again:
        with folding(store, lease_s=0.005) as one:
            one.settle(World(store.plain, clock))
        assert not again.is_set()
    assert 0 == one.loop.statistics().lease.renewals


def test_what_is_applied_is_published_before_it_is_told_where_nobody_answers(store, clock):
    """Whoever waits for a position finds it in the store; nothing is kept here, and nobody is to ask."""
    told: list[tuple[int, int]] = []
    world, query_id = prepared(store, clock)

    class Watching(Folding):
        def _advance(self, seq):
            told.append((seq, store.plain.results.cut().seq))
            super()._advance(seq)

    one = Watching(store, answers=False)
    one.loop.start()
    seq = 0
    try:
        for value in range(20):
            seq = world.append("s", numbers(value), fold=False).seq
            one.wait(seq)
            assert store.plain.results.cut().seq >= seq
        assert sorted([*range(20), 1]) == one.answer(query_id)
        figures = one.loop.figures()
        assert (seq, seq, 0) == (figures.applied, figures.published, figures.footprint.hits)
        with pytest.raises(AssertionError, match="keeps no results"):
            _ = one.loop.results
    finally:
        one.loop.stop()
    assert told
    assert all(seq <= published for seq, published in told)
    one.loop.check()


def test_position_that_was_published_and_not_answered_is_told_all_the_same(store, clock):
    """A publish whose answer was lost is found out, and whoever waits for its position learns of it."""
    world, query_id = prepared(store, clock)
    with folding(store, answers=False) as one:
        one.wait(store.plain.log.head())
        lost = threading.Event()

        def lose() -> None:
            if not lost.is_set():
                lost.set()
                raise StoreUnavailableError("lost")

        store.results.after["publish"] = lose
        seq = world.append("s", numbers(2), fold=False).seq
        one.wait(seq)
        assert (True, [1, 2]) == (lost.is_set(), one.answer(query_id))
        one.settle(world)
        one.loop.check()


@pytest.mark.parametrize("answers", [True, False], ids=["answers", "publishes"])
def test_figures_are_told_and_say_what_was_done(store, clock, monkeypatch, answers):
    """API workers read the same figures that the engine gives; what has not changed is not told again."""
    monkeypatch.setattr(limits, "FIGURES_EVERY_S", 0.0)
    told: list[bytes] = []
    store.tell = told.append
    world, _ = prepared(store, clock)
    with folding(store, answers=answers) as one:
        seq = world.append("s", numbers(2, 3), fold=False).seq
        one.wait(seq)
        one.settle(world)
        figures = one.loop.figures()
        assert (3, seq) == (figures.tuples, figures.operations - 2)
        assert figures.applied == figures.operations
        assert figures.publishes > 0
        assert figures.publish_s >= figures.publish_s_max > 0
        assert figures.body_bytes > 0
        assert figures.footprint.clauses == 1
        one.loop.check()
    read = [read_figures(each) for each in told]
    assert [each.operations for each in read] == sorted(each.operations for each in read)
    assert read[-1].tuples == 3
    assert all(first != second for first, second in itertools.pairwise(told))


def test_store_that_does_not_take_figures_for_now_is_told_later(store, clock, monkeypatch):
    """Figures are worth no retry and no alarm."""
    monkeypatch.setattr(limits, "FIGURES_EVERY_S", 0.0)
    world, _ = prepared(store, clock)
    with folding(store) as one:
        with store.failing("token", "tell", StoreUnavailableError("away")) as again:
            one.wait(world.append("s", numbers(2), fold=False).seq)
            assert again.wait(WAIT_S)
            assert Phase.LIVE is one.loop.phase
        told = threading.Event()
        store.token.after["tell"] = told.set
        one.wait(world.append("s", numbers(3), fold=False).seq)
        assert told.wait(WAIT_S)
        assert 0 == one.loop.figures().retries


def test_lag_is_the_age_of_what_is_read_and_not_applied(store, clock):
    """While an operation is on its way its age grows; once all is applied there is none."""
    world, _ = prepared(store, clock)
    with folding(store, answers=False) as one:
        one.settle(world)
        with store.waiting("results", "publish") as publishing:
            world.append("s", numbers(2), fold=False)
            one.loop.wake()
            assert publishing.wait(WAIT_S)
            clock.advance(5_000_000)
            assert 5_000_000 == one.loop.statistics().lag_us
        one.settle(world)
        passed = threading.Event()
        reads = itertools.count()
        store.log.before["read"] = lambda: passed.set() if next(reads) == 2 else None
        one.loop.wake()
        assert passed.wait(WAIT_S)
        clock.advance(1_000_000)
        assert 0 == one.loop.statistics().lag_us


@pytest.mark.redis
def test_two_loops_one_after_the_other_over_one_server(server, tmp_path, monkeypatch):
    """The token of a real store: the second waits, the first lets go, and later finds out that it lost it."""
    quicken(monkeypatch)
    monkeypatch.setattr(fold_loop, "RETRY_S_FIRST", 0.01)
    first = server.empty_store(tmp_path / "a")
    world = World(first)
    with folding(first, answers=False, lease_s=5.0) as one:
        one.wait(world.declare(schema("s", None), fold=False).seq)
        second = server.standby(tmp_path / "b", lease_s=5.0)
        other = Folding(second, answers=False, lease_s=5.0)
        other.loop.start()
        one.wait(world.append("s", numbers(1), fold=False).seq)
    first.close()  # lets the lease go
    assert other.loop.wait_recovered(WAIT_S)
    assert Phase.LIVE is other.loop.phase
    assert 2 == other.loop.figures().applied
    other.loop.stop()
    other.loop.check()
    second.close()
