"""TLS handshakes, bounded in number and time.

The event loop's own TLS listener counts no connection until its handshake has ended, and gives each handshake a minute.
So `TlsListener` accepts these connections itself, and counts them from their accept on.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from psoup.app.admission.connections import ConnectionAdmission, Entry
from psoup.engine import limits

_ACCEPTED_AT_ONCE: Final = 32
"""Connections that are accepted in one turn of the event loop."""
_PAUSE_S: Final = 1.0
"""A pause of accepting after the system has refused a connection its open file."""


class TlsListener:
    """Accepts connections and makes the protocol of each after its handshake. Used in the event loop alone.

    A connection over a bound is refused by HTTP after its handshake; beyond a number of those it is cut off.
    """

    def __init__(
        self,
        listener: socket.socket,
        make: Callable[[Entry], HttpToolsProtocol],
        admission: ConnectionAdmission,
        context: Callable[[], ssl.SSLContext | None],
    ) -> None:
        """Begin to accept at `listener`, which the caller closes.

        Args:
            listener: a socket that listens.
            make: returns the protocol of a connection that `admission` has counted.
            admission: counts connections.
            context: returns the TLS context of new connections; None = there is no certificate, and they are cut off.
        """
        self._listener, self._make, self._admission = listener, make, admission
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._shaking: set[asyncio.Task[None]] = set()
        self._pausing: asyncio.TimerHandle | None = None
        listener.settimeout(0)
        self._loop.add_reader(listener, self._accept)

    def close(self) -> None:
        """Stop accepting, and cancel the handshakes under way."""
        self._loop.remove_reader(self._listener)
        if self._pausing is not None:
            self._pausing.cancel()
        for one in self._shaking:
            one.cancel()

    async def wait_closed(self) -> None:
        """Wait until the handshakes that `close` has cancelled have ended."""
        await asyncio.gather(*self._shaking, return_exceptions=True)

    def _accept(self) -> None:
        """Accept waiting connections, _ACCEPTED_AT_ONCE at most."""
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, (host, *_) = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except (
                OSError
            ):  # no open files are left: without a pause the listener would be ready again at once
                self._loop.remove_reader(self._listener)
                self._pausing = self._loop.call_later(
                    _PAUSE_S, self._loop.add_reader, self._listener, self._accept
                )
                return
            accepted.settimeout(0)
            context = self._context()
            entry = None if context is None else self._admission.enter(host)
            if context is None or entry is None:
                accepted.close()
                continue
            shaking = self._loop.create_task(self._shake(accepted, context, entry))
            self._shaking.add(shaking)
            shaking.add_done_callback(self._shaking.discard)

    async def _shake(self, accepted: socket.socket, context: ssl.SSLContext, entry: Entry) -> None:
        """Do the handshake of a connection; if it fails or takes too long, the connection is closed."""
        connection = self._make(entry)
        try:
            with contextlib.suppress(OSError):  # TLS errors and timeouts are among them
                await self._loop.connect_accepted_socket(
                    lambda: connection,
                    accepted,
                    ssl=context,
                    ssl_handshake_timeout=limits.TLS_HANDSHAKE_S,
                )
        finally:
            transport: Any = connection.transport
            if transport is None:  # the handshake failed: no protocol will count it out
                self._admission.leave(entry)
