"""Queries with a time to live: a use renews them, and they expire where nobody uses them, each by an operation.

What has expired is remembered, so that who comes back is told; `engine/expire.py` forgets it in the end.
"""

import dataclasses
from collections.abc import Sequence

from psoup.engine.errors import NotFoundError
from psoup.engine.log.operation import Expire, QueryId, Renew
from psoup.engine.release import release
from psoup.engine.results.draft import Draft
from psoup.engine.state.state import State


def renew(state: State, draft: Draft, *, content: Renew) -> None:
    """Let a query stand for its time to live from now on. Raises NotFoundError if none with such a time is standing."""
    query = state.queries.get(content.query_id)
    if query is None or query.ttl_us is None:
        raise NotFoundError(f"No query {content.query_id} with a time to live is standing.")
    renewed = dataclasses.replace(query, expires_us=draft.arrival_us + query.ttl_us)
    state.hold_query(renewed)
    draft.queries[query.query_id] = renewed


def expire_query(state: State, draft: Draft, *, content: Expire) -> None:
    """Take out a handle whose time to live is over. Raises NotFoundError if there is no such handle by now."""
    query = state.queries.get(content.query_id)
    if query is None or query.expires_us is None or draft.arrival_us < query.expires_us:
        raise NotFoundError(f"No query {content.query_id} is standing whose time is over.")
    release(state, draft, query.query_id)
    draft.expired[query.query_id] = draft.arrival_us
    state.expired.add((draft.arrival_us, query.query_id))


def overdue(state: State, now_us: int, limit: int) -> Sequence[QueryId]:
    """Return the first `limit` queries whose time to live is over at `now_us`, the earliest first. O(found)."""
    found: list[QueryId] = []
    for expires_us, query_id in state.expiring:
        if expires_us > now_us or len(found) == limit:
            break
        found.append(query_id)
    return found
