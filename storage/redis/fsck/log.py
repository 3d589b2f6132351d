"""What is wrong with a log: its entries, and what its head and its lists say of them. Read in bounded pieces."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from psoup.engine.limits import FOLD_BYTES_MAX
from psoup.engine.log.operation import Rows, StageId
from psoup.engine.tuples.batch import Seq
from psoup.engine.verify.difference import Difference
from psoup.storage import keys
from psoup.storage.encoding.histories import pairs
from psoup.storage.encoding.records import decode_content
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.entries import check_fields, sound_fields
from psoup.storage.redis.fsck.records import DAMAGED

ENTRIES_PER_FETCH: Final = 1_000
Fields = dict[bytes, bytes]
SUM: Final = b"sum"
"""Where a walk has what is kept beside an entry, among its fields."""


@dataclass(slots=True)
class _Walk:
    """Where a walk along the entries is: what came last, and what the entries so far have reached."""

    seq: int = 0
    arrival_us: int = 0
    tuple_id: int = 1
    more: bool = False
    """The last one was inside a commit."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """What the store says of entries at one instant.

    Attributes:
        sizes, owners: by seq of a batch bytes of its body, and id of its stream.
        empty: seqs of batches without rows.
        trimmed: by id of a stream the last batch of its that was trimmed.
        applied, arrival_us: the published operation, and when it arrived.
    """

    sizes: Mapping[int, int]
    owners: Mapping[int, int]
    empty: frozenset[int]
    trimmed: Mapping[int, int]
    applied: int
    arrival_us: int


@dataclass(frozen=True, slots=True)
class _Checked:
    """What a sound entry says: `more` = the commit goes on in the next."""

    arrival_us: int
    tuple_id: int
    rows: int = 0
    more: bool = False


def log_entries(client: RedisClient) -> Iterator[tuple[int, Fields]]:
    """Yield seq and fields of all entries, their bodies among them, and under SUM what is kept of them."""
    head, *flat = client.fetch(
        [("HGET", keys.HEAD, "seq"), ("HGETALL", keys.SIZES), ("HGETALL", keys.BODIES)]
    )
    sizes = {int(seq): int(size) for seq, size in pairs(flat[0]).items()}
    apart = {int(seq): StageId(part.decode()) for seq, part in pairs(flat[1]).items()}
    return _entries(client, sizes, apart, int(head))


def log_faults(client: RedisClient) -> Iterator[Difference]:
    """Yield what is wrong with the entries up to the present head, and with what is said of them beside."""
    head_flat, position, sizes, owners, bodies, empty, trimmed = client.fetch_together(
        [
            ("HGETALL", keys.HEAD),
            ("HMGET", keys.META, "applied", "ts"),
            ("HGETALL", keys.SIZES),
            ("HGETALL", keys.OWNERS),
            ("HGETALL", keys.BODIES),
            ("HKEYS", keys.EMPTY),
            ("HGETALL", keys.TRIMMED),
        ]
    )
    head = {n.decode(): int(value) for n, value in pairs(head_flat).items() if n != b"sum"}
    applied, arrival_us = map(int, position)
    listed = _Listed(
        _numbers(sizes),
        _numbers(owners),
        frozenset(map(int, empty)),
        _numbers(trimmed),
        applied,
        arrival_us,
    )
    apart = {int(seq): StageId(one.decode(errors="replace")) for seq, one in pairs(bodies).items()}
    yield from _list_faults(listed, apart)
    walk, unseen = _Walk(), set(listed.sizes)
    for seq, entry in _entries(client, listed.sizes, apart, head["seq"]):
        if seq > applied + 1 and seq != walk.seq + 1:
            yield _fault(seq, f"the entries from {walk.seq + 1} to {seq - 1} are missing")
        yield from _entry_faults(walk, seq, entry, listed)
        unseen.discard(seq)
    yield from _head_faults(walk, head, listed)
    gone = sorted(unseen)
    found = client.fetch_one("HMGET", keys.SIZES, *gone) if gone else []
    for seq, size in zip(gone, found, strict=True):
        if size is not None:
            yield _fault(seq, "the entry is missing, and the log counts its body")


def _list_faults(listed: _Listed, apart: Mapping[int, StageId]) -> Iterator[Difference]:
    """Yield where the lists of batches do not agree with each other."""
    for seq in sorted(listed.sizes.keys() ^ listed.owners.keys()):
        yield _fault(seq, "its size or its stream is not listed")
    for seq in sorted((listed.empty | apart.keys()) - listed.sizes.keys()):
        yield _fault(seq, "it has a body apart or is listed as one without rows, and is no batch")
    for stream_id, seq in sorted(listed.trimmed.items()):
        if not 0 < seq <= listed.applied or seq in listed.sizes:
            yield _fault(seq, f"it is said to be trimmed from stream {stream_id}, and is not")


def _entry_faults(walk: _Walk, seq: int, entry: Fields, listed: _Listed) -> Iterator[Difference]:
    """Yield what is wrong with the next entry, and take the step."""
    follows, walk.seq = walk.more and seq == walk.seq + 1, seq
    try:
        found = _checked(seq, entry, listed)
    except DAMAGED as error:
        walk.more = False
        yield _fault(seq, f"the entry is damaged: {error}")
        return
    if found.arrival_us < walk.arrival_us or found.tuple_id < walk.tuple_id:
        yield _fault(seq, "its arrival time or first tuple id is before that of the one before it")
    if seq == listed.applied and found.arrival_us != listed.arrival_us:
        text = f"it arrived at {found.arrival_us}, and {listed.arrival_us} is published"
        yield _fault(seq, text)
    if follows and (entry[b"k"] != b"rows" or found.arrival_us != walk.arrival_us):
        yield _fault(seq, "it is not of the commit that the entry before it is of")
    if seq == listed.applied and found.more:
        yield _fault(seq, "it is published, and its commit goes on")
    walk.arrival_us = max(walk.arrival_us, found.arrival_us)
    walk.tuple_id = max(walk.tuple_id, found.tuple_id + found.rows)
    walk.more = found.more


def _head_faults(walk: _Walk, head: Mapping[str, int], listed: _Listed) -> Iterator[Difference]:
    """Yield what the log's head says of the entries and is not so."""
    seq, applied, sizes = head["seq"], listed.applied, listed.sizes
    if head["ts"] < walk.arrival_us or head["tuple_id"] < walk.tuple_id:
        yield _fault(seq, "the head's arrival time or tuple id is before that of the last entry")
    if seq > max(walk.seq, applied):
        yield _fault(seq, f"the head is there, and the log ends at {walk.seq}")
    if walk.more and seq == walk.seq:
        yield _fault(seq, "the log ends inside a commit")
    if seq < applied:
        yield _fault(applied, f"it is published, and the head is at {seq}")
    waiting = sum(size for number, size in sizes.items() if number > applied)
    if (head["bytes"], head["waiting"]) != (sum(sizes.values()), waiting):
        yield _fault(seq, "the head counts other bytes of bodies than there are")


def _entries(
    client: RedisClient, sizes: Mapping[int, int], apart: Mapping[int, StageId], head: int
) -> Iterator[tuple[int, Fields]]:
    """Yield seq and fields of the entries up to `head`, FOLD_BYTES_MAX of bodies at a time or one entry.

    `apart` has the parts in which bodies of commits lie; one that is not there is none.
    """
    after = 0
    for past in _cuts(sizes, head):
        while True:
            found = client.fetch_one(
                "XRANGE", keys.LOG, f"{after + 1}-0", f"{past}-0", "COUNT", ENTRIES_PER_FETCH
            )
            seqs = [int(entry_id.partition(b"-")[0]) for entry_id, _ in found]
            there = [seq for seq in seqs if seq in apart]
            said, *bodies = client.fetch(
                [
                    ("HMGET", keys.SUMS, *(seqs or [0])),
                    *(("HGET", keys.body(apart[seq]), "b") for seq in there),
                ]
            )
            sums = dict(zip(seqs, said, strict=False))
            held = dict(zip(there, bodies, strict=True))
            for after, (_, flat) in zip(seqs, found, strict=True):
                fields = pairs(flat)
                body = held.get(after, fields.get(b"b", b"")) or b""
                if sums[after] is None and not _is_there(client, after):
                    continue
                yield after, fields | {b"b": body, SUM: sums[after] or b"-"}
            after = max([after, *seqs])
            if len(found) < ENTRIES_PER_FETCH:
                break
        after = max(after, past)


def _is_there(client: RedisClient, seq: int) -> bool:
    """Return whether an entry was not trimmed meanwhile."""
    return bool(client.fetch_one("XRANGE", keys.LOG, f"{seq}-0", f"{seq}-0"))


def _cuts(sizes: Mapping[int, int], head: int) -> Iterator[int]:
    """Yield seqs, ascending, up to `head`, with no more bodies between two of them than one answer may have."""
    total = 0
    for seq in sorted(sizes):
        if total and total + sizes[seq] > FOLD_BYTES_MAX:
            yield seq - 1
            total = 0
        total += sizes[seq]
    yield head


def _checked(seq: int, entry: Fields, listed: _Listed) -> _Checked:
    """Return what an entry says; raise where it is damaged."""
    kind, body = entry[b"k"].decode(), entry[b"b"]
    fields = {name: value for name, value in entry.items() if name != SUM}
    check_fields(Seq(seq), sound_fields(Seq(seq), fields), body, entry[SUM])
    content = decode_content(kind, entry[b"h"], body)
    arrival_us, tuple_id = int(entry[b"t"]), int(entry[b"i"])
    if not isinstance(content, Rows):
        assert seq not in listed.sizes, "it is listed as a batch"
        return _Checked(arrival_us, tuple_id)
    assert (seq in listed.empty) == (not content.rows), f"it has {content.rows} rows"
    assert listed.sizes.get(seq) == len(body), f"its body has {len(body)} bytes"
    owner = listed.owners.get(seq)
    assert owner == content.stream_id, f"it is of stream {content.stream_id}, and {owner} is listed"
    return _Checked(arrival_us, tuple_id, content.rows, content.more)


def _fault(seq: int, text: str) -> Difference:
    return Difference("log", text, seq=Seq(seq))


def _numbers(flat: list[bytes]) -> dict[int, int]:
    return {int(key): int(value) for key, value in pairs(flat).items()}
