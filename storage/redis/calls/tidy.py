"""What an interrupted publish leaves behind, and its removal before the next one.

A delta too large for one call is staged before it and deleted behind it. META's field `untidy` stands from the
first such call to the last: while it does, there may be records and hits from above the applied operation (the
log still has their operations; other code, or a log that lost its end, might fold them otherwise), hits of
clauses and streams that are no more, and hits and batch records of rows that are no longer held. Composites are
hits of a group of clauses: those to be deleted are noted by name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine import limits
from psoup.engine.results.delta import CHUNKS, ClauseRecord, Delta, StreamRecord
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys, refusals
from psoup.storage.encoding.record_cache import open_batch, open_clause, open_query, open_stream
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.composites import composite_fields, group_streams, is_published
from psoup.storage.redis.calls.write_token import WriteToken
from psoup.storage.redis.calls.writes import (
    Garbage,
    Write,
    flattened,
    sliced,
    unblocked,
    unjoined,
    unpaged,
)

FIELDS_PER_SCAN: Final = 10_000
"""Fields of a large hash asked for at once: a call holds every other client up."""


@dataclass(frozen=True, slots=True)
class Untidy:
    """What META's `untidy` says of a publish under way: where to look for what it leaves.

    Attributes:
        past: the segment past the last one whose blocks are staged.
        gone: segments that lose their hits lie in it.
        fresh: streams that come with it; while it is not done, no record leads to what is staged of theirs.
    """

    past: int
    gone: range
    fresh: tuple[StreamId, ...]

    @classmethod
    def of(cls, delta: Delta) -> "Untidy":
        """Return it for the publish of `delta`."""
        gone = [segment for _, segment in delta.dropped_segments | delta.dropped_pages]
        return cls(
            max((chunk // CHUNKS + 1 for _, chunk in delta.blocks), default=0),
            range(min(gone, default=0), max(gone, default=-1) + 1),
            tuple(stream_id for stream_id in delta.streams if stream_id > delta.expect),
        )

    @classmethod
    def read(cls, text: str) -> "Untidy":
        """Return what `text` wrote."""
        past, first_gone, past_gone, *fresh = map(int, text.split())
        return cls(past, range(first_gone, past_gone), tuple(map(StreamId, fresh)))

    @property
    def text(self) -> str:
        """Return it as META keeps it."""
        numbers = (self.past, self.gone.start, self.gone.stop, *self.fresh)
        return " ".join(map(str, numbers))


def stage(
    token: WriteToken,
    writes: Sequence[Write],
    *,
    applied: Seq,
    untidy: str,
    done: bool = False,
) -> int | None:
    """Write what nobody can see while `applied` is the applied seq, in slices.

    Args:
        token: the right to.
        writes: what, in an order in which every beginning can be tidied.
        applied: the applied seq it belongs to.
        untidy: the text of an Untidy, kept in META.
        done: nothing is left lying after these: `untidy` goes with the last slice.

    Returns:
        The applied seq, if it is another one: then nothing more was written. None = all is written.
    """
    parts = list(sliced(writes)) or [[]]
    for number, part in enumerate(parts, start=1):
        mark = "" if done and number == len(parts) else untidy
        written, arguments = flattened(part, key_count=1)
        answer = token.call("psoup_stage", [keys.META, *written], [applied, mark, *arguments])
        if answer[0] == b"BADSEQ":
            return int(answer[1])
    return None


def tidy(client: RedisClient, token: WriteToken) -> None:
    """Remove what an interrupted publish has left; does nothing if none was interrupted.

    The engine is not publishing. Cost: O(records), and the fields of each stream's open segment and of each group's
    composites.
    """
    values = client.fetch_one("HMGET", keys.META, "applied", "untidy")
    if values[1] is None:
        return
    applied, text = Seq(int(values[0])), values[1].decode()
    untidy = Untidy.read(text)
    streams = _streams(client)
    clauses = [open_clause(*row) for row in scan_hash(client, keys.CLAUSES).items()]
    garbage = Garbage.of_notes(scan_hash(client, keys.GARBAGE))
    writes = [
        *_unpublished_queries(client, applied),
        *_stray_composites(client, clauses, streams, applied),
        *_unpublished_clauses([c for c in clauses if c.clause_id > applied]),
        *_unpublished_streams([s for s in untidy.fresh if s > applied], untidy),
        *garbage.removed(),
        *garbage.forgotten(),
    ]
    for clause in clauses:
        if clause.clause_id <= applied:
            gone = _gone(streams[clause.streams[0]], untidy)
            writes += unpaged(clause.clause_id, _shared(clause.paged_segments, gone))
    for stream in streams.values():
        writes += _stray_batches(client, stream, applied)
        writes += _stray_blocks(client, stream, untidy)
    in_the_way = stage(token, writes, applied=applied, untidy=text, done=True)
    if in_the_way is not None:
        raise refusals.publish_out_of_order(applied=in_the_way, expect=applied)


def scan_hash(client: RedisClient, key: str) -> dict[bytes, bytes]:
    """Return a hash whole, FIELDS_PER_SCAN fields a call; of what is written meanwhile some may be there, or not."""
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
    decoded = (
        open_stream(key, record, declarations.get(key, b"")) for key, record in records.items()
    )
    return {stream.stream_id: stream for stream in decoded}


def _unpublished_queries(client: RedisClient, applied: Seq) -> list[Write]:
    queries = (open_query(*row) for row in scan_hash(client, keys.QUERIES).items())
    return [
        Write("HDEL", keys.QUERIES, (query.query_id,)) for query in queries if query.seq > applied
    ]


def _unpublished_clauses(clauses: Sequence[ClauseRecord]) -> list[Write]:
    """Return the removal of staged clauses: pages first, so that they can be found to the last."""
    pages = [w for clause in clauses for w in unpaged(clause.clause_id, clause.paged_segments)]
    return pages + [Write("HDEL", keys.CLAUSES, (clause.clause_id,)) for clause in clauses]


def _stray_composites(
    client: RedisClient,
    clauses: Sequence[ClauseRecord],
    streams: Mapping[StreamId, StreamRecord],
    applied: Seq,
) -> list[Write]:
    """Return the removal of staged composites. A staged clause leads to its group, so it goes later."""
    joins = [clause for clause in clauses if clause.join is not None]
    fresh = {c.join.group for c in joins if c.join is not None and c.join.group > applied}
    writes = [Write("UNLINK", keys.composites(group)) for group in sorted(fresh)]
    published = [clause for clause in joins if clause.clause_id <= applied]
    groups = group_streams(published, streams)
    standing = {clause.clause_id for clause in published}
    for key, names in composite_fields(client, groups).items():
        if not is_published(key, groups[key[0]], standing):
            writes += unjoined(key[0], [names])
    return writes


def _unpublished_streams(stream_ids: Sequence[StreamId], untidy: Untidy) -> list[Write]:
    """Return the removal of what was staged of streams that never came to be."""
    batches = [Write("UNLINK", keys.batches(stream_id)) for stream_id in stream_ids]
    return batches + [w for s in stream_ids for w in unblocked(s, range(untidy.past))]


def _gone(stream: StreamRecord, untidy: Untidy) -> range:
    """Return the segments that this stream no longer holds and that may still have hits."""
    return _shared(untidy.gone, range(stream.dropped_row // limits.SEGMENT_ROWS))


def _shared(first: range, second: range) -> range:
    """Return what two ranges have in common."""
    return range(max(first.start, second.start), min(first.stop, second.stop))


def _stray_batches(client: RedisClient, stream: StreamRecord, applied: Seq) -> list[Write]:
    """Return the removal of batch records from above the applied seq and of rows no longer held."""
    key = keys.batches(stream.stream_id)
    decoded = (open_batch(stream.stream_id, *row) for row in scan_hash(client, key).items())
    return [
        Write("HDEL", key, (batch.seq,))
        for batch in decoded
        if batch.seq > applied or batch.first_row + max(batch.rows, 1) <= stream.dropped_row
    ]


def _stray_blocks(client: RedisClient, stream: StreamRecord, untidy: Untidy) -> list[Write]:
    """Return the removal of blocks of chunks that are not whole yet and of those no longer held."""
    writes = unblocked(stream.stream_id, _gone(stream, untidy))
    segment, chunk = divmod(stream.rows // limits.CHUNK_ROWS, CHUNKS)
    if segment >= untidy.past:
        return writes
    key = keys.blocks(stream.stream_id, segment)
    for field in client.fetch_one("HKEYS", key):
        if keys.numbers(field.decode())[0] >= chunk:
            writes.append(Write("HDEL", key, (field,)))
    return writes + unblocked(stream.stream_id, range(segment + 1, untidy.past))
