"""The thread that folds: take over the store, recover, then turn after turn, until it is stopped or another takes over.

Invariant: after an IntegrityError, a bug, or word of another engine nothing more is published.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import structlog

from psoup.app.backend.at_hand import AtHand
from psoup.app.backend.contract import Phase
from psoup.app.backend.in_process import InProcess
from psoup.app.backend.kernels import load_kernels
from psoup.app.figures.engine import Figures
from psoup.app.fold.figures import FiguresTold, FoldStatistics
from psoup.app.fold.lease import Lease
from psoup.app.fold.store_watch import StoreWatch
from psoup.app.fold.turns import Fold
from psoup.engine import limits
from psoup.engine.checkpoint import checked_by
from psoup.engine.data.source import TupleSource
from psoup.engine.engine import MatchThreads, PrecomputedHits, keep_memory
from psoup.engine.errors import EngineError
from psoup.engine.query.bind.binder import Bind, bind
from psoup.engine.results.contract import ResultsReader
from psoup.engine.store.condition import DISK_FULL
from psoup.engine.store.contract import Durability, Store
from psoup.engine.store.errors import TRANSIENT_ERRORS, FencedError
from psoup.engine.tuples.batch import Seq

IDLE_S: Final = 0.25
"""An idle loop looks at the log this often, if nobody wakes it."""
RETRY_S_FIRST: Final = 0.05
RETRY_S_MAX: Final = 2.0

_LOG = structlog.get_logger("psoup.fold_loop")


class _EndedError(Exception):
    """The loop is to end: what it is at is given up."""


class FoldLoop(InProcess):
    """One thread that turns the log into results (`Backend`). Started once, stopped once."""

    def __init__(
        self,
        *,
        store: Store,
        answers: bool = True,
        on_applied: Callable[[Seq], None] = lambda _: None,
        on_lost: Callable[[Phase], None] = lambda _: None,
        bind: Bind = bind,
        lease_s: float = limits.LEASE_S,
        elapsed_s: Callable[[], float] = time.monotonic,
        precomputed: PrecomputedHits | None = None,
        match_threads: MatchThreads | None = None,
    ) -> None:
        """Take the store, whose clock dates ticks. Callbacks must not wait for the loop.

        Args:
            store: it may be held by another engine: then this one waits.
            answers: invocations in this process are answered from its memory. Without, it keeps no results, and
                publishes at the end of every turn; `results` is not to be asked.
            on_applied: told what invocations see, from a thread that folds; without answers that is what is published.
            on_lost: told once, from any thread, that it folds no more and was not asked to end: FENCED or FAILED.
            bind: may remember what the front has bound.
            lease_s: so long after its last sign of life a standby may try.
            elapsed_s: paces the loop: no operation and no answer depends on it.
            precomputed: the engine's.
            match_threads: the engine's; whoever started them ends them after the loop.
        """
        self._store = store
        self._answers = answers
        self.at_hand = AtHand() if answers else None
        self._fold = Fold(
            store,
            answers=answers,
            at_hand=self.at_hand,
            on_applied=on_applied,
            bind=bind,
            elapsed_s=elapsed_s,
            precomputed=precomputed,
            match_threads=match_threads,
        )
        self._on_applied = on_applied
        self._on_lost = on_lost
        self._elapsed_s = elapsed_s
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._recovered = threading.Event()
        self._thread = threading.Thread(target=self._run, name="psoup-fold", daemon=True)
        self._lease = Lease(
            store.renew, lease_s=lease_s, on_fenced=self._end_fenced, elapsed_s=elapsed_s
        )
        self._watch = StoreWatch(store.look)
        self._phase = Phase.RECOVERING
        self._fenced = threading.Event()
        self._fencing = threading.Lock()
        self._warm = self._taken = self._is_leased = False
        self._taken_s = 0.0
        self._told = FiguresTold(store.tell)
        self._idle = self._disk_full = False
        self._shown = False
        """Whether it has come to where the log ended at its start, before which it shows less than was told."""
        self._turns = 0

    @property
    def phase(self) -> Phase:
        """Return where the loop stands.

        STORE_DOWN also while the lease may have ended, as after a pause: another engine may have gone on by then.
        """
        if self._fenced.is_set():
            return Phase.FENCED
        if self._phase is Phase.LIVE and self._is_leased and not self._lease.lasts:
            return Phase.STORE_DOWN
        if self._phase is Phase.STORE_DOWN and self._disk_full:
            return Phase.DISK_FULL
        return self._phase

    @property
    def source(self) -> TupleSource:
        """Return the engine's tuples, for invocations."""
        return self._fold.source

    @property
    def results(self) -> ResultsReader:
        """Return the results at the applied position, in this process's memory."""
        return self._fold.results

    @property
    def hit_bytes(self) -> int:
        """Return the bytes that the results in this process's memory take."""
        return self._fold.held.hits

    def start(self) -> None:
        """Start the thread: it recovers first. Memory is taken before, so that it serves all threads."""
        keep_memory(limits.MEMORY_TOUCHED_BYTES, limits.MEMORY_FREE_BYTES_MAX)
        self._thread.start()

    def wait_recovered(self, timeout_s: float) -> bool:
        """Return whether recovery has ended, well or not, within `timeout_s`. Blocks."""
        return self._recovered.wait(timeout_s)

    def wake(self, *, at_hand: bool = False, lone: bool = False) -> None:
        """Tell the loop that there is something to fold (`Backend.wake`). Any thread."""
        if self.at_hand is not None and not at_hand:
            self.at_hand.is_incomplete = True
        if not (lone and self._fold.turn_here()):
            self._wake.set()

    def stop(self) -> None:
        """End the thread after its present turn and wait for it. Blocks; twice does nothing.

        The lease goes with the store: whoever opened it closes it.
        """
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def figures(self) -> Figures:
        """Return counters as they are, and what is held as it was a second ago at most, or before a long operation."""
        return replace(self._fold.figures(), store=self._watch.condition)

    @property
    def is_current(self) -> bool:
        """Return whether its memory shows everything that was told to be applied: no other engine can have gone on."""
        return self._shown and (self._lease.lasts or self._store.is_private)

    def statistics(self) -> FoldStatistics:
        """Return counters. Any thread."""
        return FoldStatistics(
            phase=self.phase,
            gen=self._fold.gen,
            turns=self._turns + self._fold.turns_here,
            lag_us=self._fold.lag_us(),
            lease=self._lease.statistics(),
            figures=self.figures(),
        )

    def check(self) -> None:
        """Raise AssertionError unless loop, store and engine agree. For tests, between turns."""
        self._lease.check()
        self._watch.check()
        self._fold.check()

    # --- the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            steps = (self._take_over, self._warm_up, self._fold.restore, self._catch_up)
            if all(self._until_it_works(step) for step in steps):
                self._recovered.set()
                while self._until_it_works(self._turn):
                    if self._idle:
                        self._rest()
                self._publish_last()
        except Exception as error:  # noqa: BLE001 (whatever it is, publishing on would make it worse)
            self._end_lost(error)
        finally:
            self._lease.stop()
            self._watch.stop()
            if self._phase is not Phase.FAILED:
                self._phase = Phase.STOPPED
            self._recovered.set()

    def _end_lost(self, error: Exception) -> None:
        """End without having been asked to."""
        self._fold.is_open = False
        refusal = self._refusal(error)
        if refusal is not None:
            self._end_fenced(refusal)
            return
        self._phase = Phase.FAILED
        if isinstance(error, EngineError) and not self._taken:  # it says all there is to say
            _LOG.error("not-taken-over", code=error.code, detail=error.detail)
        else:
            detail, applied = str(error), self._fold.applied
            _LOG.error("fold-stopped", applied=applied, detail=detail, exc_info=error)
        self._on_lost(Phase.FAILED)

    def _refusal(self, error: Exception) -> FencedError | None:
        """Return the store's word that another engine writes now, or None.

        What is read while that one publishes and trims may look like damage: so the store is asked.
        """
        if isinstance(error, FencedError):
            return error
        try:
            if self._taken:
                self._store.renew()
        except FencedError as refusal:
            return refusal
        except Exception:  # noqa: BLE001 (the first error is the one to tell)
            return None
        return None

    def _end_fenced(self, error: FencedError) -> None:
        """Fold and publish nothing more: another engine has taken over. Any thread."""
        with self._fencing:
            if self._fenced.is_set():
                return
            self._fenced.set()
        self._fold.is_open = False
        _LOG.error("fenced", detail=error.detail, applied=self._fold.applied)
        self._stopping.set()
        self._wake.set()
        self._recovered.set()
        self._on_lost(Phase.FENCED)

    def _take_over(self) -> None:
        """Become the store's one writer; wait as a standby while another engine is."""
        while not self._stopping.is_set():
            asked_s = self._elapsed_s()
            wait_s = self._store.take_over()
            if wait_s <= 0:
                self._phase, self._taken = Phase.RECOVERING, True
                self._taken_s = self._elapsed_s()
                _LOG.info("taken-over", durability=str(self._store.durability))
                self._watch.start()
                self._is_leased = self._store.durability is not Durability.MEMORY
                if self._is_leased:  # else no other process can reach it
                    self._lease.start(asked_s)
                return
            if self._phase is not Phase.STANDBY:
                self._phase = Phase.STANDBY
                _LOG.info("standby", lease_s=round(wait_s, 3))
                self._warm_up()  # so that taking over is quick
            self._stopping.wait(min(wait_s, limits.STANDBY_LOOK_S))

    def _warm_up(self) -> None:
        """Compile or load the kernels now, so that no request waits for them. Given up where the loop is to end."""
        if self._warm:
            return
        begun_s = self._elapsed_s()
        try:
            with checked_by(self._check_wanted):
                kernels = load_kernels()
        except _EndedError:
            return
        self._warm = True
        seconds = round(self._elapsed_s() - begun_s, 3)
        _LOG.info("kernels-ready", kernels=kernels, seconds=seconds)

    def _check_wanted(self) -> None:
        if self._stopping.is_set():
            raise _EndedError

    def _publish_last(self) -> None:
        """Publish what is left when the loop ends, if the store lets it; else it is folded again at the next start."""
        try:
            self._fold.is_open = False
            if not self._fenced.is_set():
                with self._fold.turning:
                    self._fold.publish()
        except FencedError:
            raise
        except EngineError as error:
            _LOG.warning("left-unpublished", code=error.code, applied=self._fold.applied)

    def _until_it_works(self, step: Callable[[], None]) -> bool:
        """Run `step` until the store lets it pass; False = the loop is to end.

        It is taken again after any of TRANSIENT_ERRORS, CommitUnknownError as well: only ticks and expiries are
        appended here, and one too many changes nothing.
        """
        wait_s = RETRY_S_FIRST
        phase = self._phase
        while not self._stopping.is_set():
            try:
                with self._fold.turning:
                    if self._phase is Phase.STORE_DOWN and self._taken:
                        self._reopen()
                    step()
            except TRANSIENT_ERRORS as error:
                self._note_down(error)
                self._fold.counted.retries += 1
                self._stopping.wait(wait_s)
                wait_s = min(2 * wait_s, RETRY_S_MAX)
            else:
                if self._phase is Phase.STORE_DOWN:
                    self._phase = phase
                    if phase is Phase.LIVE:
                        self._open()
                    _LOG.info("store-back", applied=self._fold.applied)
                return True
        return False

    def _note_down(self, error: EngineError) -> None:
        """Take note that the store does not let a step pass; say it once, and once that it is for want of disk."""
        disk_full = error.extras.get("reason") == DISK_FULL
        if disk_full and not (self._disk_full and self._phase is Phase.STORE_DOWN):
            _LOG.error(DISK_FULL, code=error.code, detail=error.detail)
        elif self._phase is not Phase.STORE_DOWN:
            _LOG.warning("store-down", code=error.code, detail=error.detail)
        self._phase, self._disk_full = Phase.STORE_DOWN, disk_full
        self._fold.is_open = False

    def _reopen(self) -> None:
        """Have the store back, still as its one writer; it has to hold what was folded."""
        self._store.reopen()
        if self.at_hand is not None:
            self.at_hand.forget()  # with what was confirmed while it came back
        self._told.forget()
        self._fold.compare()

    def _catch_up(self) -> None:
        """Fold what lies behind the published position; then the service is live."""
        while self._fold_on():
            if self._stopping.is_set():
                return
        self._phase, self._shown = Phase.LIVE, True
        self._open()
        self._on_applied(self._fold.applied)
        _LOG.info(
            "recovered",
            gen=self._fold.gen,
            applied=self._fold.applied,
            tuples=self._fold.statistics().rows_held,
            seconds=round(self._elapsed_s() - self._taken_s, 3),
        )

    def _open(self) -> None:
        """Let threads that append fold, unless another engine has taken over."""
        with self._fencing:
            self._fold.is_open = not self._fenced.is_set()

    def _turn(self) -> None:
        """Let queries expire, fold what there is, or let time pass where nothing arrives; then be idle."""
        self._wake.clear()
        self._fold.check_failure()
        self._fold.expire()
        # What others have appended is read after a rest.
        self._idle = self._fold.has_all if self._fold_on() else not self._fold.tick()

    def _rest(self) -> None:
        """Wait until something is appended, for IDLE_S at most. Who appends tells, or, elsewhere, the store does."""
        if self._answers or not self._store.wait_appended(self._fold.applied, IDLE_S):
            self._wake.wait(IDLE_S)

    def _fold_on(self) -> bool:
        """Fold what the log holds, one turn of it. False = there was nothing."""
        self._look()
        self._turns += (folded := self._fold.turn())
        return folded

    def _look(self) -> None:
        """Note figures now and then, and tell them to other processes."""
        if not self._fold.counted.is_due(self._elapsed_s()):
            return
        self._fold.look()
        self._told.tell(self.figures())
