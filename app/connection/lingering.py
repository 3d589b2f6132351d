"""A close that lets the client have its say: without it an answer can be lost on its way."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from psoup.app.http.sending import Sending
from psoup.engine import limits

LINGER_S: Final = 2.0
"""A closed connection's leftovers are read and thrown away for this long."""
LINGER_BYTES_MAX: Final = 2 * limits.BODY_INGEST_BYTES_MAX


class LingeringTransport:
    """A transport that may end its writing side first, and close when the peer has ended or time is up.

    Closing with unread bytes makes the system reset the connection: the peer may then lose the answer. What is not
    sent when it closes is watched, or a client that takes nothing would keep it for ever.
    """

    def __init__(
        self, transport: asyncio.Transport, unread: Callable[[], bool], sending: Sending
    ) -> None:
        """Stand in for `transport`; `unread` says whether the peer may still be sending its request."""
        self._transport = transport
        self._unread = unread
        self._sending = sending
        self.write = sending.write
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
        self._sending.watch()
        if not self._unread():
            self._transport.close()
            return
        self.lingering = True
        if self._transport.can_write_eof():  # TLS cannot: the answer's own length is its end
            self._transport.write_eof()
        self._transport.resume_reading()
        asyncio.get_running_loop().call_later(LINGER_S, self._transport.close)

    def end(self) -> None:
        """End with the connection: nothing is unread any more.

        What tells of unread bytes holds the connection, and the connection this transport: left alone they would keep
        each other, and the buffers of TLS, until Python looks for such circles.
        """
        self._unread = bool

    def discard(self, count: int) -> None:
        """Throw `count` received bytes away; past a bound the connection is closed at once."""
        self._discarded += count
        if self._discarded > LINGER_BYTES_MAX:
            self._transport.close()
