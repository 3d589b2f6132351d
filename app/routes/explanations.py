"""Why a query answers a row or does not: of a row that is stored, or of one that is given."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response

from psoup.app.http.access.keys import READ
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_answer, json_body
from psoup.app.routes.results.pages import await_registered
from psoup.app.routes.rows.asked_rows import asked_rows
from psoup.app.wire.models.explanations import (
    ROW_ID,
    ExplainAnswer,
    ExplainBody,
    describe_explained,
)
from psoup.app.wire.parameters import NOW
from psoup.engine import limits
from psoup.engine.asking.explain import TupleIds, explain, explain_given
from psoup.engine.errors import InvalidFieldError
from psoup.engine.log.operation import QueryId
from psoup.engine.query.clause import Source
from psoup.engine.results.contract import Snapshot
from psoup.engine.tuples.batch import TupleBatch

_GIVEN: Final = "The request gives no rows that could be explained."


async def get_explanation(call: Call) -> Response:
    """Explain a stored row."""
    query_id, latest = call.query_id(), call.answered_by
    tuple_ids: TupleIds | None = call.arguments.get(ROW_ID)
    if tuple_ids is None:
        wrong = [("?row_id", "is needed: the `_id` of a row, or that of one of its parts")]
        raise InvalidFieldError("The request names no row.", errors=wrong)
    await await_registered(call, query_id, latest=latest)
    answer = functools.partial(_of_stored, call, query_id, tuple_ids)
    return json_answer(await call.answered(answer, latest=latest))


async def post_explanation(call: Call) -> Response:
    """Explain a row that is not stored."""
    query_id, latest = call.query_id(), call.answered_by
    body: ExplainBody = await call.model(ExplainBody, bytes_max=limits.BODY_ASK_BYTES_MAX)
    await await_registered(call, query_id, latest=latest)
    answer = functools.partial(_of_given, call, query_id, body)
    return json_answer(await call.answered(answer, latest=latest))


def _of_stored(call: Call, query_id: QueryId, tuple_ids: TupleIds) -> dict[str, object]:
    """Return the explanation of a stored row. Blocks: runs in a pool."""
    service = call.service
    found = explain(
        service.results,
        service.backend.source,
        query_id=query_id,
        tuple_ids=tuple_ids,
        now_us=call.arguments.get(NOW),
        cache=service.invocations,
    )
    service.backend.confirm(found.snapshot.cut.gen)
    return describe_explained(found)


def _of_given(call: Call, query_id: QueryId, body: ExplainBody) -> dict[str, object]:
    """Return the explanation of rows that are given. Blocks: runs in a pool."""
    service = call.service
    snapshot = service.results.snapshot(query_id)
    cache = service.invocations
    clause, written = cache.reading(snapshot).clause, cache.written_predicates(snapshot)
    rows = rows_by_place(body, written.sources, clause.sources)
    given = {place: _batch(call, snapshot, place, row) for place, row in rows.items()}
    return describe_explained(explain_given(snapshot, given, cache=cache))


def rows_by_place(
    body: ExplainBody, sources: Sequence[Source], canonical: Sequence[Source]
) -> Mapping[int, Mapping[str, Any]]:
    """Return the rows of a body by their places in FROM.

    Args:
        body: it gives rows by alias.
        sources: those of FROM, as the query's author calls them.
        canonical: the same under the aliases of `canonical`, which are taken where they are none of the author's.

    Raises:
        InvalidFieldError: there is none, `row` beside `rows`, `row` of a join, an alias that FROM does not have, or two
            rows for one place, each by one of its names.
    """
    named = ", ".join([source.alias for source in sources])
    places = {one.alias: place for place, one in [*enumerate(canonical), *enumerate(sources)]}
    if body.row is not None and body.rows is None:
        if len(sources) == 1:
            return {0: body.row}
        wrong = [("/row", f"the query reads several streams: give `rows` by alias: {named}")]
        raise InvalidFieldError(_GIVEN, errors=wrong)
    if body.row is not None or not body.rows:
        wrong = [("", "expected one of `row` and `rows`, and rows in it")]
        raise InvalidFieldError(_GIVEN, errors=wrong)
    strange = [alias for alias in body.rows if alias not in places]
    if strange:
        wrong = [(f"/rows/{alias}", f"expected an alias of FROM: {named}") for alias in strange]
        raise InvalidFieldError(_GIVEN, errors=wrong)
    given: dict[int, Mapping[str, Any]] = {}
    for alias, row in body.rows.items():
        place = places[alias]
        if place in given:
            wrong = [
                (f"/rows/{alias}", f"{sources[place].alias} has another row under its other name")
            ]
            raise InvalidFieldError(_GIVEN, errors=wrong)
        given[place] = row
    return given


def _batch(call: Call, snapshot: Snapshot, place: int, row: Mapping[str, Any]) -> TupleBatch:
    """Return a row as a batch of its stream, checked as one that is sent, and as if it arrived now.

    Raises RowsRejectedError.
    """
    stream = snapshot.streams[place]
    return asked_rows(
        [row],
        stream.stream_id,
        stream.schema,
        now_us=call.service.clock.now_us(),
        arrival_us=snapshot.cut.server_now_us,
    )


_PROBLEMS: Final = ("not-found", "query-expired", "query-filling", "query-suspended")
_SHOWN: Final = Shown("Each predicate, and the window.", ExplainAnswer)
ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "GET",
        "/v1/queries/{id}/explain",
        "explain_row",
        "Say why a query answers a stored row, or does not",
        get_explanation,
        {200: _SHOWN},
        READ,
        parameters=(ROW_ID, NOW),
        problems=(*_PROBLEMS, "now-out-of-range"),
        rate="invoke",
        from_memory=True,
    ),
    Endpoint(
        "POST",
        "/v1/queries/{id}/explain",
        "explain_given",
        "Say whether a query would answer a row",
        post_explanation,
        {200: _SHOWN},
        READ,
        body=json_body(ExplainBody),
        problems=(*_PROBLEMS, "rows-rejected"),
        rate="invoke",
        from_memory=True,
    ),
)
