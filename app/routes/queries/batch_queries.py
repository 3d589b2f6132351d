"""Registering many queries by one request: a line in, a line out, each with a status of its own.

Slice by slice: a slice is bound, appended and applied before the next one is begun. Others get their turn
in between, and what waits to be applied stays few.
"""

import asyncio
import contextlib
import functools
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

from starlette.responses import Response

from psoup.app.admission.rates import RATES
from psoup.app.http.access.keys import REGISTER
from psoup.app.http.edge import REQUEST_ID
from psoup.app.http.problems import problem_body
from psoup.app.routes.endpoint import Call, Endpoint, Shown
from psoup.app.routes.queries.registration import Registration, RegistrationOutcome, prepare, tell
from psoup.app.wire.answers.negotiation import encode_content
from psoup.app.wire.models.batch_queries import (
    described_line,
    handle_line,
    problem_line,
    read_registrations,
    split_lines,
)
from psoup.app.wire.models.queries import QueryBody, new_handle
from psoup.app.wire.query_parameters import DESCRIBE
from psoup.app.wire.rows.body import NDJSON, media_type_of
from psoup.engine import limits
from psoup.engine.errors import EngineError, StaleDeclarationError

SLICE: Final = 250
"""Lines bound in one turn of a parsing thread: tens of milliseconds."""
LINES_PER_UNIT: Final = int(limits.BATCH_QUERIES_MAX / RATES["register"].burst)
"""So many lines count as one request: a full batch is a key's whole burst, or it could never be sent."""

Part = TypeVar("Part")


async def post_queries(call: Call) -> Response:
    """Register the queries of a body: 200, and a line for each with its own status."""
    service = call.service
    latest = time.monotonic() + service.settings.register_deadline_s
    media_type_of(call.header("content-type"), (NDJSON,))
    body = await call.raw_body(
        bytes_max=limits.BODY_INGEST_BYTES_MAX, decoded_bytes_max=limits.BODY_DECODED_BYTES_MAX
    )
    lines = split_lines(body)
    units = math.ceil(len(lines) / LINES_PER_UNIT)
    if units > 1:  # the first one was taken before the body was read
        call.context.rates.take(call.caller.key_id, "register", units - 1)
    asked: list[QueryBody | EngineError] = []
    for part in _sliced(lines):
        asked += await service.parsing.run(
            functools.partial(read_registrations, part), deadline_s=latest - time.monotonic()
        )
    outcomes = await _register_all(call, asked, latest)
    # In no pool that could refuse: queries may have been registered.
    answer, encoding = await asyncio.to_thread(_answer, call, outcomes)
    headers = {"Vary": "Accept-Encoding"}
    seqs = [one.seq for one in outcomes if isinstance(one, RegistrationOutcome)]
    if seqs:
        headers["Psoup-Seq"] = str(max(seqs))
    if encoding is not None:
        headers["Content-Encoding"] = encoding
    return Response(answer, headers=headers, media_type=NDJSON)


async def _register_all(
    call: Call, asked: Sequence[QueryBody | EngineError], latest: float
) -> list[RegistrationOutcome | EngineError]:
    """Return what became of each. Raises what concerns all of the first slice: nothing is stored then.

    What concerns a later slice stands in the place of each of its lines.
    """
    outcomes: list[RegistrationOutcome | EngineError] = []
    for part in _sliced(asked):
        try:
            call.service.gate()
            outcomes += await _register(call, part, latest)
        except EngineError as error:
            if not outcomes:
                raise
            outcomes += [error] * len(part)
    return outcomes


async def _register(
    call: Call, part: Sequence[QueryBody | EngineError], latest: float
) -> list[RegistrationOutcome | EngineError]:
    """Return what became of each of a slice; what was bound to a declaration of before, once more."""
    outcomes = await _attempt(call, part, latest)
    stale = [i for i, one in enumerate(outcomes) if isinstance(one, StaleDeclarationError)]
    if stale:
        call.service.catalogue.forget_all()
        again: Sequence[RegistrationOutcome | EngineError]
        try:
            again = await _attempt(call, [part[i] for i in stale], latest)
        except EngineError as error:  # it concerns these alone: the others have their outcome
            again = [error] * len(stale)
        for i, outcome in zip(stale, again, strict=True):
            outcomes[i] = outcome
    return outcomes


async def _attempt(
    call: Call, part: Sequence[QueryBody | EngineError], latest: float
) -> list[RegistrationOutcome | EngineError]:
    service = call.service
    prepared = await service.parsing.run(
        functools.partial(_prepare, call, part), deadline_s=latest - time.monotonic()
    )
    ready = [one for one in prepared if isinstance(one, Registration)]
    if not ready:
        return [one for one in prepared if isinstance(one, EngineError)]
    submitted = iter(
        await service.submission.submit_many(
            [one.content for one in ready], deadline_s=latest - time.monotonic()
        )
    )
    outcomes: list[RegistrationOutcome | EngineError] = []
    for one in prepared:
        if isinstance(one, EngineError):
            outcomes.append(one)
            continue
        fate = next(submitted)
        outcomes.append(fate if isinstance(fate, EngineError) else tell(call, one, fate))
    return outcomes


def _prepare(
    call: Call, part: Sequence[QueryBody | EngineError]
) -> list[Registration | EngineError]:
    """Return each registration bound, or why it cannot be. CPU work: runs in a pool."""
    streams = call.service.catalogue.streams()
    prepared: list[Registration | EngineError] = []
    for body in part:
        if isinstance(body, EngineError):
            prepared.append(body)
            continue
        query_id = new_handle(call.context.handle_bits)
        try:
            prepared.append(
                prepare(body, query_id=query_id, streams=streams, queries=call.service.bound)
            )
        except EngineError as refusal:
            prepared.append(refusal)
    return prepared


def _answer(
    call: Call, outcomes: Sequence[RegistrationOutcome | EngineError]
) -> tuple[bytes, str | None]:
    """Return the body and its encoding. May read the store: runs in a pool."""
    if call.arguments.get(DESCRIBE) == "ids":
        _note_uses(call, outcomes)
    body = b"".join(_line(call, index, one) for index, one in enumerate(outcomes))
    return encode_content(body, call.header("accept-encoding"))


def _note_uses(call: Call, outcomes: Sequence[RegistrationOutcome | EngineError]) -> None:
    """Take it that queries which stand already are used: whoever describes them does so by that. Blocks."""
    query_ids = [
        one.query_id
        for one in outcomes
        if isinstance(one, RegistrationOutcome) and one.status == 200
    ]
    service = call.service
    # They are registered: what the store does not answer now is no reason to say something else.
    with contextlib.suppress(EngineError):
        for part in _sliced(query_ids):
            for snapshot in filter(None, service.results.snapshots(part)):
                service.renewals.note(snapshot.query)


def _line(call: Call, index: int, outcome: RegistrationOutcome | EngineError) -> bytes:
    if not isinstance(outcome, EngineError):
        if call.arguments.get(DESCRIBE) == "ids":
            return handle_line(index, outcome.status, outcome.query_id, outcome.seq)
        try:
            return described_line(index, outcome.status, outcome.describe())
        except EngineError as error:
            outcome = error
    instance = call.request.scope.get(REQUEST_ID, "")
    return problem_line(index, problem_body(outcome, instance=instance))


def _sliced(parts: Sequence[Part]) -> Iterator[Sequence[Part]]:
    for first in itertools.count(step=SLICE):
        if first >= len(parts):
            return
        yield parts[first : first + SLICE]


_EXAMPLE: Final = """{"sql": "SELECT * FROM trades WHERE px > 40"}
{"sql": "SELECT sym FROM trades WHERE px > 41", "name": "dear", "materialize": "partial"}
"""
_EXAMPLE_ANSWER: Final = """{"index":0,"status":201,"id":"q_7HcT0u9XbK2mPq4sVw1zRd","seq":981190}
{"index":1,"status":409,"problem":{"code":"name-taken","status":409,"id":"q_7HcT0u9XbK2mPq4sVw1zRd"}}
"""
_LINE: Final = {"schema": {"type": "string", "examples": [_EXAMPLE_ANSWER]}}
_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {
        NDJSON: {
            "schema": {
                "type": "string",
                "description": "A QueryBody on each line.",
                "examples": [_EXAMPLE],
            }
        }
    },
}
ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "POST",
        "/v1/batch/queries",
        "register_queries",
        "Register many standing queries",
        post_queries,
        {
            200: Shown(
                "What became of each line, in order: a QueryLine on each line.",
                content={NDJSON: _LINE},
                headers={
                    "Psoup-Seq": "Position of the last registration; absent where there is none."
                },
            )
        },
        REGISTER,
        parameters=(DESCRIBE,),
        body=_BODY,
        rate="register",
        changes=True,
    ),
)
