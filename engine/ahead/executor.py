"""The work of one executor: it builds tuples from batches, probes them with the clauses it was sent, and returns hits.

Reader, columns, tables and kernels are the engine's own.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa

from psoup.engine.ahead.broadcasts import BroadcastClauses, ClauseVersion
from psoup.engine.ahead.exchange import read_tasks, write_block, write_scan
from psoup.engine.eddy.settling import ImageEddy, stem_of
from psoup.engine.kernels.warm import warm_up
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import EMPTY
from psoup.engine.tuples.batch_reader import BatchReader
from psoup.engine.tuples.schema import StreamId, StreamSchema

_EDDIES: Final[dict[StreamId, tuple[ClauseVersion, ImageEddy]]] = {}
"""The eddy last made in this process for each stream, with its version; both outlive a task."""


def warm_up_tasks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Compile or load the kernels in this process, then answer each task with no hits."""
    warm_up()
    for batch in batches:
        for task in read_tasks(batch):
            yield write_block(task.stream_id, task.first_chunk, EMPTY)


def settle_tasks(
    batches: Iterator[pa.RecordBatch], clauses: Mapping[StreamId, BroadcastClauses]
) -> Iterator[pa.RecordBatch]:
    """Yield the hits of every chunk of these tasks, one row of `exchange.BLOCKS` for each chunk.

    Args:
        batches: tasks, as rows of `exchange.TASKS`.
        clauses: those of every stream that has a task.

    Raises:
        IntegrityError: a batch is not as its task says; no hits of the job may be used then.
    """
    for batch in batches:
        for task in read_tasks(batch):
            eddy = _eddy(task.stream_id, clauses[task.stream_id])
            for chunk, block in eddy.settle(task.stream_id, task.first_chunk, task.bodies):
                yield write_block(task.stream_id, chunk, block)


def scan_tasks(
    batches: Iterator[pa.RecordBatch],
    schema: StreamSchema,
    clauses: Mapping[ClauseId, StandingQueryClause],
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that satisfy each clause in each task, one row of `exchange.SCANS` for each pair.

    Raises:
        IntegrityError: a batch is not as its task says.
    """
    reader = BatchReader(schema)
    for batch in batches:
        for task in read_tasks(batch):
            stem = stem_of(reader, task.stream_id, task.first_chunk, task.bodies)
            for clause_id, clause in clauses.items():
                first_chunk, words, counts = stem.probe(clause, stem.first_row, stem.past_row)
                yield write_scan(clause_id, first_chunk, words, counts)


def _eddy(stream_id: StreamId, sent: BroadcastClauses) -> ImageEddy:
    """Return the eddy of these clauses, made once in each process for each version."""
    version = sent.version.value
    known = _EDDIES.get(stream_id)
    if known is not None and known[0] is version:
        return known[1]
    eddy = ImageEddy(version.image(sent.tables), version.schema)
    _EDDIES[stream_id] = (version, eddy)
    return eddy
