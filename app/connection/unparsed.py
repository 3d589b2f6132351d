"""Bytes that a client has sent ahead: they are kept until the request before them is answered.

The parser reads all it is given, and one network packet may hold thousands of requests. So it is given one request at a
time. A head, and the trailers behind chunks, end with an empty line; a body of known length, and a chunk, end by
their length.
"""

import re
from typing import Final

from psoup.app.admission.traffic import Traffic
from psoup.app.connection.chunks import Chunks
from psoup.engine.errors import OverloadedError

_EMPTY_LINE: Final = b"\r\n\r\n"
PIECES_MAX: Final = 8
"""Pieces of one request in one turn of the event loop: a head, a body, more where there are many chunks."""
_LINE_END: Final = b"\r\n"
_NO_LINE_END: Final = re.compile(rb"[^\r\n]")
_SEEN_BYTES: Final = len(_EMPTY_LINE) - 1
"""An empty line may be split: so many bytes of it may have come in the piece before."""


class Unparsed:
    """Bytes of one connection that its parser was not given. Invariant: after `settle` all of them are counted."""

    __slots__ = ("_at", "_client", "_counted", "_data", "_parsed", "_traffic")

    def __init__(self, traffic: Traffic, client: str) -> None:
        """Hold no bytes. Later ones count for `client`."""
        self._traffic, self._client = traffic, client
        self._data, self._at, self._counted = b"", 0, 0
        self._parsed = b""
        """The last bytes that the parser was given: an empty line may begin there."""

    def __len__(self) -> int:
        """Return how many bytes there are."""
        return len(self._data) - self._at

    def add(self, data: bytes) -> None:
        """Add bytes that arrived."""
        self._data = self._data[self._at :] + data if self else data
        self._at = 0

    def skip_blank(self) -> int:
        """Drop leading line ends, which HTTP allows before a request; return how many bytes they were."""
        if self._data[self._at] not in _LINE_END:  # as good as always
            return 0
        found = _NO_LINE_END.search(self._data, self._at)
        first = found.start() if found else len(self._data)
        skipped, self._at = first - self._at, first
        if not self:
            self.drop()
        return skipped

    def piece(self, body_left: int, chunks: Chunks | None = None) -> bytes:
        """Take the next bytes for the parser: they never reach beyond the end of the present request.

        Args:
            body_left: bytes of a body of known length that are still to come.
            chunks: position in a chunked body; None = the body is not chunked.
        """
        end = self._at + body_left
        if not body_left:
            end = self._end(self._data, self._at, chunks)
        if self._at == 0 and end >= len(self._data):
            taken, self._data = self._data, b""
        else:
            taken, self._at = self._data[self._at : end], min(end, len(self._data))
            if not self:
                self.drop()
        seen = taken if len(taken) >= _SEEN_BYTES else self._parsed + taken
        self._parsed = seen[-_SEEN_BYTES:]
        return taken

    def drop(self) -> None:
        """Drop all bytes."""
        self._data, self._at = b"", 0

    def settle(self) -> None:
        """Count the remaining bytes in the bound that all connections share.

        Raises:
            OverloadedError: there is no room for them; none of them are counted.
        """
        held, counted = len(self._data), self._counted
        if held == counted:
            return
        shares = self._traffic.unparsed
        if counted:
            shares.release(self._client, counted)
            self._counted = 0
        if held:
            if not shares.take(self._client, held):
                raise OverloadedError(
                    "Requests that were sent ahead of their turn fill the memory there is for them:"
                    " wait for an answer before you ask again.",
                    reason="memory",
                )
            self._counted = held

    def _end(self, data: bytes, at: int, chunks: Chunks | None) -> int:
        """Return the end of the head in `data` from `at` on, or of the chunks and trailers that have arrived.

        The rest of an empty line that was split may look like another one: then the piece only ends early.
        """
        parsed = self._parsed
        if chunks is not None and not chunks.have_ended():
            walked = chunks.walk(data, at)
            if not chunks.have_ended():
                return walked
            if walked > at:  # and no empty line begins in front of the last chunk's size
                parsed, at = b"", walked
        found = (parsed + data[at : at + _SEEN_BYTES]).find(_EMPTY_LINE)
        if found >= 0:
            return at + found + len(_EMPTY_LINE) - len(parsed)
        found = data.find(_EMPTY_LINE, at)
        return len(data) if found < 0 else found + len(_EMPTY_LINE)
