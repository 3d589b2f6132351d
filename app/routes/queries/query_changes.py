"""Queries under names and labels: declared by name, replaced, removed by label."""

import functools
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from starlette.responses import Response

from psoup.app.admission.rates import RATES
from psoup.app.backend.submission import Submitted
from psoup.app.http.access.keys import REGISTER
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_answer, json_body
from psoup.app.routes.queries.batch_queries import LINES_PER_UNIT, SLICE
from psoup.app.routes.queries.query_patches import content_of, told_replaced, told_same
from psoup.app.routes.queries.query_preconditions import IF_MATCH, check_match
from psoup.app.routes.queries.registration import (
    SQL_PROBLEMS,
    Registration,
    RegistrationOutcome,
    describe_snapshot,
    prepare,
    registered,
    tell,
)
from psoup.app.routes.queries.selected_queries import selected, selected_pending
from psoup.app.wire.models.queries import (
    DeletedQueries,
    QueryAnswer,
    QueryBody,
    QueryDefinition,
    named_body,
    new_handle,
)
from psoup.app.wire.query_parameters import LABEL, REPLACE
from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError, NameTakenError, NotFoundError, name_taken
from psoup.engine.log.operation import QueryId, Remove, Replace
from psoup.engine.results.contract import Snapshot


async def put_query(call: Call) -> Response:
    """Register a query under a name: 201; 200 where it stands so, or is replaced; 202 where that is not applied yet."""
    given: QueryDefinition = await call.model(
        QueryDefinition, bytes_max=limits.BODY_REGISTER_BYTES_MAX
    )
    body = named_body(call.path("id"), given)
    service = call.service
    latest = time.monotonic() + service.settings.register_deadline_s
    is_compared = call.header("if-match") is not None
    attempt = functools.partial(_compared if is_compared else _declared, call, body, latest)
    return await registered(call, attempt)


async def delete_queries(call: Call) -> Response:
    """Remove all queries that have the labels asked for; what fails amid it may be asked for again."""
    if not call.arguments.get(LABEL):
        wrong = [(f"?{LABEL.name}", "is to be given at least once: all queries are never meant")]
        raise InvalidFieldError("The request does not say which queries to remove.", errors=wrong)
    service = call.service
    latest = time.monotonic() + service.settings.register_deadline_s
    query_ids = await call.answered(functools.partial(_chosen, call), latest=latest)
    # However many there are, they cost no more than a key may ever have.
    units = min(math.ceil(len(query_ids) / LINES_PER_UNIT), int(RATES["register"].burst))
    if units > 1:  # the first one was taken when the request was let in
        call.context.rates.take(call.caller.key_id, "register", units - 1)
    done: list[Submitted] = []
    for first in range(0, len(query_ids), SLICE):
        part = [Remove(query_id) for query_id in query_ids[first : first + SLICE]]
        outcomes = await service.submission.submit_many(part, deadline_s=latest - time.monotonic())
        for outcome in outcomes:
            if isinstance(outcome, Submitted):
                done.append(outcome)
            elif not isinstance(outcome, NotFoundError):  # somebody else has removed it
                raise outcome
    headers = {"Psoup-Seq": str(max(one.seq for one in done))} if done else {}
    status = 200 if all(one.applied for one in done) else 202
    return json_answer({"deleted": len(done)}, status=status, headers=headers)


async def _declared(call: Call, body: QueryBody, latest: float) -> RegistrationOutcome:
    """Return what became of a definition: it is registered, stands, or takes the place of the one that does.

    Raises:
        NameTakenError: another one stands, and is not to be replaced.
        StaleDeclarationError: that, or a stream, has changed since it was looked at.
    """
    registration = await _bound(call, body, latest)
    submit = call.service.submission.submit
    try:
        submitted = await submit(registration.content, deadline_s=latest - time.monotonic())
    except NameTakenError as taken:
        if call.arguments.get(REPLACE) != "true":
            raise
        query_id = QueryId(str(taken.extras["id"]))
    else:
        return tell(call, registration, submitted)
    content = replace(registration.content, query_id=query_id)
    submitted = await submit(Replace(content), deadline_s=latest - time.monotonic())
    return told_replaced(call, query_id, seq=submitted.seq, applied=submitted.applied)


async def _compared(call: Call, body: QueryBody, latest: float) -> RegistrationOutcome:
    """Return what became of a definition that is to replace the query which If-Match names, and no other.

    Nothing is ever registered.

    Raises:
        NameTakenError: that query is another one, and is not to be replaced.
        PreconditionFailedError: the query of the name is another one than If-Match says, or there is none.
        StaleDeclarationError: it has changed or gone since it was compared, or a stream has.
    """
    snapshot = await call.answered(
        functools.partial(_expected, call, str(body.name)), latest=latest
    )
    query, registration = snapshot.query, await _bound(call, body, latest)
    content = replace(registration.content, query_id=query.query_id)
    if content.definition == content_of(snapshot).definition:
        return told_same(call, query)
    if call.arguments.get(REPLACE) != "true":
        raise name_taken(query.query_id)
    submitted = await call.service.submission.submit(
        Replace(content, query.changed_seq), deadline_s=latest - time.monotonic()
    )
    return told_replaced(call, query.query_id, seq=submitted.seq, applied=submitted.applied)


def _expected(call: Call, name: str) -> Snapshot:
    """Return the query of a name, which is the one that If-Match names. Blocks. Raises PreconditionFailedError."""
    results = call.service.results
    query = results.named(name)
    (snapshot,) = (None,) if query is None else results.snapshots([query.query_id])
    check_match(call, None if snapshot is None else describe_snapshot(call, snapshot))
    if snapshot is None:
        raise AssertionError("If-Match names no query that does not stand")
    return snapshot


async def _bound(call: Call, body: QueryBody, latest: float) -> Registration:
    """Return the registration of a definition under a new handle."""
    return await call.service.parsing.run(
        functools.partial(_prepare, call, body), deadline_s=latest - time.monotonic()
    )


def _prepare(call: Call, body: QueryBody) -> Registration:
    return prepare(
        body,
        query_id=new_handle(call.context.handle_bits),
        streams=call.service.catalogue.streams(),
        queries=call.service.bound,
    )


def _chosen(call: Call) -> list[QueryId]:
    """Return the handles of the queries that have the labels asked for, pending ones too. Blocks."""
    pending = [one.query_id for one in selected_pending(call)]
    return list(dict.fromkeys([*pending, *(one.query_id for one in selected(call))]))


_DECLARED: Final = Shown(
    "The query.",
    QueryAnswer,
    headers={
        "Location": "Where the query is.",
        "ETag": "Tag of the query, for If-Match.",
        "Psoup-Seq": "Position of what has defined it.",
    },
)
_REMOVED: Final = Shown(
    "How many were removed.",
    DeletedQueries,
    headers={"Psoup-Seq": "Position of the last removal; absent where there is none."},
)
ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "PUT",
        "/v1/queries/{id}",
        "put_query",
        "Register or replace a query under a name",
        put_query,
        {200: _DECLARED, 201: _DECLARED, 202: Shown("Committed, not applied by the deadline.")},
        REGISTER,
        parameters=(REPLACE,),
        body=json_body(QueryDefinition),
        problems=(
            *SQL_PROBLEMS,
            "name-taken",
            "quota-exceeded",
            "not-found",
            "precondition-failed",
        ),
        headers=(IF_MATCH,),
        rate="register",
        changes=True,
    ),
    Endpoint(
        "DELETE",
        "/v1/queries",
        "remove_queries",
        "Remove the queries that have labels",
        delete_queries,
        {200: _REMOVED, 202: _REMOVED},
        REGISTER,
        parameters=(LABEL,),
        rate="register",
        changes=True,
    ),
)
