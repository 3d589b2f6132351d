"""Hits that executors compute ahead of their operations (`psoup.engine.eddy.settling.PrecomputedHits`).

Operations go in runs between which clauses come or go: inside of one the clauses stand still, so whatever its tuples
will meet is known before the first of them is applied. Nothing that executors do is the truth: what they cannot do,
or not in time, is left to the engine, which does it as if there were none.
"""

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import UnionType
from typing import Protocol

from psoup.engine import limits
from psoup.engine.ahead.exchange import Blocks
from psoup.engine.ahead.planning import ChunkTask, Planner
from psoup.engine.ahead.scans import Pages, ReadAt, Scanning, scanned
from psoup.engine.clauses.stream_clauses import StreamClauses
from psoup.engine.errors import EngineError, IntegrityError
from psoup.engine.log.operation import Operation, Register, Rows, Tick
from psoup.engine.results.clause_pages import ClausePages
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import MatchBlock
from psoup.engine.state.state import State
from psoup.engine.tuples.schema import StreamId
from psoup.pipeline.errors import ExecutorsError
from psoup.pipeline.spark.scaling.shipping import Carrier, SentClauses, Shipping


class Executors(Carrier, Scanning, Protocol):
    """Those who settle chunks, and scan old tuples, elsewhere."""

    def settle(self, tasks: Sequence[ChunkTask], clauses: Mapping[StreamId, SentClauses]) -> Blocks:
        """Return the hits of all chunks of these tasks. Raises ExecutorsError where they cannot."""
        ...


@dataclass(frozen=True, slots=True)
class AheadStatistics:
    """Counters since the start.

    Attributes:
        jobs: those to settle chunks.
        failed: of these, and of scans of old tuples, how many came to nothing.
        chunks: found by executors and taken by the engine, of old tuples once for each clause.
        seconds: that the engine has waited for jobs.
        waiting: whether executors are left alone for a while, because the last job came to nothing.
    """

    jobs: int
    failed: int
    chunks: int
    seconds: float
    waiting: bool


class SettledAhead:
    """Plans what a run of operations will ask for, has it done, and keeps it until the run is applied.

    In the thread of the fold. Invariant: what is ready belongs to the run that is being applied.
    """

    def __init__(
        self,
        executors: Executors,
        *,
        read_at: ReadAt | None = None,
        on_failed: Callable[[str], None] = lambda _: None,
        elapsed_s: Callable[[], float] = time.monotonic,
        pairs_min: int = limits.SCALED_PAIRS_MIN,
    ) -> None:
        """Begin with nothing ready.

        Args:
            executors: who settle.
            read_at: where old bodies are; None = old tuples are left to the engine.
            on_failed: told why, each time that a job came to nothing.
            elapsed_s: paces attempts; no result depends on it.
            pairs_min: chunks times clauses, from which on a run is worth a job.
        """
        self._executors = executors
        self._read_at = read_at
        self._on_failed = on_failed
        self._elapsed_s = elapsed_s
        self._pairs_min = pairs_min
        self._planner = Planner()
        self._shipping = Shipping(executors)
        self._runs: deque[list[Operation]] = deque()
        self._blocks: Blocks = {}
        self._pages: Pages = {}
        self._again_s: float | None = None
        self._jobs = self._failed = self._chunks = 0
        self._seconds = 0.0

    def expect(self, operations: Sequence[Operation]) -> None:
        """Take note of the operations that are applied next; what was ready of others is ready no more."""
        self._blocks, self._pages = {}, {}
        self._runs = deque(runs_of(operations))

    def begin(self, state: State, operation: Operation) -> None:
        """Make ready what a run of operations will ask for, where this one is its first and that is worth it."""
        if self._runs and self._runs[0][0].seq == operation.seq:
            self._prepare(state, self._runs.popleft())

    def block(self, stream_id: StreamId, chunk: int) -> MatchBlock | None:
        """Return the hits in a chunk that has just become whole, if they are ready."""
        found = self._blocks.pop((stream_id, chunk), None)
        self._chunks += found is not None
        return found

    def pages(self, clause_id: ClauseId, run: int) -> ClausePages | None:
        """Return the hits of a fresh clause in a run of whole chunks, if they are ready."""
        found = self._pages.pop((clause_id, run), None)
        self._chunks += 0 if found is None else len(found.counts)
        return found

    def close(self) -> None:
        """Take back what executors were sent."""
        self._blocks, self._pages = {}, {}
        self._shipping.close()

    def statistics(self) -> AheadStatistics:
        """Return counters."""
        return AheadStatistics(
            self._jobs, self._failed, self._chunks, self._seconds, waiting=self._is_waiting()
        )

    def check(self) -> None:
        """Raise AssertionError unless planning and shipping hold together. For tests, between turns."""
        self._planner.check()
        self._shipping.check()

    def _prepare(self, state: State, run: Sequence[Operation]) -> None:
        """Make ready what a run will ask for, if it is worth it."""
        self._blocks, self._pages = {}, {}
        if isinstance(run[0].content, Register):
            self._prepare_queries(state, run)
        else:
            self._prepare_rows(state, run)

    def _prepare_queries(self, state: State, run: Sequence[Operation]) -> None:
        read_at = self._read_at
        if read_at is not None and not self._is_waiting():
            with self._counted(), suppress(EngineError):  # then the engine finds out by itself
                self._pages = scanned(state, run, self._executors, read_at)

    def _prepare_rows(self, state: State, run: Sequence[Operation]) -> None:
        streams = self._planner.note(state, run)
        try:
            asking = {one: clauses for one in streams if (clauses := self._asking(state, one))}
            if self._pairs(asking) >= self._pairs_min and not self._is_waiting():
                with self._counted():
                    self._blocks = self._settled(state, asking)
        except IntegrityError:
            # A body is damaged: the engine will find so, and rows then have other numbers than were planned.
            self._planner.forget()
            return
        for stream_id in streams:
            self._planner.forget_whole(stream_id, state.streams[stream_id].record.schema)

    def _asking(self, state: State, stream_id: StreamId) -> StreamClauses | None:
        """Return the clauses that chunks of this stream will meet; None for no clause, or no chunk."""
        return state.query_stem.probe(stream_id) if self._planner.whole(stream_id) else None

    def _pairs(self, asking: Mapping[StreamId, StreamClauses]) -> int:
        return sum(len(self._planner.whole(one)) * weight(asking[one]) for one in asking)

    def _settled(self, state: State, asking: Mapping[StreamId, StreamClauses]) -> Blocks:
        """Return the hits in the chunks that are whole, found by executors."""
        found: Blocks = {}
        self._shipping.retain(state.query_stem.probe)
        for tasks, sent in self._jobs_of(state, asking):
            self._jobs += 1
            found |= self._executors.settle(tasks, sent)
        return found

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count the time, and what comes to nothing: then executors are left alone for SCALED_RETRY_S."""
        begun_s = self._elapsed_s()
        try:
            yield
        except ExecutorsError as error:
            self._failed += 1
            self._again_s = self._elapsed_s() + limits.SCALED_RETRY_S
            self._shipping.close()
            self._on_failed(str(error))
        finally:
            self._seconds += self._elapsed_s() - begun_s

    def _jobs_of(
        self, state: State, asking: Mapping[StreamId, StreamClauses]
    ) -> Iterator[tuple[list[ChunkTask], dict[StreamId, SentClauses]]]:
        """Yield jobs of SCALED_JOB_PAIRS_MAX or little more: what comes of one is in memory at once, in four places."""
        tasks: list[ChunkTask] = []
        sent: dict[StreamId, SentClauses] = {}
        pairs = 0
        chunks = sum(len(self._planner.whole(one)) for one in asking)
        most = -(-chunks // self._executors.parallelism)
        for stream_id, clauses in asking.items():
            schema = state.streams[stream_id].record.schema
            shipped = self._shipping.ship(stream_id, schema, clauses)
            if shipped is None:
                continue
            heaviest = max(1, limits.SCALED_JOB_PAIRS_MAX // len(clauses.slots))
            for task in self._planner.tasks(stream_id, schema, min(most, heaviest)):
                tasks.append(task)
                sent[stream_id] = shipped
                pairs += (task.past_chunk - task.first_chunk) * len(clauses.slots)
                if pairs >= limits.SCALED_JOB_PAIRS_MAX:
                    yield tasks, sent
                    tasks, sent, pairs = [], {}, 0
        if tasks:
            yield tasks, sent

    def _is_waiting(self) -> bool:
        return self._again_s is not None and self._elapsed_s() < self._again_s


def weight(clauses: StreamClauses) -> int:
    """Return about how much a chunk costs that meets these clauses: 1 for each, and more for what is evaluated."""
    return len(clauses.slots) + limits.SCALED_RESIDUAL_PAIRS * len(clauses.residuals)


def runs_of(operations: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Yield the operations in order, in runs: rows and ticks, which change no clause; registrations; others."""
    kinds: tuple[type | UnionType, ...] = (Rows | Tick, Register)
    for _, run in itertools.groupby(
        operations, lambda operation: [isinstance(operation.content, kind) for kind in kinds]
    ):
        yield list(run)
