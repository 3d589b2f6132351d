"""Hits that executors compute ahead of the operations that need them (`eddy.settling.PrecomputedHits`).

Operations are taken in groups. Inside a group no clause comes or goes, so the clauses that its tuples will meet are
known before the first of them is applied. No result depends on executors: the engine computes whatever they fail to
compute, or compute too late.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import UnionType
from typing import Protocol

from psoup.engine import limits
from psoup.engine.ahead.broadcasts import BroadcastClauses, Broadcaster, ClauseBroadcasts
from psoup.engine.ahead.errors import ExecutorsError
from psoup.engine.ahead.exchange import Blocks
from psoup.engine.ahead.planning import ChunkPlanner, ChunkTask
from psoup.engine.ahead.scans import PagesByRun, ReadAt, ScanExecutors, scan_stored_tuples
from psoup.engine.clauses.stream_clauses import StreamClauses
from psoup.engine.errors import EngineError, IntegrityError
from psoup.engine.log.operation import Operation, Register, Rows, Tick
from psoup.engine.results.clause_pages import ClausePages
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import MatchBlock
from psoup.engine.state.state import State
from psoup.engine.tuples.schema import StreamId


class Executors(Broadcaster, ScanExecutors, Protocol):
    """Processes elsewhere that settle chunks and scan stored tuples."""

    def settle(
        self, tasks: Sequence[ChunkTask], clauses: Mapping[StreamId, BroadcastClauses]
    ) -> Blocks:
        """Return the hits of all chunks of these tasks. Raises ExecutorsError if the job fails."""
        ...


@dataclass(frozen=True, slots=True)
class ExecutorHitsStatistics:
    """Counters since the start.

    Attributes:
        jobs: jobs that settle chunks.
        failed: how many of these jobs, and of the scans of stored tuples, failed.
        chunks: chunks whose hits executors computed and the engine took; a scan counts once for each clause.
        seconds: time that the engine waited for jobs.
        waiting: whether executors get no job for now, because the last one failed.
    """

    jobs: int
    failed: int
    chunks: int
    seconds: float
    waiting: bool


class ExecutorHits:
    """Plans which hits a group of operations needs, has executors compute them, and holds them for the group.

    Belongs to the thread of the fold. Invariant: the hits held belong to the group that is being applied.
    """

    def __init__(
        self,
        executors: Executors,
        *,
        elapsed_s: Callable[[], float],
        read_at: ReadAt | None = None,
        on_failed: Callable[[str], None] = lambda _: None,
        pairs_min: int = limits.SCALED_PAIRS_MIN,
    ) -> None:
        """Begin with no hits.

        Args:
            executors: do the work.
            elapsed_s: seconds since any fixed instant; paces attempts, and no result depends on it.
            read_at: reads stored batches; None = the engine scans all stored tuples itself.
            on_failed: called with the reason whenever a job has failed.
            pairs_min: chunks times clauses from which on a group is worth a job.
        """
        self._executors = executors
        self._read_at = read_at
        self._on_failed = on_failed
        self._elapsed_s = elapsed_s
        self._pairs_min = pairs_min
        self._planner = ChunkPlanner()
        self._broadcasts = ClauseBroadcasts(executors)
        self._groups: deque[list[Operation]] = deque()
        self._blocks: Blocks = {}
        self._pages: PagesByRun = {}
        self._retry_at_s: float | None = None
        self._jobs = self._failed = self._chunks = 0
        self._seconds = 0.0

    def expect(self, operations: Sequence[Operation]) -> None:
        """Note the operations that are applied next. Hits held for other operations are dropped."""
        self._blocks, self._pages = {}, {}
        self._groups = deque(operation_groups(operations))

    def begin(self, state: State, operation: Operation) -> None:
        """Compute the hits that an operation group needs, if this operation is its first and a job is worth it."""
        if self._groups and self._groups[0][0].seq == operation.seq:
            self._prepare(state, self._groups.popleft())

    def block(self, stream_id: StreamId, chunk: int) -> MatchBlock | None:
        """Return the hits in a chunk that has just become whole; None if they are not ready."""
        block = self._blocks.pop((stream_id, chunk), None)
        self._chunks += block is not None
        return block

    def pages(self, clause_id: ClauseId, page_run: int) -> ClausePages | None:
        """Return the hits of a fresh clause in a page run of whole chunks; None if they are not ready."""
        pages = self._pages.pop((clause_id, page_run), None)
        self._chunks += 0 if pages is None else len(pages.counts)
        return pages

    def close(self) -> None:
        """Remove everything that was sent to executors."""
        self._blocks, self._pages = {}, {}
        self._broadcasts.close()

    def statistics(self) -> ExecutorHitsStatistics:
        """Return counters."""
        return ExecutorHitsStatistics(
            self._jobs, self._failed, self._chunks, self._seconds, waiting=self._is_waiting()
        )

    def check(self) -> None:
        """Raise AssertionError unless planner and broadcasts hold together. For tests, between turns."""
        self._planner.check()
        self._broadcasts.check()

    def _prepare(self, state: State, group: Sequence[Operation]) -> None:
        """Compute the hits that a group needs, if a job is worth it."""
        self._blocks, self._pages = {}, {}
        if isinstance(group[0].content, Register):
            self._prepare_queries(state, group)
        else:
            self._prepare_rows(state, group)

    def _prepare_queries(self, state: State, group: Sequence[Operation]) -> None:
        read_at = self._read_at
        if read_at is not None and not self._is_waiting():
            with self._counted(), suppress(EngineError):  # the engine meets the same error itself
                self._pages = scan_stored_tuples(state, group, self._executors, read_at)

    def _prepare_rows(self, state: State, group: Sequence[Operation]) -> None:
        streams = self._planner.note(state, group)
        try:
            probed = {
                stream_id: clauses
                for stream_id in streams
                if (clauses := self._probed_clauses(state, stream_id))
            }
            if self._pairs(probed) >= self._pairs_min and not self._is_waiting():
                with self._counted():
                    self._blocks = self._settle(state, probed)
        except IntegrityError:
            # A batch is damaged: the engine will void it, and rows then get other numbers than were planned.
            self._planner.forget()
            return
        for stream_id in streams:
            self._planner.forget_whole(stream_id, state.streams[stream_id].record.schema)

    def _probed_clauses(self, state: State, stream_id: StreamId) -> StreamClauses | None:
        """Return the clauses that chunks of this stream will meet; None if there is no clause or no chunk."""
        return state.query_stem.probe(stream_id) if self._planner.whole(stream_id) else None

    def _pairs(self, probed: Mapping[StreamId, StreamClauses]) -> int:
        return sum(
            len(self._planner.whole(stream_id)) * weight(clauses)
            for stream_id, clauses in probed.items()
        )

    def _settle(self, state: State, probed: Mapping[StreamId, StreamClauses]) -> Blocks:
        """Return the hits in the whole chunks, computed by executors."""
        blocks: Blocks = {}
        self._broadcasts.retain(state.query_stem.probe)
        for tasks, clauses in self._plan_jobs(state, probed):
            self._jobs += 1
            blocks |= self._executors.settle(tasks, clauses)
        return blocks

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count the time and a failure; after a failure executors get no job for SCALED_RETRY_S."""
        begun_s = self._elapsed_s()
        try:
            yield
        except ExecutorsError as error:
            self._failed += 1
            self._retry_at_s = self._elapsed_s() + limits.SCALED_RETRY_S
            self._broadcasts.close()
            self._on_failed(str(error))
        finally:
            self._seconds += self._elapsed_s() - begun_s

    def _plan_jobs(
        self, state: State, probed: Mapping[StreamId, StreamClauses]
    ) -> Iterator[tuple[list[ChunkTask], dict[StreamId, BroadcastClauses]]]:
        """Yield jobs of about SCALED_JOB_PAIRS_MAX pairs: the hits of one job are in memory at once, four times."""
        tasks: list[ChunkTask] = []
        sent: dict[StreamId, BroadcastClauses] = {}
        pairs = 0
        chunks = sum(len(self._planner.whole(stream_id)) for stream_id in probed)
        most = -(-chunks // self._executors.parallelism)
        for stream_id, clauses in probed.items():
            schema = state.streams[stream_id].record.schema
            broadcast = self._broadcasts.send(stream_id, schema, clauses)
            if broadcast is None:
                continue
            heaviest = max(1, limits.SCALED_JOB_PAIRS_MAX // len(clauses.slots))
            for task in self._planner.tasks(stream_id, schema, min(most, heaviest)):
                tasks.append(task)
                sent[stream_id] = broadcast
                pairs += (task.past_chunk - task.first_chunk) * len(clauses.slots)
                if pairs >= limits.SCALED_JOB_PAIRS_MAX:
                    yield tasks, sent
                    tasks, sent, pairs = [], {}, 0
        if tasks:
            yield tasks, sent

    def _is_waiting(self) -> bool:
        return self._retry_at_s is not None and self._elapsed_s() < self._retry_at_s


def weight(clauses: StreamClauses) -> int:
    """Return the cost of a chunk that meets these clauses, in pairs: 1 for a clause, more for a residual."""
    return len(clauses.slots) + limits.SCALED_RESIDUAL_PAIRS * len(clauses.residuals)


def operation_groups(operations: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Yield the operations in order, in groups: rows and ticks, which change no clause; registrations; others."""
    kinds: tuple[type | UnionType, ...] = (Rows | Tick, Register)
    for _, group in itertools.groupby(
        operations, lambda operation: [isinstance(operation.content, kind) for kind in kinds]
    ):
        yield list(group)
