"""What stands behind the routes of an API worker: it follows how far the engine of another process has come.

It folds nothing and holds no state that matters: results and tuples are read from the store, where the engine has
published them. One thread looks at the store's position whenever something was published, and every FOLLOW_S.

While the store answers, reads go on at the applied position, whether there is an engine or not. While the engine is
known to be away, nobody waits longer than UNMOVED_WAIT_S for an operation to be applied: what was appended is answered
202 then, and a position that was asked for 503. The log refuses more than its backlog holds, as it always does.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from psoup.app.backend.applied import AppliedPosition
from psoup.app.backend.contract import Phase
from psoup.app.backend.kernels import load_kernels
from psoup.app.figures.engine import NO_FIGURES, Figures, read_figures
from psoup.engine import limits
from psoup.engine.data.source import TupleSource
from psoup.engine.engine import CachedTuples, CachedTuplesStatistics, keep_memory
from psoup.engine.errors import EngineError
from psoup.engine.log.operation import Operation, QueryId
from psoup.engine.results.contract import Gen, Position, ResultsReader
from psoup.engine.store.contract import WorkerStore
from psoup.engine.store.errors import RecoveringError
from psoup.engine.tuples.batch import Seq

WORKER_GRACE_S: Final = 60.0
"""A worker takes no connection until it has looked at the store once, for which it loads kernels: others take them."""

_LOG = structlog.get_logger("psoup.follower")


@dataclass(frozen=True, slots=True)
class FollowerStatistics:
    """Where a follower stands, and how often it has looked.

    Attributes:
        phase, gen, applied: as they are told to requests.
        engine_alive: as it was last seen.
        looks: at the store's position.
        histories: begun since the start, beside the first.
    """

    phase: Phase
    gen: Gen
    applied: Seq
    engine_alive: bool
    looks: int
    histories: int


class Follower:
    """A `Backend` over results that another process publishes. Started once, stopped once; thread-safe.

    Invariant: what it tells of one history only grows. A store that stands before what it has told is not answered
    from: the phase is RECOVERING until it has come so far again, or another history has begun.
    """

    at_hand: None = None
    """It applies nothing."""
    grace_s: float = WORKER_GRACE_S
    reads_at_once: bool = False

    def __init__(
        self,
        *,
        store: WorkerStore,
        tuples: CachedTuples,
        applied: AppliedPosition,
        on_history: Callable[[], None] = lambda: None,
        on_failed: Callable[[], None] = lambda: None,
        elapsed_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the store, which need not be there yet, and what holds tuples of it.

        `on_history` is called in the thread when a history is first followed; it may ask the store, and raise.
        `on_failed` is called there once, when a bug has ended it: only another worker can go on.
        `elapsed_s` paces the thread.
        """
        self._store = store
        self._tuples = tuples
        self._applied = applied
        self._on_history = on_history
        self._on_failed = on_failed
        self._elapsed_s = elapsed_s
        self._appended = threading.Event()
        self._stopping = threading.Event()
        self._recovered = threading.Event()
        self._thread = threading.Thread(target=self._run, name="psoup-follow", daemon=True)
        self._phase = Phase.RECOVERING
        self._at: Position | None = None
        """As it was last seen."""
        self._told: tuple[Gen, Seq] = (Gen(0), Seq(0))
        self._figures = NO_FIGURES
        self._figures_next_s: float | None = None
        self._empty_waits = self._looks = self._histories = 0

    @property
    def phase(self) -> Phase:
        """Return RECOVERING until an engine has opened the store, then LIVE; STORE_DOWN while it does not answer."""
        return self._phase

    @property
    def is_current(self) -> bool:
        """Return False: what it shows is in the store."""
        return False

    @property
    def results(self) -> ResultsReader:
        """Return what the engine has published, in the store."""
        return self._store.results

    @property
    def source(self) -> TupleSource:
        """Return the tuples, made from the batches in the log."""
        return self._tuples

    @property
    def hit_bytes(self) -> int:
        """Return the bytes of hits that the engine reported last."""
        return self._figures.footprint.hits

    def start(self) -> None:
        """Start the thread. The process keeps from here on what arrays leave, so that it serves all threads."""
        keep_memory(0, limits.MEMORY_FREE_BYTES_MAX)
        self._thread.start()

    def wait_recovered(self, timeout_s: float) -> bool:
        """Return whether it became live, or found that it cannot for now, within `timeout_s`. Blocks."""
        return self._recovered.wait(timeout_s)

    def wake(self, *, at_hand: bool = False, lone: bool = False) -> None:
        """Take it that something was appended: a store that gave no answer is looked at now."""
        del at_hand, lone
        self._appended.set()

    def stop(self) -> None:
        """End the thread after its present look and wait for it. Blocks; twice does nothing."""
        self._stopping.set()
        self._appended.set()
        if self._thread.is_alive():
            self._thread.join()

    def pending(self, query_id: QueryId) -> Operation | None:
        """Return a registration that is committed and not applied, whichever process has taken it. Blocks."""
        return self._store.registration(query_id)

    def pending_all(self) -> Sequence[Operation]:
        """Return all such registrations, ascending by seq. Blocks."""
        return self._store.registrations()

    def confirm(self, gen: Gen) -> None:
        """Raise RecoveringError if another generation than `gen` has been seen to begin. Asks nobody."""
        self._store.confirm(gen)

    def waiting_bytes(self) -> int | None:
        """Return the bytes of bodies committed and not applied. Blocks."""
        return self._store.position().waiting_bytes

    def tuples_cache(self) -> CachedTuplesStatistics | None:
        """Return counters of the tuples that are kept."""
        return self._tuples.statistics()

    def figures(self) -> Figures:
        """Return what the engine has told, some seconds old at most while it lives; its position is the store's."""
        _, applied = self._told
        return replace(self._figures, applied=applied, published=applied)

    def statistics(self) -> FollowerStatistics:
        """Return counters."""
        gen, applied = self._told
        alive = self._at is not None and self._at.engine_alive
        return FollowerStatistics(self._phase, gen, applied, alive, self._looks, self._histories)

    def check(self) -> None:
        """Raise AssertionError if it has told of another position than it stands at. For tests, while nothing runs."""
        if self._told[1] != self._applied.seq:
            raise AssertionError(f"told {self._told}, and requests see {self._applied.seq}")
        self._tuples.check()

    # --- the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            load_kernels()  # so that no request waits for kernels
            while not self._stopping.is_set():
                self._appended.clear()
                self._look()
                self._recovered.set()
                self._pause()
        except Exception:  # noqa: BLE001 (whatever it is, this worker cannot go on)
            self._phase = Phase.FAILED
            _LOG.exception("follower-stopped")
            self._on_failed()
        finally:
            if self._phase is not Phase.FAILED:
                self._phase = Phase.STOPPED
            self._recovered.set()

    def _look(self) -> None:
        """Look where the store stands, and now and then what the engine tells."""
        self._looks += 1
        try:
            self._follow(self._store.position())
            self._read_figures()
        except EngineError as error:
            self._lose(error)

    def _follow(self, position: Position) -> None:
        """Go to where the store stands."""
        at = (position.gen, position.applied)
        if at < self._told:
            self._stand(Phase.RECOVERING, gen=position.gen, applied=position.applied)
            return
        if position.gen != self._told[0]:
            self._enter(position)
        self._applied.advance(position.applied)
        self._told = at
        if self._at is None or position.engine_alive is not self._at.engine_alive:
            self._applied.set_stalled(stalled=not position.engine_alive)
            _LOG.info("engine-here" if position.engine_alive else "engine-away", applied=at[1])
        self._at = position
        self._stand(Phase.LIVE, gen=position.gen, applied=position.applied)

    def _enter(self, position: Position) -> None:
        """Begin with a history. What was kept of the one before it the store has let go of when it saw this one."""
        self._on_history()
        if self._told[0]:
            self._histories += 1
            self._applied.begin_anew(position.applied)
        _LOG.info("history", gen=position.gen, applied=position.applied)

    def _lose(self, error: EngineError) -> None:
        """Say that nobody can tell where the store stands; caches stay, for the same history may be back."""
        recovering = isinstance(error, RecoveringError)
        self._stand(
            Phase.RECOVERING if recovering else Phase.STORE_DOWN,
            code=error.code,
            detail=error.detail,
        )

    def _stand(self, phase: Phase, **why: object) -> None:
        if phase is not self._phase:
            say = _LOG.info if phase is Phase.LIVE else _LOG.warning
            say(phase.value, **why)
        self._phase = phase

    def _read_figures(self) -> None:
        """Read what the engine tells of itself, once a second; what cannot be read is none."""
        now_s = self._elapsed_s()
        if self._figures_next_s is not None and now_s < self._figures_next_s:
            return
        self._figures_next_s = now_s + limits.FIGURES_EVERY_S
        told = self._store.told()
        try:
            self._figures = NO_FIGURES if told is None else read_figures(told)
        except ValueError:  # an engine of another version
            self._figures = NO_FIGURES

    def _pause(self) -> None:
        """Wait until there may be something to see."""
        if self._phase is Phase.LIVE:
            self._store.wait(limits.FOLLOW_S)
        else:
            self._appended.wait(limits.FOLLOW_S)
