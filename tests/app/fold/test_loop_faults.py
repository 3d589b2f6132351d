"""The fold loop over a store that fails: every call of a run once, with every error it may raise."""

import threading

import pytest

from psoup.app.backend.contract import Phase
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.errors import EngineError, IntegrityError
from psoup.engine.store.errors import (
    CommitUnknownError,
    RecoveringError,
    StoreFullError,
    StoreUnavailableError,
)
from psoup.storage.redis.calls.client import RedisClient
from tests.app.faults import FaultyStore
from tests.app.fold.folding import KEPT_US, Folding, ShortRun, folding, numbers, quicken, schema
from tests.app.support import START_US
from tests.patience import WAIT_S
from tests.world import World

CALLS = {
    "log": ("append", "held_batches", "read", "read_at", "trim"),
    "results": ("checkpoint", "cut", "publish"),
    "token": ("take_over", "tell"),
}
METHODS = [(contract, method) for contract, methods in CALLS.items() for method in methods]
WAYS = {"answers": {}, "publishes": {"answers": False}, "at-hand": {"at_hand": True}}
"""Whether the loop answers, and how what is appended comes to it."""
TRANSIENT = (StoreUnavailableError, RecoveringError, StoreFullError)
IDLE_CALLS_MAX = 16
"""An idle loop goes on reading: the calls of a short run that are tried are these first ones."""


class Failing:
    """Counts calls of a method and lets the n-th one fail; `fired` once it has."""

    def __init__(self, store: FaultyStore, contract: str, method: str) -> None:
        self.calls, self.nth, self.error = 0, 0, Exception()
        self.fired = threading.Event()
        getattr(store, contract).before[method] = self

    def fail(self, nth: int, error: Exception) -> None:
        self.nth, self.error = nth, error

    def __call__(self) -> None:
        self.calls += 1
        if self.calls == self.nth:
            self.fired.set()
            raise self.error


def faulty() -> tuple[FaultyStore, ManualClock]:
    clock = ManualClock(START_US)
    return FaultyStore(clock), clock


def calls_of_a_run(contract: str, method: str, **way: bool) -> int:
    """Return how often a run calls the method when nothing fails."""
    store, clock = faulty()
    counted = Failing(store, contract, method)
    run = ShortRun(store, store.plain, clock, **way)
    run.before()
    with run.after() as one:
        assert bool(run.taken) == run.at_hand, "the case is the one it claims to be"
        calls = counted.calls
        counted.fired.set()
        assert run.expected == run.outcome(one, counted.fired)
    return min(calls, IDLE_CALLS_MAX)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("contract", "method"), METHODS)
def test_loop_after_a_call_that_fails_once_goes_on(monkeypatch, contract, method, way):
    """Whichever call fails, and however: the service is live again, and answers as if it had not."""
    quicken(monkeypatch)
    errors = (CommitUnknownError, *TRANSIENT) if method == "append" else TRANSIENT
    calls = calls_of_a_run(contract, method, **way)
    assert calls > 0
    for nth in range(1, calls + 1):
        for error in errors:
            store, clock = faulty()
            failing = Failing(store, contract, method)
            failing.fail(nth, error("once"))
            run = ShortRun(store, store.plain, clock, **way)
            run.before()
            with run.after() as one:
                outcome = run.outcome(one, failing.fired)
            assert run.expected == outcome, f"call {nth}, {error.code}"
            run.check()


@pytest.mark.parametrize("error", [IntegrityError("damaged"), ValueError("a bug")], ids=repr)
@pytest.mark.parametrize(("contract", "method"), METHODS)
def test_loop_after_damage_or_a_bug_publishes_nothing_more(monkeypatch, contract, method, error):
    """An error that no wait can cure ends the loop where it stands."""
    quicken(monkeypatch)
    store, clock = faulty()
    world = World(store.plain, clock)
    with folding(store) as one:
        world.declare(schema("s"), fold=False)
        one.wait(world.append("s", numbers(1), fold=False).seq)
    world.append("s", numbers(), fold=False)  # to be read, published and trimmed
    clock.advance(2 * KEPT_US)  # and a tick to be appended
    failing = Failing(store, contract, method)
    failing.fail(1, error)
    one = Folding(store)
    one.loop.start()
    one.loop._thread.join(WAIT_S)  # it may have ended by now
    assert (True, False) == (failing.fired.is_set(), one.loop._thread.is_alive())
    applied = store.plain.results.cut().seq
    shown = one.loop.figures().applied
    world.append("s", numbers(2), fold=False)
    one.hand_over(world)
    one.loop.wake(at_hand=True, lone=True)
    one.loop.stop()
    assert Phase.FAILED is one.loop.phase
    assert (applied, shown) == (store.plain.results.cut().seq, one.loop.figures().applied)


class LostAnswers:
    """Lets the n-th exchange of the loop with its server fail: before it, or after it was carried out.

    `error` None = what an exchange without an answer raises.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        nth: int,
        *,
        carried_out: bool,
        error: type[EngineError] | None,
    ) -> None:
        self.calls = 0
        self.fired = threading.Event()
        exchange = RedisClient._exchange

        def counted(client, commands, lost):
            if threading.current_thread().name != "psoup-fold":
                return exchange(client, commands, lost)
            self.calls += 1
            if self.calls != nth:
                return exchange(client, commands, lost)
            if carried_out:
                exchange(client, commands, lost)
            self.fired.set()
            raise (error or lost)("once")

        monkeypatch.setattr(RedisClient, "_exchange", counted)


@pytest.mark.redis
@pytest.mark.parametrize(
    ("fault", "writes_max"),
    [
        pytest.param((True, None, 1), 2, id="lost-2"),
        pytest.param((False, None, 2), 1_000, id="unsent-1000-half"),
        pytest.param((False, StoreFullError, 2), 1_000, id="full-1000-half"),
        *(
            pytest.param((*fault, 1), writes_max, id=f"{name}-{writes_max}", marks=pytest.mark.slow)
            for name, fault, writes_max in (
                ("unsent", (False, None), 1_000),
                ("full", (False, StoreFullError), 1_000),
                ("recovering", (False, RecoveringError), 1_000),
                ("lost", (True, None), 1_000),
                ("unsent", (False, None), 2),
                ("recovering", (False, RecoveringError), 2),
                ("full", (False, StoreFullError), 2),
            )
        ),
    ],
)
def test_loop_after_any_exchange_with_its_server_that_fails_goes_on(
    server, tmp_path, monkeypatch, fault, writes_max
):
    """The same with a server: what was sent and not answered is neither lost nor done twice.

    Each exchange fails once, or every second one; those of the two kinds that are not carried out take turns.
    """
    carried_out, error, step = fault
    quicken(monkeypatch)
    monkeypatch.setattr(limits, "PUBLISH_WRITES_MAX", writes_max)
    nth = calls = 0
    first = 2 if error is StoreFullError and step > 1 else 1
    while nth <= calls:
        store = server.empty_store(tmp_path / str(nth))
        run = ShortRun(store, store, at_hand=not carried_out)
        with monkeypatch.context() as patch:
            lost = LostAnswers(patch, nth, carried_out=carried_out, error=error)
            run.before()
            with run.after() as one:
                if nth == 0:  # the first run loses nothing, and counts
                    calls = lost.calls
                    lost.fired.set()
                outcome = run.outcome(one, lost.fired)
        assert run.expected == outcome, f"exchange {nth}"
        run.check()
        nth += step if nth else first
