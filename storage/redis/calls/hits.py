"""Reading the hits of one clause: its own pages in the chunks before it came, parts of blocks in the others."""

from collections.abc import Sequence
from typing import Final

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.delta import CHUNKS, ClauseRecord
from psoup.engine.results.page import Page
from psoup.storage import keys
from psoup.storage.encoding.checksums import opened
from psoup.storage.encoding.hits import decode_hits, decode_page
from psoup.storage.redis.calls.client import RedisClient

SEGMENTS_PER_FETCH: Final = 16
"""Keys asked for at once: some 8 MiB of bitmaps at most, of all clauses of a group."""


def fetch_pages(
    client: RedisClient, clause: ClauseRecord, chunks: Sequence[int]
) -> dict[int, Page]:
    """Return the clause's hits in those of `chunks` where it has any, SEGMENTS_PER_FETCH segments a round trip.

    Empty if the clause has been dropped, be it meanwhile: its record goes before its pages do, and what
    blocks still hold of it is nobody's.
    """
    by_segment: dict[int, list[int]] = {}
    for chunk in chunks:
        by_segment.setdefault(chunk // CHUNKS, []).append(chunk)
    segments = list(by_segment.items())
    found: dict[int, Page] = {}
    for at in range(0, len(segments), SEGMENTS_PER_FETCH):
        part = segments[at : at + SEGMENTS_PER_FETCH]
        if not _fetch_part(client, clause, part, found):
            return {}
    return found


def _fetch_part(
    client: RedisClient,
    clause: ClauseRecord,
    segments: Sequence[tuple[int, Sequence[int]]],
    found: dict[int, Page],
) -> bool:
    """Put the hits in these segments' chunks into `found`. Return whether the clause is standing."""
    group = clause.clause_id >> keys.GROUP_BITS
    asked: list[tuple[list[int], bool]] = []
    commands: list[tuple[str, ...]] = []
    for segment, chunks in segments:
        own = [chunk for chunk in chunks if chunk * CHUNK_ROWS < clause.block_row]
        shared = [chunk for chunk in chunks if chunk * CHUNK_ROWS >= clause.block_row]
        if own:
            asked.append((own, False))
            fields = [str(chunk % CHUNKS) for chunk in own]
            commands.append(("HMGET", keys.pages(clause.clause_id, segment), *fields))
        if shared:
            asked.append((shared, True))
            names = [keys.block_field(chunk % CHUNKS, group) for chunk in shared]
            commands.append(("HMGET", keys.blocks(clause.streams[0], segment), *names))
    *answers, standing = client.fetch([*commands, ("HEXISTS", keys.CLAUSES, clause.clause_id)])
    for (numbers, in_blocks), (_, key, *names), values in zip(
        asked, commands, answers, strict=True
    ):
        for chunk, name, kept in zip(numbers, names, values, strict=True):
            if kept is None:
                continue
            value = opened(key, name, kept)
            page = decode_hits(value, clause.clause_id) if in_blocks else decode_page(value)
            if page is not None:
                found[chunk] = page
    return bool(standing)
