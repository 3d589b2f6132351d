"""Standing queries: register, list, describe, remove."""

import functools
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from starlette.responses import Response

from psoup.app.backend.pending import PendingQuery
from psoup.app.http.access.keys import READ, REGISTER
from psoup.app.http.request_keys import IDEMPOTENCY_HEADER, key_in, request_key
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_answer, json_body
from psoup.app.routes.list_pages import list_page
from psoup.app.routes.queries import batch_queries, query_changes, query_patches
from psoup.app.routes.queries.registration import (
    SQL_PROBLEMS,
    Description,
    Registration,
    RegistrationOutcome,
    describe_pending,
    describe_snapshot,
    prepare,
    registered,
    standing_or_pending,
    state_of,
    tell,
)
from psoup.app.routes.queries.selected_queries import selected, selected_pending
from psoup.app.routes.queries.validation import standing_plan
from psoup.app.routes.streams.streams import removed
from psoup.app.wire.control import nearest
from psoup.app.wire.models.queries import (
    QueryAnswer,
    QueryBody,
    QueryList,
    body_digest,
    new_handle,
    query_tag,
)
from psoup.app.wire.parameters import LIMIT, PAGE
from psoup.app.wire.query_parameters import LABEL, NAME, STATE, STREAM
from psoup.engine import limits
from psoup.engine.errors import NotFoundError
from psoup.engine.log.operation import QueryId, Remove
from psoup.engine.results.delta import QueryRecord


async def post_query(call: Call) -> Response:
    """Register a query: 201 when old data are applied, 202 before, 200 where its name stands for it.

    A name that stands for a query still being filled is answered 202 with that query's description. An idempotency key
    that was sent before is answered as then, or `not-found` where the query has been removed since.
    """
    body: QueryBody = await call.model(QueryBody, bytes_max=limits.BODY_REGISTER_BYTES_MAX)
    service = call.service
    latest = time.monotonic() + service.settings.register_deadline_s
    query_id = new_handle(call.context.handle_bits)
    given, key = key_in(call.request.scope["headers"]), None
    if given is not None:
        sender = call.caller.key_id
        key = request_key(given, body_digest(body), of="queries", sender=sender)

    async def attempt() -> RegistrationOutcome:
        registration = await service.parsing.run(
            functools.partial(_prepare, call, body, query_id), deadline_s=latest - time.monotonic()
        )
        submitted = await service.submission.submit(
            replace(registration.content, key=key), deadline_s=latest - time.monotonic()
        )
        return tell(call, registration, submitted)

    return await registered(call, attempt)


async def list_queries(call: Call) -> Response:
    """List standing queries in the order of their registration."""
    state: str | None = call.arguments.get(STATE)

    def read() -> tuple[list[Description], str | None, list[Description]]:
        # The pending ones before those that are applied: none is missed that is applied in between.
        records: dict[QueryId, QueryRecord | PendingQuery] = {
            one.query_id: one for one in selected_pending(call)
        }
        records |= {one.query_id: one for one in selected(call)}
        page, following = list_page(
            call,
            sorted(records.values(), key=lambda one: one.seq),
            key=lambda one: one.seq,
            subject="queries",
            keep=None if state is None else lambda one: _is_in(call, one, state),
        )
        return _described(call, page), following, _filter_warnings(call)

    queries, following, warnings = await call.answered(read, latest=call.answered_by)
    found = {"queries": queries, "next": following}
    return json_answer({**found, "warnings": warnings} if warnings else found)


async def get_query(call: Call) -> Response:
    """Describe one standing query, with its plan once it is applied."""
    described = functools.partial(_described_with_plan, call, call.query_id())
    description = await call.answered(described, latest=call.answered_by)
    return json_answer(description, headers={"ETag": query_tag(description)})


async def delete_query(call: Call) -> Response:
    """Remove a standing query."""
    query_id, service = call.query_id(), call.service
    try:
        submitted = await service.submission.submit(
            Remove(query_id), deadline_s=service.settings.register_deadline_s
        )
    except NotFoundError:
        gone = functools.partial(service.results.gone, [query_id])
        (why,) = await call.answered(gone, latest=call.latest())
        raise why from None
    return removed(submitted)


def _prepare(call: Call, body: QueryBody, query_id: QueryId) -> Registration:
    return prepare(
        body,
        query_id=query_id,
        streams=call.service.catalogue.streams(),
        queries=call.service.bound,
    )


def _described_with_plan(call: Call, query_id: QueryId) -> Description:
    """Return the description of a query, with its plan where it stands. Blocks. Raises NotFoundError."""
    try:
        snapshot = call.service.results.snapshot(query_id)
    except NotFoundError:
        return standing_or_pending(call, query_id)
    return {**describe_snapshot(call, snapshot), "plan": standing_plan(call, snapshot)}


def _is_in(call: Call, record: QueryRecord | PendingQuery, state: str) -> bool:
    """Return whether a query that was found is in this state still."""
    return isinstance(record, PendingQuery) or state_of(call, record.query_id) == state


def _described(call: Call, page: Sequence[QueryRecord | PendingQuery]) -> list[Description]:
    """Return the descriptions of these queries, all at one position, but of those removed since they were found."""
    applied = [one.query_id for one in page if isinstance(one, QueryRecord)]
    snapshots = dict(zip(applied, call.service.results.snapshots(applied), strict=True))
    described: list[Description] = []
    for one in page:
        description: Description | None
        if isinstance(one, PendingQuery):
            description = describe_pending(call, one)
        else:
            snapshot = snapshots[one.query_id]
            description = None if snapshot is None else describe_snapshot(call, snapshot)
        if description is not None:
            described.append(description)
    return described


def _filter_warnings(call: Call) -> list[Description]:
    """Return a warning where the list asks for the queries of a stream that is not declared. Blocks."""
    name: str | None = call.arguments.get(STREAM)
    if name is None:
        return []
    declared = [one.schema.name for one in call.service.results.streams()]
    if name in declared:
        return []
    meant = nearest(name, declared)
    hint = "GET /v1/streams lists those that are" if meant is None else f"did you mean {meant}?"
    return [{"code": "unknown-stream", "detail": f"no stream of this name is declared: {hint}"}]


_REGISTERED: Final = Shown(
    "The query.",
    QueryAnswer,
    headers={
        "Location": "Where the query is.",
        "ETag": "Tag of the query, for If-Match.",
        "Psoup-Seq": "Position of the registration.",
        "Idempotency-Replayed": "`?1` where the key was sent before: nothing was registered now.",
    },
)
ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "POST",
        "/v1/queries",
        "register_query",
        "Register a standing query",
        post_query,
        {200: _REGISTERED, 201: _REGISTERED, 202: _REGISTERED},
        REGISTER,
        body=json_body(QueryBody),
        headers=(IDEMPOTENCY_HEADER,),
        problems=(*SQL_PROBLEMS, "name-taken", "quota-exceeded", "not-found"),
        rate="register",
        changes=True,
    ),
    Endpoint(
        "GET",
        "/v1/queries",
        "list_queries",
        "List the standing queries",
        list_queries,
        {200: Shown("A page of queries, in the order of their registration.", QueryList)},
        READ,
        parameters=(NAME, LABEL, STREAM, STATE, LIMIT, PAGE),
        problems=("bad-page",),
        from_memory=True,
    ),
    Endpoint(
        "GET",
        "/v1/queries/{id}",
        "get_query",
        "Describe a standing query",
        get_query,
        {
            200: Shown(
                "The query.", QueryAnswer, headers={"ETag": "Tag of the query, for If-Match."}
            )
        },
        READ,
        problems=("not-found", "query-expired"),
        from_memory=True,
    ),
    Endpoint(
        "DELETE",
        "/v1/queries/{id}",
        "remove_query",
        "Remove a standing query",
        delete_query,
        {
            202: Shown("Committed, not applied by the deadline."),
            204: Shown("Removed.", headers={"Psoup-Seq": "Position of the removal."}),
        },
        REGISTER,
        problems=("not-found", "query-expired"),
        rate="register",
        changes=True,
    ),
    *query_changes.ENDPOINTS,
    *query_patches.ENDPOINTS,
    *batch_queries.ENDPOINTS,
)
