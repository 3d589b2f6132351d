"""One HTTP/1.1 connection: uvicorn's, with bounds on what comes before the application sees a request.

uvicorn's parser takes heads of any size at any pace, answers broken requests in plain text, and closes
while the client still sends, which can destroy the answer on its way. Here heads are bounded in bytes and
time, every refusal is a problem body, and a close lingers until the client has had its say.
"""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import asyncio
import resource
import secrets
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from app.errors import FramingError, RateLimitedError, RequestTimeoutError
from app.middleware.edge import (
    DRAINED_BYTES_MAX,
    EXPOSED_HEADERS,
    headers_too_large,
    url_too_long,
)
from app.places import Places, no_place
from app.problems import problem_response
from app.settings import Settings, is_loopback
from engine import limits
from engine.errors import EngineError, OverloadedError

PLACES: Final = "psoup.places"
"""Where an application's lifespan leaves its `Places`."""
LINGER_S: Final = 2.0
"""A closed connection's leftovers are read and thrown away for this long."""
_LINGERING_MAX: Final = limits.FILES_RESERVED // 4
"""Connections past the most that there may be, which are told so."""
_EXPOSED: Final = ", ".join(EXPOSED_HEADERS).encode()
LINGER_BYTES_MAX: Final = 2 * limits.BODY_INGEST_BYTES_MAX


class LingeringTransport:
    """A transport that may end its writing side first, and close when the peer has ended or time is up.

    Closing with unread bytes makes the system reset the connection: the peer may then lose the answer.
    """

    def __init__(self, transport: asyncio.Transport, unread: Callable[[], bool]) -> None:
        """Stand in for `transport`; `unread` says whether the peer may still be sending its request."""
        self._transport = transport
        self._unread = unread
        self.lingering = False
        self._discarded = 0

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever the transport has)
        """Return the transport's own attribute."""
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Return whether nothing can be written any more."""
        return self.lingering or self._transport.is_closing()

    def close(self) -> None:
        """Close; where the peer may still be sending, only the writing side, and soon all of it."""
        if self.is_closing():
            return
        if not self._unread():
            self._transport.close()
            return
        self.lingering = True
        if self._transport.can_write_eof():  # TLS cannot: the answer's own length is its end
            self._transport.write_eof()
        self._transport.resume_reading()
        asyncio.get_running_loop().call_later(LINGER_S, self._transport.close)

    def discard(self, count: int) -> None:
        """Throw `count` received bytes away; past a bound the connection is closed at once."""
        self._discarded += count
        if self._discarded > LINGER_BYTES_MAX:
            self._transport.close()


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with psoup's bounds. What is the same for all of them is set on a subclass (`protocol_class`).

    Attributes:
        connections_max: open at once; more are refused.
        by_address: how many there are from each address that is counted.
        lingering: those that were one too many, and are about to end.
    """

    settings: Settings
    count_loopback = False
    connections_max: int
    by_address: Counter[str]
    lingering: set["BoundedProtocol"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 (uvicorn's own arguments)
        super().__init__(*args, **kwargs)
        self._in_head = False
        self._refused = False
        self._head_bytes = 0
        self._arriving = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._address: str | None = None
        """Under which the connection is counted."""
        self._dropping: asyncio.TimerHandle | None = None
        """Ends the connection unless the body of a request that was turned away is there by then."""

        self._leaving: asyncio.TimerHandle | None = None
        """Ends the connection of a client that has ended its side."""

    # --- the connection -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; a client with too many connections is turned away."""
        super().connection_made(LingeringTransport(transport, self._unread))  # type: ignore[arg-type]
        # uvicorn waits for ever for the first byte; an idle connection has no such right.
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )
        if len(self.connections) > self.connections_max:
            self.connections.discard(self)  # uvicorn would wait for it when it ends
            self._turn_connection_away()
            return
        address = self.client[0] if self.client else ""
        if not address or (is_loopback(address) and not self.count_loopback):
            return
        self._address = address
        self.by_address[address] += 1
        if self.by_address[address] > self.settings.connections_per_address:
            self.refuse(
                RateLimitedError(
                    "Too many connections are open from this address: use the ones there are."
                )
            )

    def _turn_connection_away(self) -> None:
        """Say that there is no room, and let the client have its say for a moment; not to crowds of them."""
        if len(self.lingering) >= _LINGERING_MAX:
            self.transport.abort()
            return
        self.lingering.add(self)
        self.refuse(
            OverloadedError(
                "As many connections are open as the service holds.", reason="connections"
            )
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self.lingering.discard(self)
        self._stop_head_timer()
        self._stop_dropping()
        if self._leaving is not None:
            self._leaving.cancel()
        if self._address is not None:
            self.by_address[self._address] -= 1
            if not self.by_address[self._address]:
                del self.by_address[self._address]
        super().connection_lost(exc)

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Refuse a request that ends before it is whole; let a whole one be answered."""
        transport = self._lingering()
        if transport is None or transport.lingering:
            return None
        if self._in_head or (self._running() and self._in_body()):
            self.refuse(FramingError("The request ended before it was whole."))
            return True
        if self._running():
            self.cycle.keep_alive = False
            if self.scope["method"] in ("GET", "HEAD"):
                self._leaving = self.loop.call_later(limits.HALF_CLOSED_S, self.transport.close)
            return True
        return None

    # --- what arrives ---------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Feed the parser, as long as the head stays inside its bounds."""
        transport = self._lingering()
        if transport is None or transport.lingering:
            if transport is not None:
                transport.discard(len(data))
            return
        if self._in_head:
            self._head_bytes += len(data)
        # What comes while no request is under way begins a head; behind a body it may, too, and is
        # counted from its next bytes on.
        self._arriving = 0 if self._in_head or self._in_body() else len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > limits.HEADERS_BYTES_MAX:
            self.refuse(self._head_refusal())

    def on_message_begin(self) -> None:
        """Begin a head: from its first byte on it is timed."""
        if self._refused:
            return
        super().on_message_begin()
        self._in_head = True
        self._head_bytes, self._arriving = self._arriving, 0
        self._stop_head_timer()
        self._head_timer = self.loop.call_later(self._head_s(), self._head_timed_out)

    def on_headers_complete(self) -> None:
        """End a head; the application takes over, if it has a place for the request."""
        self._in_head = False
        self._stop_head_timer()
        if self._refused:
            return
        if self._has_place():
            super().on_headers_complete()
            return
        method = self.parser.get_method()
        if self._stays_small():
            self._write_problem(no_place(), closes=False, with_body=method != b"HEAD")
            self.on_response_complete()
            self._dropping = self.loop.call_later(LINGER_S, self.transport.close)
        else:
            self.refuse(no_place(), with_body=method != b"HEAD")
        self.cycle = None  # type: ignore[assignment] # as before the first request

    def on_body(self, body: bytes) -> None:
        """Take a part of a body; that of a request that was turned away is dropped."""
        if self.cycle is not None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request; the connection of one that was turned away is idle from now on."""
        if self._dropping is not None:
            self._stop_dropping()
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        if self.cycle is not None:
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP; `msg` is uvicorn's and is not shown."""
        refusal: EngineError = FramingError("The request is not well-formed HTTP/1.1.")
        if self._in_head and self._head_bytes > limits.HEADERS_BYTES_MAX:
            refusal = self._head_refusal()
        self.refuse(refusal)

    def refuse(self, error: EngineError, *, with_body: bool = True) -> None:
        """Answer with a problem body and close, once; an answer that has begun is only cut off."""
        self._stop_head_timer()
        if self._refused:
            return
        self._refused = True
        if self._running():
            begun = self.cycle.response_started
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if begun:
                self.transport.close()
                return
        self._write_problem(error, closes=True, with_body=with_body)
        self.transport.close()

    def _has_place(self) -> bool:
        """Return whether the request goes to the application. What stands behind another one is judged there."""
        places: Places | None = self.app_state.get(PLACES)
        if places is None or self._running() or self.parser.get_method() == b"OPTIONS":
            return True
        self.loop.call_soon(places.end_turn)
        return places.expect(self.url.partition(b"?")[0].decode("latin-1"))

    def _write_problem(self, error: EngineError, *, closes: bool, with_body: bool) -> None:
        instance = secrets.token_hex(8)
        response = problem_response(error, instance=instance)
        head = [STATUS_LINE[response.status_code]]
        for name, value in response.raw_headers:
            if name != b"connection":
                head += [name, b": ", value, b"\r\n"]
        head += [b"request-id: ", instance.encode(), b"\r\nx-content-type-options: nosniff\r\n"]
        if (origin := self._shared_with()) is not None:
            head += [b"access-control-allow-origin: ", origin, b"\r\nvary: origin\r\n"]
            head += [b"access-control-expose-headers: ", _EXPOSED, b"\r\n"]
        head.append(b"connection: close\r\n\r\n" if closes else b"\r\n")
        self.transport.write(b"".join(head) + (bytes(response.body) if with_body else b""))

    def _shared_with(self) -> bytes | None:
        """Return the origin of the page that asks, if pages of its origin may see answers."""
        for name, value in self.headers or ():
            if name == b"origin" and value.decode("latin-1") in self.settings.cors_origins:
                return value
        return None

    def _stays_small(self) -> bool:
        """Return whether the connection may go on: its body, if any, is small, and comes without being asked for."""
        if self.parser.get_http_version() != "1.1" or not self.parser.should_keep_alive():
            return False
        headers = dict(self.headers)
        length = headers.get(b"content-length", b"0")
        if b"transfer-encoding" in headers or self.expect_100_continue or not length.isdigit():
            return False
        return int(length) <= DRAINED_BYTES_MAX

    def _stop_dropping(self) -> None:
        if self._dropping is not None:
            self._dropping.cancel()
            self._dropping = None

    def _head_refusal(self) -> EngineError:
        if len(self.url) > limits.URL_BYTES_MAX:
            return url_too_long()
        return headers_too_large("bytes of all headers", limits.HEADERS_BYTES_MAX)

    def _head_s(self) -> float:
        rate = self.settings.request_bytes_per_s_min
        allowed = self.settings.request_grace_s
        allowed += limits.HEADERS_BYTES_MAX / rate if rate else self.settings.request_s
        return min(allowed, self.settings.request_s)

    def _head_timed_out(self) -> None:
        if self._in_head and not self.transport.is_closing():
            self.refuse(RequestTimeoutError("The request's head did not arrive in time."))

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _running(self) -> bool:
        cycle: Any = self.cycle  # None before the first request, whatever uvicorn declares
        return cycle is not None and not cycle.response_complete

    def _unread(self) -> bool:
        """Return whether there is, or may come, more of a request that was answered."""
        return self._refused or self._in_head or self._in_body()

    def _in_body(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and cycle.more_body

    def _lingering(self) -> LingeringTransport | None:
        transport: Any = self.transport
        return transport if isinstance(transport, LingeringTransport) else None


def protocol_class(settings: Settings, *, count_loopback: bool) -> type[BoundedProtocol]:
    """Return the protocol for these settings; `count_loopback` counts local connections by address as well."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    connections = settings.connections
    if files != resource.RLIM_INFINITY:
        connections = max(1, min(connections, files - limits.FILES_RESERVED))
    members = {
        "settings": settings,
        "count_loopback": count_loopback,
        "connections_max": connections,
        "by_address": Counter[str](),
        "lingering": set[BoundedProtocol](),
    }
    return type("Protocol", (BoundedProtocol,), members)
