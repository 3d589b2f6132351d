"""What an executor does: it makes tuples of bodies, meets them with the clauses that it was sent, and returns the hits.

Everything here is the engine's own: its reader, its columns, its tables and kernels.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa

from psoup.engine.ahead.exchange import read_tasks, write_block, write_scan
from psoup.engine.ahead.shipping import SentClauses, Version
from psoup.engine.eddy.settling import ImageEddy, stem_of
from psoup.engine.kernels.warm import warm_up
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import EMPTY
from psoup.engine.tuples.batch_reader import BatchReader
from psoup.engine.tuples.schema import StreamId, StreamSchema

_MADE: Final[dict[StreamId, tuple[Version, ImageEddy]]] = {}
"""Of each stream what was last made ready in this process: it lives on from task to task, and so does its version."""


def warm_up_tasks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Compile or load the kernels in this process, then answer each task with no hits."""
    warm_up()
    for batch in batches:
        for task in read_tasks(batch):
            yield write_block(task.stream_id, task.first_chunk, EMPTY)


def settle_tasks(
    batches: Iterator[pa.RecordBatch], clauses: Mapping[StreamId, SentClauses]
) -> Iterator[pa.RecordBatch]:
    """Yield the hits of every chunk of these tasks, a row of `exchange.BLOCKS` each.

    Args:
        batches: tables of tasks.
        clauses: of every stream that is among them.

    Raises:
        IntegrityError: a body is not what its task says; then nothing of the job may be used.
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
    """Yield what each of these clauses finds in each of these tasks, a row of `exchange.SCANS` each.

    Raises:
        IntegrityError: a body is not what its task says.
    """
    reader = BatchReader(schema)
    for batch in batches:
        for task in read_tasks(batch):
            stem = stem_of(reader, task.stream_id, task.first_chunk, task.bodies)
            for clause_id, clause in clauses.items():
                found = stem.probe(clause, stem.first_row, stem.past_row)
                yield write_scan(clause_id, *found)


def _eddy(stream_id: StreamId, sent: SentClauses) -> ImageEddy:
    """Return the clauses ready to be met, made once in each process for each version."""
    version = sent.version.value
    known = _MADE.get(stream_id)
    if known is not None and known[0] is version:
        return known[1]
    eddy = ImageEddy(version.image(sent.tables), version.schema)
    _MADE[stream_id] = (version, eddy)
    return eddy
