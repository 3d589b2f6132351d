"""What an interrupted publish leaves behind, and its removal before the next one.

A delta too large for one call is staged before it and deleted behind it. META's field `untidy` stands from the
first such call to the last: while it does, there may be records and hits from above the applied operation (the
log still has their operations; other code, or a log that lost its end, might fold them otherwise), pages of
clauses that are no more, and rows that are no longer held.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from engine import limits
from engine.results.delta import ClauseRecord, StreamRecord
from engine.results.hits import ClauseId
from engine.results.page import page_of
from engine.tuples.batch import Seq
from engine.tuples.schema import StreamId
from storage import keys, refusals
from storage.encoding import (
    decode_batch,
    decode_clause,
    decode_page,
    decode_query,
    decode_stream,
    encode_page,
)
from storage.redis_client import RedisClient
from storage.redis_writes import (
    CHUNKS_PER_SEGMENT,
    Write,
    flattened,
    garbage_forgotten,
    pages_unlinked,
    sliced,
)

FIELDS_PER_SCAN: Final = 10_000
"""Fields of a large hash asked for at once: a call holds every other client up."""


def stage(
    client: RedisClient,
    writes: Sequence[Write],
    *,
    applied: Seq,
    untidy: str,
    done: bool = False,
) -> int | None:
    """Write what nobody can see while `applied` is the applied seq, in slices.

    Args:
        client: where.
        writes: what, in an order in which every beginning can be tidied.
        applied: the applied seq it belongs to.
        untidy: "(segment past the last one staged) (first segment that loses rows)", kept in META.
        done: nothing is left lying after these: `untidy` goes with the last slice.

    Returns:
        The applied seq, if it is another one: then nothing more was written. None = all is written.
    """
    parts = list(sliced(writes)) or [[]]
    for number, part in enumerate(parts, start=1):
        mark = "" if done and number == len(parts) else untidy
        written, arguments = flattened(part, key_count=1)
        answer = client.call("psoup_stage", [keys.META, *written], [applied, mark, *arguments])
        if answer[0] == b"BADSEQ":
            return int(answer[1])
    return None


def tidy(client: RedisClient) -> None:
    """Remove what an interrupted publish has left; does nothing if none was interrupted.

    The engine is not publishing. Cost: a look at the open pages of every clause.
    """
    values = client.fetch_one("HMGET", keys.META, "applied", "untidy")
    if values[1] is None:
        return
    applied, untidy = Seq(int(values[0])), values[1].decode()
    past, first_gone = map(int, untidy.split())
    streams = _streams(client)
    clauses = [decode_clause(value) for value in scan_hash(client, keys.CLAUSES).values()]
    standing = [clause for clause in clauses if clause.clause_id <= applied]
    writes = [
        *_unpublished_queries(client, applied),
        *_unpublished_clauses([c for c in clauses if c.clause_id > applied], past),
        *_garbage(client),
    ]
    for stream in streams.values():
        writes += _stray_batches(client, stream, applied)
    for clause in standing:
        stream = streams[clause.streams[0]]
        dropped = range(first_gone, stream.dropped_row // limits.SEGMENT_ROWS)
        writes += pages_unlinked(clause.clause_id, dropped)
        writes += _uncounted_hits(client, clause, stream, past)
    in_the_way = stage(client, writes, applied=applied, untidy=untidy, done=True)
    if in_the_way is not None:
        raise refusals.publish_out_of_order(applied=in_the_way, expect=applied)


def segments_held(stream: StreamRecord) -> range:
    """Return the segments in which a clause over this stream may have published pages."""
    first = stream.dropped_row // limits.SEGMENT_ROWS
    return range(first, stream.rows // limits.SEGMENT_ROWS + 1)


def scan_hash(client: RedisClient, key: str) -> dict[bytes, bytes]:
    """Return a hash whole, FIELDS_PER_SCAN fields a call. Nobody may write it meanwhile."""
    found: dict[bytes, bytes] = {}
    cursor = b"0"
    while True:
        cursor, flat = client.fetch_one("HSCAN", key, cursor, "COUNT", FIELDS_PER_SCAN)
        found.update(zip(flat[::2], flat[1::2], strict=True))
        if cursor == b"0":
            return found


def _streams(client: RedisClient) -> Mapping[StreamId, StreamRecord]:
    records = scan_hash(client, keys.STREAMS)
    declarations = scan_hash(client, keys.DECLARATIONS)
    decoded = (decode_stream(record, declarations[key]) for key, record in records.items())
    return {stream.stream_id: stream for stream in decoded}


def _unpublished_queries(client: RedisClient, applied: Seq) -> list[Write]:
    queries = map(decode_query, scan_hash(client, keys.QUERIES).values())
    return [
        Write("HDEL", keys.QUERIES, (query.query_id,)) for query in queries if query.seq > applied
    ]


def _unpublished_clauses(clauses: Sequence[ClauseRecord], past: int) -> list[Write]:
    """Return the removal of staged clauses: pages first, so that they can be found to the last."""
    pages = [w for clause in clauses for w in pages_unlinked(clause.clause_id, range(past))]
    return pages + [Write("HDEL", keys.CLAUSES, (clause.clause_id,)) for clause in clauses]


def _garbage(client: RedisClient) -> list[Write]:
    noted = {
        ClauseId(int(clause_id)): range(*map(int, segments.split()))
        for clause_id, segments in scan_hash(client, keys.GARBAGE).items()
    }
    pages = [w for clause_id, held in noted.items() for w in pages_unlinked(clause_id, held)]
    return pages + garbage_forgotten(noted)


def _stray_batches(client: RedisClient, stream: StreamRecord, applied: Seq) -> list[Write]:
    """Return the removal of batch records from above the applied seq and of rows no longer held."""
    key = keys.batches(stream.stream_id)
    decoded = (
        decode_batch(stream.stream_id, Seq(int(seq)), value)
        for seq, value in scan_hash(client, key).items()
    )
    return [
        Write("HDEL", key, (batch.seq,))
        for batch in decoded
        if batch.seq > applied or batch.first_row + max(batch.rows, 1) <= stream.dropped_row
    ]


def _uncounted_hits(
    client: RedisClient, clause: ClauseRecord, stream: StreamRecord, past: int
) -> list[Write]:
    """Return the removal of hits in rows that `stream` does not count yet."""
    writes: list[Write] = []
    for segment in range(stream.rows // limits.SEGMENT_ROWS, past):
        key = keys.pages(clause.clause_id, segment)
        for field, value in scan_hash(client, key).items():
            number = segment * CHUNKS_PER_SEGMENT + int(field)
            first_row = number * limits.CHUNK_ROWS
            rows = decode_page(value).rows(first_row)
            counted = rows[rows < stream.rows] - first_row
            if len(counted) == len(rows):
                continue
            if len(counted) == 0:
                writes.append(Write("HDEL", key, (int(field),)))
            else:
                kept = encode_page(page_of(counted.astype(np.uint16)))
                writes.append(Write("HSET", key, (int(field), kept)))
    return writes
