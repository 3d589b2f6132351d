"""The outermost layer: names the request, checks its head, completes headers, and turns any error that
is left into a problem. What it lets through has an id, a bounded head, and one body shape for failures.
"""  # noqa: D205

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, Final

from starlette.responses import Response

from psoup.app.errors import FramingError, HeadersTooLargeError, UrlTooLongError
from psoup.app.http.problems import problem_response
from psoup.app.http.request_ids import RequestIds
from psoup.app.http.sending import sending_of
from psoup.engine import limits
from psoup.engine.errors import EngineError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Check = Callable[[Scope], None]
Headers = Sequence[tuple[bytes, bytes]]
Share = Callable[[Headers], Headers]
Observer = Callable[[Scope, int, int, float], None]

REQUEST_ID: Final = "psoup.request_id"
PROBLEM_CODE: Final = "psoup.problem"
"""In a scope's state: the code of the problem that its request is answered with."""
WHOLE: Final = "psoup.whole"
"""In the message that begins an answer: the whole body, which is small. No other message follows."""
IS_HEAD: Final = "psoup.head"
"""In a scope: the request is a HEAD, though its method says GET."""
WAITED_S: Final = "psoup.waited"
"""In a scope's state: for how long its request did nothing but wait for a change, in seconds."""
PAST_BYTES: Final = "psoup.past"
"""In a scope's state: bytes of its answer that were written past the application."""
DRAINED_BYTES_MAX: Final = 64 * limits.KIB
"""An unread body up to this size is read and discarded to keep the connection; for a larger one it is closed."""
DRAIN_S: Final = 0.5
_NO_SNIFFING: Final = (b"x-content-type-options", b"nosniff")
CLOSE: Final = (b"connection", b"close")


class Edge:
    """ASGI middleware. `admit` raises for a request that is refused; `observe` is called for every request, with its
    scope, the status of its answer (0 = there was none), the answer's bytes and the seconds. `share` returns the
    headers by which a web page may read a refusal, by those of its request.
    """  # noqa: D205

    def __init__(
        self,
        app: Application,
        *,
        ids: RequestIds,
        admit: Check,
        observe: Observer,
        share: Share = lambda _: (),
    ) -> None:
        """Stand around `app`."""
        self._app = app
        self._next_id = ids.next
        self._admit = admit
        self._observe = observe
        self._share = share

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other kinds of scope pass through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        scope[REQUEST_ID] = request_id = self._next_id()
        scope.setdefault("state", {})
        answer = _Answer(scope, receive, send, request_id)
        try:
            check_head(scope)
            self._admit(scope)
            # A HEAD is a GET whose body the server does not write.
            inner = scope
            if scope["method"] == "HEAD":
                inner = {**scope, "method": "GET", IS_HEAD: True}
            await self._app(inner, answer.receive, answer.send)
        except Exception as error:
            if answer.status:
                raise
            refusal = problem_answer(scope, error)
            refusal.raw_headers.extend(self._share(scope["headers"]))
            await refusal(scope, answer.receive, answer.send)
        finally:
            self._observe(scope, answer.status, answer.nbytes, time.perf_counter() - begun)


def problem_answer(scope: Scope, error: Exception) -> Response:
    """Return the answer to a request that failed with `error`, and store its code in the scope, for `observe`."""
    scope["state"][PROBLEM_CODE] = error.code if isinstance(error, EngineError) else "internal"
    return problem_response(error, instance=scope[REQUEST_ID])


def check_head(scope: Scope) -> None:
    """Refuse a request whose URL or headers are over their limits, or whose body is framed unreadably.

    Raises:
        UrlTooLongError, HeadersTooLargeError: as named.
        FramingError: a transfer coding that the server would not undo.
    """
    query = scope["query_string"]
    url = len(scope.get("raw_path") or b"") + (len(query) + 1 if query else 0)
    if url > limits.URL_BYTES_MAX:
        raise url_too_long()
    headers = scope["headers"]
    if len(headers) > limits.HEADERS_COUNT_MAX:
        raise headers_too_large("headers", limits.HEADERS_COUNT_MAX)
    largest, total, codings = 0, url, []
    for name, value in headers:
        size = len(name) + len(value) + 4
        total += size
        largest = max(largest, size)
        if name == b"transfer-encoding":
            codings.append(value)
    if largest > limits.HEADER_BYTES_MAX:
        raise headers_too_large("bytes of one header", limits.HEADER_BYTES_MAX)
    if total > limits.HEADERS_BYTES_MAX:
        raise headers_too_large("bytes of all headers", limits.HEADERS_BYTES_MAX)
    if len(codings) > 1 or any(value.strip().lower() != b"chunked" for value in codings):
        raise FramingError(
            "The one transfer coding taken is chunked: compress with Content-Encoding instead."
        )


def url_too_long() -> EngineError:
    """Return the refusal of a URL over its limit."""
    return UrlTooLongError("The URL is over its limit.", limit=limits.URL_BYTES_MAX)


def headers_too_large(what: str, limit: int) -> EngineError:
    """Return the refusal of headers over a limit; `what` it counts."""
    return HeadersTooLargeError(f"The request is over the limit of {what}.", limit=limit)


class _Answer:
    """The two ASGI channels of one request: notes whether the body was read, completes the answer's headers."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        self.status = self.nbytes = 0
        self._receive = receive
        self._send = send
        self._takes_whole = scope["method"] != "HEAD" and sending_of(scope) is not None
        self._request_id = request_id
        self._unread = self._small = False
        is_awaited = False
        for name, value in scope["headers"]:
            if name == b"content-length":
                length = int(value) if value.isdigit() else 0
                self._unread |= length > 0
                self._small = length <= DRAINED_BYTES_MAX
            elif name == b"transfer-encoding":
                self._unread = True
            elif name == b"expect":
                is_awaited = True
        # Whoever waits for "100 Continue" has not sent the body: reading it would ask for it.
        self._small &= not is_awaited

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._unread = False
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = (b"request-id", self._request_id.encode())
            headers = message["headers"] = [*message["headers"], own, _NO_SNIFFING]
            if self._unread and CLOSE not in headers and not await self._drained():
                headers.append(CLOSE)
            if WHOLE in message:
                await self._send_whole(message)
                return
        else:
            self.nbytes += len(message.get("body", b""))
        await self._send(message)

    async def _send_whole(self, message: Message) -> None:
        """Send a whole answer: in two messages, as ASGI has them, where a server knows no other way or sends a head."""
        body = message[WHOLE]
        self.nbytes += len(body)
        if self._takes_whole:
            await self._send(message)
            return
        del message[WHOLE]
        await self._send(message)
        await self._send({"type": "http.response.body", "body": body})

    async def _drained(self) -> bool:
        """Return whether the body was small and arrived soon, discarded, so that the connection can be used again."""
        if self._small:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_S):
                    while self._unread:
                        await self.receive()
        return not self._unread
