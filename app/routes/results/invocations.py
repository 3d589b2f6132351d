"""Invoking a query: one page of what it answers, in the shape that was asked for.

With `history=true` it is answered from memory where that reaches, else by what a job computes from the archive
(`past_memory.py`).
"""

import contextlib
import functools
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from psoup.app.backend.pending import PendingQuery
from psoup.app.http.access.keys import READ
from psoup.app.http.entity_tags import is_listed
from psoup.app.http.kept_answers import Same, still
from psoup.app.routes.endpoint import Call, Endpoint, Shown
from psoup.app.routes.results import invoke_many, series
from psoup.app.routes.results.caching import (
    NO_CACHE,
    cache_headers,
    entity_tag,
    not_modified,
)
from psoup.app.routes.results.envelopes import Following, enveloped, evaluated, since_of
from psoup.app.routes.results.long_poll import (
    HEADERS,
    Invoked,
    check_wait,
    entered,
    wait_s,
    when_changed,
)
from psoup.app.routes.results.pages import (
    BARE_ROWS,
    HistoryPage,
    await_applied,
    encoded_response,
    kept_parameters,
    page_links,
    presentation,
    read_page,
)
from psoup.app.routes.results.past_memory import history_page, history_response
from psoup.app.wire.models.results.archive_answers import HistoryPending
from psoup.app.wire.models.results.invocations import Presentation, ResultsAnswer
from psoup.app.wire.parameters import (
    COUNT,
    CURSOR,
    FORMAT,
    HISTORY,
    LINGER,
    META,
    MIN_SEQ,
    NOW,
    ON,
    PAGE,
    PAGES,
    ROWS_LIMIT,
    SEQ,
    SHAPE,
    WAIT,
)
from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError, NotFoundError, PageExpiredError
from psoup.engine.invoke import ATTEMPTS_MAX, Request, retention_overtakes
from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import Snapshot
from psoup.engine.tuples.batch import Seq


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for an answer, or for a page of it.

    Attributes:
        request: what is asked of the engine.
        at_now: the answer is the one at NOW, not one at another instant.
        past: rows of the answer up to which the page may reach; None = as far as the answer.
        lists_pages: the answer is to say where its pages are.
        past_memory: where it is not all in memory, it is to be what a job computes from the archive.
        waits: where there is nothing new, a change is waited for.
        history_page: the page of such an answer that is asked for.
    """

    request: Request
    at_now: bool
    past: int | None = None
    lists_pages: bool = False
    past_memory: bool = False
    waits: bool = False
    history_page: HistoryPage | None = None


async def get_results(call: Call) -> Response:
    """Invoke a query."""
    query_id = call.query_id()
    waits = call.arguments.get(WAIT) is not None or call.header("prefer") is not None
    alike = None if waits else call.alike()
    snapshot = None if alike is None else call.service.snapshot_at_once(query_id)
    if snapshot is not None and (kept := call.context.kept.at(alike, snapshot)) is not None:
        call.service.note_use(snapshot.query)
        return kept
    shown = presentation(call)
    asked = asked_of(call, query_id, shown, waits=waits)
    if waits:
        check_wait(call)
    latest = call.answered_by
    positions = [one for one in (asked.request.min_seq, asked.request.seq) if one is not None]
    if positions:
        await call.service.pending.wait(query_id, timeout_s=latest - time.monotonic())
    for seq in positions:
        await await_applied(call, seq, latest=latest)
    answer = functools.partial(_response, call, query_id, asked, shown)

    if not waits or not asked.at_now or asked.past_memory or wait_s(call) <= 0:
        key = _pace_key(call, query_id, asked, shown)
        kept_or_new = functools.partial(_kept_response, call, query_id, alike, asked, shown)
        work = answer if alike is None else kept_or_new
        return (await _first(call, query_id, work, latest=latest, key=key)).response
    return await when_changed(
        call, query_id, _first(call, query_id, answer, latest=latest), answer=answer
    )


def asked_of(call: Call, query_id: QueryId, shown: Presentation, *, waits: bool) -> Asked:
    """Return what is asked for, by the parameters; `waits`: a change of it is waited for.

    Raises:
        BadPageError: the token is not one of this query's answers.
        InvalidFieldError: a page together with what only a new answer has, or a list of pages that is none.
    """
    arguments = call.arguments
    limit = min(arguments.get(ROWS_LIMIT) or limits.PAGE_ROWS_DEFAULT, limits.PAGE_ROWS_MAX)
    min_seq: Seq | None = arguments.get(MIN_SEQ)
    token: str | None = arguments.get(PAGE)
    lists_pages = arguments.get(PAGES) is not None
    if token is None:
        if lists_pages and not (shown.count_only and shown.format == "json"):
            wrong = [("?pages", "goes with count=only, in JSON: each page has a format of its own")]
            raise InvalidFieldError("Pages are listed beside their count.", errors=wrong)
        now_us: int | None = arguments.get(NOW)
        seq: Seq | None = arguments.get(SEQ)
        past_memory = arguments.get(HISTORY) == "true"
        if seq is not None and past_memory:
            wrong = [("?seq", "goes with what is in memory: leave out history")]
            raise InvalidFieldError("No job answers as of a position.", errors=wrong)
        request = Request(
            limit=limit,
            now_us=now_us,
            min_seq=min_seq,
            count_only=shown.count_only,
            since=since_of(call, query_id, arguments.get(CURSOR), count_only=shown.count_only),
            seq=seq,
        )
        at_now = now_us is None and seq is None
        return Asked(request, at_now, lists_pages=lists_pages, past_memory=past_memory, waits=waits)
    wrong = [
        (f"?{p.name}", "a page has its own")
        for p in (NOW, SEQ, COUNT, PAGES)
        if arguments.get(p) is not None
    ]
    if wrong:
        raise InvalidFieldError("A page belongs to the answer it goes on with.", errors=wrong)
    page = read_page(call, query_id, token)
    if isinstance(page, HistoryPage):
        request = Request(limit=limit, min_seq=min_seq)
        return Asked(request, at_now=False, past=page.past, history_page=page)
    if page.past is not None:
        limit = min(limit, page.past - page.position.offset)
    request = Request(limit=limit, position=page.position, min_seq=min_seq)
    return Asked(request, page.at_now, page.past)


def answer_response(
    call: Call,
    query_id: QueryId,
    asked: Asked,
    shown: Presentation,
    *,
    poll_ms: int | None = None,
    first: Snapshot | None = None,
) -> Invoked:
    """Return the answer as bytes, cut to a page, or that the client has it. CPU work: runs in a pool.

    `poll_ms` is as in `Following`, `first` as for `invoke`.

    Raises:
        PageExpiredError: as `invoke`; also where all of the answer is wanted, and memory does not reach so far.
    """
    begun_s = time.perf_counter()
    request, kept = asked.request, kept_parameters(call)
    found = evaluated(call, query_id, request, shown, first=first)
    answer = found.answer
    if asked.past_memory and answer.complete_from_us is not None:
        raise PageExpiredError
    evaluated_s = time.perf_counter()
    pages: list[str] | None = None
    if asked.lists_pages:
        pages = page_links(call, answer, at_now=asked.at_now, kept=kept, limit=request.limit)
    tag = entity_tag(call.context.tokens, answer, request, shown, asked.past)
    if_none_match = call.header("if-none-match")
    known = if_none_match is not None and is_listed(tag, if_none_match)
    has_links = answer.next is not None or bool(pages)
    caching = cache_headers(tag, answer, request, has_links=has_links)
    if known and caching["Cache-Control"] == NO_CACHE:
        call.service.note_use(answer.query)
        return Invoked(not_modified(caching), answer)
    page = enveloped(
        call,
        found,
        shown,
        Following(kept, asked.at_now, asked.past, pages, poll_ms),
        bytes_max=limits.PAGE_BYTES_MAX,
        rows_min=1,
    )
    call.service.note_use(answer.query)  # what ends before, at a checkpoint, may be begun anew
    if page.link is not None:  # its bytes were too many for one page
        caching = cache_headers(tag, answer, request, has_links=True)
    if known:
        return Invoked(not_modified(caching), answer)
    response = encoded_response(
        call,
        page.body,
        form=shown.format,
        headers={**page.headers, **caching},
        begun_s=begun_s,
        evaluated_s=evaluated_s,
    )
    if not asked.waits:
        return Invoked(response, answer)
    return Invoked(response, answer, entered(call, query_id, request, answer))


def _pace_key(call: Call, query_id: QueryId, asked: Asked, shown: Presentation) -> Hashable:
    """Return what invocations have in common that take about as long; None = they wait, look far back or list pages."""
    request = asked.request
    if not asked.at_now or request.position is not None or asked.past_memory or asked.lists_pages:
        return None
    return (query_id, request.limit, shown) if call.service.backend.reads_at_once else None


async def _first(
    call: Call,
    query_id: QueryId,
    answer: Callable[[], Invoked],
    *,
    latest: float,
    key: Hashable = None,
) -> Invoked:
    """Return what `answer` returns, once the query is applied; `latest` and `key` as in `Call.answered`."""
    found = await call.answered(
        functools.partial(_answered_or_pending, call, query_id, answer), latest=latest, key=key
    )
    if isinstance(found, PendingQuery):
        await call.service.pending.wait_for(found, timeout_s=latest - time.monotonic())
        found = await call.answered(answer, latest=latest)
    return found


def _answered_or_pending(
    call: Call, query_id: QueryId, answer: Callable[[], Invoked]
) -> Invoked | PendingQuery:
    """Return what `answer` returns, or the query where it is not applied. Blocks: runs in a pool."""
    with contextlib.suppress(NotFoundError):
        return answer()
    # Where no registration is known either, it may have been applied in between.
    return call.service.pending.find(query_id) or answer()


def _response(
    call: Call, query_id: QueryId, asked: Asked, shown: Presentation, *, poll_ms: int | None = None
) -> Invoked:
    """Return the answer from memory, or what a job computes of it; `poll_ms` as in `Following`.

    Blocks: runs in a pool.
    """
    if asked.history_page is not None:
        return Invoked(history_page(call, query_id, asked.history_page, asked.request, shown))
    if not asked.past_memory:
        return answer_response(call, query_id, asked, shown, poll_ms=poll_ms)
    for _ in range(ATTEMPTS_MAX):
        with contextlib.suppress(PageExpiredError):  # what was there has gone while it was read
            found = history_response(
                call, query_id, asked.request, shown, lists_pages=asked.lists_pages
            )
            if found is not None:
                return Invoked(found)
            return answer_response(call, query_id, asked, shown)
    raise retention_overtakes()


def _kept_response(
    call: Call, query_id: QueryId, alike: Hashable, asked: Asked, shown: Presentation
) -> Invoked:
    """Return what requests alike were answered at the query's position; else its answer, which is kept. Blocks."""
    kept, snapshot = call.context.kept, call.service.results.snapshot(query_id)
    if (again := kept.at(alike, snapshot)) is not None:
        call.service.note_use(snapshot.query)
        return Invoked(again)
    found = answer_response(call, query_id, asked, shown, first=snapshot)
    if still(snapshot) is not None and found.answer is not None:
        cut = found.answer.cut
        kept.keep(Same(alike, (cut.gen, cut.seq)), found.response)
    return found


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "GET",
        "/v1/queries/{id}/results",
        "invoke_query",
        "Invoke a standing query",
        get_results,
        {
            200: Shown(
                "One page of the answer.",
                ResultsAnswer,
                content=BARE_ROWS,
                headers={
                    "Psoup-Gen": "Generation of the history.",
                    "Psoup-Seq": "Position the answer belongs to.",
                    "Psoup-Now": "Instant the answer belongs to.",
                    "Psoup-Reset": "`true`: forget all rows of this query first.",
                    "Psoup-Count": "Rows of the whole answer.",
                    "Psoup-Complete-From": "As `complete_from`, where there is one.",
                    "Psoup-Changes-At": "As `changes_at`, where there is one.",
                    "Psoup-Complete": "`true`: the answer never changes again.",
                    "Psoup-Warnings": "The codes of `warnings`, where there are some.",
                    "Psoup-Cursor": "What to send with the next request, where there is one.",
                    "Psoup-Next": "The relative URL of the next page, where there is one.",
                    "Psoup-Poll-After-Ms": "Milliseconds after which who polls may ask again.",
                    "Link": "Where the next page is, where there is one.",
                    "ETag": "Stands for the rows of this answer: to be sent as If-None-Match.",
                    "Cache-Control": "How long the answer is right without being asked for again.",
                },
            ),
            304: Shown(
                "The client has this answer, by its If-None-Match.",
                headers={
                    "ETag": "That of the answer.",
                    "Cache-Control": "That of the answer.",
                },
            ),
            202: Shown(
                "With history=true: a job is to compute the answer. Ask again.",
                HistoryPending,
                headers={
                    "Location": "Where to ask again: the same URL.",
                    "Retry-After": "Seconds after which to ask again.",
                    "Psoup-Gen": "Generation of the history.",
                    "Psoup-Seq": "Position the answer will belong to.",
                    "Psoup-Now": "Instant the answer will belong to.",
                },
            ),
        },
        READ,
        parameters=(
            NOW,
            ROWS_LIMIT,
            PAGE,
            MIN_SEQ,
            SEQ,
            COUNT,
            PAGES,
            SHAPE,
            FORMAT,
            META,
            CURSOR,
            WAIT,
            ON,
            LINGER,
            HISTORY,
        ),
        headers=HEADERS,
        problems=(
            "not-found",
            "query-expired",
            "not-acceptable",
            "bad-page",
            "page-expired",
            "now-out-of-range",
            "seq-out-of-range",
            "not-yet-visible",
            "query-filling",
            "query-suspended",
            "answer-too-large",
            "history-failed",
            "store-full",
        ),
        rate="invoke",
        from_memory=True,
    ),
    *invoke_many.ENDPOINTS,
    *series.ENDPOINTS,
)
