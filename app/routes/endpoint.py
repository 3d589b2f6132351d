"""One endpoint as a declaration: what it takes, needs, answers; and the wrapper that is the same for all.

The wrapper admits the request (slot, key, scope, rate, state of the service) before its body is read, reads
its parameters, and hands a `Call` to the handler. The OpenAPI is made from the same declaration.
"""

import threading
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from psoup.app.admission.rates import Rates
from psoup.app.admission.slots import Slot
from psoup.app.backend.service import Service
from psoup.app.http.access.keys import ANYBODY, INGEST, Caller, Keys
from psoup.app.http.bodies import BodyBudget, HeldBody, has_arrived, read_body
from psoup.app.http.decoding import decoded_body
from psoup.app.http.edge import WAITED_S, Scope
from psoup.app.http.framing import has_body
from psoup.app.http.front import Front
from psoup.app.http.kept_answers import KEY_BYTES_MAX, KeptAnswers
from psoup.app.http.page_tokens import PageTokens
from psoup.app.http.problems import (
    BODY_PROBLEMS,
    CHANGE_PROBLEMS,
    COMMON_PROBLEMS,
    GUARDED_PROBLEMS,
)
from psoup.app.http.request_keys import IDEMPOTENCY_HEADER, refuse_key
from psoup.app.http.request_log import KEY_ID
from psoup.app.http.sending import sending_of
from psoup.app.operate.meters.registry import ROUTE, Meters
from psoup.app.waiting.audience import Audience
from psoup.app.waiting.room import WaitingRoom
from psoup.app.wire.arguments_reader import ArgumentsReader
from psoup.app.wire.control import read_model
from psoup.app.wire.handles import Bits, read_handle
from psoup.app.wire.parameters import (
    COUNT,
    CURSOR,
    FORMAT,
    META,
    MIN_SEQ,
    ROWS_LIMIT,
    SHAPE,
    Arguments,
    Parameter,
)
from psoup.app.wire.rows.body import JSON, media_type_of
from psoup.engine import limits
from psoup.engine.errors import OverloadedError
from psoup.engine.log.operation import QueryId
from psoup.engine.recent import Recent
from psoup.engine.tuples.value_type import value_type

Result = TypeVar("Result")
_NO_ARGUMENTS: Final = Arguments()
_NOBODY: Final = Caller(None, frozenset())
_NO_BODY: Final = HeldBody(BodyBudget())
"""Of a request to an endpoint that takes none."""
_OF_POSITION: Final = frozenset(
    one.name for one in (COUNT, CURSOR, FORMAT, META, MIN_SEQ, ROWS_LIMIT, SHAPE)
)
"""Parameters of answers that the position of a query decides, with their values."""
_REPRESENTATION: Final = frozenset({b"accept", b"accept-encoding", b"if-none-match"})
"""Headers that an answer depends on beside its URL."""

QUERY: Final = "QUERY"
"""A method that is safe to repeat, and has a body (RFC 10008)."""


@dataclass(slots=True)
class Context:
    """What endpoints share. `service` and `room` are set while the application runs."""

    keys: Keys
    tokens: PageTokens
    rates: Rates
    meters: Meters
    handle_bits: Bits
    front: Front
    address_of: Callable[[Scope], str]
    service: Service | None = None
    room: WaitingRoom | None = None
    bodies: BodyBudget = field(default_factory=BodyBudget)
    syncs: Recent[bytes, Any] = field(
        default_factory=lambda: Recent(limits.SYNC_BODIES_KEPT_BYTES_MAX, threading.Lock())
    )
    """Bodies of syncs that were read."""
    kept: KeptAnswers = field(default_factory=KeptAnswers)
    audiences: dict[Hashable, Audience] = field(default_factory=dict)
    """Those who follow a query and are told the same."""

    def caller(self, request: Request) -> Caller:
        """Return who sends the request. Raises what `Keys.caller` does."""
        return self.keys.caller(
            request.headers.get("authorization"), address=self.address_of(request.scope)
        )


@value_type
class Call:
    """One admitted request."""

    request: Request
    context: Context
    service: Service
    arguments: Arguments
    caller: Caller
    held: HeldBody
    slot: Slot
    begun_s: float = field(default_factory=time.monotonic)
    """When it was admitted, of `time.monotonic`."""

    @property
    def answered_by(self) -> float:
        """Return when an answer that only reads has to be there, of `time.monotonic`."""
        return self.begun_s + self.service.settings.invoke_deadline_s

    @property
    def room(self) -> WaitingRoom:
        """Return where clients wait for changes."""
        room = self.context.room
        if room is None:
            raise OverloadedError("The service is starting or stopping.", reason="starting")
        return room

    def waited(self, seconds: float) -> None:
        """Take it that the request did nothing but wait for so long: it was not slow."""
        state = self.request.scope["state"]
        state[WAITED_S] = state.get(WAITED_S, 0.0) + seconds

    def latest(self) -> float:
        """Return when an answer that is begun now has to be there, of `time.monotonic`."""
        return time.monotonic() + self.service.settings.invoke_deadline_s

    def path(self, name: str) -> str:
        """Return a parameter of the path."""
        return str(self.request.path_params[name])

    def query_id(self) -> QueryId:
        """Return the handle in the path. Raises what `read_handle` does."""
        return read_handle(self.path("id"))

    def header(self, name: str) -> str | None:
        """Return a header, None where it was not sent; the values of several lines as one list (RFC 9110, 5.3)."""
        lines = self.header_lines(name)
        return ", ".join(lines) if lines else None

    def header_lines(self, name: str) -> list[str]:
        """Return the values of a header: one for each line of it."""
        wanted = name.lower().encode()
        return [
            value.decode("latin-1")
            for known, value in self.request.scope["headers"]
            if known == wanted
        ]

    async def raw_body(self, *, bytes_max: int, decoded_bytes_max: int) -> bytes:
        """Return the body without its content encoding; limits in bytes. Raises as `read_body` and `decoded_body`."""
        body = await read_body(
            self.request.receive,
            content_length=self.header("content-length"),
            bytes_max=bytes_max,
            settings=self.service.settings,
            held=self.held,
            is_here=has_arrived(self.request.scope),
        )
        self.slot.work()
        encoding = self.header("content-encoding")
        if encoding is None:
            return body
        return await decoded_body(
            body,
            encoding,
            bytes_max=decoded_bytes_max,
            pool=self.service.decoding,
            deadline_s=self.service.settings.ingest_deadline_s,
            gone=self.gone,
            held=self.held,
        )

    async def gone(self) -> None:
        """Return when the client has gone. Not to be asked while its body is still to be read: that is thrown away."""
        while (await self.request.receive())["type"] != "http.disconnect":
            pass

    async def answered(
        self, work: Callable[[], Result], *, latest: float, key: Hashable = None
    ) -> Result:
        """Return what `work` returns, done while the client is there to be answered.

        It is done in a thread for answers.

        Args:
            work: it only reads: where nobody waits for it any more it ends at its next checkpoint.
            latest: of `time.monotonic`, when it has to be done.
            key: as in `WorkPool.run`: what took little the last time is done at once, in the event loop.

        Raises:
            OverloadedError, FramingError: as `WorkPool.run`.
        """
        left_s = latest - time.monotonic()
        return await self.service.answering.run(work, deadline_s=left_s, gone=self.gone, key=key)

    def alike(self) -> Hashable | None:
        """Return what requests have in common that are answered alike at one position; None = others decide, too."""
        scope = self.request.scope
        if not _OF_POSITION.issuperset(self.arguments.values):
            return None
        asked = [part for pair in scope["headers"] if pair[0] in _REPRESENTATION for part in pair]
        key = (scope["path"], scope["query_string"], *asked)
        return key if sum(map(len, key)) <= KEY_BYTES_MAX else None

    async def model(self, model: type[BaseModel], *, bytes_max: int) -> Any:  # noqa: ANN401 (a `model`)
        """Return the JSON body as a `model`. Raises what `raw_body` and `read_model` do."""
        media_type_of(self.header("content-type"), (JSON,))
        body = await self.raw_body(bytes_max=bytes_max, decoded_bytes_max=bytes_max)
        return read_model(body, model)


@dataclass(frozen=True, slots=True)
class Shown:
    """One success of an endpoint, for the OpenAPI: a JSON model, or media types of their own."""

    text: str
    model: type[BaseModel] | None = None
    content: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path.

    Attributes:
        name: the operation id.
        scope: what a key needs; `ingest` is asked for the stream in the path; None = open to all.
        rate: which bucket a request is taken from, if any.
        changes: it changes something: answers carry Psoup-Durability.
        live: it needs a service that is recovered and has its store.
        from_memory: an engine in this process can answer it for a while without its store.
        body: the OpenAPI's request body.
    """

    method: str
    path: str
    name: str
    text: str
    handle: Handler
    shown: Mapping[int, Shown]
    scope: str | None
    parameters: tuple[Parameter, ...] = ()
    body: Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()
    headers: tuple[Mapping[str, Any], ...] = ()
    rate: str | None = None
    changes: bool = False
    live: bool = True
    from_memory: bool = False

    @property
    def takes_no_key(self) -> bool:
        """Return whether a request sent twice would count twice, whatever idempotency key it had."""
        return self.changes and self.method == "POST" and IDEMPOTENCY_HEADER not in self.headers

    def codes(self) -> tuple[str, ...]:
        """Return every problem code this endpoint can answer."""
        found = [*COMMON_PROBLEMS, *self.problems]
        found += ("foreign-origin",) if self.method != "GET" else ()
        found += GUARDED_PROBLEMS if self.scope is not None else ()
        found += BODY_PROBLEMS if self.body is not None else ()
        found += CHANGE_PROBLEMS if self.changes else ()
        found += ("idempotency-key",) if self.changes and self.method == "POST" else ()
        found += ("idempotency-key-reused",) if IDEMPOTENCY_HEADER in self.headers else ()
        found += ("invalid-field",) if self.parameters or self.body else ()
        return tuple(dict.fromkeys(found))


Serve = Callable[[Request], Awaitable[Response]]
"""Answers a request for one endpoint. Raises EngineError."""


def served(context: Context, endpoint: Endpoint) -> Serve:
    """Return what answers requests for `endpoint`, the same way for all of them."""
    takes_body = endpoint.body is not None
    reader = ArgumentsReader(endpoint.parameters)

    async def serve(request: Request) -> Response:
        scope = request.scope
        scope["state"][ROUTE] = endpoint.name
        service = context.service
        if service is None:
            raise OverloadedError("The service is starting or stopping.", reason="starting")
        slot = context.front.slots.enter(
            endpoint.path,
            address_of(request),
            reads=takes_body and has_body(scope["headers"]),
        )
        with slot:
            caller = admit(request, context, service, endpoint, slot)
            query = scope["query_string"]
            arguments = reader.read(query) if query else _NO_ARGUMENTS
            held = HeldBody(context.bodies) if takes_body else _NO_BODY
            call = Call(request, context, service, arguments, caller, held, slot)
            try:
                response = await endpoint.handle(call)
            finally:
                if takes_body:
                    held.release()
        count_answer(request, len(response.body), done=endpoint.changes)
        if endpoint.changes:
            durability = service.store.durability.encode("latin-1")
            response.raw_headers.append((b"psoup-durability", durability))
        return response

    return serve


def count_answer(request: Request, nbytes: int, *, done: bool = False) -> None:
    """Count an answer of `nbytes` until its client has taken it; what was `done` is told in any case.

    Raises:
        OverloadedError: answers that clients do not read leave no room for it, and nothing was done.
    """
    sending = sending_of(request.scope)
    if sending is None:
        return
    try:
        sending.reserve(nbytes)
    except OverloadedError:
        if not done:
            raise


def address_of(request: Request) -> str:
    """Return the address that a request comes from, empty where there is none."""
    client = request.scope.get("client")
    return client[0] if client else ""


def admit(
    request: Request, context: Context, service: Service, endpoint: Endpoint, slot: Slot
) -> Caller:
    """Return who sends a request that is taken on, decided before its body is read.

    Raises:
        EngineError: no key, no scope, over a rate, no room for a change, an idempotency key that is not taken, or the
            service is not live.
    """
    if endpoint.scope is None:
        return _NOBODY
    caller = ANYBODY
    if context.keys.required:
        caller = context.caller(request)
        stream = request.path_params.get("name") if endpoint.scope == INGEST else None
        caller.require(endpoint.scope, stream=stream)
    if caller.key_id is not None:
        request.scope["state"][KEY_ID] = caller.key_id
        slot.charge_to(caller.key_id)
        if endpoint.rate is not None:
            context.rates.take(caller.key_id, endpoint.rate)
    if endpoint.live:
        service.gate(from_memory=endpoint.from_memory)
    if endpoint.changes:
        service.submission.admit()
    if endpoint.takes_no_key:
        refuse_key(request.scope["headers"])
    return caller


def json_answer(
    body: Mapping[str, object], *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a JSON answer."""
    return Response(orjson.dumps(body), status_code=status, headers=headers, media_type=JSON)


def server_timing(seconds: Mapping[str, float]) -> str:
    """Return the value of a Server-Timing header, in milliseconds."""
    return ", ".join(f"{name};dur={1_000 * value:.2f}" for name, value in seconds.items())


def json_body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI's request body of a JSON model."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"required": True, "content": {JSON: {"schema": schema}}}
