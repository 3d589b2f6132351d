"""Reading composite tuples: which pages a group has, which of them are published, and what is in them.

Pages are written before the applied operation moves and deleted behind it. One that a chunk entered is published
once that chunk is whole at the published row count, a clause's own one once the clause is. The pieces of a published
page are deleted in one step, so a reader has all of them or none.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from psoup.engine.errors import IntegrityError
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.recent import ENTRY_BYTES, Recent
from psoup.engine.results.composites import CompositeKey, CompositePage
from psoup.engine.results.delta import ClauseRecord, StreamRecord
from psoup.engine.results.hits import ClauseId
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys
from psoup.storage.encoding.checksums import opened
from psoup.storage.encoding.composites import decode_composites
from psoup.storage.encoding.record_cache import open_stream
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.writes import Fields

GROUPS_PER_FETCH: Final = 1_000
"""Groups whose fields are asked for at once: most have few."""
PAGES_PER_FETCH: Final = 64
"""Pages asked for at once: some 8 MiB, where each has its 4,096 composites."""

KeptPages = Recent[CompositeKey, CompositePage]
"""Pages read before: within a history one never changes."""
Places = Mapping[CompositeKey, Fields]
"""Where pages lie: the fields of each, in the order of its pieces."""


def group_streams(
    clauses: Collection[ClauseRecord], streams: Mapping[StreamId, StreamRecord]
) -> dict[ClauseId, tuple[StreamRecord, ...]]:
    """Return the streams of each group that one of these clauses is in, in FROM order."""
    return {
        clause.join.group: tuple(streams[stream_id] for stream_id in clause.streams)
        for clause in clauses
        if clause.join is not None
    }


def is_published(
    key: CompositeKey, streams: Sequence[StreamRecord], clauses: Collection[ClauseId]
) -> bool:
    """Return whether a page belongs to the applied operation, or is what a publish under way has staged.

    `streams` are those of its group, `clauses` those that stand, both as they are published.
    """
    _, entrant, number, _ = key
    if entrant == len(streams):
        return number in clauses
    return (number + 1) * CHUNK_ROWS <= streams[entrant].rows


def composite_fields(client: RedisClient, groups: Collection[ClauseId]) -> Places:
    """Return the fields of all pages of these groups, ascending by key, staged ones among them.

    Cost: O(pages), without their values.
    """
    ascending = sorted(groups)
    found: dict[CompositeKey, list[str]] = {}
    for at in range(0, len(ascending), GROUPS_PER_FETCH):
        some = ascending[at : at + GROUPS_PER_FETCH]
        answers = client.fetch([("HKEYS", keys.composites(group)) for group in some])
        for group, names in zip(some, answers, strict=True):
            for numbers in sorted(keys.composite_numbers(name.decode()) for name in names):
                key = (group, *numbers[:3])
                found.setdefault(key, []).append(keys.composite_field(numbers))
    return found


def fetch_composites(
    client: RedisClient, places: Places, kept: KeptPages | None = None
) -> dict[CompositeKey, CompositePage]:
    """Return the pages in these fields, ascending by key, but those deleted since.

    Those in `kept` are taken from there, and put there. PAGES_PER_FETCH of the others a round trip.
    """
    known = {} if kept is None else {key: kept.get(key) for key in places}
    found = {key: page for key, page in known.items() if page is not None}
    wanted = [(key, names) for key, names in places.items() if key not in found]
    for at in range(0, len(wanted), PAGES_PER_FETCH):
        part = wanted[at : at + PAGES_PER_FETCH]
        commands = [("HMGET", keys.composites(key[0]), *names) for key, names in part]
        for (key, names), pieces in zip(part, client.fetch(commands), strict=True):
            if None not in pieces:
                place = keys.composites(key[0])
                page = decode_composites(
                    [opened(place, *one) for one in zip(names, pieces, strict=True)]
                )
                found[key] = page
                if kept is not None:
                    kept.put(key, page, size=page.nbytes + ENTRY_BYTES)
    return {key: found[key] for key in places if key in found}


def fetch_of_clause(
    client: RedisClient, clause: ClauseRecord, kept: KeptPages | None = None
) -> list[CompositePage]:
    """Return the published pages of the clause's group and its own ones (`ResultsReader.composites`).

    Empty if the clause has been dropped, be it meanwhile: whether it stands is asked last.
    """
    if clause.join is None:
        return []
    applied, records, declarations = client.fetch_together(
        [
            ("HGET", keys.META, "applied"),
            ("HMGET", keys.STREAMS, *clause.streams),
            ("HMGET", keys.DECLARATIONS, *clause.streams),
        ]
    )
    if int(applied) < clause.clause_id or None in records:
        return []
    if None in declarations:
        raise IntegrityError(f"A stream that clause {clause.clause_id} reads has no declaration.")
    streams = list(map(open_stream, clause.streams, records, declarations))
    places = {
        key: names
        for key, names in composite_fields(client, [clause.join.group]).items()
        if is_published(key, streams, [clause.clause_id])
    }
    found = fetch_composites(client, places, kept)
    standing = client.fetch_one("HEXISTS", keys.CLAUSES, clause.clause_id)
    return list(found.values()) if standing else []


def fetch_published(
    client: RedisClient,
    clauses: Collection[ClauseRecord],
    streams: Mapping[StreamId, StreamRecord],
) -> dict[CompositeKey, CompositePage]:
    """Return all published pages, ascending by key, given all published clauses and streams."""
    groups = group_streams(clauses, streams)
    standing = {clause.clause_id for clause in clauses}
    places = {
        key: names
        for key, names in composite_fields(client, groups).items()
        if is_published(key, groups[key[0]], standing)
    }
    return fetch_composites(client, places)
