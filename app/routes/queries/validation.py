"""A query that is looked at and not registered; and how rows meet one, registered or not."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from psoup.app.http.access.keys import REGISTER
from psoup.app.routes.endpoint import QUERY, Call, Endpoint, Shown, json_answer, json_body
from psoup.app.routes.queries.registration import SQL_PROBLEMS, Registration, prepare
from psoup.app.wire.models.plans import describe_forecast, describe_plan
from psoup.app.wire.models.queries import QueryBody, describe_definition
from psoup.app.wire.models.validation import ValidationAnswer
from psoup.app.wire.models.warnings import shown_warnings
from psoup.engine import limits
from psoup.engine.asking.forecast import UNKNOWN, Forecast, forecast
from psoup.engine.asking.plan import plan_of
from psoup.engine.errors import NotFoundError, PageExpiredError
from psoup.engine.log.operation import QueryId
from psoup.engine.query.reading import Reading
from psoup.engine.results.contract import Snapshot
from psoup.engine.results.delta import ClauseKey, ClauseRecord, QueryRecord
from psoup.engine.results.hits import ClauseId
from psoup.engine.tuples.batch import Seq

_NOBODY: Final = QueryId("")
"""The handle of a query that does not stand."""


async def validate_query(call: Call) -> Response:
    """Answer what a registration would, with plan and forecast; nothing is stored."""
    body: QueryBody = await call.model(QueryBody, bytes_max=limits.BODY_REGISTER_BYTES_MAX)
    service, streams = call.service, call.service.catalogue.streams
    registration = await service.parsing.run(
        lambda: prepare(body, query_id=_NOBODY, streams=streams(), queries=service.bound),
        deadline_s=service.settings.invoke_deadline_s,
    )
    described = functools.partial(_described, call, registration)
    return json_answer(await call.answered(described, latest=call.answered_by))


def standing_plan(call: Call, snapshot: Snapshot) -> dict[str, object]:
    """Return how rows meet a standing query, as it is described. Blocks."""
    cache = call.service.invocations
    plan = plan_of(cache.reading(snapshot), cache.predicates(snapshot))
    sharing = _sharing(call, snapshot.clause.key)
    shared_with = None if sharing is None else max(0, sharing - 1)
    return describe_plan(plan, shared_with=shared_with)


def _sharing(call: Call, key: ClauseKey) -> int | None:
    """Return how many standing queries have a clause; None where too many stand to be looked at. Blocks."""
    results = call.service.results
    if results.counts().queries > limits.SHARING_LOOKED_AT_MAX:
        return None
    return results.sharing(key)


def _described(call: Call, registration: Registration) -> dict[str, object]:
    """Return the members of a `ValidationAnswer`. Blocks: runs in a pool."""
    bound, content = registration.bound, registration.content
    streams = {name: (content.streams[name], schema) for name, schema in content.declared.items()}
    declared = tuple([streams[source.stream] for source in bound.clause.sources])
    predicates = call.service.bound.predicates(bound.canonical, declared)
    reading = Reading(bound.clause, bound.shape)
    snapshot = _snapshot(call, registration)
    shared_with = _sharing(call, _clause(registration).key)
    found = _forecast(call, snapshot, reading)
    return {
        **describe_definition(bound),
        "warnings": shown_warnings(registration.warnings),
        "plan": describe_plan(plan_of(reading, predicates), shared_with=shared_with),
        "forecast": describe_forecast(found, reading),
    }


def _forecast(call: Call, snapshot: Snapshot | None, reading: Reading) -> Forecast:
    """Return what the query would answer; nothing where its streams go, or lose tuples, while it is looked at."""
    if snapshot is None:
        return UNKNOWN
    try:
        return forecast(call.service.backend.source, snapshot, reading)
    except PageExpiredError:
        return UNKNOWN


def _snapshot(call: Call, registration: Registration) -> Snapshot | None:
    """Return the query as if it stood; None where a stream of it was dropped meanwhile. Blocks."""
    results, bound = call.service.results, registration.bound
    query = QueryRecord(
        _NOBODY, Seq(0), ClauseId(0), bound.canonical, bound.window, ranges=bound.ranges
    )
    try:
        streams = tuple(results.stream(one.stream) for one in bound.clause.sources)
    except NotFoundError:
        return None
    if any(
        record.stream_id != source.stream_id
        for record, source in zip(streams, bound.clause.sources, strict=True)
    ):
        return None
    return Snapshot(results.cut(), query, _clause(registration), streams)


def _clause(registration: Registration) -> ClauseRecord:
    """Return the clause as its registration would begin it."""
    clause = registration.bound.clause
    streams = tuple(source.stream_id for source in clause.sources)
    return ClauseRecord(ClauseId(0), clause.text, streams, registration.content.materialize)


_VALIDATE: Final = Endpoint(
    "POST",
    "/v1/validate",
    "validate_query",
    "Look at a query without registering it",
    validate_query,
    {200: Shown("The query as it would be registered.", ValidationAnswer)},
    REGISTER,
    body=json_body(QueryBody),
    problems=SQL_PROBLEMS,
    rate="register",
)
ENDPOINTS: Final[Sequence[Endpoint]] = (_VALIDATE, dataclasses.replace(_VALIDATE, method=QUERY))
