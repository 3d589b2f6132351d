"""`check()` of the Redis store: everything read back and compared. O(everything), for tests."""

import collections

from engine.results.contract import Checkpoint
from engine.results.delta import PageKey
from storage import keys
from storage.encoding import decode_content, decode_page
from storage.invariants import check_records
from storage.redis_client import RedisClient
from storage.redis_writes import CHUNKS_PER_SEGMENT


def check_log(client: RedisClient) -> None:
    """Assert the log's invariants and that the catalogue's parts fit together."""
    entries, head_flat, sizes_flat, applied = client.fetch(
        [
            ("XRANGE", keys.LOG, "-", "+"),
            ("HGETALL", keys.HEAD),
            ("HGETALL", keys.SIZES),
            ("HGET", keys.META, "applied"),
        ]
    )
    head = {name.decode(): int(value) for name, value in _pairs(head_flat).items()}
    sizes = {int(seq): int(size) for seq, size in _pairs(sizes_flat).items()}
    seqs, arrival_us, tuple_id = [], 0, 1
    for entry_id, flat in entries:
        fields = _pairs(flat)
        seq = int(entry_id.removesuffix(b"-0"))
        seqs.append(seq)
        assert arrival_us <= int(fields[b"t"]), "arrival times never decrease"
        assert tuple_id <= int(fields[b"i"]), "tuple ids never decrease"
        arrival_us, tuple_id = int(fields[b"t"]), int(fields[b"i"])
        kind = fields[b"k"].decode()
        decode_content(kind, fields[b"h"], fields[b"b"])
        assert sizes.get(seq) == (len(fields[b"b"]) if kind == "rows" else None)
    unapplied = range(int(applied) + 1, head["seq"] + 1)
    assert [seq for seq in seqs if seq > int(applied)] == list(unapplied), "no gaps above applied"
    assert head["ts"] >= arrival_us
    assert head["tuple_id"] >= tuple_id
    assert head["bytes"] == sum(sizes.values())
    assert head["waiting"] == sum(sizes.get(seq, 0) for seq in unapplied)
    _check_catalogue(client)


def check_results(client: RedisClient, checkpoint: Checkpoint) -> None:
    """Assert that records and pages refer to each other and that nothing was left lying."""
    page_keys: list[PageKey] = []
    cursor = b"0"
    while True:
        cursor, found = client.fetch_one("SCAN", cursor, "MATCH", keys.PAGES_PATTERN)
        for name in found:
            clause_id, segment = keys.segment_of_pages(name.decode())
            for field, value in _pairs(client.fetch_one("HGETALL", name)).items():
                decode_page(value)
                page_keys.append((clause_id, segment * CHUNKS_PER_SEGMENT + int(field)))
        if cursor == b"0":
            break
    check_records(checkpoint, page_keys)
    garbage, untidy = client.fetch([("EXISTS", keys.GARBAGE), ("HGET", keys.META, "untidy")])
    assert not garbage, "dropped clauses have lost their pages"
    assert untidy is None, "no publish was interrupted"


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
