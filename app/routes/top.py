"""The queries that cost most: by matches, by the bytes kept of them, by invocations."""

import functools
from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, Field
from starlette.responses import Response

from psoup.app.figures.clause_tally import ClauseCount
from psoup.app.http.access.keys import READ
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_answer
from psoup.app.wire.models.queries import HANDLE_PATTERN
from psoup.app.wire.parameters import Parameter, integer, one_of
from psoup.engine import limits
from psoup.engine.checkpoint import checkpoint
from psoup.engine.results.delta import QueryRecord
from psoup.engine.results.hits import ClauseId

BYTES: Final = "bytes"
MATCHES: Final = "matches"
INVOKES: Final = "invokes"
_ORDERS: Final = (BYTES, MATCHES, INVOKES)
_BY: Final = Parameter(
    "by",
    one_of(*_ORDERS),
    {"type": "string", "enum": list(_ORDERS), "default": BYTES},
    "What the largest queries are the largest by.",
)
_LIMIT: Final = Parameter(
    "limit",
    integer(least=1),
    {"type": "integer", "minimum": 1, "default": limits.TOP_QUERIES_DEFAULT},
    f"How many queries, clipped to {limits.TOP_QUERIES_MAX}.",
)


class TopQuery(BaseModel):
    """One query and what it costs. `bytes` and `matches` belong to its condition, which other queries may share."""

    id: str = Field(pattern=HANDLE_PATTERN)
    name: str | None
    labels: dict[str, str]
    canonical: str
    bytes: int | None = Field(
        description="Written of its matches since the engine began; null where it is not among the largest."
    )
    matches: int | None = Field(
        description="Found in whole chunks since the engine began; null where it is not among the largest."
    )
    invokes: int = Field(description="Answers that this process has given since it began.")
    shared_with: int = Field(description="Other queries with its condition.")


class TopAnswer(BaseModel):
    """The largest queries, the largest first."""

    by: str
    queries: list[TopQuery]


async def get_top(call: Call) -> Response:
    """Answer the queries that cost most."""
    by: str = call.arguments.get(_BY) or BYTES
    most = min(call.arguments.get(_LIMIT) or limits.TOP_QUERIES_DEFAULT, limits.TOP_QUERIES_MAX)
    queries = await call.answered(functools.partial(_largest, call, by, most), latest=call.latest())
    return json_answer({"by": by, "queries": queries})


def _largest(call: Call, by: str, most: int) -> list[dict[str, object]]:
    """Return the `most` largest queries; of equal ones those registered first. Blocks. Cost: O(queries)."""
    counts = {ClauseId(one.clause_id): one for one in call.service.backend.figures().clauses}
    sharing: dict[ClauseId, list[QueryRecord]] = {}
    for query in call.service.results.queries():
        checkpoint()
        sharing.setdefault(query.clause_id, []).append(query)
    candidates = [
        one for i, some in sharing.items() if i in counts or by == INVOKES for one in some
    ]
    invokes = call.service.invoked.of([one.query_id for one in candidates])

    def described(query: QueryRecord) -> dict[str, object]:
        count = counts.get(query.clause_id)
        return {
            "id": query.query_id,
            "name": query.name,
            "labels": dict(query.labels),
            "canonical": query.canonical,
            BYTES: None if count is None else count.bytes,
            MATCHES: None if count is None else count.matches,
            INVOKES: invokes[query.query_id],
            "shared_with": len(sharing[query.clause_id]) - 1,
        }

    def size(query: QueryRecord) -> int:
        if by == INVOKES:
            return invokes[query.query_id]
        count: ClauseCount = counts[query.clause_id]
        return count.bytes if by == BYTES else count.matches

    ordered = sorted(candidates, key=lambda one: (-size(one), one.seq))
    return [described(one) for one in ordered[:most] if size(one)]


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "GET",
        "/v1/top",
        "top_queries",
        "The queries that cost most",
        get_top,
        {200: Shown("The largest queries, the largest first.", TopAnswer)},
        READ,
        parameters=(_BY, _LIMIT),
        rate="invoke",
        from_memory=True,
    ),
)
