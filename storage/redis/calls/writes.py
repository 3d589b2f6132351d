"""A delta as writes to Redis: which may be staged, which have to be one step, which may follow it.

Whatever a reader masks by the applied operation may be written before it moves: hits of chunks that are not
whole yet, composites that such a chunk or a later clause has entered, records with a higher seq. Whatever has
become unreachable may be deleted after it moved.
Everything else goes into the one call that moves it.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from psoup.engine import limits
from psoup.engine.results.delta import CHUNKS, Delta
from psoup.engine.results.hits import ClauseId
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys
from psoup.storage.encoding.checksums import signed
from psoup.storage.encoding.composites import encode_composites
from psoup.storage.encoding.hits import encode_blocks, encode_page
from psoup.storage.encoding.records import (
    encode_batch,
    encode_clause,
    encode_declaration,
    encode_expired,
    encode_query,
    encode_stream,
)
from psoup.storage.redis.calls.client import Argument

Fields = Sequence[str]
"""The fields in which a page of composites lies."""


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


def put(key: str, name: Argument, value: bytes, *, command: str = "HSET") -> Write:
    """Return the write of a value with its checksum."""
    return Write(command, key, (name, signed(key, name, value)))


@dataclass(frozen=True, slots=True)
class DeltaWrites:
    """The writes of one delta, by when they may happen: before, with, or after the applied seq moves."""

    before: list[Write]
    moving: list[Write]
    after: list[Write]


@dataclass(frozen=True, slots=True)
class Garbage:
    """What a publish leaves without a record that leads to it.

    Segments with hits of clauses and streams dropped, and the fields of pages of composites. Where the removal takes
    calls of its own it is noted in the call that drops them, so that it can be finished.
    """

    clauses: Mapping[ClauseId, range] = field(default_factory=dict)
    streams: Mapping[StreamId, range] = field(default_factory=dict)
    composites: Mapping[ClauseId, Sequence[Fields]] = field(default_factory=dict)
    """By group, of each page."""

    @classmethod
    def of_notes(cls, notes: Mapping[bytes, bytes]) -> "Garbage":
        """Return what `noted` wrote, from the hash it was written to."""
        found: dict[str, dict[int, list[str]]] = {"r": {}, "b": {}, "j": {}}
        for note, text in notes.items():
            kind, _, number = note.decode().partition(":")
            found[kind][int(number)] = text.decode().split()
        return cls(
            {ClauseId(number): range(*map(int, held)) for number, held in found["r"].items()},
            {StreamId(number): range(*map(int, held)) for number, held in found["b"].items()},
            {ClauseId(n): [page.split(",") for page in pages] for n, pages in found["j"].items()},
        )

    def noted(self) -> list[Write]:
        """Return the notes."""
        return [Write("HSET", keys.GARBAGE, note) for note in self._notes()]

    def removed(self) -> list[Write]:
        """Return the removal of the hits."""
        pages = [w for clause_id, held in self.clauses.items() for w in unpaged(clause_id, held)]
        blocks = [w for stream_id, held in self.streams.items() for w in unblocked(stream_id, held)]
        joined = [w for group, held in self.composites.items() for w in unjoined(group, held)]
        return [*pages, *blocks, *joined]

    def forgotten(self) -> list[Write]:
        """Return the removal of the notes."""
        return [Write("HDEL", keys.GARBAGE, (note,)) for note, _ in self._notes()]

    def _notes(self) -> Iterator[tuple[str, str]]:
        for clause_id, held in self.clauses.items():
            yield f"r:{clause_id}", f"{held.start} {held.stop}"
        for stream_id, held in self.streams.items():
            yield f"b:{stream_id}", f"{held.start} {held.stop}"
        for group, pages in self.composites.items():
            yield f"j:{group}", " ".join(map(",".join, pages))


def delta_writes(delta: Delta) -> DeltaWrites:
    """Return the writes of `delta`, but for what it leaves as garbage."""
    before, moving = _records(delta)
    before += _hits(delta)
    before += _composites(delta)
    moving += _dropped_records(delta)
    after = [
        Write("HDEL", keys.batches(stream_id), (seq,))
        for stream_id, seq in sorted(delta.dropped_batches)
    ]
    for clause_id, segment in sorted(delta.dropped_pages):
        after += unpaged(clause_id, [segment])
    for stream_id, segment in sorted(delta.dropped_segments):
        after += unblocked(stream_id, [segment])
    return DeltaWrites(before, moving, after)


def unpaged(clause_id: ClauseId, segments: Iterable[int]) -> list[Write]:
    """Return the removal of a clause's own pages in these segments."""
    return [Write("UNLINK", keys.pages(clause_id, segment)) for segment in segments]


def unblocked(stream_id: StreamId, segments: Iterable[int]) -> list[Write]:
    """Return the removal of a stream's match blocks in these segments."""
    return [Write("UNLINK", keys.blocks(stream_id, segment)) for segment in segments]


def unjoined(group: ClauseId, pages: Iterable[Fields]) -> list[Write]:
    """Return the removal of pages of a group's composites: of all pieces of a page in one step."""
    return [Write("HDEL", keys.composites(group), tuple(fields)) for fields in pages]


def fit_one_call(*parts: Sequence[Write]) -> bool:
    """Return whether all of these may go in one call."""
    writes = list(itertools.chain(*parts))
    return (
        len(writes) <= limits.PUBLISH_WRITES_MAX
        and sum(write.nbytes for write in writes) <= limits.PUBLISH_BYTES_MAX
    )


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
        write = put(keys.CLAUSES, clause_id, encode_clause(clause))
        (before if clause_id > delta.expect else moving).append(write)
    for query_id, query in delta.queries.items():
        write = put(keys.QUERIES, query_id, encode_query(query))
        (before if query.seq > delta.expect else moving).append(write)
    for query_id, expired_us in delta.expired.items():
        moving.append(put(keys.EXPIRED, query_id, encode_expired(expired_us)))
    for (stream_id, seq), batch in delta.batches.items():
        write = put(keys.batches(stream_id), seq, encode_batch(batch))
        (before if seq > delta.expect else moving).append(write)
    for stream_id, stream in delta.streams.items():
        declaration = encode_declaration(stream.schema)
        command = "HSET" if stream_id in delta.altered else "HSETNX"
        moving.append(put(keys.DECLARATIONS, stream_id, declaration, command=command))
    for stream_id, stream in delta.streams.items():
        moving.append(put(keys.STREAMS, stream_id, encode_stream(stream)))
    return before, moving


def _hits(delta: Delta) -> list[Write]:
    """Return the writes of pages and blocks, those to one key behind one another."""
    writes: list[Write] = []
    for (clause_id, _), pages in sorted(delta.pages.items(), key=lambda item: item[0]):
        for number, page in pages.pages():
            segment, chunk = divmod(number, CHUNKS)
            if (clause_id, segment) not in delta.dropped_pages:
                writes.append(put(keys.pages(clause_id, segment), chunk, encode_page(page)))
    for (stream_id, number), block in sorted(delta.blocks.items(), key=lambda item: item[0]):
        segment, chunk = divmod(number, CHUNKS)
        key = keys.blocks(stream_id, segment)
        for group, part in encode_blocks(block):
            writes.append(put(key, keys.block_field(chunk, group), part))
    return writes


def _composites(delta: Delta) -> list[Write]:
    """Return the writes of pages of composites, those to one key behind one another."""
    writes: list[Write] = []
    for (group, *numbers), page in sorted(delta.composites.items(), key=lambda item: item[0]):
        for piece, value in enumerate(encode_composites(page)):
            name = keys.composite_field((*numbers, piece))
            writes.append(put(keys.composites(group), name, value))
    return writes


def _dropped_records(delta: Delta) -> list[Write]:
    queries = [Write("HDEL", keys.QUERIES, (query_id,)) for query_id in delta.dropped_queries]
    clauses = [Write("HDEL", keys.CLAUSES, (clause_id,)) for clause_id in delta.dropped_clauses]
    streams = [Write("HDEL", keys.STREAMS, (stream_id,)) for stream_id in delta.dropped_streams]
    declarations = [
        Write("HDEL", keys.DECLARATIONS, (stream_id,)) for stream_id in delta.dropped_streams
    ]
    batches = [Write("UNLINK", keys.batches(stream_id)) for stream_id in delta.dropped_streams]
    expired = [Write("HDEL", keys.EXPIRED, (query_id,)) for query_id in delta.forgotten]
    return [*queries, *clauses, *streams, *declarations, *batches, *expired]
