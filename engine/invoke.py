"""Verb 3, invoke: the window over the results, tuples out. Never joins, so any worker can do it.

An answer equals evaluating the query from scratch on operations 1 … seq at one instant NOW:
    visible(row) <=> the row is a hit, retained, dated up to NOW, and inside [BEGIN, END] at NOW.
Its order is total (tuple time, tuple id). All pages of an answer belong to one position: the rows there were,
the floors of retention, the instant. A page is exact or refused.
Source: Chandrasekaran & Franklin 2002, 2.4 (invocation), 4.1 (stream-prefix consistency).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.errors import (
    EngineError,
    NotFoundError,
    NotYetVisibleError,
    NowOutOfRangeError,
    OverloadedError,
    PageExpiredError,
)
from engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from engine.log.operation import QueryId
from engine.query.clause import StandingQueryClause
from engine.query.evaluate import evaluate
from engine.query.expression import column_refs
from engine.query.window import Window
from engine.results.answer import Answer, PagePosition, Request
from engine.results.clause_cache import ClauseCache, Order
from engine.results.contract import ResultsReader, Snapshot
from engine.results.delta import StreamRecord
from engine.results.distinct import first_and_last
from engine.results.matching import matching_rows
from engine.results.source import TupleSource
from engine.tuples.batch import Column
from engine.tuples.schema import ClockKind

__all__ = ["Answer", "ClauseCache", "PagePosition", "Request", "invoke", "invoke_many"]

Rows = NDArray[np.int64]

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
    order = clauses.orders.get((snapshot.query.query_id, whole(at)))
    if order is None:
        order = order_of(results, source, snapshot, at=at, request=request, clauses=clauses)
    return page(source, snapshot, at=at, order=order, request=request, clauses=clauses)


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


def pinned(snapshot: Snapshot, request: Request) -> PagePosition | None:
    """Return the position to answer from; None where there is no NOW yet and none was asked for."""
    cut, stream, position = snapshot.cut, snapshot.streams[0], request.position
    if position is not None and position.gen != cut.gen:
        raise PageExpiredError(
            "This page belongs to a history that is gone. Invoke the query again."
        )
    needed = max(request.min_seq or 0, 0 if position is None else position.seq)
    if needed > cut.seq:
        raise NotYetVisibleError(
            f"Position {needed} is not applied yet, {cut.seq} is. Try again shortly.",
            applied=cut.seq,
        )
    if position is not None:
        if position.oldest_row < stream.dropped_row:
            raise PageExpiredError
        return position
    now_us = instant(snapshot, request.now_us)
    if now_us is None:
        return None
    return PagePosition(
        gen=cut.gen,
        seq=cut.seq,
        now_us=now_us,
        past_row=stream.rows,
        floor_row=stream.floor_row,
        floor_us=stream.floor_us,
        complete_from_us=complete_from(stream, snapshot.query.window, now_us),
    )


def instant(snapshot: Snapshot, asked_us: int | None) -> int | None:
    """Return the instant to answer for: NOW, or the one asked for; None = there is no NOW yet."""
    stream = snapshot.streams[0]
    on_server = stream.schema.clock is ClockKind.SERVER
    newest_us = snapshot.cut.server_now_us if on_server else stream.high_water_us
    if asked_us is None or asked_us == newest_us:
        return newest_us
    oldest_us = stream.complete_from_us
    if oldest_us is not None and newest_us is not None:
        oldest_us = min(oldest_us, newest_us)  # whatever was forgotten, NOW can be asked for
    if newest_us is not None and asked_us > newest_us:
        raise NowOutOfRangeError(
            "now= lies after the query's NOW: ask for an instant up to `newest`.",
            oldest=oldest_us,
            newest=newest_us,
        )
    if oldest_us is not None and asked_us < oldest_us:
        raise NowOutOfRangeError(
            "now= lies before what retention has kept: ask for an instant from `oldest` on.",
            oldest=oldest_us,
            newest=newest_us,
        )
    return asked_us


def complete_from(stream: StreamRecord, window: Window, now_us: int) -> int | None:
    """Return the time from which an answer is complete; None if its whole window is retained."""
    begin_us, _ = window.bind(now_us)
    from_us = stream.complete_from_us
    inside = from_us is not None and begin_us is not None and begin_us >= from_us
    return None if inside else from_us


def order_of(
    results: ResultsReader,
    source: TupleSource,
    snapshot: Snapshot,
    *,
    at: PagePosition,
    request: Request,
    clauses: ClauseCache,
) -> Order:
    """Return the answer's rows in order, and keep it where there are pages to come.

    Raises:
        PageExpiredError: what it needs was dropped, maybe while it was being read.
    """
    hits = hits_at(results, source, snapshot, at=at, clauses=clauses)
    check_still_there(results, snapshot, at)
    stream_id = snapshot.streams[0].stream_id
    times = source.times(stream_id, hits)
    shown = snapshot.query.window.visible(times, at.now_us)
    if at.floor_us is not None:
        shown &= times >= at.floor_us
    rows, times = hits[shown], times[shown]
    clause = clauses.clause(snapshot)
    oldest_row = int(rows.min(initial=at.past_row))
    if request.count_only and not clause.distinct:
        return Order(rows, oldest_row=oldest_row)
    if (times[1:] < times[:-1]).any():
        rows = rows[np.argsort(times, kind="stable")]  # rows ascend, and so do their tuple ids
    order = Order(rows, oldest_row=oldest_row)
    if clause.distinct:
        values = [column for _, column in outputs(source, clause, rows)]
        first, last = first_and_last(values, len(rows))
        order = Order(rows[first], oldest_row=oldest_row, last=rows[last])
    if len(order.rows) > request.limit:
        clauses.orders.put((snapshot.query.query_id, whole(at)), order, size=order.nbytes)
    return order


def hits_at(
    results: ResultsReader,
    source: TupleSource,
    snapshot: Snapshot,
    *,
    at: PagePosition,
    clauses: ClauseCache,
) -> Rows:
    """Return the clause's hits in `[floor_row, past_row)`, ascending; a superset of those in the window.

    Raises:
        PageExpiredError: rows that this position retains are not held.
    """
    stream_id = snapshot.streams[0].stream_id
    lowest = max(at.oldest_row, at.floor_row)
    if lowest >= at.past_row:
        return np.empty(0, dtype=np.int64)
    begin_us, end_us = snapshot.query.window.bind(at.now_us)
    lower = [bound for bound in (begin_us, at.floor_us) if bound is not None]
    needed = range(lowest // SEGMENT_ROWS, (at.past_row - 1) // SEGMENT_ROWS + 1)
    held = source.segments(stream_id, begin_us=None, end_us=None, past_row=at.past_row)
    if not set(held).issuperset(needed):
        raise PageExpiredError
    reached = source.segments(
        stream_id,
        begin_us=max(lower, default=None),
        end_us=at.now_us if end_us is None else min(end_us, at.now_us),
        past_row=at.past_row,
    )
    per_segment = SEGMENT_ROWS // CHUNK_ROWS
    first, past = lowest // CHUNK_ROWS, -(-at.past_row // CHUNK_ROWS)
    chunks = [
        chunk
        for number in reached
        for chunk in range(number * per_segment, (number + 1) * per_segment)
        if first <= chunk < past
    ]
    return matching_rows(
        results,
        source,
        snapshot,
        clauses.clause(snapshot),
        chunks=chunks,
        floor_row=at.floor_row,
        past_row=at.past_row,
    )


def check_still_there(results: ResultsReader, snapshot: Snapshot, at: PagePosition) -> None:
    """Refuse what was read since the snapshot if part of it may have been dropped meanwhile.

    Raises:
        NotFoundError: the query has been removed.
        PageExpiredError: segments that this position retains have been dropped.
    """
    cut = results.cut()
    if (cut.gen, cut.seq) == (snapshot.cut.gen, snapshot.cut.seq):
        return
    later = results.snapshot(snapshot.query.query_id)
    if later.cut.gen != at.gen or later.streams[0].dropped_row > max(at.oldest_row, at.floor_row):
        raise PageExpiredError


def page(
    source: TupleSource,
    snapshot: Snapshot,
    *,
    at: PagePosition,
    order: Order,
    request: Request,
    clauses: ClauseCache,
) -> Answer:
    """Return the rows of one page, with everything that is the same on all pages of the answer."""
    stream_id, window = snapshot.streams[0].stream_id, snapshot.query.window
    at = replace(at, oldest_row=order.oldest_row)
    limit = 0 if request.count_only else request.limit
    past = min(len(order.rows), at.offset + limit)
    rows = order.rows[at.offset : past]
    leaving = rows if order.last is None else order.last[at.offset : past]
    following: PagePosition | None = None
    if past < len(order.rows) and not request.count_only:
        following = replace(at, offset=past)
    begin_us, end_us = window.bind(at.now_us)
    return Answer(
        cut=replace(snapshot.cut, seq=at.seq),
        query=snapshot.query,
        now_us=at.now_us,
        begin_us=begin_us,
        end_us=end_us,
        count=len(order.rows),
        complete_from_us=at.complete_from_us,
        columns=() if request.count_only else outputs(source, clauses.clause(snapshot), rows),
        tuple_ids=source.tuple_ids(stream_id, rows),
        leaves_us=window.leaves(source.times(stream_id, leaving)),
        at=at,
        next=following,
    )


def outputs(
    source: TupleSource, clause: StandingQueryClause, rows: Rows
) -> tuple[tuple[str, Column], ...]:
    """Return the select list computed for `rows`. Only columns it reads are fetched."""
    names = {ref.name for output in clause.outputs for ref in column_refs(output.expression)}
    columns = source.columns(clause.sources[0].stream_id, sorted(names), rows)
    return tuple(
        (
            output.name,
            evaluate(output.expression, lambda ref: columns[ref.name], len(rows)),
        )
        for output in clause.outputs
    )


def nothing_yet(
    source: TupleSource, snapshot: Snapshot, *, request: Request, clauses: ClauseCache
) -> Answer:
    """Return the answer of a query whose streams have no tuple to tell NOW by."""
    none = np.empty(0, dtype=np.int64)
    return Answer(
        cut=snapshot.cut,
        query=snapshot.query,
        now_us=None,
        begin_us=None,
        end_us=None,
        count=0,
        complete_from_us=None,
        columns=() if request.count_only else outputs(source, clauses.clause(snapshot), none),
        tuple_ids=none,
        leaves_us=None,
        at=None,
        next=None,
    )


def whole(at: PagePosition) -> PagePosition:
    """Return the position of the answer that a page belongs to."""
    return replace(at, offset=0, oldest_row=0)
