"""Scans of stored tuples for new queries, by executors: several costly clauses over many rows in one job.

The engine scans its own columns faster than it can send them, unless clauses have expressions that are evaluated row
by row. For such clauses of adjacent registrations, executors get the batches of a page run once, and return a bit for
each row and clause.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from psoup.engine import limits
from psoup.engine.ahead.planning import ChunkTask, KnownRows
from psoup.engine.clauses.query_stem import keeping_of
from psoup.engine.errors import EngineError
from psoup.engine.kernels.bits import CHUNK_WORDS, Words
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Operation, Register, Rows
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.factor import AttributeFactor
from psoup.engine.results.clause_pages import RUN_ROWS, ClausePages
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Keeping
from psoup.engine.state.state import State, StreamState, first_kept_row
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId, StreamSchema

ReadAt = Callable[[Sequence[Seq]], Iterable[Operation]]
"""Returns the operations of the log at these seqs, in this order."""
PagesByRun = dict[tuple[ClauseId, int], ClausePages]
"""By clause and page run."""
ScanHits = Mapping[tuple[ClauseId, int], tuple[Words, NDArray[np.int32]]]
"""By clause and first chunk of a task: which of the task's rows satisfy the clause, and how many in each chunk."""
ScannedClauses = tuple[StreamSchema, Mapping[ClauseId, StandingQueryClause]]
"""The schema of a stream, and clauses over it."""


class ScanExecutors(Protocol):
    """Executors that scan stored tuples."""

    @property
    def parallelism(self) -> int:
        """Return the number of tasks they run at once. Raises ExecutorsError if the cluster does not answer."""
        ...

    def scan(self, tasks: Sequence[ChunkTask], scanned: ScannedClauses) -> ScanHits:
        """Return the hits of all clauses in all tasks. Raises ExecutorsError if the job fails."""
        ...


@dataclass(frozen=True, slots=True)
class FreshClause:
    """A clause that a registration adds, and the first row whose hits are kept."""

    clause_id: ClauseId
    clause: StandingQueryClause
    keeping: Keeping
    stream_id: StreamId
    first_row: int

    @property
    def expressions(self) -> int:
        """Return the number of its factors that are evaluated row by row."""
        return sum(not isinstance(factor, AttributeFactor) for factor in self.clause.factors)


def fresh_clauses(state: State, registrations: Sequence[Operation]) -> Iterator[FreshClause]:
    """Yield the costly clauses over a single stream that these registrations add, each once.

    Args:
        state: the state before the first of them.
        registrations: adjacent in the log. One that cannot be applied yields nothing, or a clause that is never
            used.
    """
    known = set(state.shared)
    for operation in registrations:
        content = operation.content
        if not isinstance(content, Register):
            continue
        declared = {
            name: (stream_id, state.streams[stream_id].record.schema)
            for name, stream_id in content.streams.items()
            if state.names.get(name) == stream_id
        }
        if len(declared) != 1 or len(content.streams) != 1:
            continue
        try:
            clause = state.bind(content.sql, declared).clause
        except EngineError:
            continue
        (stream_id,) = (source.stream_id for source in clause.sources[:1])
        key = (
            clause.text,
            tuple(source.stream_id for source in clause.sources),
            content.materialize,
        )
        if len(clause.sources) > 1 or key in known:
            continue
        known.add(key)
        first_row = first_kept_row(state.streams[stream_id], clause, content.materialize)
        keeping = keeping_of(clause, content.materialize)
        fresh = FreshClause(ClauseId(operation.seq), clause, keeping, stream_id, first_row)
        if fresh.expressions:
            yield fresh


def scan_stored_tuples(
    state: State, registrations: Sequence[Operation], executors: ScanExecutors, read_at: ReadAt
) -> PagesByRun:
    """Return the pages of the clauses that these registrations add, as far as a job is worth it (SCALED_SCAN_…).

    Raises:
        ExecutorsError: a job failed.
        EngineError: the log cannot be read, or a batch is damaged.
    """
    by_stream: dict[StreamId, list[FreshClause]] = {}
    for fresh in fresh_clauses(state, registrations):
        by_stream.setdefault(fresh.stream_id, []).append(fresh)
    pages: PagesByRun = {}
    for stream_id, clauses in by_stream.items():
        stream = state.streams[stream_id]
        past_row = stream.open_chunk * CHUNK_ROWS
        cost = sum((past_row - fresh.first_row) * fresh.expressions for fresh in clauses)
        expressions = sum(fresh.expressions for fresh in clauses)
        several = expressions >= limits.SCALED_SCAN_EXPRESSIONS_MIN
        if several and cost >= limits.SCALED_SCAN_ROWS_MIN:
            first_row = min(fresh.first_row for fresh in clauses)
            for page_run in range(first_row // RUN_ROWS, -(-past_row // RUN_ROWS)):
                rows = range(
                    max(first_row, page_run * RUN_ROWS), min(past_row, (page_run + 1) * RUN_ROWS)
                )
                pages |= _scan_page_run(stream, clauses, rows, executors, read_at)
    return pages


def _scan_page_run(
    stream: StreamState,
    clauses: Sequence[FreshClause],
    rows: range,
    executors: ScanExecutors,
    read_at: ReadAt,
) -> PagesByRun:
    """Return the pages of these clauses in the whole chunks of one page run; none if a batch is missing."""
    batches = [
        batch
        for batch in (*stream.retired, *stream.retained)
        if batch.first_row < rows.stop and batch.past_row > rows.start
    ]
    if not batches or batches[0].first_row > rows.start:
        return {}
    known = KnownRows(batches[0].first_row)
    for operation in read_at([batch.seq for batch in batches]):
        if isinstance(operation.content, Rows):
            known.add(operation.content.body, operation.content.rows)
    if known.past_row < rows.stop:
        return {}
    schema = stream.record.schema
    chunks = range(rows.start // CHUNK_ROWS, rows.stop // CHUNK_ROWS)
    most = -(-len(chunks) // executors.parallelism)
    tasks = list(known.tasks(stream.record.stream_id, schema, most, chunks))
    hits = executors.scan(tasks, (schema, {fresh.clause_id: fresh.clause for fresh in clauses}))
    pages: PagesByRun = {}
    for fresh in clauses:
        parts = [hits[fresh.clause_id, task.first_chunk] for task in tasks]
        skipped = max(0, fresh.first_row // CHUNK_ROWS - chunks.start)
        words: Any = np.concatenate([words for words, _ in parts])[skipped * CHUNK_WORDS :]
        counts = np.concatenate([counts for _, counts in parts])[skipped:]
        if len(counts):
            key = (fresh.clause_id, rows.start // RUN_ROWS)
            pages[key] = ClausePages.of(chunks.start + skipped, words, counts, fresh.keeping)
    return pages
