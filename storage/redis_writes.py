"""A delta as writes to Redis: which may be staged, which have to be one step, which may follow it.

Whatever a reader masks by the applied operation may be written before it moves: pages of rows that are not
counted yet, records with a higher seq. Whatever has become unreachable may be deleted after it moved.
Everything else goes into the one call that moves it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine import limits
from engine.results.delta import Delta
from engine.results.hits import ClauseId
from storage import keys
from storage.encoding import (
    encode_batch,
    encode_clause,
    encode_declaration,
    encode_page,
    encode_query,
    encode_stream,
)
from storage.redis_client import Argument

CHUNKS_PER_SEGMENT = limits.SEGMENT_ROWS // limits.CHUNK_ROWS


@dataclass(frozen=True, slots=True)
class Write:
    """One write: HSET or HSETNX of a field and its value, HDEL of a field, UNLINK of the key."""

    command: str
    key: str
    values: tuple[Argument, ...] = ()

    @property
    def nbytes(self) -> int:
        """Return about what it takes in a call."""
        return len(self.key) + sum(
            len(value) if isinstance(value, bytes | str) else 20 for value in self.values
        )


@dataclass(frozen=True, slots=True)
class DeltaWrites:
    """The writes of one delta, by when they may happen: before, with, or after the applied seq moves."""

    before: list[Write]
    moving: list[Write]
    after: list[Write]

    @property
    def fit_one_call(self) -> bool:
        """Return whether all of them may go in one call."""
        writes = [*self.before, *self.moving, *self.after]
        return (
            len(writes) <= limits.PUBLISH_WRITES_MAX
            and sum(write.nbytes for write in writes) <= limits.PUBLISH_BYTES_MAX
        )


def delta_writes(delta: Delta, segments: Mapping[ClauseId, range]) -> DeltaWrites:
    """Return the writes of `delta`.

    Args:
        delta: what to publish.
        segments: for each clause it drops, the segments in which that clause may have pages.
    """
    before, moving = _records(delta)
    before += [
        Write("HSET", keys.pages(clause_id, segment), (chunk, encode_page(page)))
        for (clause_id, number), page in delta.pages.items()
        for segment, chunk in [divmod(number, CHUNKS_PER_SEGMENT)]
    ]
    moving += _dropped_records(delta)
    after = [
        Write("HDEL", keys.batches(stream_id), (seq,)) for stream_id, seq in delta.dropped_batches
    ]
    after += [
        Write("HDEL", keys.pages(clause_id, segment), (chunk,))
        for clause_id, number in delta.dropped_chunks
        for segment, chunk in [divmod(number, CHUNKS_PER_SEGMENT)]
    ]
    for clause_id, held in segments.items():
        after += pages_unlinked(clause_id, held)
    return DeltaWrites(before, moving, after)


def pages_unlinked(clause_id: ClauseId, segments: range) -> list[Write]:
    """Return the removal of a clause's pages in these segments."""
    return [Write("UNLINK", keys.pages(clause_id, segment)) for segment in segments]


def garbage_noted(segments: Mapping[ClauseId, range]) -> list[Write]:
    """Return the notes that let an interrupted removal of dropped clauses' pages be finished."""
    return [
        Write("HSET", keys.GARBAGE, (clause_id, f"{held.start} {held.stop}"))
        for clause_id, held in segments.items()
    ]


def garbage_forgotten(clause_ids: Iterable[ClauseId]) -> list[Write]:
    """Return the removal of those notes."""
    return [Write("HDEL", keys.GARBAGE, (clause_id,)) for clause_id in clause_ids]


def sliced(writes: Sequence[Write]) -> Iterator[list[Write]]:
    """Yield the writes in their order, in slices that one call may carry."""
    part: list[Write] = []
    size = 0
    for write in writes:
        full = len(part) == limits.PUBLISH_WRITES_MAX
        if part and (full or size + write.nbytes > limits.PUBLISH_BYTES_MAX):
            yield part
            part, size = [], 0
        part.append(write)
        size += write.nbytes
    if part:
        yield part


def flattened(writes: Iterable[Write], key_count: int) -> tuple[list[str], list[Argument]]:
    """Return (keys, arguments) of the writes as psoup_publish and psoup_stage take them.

    Neighbours of one command and key become one command. `key_count` keys stand before these.
    """
    numbers: dict[str, int] = {}
    groups: list[tuple[str, str, list[Argument]]] = []
    for write in writes:
        numbers.setdefault(write.key, key_count + len(numbers) + 1)
        joins = groups and groups[-1][:2] == (write.command, write.key)
        if joins and write.command in {"HSET", "HDEL"}:
            groups[-1][2].extend(write.values)
        else:
            groups.append((write.command, write.key, list(write.values)))
    arguments: list[Argument] = []
    for command, key, values in groups:
        arguments += [command, numbers[key], len(values), *values]
    return list(numbers), arguments


def _records(delta: Delta) -> tuple[list[Write], list[Write]]:
    """Return the writes of records as (before, moving): one that readers see already moves with seq."""
    before: list[Write] = []
    moving: list[Write] = []
    for clause_id, clause in delta.clauses.items():
        write = Write("HSET", keys.CLAUSES, (clause_id, encode_clause(clause)))
        (before if clause_id > delta.expect else moving).append(write)
    for query_id, query in delta.queries.items():
        write = Write("HSET", keys.QUERIES, (query_id, encode_query(query)))
        (before if query.seq > delta.expect else moving).append(write)
    for (stream_id, seq), batch in delta.batches.items():
        write = Write("HSET", keys.batches(stream_id), (seq, encode_batch(batch)))
        (before if seq > delta.expect else moving).append(write)
    for stream_id, stream in delta.streams.items():
        declaration = encode_declaration(stream.schema)
        moving.append(Write("HSETNX", keys.DECLARATIONS, (stream_id, declaration)))
    for stream_id, stream in delta.streams.items():
        moving.append(Write("HSET", keys.STREAMS, (stream_id, encode_stream(stream))))
    return before, moving


def _dropped_records(delta: Delta) -> list[Write]:
    queries = [Write("HDEL", keys.QUERIES, (query_id,)) for query_id in delta.dropped_queries]
    clauses = [Write("HDEL", keys.CLAUSES, (clause_id,)) for clause_id in delta.dropped_clauses]
    streams = [Write("HDEL", keys.STREAMS, (stream_id,)) for stream_id in delta.dropped_streams]
    declarations = [
        Write("HDEL", keys.DECLARATIONS, (stream_id,)) for stream_id in delta.dropped_streams
    ]
    batches = [Write("UNLINK", keys.batches(stream_id)) for stream_id in delta.dropped_streams]
    return [*queries, *clauses, *streams, *declarations, *batches]
