"""`check()` of the Redis store: everything read back and compared. O(everything), for tests."""

import collections
from collections.abc import Iterator, Sequence

from psoup.engine import limits
from psoup.engine.log.operation import Rows, StageId
from psoup.engine.results.composites import CompositeKey, CompositePage
from psoup.engine.results.contract import Checkpoint
from psoup.engine.results.delta import CHUNKS, BlockKey, PageKey
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import MatchBlock
from psoup.engine.store.archive_answers import HistoryId
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys
from psoup.storage.encoding.checksums import opened
from psoup.storage.encoding.composites import decode_composites, encode_composites
from psoup.storage.encoding.hits import decode_block, decode_page, encode_blocks, encode_page
from psoup.storage.encoding.records import decode_content
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.composites import composite_fields
from psoup.storage.redis.fsck.histories import history_faults
from psoup.storage.redis.fsck.invariants import (
    check_blocks,
    check_composites,
    check_pages,
    check_records,
)
from psoup.storage.redis.fsck.parts import part_faults


def check_log(client: RedisClient) -> None:
    """Assert the log's invariants and that the catalogue's parts fit together."""
    entries, head_flat, sizes_flat, owners_flat, bodies_flat, trimmed_flat, empty, applied = (
        client.fetch(
            [
                ("XRANGE", keys.LOG, "-", "+"),
                ("HGETALL", keys.HEAD),
                ("HGETALL", keys.SIZES),
                ("HGETALL", keys.OWNERS),
                ("HGETALL", keys.BODIES),
                ("HGETALL", keys.TRIMMED),
                ("HKEYS", keys.EMPTY),
                ("HGET", keys.META, "applied"),
            ]
        )
    )
    head = {n.decode(): int(value) for n, value in _pairs(head_flat).items() if n != b"sum"}
    sizes = {int(seq): int(size) for seq, size in _pairs(sizes_flat).items()}
    owners = {int(seq): int(owner) for seq, owner in _pairs(owners_flat).items()}
    assert owners.keys() == sizes.keys(), "a batch has a stream and a size"
    trimmed = {int(owner): int(seq) for owner, seq in _pairs(trimmed_flat).items()}
    assert all(0 < seq <= int(applied) and seq not in sizes for seq in trimmed.values())
    apart = {int(seq): StageId(part.decode()) for seq, part in _pairs(bodies_flat).items()}
    bodies = client.fetch([("HGET", keys.body(part), "b") for part in apart.values()])
    held = dict(zip(apart, bodies, strict=True))
    assert held.keys() <= sizes.keys(), "a body has its entry"
    seqs: list[int] = []
    arrival_us, tuple_id, more = 0, 1, False
    for entry_id, flat in entries:
        fields = _pairs(flat)
        seq = int(entry_id.removesuffix(b"-0"))
        more = more and seqs[-1] == seq - 1
        seqs.append(seq)
        assert not more or arrival_us == int(fields[b"t"]), "a commit has one arrival time"
        assert arrival_us <= int(fields[b"t"]), "arrival times never decrease"
        assert tuple_id <= int(fields[b"i"]), "tuple ids never decrease"
        arrival_us, tuple_id = int(fields[b"t"]), int(fields[b"i"])
        kind = fields[b"k"].decode()
        content = decode_content(kind, fields[b"h"], held.get(seq, fields[b"b"]))
        batch = content if isinstance(content, Rows) else None
        assert sizes.get(seq) == (None if batch is None else len(batch.body))
        assert owners.get(seq) == (None if batch is None else batch.stream_id)
        assert batch is not None or not more, "nothing comes between the batches of a commit"
        more = batch is not None and batch.more
        assert (b"%d" % seq in empty) == (batch is not None and not batch.rows)
    assert {int(seq) for seq in empty} <= sizes.keys(), "a batch without rows has its entry"
    assert not more or seqs[-1] < head["seq"], "a commit is whole, but for what was trimmed"
    unapplied = range(int(applied) + 1, head["seq"] + 1)
    assert [seq for seq in seqs if seq > int(applied)] == list(unapplied), "no gaps above applied"
    assert head["ts"] >= arrival_us
    assert head["tuple_id"] >= tuple_id
    assert head["bytes"] == sum(sizes.values())
    assert head["waiting"] == sum(sizes.get(seq, 0) for seq in unapplied)
    _check_catalogue(client)
    _check_parts(client, [*apart.values()])


def _check_parts(client: RedisClient, committed: Sequence[StageId]) -> None:
    """Assert that parts are counted, and that there is a body of each that waits or is `committed`, and no other."""
    faults = [fault.detail for fault in part_faults(client)]
    assert not faults, faults
    parts = [StageId(part.decode()) for part in client.fetch_one("HVALS", keys.PARTS)]
    marks = client.fetch([("HEXISTS", keys.part(part), "v") for part in parts])
    waiting = [part for part, mark in zip(parts, marks, strict=True) if not mark]
    expected = {*map(keys.part, parts), *map(keys.body, [*waiting, *committed])}
    assert {key.encode() for key in expected} == _scanned(client, f"{keys.PART_PREFIX}*")


def check_histories(client: RedisClient) -> None:
    """Assert that histories are counted, and that nothing lies about that the index does not lead to."""
    faults = [fault.detail for fault in history_faults(client)]
    assert not faults, faults
    ids = [HistoryId(one.decode()) for one in client.fetch_one("HVALS", keys.HISTORIES)]
    assert len(ids) <= limits.HISTORIES_MAX
    built = (keys.history, keys.history_bodies, keys.history_parts)
    expected = {key(history_id).encode() for history_id in ids for key in built}
    assert _scanned(client, keys.HISTORIES_PATTERN) <= expected


def check_results(client: RedisClient, checkpoint: Checkpoint) -> None:
    """Assert that records, pages and blocks refer to each other and that nothing was left lying."""
    check_records(checkpoint)
    check_pages(checkpoint, _pages(client))
    check_blocks(checkpoint, _blocks(client))
    check_composites(checkpoint, _composites(client))
    held = {keys.batches(stream.stream_id).encode() for stream in checkpoint.streams}
    assert _scanned(client, keys.BATCHES_PATTERN) <= held, "a batch has its stream"
    garbage, untidy = client.fetch([("EXISTS", keys.GARBAGE), ("HGET", keys.META, "untidy")])
    assert not garbage, "what was dropped has lost its hits"
    assert untidy is None, "no publish was interrupted"


def _pages(client: RedisClient) -> Iterator[PageKey]:
    """Yield of which clause and chunk each page is, having read it."""
    for name in _scanned(client, keys.PAGES_PATTERN):
        clause_id, segment = keys.numbers(name.decode())
        for field, kept in _pairs(client.fetch_one("HGETALL", name)).items():
            value = opened(name.decode(), field, kept)
            page = decode_page(value)
            assert encode_page(page) == value
            assert page.kept == bool(page.count), "a page that is kept has hits"
            yield ClauseId(clause_id), segment * CHUNKS + int(field)


def _blocks(client: RedisClient) -> Iterator[tuple[BlockKey, MatchBlock]]:
    """Yield each part of a block, and of which stream and chunk it is."""
    for name in _scanned(client, keys.BLOCKS_PATTERN):
        stream_id, segment = keys.numbers(name.decode())
        for field, kept in _pairs(client.fetch_one("HGETALL", name)).items():
            chunk, group = keys.numbers(field.decode())
            value = opened(name.decode(), field, kept)
            block = decode_block(value)
            assert [(group, value)] == list(encode_blocks(block)), "clauses of one group"
            yield (StreamId(stream_id), segment * CHUNKS + chunk), block


def _composites(client: RedisClient) -> Iterator[tuple[CompositeKey, CompositePage]]:
    """Yield each page of composites."""
    names = _scanned(client, keys.COMPOSITES_PATTERN)
    groups = [ClauseId(int(name.decode().rpartition(":")[2])) for name in names]
    for key, fields in composite_fields(client, groups).items():
        place = keys.composites(key[0])
        kept = client.fetch_one("HMGET", place, *fields)
        pieces = [opened(place, *one) for one in zip(fields, kept, strict=True)]
        page = decode_composites(pieces)
        assert encode_composites(page) == pieces
        yield key, page


def _scanned(client: RedisClient, pattern: str) -> set[bytes]:
    """Return the keys that match, each once."""
    names: set[bytes] = set()
    cursor = b"0"
    while True:
        cursor, found = client.fetch_one("SCAN", cursor, "MATCH", pattern)
        names.update(found)
        if cursor == b"0":
            return names


def _check_catalogue(client: RedisClient) -> None:
    answers = client.fetch(
        [
            ("HGETALL", key)
            for key in (keys.LOG_STREAMS, keys.LOG_QUERIES, keys.LOG_NAMES, keys.LOG_READERS)
        ]
    )
    streams, queries, names, readers = map(_pairs, answers)
    in_force = {row.split()[0] for row in streams.values()}
    counted: collections.Counter[bytes] = collections.Counter()
    for query_id, row in queries.items():
        _, name, _, read = row.split()
        counted.update(read.split(b","))
        assert name == b"-" or names[name] == query_id, "a name leads to its query"
    assert len(names) == sum(row.split()[1] != b"-" for row in queries.values())
    assert counted.keys() <= in_force, "a standing query reads streams in force"
    assert {key: int(n) for key, n in readers.items() if n != b"0"} == dict(counted)


def _pairs(flat: list[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
