"""Which standing queries rows would hit, were they sent."""

import functools
import time
from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from psoup.app.backend.catalogue import Declaration
from psoup.app.http.access.keys import READ
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_answer, json_body
from psoup.app.routes.rows.asked_rows import asked_rows
from psoup.app.routes.rows.received_rows import of_declaration
from psoup.app.wire.models.matches import MatchAnswer, MatchBody
from psoup.engine import limits
from psoup.engine.asking.standing_queries import RowMatches


async def match_rows(call: Call) -> Response:
    """Answer which standing queries rows hit; nothing is stored."""
    body: MatchBody = await call.model(MatchBody, bytes_max=limits.BODY_ASK_BYTES_MAX)
    latest = call.answered_by

    async def attempt(declared: Declaration) -> Sequence[RowMatches]:
        matched = functools.partial(_matched, call, declared, body)
        left_s = latest - time.monotonic()
        return await call.service.matching.run(matched, deadline_s=left_s, gone=call.gone)

    found = await of_declaration(call, call.path("name"), attempt)
    return json_answer(
        {"matches": [one.queries for one in found], "total": [one.total for one in found]}
    )


def _matched(call: Call, declared: Declaration, body: MatchBody) -> Sequence[RowMatches]:
    """Return what each row hits. Blocks: runs in a pool. Raises RowsRejectedError."""
    service = call.service
    now_us = service.clock.now_us()
    batch = asked_rows(
        body.rows, declared.stream_id, declared.schema, now_us=now_us, arrival_us=now_us
    )
    limit = max(1, min(body.limit, limits.MATCH_HANDLES_MAX // max(1, len(batch))))
    return service.standing.matches(declared, batch, limit=limit)


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "POST",
        "/v1/streams/{name}/match",
        "match_rows",
        "Say which standing queries rows would hit",
        match_rows,
        {200: Shown("The queries of each row.", MatchAnswer)},
        READ,
        body=json_body(MatchBody),
        problems=("not-found", "rows-rejected", "stale-declaration"),
        rate="invoke",
    ),
)
