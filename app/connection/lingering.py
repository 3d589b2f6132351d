"""A close that reads on for a while: closing with unread bytes can destroy the answer on its way."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from psoup.app.http.sending import Sending
from psoup.engine import limits

LINGER_S: Final = 2.0
"""For this long a closing connection reads and discards what its client still sends."""
LINGER_BYTES_MAX: Final = 2 * limits.BODY_INGEST_BYTES_MAX


class LingeringTransport:
    """A transport that first ends its writing side, and closes when the peer has ended or after LINGER_S.

    Closing with unread bytes makes the system reset the connection, and the peer may lose the answer. Unsent bytes
    are watched while it closes: a client that reads nothing would keep the connection open for ever.
    """

    def __init__(
        self, transport: asyncio.Transport, unread: Callable[[], bool], sending: Sending
    ) -> None:
        """Wrap `transport`; `unread` returns whether the peer may still be sending its request."""
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
        """Break the reference cycle with the lost connection, which `unread` refers to.

        Else both, and their TLS buffers, would stay in memory until Python searches for cycles.
        """
        self._unread = bool

    def discard(self, count: int) -> None:
        """Discard `count` received bytes; beyond LINGER_BYTES_MAX close at once."""
        self._discarded += count
        if self._discarded > LINGER_BYTES_MAX:
            self._transport.close()
