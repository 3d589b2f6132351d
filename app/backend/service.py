"""The running service: store, backend, submission, pools. What routes are given; it knows no web.

Started in an event loop, stopped in it. `reasons()` says why it is not ready, `gate()` turns away what
could not be answered rightly.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from psoup.app.admission.work_pool import WorkPool, WorkStatistics
from psoup.app.backend.applied import AppliedPosition
from psoup.app.backend.catalogue import Catalogue
from psoup.app.backend.contract import Backend, Phase
from psoup.app.backend.partials_ahead import PartialsAhead
from psoup.app.backend.pending import PendingQueries
from psoup.app.backend.renewals import Renewals
from psoup.app.backend.standing import StandingIndexes
from psoup.app.backend.store_look import STORE_SLOW, StoreLook
from psoup.app.backend.submission import Submission, SubmissionStatistics
from psoup.app.errors import DiskFullError, MemoryFullError
from psoup.app.figures.engine import Figures
from psoup.app.figures.invocation_counts import InvocationCounts
from psoup.app.figures.throughput import (
    NOTE_EVERY_S,
    Progress,
    Throughput,
    ThroughputRing,
)
from psoup.app.settings import Settings
from psoup.engine import limits
from psoup.engine.clock import Clock
from psoup.engine.errors import EngineError, IntegrityError, NotFoundError
from psoup.engine.invoke import InvocationCache
from psoup.engine.log.contract import LogStatistics
from psoup.engine.log.operation import QueryId
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.recent import Recent
from psoup.engine.results.contract import Counts, Cut, Snapshot
from psoup.engine.results.delta import QueryRecord, StreamRecord
from psoup.engine.store.archive_answers import HistoriesStatistics, PartKey
from psoup.engine.store.contract import Store, StoreHealth, WorkerStore
from psoup.engine.store.errors import RecoveringError, StoreUnavailableError
from psoup.engine.tuples.batch import Seq

Descriptions = Recent[tuple[QueryId, int], Mapping[str, object]]
"""Live queries as they are described to clients."""

MEMORY_HIGH: Final = "memory-high"
NO_ENGINE: Final = "no-engine"
DECODE_THREADS = 2
PARSE_THREADS = 2
ANSWER_THREADS = 4
MATCH_THREADS = 1
"""Rows of one stream take turns anyhow: who waits for one takes no thread of the others."""
_SEND_LESS: Final = "Nothing was stored: send the same again, or less at once."
_ASK_FOR_LESS: Final = (
    "Ask for less: a shorter window, count=only, fewer rows, a query that costs less; or ask again: hits that were"
    " found by then are kept."
)
BACKLOG_READY_SHARE = 0.8
"""Past this share of the backlog's limit the service calls itself not ready."""


@dataclass(frozen=True, slots=True)
class ServiceStatistics:
    """Counters of all parts."""

    figures: Figures
    submission: SubmissionStatistics
    decoding: WorkStatistics
    parsing: WorkStatistics
    answering: WorkStatistics
    matching: WorkStatistics


@dataclass(frozen=True, slots=True)
class StoreState:
    """How the store is, and where its log ends; None where it went away in between."""

    health: StoreHealth
    head: Seq | None


@dataclass(frozen=True, slots=True)
class Inventory:
    """What log and results hold, as figures show it.

    Attributes:
        waiting_bytes: of bodies committed and not applied; None where the engine is in this process.
    """

    cut: Cut
    streams: Sequence[StreamRecord]
    counts: Counts
    log: LogStatistics
    histories: HistoriesStatistics
    waiting_bytes: int | None


class Service:
    """Everything behind the routes. Build it inside the event loop it serves."""

    def __init__(
        self,
        *,
        store: Store | WorkerStore,
        make_backend: "MakeBackend",
        settings: Settings,
        clock: Clock,
        elapsed_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wire the parts; nothing runs before `start`.

        Args:
            store: what operations are appended to.
            make_backend: what makes the backend over it; called once, with this service.
            settings: of this process.
            clock: dates what clients send.
            elapsed_s: dates readings of the throughput.
        """
        self.store = store
        self.settings = settings
        self.clock = clock
        self.bound = BoundQueries(make_lock=threading.Lock)
        self.invocations = InvocationCache(self.bound, make_lock=threading.Lock)
        self.descriptions = _no_descriptions()
        self.applied = AppliedPosition(asyncio.get_running_loop())
        self.history_parts: Recent[PartKey, bytes] = Recent(
            limits.HISTORY_CACHE_BYTES_MAX, threading.Lock()
        )
        self.invoked = InvocationCounts()
        self.throughput = ThroughputRing()
        self._elapsed_s = elapsed_s
        self._tasks: list[asyncio.Task[None]] = []
        self.backend = make_backend(self)
        self.results = self.backend.results
        self.renewals = Renewals(
            store.log.append_many, self.results.snapshots, store.results.now_us
        )
        self.ahead = PartialsAhead(self.backend, store.log, self.invocations)
        self.pending = PendingQueries(
            self.applied, find=self.backend.pending, find_all=self.backend.pending_all
        )
        self.catalogue = Catalogue(self.results, self._catch_up)
        self.standing = StandingIndexes(self.results, store.log, self.bound, self.catalogue.streams)
        self.submission = Submission(
            log=store.log,
            applied=self.applied,
            wake=self.backend.wake,
            at_hand=self.backend.at_hand,
            find_room=self._find_room,
            in_flight_max=settings.appends_in_flight,
        )
        self.decoding = WorkPool("decode", threads=DECODE_THREADS, advice=_SEND_LESS)
        self.state = StoreLook(self._look_at_store)
        self.inventory = StoreLook(self._take_inventory)
        self.parsing = WorkPool("parse", threads=PARSE_THREADS, advice=_SEND_LESS)
        self.answering = WorkPool("answer", threads=ANSWER_THREADS, advice=_ASK_FOR_LESS)
        self.matching = WorkPool("match", threads=MATCH_THREADS, advice=_ASK_FOR_LESS)

    async def start(self) -> None:
        """Begin to recover, and wait for it a while."""
        self.backend.start()
        await asyncio.to_thread(self.backend.wait_recovered, self.backend.grace_s)
        # Only now: what an engine counted before a worker began was not done in its first second.
        self._tasks = [
            asyncio.create_task(self._note_progress()),
            asyncio.create_task(self.renewals.renew_often(self.backend.wake)),
            asyncio.create_task(self.ahead.make_often(self.applied)),
        ]

    async def stop(self) -> None:
        """End what runs, in the order of the data's way; appends on their way are awaited.

        The store stays open: whoever opened it closes it.
        """
        await asyncio.to_thread(self.submission.close)
        await asyncio.to_thread(self.ahead.close)
        await asyncio.to_thread(self.backend.stop)
        self.applied.close()
        for task in self._tasks:
            task.cancel()
        looks, pools = (self.state, self.inventory), (self.parsing, self.answering, self.matching)
        for one in (self.decoding, *looks, *pools):
            await asyncio.to_thread(one.close)

    def forget(self) -> None:
        """Forget what is kept of a history that another one has followed. Any thread."""
        self.catalogue.forget_all()
        self.standing.forget()
        self.descriptions = _no_descriptions()

    def gate(self, *, from_memory: bool = False) -> None:
        """Turn a request away while it could not be answered rightly.

        `from_memory` = it asks for what an engine in this process has in its memory: while the store is away that is
        still all that anybody was told, as long as no other engine can have gone on.

        Raises:
            RecoveringError, StoreUnavailableError, DiskFullError, IntegrityError: by the backend's phase.
        """
        phase = self.backend.phase
        if phase is Phase.LIVE:
            return
        is_away = phase in {Phase.STORE_DOWN, Phase.DISK_FULL}
        if is_away and from_memory and self.backend.is_current:
            return
        if phase is Phase.DISK_FULL:
            raise DiskFullError(
                "The disk of the store is full, and its server has ended. Nothing was stored. Free space on it: psoup"
                " then goes on by itself.",
                reason=phase.value,
            )
        if phase is Phase.RECOVERING:
            raise RecoveringError("The engine is reading its state back. Send the same again soon.")
        if phase is Phase.STANDBY:
            raise RecoveringError("Another engine has the store; this one waits to take its place.")
        if phase is Phase.FENCED:
            raise RecoveringError(
                "Another engine has taken over the store, and this process ends. Nothing was stored. Send the"
                " same to where that one is answered for."
            )
        if phase is Phase.FAILED:
            raise IntegrityError("The engine has stopped: state and store disagree. See its log.")
        raise StoreUnavailableError(
            "The store does not answer; nothing was stored. Send the same again."
        )

    def snapshot_at_once(self, query_id: QueryId) -> Snapshot | None:
        """Return a query at the present position; None where it does not stand, or that would ask another process."""
        if not self.backend.reads_at_once:
            return None
        try:
            return self.results.snapshot(query_id)
        except NotFoundError:
            return None

    def reasons(self) -> tuple[str, ...]:
        """Return why the service is not ready; () = it is. Does not raise the store's errors.

        Blocks, STORE_LOOK_S at most: of a store that takes longer it returns what was last seen, and STORE_SLOW.
        """
        phase = self.backend.phase
        if phase is Phase.STOPPED:
            return (NO_ENGINE,)
        if phase is not Phase.LIVE:
            return (phase.value,)
        seen = self.state.seen()
        found = [] if seen.value is None else list(seen.value.health.reasons)
        found += self.backend.figures().store.reasons
        if seen.is_late:
            return (*found, STORE_SLOW)
        high = limits.HITS_MEMORY_BYTES_MAX * limits.HITS_MEMORY_HIGH_PERCENT
        if self.backend.figures().footprint.hits * 100 > high and MEMORY_HIGH not in found:
            found.append(MEMORY_HIGH)
        head = None if seen.value is None else seen.value.head
        if head is None:  # it went away since it was asked how it is
            return (*found, Phase.STORE_DOWN.value)
        if (
            head - self.backend.figures().published
            >= BACKLOG_READY_SHARE * limits.BACKLOG_OPERATIONS_MAX
        ):
            found.append("backlog")
        return tuple(found)

    def warnings(self) -> tuple[str, ...]:
        """Return what an operator has to know although requests are answered rightly. Asks nobody."""
        return tuple(self.backend.figures().store.warnings)

    def backlog(self) -> int:
        """Return how many operations are committed and not yet applied, as was last seen of the log.

        Blocks, STORE_LOOK_S at most. Raises StoreUnavailableError where nothing was seen yet.
        """
        return max(0, self.head() - self.applied.seq)

    def head(self) -> Seq:
        """Return the position of the last operation in the log, as it was last seen. Raises as `backlog`."""
        state = self.state.seen().value
        if state is None or state.head is None:
            raise _unseen()
        return state.head

    def inventoried(self) -> Inventory:
        """Return what log and results hold, as it was last seen. Blocks and raises as `backlog`."""
        inventory = self.inventory.seen().value
        if inventory is None:
            raise _unseen()
        return inventory

    def rates(self) -> Mapping[int, Throughput]:
        """Return what was done a second, by the number of seconds looked back at; invocations in this process."""
        return self.throughput.rates(self._elapsed_s(), self._progress())

    def statistics(self) -> ServiceStatistics:
        """Return counters."""
        return ServiceStatistics(
            figures=self.backend.figures(),
            submission=self.submission.statistics(),
            decoding=self.decoding.statistics(),
            parsing=self.parsing.statistics(),
            answering=self.answering.statistics(),
            matching=self.matching.statistics(),
        )

    def check(self) -> None:
        """Raise AssertionError if a part's invariant is broken. For tests, while nothing runs."""
        self.catalogue.check()
        self.standing.check()
        self.bound.check()
        self.invocations.check()
        self.descriptions.check()
        self.history_parts.check()
        self.applied.check()
        self.pending.check()
        self.submission.check()
        self.decoding.check()
        self.state.check()
        self.inventory.check()
        self.parsing.check()
        self.answering.check()
        self.matching.check()
        self.backend.check()
        self.throughput.check()
        self.renewals.check()
        self.ahead.check()

    def note_use(self, query: QueryRecord) -> None:
        """Take it that a query was answered from. Any thread."""
        self.invoked.note(query.query_id)
        if query.ttl_us is not None:
            self.renewals.note(query)

    async def _catch_up(self) -> None:
        """Wait until what the log holds now is applied, for CATCH_UP_S at most."""
        head = await asyncio.to_thread(self.store.log.head)
        await self.applied.wait(head, timeout_s=limits.CATCH_UP_S)

    def _find_room(self) -> None:
        """Raise MemoryFullError if hits take all the memory there is for them."""
        if self.backend.hit_bytes > limits.HITS_MEMORY_BYTES_MAX:
            raise MemoryFullError(
                "The hits kept between invocations take all the memory there is for them. Nothing was"
                " changed. They go with their tuples: drop a stream, or wait where retention goes by the"
                " server's clock. Queries that are registered with materialize auto or none keep fewer."
            )

    def _look_at_store(self) -> StoreState:
        health = self.store.health()
        try:
            return StoreState(health, self.store.log.head())
        except EngineError:
            return StoreState(health, None)

    def _take_inventory(self) -> Inventory:
        waiting_bytes = self.backend.waiting_bytes()
        return Inventory(
            self.results.cut(),
            self.results.streams(),
            self.results.counts(),
            self.store.log.statistics(),
            self.store.histories.statistics(),
            waiting_bytes,
        )

    async def _note_progress(self) -> None:
        """Keep a reading of the throughput each second."""
        while True:
            self.throughput.note(self._elapsed_s(), self._progress())
            await asyncio.sleep(NOTE_EVERY_S)

    def _progress(self) -> Progress:
        figures = self.backend.figures()
        return Progress(figures.tuples, figures.operations, self.invoked.count)


def _no_descriptions() -> Descriptions:
    return Recent(limits.DESCRIPTIONS_KEPT_MAX, threading.Lock())


def _unseen() -> StoreUnavailableError:
    return StoreUnavailableError(
        "The store does not answer, and was not seen before. Ask again soon."
    )


MakeBackend = Callable[[Service], Backend]
"""Makes what stands behind a service, which has its `applied` and `bound` by then."""
