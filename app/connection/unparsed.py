"""What a client has sent ahead of its turn: kept until the request before it is answered.

The parser takes whatever it is given: thousands of requests in one packet of the network. So it is given one request
after the other, as what is worked on and what is not sent yet allow. A head, and a chunked body with its trailers, end
with an empty line; a body of a known length ends by itself.
"""

from typing import Final

from app.connection.traffic import Traffic
from engine.errors import OverloadedError

_EMPTY_LINE: Final = b"\r\n\r\n"
PIECES_MAX: Final = 256
"""Of one request in one turn of the event loop: a chunked body may be all empty lines, each some microseconds."""
_SEEN_BYTES: Final = len(_EMPTY_LINE) - 1
"""So much of an empty line may have come before the rest of it."""


class Unparsed:
    """The bytes of one connection that its parser was not given. Invariant: what `settle` has left is counted."""

    def __init__(self, traffic: Traffic, client: str) -> None:
        """Hold nothing; what is held counts as `client`'s."""
        self._traffic, self._client = traffic, client
        self._data, self._at, self._counted = b"", 0, 0
        self._parsed = b""
        """The last bytes that the parser was given: an empty line may begin in them."""

    def __len__(self) -> int:
        """Return how many bytes there are."""
        return len(self._data) - self._at

    def passes(self, data: bytes, body_left: int) -> bool:
        """Return whether `data` need not be held: nothing is, and none of it lies behind the end of a request."""
        if self._data:
            return False
        passes = len(data) <= body_left if body_left else self._end(data, 0) in {-1, len(data)}
        if passes:
            self._remember(data)
        return passes

    def add(self, data: bytes) -> None:
        """Add bytes that arrived."""
        self._data = self._data[self._at :] + data if self else data
        self._at = 0

    def piece(self, body_left: int) -> bytes:
        """Take the next bytes for the parser, of which none lies behind the end of a request.

        Args:
            body_left: how much of a body of known length is still to come.
        """
        end = self._at + body_left
        if not body_left:
            found = self._end(self._data, self._at)
            end = found if found >= 0 else len(self._data)
        if self._at == 0 and end >= len(self._data):
            taken, self._data = self._data, b""
        else:
            taken, self._at = self._data[self._at : end], min(end, len(self._data))
            if not self:
                self.drop()
        self._remember(taken)
        return taken

    def drop(self) -> None:
        """Hold nothing any more."""
        self._data, self._at = b"", 0

    def settle(self) -> None:
        """Count what is left among what all connections hold.

        Raises:
            OverloadedError: there is no room; nothing of it is counted.
        """
        held, counted = len(self._data), self._counted
        if held == counted:
            return
        shares = self._traffic.unparsed
        if counted:
            shares.give_back(self._client, counted)
            self._counted = 0
        if held:
            if not shares.take(self._client, held):
                raise OverloadedError(
                    "Requests that were sent ahead of their turn fill the memory there is for them:"
                    " wait for an answer before you ask again.",
                    reason="memory",
                )
            self._counted = held

    def _end(self, data: bytes, at: int) -> int:
        """Return where the first empty line ends in `data` from `at` on, which the parser is given next; -1 = nowhere.

        Behind an end that has been seen the rest of it may look like another one: a piece then ends early, no more.
        """
        found = (self._parsed + data[at : at + _SEEN_BYTES]).find(_EMPTY_LINE)
        if found >= 0:
            return at + found + len(_EMPTY_LINE) - len(self._parsed)
        found = data.find(_EMPTY_LINE, at)
        return found if found < 0 else found + len(_EMPTY_LINE)

    def _remember(self, taken: bytes) -> None:
        """Keep the end of what the parser was given."""
        seen = taken if len(taken) >= _SEEN_BYTES else self._parsed + taken
        self._parsed = seen[-_SEEN_BYTES:]
