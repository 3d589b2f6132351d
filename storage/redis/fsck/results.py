"""What is wrong with the keys of results: pages, blocks, composites and batches without what they belong to."""

import traceback
from collections.abc import Iterator
from dataclasses import replace

from psoup.engine.results.composites import CompositeKey, CompositePage
from psoup.engine.results.contract import Checkpoint
from psoup.engine.results.delta import CHUNKS, BlockKey, PageKey
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import MatchBlock
from psoup.engine.tuples.schema import StreamId
from psoup.engine.verify.difference import Difference
from psoup.storage import keys
from psoup.storage.encoding.checksums import opened
from psoup.storage.encoding.composites import decode_composites, encode_composites
from psoup.storage.encoding.histories import pairs
from psoup.storage.encoding.hits import decode_block, decode_page, encode_blocks, encode_page
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.composites import composite_fields, fetch_published
from psoup.storage.redis.fsck.invariants import (
    check_blocks,
    check_composites,
    check_pages,
    check_records,
)
from psoup.storage.redis.fsck.records import DAMAGED
from psoup.storage.redis.fsck.scanning import scan_keys


def result_fault(client: RedisClient, checkpoint: Checkpoint) -> Difference | None:
    """Return the first thing that is wrong with how keys of results refer to records; None = nothing is.

    `checkpoint` has the records of this instant, without composites; nothing is published meanwhile.
    """
    streams = {stream.stream_id: stream for stream in checkpoint.streams}
    try:
        composites = fetch_published(client, checkpoint.clauses, streams)
        _check_results(client, replace(checkpoint, composites=composites))
    except DAMAGED as error:
        line = traceback.extract_tb(error.__traceback__)[-1].line
        return Difference("keys", str(error) or f"this does not hold: {line}")
    return None


def _check_results(client: RedisClient, checkpoint: Checkpoint) -> None:
    """Assert that records, pages and blocks refer to each other and that nothing was left lying."""
    check_records(checkpoint)
    check_pages(checkpoint, _pages(client))
    check_blocks(checkpoint, _blocks(client))
    check_composites(checkpoint, _composites(client))
    held = {keys.batches(stream.stream_id) for stream in checkpoint.streams}
    assert scan_keys(client, keys.BATCHES_PATTERN) <= held, "a batch has its stream"
    garbage, untidy = client.fetch([("EXISTS", keys.GARBAGE), ("HGET", keys.META, "untidy")])
    assert not garbage, "what was dropped has lost its hits"
    assert untidy is None, "no publish was interrupted"


def _pages(client: RedisClient) -> Iterator[PageKey]:
    """Yield of which clause and chunk each page is, having read it."""
    for name in scan_keys(client, keys.PAGES_PATTERN):
        clause_id, segment = keys.numbers(name)
        for field, kept in pairs(client.fetch_one("HGETALL", name)).items():
            value = opened(name, field, kept)
            page = decode_page(value)
            assert encode_page(page) == value
            assert page.kept == bool(page.count), "a page that is kept has hits"
            yield ClauseId(clause_id), segment * CHUNKS + int(field)


def _blocks(client: RedisClient) -> Iterator[tuple[BlockKey, MatchBlock]]:
    """Yield each part of a block, and of which stream and chunk it is."""
    for name in scan_keys(client, keys.BLOCKS_PATTERN):
        stream_id, segment = keys.numbers(name)
        for field, kept in pairs(client.fetch_one("HGETALL", name)).items():
            chunk, group = keys.numbers(field.decode())
            value = opened(name, field, kept)
            block = decode_block(value)
            assert [(group, value)] == list(encode_blocks(block)), "clauses of one group"
            yield (StreamId(stream_id), segment * CHUNKS + chunk), block


def _composites(client: RedisClient) -> Iterator[tuple[CompositeKey, CompositePage]]:
    """Yield each page of composites."""
    names = scan_keys(client, keys.COMPOSITES_PATTERN)
    groups = [ClauseId(int(name.rpartition(":")[2])) for name in names]
    for key, fields in composite_fields(client, groups).items():
        place = keys.composites(key[0])
        kept = client.fetch_one("HMGET", place, *fields)
        pieces = [opened(place, *one) for one in zip(fields, kept, strict=True)]
        page = decode_composites(pieces)
        assert encode_composites(page) == pieces
        yield key, page
