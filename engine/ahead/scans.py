"""Old tuples for queries that are new: clauses that are costly to evaluate, over many rows, several in one job.

The engine scans its own columns faster than they can be sent, but for clauses with expressions that have to be
evaluated row by row. Executors are sent the bodies of a run of chunks, once for all such clauses of the registrations
that stand together in the log, and answer with a bit for each row and clause.
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
"""Returns operations of the log, in the order of these seqs."""
Pages = dict[tuple[ClauseId, int], ClausePages]
"""By clause and run."""
Found = Mapping[tuple[ClauseId, int], tuple[Words, NDArray[np.int32]]]
"""By clause and first chunk of a task: which of its rows satisfy the clause, and how many of each chunk."""
Asked = tuple[StreamSchema, Mapping[ClauseId, StandingQueryClause]]
"""A stream's declaration, and clauses over it."""


class Scanning(Protocol):
    """Those who scan elsewhere."""

    @property
    def parallelism(self) -> int:
        """Return how many tasks they do at once. Raises ExecutorsError where nobody can say."""
        ...

    def scan(self, tasks: Sequence[ChunkTask], asked: Asked) -> Found:
        """Return what all clauses find in all tasks. Raises ExecutorsError where they cannot."""
        ...


@dataclass(frozen=True, slots=True)
class FreshClause:
    """A clause that a registration brings, and the first row whose hits are kept."""

    clause_id: ClauseId
    clause: StandingQueryClause
    keeping: Keeping
    stream_id: StreamId
    first_row: int

    @property
    def expressions(self) -> int:
        """Return how much of it is evaluated row by row."""
        return sum(not isinstance(factor, AttributeFactor) for factor in self.clause.factors)


def fresh_clauses(state: State, registrations: Sequence[Operation]) -> Iterator[FreshClause]:
    """Yield the costly clauses over one stream that these registrations will add, each once.

    Args:
        state: that before the first of them.
        registrations: that follow each other in the log. One that cannot be applied yields nothing, or a clause
            that nobody will ask for.
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


def scanned(
    state: State, registrations: Sequence[Operation], executors: Scanning, read_at: ReadAt
) -> Pages:
    """Return the pages of the clauses that these registrations add, as far as it is worth it (SCALED_SCAN_…).

    Raises:
        ExecutorsError: a job has failed.
        EngineError: the log cannot be read, or a body is damaged.
    """
    by_stream: dict[StreamId, list[FreshClause]] = {}
    for fresh in fresh_clauses(state, registrations):
        by_stream.setdefault(fresh.stream_id, []).append(fresh)
    found: Pages = {}
    for stream_id, some in by_stream.items():
        stream = state.streams[stream_id]
        past_row = stream.open_chunk * CHUNK_ROWS
        cost = sum((past_row - one.first_row) * one.expressions for one in some)
        several = sum(one.expressions for one in some) >= limits.SCALED_SCAN_EXPRESSIONS_MIN
        if several and cost >= limits.SCALED_SCAN_ROWS_MIN:
            first_row = min(one.first_row for one in some)
            for run in range(first_row // RUN_ROWS, -(-past_row // RUN_ROWS)):
                rows = range(max(first_row, run * RUN_ROWS), min(past_row, (run + 1) * RUN_ROWS))
                found |= _scanned_run(stream, some, rows, executors, read_at)
    return found


def _scanned_run(
    stream: StreamState,
    some: Sequence[FreshClause],
    rows: range,
    executors: Scanning,
    read_at: ReadAt,
) -> Pages:
    """Return the pages of these clauses in the whole chunks of one run."""
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
    found = executors.scan(tasks, (schema, {one.clause_id: one.clause for one in some}))
    pages: Pages = {}
    for one in some:
        parts = [found[one.clause_id, task.first_chunk] for task in tasks]
        skipped = max(0, one.first_row // CHUNK_ROWS - chunks.start)
        words: Any = np.concatenate([words for words, _ in parts])[skipped * CHUNK_WORDS :]
        counts = np.concatenate([counts for _, counts in parts])[skipped:]
        if len(counts):
            key = (one.clause_id, rows.start // RUN_ROWS)
            pages[key] = ClausePages.of(chunks.start + skipped, words, counts, one.keeping)
    return pages
