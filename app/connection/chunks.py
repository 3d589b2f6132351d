"""Where a chunked body goes on: its frame is walked over chunk by chunk, and what the chunks hold is not looked at.

The parser judges the frame. This walk tells only how much it may be given, so that it never has the begin of another
request in its hands.
"""

import re
from typing import Final

CHUNKS_AT_ONCE: Final = 256
"""The parser calls back some times for each chunk, a few microseconds in all."""
_SIZE_LINE: Final = re.compile(rb"([0-9A-Fa-f]+)(?:;[^\n]*)?\r\n")


class Chunks:
    """A walk over the chunks of one body."""

    def __init__(self) -> None:
        """Begin where the head has ended."""
        self._has_ended = False
        self._left = 0
        """Bytes of the present chunk, with the end of its line."""
        self._line = b""
        """The begin of a size line that has not come whole."""

    def have_ended(self) -> bool:
        """Return whether the last chunk was met, or what is none: the rest ends with an empty line, or is refused."""
        return self._has_ended

    def walk(self, data: bytes, at: int) -> int:
        """Return up to where `data` from `at` on are of whole chunks or of parts of one, CHUNKS_AT_ONCE at most.

        The next walk goes on there; once they `have_ended`, no other follows. Cost: what the sizes of the chunks take.
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
