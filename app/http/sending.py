"""What a client has been answered and has not taken yet: counted from when it is made, given up when it stalls.

A transport keeps what the network does not take, for as long as the client likes. So the bytes of large answers count
among those of all connections until they are gone, and a client that takes less than a least rate is cut off.
"""

import asyncio
from typing import Final

from psoup.app.admission.traffic import Traffic
from psoup.engine import limits
from psoup.engine.errors import OverloadedError

SENDING: Final = "psoup.sending"
"""Among the extensions of a scope: the `Sending` of the connection that the request came by."""
COUNTED_FROM_BYTES: Final = 64 * limits.KIB
"""Of an answer: a smaller one fits into what any connection may hold."""
PIECE_BYTES: Final = 64 * limits.KIB
RETRY_AFTER_S: Final = 5


class Sending:
    """The writing side of one connection. Used in the event loop alone.

    Attributes:
        ended: the connection is lost, and nobody is there to take an answer.
    """

    def __init__(
        self, transport: asyncio.Transport, traffic: Traffic, client: str, *, stall_s: float
    ) -> None:
        """Write to `transport`; what is not sent counts as `client`'s, who has `stall_s` to take a part of it."""
        self._transport, self._traffic, self._client = transport, traffic, client
        self._stall_s = stall_s
        self._in_pieces = transport.get_extra_info("sslcontext") is not None
        if self._in_pieces:
            transport.set_write_buffer_limits(COUNTED_FROM_BYTES)
        self._loop = asyncio.get_running_loop()
        self._reserved = self._written = self._sent_before = 0
        self._looking: asyncio.TimerHandle | None = None
        self.ended = False

    def reserve(self, nbytes: int) -> None:
        """Count an answer of `nbytes` bytes that is made and is to be written, until `settle` finds it gone.

        Raises:
            OverloadedError: answers that others do not take leave no room for it.
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

        By TLS in pieces: all that is encrypted at once counts as gone, whether the network has taken it or not.
        """
        self._written += len(data)
        if not self._in_pieces or len(data) <= PIECE_BYTES:
            self._transport.write(data)
            return
        whole = memoryview(data)
        for first in range(0, len(data), PIECE_BYTES):
            self._transport.write(whole[first : first + PIECE_BYTES])

    def watch(self) -> None:
        """Begin to look whether the client takes what was written; once it has taken all, that ends by itself."""
        if self._looking is None and not self.ended:
            self._look_later()

    def rest(self) -> None:
        """Look no more: the client has taken what was written, but for a little."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def settle(self) -> None:
        """Count nothing any more: what was written has gone, or is as little as any connection may hold."""
        if self._reserved:
            self._traffic.unsent.release(self._client, self._reserved)
            self._reserved = 0

    def end(self) -> None:
        """End with the connection."""
        self.ended = True
        self.settle()
        self.rest()

    def _look_later(self) -> None:
        self._sent_before = self._sent()
        self._looking = self._loop.call_later(self._stall_s, self._look)

    def _look(self) -> None:
        """Give the connection up where too little was taken since the last look."""
        self._looking = None
        if not self._transport.get_write_buffer_size():
            return
        if self._sent() - self._sent_before >= self._stall_s * limits.ANSWER_BYTES_PER_SECOND_MIN:
            self._look_later()
            return
        self._traffic.stall()
        self._transport.abort()

    def _sent(self) -> int:
        return self._written - self._transport.get_write_buffer_size()
