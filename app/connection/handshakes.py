"""TLS handshakes: bounded in number and time, before there is a connection that could be refused in HTTP.

A listener of the event loop counts no connection until its handshake is over, and gives each a minute. So connections
that are to be encrypted are accepted here, and counted from then on.
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
"""Connections, in one turn of the event loop."""
_PAUSE_S: Final = 1.0
"""Without open files left nothing is accepted for so long."""


class TlsListener:
    """Accepts connections, and hands over those that end their handshake. Used in the event loop alone.

    A connection that is one too many is told so in HTTP, behind its handshake; past a crowd of those, connections are
    cut off.
    """

    def __init__(
        self,
        listener: socket.socket,
        make: Callable[[Entry], HttpToolsProtocol],
        admission: ConnectionAdmission,
        context: Callable[[], ssl.SSLContext | None],
    ) -> None:
        """Accept at `listener`, which stays the caller's.

        Args:
            listener: a socket that listens.
            make: returns the protocol of a connection that has entered.
            admission: counts connections.
            context: returns how connections are encrypted; None = they cannot be, and are cut off.
        """
        self._listener, self._make, self._admission = listener, make, admission
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._shaking: set[asyncio.Task[None]] = set()
        self._pausing: asyncio.TimerHandle | None = None
        listener.settimeout(0)
        self._loop.add_reader(listener, self._accept)

    def close(self) -> None:
        """Accept nothing more, and end the handshakes under way."""
        self._loop.remove_reader(self._listener)
        if self._pausing is not None:
            self._pausing.cancel()
        for one in self._shaking:
            one.cancel()

    async def wait_closed(self) -> None:
        """Wait until the handshakes that `close` ends have ended."""
        await asyncio.gather(*self._shaking, return_exceptions=True)

    def _accept(self) -> None:
        """Accept what waits, some of it."""
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, (host, *_) = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no open files are left; the listener would be ready at once again
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
        """Encrypt a connection; one for which that fails, or takes too long, has ended."""
        connection = self._make(entry)
        try:
            with contextlib.suppress(OSError):  # all errors of TLS and of time are
                await self._loop.connect_accepted_socket(
                    lambda: connection,
                    accepted,
                    ssl=context,
                    ssl_handshake_timeout=limits.TLS_HANDSHAKE_S,
                )
        finally:
            transport: Any = connection.transport
            if transport is None:  # it was not handed over
                self._admission.leave(entry)
