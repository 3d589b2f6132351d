"""A walk over the chunks of a body by their sizes, without reading what they hold.

The parser checks the chunks. The walk only says how many bytes the parser may be given, so that it never gets bytes of
the next request.
"""

import re
from typing import Final

CHUNKS_AT_ONCE: Final = 256
"""A bound on the time of one walk: the parser takes a few microseconds for each chunk."""
_SIZE_LINE: Final = re.compile(rb"([0-9A-Fa-f]+)(?:;[^\n]*)?\r\n")


class Chunks:
    """A walk over the chunks of one body."""

    def __init__(self) -> None:
        """Begin behind the head."""
        self._has_ended = False
        self._left = 0
        """Bytes of the present chunk that are still to come, with its line end."""
        self._line = b""
        """The beginning of a size line whose end has not arrived."""

    def have_ended(self) -> bool:
        """Return whether the walk has met the last chunk, or bytes that are no chunk, which the parser will refuse."""
        return self._has_ended

    def walk(self, data: bytes, at: int) -> int:
        """Return the end of the chunks in `data` from `at` on, at most CHUNKS_AT_ONCE of them.

        The next walk begins there; after `have_ended` there is none. Cost: O(chunks), whatever their sizes.
        """
        for _ in range(CHUNKS_AT_ONCE):
            if at + self._left >= len(data):
                self._left -= len(data) - at
                return len(data)
            at += self._left
            self._left = 0
            line_end = data.find(b"\n", at) + 1
            if not line_end:
                self._line += data[at:]
                return len(data)
            size = _SIZE_LINE.fullmatch(self._line + data[at:line_end])
            chunk_bytes = 0 if size is None else int(size[1], 16)
            if not chunk_bytes:
                self._has_ended = True
                return at
            self._left = chunk_bytes + len(b"\r\n")
            self._line, at = b"", line_end
        return at
