"""A request, its answer, and what an operation may do between them. No I/O: a connection does that.

An *operation* is a generator. It yields a `Request`, is sent its `Answer`, and returns what the answer means; a refusal
is raised in it. So each call of the service is written once, and `Connection` and `AsyncConnection` carry it out.
"""

import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Final, Generic, TypeAlias, TypeVar

import orjson

from psoup.client.errors import DefinitionError, ProblemRequest, ServiceUnreachableError

JsonObject = dict[str, Any]
Parameters = Mapping[str, str | int]
T = TypeVar("T")
N = TypeVar("N")

ARROW_STREAM: Final = "application/vnd.apache.arrow.stream"
EVENT_STREAM: Final = "text/event-stream"
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
_JSON_OPTIONS: Final = orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z | orjson.OPT_SERIALIZE_NUMPY


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent.

    Attributes:
        method: the verb.
        path: below the service's URL, or an address of the service that it has answered, with its own parameters.
        params: query parameters; None keeps those of `path`.
        content: the body.
        headers: added to those of every request.
        repeatable: whether doing it twice is the same as once.
        members: those of a JSON body, for the message of a problem.
        silence_s: how long the service may say nothing; None: as long as its longest deadline.
    """

    method: str
    path: str
    params: Parameters | None = None
    content: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True
    members: Mapping[str, object] = field(default_factory=dict, repr=False)
    silence_s: float | None = None


def get(path: str, params: Parameters | None = None, *, accept: str | None = None) -> Request:
    """Return a GET."""
    headers = {} if accept is None else {"Accept": accept}
    return Request(method="GET", path=path, params=params, headers=headers)


def json_bytes(value: object, what: str) -> bytes:
    """Return a value as JSON: instants without a zone are UTC, numbers of numpy are numbers, NaN is null.

    Args:
        value: of objects, lists and plain values.
        what: names it in the error.

    Raises:
        DefinitionError: JSON has no such value. Infinities are among these: they would be null as well.
    """
    try:
        content = orjson.dumps(value, option=_JSON_OPTIONS)
    except TypeError as error:
        raise DefinitionError(f"{what} cannot be sent: {error}.") from error
    infinite = next(_infinities(value), None) if b"null" in content else None
    if infinite is not None:
        raise DefinitionError(
            f"{what} cannot be sent: it has an infinity, {infinite!r}, and a float64 is finite. Give None for NULL."
        )
    return content


def _infinities(value: object) -> Iterator[Real]:
    """Yield the infinities in a value of JSON."""
    if isinstance(value, Real):
        if math.isinf(value):
            yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _infinities(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _infinities(one)


def with_json(
    method: str,
    path: str,
    body: Mapping[str, object],
    *,
    repeatable: bool = True,
    accept: str = JSON,
    silence_s: float | None = None,
) -> Request:
    """Return a request with a JSON body."""
    return Request(
        method=method,
        path=path,
        content=json_bytes(body, "The request"),
        headers={"Content-Type": JSON, "Accept": accept},
        repeatable=repeatable,
        members=body,
        silence_s=silence_s,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came.

    Attributes:
        status: the HTTP status.
        url: that of the request, without its parameters.
        headers: by names in lower case.
        content: the whole body; of a stream of events, which is still to come, nothing.
        parameters: of the request.
        next_link: the address of the next page, where a header names it.
    """

    status: int
    url: str
    headers: Mapping[str, str]
    content: bytes = field(repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict)
    next_link: str | None = None

    @property
    def is_success(self) -> bool:
        """Return whether the service did what it was asked to do."""
        return 200 <= self.status < 300

    @property
    def is_json(self) -> bool:
        """Return whether the body is declared as JSON."""
        return self.headers.get("content-type", "").startswith(JSON)


@dataclass(frozen=True, slots=True)
class Unreached:
    """No answer came, or not all of it.

    Attributes:
        reason: what went wrong.
        connected: whether the request may have been carried out nevertheless.
        silent: whether the service said nothing for too long.
        hint: what to do about the reason, if that is known.
    """

    reason: str
    connected: bool
    silent: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Open:
    """Ask for a stream of events, whose answer has no content yet. It is closed before anything but `Read` is done."""

    request: Request


@dataclass(frozen=True, slots=True)
class Read:
    """Read on in the stream that was opened: some bytes, or none at its end."""


@dataclass(frozen=True, slots=True)
class Tell(Generic[N]):
    """Give news to who follows."""

    news: N


Operation: TypeAlias = Generator[Request, Answer, T]
"""What a connection carries out, each request with as many attempts as its policy allows."""
Outcome: TypeAlias = Answer | Unreached
Following: TypeAlias = Generator[Request | Pause | Open | Read | Tell[N], Outcome | bytes, None]
"""What a connection carries out step by step: it decides by itself what to repeat, and tells news on the way."""


def json_object(answer: Answer) -> JsonObject:
    """Return the JSON object of an answer. Raises ServiceUnreachableError for another body, which is not psoup's."""
    body = _object_in(answer.content)
    if body is None:
        sentence = f"{answer.url} answered {answer.status} without a JSON object: "
        raise ServiceUnreachableError(sentence + "something other than psoup listens there.")
    return body


def problem_body(answer: Answer) -> JsonObject:
    """Return the problem in an answer, or an empty one where something between has answered."""
    return _object_in(answer.content) or {}


def refused(request: Request, answer: Answer) -> ProblemRequest:
    """Return what a problem says of its request."""
    path = answer.url.partition("://")[2].partition("/")[2]
    return ProblemRequest(f"/{path}", answer.parameters, request.members)


def following_page(answer: Answer) -> str | None:
    """Return the address of the next page, from a header or from the envelope; None: this is the last page."""
    address: object = answer.next_link
    if address is None and answer.is_json:
        address = json_object(answer).get("next")
    return address if isinstance(address, str) else None


def _object_in(content: bytes) -> JsonObject | None:
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    return body if isinstance(body, dict) else None
