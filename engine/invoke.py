"""Verb 3, invoke: the window over the results, tuples out. Never joins, so any worker can do it.

An answer equals evaluating the query from scratch on operations 1 … seq at one instant NOW:
    visible(row) <=> the row is a hit, retained, dated up to NOW, and inside [BEGIN, END] at NOW.
Its order is total (tuple time, tuple id). All pages of an answer belong to one position: the rows there were,
the floors of retention, the instant. A page is exact or refused.
Source: Chandrasekaran & Franklin 2002, 2.4 (invocation), 4.1 (stream-prefix consistency).
"""

from collections.abc import Sequence
from typing import Final

from engine.errors import (
    EngineError,
    NotFoundError,
    NowOutOfRangeError,
    OverloadedError,
    PageExpiredError,
)
from engine.log.operation import QueryId
from engine.results.answer import Answer, PagePosition, Request
from engine.results.clause_cache import ClauseCache
from engine.results.contract import ResultsReader, Snapshot
from engine.results.invocation import Invocation, nothing_yet
from engine.results.pinning import pinned
from engine.results.source import TupleSource

__all__ = ["Answer", "ClauseCache", "PagePosition", "Request", "invoke", "invoke_many"]

ATTEMPTS_MAX: Final = 4
"""Snapshots tried, when tuples an answer needs are dropped while it is being read."""


def invoke(
    results: ResultsReader,
    source: TupleSource,
    *,
    query_id: QueryId,
    request: Request,
    clauses: ClauseCache,
) -> Answer:
    """Return one page of what the query answers at one position.

    Raises:
        NotFoundError: the query is not standing.
        NotYetVisibleError: `min_seq` is not applied yet.
        NowOutOfRangeError: `now_us` lies after NOW, or before what retention has kept.
        PageExpiredError: the page needs tuples that are not held any more, or another history.

    Cost: O(chunks + hits) for the first page, O(page) for the others while the order is cached.
    """
    for _ in range(ATTEMPTS_MAX):
        snapshot = results.snapshot(query_id)
        try:
            return answered(results, source, snapshot, request=request, clauses=clauses)
        except PageExpiredError:
            if request.position is not None:
                raise
            # Tuples left retention for good while they were read: a later position needs them no more.
    raise retention_overtakes()


def invoke_many(
    results: ResultsReader,
    source: TupleSource,
    *,
    query_ids: Sequence[QueryId],
    request: Request,
    clauses: ClauseCache,
) -> Sequence[Answer | EngineError]:
    """Return one page of what each query answers, all at one position and one instant of the server.

    What `invoke` raises for one query alone stands in its place.

    Raises:
        OverloadedError: tuples leave retention faster than these queries can be answered.

    Cost: that of all `invoke`s.
    """
    for _ in range(ATTEMPTS_MAX):
        snapshots = results.snapshots(query_ids)
        try:
            return [
                NotFoundError("No such query is registered.")
                if snapshot is None
                else answered_or_refused(results, source, snapshot, request, clauses)
                for snapshot in snapshots
            ]
        except PageExpiredError:
            continue
    raise retention_overtakes()


def answered(
    results: ResultsReader,
    source: TupleSource,
    snapshot: Snapshot,
    *,
    request: Request,
    clauses: ClauseCache,
) -> Answer:
    """Return one page of what the query of a snapshot answers. Raises as `invoke` does."""
    at = pinned(snapshot, request)
    if at is None:
        return nothing_yet(source, snapshot, request=request, clauses=clauses)
    asked = Invocation(results, source, snapshot, clauses, at)
    if request.count_only and not asked.reading.clause.distinct:
        return asked.counted()
    return asked.page(request)


def answered_or_refused(
    results: ResultsReader,
    source: TupleSource,
    snapshot: Snapshot,
    request: Request,
    clauses: ClauseCache,
) -> Answer | EngineError:
    """Return one page, or why this query has none: it was removed, or the instant is not in its reach."""
    try:
        return answered(results, source, snapshot, request=request, clauses=clauses)
    except (NotFoundError, NowOutOfRangeError) as refusal:
        return refusal


def retention_overtakes() -> OverloadedError:
    """Return the refusal of an answer whose tuples kept leaving while they were read."""
    return OverloadedError(
        "Tuples are leaving retention faster than this can be answered. Ask again shortly.",
        reason="retention",
        retry_after_s=1,
    )
