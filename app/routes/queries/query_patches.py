"""A standing query that is changed under its handle: its text, its parameters, its labels, its time to live."""

import functools
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from starlette.responses import Response

from psoup.app.http.access.keys import REGISTER
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_body
from psoup.app.routes.queries.query_preconditions import IF_MATCH, check_match
from psoup.app.routes.queries.registration import (
    SQL_PROBLEMS,
    RegistrationOutcome,
    describe_snapshot,
    prepare,
    standing,
    told_answer,
)
from psoup.app.wire.models.queries import QueryAnswer, QueryBody, QueryPatch
from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError, NotFoundError, QueryFillingError
from psoup.engine.log.operation import QueryId, Register, Replace
from psoup.engine.query.parameters import NO_PARAMETERS, RegisteredText
from psoup.engine.results.contract import Snapshot
from psoup.engine.results.delta import QueryRecord
from psoup.engine.tuples.batch import Seq

REPLACING: Final = "replacing"
"""A query is to become another one, which is not applied yet."""
_OF_TEXT: Final = frozenset({"sql", "params"})
"""Members that say what the query asks for."""


async def patch_query(call: Call) -> Response:
    """Change what is given of a query, and nothing else: 200; 202 where that is not applied yet."""
    body: QueryPatch = await call.model(QueryPatch, bytes_max=limits.BODY_REGISTER_BYTES_MAX)
    if not body.model_fields_set:
        wrong = [("", f"expected one of: {', '.join(QueryPatch.model_fields)}")]
        raise InvalidFieldError("The body changes nothing.", errors=wrong)
    query_id, service = call.query_id(), call.service
    latest = time.monotonic() + service.settings.register_deadline_s
    attempt = functools.partial(_patched, call, query_id, body, latest)
    return await told_answer(call, await service.catalogue.retried_once(attempt))


def told_same(call: Call, query: QueryRecord) -> RegistrationOutcome:
    """Return what is answered where a query is already what it is to be: its description. That is a use."""
    call.service.renewals.note(query)
    return told_replaced(call, query.query_id, seq=query.changed_seq, applied=True)


def told_replaced(call: Call, query_id: QueryId, *, seq: Seq, applied: bool) -> RegistrationOutcome:
    """Return what is answered where a query became another one: the description that stands once it is applied."""
    if applied:
        return RegistrationOutcome(200, query_id, seq, lambda: standing(call, query_id), reads=True)
    return RegistrationOutcome(
        202, query_id, seq, lambda: {"id": query_id, "seq": seq, "state": REPLACING}
    )


async def _patched(
    call: Call, query_id: QueryId, body: QueryPatch, latest: float
) -> RegistrationOutcome:
    """Return the answer to a change of the query as it stands. Raises StaleDeclarationError if that has changed."""
    service = call.service
    snapshot = await call.answered(functools.partial(_snapshot, call, query_id), latest=latest)
    check_match(call, describe_snapshot(call, snapshot))
    content = await service.parsing.run(
        functools.partial(_merged, call, snapshot, body), deadline_s=latest - time.monotonic()
    )
    if body.ttl is None and content == content_of(snapshot):  # a time to live that is given begins
        return told_same(call, snapshot.query)
    submitted = await service.submission.submit(
        Replace(content, snapshot.query.changed_seq), deadline_s=latest - time.monotonic()
    )
    return told_replaced(call, query_id, seq=submitted.seq, applied=submitted.applied)


def _snapshot(call: Call, query_id: QueryId) -> Snapshot:
    """Return a query as it stands. Blocks. Raises QueryFillingError where it is not applied yet."""
    try:
        return call.service.results.snapshot(query_id)
    except NotFoundError:
        if call.service.pending.find(query_id) is None:
            raise
    raise QueryFillingError("The query is registered, and its old data are not applied yet.")


def _merged(call: Call, snapshot: Snapshot, body: QueryPatch) -> Register:
    """Return the registration of the query with what is given in place of what it has. CPU work: runs in a pool.

    Its text is read anew only where text or values are given: `*` may mean more by now than where it was registered.
    """
    given = {name: getattr(body, name) for name in body.model_fields_set}
    content = content_of(snapshot)
    if "labels" in given:
        content = replace(content, labels=given["labels"] or {})
    if "ttl" in given:
        content = replace(content, ttl_us=given["ttl"])
    if not given.keys() & _OF_TEXT:
        return content
    text = content.text or RegisteredText(content.sql, NO_PARAMETERS)
    definition = QueryBody.model_construct(
        sql=given.get("sql", text.sql),
        params=given.get("params", dict(text.params)),
        name=content.name,
        labels=dict(content.labels),
        materialize=content.materialize.value,
        ttl=content.ttl_us,
    )
    return prepare(
        definition,
        query_id=content.query_id,
        streams=call.service.catalogue.streams(),
        queries=call.service.bound,
    ).content


def content_of(snapshot: Snapshot) -> Register:
    """Return the registration of a query as it stands."""
    query = snapshot.query
    return Register(
        query_id=query.query_id,
        sql=query.canonical,
        streams={one.schema.name: one.stream_id for one in snapshot.streams},
        name=query.name,
        labels=dict(query.labels),
        materialize=snapshot.clause.materialize,
        text=query.text,
        ttl_us=query.ttl_us,
    )


_CHANGED: Final = Shown(
    "The query.",
    QueryAnswer,
    headers={
        "Location": "Where the query is.",
        "ETag": "Tag of the query, for If-Match.",
        "Psoup-Seq": "Position of the change.",
    },
)
ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "PATCH",
        "/v1/queries/{id}",
        "change_query",
        "Change a standing query",
        patch_query,
        {200: _CHANGED, 202: Shown("Committed, not applied by the deadline.")},
        REGISTER,
        body=json_body(QueryPatch),
        problems=(
            *SQL_PROBLEMS,
            "not-found",
            "query-expired",
            "query-filling",
            "precondition-failed",
        ),
        headers=(IF_MATCH,),
        rate="register",
        changes=True,
    ),
)
