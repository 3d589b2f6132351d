"""Verb 4, expire: forget what retention lets go. Every operation runs it, with its own arrival time.

First floors move: tuples below them are shown no more. Ten minutes of the log's time later the segments that
lie wholly below are dropped, hits first, then tuples: pages handed out earlier can be finished meanwhile.
Nothing here depends on which queries stand: a future one may ask for anything that is retained.

Queries that have expired (`engine/lifetime.py`) are forgotten after QUERY_EXPIRED_KEPT_US.
"""

from dataclasses import replace

import numpy as np

from psoup.engine.limits import (
    FOLD_AT_ONCE_BATCHES_MAX,
    FOLD_AT_ONCE_ROWS_MAX,
    FOLD_AT_ONCE_STREAMS_MAX,
    QUERIES_EXPIRED_MAX,
    QUERY_EXPIRED_KEPT_US,
    RETIRED_SEGMENTS_MAX,
    RETIRED_US,
    SEGMENT_ROWS,
)
from psoup.engine.log.operation import Operation, Rows
from psoup.engine.results.delta import StreamRecord
from psoup.engine.results.draft import Draft
from psoup.engine.state.state import State, StreamState
from psoup.engine.tuples.schema import VALUE_BYTES, ClockKind, Retention


def expire(state: State, draft: Draft) -> None:
    """Move the floors of every stream, drop the segments that left retention long enough ago, forget expired queries.

    Cost: O(1) for each stream that got rows, or lets something go as time passes; nothing for others.
    """
    if state.expired:
        forget_expired(state, draft)
    for stream_id in sorted(state.unsettled):
        stream = state.streams[stream_id]
        before = stream.record
        move_floors(stream, draft.arrival_us)
        if stream.record is not before:
            note_leaving(stream, draft.arrival_us)
        if stream.leaving:
            drop_segments(state, stream, draft)
        if stream.record is not before:
            draft.streams[stream_id] = stream.record
        if stream.is_settled:
            state.unsettled.discard(stream_id)


def forget_expired(state: State, draft: Draft) -> None:
    """Forget queries that expired long ago, and the earliest of more than QUERIES_EXPIRED_MAX."""
    while state.expired and (
        len(state.expired) > QUERIES_EXPIRED_MAX or is_forgotten(state, draft.arrival_us)
    ):
        _, query_id = state.expired.pop(0)
        draft.forgotten.add(query_id)


def is_forgotten(state: State, now_us: int) -> bool:
    """Return whether the query that expired first need not be remembered at `now_us`."""
    if not state.expired:
        return False
    first_us: int = state.expired[0][0]
    return now_us - first_us >= QUERY_EXPIRED_KEPT_US


def due(state: State, now_us: int) -> bool:
    """Return whether an operation that arrives at `now_us` would forget a tuple or a query, or drop a segment.

    Cost: as for `expire`; O(chunks) for streams with a time to keep.
    """
    return is_forgotten(state, now_us) or any(
        (stream.leaving and now_us - stream.leaving[0][1] >= RETIRED_US)
        or forgets(stream, time_floor(stream.record, now_us))
        for stream in map(state.streams.__getitem__, state.unsettled)
    )


def lets_little_go(state: State, operation: Operation, content: Rows, *, newest_us: int) -> bool:
    """Return whether a batch of few rows, dated up to `newest_us`, makes retention let next to nothing go.

    What goes is looked at, whatever bounds what is kept: one large batch may follow upon one row, and all rows upon
    one time. False where that is not known, and where a query is forgotten or a segment is left or dropped. Cost:
    O(FOLD_AT_ONCE_STREAMS_MAX * FOLD_AT_ONCE_BATCHES_MAX) at most, O(1) for most.
    """
    arrival_us = operation.arrival_us
    if is_forgotten(state, arrival_us) or len(state.unsettled) > FOLD_AT_ONCE_STREAMS_MAX:
        return False
    stream = state.streams[content.stream_id]
    added_bytes = stream.record.schema.added * (max(VALUE_BYTES.values()) + 1)
    size = content.rows * (stream.row_bytes + added_bytes)
    record = stream.record.grown(
        rows=content.rows,
        size=size + len(content.body),  # texts are no larger than the body
        newest_us=newest_us,
        arrival_us=arrival_us,
    )
    return _lets_few_go(stream, record, arrival_us) and all(
        _lets_few_go(one, one.record, arrival_us)
        for one in map(state.streams.__getitem__, state.unsettled)
        if one is not stream
    )


def _lets_few_go(stream: StreamState, record: StreamRecord, arrival_us: int) -> bool:
    """Return whether few batches and rows go, and no segment, as `record` grows to be the stream's."""
    leaving, kept = stream.leaving, record.schema.retention
    if leaving and arrival_us - leaving[0][1] >= RETIRED_US:
        return False
    floor_us = time_floor(record, arrival_us)
    first_row = floor_row = record.floor_row
    if kept.rows is not None:
        floor_row = max(floor_row, record.rows - kept.rows)
    size = record.bytes
    for going, oldest in enumerate(stream.retained, start=2):  # the batch that comes may go as well
        over = kept.bytes is not None and size > kept.bytes
        dated_out = floor_us is not None and oldest.newest_us < floor_us
        if not (over or dated_out or oldest.past_row <= floor_row):
            break
        if going > FOLD_AT_ONCE_BATCHES_MAX:
            return False
        size -= oldest.bytes
        floor_row = max(floor_row, oldest.past_row)
    if floor_us is not None:
        floor_row = behind_dated_out(stream, floor_row, floor_us)
    return (
        floor_row - first_row <= FOLD_AT_ONCE_ROWS_MAX
        and floor_row // SEGMENT_ROWS == first_row // SEGMENT_ROWS
    )


def time_floor(record: StreamRecord, arrival_us: int) -> int | None:
    """Return the earliest tuple time that retention keeps, for an operation of this arrival time."""
    kept_us = record.schema.retention.time_us
    if kept_us is None:
        return record.floor_us
    now_us = record.high_water_us if record.schema.clock is ClockKind.HIGH_WATER else arrival_us
    if now_us is None:
        return record.floor_us
    return now_us - kept_us if record.floor_us is None else max(record.floor_us, now_us - kept_us)


def move_floors(stream: StreamState, arrival_us: int) -> None:
    """Move both floors up to what the stream's retention keeps, and account for what goes.

    Batches go one by one, oldest first: those out of retention as a whole, then as many as it takes for
    the rest to fit into the bytes kept; the newest batch stays, however large. Full segments dated out may take the
    floor past the end of a batch, which goes then as well: what is retained has a row at or above the floor.
    """
    record, kept = stream.record, stream.record.schema.retention
    if keeps_all(record, kept):
        return
    floor_us = time_floor(record, arrival_us)
    floor_row = record.floor_row
    if kept.rows is not None:
        floor_row = max(floor_row, record.rows - kept.rows)
    size, forgotten_us, known_row = record.bytes, record.forgotten_us, record.floor_row
    while stream.retained:
        oldest = stream.retained[0]
        over = kept.bytes is not None and size > kept.bytes and len(stream.retained) > 1
        dated_out = floor_us is not None and oldest.newest_us < floor_us
        if not (over or dated_out or oldest.past_row <= floor_row):
            if floor_us is not None:
                floor_row = behind_dated_out(stream, floor_row, floor_us)
            if oldest.past_row > floor_row:
                break
        stream.retired.append(stream.retained.popleft())
        size -= oldest.bytes
        known_row = oldest.past_row
        floor_row = max(floor_row, known_row)
        forgotten_us = later(forgotten_us, oldest.newest_us)  # rows below the floor count already
    if floor_row > known_row:
        forgotten_us = later(forgotten_us, newest(stream, known_row, floor_row))
    if (size, floor_row, floor_us) != (record.bytes, record.floor_row, record.floor_us):
        stream.record = record.keeping(
            size=size, floor_row=floor_row, floor_us=floor_us, forgotten_us=forgotten_us
        )


def keeps_all(record: StreamRecord, kept: Retention) -> bool:
    """Return whether it is plain that no floor moves: no time bounds what is kept, and the other bounds are not met."""
    return (
        kept.time_us is None
        and record.floor_us is None
        and (kept.rows is None or record.rows - record.floor_row <= kept.rows)
        and (kept.bytes is None or record.bytes <= kept.bytes)
    )


def later(known_us: int | None, us: int) -> int:
    """Return the later of two instants, the first of which may not be known."""
    return us if known_us is None or us > known_us else known_us


def newest(stream: StreamState, first_row: int, past_row: int) -> int:
    """Return the largest tuple time of the rows `[first_row, past_row)`, which are held."""
    found = []
    for number in range(first_row // SEGMENT_ROWS, -(-past_row // SEGMENT_ROWS)):
        begin = number * SEGMENT_ROWS
        times = stream.stem.segments[number].times[max(0, first_row - begin) : past_row - begin]
        found.append(int(times.max()))
    return max(found)


def behind_dated_out(stream: StreamState, floor_row: int, floor_us: int) -> int:
    """Return the floor moved past full segments without a retained row.

    They are parts of a batch that reaches into a later segment: they can go before it does.
    """
    number = floor_row // SEGMENT_ROWS
    while (number + 1) * SEGMENT_ROWS <= stream.record.rows:
        if stream.stem.segments[number].time_span[1] >= floor_us:
            break
        number += 1
        floor_row = number * SEGMENT_ROWS
    return floor_row


def note_leaving(stream: StreamState, arrival_us: int) -> None:
    """Note the segments that have no retained row left since this operation, in order."""
    begin = stream.record.dropped_row // SEGMENT_ROWS + len(stream.leaving)
    for number in range(begin, stream.record.floor_row // SEGMENT_ROWS):
        stream.leaving.append((number, arrival_us))


def drop_segments(state: State, stream: StreamState, draft: Draft) -> None:
    """Drop the segments that left retention RETIRED_US ago: pages, batches, tuples.

    Those beyond RETIRED_SEGMENTS_MAX go at once: tuples out of retention must not fill the memory.
    """
    record = stream.record
    dropped_row = record.dropped_row
    while stream.leaving and (
        draft.arrival_us - stream.leaving[0][1] >= RETIRED_US
        or len(stream.leaving) > RETIRED_SEGMENTS_MAX
    ):
        number, _ = stream.leaving.popleft()
        dropped_row = (number + 1) * SEGMENT_ROWS
    if dropped_row == record.dropped_row:
        return
    for number in range(record.dropped_row // SEGMENT_ROWS, dropped_row // SEGMENT_ROWS):
        draft.dropped_segments.add((record.stream_id, number))
        paged = [c for c, segments in stream.paged.items() if number in segments]
        draft.dropped_pages |= {(clause_id, number) for clause_id in paged}
    while stream.retired and stream.retired[0].past_row <= dropped_row:
        draft.dropped_batches.add((record.stream_id, stream.retired.popleft().seq))
    state.going.append((record.stream_id, dropped_row))
    stream.record = replace(record, dropped_row=dropped_row)
    for group in state.query_stem.groups:
        if record.stream_id in group.shape.streams:
            dropped_rows = [state.held_from(stream_id) for stream_id in group.shape.streams]
            draft.dropped_composites.update(state.composites.below(group.group_id, dropped_rows))


def forgets(stream: StreamState, floor_us: int | None) -> bool:
    """Return whether some retained tuple is dated before `floor_us`. Exact; looks only where it may be."""
    record = stream.record
    if floor_us is None or floor_us == record.floor_us:
        return False
    for number, segment in stream.stem.segments.items():
        base = number * SEGMENT_ROWS
        begin = max(segment.start, record.floor_row - base)
        oldest_us, newest_us = segment.time_span
        if begin >= segment.past or oldest_us >= floor_us:
            continue
        if record.floor_us is not None and newest_us < record.floor_us:
            continue
        times = segment.times[begin : segment.past]
        going = times < floor_us
        if record.floor_us is not None:
            going &= times >= record.floor_us
        if np.any(going):
            return True
    return False
