"""Invoking many queries by one request: all their answers at one position and one instant."""

import functools
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from psoup.app.admission.rates import RATES
from psoup.app.backend.pending import PendingQuery
from psoup.app.http.access.keys import READ
from psoup.app.http.edge import REQUEST_ID
from psoup.app.http.problems import problem_body
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_body, server_timing
from psoup.app.routes.results.caching import NO_CACHE, VARY
from psoup.app.routes.results.envelopes import Evaluated, Following, enveloped, since_of
from psoup.app.routes.results.pages import await_applied
from psoup.app.wire.answers.negotiation import encode_content
from psoup.app.wire.handles import read_handle
from psoup.app.wire.models.results.invocations import Presentation
from psoup.app.wire.models.results.invoke_many import (
    InvokeAnswer,
    InvokeBody,
    InvokeQuery,
    encode_answers,
    encode_refused,
)
from psoup.app.wire.parameters import META, ROWS_LIMIT, SHAPE
from psoup.app.wire.rows.body import JSON
from psoup.engine import limits
from psoup.engine.errors import (
    EngineError,
    NotFoundError,
    NotYetVisibleError,
    QueryFillingError,
)
from psoup.engine.invoke import Answer, Request, invoke_many
from psoup.engine.log.operation import QueryId
from psoup.engine.results.delta import QueryRecord

QUERIES_PER_UNIT: Final = int(limits.INVOKE_QUERIES_MAX / RATES["invoke"].burst)
"""So many queries count as one invocation: the longest list is a key's whole burst."""
_ANSWERING_SHARE: Final = 0.5
"""Of the deadline, kept for the answers: queries that are being filled are waited for in what is before it."""


async def post_invoke(call: Call) -> Response:
    """Invoke the queries listed."""
    service = call.service
    asked: InvokeBody = await call.model(InvokeBody, bytes_max=limits.BODY_INVOKE_BYTES_MAX)
    deadline_s = service.settings.invoke_deadline_s
    latest = time.monotonic() + deadline_s
    waited_by = latest - deadline_s * _ANSWERING_SHARE
    units = math.ceil(len(asked.queries) / QUERIES_PER_UNIT)
    if units > 1:  # the first one was taken before the body was read
        call.context.rates.take(call.caller.key_id, "invoke", units - 1)
    refused: dict[str, EngineError] = {}
    for text in dict.fromkeys(one.query for one in asked.queries):
        try:
            await service.pending.wait(read_handle(text), timeout_s=waited_by - time.monotonic())
        except (NotFoundError, QueryFillingError) as error:
            refused[text] = error
    if asked.from_seq is not None:
        await await_applied(call, asked.from_seq, latest=latest)
    answer = functools.partial(_answered, call, asked, refused)
    found = await call.answered(
        functools.partial(_answered_or_pending, call, answer), latest=latest
    )
    if not isinstance(found, _Answered):
        for one in found:
            try:
                await service.pending.wait_for(one, timeout_s=waited_by - time.monotonic())
            except QueryFillingError as error:
                refused[str(one.query_id)] = error
        found = await call.answered(answer, latest=latest)
    for query in found.answered:
        service.note_use(query)
    return found.response


@dataclass(frozen=True, slots=True)
class _Answered:
    """All answers as one body, the queries that have one, and the handles that the results do not know."""

    response: Response
    answered: Sequence[QueryRecord]
    unknown: Collection[QueryId]


def _answered_or_pending(
    call: Call, answer: Callable[[], _Answered]
) -> _Answered | Sequence[PendingQuery]:
    """Return what `answer` returns, or those of its unknown queries that are not applied. Runs in a pool."""
    answered = answer()
    unknown = answered.unknown
    if not unknown:
        return answered
    pending = [one for one in call.service.pending.all() if one.query_id in unknown]
    if pending:
        return pending
    # Where no registration is known either, they may have been applied in between.
    return answer() if any(call.service.results.snapshots(list(unknown))) else answered


def _answered(call: Call, asked: InvokeBody, refused: Mapping[str, EngineError]) -> _Answered:
    """Return all answers. CPU work: runs in a pool.

    Raises:
        NotYetVisibleError: what is applied lies before the position asked for.
    """
    begun = time.perf_counter()
    service = call.service
    results = service.results
    cut = results.cut()
    if (asked.from_seq or 0) > cut.seq:
        raise NotYetVisibleError(
            f"Position {asked.from_seq} is not applied yet, {cut.seq} is. Try again shortly.",
            applied=cut.seq,
        )
    count_only = asked.count == "only"
    invoked = [one for one in dict.fromkeys(asked.queries) if one.query not in refused]
    found = invoke_many(
        results,
        service.backend.source,
        query_ids=[QueryId(one.query) for one in invoked],
        request=Request(limit=asked.page_rows, now_us=asked.now_us, count_only=count_only),
        cache=service.invocations,
        since=[
            since_of(call, QueryId(one.query), one.cursor, count_only=count_only) for one in invoked
        ],
    )
    outcomes: dict[InvokeQuery, Answer | EngineError] = dict(zip(invoked, found, strict=True))
    unknown = {
        QueryId(one.query)
        for one, outcome in outcomes.items()
        if isinstance(outcome, NotFoundError)
    }
    evaluated = time.perf_counter()
    cut = next((one.cut for one in found if isinstance(one, Answer)), cut)
    service.backend.confirm(cut.gen)
    outcomes |= {one: refused[one.query] for one in asked.queries if one.query in refused}
    body = encode_answers(cut.gen, cut.seq, _members(call, asked, outcomes))
    encoded, encoding = encode_content(body, call.header("accept-encoding"))
    timing = {"eval": evaluated - begun, "encode": time.perf_counter() - evaluated}
    headers = {
        "Psoup-Gen": str(cut.gen),
        "Psoup-Seq": str(cut.seq),
        "Cache-Control": NO_CACHE,
        "Vary": VARY,
        "Server-Timing": server_timing(timing),
    }
    if encoding is not None:
        headers["Content-Encoding"] = encoding
    return _Answered(
        Response(encoded, headers=headers, media_type=JSON),
        [one.query for one in found if isinstance(one, Answer)],
        unknown,
    )


def _members(
    call: Call, asked: InvokeBody, outcomes: Mapping[InvokeQuery, Answer | EngineError]
) -> list[bytes]:
    """Return one member for each query asked about.

    Each may take an even share of the bytes that are left: what one leaves goes to those after it.
    """
    members: list[bytes] = []
    left = limits.INVOKE_BYTES_MAX
    for place, one in enumerate(asked.queries):
        outcome = outcomes[one]
        if isinstance(outcome, EngineError):
            instance = call.request.scope.get(REQUEST_ID, "")
            member = encode_refused(one.query, problem_body(outcome, instance=instance))
        else:
            share = min(limits.PAGE_BYTES_MAX, left // (len(asked.queries) - place))
            member = _member(call, asked, outcome, bytes_max=share)
        left = max(0, left - len(member))
        members.append(member)
    return members


def _member(call: Call, asked: InvokeBody, answer: Answer, *, bytes_max: int) -> bytes:
    """Return one answer, its page cut to `bytes_max` bytes; one without rows has no fewer."""
    shown = Presentation(shape=asked.shape, meta=asked.meta, count_only=asked.count == "only")
    kept = {ROWS_LIMIT.name: str(asked.limit), SHAPE.name: asked.shape}
    if not asked.meta:
        kept[META.name] = "0"
    page = enveloped(
        call,
        Evaluated(answer, None),
        shown,
        Following(kept, at_now=asked.now_us is None),
        bytes_max=bytes_max,
        rows_min=0,
    )
    return page.body


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "POST",
        "/v1/invoke",
        "invoke_queries",
        "Invoke many standing queries at one position and instant",
        post_invoke,
        {
            200: Shown(
                "One page of each answer, in the order of the handles.",
                InvokeAnswer,
                headers={
                    "Psoup-Gen": "Generation of the history.",
                    "Psoup-Seq": "Position all answers belong to.",
                },
            )
        },
        READ,
        body=json_body(InvokeBody),
        problems=("not-yet-visible",),
        rate="invoke",
        from_memory=True,
    ),
)
