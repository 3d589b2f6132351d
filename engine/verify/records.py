"""Records against what they say: batches against the log's entries, streams against batches, handles against texts."""

from collections.abc import Iterator

from psoup.engine import expire
from psoup.engine.errors import EngineError, IntegrityError
from psoup.engine.ingest import batch_bytes
from psoup.engine.limits import SEGMENT_ROWS
from psoup.engine.log.operation import Operation, Rows
from psoup.engine.query.bind.binder import Bind
from psoup.engine.query.bind.scope import Streams
from psoup.engine.results.delta import BatchRecord, ClauseRecord, QueryRecord
from psoup.engine.state.state import StreamState
from psoup.engine.tuples.batch import Batch


def read_batch(stream: StreamState, record: BatchRecord, entry: Operation) -> Batch:
    """Return an entry's tuples. Raises IntegrityError or ValueError where it is no batch of the stream."""
    content = entry.content
    if not isinstance(content, Rows) or content.stream_id != record.stream_id:
        raise IntegrityError("The entry is no batch of this stream.")
    return stream.reader.batch(
        content.body,
        stream_id=record.stream_id,
        first_tuple_id=record.first_tuple_id,
        seq=entry.seq,
        arrival_us=entry.arrival_us,
    )


def batch_faults(
    stream: StreamState, record: BatchRecord, entry: Operation, batch: Batch
) -> Iterator[str]:
    """Yield in what the record of a batch differs from the batch."""
    assert isinstance(entry.content, Rows)
    if not len(batch):
        yield "a batch without tuples has a record"
        return
    size = batch_bytes(stream.row_bytes, batch)
    oldest_us, newest_us = batch.span_us
    pairs = [
        ("rows", record.rows, len(batch)),
        ("rows of the entry", entry.content.rows, len(batch)),
        ("bytes", record.bytes, size),
        ("first tuple id", record.first_tuple_id, entry.first_tuple_id),
        ("oldest time", record.oldest_us, oldest_us),
        ("newest time", record.newest_us, newest_us),
    ]
    yield from (f"{what}: said {said}, is {found}" for what, said, found in pairs if said != found)


def stream_faults(stream: StreamState, queries: int, arrival_us: int) -> Iterator[str]:
    """Yield in what the record of a stream differs from its batches and queries.

    Args:
        stream: with all batches that are held.
        queries: standing queries that read it.
        arrival_us: of the applied operation.
    """
    record, held = stream.record, [*stream.retired, *stream.retained]
    past_row, size = stream.stem.past_row, sum(one.bytes for one in stream.retained)
    if record.rows != past_row:
        yield f"rows: said {record.rows}, its batches end at {past_row}"
    if record.bytes != size:
        yield f"bytes: said {record.bytes}, its retained batches have {size}"
    if record.queries != queries:
        yield f"queries: said {record.queries}, stand {queries}"
    in_order = 0 <= record.dropped_row <= record.floor_row <= record.rows
    if not in_order or record.dropped_row % SEGMENT_ROWS:
        yield f"floors: held from row {record.dropped_row}, retained from {record.floor_row}"
    newest = max((one.newest_us for one in held), default=None)
    high = record.high_water_us
    from_the_first = not held or held[0].first_row == 0
    if newest is not None and (high is None or high < newest or (from_the_first and high > newest)):
        yield f"high-water mark: said {high}, its batches reach {newest}"
    if in_order and past_row >= record.floor_row > record.dropped_row:
        forgotten = expire.newest(stream, record.dropped_row, record.floor_row)
        said = record.forgotten_us
        if said is None or said < forgotten or (not record.dropped_row and said > forgotten):
            yield f"newest tuple out of retention: said {said}, is {forgotten}"
    if record.arrival_us is not None and record.arrival_us > arrival_us:
        yield f"last arrival: said {record.arrival_us}, that of the log is {arrival_us}"


def query_fault(
    query: QueryRecord, clause: ClauseRecord | None, streams: Streams, bind: Bind
) -> str | None:
    """Return what is wrong with a handle, None = nothing. `streams` are those of its clause that are known."""
    if clause is None:
        return "its clause is unknown"
    try:
        bound = bind(query.canonical, streams)
        condition = clause.text
        if condition != bound.clause.text:  # as an earlier version wrote it, with a select list
            condition = bind(clause.text, streams).clause.text
    except EngineError:
        return "its text does not bind"
    said = condition, query.canonical, query.window, tuple(query.ranges)
    if said != (bound.clause.text, bound.canonical, bound.window, tuple(bound.ranges)):
        return "its text says something else than its record"
    return None
