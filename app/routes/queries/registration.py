"""A registration on its way: bound, as an operation, and what is answered to who sent it."""

import contextlib
import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from starlette.responses import Response

from psoup.app.backend.pending import PendingQuery
from psoup.app.backend.submission import Submitted
from psoup.app.http.request_keys import REPLAYED
from psoup.app.routes.endpoint import Call, json_answer
from psoup.app.wire.models.queries import (
    FILLING,
    LIVE,
    SUSPENDED,
    QueryBody,
    as_suspended,
    describe_query,
    expiry,
    query_tag,
)
from psoup.engine.errors import NotFoundError, SqlError
from psoup.engine.log.operation import Materialize, QueryId, Register
from psoup.engine.query.bind.author_warnings import written_warnings
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.query.bind.scope import Streams
from psoup.engine.query.clause import BoundQuery, QueryWarning
from psoup.engine.query.parameters import NO_PARAMETERS, RegisteredText
from psoup.engine.results.contract import Snapshot
from psoup.engine.results.delta import Suspension
from psoup.engine.tuples.batch import Seq

Description = Mapping[str, object]

SQL_PROBLEMS: Final = (
    "sql-syntax",
    "unknown-stream",
    "unknown-column",
    "type-mismatch",
    "unsupported-sql",
    "window-empty",
    "query-too-complex",
)
"""Of a text that does not bind."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A query as it was sent, bound against the declarations in force, under the handle it is to get.

    `warnings` are those of `bound`, in the words of the text that was sent.
    """

    query_id: QueryId
    body: QueryBody
    bound: BoundQuery
    content: Register
    warnings: tuple[QueryWarning, ...]

    def describe(self, *, seq: Seq, state: str, since_us: int | None) -> dict[str, object]:
        """Return its description once it has a position; `since_us`: when it arrived, None = that is not known."""
        ttl_us = self.content.ttl_us
        return describe_query(
            replace(self.bound, warnings=self.warnings),
            query_id=self.query_id,
            seq=seq,
            state=state,
            name=self.body.name,
            labels=self.content.labels,
            materialize=self.content.materialize,
            text=self.content.text,
            ttl_us=ttl_us,
            expires_us=None if ttl_us is None or since_us is None else since_us + ttl_us,
        )


@dataclass(frozen=True, slots=True)
class RegistrationOutcome:
    """What a registration is answered: 201 applied, 202 filling, 200 there was such a query under its name.

    `query_id` and `seq` are those of the query that stands. Where `reads`, `describe` reads the results: it
    blocks, and raises NotFoundError where the query has been removed since. `replayed`: by its idempotency key it was
    registered before.
    """

    status: int
    query_id: QueryId
    seq: Seq
    describe: Callable[[], Description]
    reads: bool = False
    replayed: bool = False


def prepare(
    body: QueryBody, *, query_id: QueryId, streams: Streams, queries: BoundQueries
) -> Registration:
    """Return the registration of `body` under `query_id`. CPU work: runs in a pool.

    Raises:
        SqlError: the text does not bind against `streams`, with the parameters given.
    """
    params = body.params or NO_PARAMETERS
    bound = queries.bind(body.sql, streams, params)
    read = {one.stream: streams[one.stream] for one in bound.clause.sources}
    is_kept = bool(params) or queries.has_own_names(body.sql, streams, params, bound)
    content = Register(
        query_id=query_id,
        sql=bound.canonical,
        streams={name: stream_id for name, (stream_id, _) in read.items()},
        name=body.name,
        labels=body.labels or {},
        materialize=Materialize(body.materialize),
        declared={name: schema for name, (_, schema) in read.items()},
        text=RegisteredText(body.sql, params) if is_kept else None,
        ttl_us=body.ttl,
    )
    warnings = written_warnings(body.sql, streams, bound, params)
    return Registration(query_id, body, bound, content, warnings)


def tell(call: Call, registration: Registration, submitted: Submitted) -> RegistrationOutcome:
    """Return what a committed registration is answered. In the event loop; it reads nothing.

    One that is not applied yet is remembered as pending until it is.
    """
    standing_id = submitted.query_id if submitted.duplicate else None
    query_id, seq, since_us = (
        standing_id or registration.query_id,
        submitted.seq,
        submitted.arrival_us,
    )
    if not submitted.applied:
        if standing_id is not None:
            same = replace(registration, query_id=standing_id)
            _note_repeated(call, same, seq)
            found = functools.partial(_found, call, same, seq)
            return RegistrationOutcome(
                202, query_id, seq, found, reads=True, replayed=submitted.replayed
            )
        description = registration.describe(seq=seq, state=FILLING, since_us=since_us)
        call.service.pending.note(PendingQuery(seq, registration.content, description))
        return RegistrationOutcome(202, query_id, seq, lambda: description)
    if standing_id is not None:
        status = 201 if submitted.replayed else 200
        used = functools.partial(_used, call, query_id)
        return RegistrationOutcome(
            status, query_id, seq, used, reads=True, replayed=submitted.replayed
        )
    if len(registration.bound.clause.sources) > 1:  # it may have run over a bound at once
        return RegistrationOutcome(
            201, query_id, seq, lambda: _met(call, registration, submitted), reads=True
        )
    live = functools.partial(registration.describe, seq=seq, state=LIVE, since_us=since_us)
    return RegistrationOutcome(201, query_id, seq, live)


async def registered(call: Call, attempt: Callable[[], Awaitable[RegistrationOutcome]]) -> Response:
    """Return the answer to a registration that `attempt` makes.

    It is made anew, once, where the declarations it was bound against have changed, and where the query that it
    repeats has expired or was removed before it could be described.

    Raises what `attempt` and `RegistrationOutcome.describe` do.
    """
    retried_once = call.service.catalogue.retried_once
    told = await retried_once(attempt)
    try:
        return await told_answer(call, told)
    except NotFoundError:
        return await told_answer(call, await retried_once(attempt))


async def told_answer(call: Call, told: RegistrationOutcome) -> Response:
    """Return the answer to a registration. Raises what `RegistrationOutcome.describe` does."""
    if told.reads:
        description = await call.service.answering.run(
            told.describe, deadline_s=call.service.settings.invoke_deadline_s
        )
    else:
        description = told.describe()
    headers = {"Location": f"/v1/queries/{told.query_id}", "Psoup-Seq": str(told.seq)}
    if told.replayed:
        headers |= REPLAYED
    if "canonical" in description:
        headers["ETag"] = query_tag(description)
    return json_answer(description, status=told.status, headers=headers)


def _note_repeated(call: Call, same: Registration, seq: Seq) -> None:
    """Remember a pending registration whose first answer never came: a process that folds has no log to find it in."""
    pending = call.service.pending
    if call.service.backend.reads_at_once and pending.held(same.query_id) is None:
        content = replace(same.content, query_id=same.query_id)
        pending.note(
            PendingQuery(seq, content, same.describe(seq=seq, state=FILLING, since_us=None))
        )


def standing(call: Call, query_id: QueryId) -> Description:
    """Return the description of a query that stands. Blocks. Raises NotFoundError if none does."""
    return describe_snapshot(call, call.service.results.snapshot(query_id))


def _used(call: Call, query_id: QueryId) -> Description:
    """Return the description of a query that stands, which was declared again: that is a use. Blocks."""
    snapshot = call.service.results.snapshot(query_id)
    call.service.renewals.note(snapshot.query)
    return describe_snapshot(call, snapshot)


def standing_or_pending(call: Call, query_id: QueryId) -> Description:
    """Return the description of a query that stands, or is registered and not applied. Blocks.

    Raises NotFoundError where there is none. Only where the results know of none are registrations asked for.
    """
    with contextlib.suppress(NotFoundError):
        return standing(call, query_id)
    pending = call.service.pending.find(query_id)
    description = None if pending is None else describe_pending(call, pending)
    # Where neither knows it, it may have been applied in between.
    return standing(call, query_id) if description is None else description


def describe_pending(call: Call, pending: PendingQuery) -> Description | None:
    """Return the description of a query that is not applied; None where its streams are gone: it never will be.

    Blocks where another process has registered it: its text is bound against the declarations in force. Cost: as a
    registration's.
    """
    if pending.description is not None:
        return pending.description
    content = pending.content
    try:
        bound = call.service.bound.bind(content.sql, call.service.catalogue.streams())
    except SqlError:
        return None
    return describe_query(
        bound,
        query_id=content.query_id,
        seq=pending.seq,
        state=FILLING,
        name=content.name,
        labels=content.labels,
        materialize=content.materialize,
        text=content.text,
        ttl_us=content.ttl_us,
    )


def read_by(snapshot: Snapshot) -> Streams:
    """Return the streams a query reads as they were at its snapshot: later they may be others."""
    return {one.schema.name: (one.stream_id, one.schema) for one in snapshot.streams}


def describe_snapshot(call: Call, snapshot: Snapshot) -> Description:
    """Return a standing query's description. A list of many would be made of little else: some are kept.

    What is kept is that of a live query: whether it is suspended, its snapshot says.
    """
    record, kept = snapshot.query, call.service.descriptions
    held = kept.get((record.query_id, record.changed_seq))
    if held is None:
        held = describe_query(
            call.service.bound.bind(record.canonical, read_by(snapshot)),
            query_id=record.query_id,
            seq=record.seq,
            state=LIVE,
            name=record.name,
            labels=record.labels,
            materialize=snapshot.clause.materialize,
            text=record.text,
            version=record.version,
            ttl_us=record.ttl_us,
        )
        kept.put((record.query_id, record.changed_seq), held)
    if record.expires_us is not None:
        held = {**held, **expiry(record.expires_us)}
    suspended = suspension(snapshot)
    return held if suspended is None else as_suspended(held, suspended)


def suspension(snapshot: Snapshot) -> Suspension | None:
    """Return since when and why the query is answered no more; None while it is."""
    join = snapshot.clause.join
    return None if join is None else join.suspended


def state_of(call: Call, query_id: QueryId) -> str | None:
    """Return whether an applied query is live or suspended; None where it was removed."""
    try:
        snapshot = call.service.results.snapshot(query_id)
    except NotFoundError:
        return None
    return LIVE if suspension(snapshot) is None else SUSPENDED


def _met(call: Call, registration: Registration, submitted: Submitted) -> Description:
    """Return the description of a join that has met its old data; as it was, where it is removed again. Blocks."""
    described = registration.describe(seq=submitted.seq, state=LIVE, since_us=submitted.arrival_us)
    try:
        suspended = suspension(call.service.results.snapshot(registration.query_id))
    except NotFoundError:
        return described
    return described if suspended is None else as_suspended(described, suspended)


def _found(call: Call, registration: Registration, seq: Seq) -> Description:
    """Return the description of the query that a name stands for, which another process may have registered. Blocks.

    As it is registered here, where it is removed again.
    """
    try:
        return standing_or_pending(call, registration.query_id)
    except NotFoundError:
        return registration.describe(seq=seq, state=FILLING, since_us=None)
