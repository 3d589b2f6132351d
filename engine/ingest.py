"""Verb 1, ingest: new tuples meet all standing clauses. Also: the streams they go to come and go.

A verb checks first and raises before it changes anything: what it raises makes the operation void.
"""

from dataclasses import replace

import numpy as np

from psoup.engine.eddy.eddy import Eddy, FreshData
from psoup.engine.eddy.join_entrants import Joined
from psoup.engine.errors import (
    HasQueriesError,
    NotFoundError,
    StreamDiffersError,
)
from psoup.engine.limits import CHUNK_ROWS, FOLD_AT_ONCE_BYTES_MAX, FOLD_AT_ONCE_ROWS_MAX
from psoup.engine.log.operation import Alter, Declare, Drop, Operation, Rows
from psoup.engine.release import note_joined, release, suspend
from psoup.engine.results.delta import BatchRecord, StreamRecord
from psoup.engine.results.draft import Draft
from psoup.engine.results.hits import ClauseId
from psoup.engine.state.state import State, StreamState
from psoup.engine.tuples.batch import Batch, LoneTuple, TupleBatch
from psoup.engine.tuples.schema import VALUE_BYTES, ClockKind, StreamId, altered


def declare(state: State, draft: Draft, *, operation: Operation, content: Declare) -> None:
    """Add a stream; its id is the operation's seq.

    Raises:
        StreamDiffersError: a stream of this name is in force.
    """
    name = content.schema.name
    if name in state.names:
        raise StreamDiffersError(f"A stream {name} is in force: drop it first.")
    record = StreamRecord(StreamId(operation.seq), content.schema)
    state.hold_stream(record)
    draft.streams[record.stream_id] = record


def alter(state: State, draft: Draft, *, content: Alter) -> None:
    """Declare a stream otherwise: an added column is NULL in all tuples held, and retention acts with this operation.

    Raises:
        NotFoundError: the stream is not in force.
        StreamDiffersError: the declarations differ in what cannot change.
    """
    name = content.schema.name
    stream = stream_in_force(state, stream_id=content.stream_id, name=name)
    schema = altered(stream.record.schema, content.schema)
    if schema is None:
        raise StreamDiffersError(f"Stream {name} cannot be declared so while it holds tuples.")
    stream.declare(schema)
    stream.record = replace(stream.record, schema=schema)
    draft.streams[content.stream_id] = stream.record
    draft.altered.add(content.stream_id)
    state.unsettled.add(content.stream_id)


def drop(state: State, draft: Draft, *, eddy: Eddy, content: Drop) -> None:
    """Take a stream out of everything, with its tuples and the queries that read it.

    Raises:
        NotFoundError: the stream is not in force.
        HasQueriesError: other queries stand than the operation names.
    """
    stream = stream_in_force(state, stream_id=content.stream_id, name=content.name)
    standing = {q for clause_id in stream.clauses for q in state.clauses[clause_id].queries}
    if standing != set(content.queries):
        raise HasQueriesError(
            f"{len(standing)} queries read stream {content.name}, the operation names"
            f" {len(content.queries)}: name exactly those that stand.",
            queries=len(standing),
        )
    for query_id in content.queries:
        release(state, draft, query_id)
    held = [*stream.retired, *stream.retained]
    draft.dropped_batches |= {(content.stream_id, batch.seq) for batch in held}
    draft.dropped_streams.add(content.stream_id)
    eddy.forget(content.stream_id)
    state.release_stream(content.stream_id)


def ingest(state: State, draft: Draft, *, eddy: Eddy, operation: Operation, content: Rows) -> None:
    """Add a batch of tuples, and the hits in every chunk that they complete.

    A batch without rows leaves no trace but the time of its arrival.

    Raises:
        NotFoundError: the stream is not in force.
        IntegrityError: the body is not a batch of this stream.
    """
    stream = stream_in_force(state, stream_id=content.stream_id, name=content.name)
    batch = stream.reader.batch(
        content.body,
        stream_id=content.stream_id,
        first_tuple_id=operation.first_tuple_id,
        seq=operation.seq,
        arrival_us=operation.arrival_us,
    )
    overrun: list[tuple[ClauseId, str]] = []
    for found in eddy.join(fresh=FreshData(batch, state.held_from)):
        if isinstance(found, Joined):
            overrun += note_joined(state, draft, found)
        elif len(found.block):
            draft.blocks[content.stream_id, found.chunk] = found.block
    for clause_id, reason in overrun:
        suspend(state, draft, clause_id, reason)
    note_batch(stream, draft, batch)
    state.unsettled.add(content.stream_id)
    draft.streams[content.stream_id] = stream.record


def newest_of_few(state: State, operation: Operation, content: Rows) -> int | None:
    """Return a time up to which the rows of a small batch are dated, if they complete no chunk; None for any other.

    Such a batch is built in some ten microseconds.
    """
    if len(content.body) > FOLD_AT_ONCE_BYTES_MAX or content.rows > FOLD_AT_ONCE_ROWS_MAX:
        return None
    stream = state.streams.get(content.stream_id)
    if stream is None or stream.record.rows % CHUNK_ROWS + content.rows >= CHUNK_ROWS:
        return None
    schema = stream.record.schema
    if schema.retention.time_us is None or schema.clock is ClockKind.SERVER:
        return operation.arrival_us
    return stream.reader.newest_us(content.body)


def stream_in_force(state: State, *, stream_id: StreamId, name: str) -> StreamState:
    """Return the stream of this id and name. Raises NotFoundError if it is not in force."""
    stream = state.streams.get(stream_id)
    if stream is None or stream.record.schema.name != name:
        raise NotFoundError(f"No stream {name} with id {stream_id} is in force.")
    return stream


def note_batch(stream: StreamState, draft: Draft, batch: Batch) -> None:
    """Bring the stream's record up to date with a batch that has been built."""
    record, rows = stream.record, len(batch)
    if not rows:
        # No row of it is held, now or later: the log need not keep it.
        draft.dropped_batches.add((record.stream_id, batch.seq))
        stream.record = record.grown(rows=0, size=0, newest_us=None, arrival_us=batch.arrival_us)
        return
    size = batch_bytes(stream.row_bytes, batch)
    oldest_us, newest_us = batch.span_us
    noted = BatchRecord(
        record.stream_id,
        batch.seq,
        record.rows,
        rows,
        size,
        batch.first_tuple_id,
        oldest_us,
        newest_us,
    )
    stream.retained.append(noted)
    draft.batches[record.stream_id, batch.seq] = noted
    stream.record = record.grown(
        rows=rows, size=size, newest_us=newest_us, arrival_us=batch.arrival_us
    )


def batch_bytes(row_bytes: int, batch: Batch) -> int:
    """Return what a batch counts in `retention.bytes`: `row_bytes` a row, texts, values of added columns."""
    if isinstance(batch, LoneTuple):  # of a stream without added columns
        return row_bytes + batch.text_bytes
    size = len(batch) * row_bytes + text_bytes(batch)
    for at in range(-batch.schema.added, 0):
        column = batch.columns[at]
        there = len(batch) if column.valid is None else int(np.count_nonzero(column.valid))
        size += there * (VALUE_BYTES[column.type] + 1)
    return size


def text_bytes(batch: TupleBatch) -> int:
    """Return the UTF-8 bytes of a batch's strings. Cost: O(columns), and O(values) for strings."""
    total = 0
    for column in batch.columns:
        texts = column.dictionary
        if texts is not None:
            ascii_only = "".join(texts).isascii()  # then a text has as many bytes as characters
            sized = texts if ascii_only else [text.encode() for text in texts]
            lengths = np.fromiter(map(len, sized), dtype=np.int64, count=len(texts))
            codes = column.values if column.valid is None else column.values[column.valid]
            total += int(lengths[codes].sum())
    return total
