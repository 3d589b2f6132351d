"""One page of an answer in its envelope: found since where a client stands, cut until it fits, and written.

`evaluated` asks the engine, `enveloped` writes what it has found: whoever waits for changes does one without the other.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from psoup.app.http.cursors import Cursor, read_cursor, sign_cursor
from psoup.app.routes.endpoint import Call
from psoup.app.routes.results.pages import page_link
from psoup.app.wire.answers.encoding import RowSet
from psoup.app.wire.answers.fit import fit_page
from psoup.app.wire.models.results.invocations import (
    Presentation,
    answer_headers,
    encode_answer,
    rows_of,
)
from psoup.engine.invoke import Answer, Request, Since, invoke
from psoup.engine.log.operation import QueryId
from psoup.engine.query.shape import Shape
from psoup.engine.results.contract import Snapshot


class Evaluated(NamedTuple):
    """One page as the engine has found it, and the shape that names its columns where the page itself does not."""

    answer: Answer
    shape: Shape | None


@dataclass(frozen=True, slots=True)
class Following:
    """How the pages behind this one are asked for.

    Attributes:
        kept: parameters that go on with the pages.
        at_now: the answer is the one at NOW, not one at another instant.
        past: rows of the answer up to which the page may reach; None = as far as the answer.
        listed: the relative URLs of all pages, where they are to be shown.
        poll_ms: a busy service asks who polls to come back so many milliseconds later; None = it is not busy.
    """

    kept: Mapping[str, str] = field(default_factory=dict)
    at_now: bool = True
    past: int | None = None
    listed: Sequence[str] | None = None
    poll_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Envelope:
    """One page as it is sent.

    Attributes:
        body: as it is written, not compressed.
        cursor: where the client stands behind it; None = it stands nowhere, or there are further pages.
        link: the relative URL of the next page; None = it is the last.
        headers: the members of the envelope as headers.
        answer: the page, as it was cut.
    """

    body: bytes
    cursor: str | None
    link: str | None
    headers: Mapping[str, str]
    answer: Answer


def since_of(
    call: Call, query_id: QueryId, cursor: str | None, *, count_only: bool
) -> Since | None:
    """Return where the holder of a cursor stands; None = nowhere: it has none, or what it has is none of this query.

    Who was only given counts has no rows, and stands nowhere for who asks for rows.
    """
    if not cursor:
        return None
    found = read_cursor(call.context.tokens, query_id, cursor)
    if found is None or (found.counted and not count_only):
        return None
    return found.since


def evaluated(
    call: Call,
    query_id: QueryId,
    request: Request,
    shown: Presentation,
    *,
    first: Snapshot | None = None,
) -> Evaluated:
    """Return one page of what a query answers; `first` as for `invoke`. Blocks: runs in a pool. Raises as that does."""
    service = call.service
    answer = invoke(
        service.results,
        service.backend.source,
        query_id=query_id,
        request=request,
        cache=service.invocations,
        first=first,
    )
    return named(call, answer, shown)


def named(call: Call, answer: Answer, shown: Presentation) -> Evaluated:
    """Return a page that the engine has found with what names its columns, of a history that still stands. Blocks."""
    service, shape = call.service, None
    if not answer.columns and not (shown.count_only and shown.format == "json"):
        snapshot = service.results.snapshot(answer.query.query_id)
        shape = service.invocations.reading(snapshot).shape
    service.backend.confirm(answer.cut.gen)
    return Evaluated(answer, shape)


def enveloped(
    call: Call,
    found: Evaluated,
    shown: Presentation,
    following: Following,
    *,
    bytes_max: int,
    rows_min: int,
) -> Envelope:
    """Return a page as it is sent, cut to `bytes_max` bytes; one of `rows_min` rows is not cut. CPU work.

    Raises:
        NotAcceptableError: as `encode_changes`.
    """
    answer = found.answer
    if not following.at_now:  # a page's position does not say that its instant was asked for
        answer = replace(answer, stands=None)
    if answer.keep is not None and not answer.keep.shape[-1]:  # these rows and no others
        answer = replace(answer, reset=True, removed=None, keep=None)

    def encode(part: Answer, rows: RowSet) -> Envelope:
        cursor = cursor_of(call, part, counted=shown.count_only)
        link = page_link(
            call, part, at_now=following.at_now, kept=following.kept, past=following.past
        )
        poll_ms = following.poll_ms
        body = encode_answer(
            part, rows, shown, cursor=cursor, link=link, pages=following.listed, poll_ms=poll_ms
        )
        headers = answer_headers(part, cursor=cursor, link=link, poll_ms=poll_ms)
        return Envelope(body, cursor, link, headers, part)

    return fit_page(
        answer,
        rows_of=functools.partial(rows_of, shape=found.shape, shown=shown),
        encode=encode,
        bytes_max=bytes_max,
        rows_min=rows_min,
    )


def cursor_of(call: Call, answer: Answer, *, counted: bool) -> str | None:
    """Return where a client stands behind a page, as the text that it keeps."""
    if answer.stands is None:
        return None
    cursor = Cursor(answer.stands, counted=counted)
    return sign_cursor(call.context.tokens, answer.query.query_id, cursor)
