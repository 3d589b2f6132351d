"""What is wrong with a log: its entries, its head, its catalogue, its producers' versions. Read in bounded pieces."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from psoup.engine.limits import FOLD_BYTES_MAX
from psoup.engine.log.operation import Rows, StageId
from psoup.engine.results.contract import Checkpoint, Cut
from psoup.engine.tuples.batch import Seq
from psoup.engine.verify.difference import Difference
from psoup.storage import keys
from psoup.storage.encoding.records import declaration_digest, decode_content, text_digest
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
    """What the log has beside its entries: by seq of a batch bytes of its body, and id of its stream."""

    sizes: Mapping[int, int]
    owners: Mapping[int, int]


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
    sizes = {int(seq): int(size) for seq, size in _pairs(flat[0]).items()}
    apart = {int(seq): StageId(part.decode()) for seq, part in _pairs(flat[1]).items()}
    return _entries(client, sizes, apart, int(head))


def log_faults(client: RedisClient, cut: Cut) -> Iterator[Difference]:
    """Yield what is wrong with the entries up to the present head, and with what the head says of them.

    `cut` is a published position; more may have been published since.
    """
    head_flat, applied, *flat = client.fetch_together(
        [
            ("HGETALL", keys.HEAD),
            ("HGET", keys.META, "applied"),
            ("HGETALL", keys.SIZES),
            ("HGETALL", keys.OWNERS),
            ("HGETALL", keys.BODIES),
        ]
    )
    head = {n.decode(): int(value) for n, value in _pairs(head_flat).items() if n != b"sum"}
    sizes, owners = (
        {int(seq): int(one) for seq, one in _pairs(pairs).items()} for pairs in flat[:2]
    )
    apart = {
        int(seq): StageId(part.decode(errors="replace")) for seq, part in _pairs(flat[2]).items()
    }
    if sizes.keys() != owners.keys():
        yield _fault(min(sizes.keys() ^ owners.keys()), "its size or its stream is not listed")
    listed = _Listed(sizes, owners)
    walk, unseen = _Walk(), set(sizes)
    for seq, entry in _entries(client, sizes, apart, head["seq"]):
        if seq > int(applied) + 1 and seq != walk.seq + 1:
            yield _fault(seq, f"the entries from {walk.seq + 1} to {seq - 1} are missing")
        yield from _entry_faults(walk, seq, entry, listed, cut)
        unseen.discard(seq)
    yield from _head_faults(walk, head, sizes, int(applied))
    gone = sorted(unseen)
    found = client.fetch_one("HMGET", keys.SIZES, *gone) if gone else []
    for seq, size in zip(gone, found, strict=True):
        if size is not None:
            yield _fault(seq, "the entry is missing, and the log counts its body")


def _entry_faults(
    walk: _Walk, seq: int, entry: Fields, listed: _Listed, cut: Cut
) -> Iterator[Difference]:
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
    if seq == cut.seq and found.arrival_us != cut.arrival_us:
        yield _fault(seq, f"it arrived at {found.arrival_us}, and {cut.arrival_us} is published")
    if follows and (entry[b"k"] != b"rows" or found.arrival_us != walk.arrival_us):
        yield _fault(seq, "it is not of the commit that the entry before it is of")
    if seq == cut.seq and found.more:
        yield _fault(seq, "it is published, and its commit goes on")
    walk.arrival_us = max(walk.arrival_us, found.arrival_us)
    walk.tuple_id = max(walk.tuple_id, found.tuple_id + found.rows)
    walk.more = found.more


def _head_faults(
    walk: _Walk, head: Mapping[str, int], sizes: Mapping[int, int], applied: int
) -> Iterator[Difference]:
    """Yield what the log's head says of the entries and is not so."""
    seq = head["seq"]
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


def catalogue_faults(client: RedisClient, checkpoint: Checkpoint) -> Iterator[Difference]:
    """Yield where streams and queries are declared otherwise in the log's catalogue than in what is published.

    What was declared, dropped, registered or removed and is not applied yet is left out.
    """
    applied = checkpoint.cut.seq
    names = (keys.LOG_STREAMS, keys.LOG_QUERIES)
    streams, queries = map(_pairs, client.fetch_together([("HGETALL", name) for name in names]))
    for stream in checkpoint.streams:
        row = streams.get(stream.schema.name.encode())
        said = f"{stream.stream_id} {declaration_digest(stream.schema)}".encode()
        if row is not None and _first(row) <= applied and row != said:
            yield Difference("stream", "it is declared otherwise in the log", stream.schema.name)
    clauses = {clause.clause_id: clause for clause in checkpoint.clauses}
    for query in checkpoint.queries:
        row, clause = queries.get(query.query_id.encode()), clauses.get(query.clause_id)
        if row is None or clause is None:
            continue
        name = "-" if query.name is None else keys.name_hash(query.name)
        digest = text_digest(f"{clause.materialize} {query.canonical}")
        seq, said_name, said_digest, streams_read = row.decode(errors="replace").split()
        if (int(seq), said_name, said_digest) != (query.seq, name, digest) or sorted(
            streams_read.split(",")
        ) != sorted(map(str, set(clause.streams))):
            text = "it is registered otherwise in the log"
            yield Difference("query", text, query=query.query_id, seq=query.seq)
    yield from _producer_faults(client, checkpoint)


def _producer_faults(client: RedisClient, checkpoint: Checkpoint) -> Iterator[Difference]:
    """Yield producers whose last version is not the last one of the ring that remembers versions.

    And those without a row whose last batch is said to be another one.
    """
    for stream in checkpoint.streams:
        flat, idle_flat, head = client.fetch_together(
            [
                ("HGETALL", keys.producers(stream.stream_id)),
                ("HGETALL", keys.rowless(stream.stream_id)),
                ("HGET", keys.HEAD, "seq"),
            ]
        )
        rows, idle = _pairs(flat), _pairs(idle_flat)
        rings: dict[bytes, list[tuple[int, int]]] = {}
        for field, row in rows.items():
            app, ring, _ = field.partition(b":")
            if ring:
                numbers = row.split()
                rings.setdefault(app, []).append((int(numbers[0]), int(numbers[1])))
        for app, known in rings.items():
            version, seq = max(known)
            said = rows.get(app, b"-1 0").split()
            if int(said[0]) != version or seq != max(one for _, one in known) or seq > int(head):
                text = f"a producer's last version is said to be {int(said[0])}, and {version} is the last known"
                yield Difference("producer", text, stream.schema.name, seq=Seq(seq))
        for app, said_seq in idle.items():
            last = max((one for _, one in rings.get(app, [])), default=0)
            if int(said_seq) != last:
                text = f"the last batch of a producer without rows is said to be {int(said_seq)}, and {last} is known"
                yield Difference("producer", text, stream.schema.name, seq=Seq(last))


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
                fields = _pairs(flat)
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
        return _Checked(arrival_us, tuple_id)
    assert listed.sizes.get(seq) == len(body), f"its body has {len(body)} bytes"
    owner = listed.owners.get(seq)
    assert owner == content.stream_id, f"it is of stream {content.stream_id}, and {owner} is listed"
    return _Checked(arrival_us, tuple_id, content.rows, content.more)


def _fault(seq: int, text: str) -> Difference:
    return Difference("log", text, seq=Seq(seq))


def _first(row: bytes) -> int:
    return int(row.split()[0])


def _pairs(flat: list[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
