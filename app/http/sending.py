"""Answers that a client has not read yet: their bytes are counted, and a client that stalls is cut off.

A transport keeps unsent bytes for as long as the client likes. So the bytes of large answers count in a bound that all
connections share until they are sent, and a client that reads slower than a least rate is disconnected.
"""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from psoup.app.admission.traffic import Traffic
from psoup.engine import limits
from psoup.engine.errors import OverloadedError

SENDING: Final = "psoup.sending"
"""The extension of a scope that holds the `Sending` of the request's connection."""
COUNTED_FROM_BYTES: Final = 64 * limits.KIB
"""Smaller answers are not counted: any connection may hold one."""
PIECE_BYTES: Final = 64 * limits.KIB
RETRY_AFTER_S: Final = 5
UNSENT_BYTES: Final = 16 * limits.KIB
"""Of a stream, in the system: from so many on it takes no more."""


def chunked(data: bytes) -> bytes:
    """Return a piece of an answer of unknown length as it is sent (RFC 9112, 7.1)."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class Sending:
    """The writing side of one connection. Used in the event loop alone.

    Attributes:
        ended: the connection is lost: no client reads answers any more.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        traffic: Traffic,
        client: str,
        *,
        stall_s: float,
        on_rest: Callable[[], None] | None = None,
    ) -> None:
        """Write to `transport`. Unsent bytes count for `client`, which has to read some of them in `stall_s`.

        `on_rest` is called by `rest`.
        """
        self._transport, self._traffic, self._client = transport, traffic, client
        self._stall_s = stall_s
        self._in_pieces = transport.get_extra_info("sslcontext") is not None
        if self._in_pieces:
            transport.set_write_buffer_limits(COUNTED_FROM_BYTES)
        self._loop = asyncio.get_running_loop()
        self._reserved = self._written = self._sent_before = 0
        self._looking: asyncio.TimerHandle | None = None
        self.ended = self._patient = False
        self._leaving: asyncio.Future[None] | None = None
        self._on_rest = on_rest

    def rest(self) -> None:
        """Take it that the request has arrived, and that nothing happens on the connection for long."""
        if self._on_rest is not None:
            self._on_rest()

    def reserve(self, nbytes: int) -> None:
        """Count an answer of `nbytes` bytes before it is written, until `settle`.

        Raises:
            OverloadedError: unread answers of all clients leave no room for it.
        """
        if nbytes < COUNTED_FROM_BYTES or self.ended:
            return
        if not self._traffic.unsent.take(self._client, nbytes):
            raise OverloadedError(
                "Answers that clients have not read yet fill the memory there is for them: ask again"
                " soon, or for smaller pages.",
                reason="memory",
                retry_after_s=RETRY_AFTER_S,
            )
        self._reserved += nbytes

    def write(self, data: bytes) -> None:
        """Write bytes of an answer.

        By TLS in pieces: bytes that are encrypted at once count as sent, whether the network has taken them or not.
        """
        self._written += len(data)
        if not self._in_pieces or len(data) <= PIECE_BYTES:
            self._transport.write(data)
            return
        whole = memoryview(data)
        for first in range(0, len(data), PIECE_BYTES):
            self._transport.write(whole[first : first + PIECE_BYTES])

    def begin_stream(self) -> None:
        """Take it that small pieces follow each other for minutes, each when the client has taken the one before it.

        No more than one piece is kept here, and next to nothing in the system, which would queue megabytes. A client
        that takes its time is no stalled one, for the stream has an end.
        """
        self._patient = True
        self.rest()
        self._transport.set_write_buffer_limits(0)
        connection: socket.socket | None = self._transport.get_extra_info("socket")
        if connection is not None and sys.platform == "linux":
            with contextlib.suppress(OSError):  # lost meanwhile
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)

    def write_chunk(self, chunk: bytes) -> bool:
        """Write the next piece of a stream past the application, as `chunked` returns it.

        Returns whether the system has taken all of it: else the client has to read first.
        """
        self.write(chunk)
        return not self._transport.get_write_buffer_size()

    def end_stream(self) -> None:
        """Take it that whole answers follow again."""
        self._patient = False
        if not self.ended:
            self._transport.set_write_buffer_limits(COUNTED_FROM_BYTES)

    def watch(self) -> None:
        """Begin to watch whether the client reads; watching ends when it has read everything."""
        if self._looking is None and not self.ended:
            self._look_later()

    def unwatch(self) -> None:
        """Stop watching: the client has read all but a little."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def settle(self) -> None:
        """Release the counted bytes: they are sent, or are as few as any connection may hold."""
        if self._reserved:
            self._traffic.unsent.release(self._client, self._reserved)
            self._reserved = 0

    def leaving(self) -> asyncio.Future[None]:
        """Return what is done when the connection is lost, the same each time. Not to be cancelled."""
        if self._leaving is None:
            self._leaving = self._loop.create_future()
            if self.ended:
                self._leaving.set_result(None)
        return self._leaving

    def end(self) -> None:
        """Stop counting and watching: the connection is lost."""
        self.ended, self._on_rest = True, None
        if self._leaving is not None and not self._leaving.done():
            self._leaving.set_result(None)
        self.settle()
        self.unwatch()

    def _look_later(self) -> None:
        self._sent_before = self._sent()
        self._looking = self._loop.call_later(self._stall_s, self._look)

    def _look(self) -> None:
        """Abort the connection where the client has read too little since the last look."""
        self._looking = None
        if not self._transport.get_write_buffer_size():
            return
        least = self._stall_s * limits.ANSWER_BYTES_PER_SECOND_MIN
        if self._patient or self._sent() - self._sent_before >= least:
            self._look_later()
            return
        self._traffic.stall()
        self._transport.abort()

    def _sent(self) -> int:
        return self._written - self._transport.get_write_buffer_size()


def sending_of(scope: Mapping[str, Any]) -> Sending | None:
    """Return the writing side of a request's connection; None = the connection is none of psoup's."""
    sending: Sending | None = scope.get("extensions", {}).get(SENDING)
    return sending


def leaving_of(scope: Mapping[str, Any]) -> asyncio.Future[None]:
    """Return what is done when a request's client has gone, not to be cancelled; never, where nobody can tell.

    Costs a hundred bytes, where waiting for the end of the request's channel needs a task.
    """
    sending = sending_of(scope)
    return asyncio.get_running_loop().create_future() if sending is None else sending.leaving()
