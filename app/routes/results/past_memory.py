"""Answers past memory: what a job has computed from the archive, in pages, or word of how far it is.

An answer is one of memory where the query's window is retained. Else there is, or now begins, one history of the
query and the instant asked for. Its position and instant are fixed when it begins, so whoever asks, and asks again,
gets pages of one answer.
"""

from starlette.responses import Response

from psoup.app.routes.endpoint import Call, json_answer
from psoup.app.routes.results.archive_pages import FinishedHistory, not_kept
from psoup.app.routes.results.pages import HistoryPage
from psoup.app.wire.models.results.archive_answers import new_history_id, pending
from psoup.app.wire.models.results.invocations import Presentation
from psoup.app.wire.scalars import format_instant
from psoup.engine import limits
from psoup.engine.errors import (
    HistoryFailedError,
    NotYetVisibleError,
    NowOutOfRangeError,
)
from psoup.engine.invocation.position.pinning import check_reached, complete_from, instant, newest
from psoup.engine.invocation.several_streams.join_finding import refuse_suspended
from psoup.engine.invoke import Request
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import Snapshot
from psoup.engine.store.archive_answers import AskedHistory, History, HistoryState


def history_response(
    call: Call,
    query_id: QueryId,
    request: Request,
    shown: Presentation,
    *,
    lists_pages: bool,
) -> Response | None:
    """Return the first page of an answer that a job has computed, or 202; None = memory has the answer. Blocks.

    Raises:
        NotFoundError: the query is not standing.
        NotYetVisibleError: `min_seq` is not applied yet, or past an answer that was done a moment ago.
        NowOutOfRangeError: the instant asked for lies after NOW.
        QuerySuspendedError: the query joins streams, and ran over a bound.
        HistoryFailedError: the job has given up.
        OverloadedError: there are as many histories as there may be.
        PageExpiredError: the history went while it was read.
    """
    snapshot = call.service.results.snapshot(query_id)
    check_reached(snapshot, request)
    refuse_suspended(snapshot)
    now_us = _instant_past_memory(snapshot, request.now_us)
    if now_us is None:
        return None
    history = _found_or_begun(call, snapshot, request, now_us)
    if history.state is HistoryState.FAILED:
        raise _failed(history)
    if history.state is not HistoryState.DONE:
        return _pending_response(call, history)
    finished = FinishedHistory(call, snapshot, history)
    pages = finished.page_links(request.limit) if lists_pages else None
    return finished.response(0, None, request.limit, shown, pages=pages)


def history_page(
    call: Call, query_id: QueryId, page: HistoryPage, request: Request, shown: Presentation
) -> Response:
    """Return a page of an answer that a job has computed. Blocks.

    Raises:
        NotFoundError: the query is not standing.
        NotYetVisibleError: `min_seq` is not applied yet.
        PageExpiredError: the answer is not kept any more.
    """
    snapshot = call.service.results.snapshot(query_id)
    check_reached(snapshot, request)
    history = call.service.store.histories.get(page.history_id)
    if (
        history is None
        or history.state is not HistoryState.DONE
        or _is_of_another(history, snapshot)
    ):
        raise not_kept()
    finished = FinishedHistory(call, snapshot, history)
    return finished.response(page.offset, page.past, request.limit, shown)


def _instant_past_memory(snapshot: Snapshot, asked_us: int | None) -> int | None:
    """Return the instant to answer for; None where memory has all of the answer, or there is no tuple yet.

    Raises:
        NowOutOfRangeError: it lies after NOW.
    """
    newest_us = newest(snapshot)
    try:
        now_us = instant(snapshot, asked_us)
    except NowOutOfRangeError:
        if asked_us is None or newest_us is None or asked_us > newest_us:
            raise
        return snapshot.query.window.rounded(asked_us)  # before what retention has kept
    if now_us is None or complete_from(snapshot, now_us) is None:
        return None
    return now_us


def _found_or_begun(call: Call, snapshot: Snapshot, request: Request, now_us: int) -> History:
    """Return the history of the query and the instant asked for; one that is not wanted any more is begun anew.

    Raises:
        NotYetVisibleError: it ends before `min_seq`, and was done a moment ago.
    """
    histories, query = call.service.store.histories, snapshot.query
    found = histories.find(query.query_id, request.now_us)
    if found is not None and not _is_over(found, snapshot, request):
        return found
    asked = AskedHistory(
        new_history_id(call.context.handle_bits),
        query.query_id,
        query.canonical,
        snapshot.cut.gen,
        snapshot.cut.seq,
        now_us,
        query.window.bind(now_us),
        request.now_us,
    )
    return histories.begin(asked, replaces=None if found is None else found.asked.history_id)


def _is_over(history: History, snapshot: Snapshot, request: Request) -> bool:
    """Return whether a history is of another query or generation, or ended long ago in a failure or before `min_seq`.

    Raises:
        NotYetVisibleError: it ended before `min_seq`, not long ago: it stays for those who have waited for it.
    """
    if _is_of_another(history, snapshot):
        return True
    is_long_ago = history.read_us >= _retried_us(history)
    if history.state is not HistoryState.DONE:
        return history.state is HistoryState.FAILED and is_long_ago
    if request.min_seq is None or request.min_seq <= history.asked.seq:
        return False
    if is_long_ago:
        return True
    raise NotYetVisibleError(
        f"This answer is of position {history.asked.seq}, and was done a moment ago: it stays for those who have"
        " waited for it. Try again later for a newer one, or ask without min_seq.",
        applied=history.asked.seq,
        retry_after_s=-(-(_retried_us(history) - history.read_us) // SECOND_US),
    )


def _is_of_another(history: History, snapshot: Snapshot) -> bool:
    """Return whether a history is of another generation, or of what the query asked for before it was replaced."""
    asked = history.asked
    return (asked.gen, asked.sql) != (snapshot.cut.gen, snapshot.query.canonical)


def _retried_us(history: History) -> int:
    """Return from when on a history that has ended may be begun anew."""
    return (history.ended_us or 0) + limits.HISTORY_RETRY_S * SECOND_US


def _failed(history: History) -> HistoryFailedError:
    return HistoryFailedError(
        f"The job that computes this answer has given up: {history.detail}",
        history=history.asked.history_id,
        retry_at=_retried_us(history),
    )


def _pending_response(call: Call, history: History) -> Response:
    url, asked = call.request.url, history.asked
    headers = {
        "Location": f"{url.path}?{url.query}",
        "Retry-After": str(limits.HISTORY_POLL_S),
        "Psoup-Gen": str(asked.gen),
        "Psoup-Seq": str(asked.seq),
        "Psoup-Now": str(format_instant(asked.now_us)),
        "Cache-Control": "private, no-cache",
    }
    return json_answer(pending(history), status=202, headers=headers)
