"""Errors to problem bodies: one table, one shape (RFC 9457), for every way a request can fail.

`detail` is a sentence of ours and holds nothing a client sent. The members beside it (`excerpt`, `hint`,
`errors[].got`, ...) quote the sender's own request to the sender. Nothing of a problem is cacheable.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson
import structlog
from starlette.responses import Response

from psoup.app.errors import MethodError
from psoup.app.wire.scalars import format_instant
from psoup.engine.errors import EngineError, SqlError

MEDIA_TYPE = "application/problem+json"
SPREAD_S = 2
"""Retries of many clients are spread over this many seconds."""

_LOG = structlog.get_logger("psoup.problems")
_INSTANTS = frozenset(
    {
        ("now-out-of-range", "oldest"),
        ("now-out-of-range", "newest"),
        ("history-failed", "retry_at"),
        ("query-expired", "expired_at"),
    }
)
"""Extras in microseconds, by code and name."""
_INTERNAL_ONLY = frozenset(
    {"retry_after_s", "rate", "supported_header", "supported_encoding", "stream_id"}
)


@dataclass(frozen=True, slots=True)
class ProblemType:
    """One row of the table of status codes.

    Attributes:
        status: HTTP status.
        title: what it means, the same for every occurrence.
        again: the same request may succeed, with no wait that could be named.
        retry_after_s: the shortest wait that makes sense, for those who are told to wait.
        closes: the connection ends after the answer.
    """

    status: int
    title: str
    again: bool = False
    retry_after_s: int | None = None
    closes: bool = False

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.again or self.retry_after_s is not None


COMMON_PROBLEMS: Final = (
    "foreign-host",
    "unknown-field",
    "url-too-long",
    "headers-too-large",
    "internal",
)
GUARDED_PROBLEMS: Final = (
    "unauthenticated",
    "scope-missing",
    "rate-limited",
    "overloaded",
    "store-unavailable",
    "recovering",
    "integrity",
    "store-unsuitable",
)
BODY_PROBLEMS: Final = (
    "bad-body",
    "body-too-large",
    "unsupported-media",
    "request-timeout",
    "framing",
)
CHANGE_PROBLEMS: Final = ("commit-unknown", "store-full", "stale-declaration")
"""Codes that endpoints answer: all, those that ask who calls, those that take a body, those that change something."""
PROBLEM_TYPES: Mapping[str, ProblemType] = {
    "bad-body": ProblemType(400, "The body is not what its media type says"),
    "unknown-field": ProblemType(400, "The request has a member that does not exist"),
    "framing": ProblemType(400, "The request is not well-formed HTTP", closes=True),
    "unknown-method": ProblemType(400, "The service does not know the method", closes=True),
    "txn-headers": ProblemType(
        400, "The headers of a producer's batch are incomplete or malformed"
    ),
    "idempotency-key": ProblemType(400, "The idempotency key is malformed, or not taken here"),
    "bad-page": ProblemType(400, "The page token is not one of this answer's"),
    "unauthenticated": ProblemType(401, "A key is needed"),
    "scope-missing": ProblemType(403, "The key does not allow this"),
    "foreign-origin": ProblemType(403, "Pages of other origins may change nothing"),
    "not-found": ProblemType(404, "There is no such thing"),
    "method": ProblemType(405, "The path does not answer this method"),
    "not-acceptable": ProblemType(406, "No representation fits what is accepted"),
    "request-timeout": ProblemType(
        408, "The request did not arrive in time", again=True, closes=True
    ),
    "stream-differs": ProblemType(409, "The stream exists with another definition"),
    "has-queries": ProblemType(409, "Standing queries use the stream"),
    "name-taken": ProblemType(409, "Another query has this name"),
    "txn-content-differs": ProblemType(409, "The version was used for other content"),
    "stage-missing": ProblemType(409, "A part of the commit is not staged, or not any more"),
    "stale-declaration": ProblemType(
        409, "The stream was declared anew in the meantime", again=True
    ),
    "gen-differs": ProblemType(409, "The position is of another history than the service's"),
    "query-suspended": ProblemType(409, "The query ran over a cap and is suspended"),
    "history-taken": ProblemType(409, "The history is not this worker's"),
    "history-parts-missing": ProblemType(409, "The parts of the history do not make an answer"),
    "history-failed": ProblemType(409, "The answer could not be computed from the archive"),
    "query-expired": ProblemType(410, "The query's time to live is over"),
    "query-complete": ProblemType(410, "The query's window is over"),
    "page-expired": ProblemType(410, "The page token needs what is no longer kept"),
    "precondition-failed": ProblemType(412, "It has changed since it was read"),
    "body-too-large": ProblemType(413, "The body is over a limit", closes=True),
    "commit-too-large": ProblemType(413, "The parts of the commit are over a limit together"),
    "url-too-long": ProblemType(414, "The URL is over its limit", closes=True),
    "unsupported-media": ProblemType(415, "The body's media type or encoding is not taken here"),
    "foreign-host": ProblemType(421, "The Host is not one of this service's"),
    "invalid-field": ProblemType(422, "A member has a wrong type or value"),
    "idempotency-key-reused": ProblemType(422, "The idempotency key was used for another request"),
    "incompatible-change": ProblemType(422, "A stream that holds rows cannot become so"),
    "rows-rejected": ProblemType(422, "Rows do not fit their stream; nothing is stored"),
    "sql-syntax": ProblemType(422, "The query does not parse"),
    "unknown-stream": ProblemType(422, "There is no such stream"),
    "unknown-column": ProblemType(422, "The stream has no such column"),
    "type-mismatch": ProblemType(422, "An operator does not take these types"),
    "unsupported-sql": ProblemType(422, "The query is outside the dialect"),
    "window-empty": ProblemType(422, "The window can never hold an instant"),
    "query-too-complex": ProblemType(422, "The query is over a limit"),
    "answer-too-large": ProblemType(
        422, "The answer is too large to be found when it is asked for"
    ),
    "now-out-of-range": ProblemType(422, "The instant asked for is outside what is kept"),
    "seq-out-of-range": ProblemType(422, "The position asked for is before what is kept"),
    "rate-limited": ProblemType(429, "Over a rate", retry_after_s=1),
    "quota-exceeded": ProblemType(429, "Over a number or a size", retry_after_s=10),
    "headers-too-large": ProblemType(431, "The headers are over a limit", closes=True),
    "internal": ProblemType(500, "A bug of psoup", again=True),
    "overloaded": ProblemType(503, "All the work psoup holds is taken", retry_after_s=1),
    "not-yet-visible": ProblemType(
        503, "The position asked for is not applied yet", retry_after_s=1
    ),
    "query-filling": ProblemType(503, "The query's old data are not applied yet", retry_after_s=1),
    "store-unavailable": ProblemType(503, "The store does not answer", retry_after_s=1),
    "recovering": ProblemType(503, "The engine is reading its state back", retry_after_s=1),
    "commit-unknown": ProblemType(
        503, "It is not known whether this was committed", retry_after_s=1
    ),
    "integrity": ProblemType(503, "State and store disagree; the engine has stopped"),
    "store-unsuitable": ProblemType(
        503, "The store is set, or written, otherwise than this process needs", retry_after_s=30
    ),
    "store-full": ProblemType(507, "The store is out of memory or disk", retry_after_s=30),
}
"""Every code a client can meet. Codes are never renamed."""


def is_retryable(error: EngineError) -> bool:
    """Return whether the same request may succeed later."""
    return PROBLEM_TYPES.get(error.code, PROBLEM_TYPES["internal"]).retryable


def problem_body(error: EngineError, *, instance: str) -> dict[str, object]:
    """Return the members of `error`'s problem body; `instance` is the request id."""
    kind = PROBLEM_TYPES.get(error.code)
    if kind is None or error.code == "internal":
        return _internal_body(instance)
    body: dict[str, object] = {
        "type": f"/problems/{error.code}",
        "title": kind.title,
        "status": kind.status,
        "code": error.code,
        "detail": error.detail,
        "retryable": kind.retryable,
        "instance": instance,
    }
    if isinstance(error, SqlError):
        at = error.position
        body["position"] = {"line": at.line, "column": at.column, "length": at.length}
        body["detail"] = (
            f"Line {at.line}, column {at.column}: {_followed(error.detail, error.remedy)}"
        )
        body["excerpt"] = error.excerpt
        body["hint"] = _followed(error.quoting, error.hint)
    for name, given in error.extras.items():
        value = given
        if name not in _INTERNAL_ONLY and name not in body:
            if (error.code, name) in _INSTANTS and isinstance(value, int):
                value = format_instant(value)
            body[name] = value
    return body


def problem_headers(error: EngineError) -> dict[str, str]:
    """Return the headers that go with the problem: Retry-After, Allow, WWW-Authenticate, ..."""
    kind = PROBLEM_TYPES.get(error.code, PROBLEM_TYPES["internal"])
    headers = {"Cache-Control": "no-store"}
    if kind.closes:
        headers["Connection"] = "close"
    if kind.retry_after_s is not None:
        given = error.extras.get("retry_after_s")
        least = given if isinstance(given, int) else kind.retry_after_s
        # Spread, so that those who were turned away together do not come back together.
        headers["Retry-After"] = str(least + secrets.randbelow(SPREAD_S))
    if isinstance(error, MethodError):
        headers["Allow"] = ", ".join(error.allow)
    if error.code == "unauthenticated":
        headers["WWW-Authenticate"] = "Bearer"
    media = error.extras.get("supported_header")
    if isinstance(media, str):
        headers["Accept-Post"] = media
    encodings = error.extras.get("supported_encoding")
    if isinstance(encodings, str):
        headers["Accept-Encoding"] = encodings
    rate = error.extras.get("rate")
    if isinstance(rate, Mapping):
        headers.update({str(name): str(value) for name, value in rate.items()})
    return headers


def problem_response(error: Exception, *, instance: str) -> Response:
    """Return the answer to a failed request. An error that is not ours is a bug: logged, 500."""
    known = error if isinstance(error, EngineError) else EngineError("A bug of psoup.")
    status = PROBLEM_TYPES.get(known.code, PROBLEM_TYPES["internal"]).status
    body = problem_body(known, instance=instance)
    if status == 500:
        _LOG.error("internal", request_id=instance, exc_info=error)
    return Response(
        orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY),
        status_code=status,
        headers=problem_headers(known),
        media_type=MEDIA_TYPE,
    )


def _followed(sentence: str, advice: str) -> str:
    """Return the sentence, and behind it what to do. No full stop: advice may end in SQL to be pasted."""
    return f"{sentence} {advice[:1].upper()}{advice[1:]}".strip()


def _internal_body(instance: str) -> dict[str, object]:
    kind = PROBLEM_TYPES["internal"]
    return {
        "type": "/problems/internal",
        "title": kind.title,
        "status": kind.status,
        "code": "internal",
        "detail": "The request met a bug of psoup; its trace is in the log under this instance.",
        "retryable": kind.retryable,
        "instance": instance,
    }
