"""Standing queries: register, list, describe, remove."""

import functools
from collections.abc import Mapping, Sequence
from typing import Final

from starlette.responses import Response

from app.filling import FILLING, FillingQuery
from app.keys import READ, REGISTER
from app.routes.endpoint import Call, Endpoint, Shown, json_answer, json_body
from app.routes.listing import list_page
from app.routes.streams import removed
from app.submission import Submitted
from app.wire.parameters import LABEL, LIMIT, PAGE, STATE, STREAM
from app.wire.queries import (
    QueryAnswer,
    QueryBody,
    QueryList,
    describe_query,
    new_handle,
)
from engine import limits
from engine.errors import NotFoundError
from engine.log.operation import QueryId, Register, Remove
from engine.query.binder import bind
from engine.query.clause import BoundQuery
from engine.results.delta import QueryRecord
from engine.tuples.schema import StreamId, StreamSchema

LIVE: Final = "live"
Streams = Mapping[str, tuple[StreamId, StreamSchema]]


async def post_query(call: Call) -> Response:
    """Register a query: 201 when old data are applied, 202 before, 200 where its name stands for it.

    A name that stands for a query still being filled is answered 202 with that query's description.
    """
    body: QueryBody = await call.model(QueryBody, bytes_max=limits.BODY_REGISTER_BYTES_MAX)
    service = call.service
    deadline_s = service.settings.register_deadline_s
    query_id = new_handle(call.context.handle_bits)

    async def attempt() -> tuple[BoundQuery, Submitted]:
        streams, bound = await service.parsing.run(
            functools.partial(_bind, call, body.sql), deadline_s=deadline_s
        )
        content = Register(
            query_id=query_id,
            sql=bound.canonical,
            streams={one.stream: streams[one.stream][0] for one in bound.clause.sources},
            name=body.name,
            labels=body.labels or {},
        )
        return bound, await service.submission.submit(content, deadline_s=deadline_s)

    bound, submitted = await service.catalogue.retried_once(attempt)
    standing_id = submitted.query_id if submitted.duplicate else None
    if not submitted.applied:
        return _accepted(call, body, bound, standing_id or query_id, submitted)
    if standing_id is not None:
        description = await _description(call, standing_id)
        return json_answer(description, headers=_headers(standing_id, submitted))
    description = describe_query(
        bound,
        query_id=query_id,
        seq=submitted.seq,
        state=LIVE,
        name=body.name,
        labels=body.labels or {},
    )
    return json_answer(description, status=201, headers=_headers(query_id, submitted))


async def list_queries(call: Call) -> Response:
    """List standing queries in the order of their registration."""
    filling = _selected_filling(call)  # before the live ones are read: in between none is missed

    def read() -> tuple[list[Mapping[str, object]], str | None]:
        records: dict[QueryId, QueryRecord | FillingQuery] = {one.query_id: one for one in filling}
        records |= {one.query_id: one for one in _selected(call)}
        ordered = sorted(records.values(), key=lambda one: one.seq)
        page, following = list_page(call, ordered, key=lambda one: one.seq, subject="queries")
        return [
            one.description if isinstance(one, FillingQuery) else _described(call, one)
            for one in page
        ], following

    queries, following = await call.service.answering.run(
        read, deadline_s=call.service.settings.invoke_deadline_s
    )
    return json_answer({"queries": queries, "next": following})


async def get_query(call: Call) -> Response:
    """Describe one standing query."""
    return json_answer(await _description(call, handle(call)))


async def delete_query(call: Call) -> Response:
    """Remove a standing query."""
    submitted = await call.service.submission.submit(
        Remove(handle(call)), deadline_s=call.service.settings.register_deadline_s
    )
    return removed(submitted)


def handle(call: Call) -> QueryId:
    """Return the handle in the path. A text of another shape was never one: NotFoundError."""
    text = call.path("id")
    if len(text) != 24 or not text.startswith("q_") or not text[2:].isalnum() or not text.isascii():
        raise NotFoundError("No such query is registered.")
    return QueryId(text)


def _bind(call: Call, sql: str) -> tuple[Streams, BoundQuery]:
    streams = call.service.catalogue.streams()
    return streams, bind(sql, streams)


def _accepted(
    call: Call, body: QueryBody, bound: BoundQuery, query_id: QueryId, submitted: Submitted
) -> Response:
    """Return 202 for a registration that is committed and not applied, and remember it until it is."""
    filling = call.service.filling
    held = filling.find(query_id)
    if held is None or not submitted.duplicate:  # who registered it knows its labels best
        labels = body.labels or {}
        description = describe_query(
            bound,
            query_id=query_id,
            seq=submitted.seq,
            state=FILLING,
            name=body.name,
            labels=labels,
        )
        streams = frozenset(one.stream for one in bound.clause.sources)
        held = FillingQuery(query_id, submitted.seq, streams, labels, description)
        filling.note(held)
    return json_answer(held.description, status=202, headers=_headers(query_id, submitted))


async def _description(call: Call, query_id: QueryId) -> Mapping[str, object]:
    filling = call.service.filling.find(query_id)
    if filling is not None:
        return filling.description

    def read() -> dict[str, object]:
        return _described(call, call.service.store.results.query(query_id))

    return await call.service.answering.run(
        read, deadline_s=call.service.settings.invoke_deadline_s
    )


def _described(call: Call, record: QueryRecord) -> dict[str, object]:
    """Return a standing query's description. Binding its text again costs about 1 ms: it is kept."""
    held = call.service.descriptions.get(record.query_id)
    if held is None:
        held = describe_query(
            bind(record.canonical, call.service.catalogue.streams()),
            query_id=record.query_id,
            seq=record.seq,
            state=LIVE,
            name=record.name,
            labels=record.labels,
        )
        if len(call.service.descriptions) >= limits.QUERIES_COUNT_MAX:
            call.service.descriptions.clear()  # most are of queries that are gone
        call.service.descriptions[record.query_id] = held
    return held


def _selected(call: Call) -> Sequence[QueryRecord]:
    results = call.service.store.results
    labels: tuple[tuple[str, str], ...] = call.arguments.get(LABEL)
    stream: str | None = call.arguments.get(STREAM)
    if call.arguments.get(STATE) not in (None, LIVE):
        return []  # what the Results Structure holds is live: before that a query is not in it
    records = results.queries() if stream is None else _readers(call, stream)
    return [one for one in records if all(one.labels.get(k) == v for k, v in labels)]


def _selected_filling(call: Call) -> Sequence[FillingQuery]:
    labels: tuple[tuple[str, str], ...] = call.arguments.get(LABEL)
    stream: str | None = call.arguments.get(STREAM)
    if call.arguments.get(STATE) not in (None, FILLING):
        return []
    return [
        one
        for one in call.service.filling.queries()
        if (stream is None or stream in one.streams)
        and all(one.labels.get(k) == v for k, v in labels)
    ]


def _readers(call: Call, stream: str) -> Sequence[QueryRecord]:
    results = call.service.store.results
    try:
        stream_id = results.stream(stream).stream_id
    except NotFoundError:
        return []
    return results.readers(stream_id)


def _headers(query_id: QueryId, submitted: Submitted) -> dict[str, str]:
    return {"Location": f"/v1/queries/{query_id}", "Psoup-Seq": str(submitted.seq)}


SQL_PROBLEMS: Final = (
    "sql-syntax",
    "unknown-stream",
    "unknown-column",
    "type-mismatch",
    "unsupported-sql",
    "window-empty",
    "query-too-complex",
)
_REGISTERED: Final = Shown(
    "The query.",
    QueryAnswer,
    headers={"Location": "Where the query is.", "Psoup-Seq": "Position of the registration."},
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
        parameters=(LABEL, STREAM, STATE, LIMIT, PAGE),
        problems=("bad-page",),
    ),
    Endpoint(
        "GET",
        "/v1/queries/{id}",
        "get_query",
        "Describe a standing query",
        get_query,
        {200: Shown("The query.", QueryAnswer)},
        READ,
        problems=("not-found",),
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
        problems=("not-found",),
        rate="register",
        changes=True,
    ),
)
