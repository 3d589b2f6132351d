"""The running service: store, fold loop, submission, pools. What routes are given; it knows no web.

Started in an event loop, stopped in it. `reasons()` says why it is not ready, `gate()` turns away what
could not be answered rightly.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from app.applied import AppliedPosition
from app.catalogue import Catalogue
from app.errors import MemoryFullError, RecoveringError, StoreDownError
from app.filling import Filling
from app.fold_loop import FoldLoop, FoldStatistics, Phase
from app.footprint import NOTHING, footprint
from app.join_tally import JoinTally
from app.settings import Settings
from app.store import Store
from app.submission import Submission, SubmissionStatistics
from app.throughput import Progress, Tally, Throughput, ThroughputRing
from app.work_pool import WorkPool, WorkStatistics
from engine import limits
from engine.clock import Clock
from engine.engine import EngineStatistics
from engine.errors import IntegrityError
from engine.invoke import ClauseCache
from engine.log.operation import QueryId
from engine.query.bound_cache import BoundCache
from engine.query.shapes import Shapes

MEMORY_HIGH: Final = "memory-high"
PARSE_THREADS = 2
ANSWER_THREADS = 4
RECOVERY_GRACE_S = 5.0
"""A start waits so long for the recovery, so that most services are ready when they listen."""
BACKLOG_READY_SHARE = 0.8
"""Past this share of the backlog's limit the service calls itself not ready."""


@dataclass(frozen=True, slots=True)
class ServiceStatistics:
    """Counters of all parts."""

    fold: FoldStatistics
    submission: SubmissionStatistics
    parsing: WorkStatistics
    answering: WorkStatistics


class Service:
    """Everything behind the routes. Build it inside the event loop it serves."""

    def __init__(
        self,
        *,
        store: Store,
        settings: Settings,
        clock: Clock,
        elapsed_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wire the parts; nothing runs before `start`. `elapsed_s` paces the fold and dates readings."""
        self.store = store
        self.settings = settings
        self.clock = clock
        self.clauses = ClauseCache(make_lock=threading.Lock)
        self.descriptions: dict[QueryId, dict[str, object]] = {}
        self.applied = AppliedPosition(asyncio.get_running_loop())
        self.filling = Filling(self.applied)
        self.shapes = Shapes(make_lock=threading.Lock)
        self.bound = BoundCache(
            queries_max=limits.BOUND_QUERIES_MAX,
            text_bytes_max=limits.BOUND_TEXT_BYTES_MAX,
            bind=self.shapes.bind,
            make_lock=threading.Lock,
        )
        self.invoked = Tally()
        self.throughput = ThroughputRing()
        self.footprint = NOTHING
        """As it was a second ago at most, unless the fold is at work on something long."""
        self.joins = JoinTally()
        """Likewise."""
        self._elapsed_s = elapsed_s
        self.fold_loop = FoldLoop(
            store=store,
            on_applied=self.applied.advance,
            on_look=self._look,
            bind=self.bound.bind,
            elapsed_s=elapsed_s,
        )
        self.results = self.fold_loop.results
        self.catalogue = Catalogue(self.results)
        self.submission = Submission(
            log=store.log,
            applied=self.applied,
            wake=self.fold_loop.wake,
            find_room=self._find_room,
            in_flight_max=settings.appends_in_flight,
        )
        self.parsing = WorkPool("parse", threads=PARSE_THREADS)
        self.answering = WorkPool("answer", threads=ANSWER_THREADS)

    async def start(self) -> None:
        """Begin to recover, and wait for it a while."""
        self.fold_loop.start()
        await asyncio.to_thread(self.fold_loop.wait_recovered, RECOVERY_GRACE_S)

    async def stop(self) -> None:
        """End what runs, in the order of the data's way. The store stays open: whoever opened it closes it."""
        await asyncio.to_thread(self.submission.close)
        await asyncio.to_thread(self.fold_loop.stop)
        self.applied.close()
        await asyncio.to_thread(self.parsing.close)
        await asyncio.to_thread(self.answering.close)

    def gate(self) -> None:
        """Turn a request away while it could not be answered rightly.

        Raises:
            RecoveringError, StoreDownError, IntegrityError: by the fold loop's phase.
        """
        phase = self.fold_loop.phase
        if phase is Phase.LIVE:
            return
        if phase is Phase.RECOVERING:
            raise RecoveringError("The engine is reading its state back. Send the same again soon.")
        if phase is Phase.FAILED:
            raise IntegrityError("The engine has stopped: state and store disagree. See its log.")
        raise StoreDownError("The store does not answer; nothing was stored. Send the same again.")

    def reasons(self) -> tuple[str, ...]:
        """Return why the service is not ready; () = it is. May block on the store."""
        phase = self.fold_loop.phase
        if phase is Phase.STOPPED:
            return ("no-engine",)
        if phase is not Phase.LIVE:
            return (phase.value,)
        found = list(self.store.health().reasons)
        fold = self.fold_loop.statistics()
        high = limits.HITS_MEMORY_BYTES_MAX * limits.HITS_MEMORY_HIGH_PERCENT
        if fold.held.hits * 100 > high and MEMORY_HIGH not in found:
            found.append(MEMORY_HIGH)
        unpublished = self.store.log.head() - fold.published
        if unpublished >= BACKLOG_READY_SHARE * limits.BACKLOG_OPERATIONS_MAX:
            found.append("backlog")
        return tuple(found)

    def backlog(self) -> int:
        """Return how many operations are committed and not yet applied."""
        return max(0, self.store.log.head() - self.applied.seq)

    def rates(self) -> Mapping[int, Throughput]:
        """Return what was done a second, by the number of seconds looked back at."""
        return self.throughput.rates(self._elapsed_s(), self._progress())

    def statistics(self) -> ServiceStatistics:
        """Return counters."""
        return ServiceStatistics(
            fold=self.fold_loop.statistics(),
            submission=self.submission.statistics(),
            parsing=self.parsing.statistics(),
            answering=self.answering.statistics(),
        )

    def check(self) -> None:
        """Raise AssertionError if a part's invariant is broken. For tests, while nothing runs."""
        self.catalogue.check()
        self.clauses.check()
        self.bound.check()
        self.shapes.check()
        if len(self.descriptions) > limits.QUERIES_COUNT_MAX:
            raise AssertionError("descriptions are bounded")
        self.applied.check()
        self.filling.check()
        self.submission.check()
        self.parsing.check()
        self.answering.check()
        self.fold_loop.check()
        self.throughput.check()
        self.joins.check()

    def _find_room(self) -> None:
        """Raise MemoryFullError if hits take all the memory there is for them."""
        if self.fold_loop.statistics().held.hits > limits.HITS_MEMORY_BYTES_MAX:
            raise MemoryFullError(
                "The hits kept between invocations take all the memory there is for them. Nothing was"
                " changed. They go with their tuples: drop a stream, or wait where retention goes by the"
                " server's clock. Queries that are registered with materialize auto or none keep fewer."
            )

    def _look(self, engine: Callable[[], EngineStatistics]) -> None:
        """Note figures, once a second; `engine` tells the engine's. In the fold's thread."""
        at_s = self._elapsed_s()
        if self.throughput.is_due(at_s):
            self.throughput.note(at_s, self._progress())
            found = engine()
            self.footprint = footprint(found, self.fold_loop.statistics().held)
            self.joins.note(found.eddy.joins)

    def _progress(self) -> Progress:
        fold = self.fold_loop.statistics()
        return Progress(fold.tuples, fold.operations, self.invoked.count)
