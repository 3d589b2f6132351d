"""Errors that only the web side knows: how a request travelled, was framed, or was let in.

Errors of streams and queries are in `engine.errors`, those of stores in `engine.store.errors`;
`problems.py` turns all of them into one shape.
"""

import errno
from collections.abc import Sequence

from psoup.engine.errors import EngineError
from psoup.engine.store.errors import StoreFullError


class SettingError(EngineError):
    """A setting cannot be: says which, what was given and what is accepted. Never travels by HTTP."""

    code = "setting"


class ListenError(Exception):
    """A process cannot listen at its address. Never travels by HTTP.

    Attributes:
        address: `host:port`.
        detail: why, and what to do where that is known.
    """

    def __init__(self, host: str, port: int, error: OSError) -> None:
        """Say why the system refused the address with `error`."""
        self.address = f"{host}:{port}"
        self.detail = error.strerror or str(error)
        if error.errno == errno.EADDRINUSE:
            self.detail = (
                f"Port {port} is in use: another process listens on it. End that one, or choose another port;"
                " --port 0 takes any that is free."
            )
        super().__init__(f"{self.address}: {self.detail}")


class BadBodyError(EngineError):
    """A body is not what its media type says; extras `reason`, and `offset` in bytes or columns where known."""

    code = "bad-body"


class UnknownFieldError(EngineError):
    """A request has a member or a parameter that does not exist; extras `field`, `nearest`."""

    code = "unknown-field"


class FramingError(EngineError):
    """A request broke HTTP itself: the connection is closed after the answer."""

    code = "framing"


class UnknownMethodError(EngineError):
    """A request whose method is none that this service knows: the connection is closed after the answer."""

    code = "unknown-method"

    def __init__(self) -> None:
        """Say which there are; the method itself is the client's and is not shown."""
        super().__init__(
            "The service knows no such method: GET, HEAD, POST, PUT, PATCH, DELETE, QUERY and OPTIONS are what its paths"
            " take, each in capitals."
        )


class TxnHeadersError(EngineError):
    """The two headers of a producer's batch came singly or malformed."""

    code = "txn-headers"


class IdempotencyKeyError(EngineError):
    """An idempotency key came several times or malformed, or with a request that takes none."""

    code = "idempotency-key"


class UnauthenticatedError(EngineError):
    """No key, or none that is in force. Which of the two is never told."""

    code = "unauthenticated"

    def __init__(self) -> None:
        """Say the same whatever was wrong with the key."""
        super().__init__("Send a key that is in force: Authorization: Bearer <key>.")


class ForeignHostError(EngineError):
    """The request's `Host` is not a name of this service, which asks for no keys."""

    code = "foreign-host"

    def __init__(self) -> None:
        """Say what to set; the name itself is the client's and is not shown."""
        super().__init__(
            "The Host is none of this service's: without keys it answers to loopback names, to the address it"
            " listens on, and to those of its setting hosts."
        )


class ForeignOriginError(EngineError):
    """A page of another origin wants to change something."""

    code = "foreign-origin"

    def __init__(self) -> None:
        """Say what to set."""
        super().__init__(
            "A page of another origin may change nothing here: the service's setting cors_origins lists those"
            " that may."
        )


class ScopeMissingError(EngineError):
    """The key is in force and lacks the scope this request needs; extra `scope`."""

    code = "scope-missing"


class MethodError(EngineError):
    """The path exists and the method does not; `allow` are those that do."""

    code = "method"

    def __init__(self, allow: Sequence[str]) -> None:
        """Keep the methods for the `Allow` header."""
        super().__init__(f"This path does not answer that method, but {', '.join(allow)}.")
        self.allow = tuple(allow)


class NotAcceptableError(EngineError):
    """No representation fits `Accept` or `format`; extra `supported`."""

    code = "not-acceptable"


class RequestTimeoutError(EngineError):
    """The request did not arrive in time, or too slowly."""

    code = "request-timeout"


class BodyTooLargeError(EngineError):
    """A body, decoded or not, is over a limit; extras `limit` and what it is: `max_bytes`, `max_rows` ..."""

    code = "body-too-large"


class UrlTooLongError(EngineError):
    """The request target is over its limit; extra `limit`."""

    code = "url-too-long"


class HeadersTooLargeError(EngineError):
    """The headers are over a limit in size or number; extra `limit`."""

    code = "headers-too-large"


class UnsupportedMediaError(EngineError):
    """The body's media type or encoding is not taken here; extra `supported`."""

    code = "unsupported-media"


class RateLimitedError(EngineError):
    """The caller is over a rate; extra `retry_after_s`, and `rate`: the RateLimit fields."""

    code = "rate-limited"


class MemoryFullError(StoreFullError):
    """Hits take all the memory there is for them."""


class DiskFullError(StoreFullError):
    """The disk under the store takes nothing more, and its server has ended. Extra `reason`."""


class PreconditionFailedError(EngineError):
    """What a request changes is not what its `If-Match` says."""

    code = "precondition-failed"


class QueryCompleteError(EngineError):
    """A query's answer never changes again: nothing more is told of it. Travels as the end of a stream of events."""

    code = "query-complete"
