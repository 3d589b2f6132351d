"""The pages of an answer: their tokens, their links, and one as it is sent.

A page's token holds the position of the page in its answer. A page that was listed ends where the next one
begins: its token holds that too, and its own `next`, where its bytes were too many, goes no further.
"""

import contextlib
import functools
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from starlette.datastructures import QueryParams
from starlette.responses import Response

from psoup.app.routes.endpoint import Call, server_timing
from psoup.app.wire.answers.negotiation import FORMATS, choose_format, encode_content
from psoup.app.wire.models.results.invocations import (
    Presentation,
    page_url,
    position_from_json,
    position_to_json,
)
from psoup.app.wire.parameters import COUNT, CURSOR, FORMAT, META, ROWS_LIMIT, SEQ, SHAPE
from psoup.app.wire.rows.body import ARROW, CSV, NDJSON
from psoup.engine import limits
from psoup.engine.errors import BadPageError, InvalidFieldError, NotFoundError, NotYetVisibleError
from psoup.engine.invoke import Answer, PagePosition
from psoup.engine.log.operation import QueryId
from psoup.engine.store.archive_answers import HistoryId
from psoup.engine.tuples.batch import Seq

_TEXT: Final[Mapping[str, Any]] = {"schema": {"type": "string"}}
BARE_ROWS: Final[Mapping[str, Any]] = {
    NDJSON: _TEXT,
    CSV: _TEXT,
    ARROW: {"schema": {"type": "string", "format": "binary"}},
}
"""What bodies without an envelope are, by media type, as OpenAPI says it."""
_HISTORY: Final = "history"
"""Begins the token of a page of an answer that a job has computed."""


class AnswerPage(NamedTuple):
    """A page of an answer, as its token says.

    Attributes:
        at_now: whether the answer is one of NOW, or one of another instant that was asked for.
        position: where the page begins, and which answer it belongs to.
        past: rows of the answer up to which the page may reach; None = as far as the answer.
    """

    at_now: bool
    position: PagePosition
    past: int | None = None


class HistoryPage(NamedTuple):
    """A page of an answer that a job has computed, as its token says: behind `offset` rows, up to `past` of them."""

    history_id: HistoryId
    offset: int
    past: int | None = None


async def await_applied(call: Call, seq: Seq, *, latest: float) -> None:
    """Wait until `seq` is applied, as far as this process knows.

    Raises:
        NotYetVisibleError: it is not by `latest`, of `time.monotonic`.
    """
    position = call.service.applied
    if not await position.wait(seq, timeout_s=latest - time.monotonic()):
        raise NotYetVisibleError(
            f"Position {seq} is not applied yet, {position.seq} is. Try again shortly.",
            applied=position.seq,
        )


async def await_registered(call: Call, query_id: QueryId, *, latest: float) -> None:
    """Wait until a query that was registered, at whichever process, is applied; one that nobody knows is let pass.

    Raises:
        QueryFillingError: it is not by `latest`, of `time.monotonic`.
    """
    service = call.service
    await service.pending.wait(query_id, timeout_s=latest - time.monotonic())
    with contextlib.suppress(NotFoundError):
        await call.answered(functools.partial(service.results.query, query_id), latest=latest)
        return
    found = await call.answered(functools.partial(service.pending.find, query_id), latest=latest)
    if found is not None:
        await service.pending.wait_for(found, timeout_s=latest - time.monotonic())


def sign_page(call: Call, query_id: QueryId, page: AnswerPage) -> str:
    """Return the token of a page."""
    values: list[object] = [page.at_now, position_to_json(page.position)]
    if page.past is not None:
        values.append(page.past)
    return call.context.tokens.sign(query_id, values)


def sign_history_page(call: Call, query_id: QueryId, page: HistoryPage) -> str:
    """Return the token of a page of an answer that a job has computed."""
    return call.context.tokens.sign(query_id, [_HISTORY, *page])


def read_page(call: Call, query_id: QueryId, token: str) -> AnswerPage | HistoryPage:
    """Return the page that a token was given for.

    Raises:
        BadPageError: the token is not one of this query's answers.
    """
    signed = call.context.tokens.read(query_id, token)
    if isinstance(signed, list) and signed[:1] == [_HISTORY]:
        return HistoryPage(*signed[1:])
    if not isinstance(signed, list) or len(signed) not in (2, 3):
        raise BadPageError("The page token is of another version. Begin again without it.")
    at_now, position, *past = signed
    return AnswerPage(bool(at_now), position_from_json(position), *past)


def page_link(
    call: Call,
    answer: Answer,
    *,
    at_now: bool,
    kept: Mapping[str, str],
    past: int | None = None,
) -> str | None:
    """Return the relative URL of the next page, with the parameters `kept`; None = there is none before `past`."""
    if answer.next is None or (past is not None and answer.next.offset >= past):
        return None
    query_id = answer.query.query_id
    token = sign_page(call, query_id, AnswerPage(at_now, answer.next, past))
    return page_url(f"/v1/queries/{query_id}/results", token, kept)


def page_links(
    call: Call, answer: Answer, *, at_now: bool, kept: Mapping[str, str], limit: int
) -> list[str]:
    """Return the relative URLs of all pages of an answer, `limit` rows each; [] where it has no rows.

    Before the first tuple there is no NOW that a token could hold. Then an answer has one row at most, that of
    aggregates over nothing: it is asked for as of its position.

    Raises:
        InvalidFieldError: they are more than PAGES_LISTED_MAX.

    Cost: O(pages), about 10 microseconds each.
    """
    count, at = answer.count, answer.at
    offsets = page_offsets(count, limit)
    query_id = answer.query.query_id
    path = f"/v1/queries/{query_id}/results"
    if at is None:
        of_then = "&".join(f"{name}={value}" for name, value in kept.items())
        return [f"{path}?{SEQ.name}={answer.cut.seq}&{of_then}".rstrip("&") for _ in offsets]
    pages = (
        AnswerPage(at_now, at.behind(offset, at.oldest_rows), min(offset + limit, count))
        for offset in offsets
    )
    return [page_url(path, sign_page(call, query_id, page), kept) for page in pages]


def page_offsets(count: int, limit: int) -> range:
    """Return how many rows of an answer of `count` lie before each of its pages of `limit` rows.

    Raises:
        InvalidFieldError: they are more than PAGES_LISTED_MAX.
    """
    if count > limit * limits.PAGES_LISTED_MAX:
        least = -(-count // limits.PAGES_LISTED_MAX)
        reason = f"has to be {least} at least: {limits.PAGES_LISTED_MAX} pages are listed at most"
        raise InvalidFieldError(
            "The answer has more pages than are listed: raise limit.", errors=[("?limit", reason)]
        )
    return range(0, count, limit)


def presentation(call: Call) -> Presentation:
    """Return how the rows are to be shown, by parameters and Accept."""
    return Presentation(
        format=choose_format(call.arguments.get(FORMAT), call.header("accept")),
        shape=call.arguments.get(SHAPE) or "rows",
        meta=call.arguments.get(META) != "0",
        count_only=call.arguments.get(COUNT) == "only",
        changes=call.arguments.get(CURSOR) is not None,
    )


def kept_parameters(call: Call) -> dict[str, str]:
    """Return the parameters that go on with the pages. Of a cursor only that there was one: a page has its own."""
    query_string = call.request.scope["query_string"]
    if not query_string:
        return {}
    # Not `request.query_params`: a request that waits would hold them.
    given = QueryParams(query_string)
    kept = {
        name: value
        for name, value in given.items()
        if name in (ROWS_LIMIT.name, SHAPE.name, FORMAT.name, META.name)
    }
    return kept | {CURSOR.name: ""} if CURSOR.name in given else kept


def encoded_response(
    call: Call,
    body: bytes,
    *,
    form: str,
    headers: Mapping[str, str],
    begun_s: float,
    evaluated_s: float,
) -> Response:
    """Return a page as it is sent: compressed as the client likes.

    `form` is one of FORMATS, what it is written as; `headers` are those about the answer. The answer was begun at
    `begun_s` of `perf_counter`, and its rows were there at `evaluated_s`.
    """
    encoded, encoding = encode_content(body, call.header("accept-encoding"))
    timing = {"eval": evaluated_s - begun_s, "encode": time.perf_counter() - evaluated_s}
    sent = {
        **headers,
        "Server-Timing": server_timing(timing),
    }
    if encoding is not None:
        sent["Content-Encoding"] = encoding
    return Response(encoded, headers=sent, media_type=FORMATS[form])
