"""A batch that is in the log, as the rows that its record says they are."""

from psoup.engine.errors import IntegrityError
from psoup.engine.log.operation import Operation, Rows
from psoup.engine.tuples.batch import Batch, TupleId
from psoup.engine.tuples.batch_reader import BatchReader
from psoup.engine.tuples.schema import StreamId


def logged_batch(
    reader: BatchReader,
    operation: Operation,
    *,
    stream_id: StreamId,
    first_tuple_id: TupleId,
    rows: int,
) -> Batch:
    """Return the tuples of a logged batch.

    Args:
        reader: of the stream's bodies.
        operation: the log's entry.
        stream_id: the stream, as the batch's record says, and the rest too.
        first_tuple_id: the id of its first tuple.
        rows: how many there are.

    Raises IntegrityError if the entry is no batch of this stream, or has another number of rows.
    """
    content = operation.content
    if not isinstance(content, Rows) or content.stream_id != stream_id:
        raise IntegrityError(f"Operation {operation.seq} is no batch of stream {stream_id}.")
    batch = reader.batch(
        content.body,
        stream_id=stream_id,
        first_tuple_id=first_tuple_id,
        seq=operation.seq,
        arrival_us=operation.arrival_us,
    )
    if len(batch) != rows:
        raise IntegrityError(
            f"Batch {operation.seq} has {len(batch)} rows, its record says {rows}."
        )
    return batch
