"""Verb 3, invoke: the window over the results, tuples out. Never joins, so any worker can do it.

An answer equals evaluating the query from scratch on operations 1 … seq at one instant NOW:
    visible(row) <=> the row is a hit, retained, dated up to NOW, and inside [BEGIN, END] at NOW.
A row of a join is visible iff each of its parts is, in the window of its source. The order of an answer is total
(tuple time, tuple id; for a join the earliest part's time, then the ids in FROM order). An answer since an earlier
position holds what has changed (`invocation/changes.py`). All pages of an answer
belong to one position: the rows there were, the floors of retention, the instant. A page is exact or refused.
Source: Chandrasekaran & Franklin 2002, 2.4 (invocation), 4.1 (stream-prefix consistency).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import TupleSource
from psoup.engine.errors import (
    AnswerTooLargeError,
    EngineError,
    NotFoundError,
    NowOutOfRangeError,
    OverloadedError,
    PageExpiredError,
    QuerySuspendedError,
)
from psoup.engine.invocation.answering import nothing_yet
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.one_stream.stream_invocation import Invocation
from psoup.engine.invocation.position.answer import (
    Answer,
    PagePosition,
    PartPosition,
    Request,
    Since,
)
from psoup.engine.invocation.position.as_of import as_of
from psoup.engine.invocation.position.pinning import pinned
from psoup.engine.invocation.several_streams.join_invocation import JoinInvocation
from psoup.engine.invocation.shaped.grouped_invocation import (
    GroupedInvocation,
    groups_of_nothing,
)
from psoup.engine.invocation.shaped.ordered_invocation import OrderedInvocation
from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import ResultsReader, Snapshot

__all__ = [
    "Answer",
    "InvocationCache",
    "PagePosition",
    "PartPosition",
    "Request",
    "Since",
    "invoke",
    "invoke_many",
]

ATTEMPTS_MAX: Final = 4
"""Snapshots tried, when tuples an answer needs are dropped while it is being read."""

REFUSALS: Final = (NotFoundError, NowOutOfRangeError, QuerySuspendedError, AnswerTooLargeError)
"""What concerns one query among many: it was removed or suspended, does not reach the instant, finds too much."""


def invoke(
    results: ResultsReader,
    source: TupleSource,
    *,
    query_id: QueryId,
    request: Request,
    cache: InvocationCache,
    first: Snapshot | None = None,
) -> Answer:
    """Return one page of what the query answers at one position: that of `first`, if it is given and can be read.

    Raises:
        NotFoundError: the query is not standing.
        NotYetVisibleError: `min_seq` or `seq` is not applied yet.
        SeqOutOfRangeError: `seq` lies before what retention has kept, or before the query's definition was replaced.
        InvalidFieldError: NOW at `seq` is not known, and no `now_us` is given.
        NowOutOfRangeError: `now_us` lies after NOW, or before what retention has kept.
        PageExpiredError: the page needs tuples that are not held any more, or another history.
        QuerySuspendedError: the query joins streams, and ran over a bound.
        AnswerTooLargeError: it joins streams, is not kept, and finds more than an answer may have.

    Cost: O(chunks + hits) for the first page, O(page) for the others while the order is cached. What ends it at a
    checkpoint passes through; hits in whole chunks that were found by then are remembered.
    """
    for _ in range(ATTEMPTS_MAX):
        checkpoint()
        snapshot, first = first or results.snapshot(query_id), None
        try:
            return answered(results, source, snapshot, request=request, cache=cache)
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
    cache: InvocationCache,
    since: Sequence[Since | None] = (),
) -> Sequence[Answer | EngineError]:
    """Return one page of what each query answers, all at one position and one instant of the server.

    What `invoke` raises for one query alone stands in its place.

    Args:
        results: where hits are kept.
        source: where tuples are held.
        query_ids: the queries.
        request: what is asked of each.
        cache: of this process.
        since: for each query where the client stands, in place of the request's; () = the request's for all.

    Raises:
        OverloadedError: tuples leave retention faster than these queries can be answered.

    Cost: that of all `invoke`s.
    """
    requests = [replace(request, since=one) for one in since] or [request] * len(query_ids)
    for _ in range(ATTEMPTS_MAX):
        snapshots = results.snapshots(query_ids)
        asked_of = zip(query_ids, snapshots, strict=True)
        gone = iter(results.gone([one for one, snapshot in asked_of if snapshot is None]))
        try:
            return [
                next(gone)
                if snapshot is None
                else answered_or_refused(results, source, snapshot, asked, cache)
                for snapshot, asked in zip(snapshots, requests, strict=True)
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
    cache: InvocationCache,
) -> Answer:
    """Return one page of what the query of a snapshot answers. Raises as `invoke` does."""
    if request.seq is not None and request.position is None:
        snapshot, request = as_of(results, snapshot, request, request.seq)
    at = pinned(snapshot, request)
    reading = cache.reading(snapshot)
    if at is None:
        answers = nothing_yet if reading.shape.keys is None else groups_of_nothing
        return answers(source, snapshot, request=request, cache=cache)
    if not reading.selects_only:
        shaped = OrderedInvocation if reading.shape.keys is None else GroupedInvocation
        return shaped(results, source, snapshot, cache, reading=reading, at=at).page(request)
    asks = Invocation if len(snapshot.streams) == 1 else JoinInvocation
    asked = asks(results, source, snapshot, cache, reading=reading, at=at)
    if request.count_only and not reading.shape.distinct:
        return asked.counted(request)
    return asked.page(request)


def answered_or_refused(
    results: ResultsReader,
    source: TupleSource,
    snapshot: Snapshot,
    request: Request,
    cache: InvocationCache,
) -> Answer | EngineError:
    """Return one page, or why this query has none."""
    checkpoint()
    try:
        return answered(results, source, snapshot, request=request, cache=cache)
    except REFUSALS as refusal:
        return refusal


def retention_overtakes() -> OverloadedError:
    """Return the refusal of an answer whose tuples kept leaving while they were read."""
    return OverloadedError(
        "Tuples are leaving retention faster than this can be answered. Ask again shortly.",
        reason="retention",
        retry_after_s=1,
    )
