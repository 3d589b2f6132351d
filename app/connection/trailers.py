"""Trailers: the fields behind a chunked body. They are dropped, and bounded as headers are.

They come too late to say how the body is to be read, or who sends it.
"""

from psoup.engine import limits


class Trailers:
    """Counts the trailers of one chunked body, and the bytes of an unfinished field that the parser holds."""

    def __init__(self) -> None:
        """Begin behind a head."""
        self._fields = self._field_bytes = self._held_bytes = 0
        self._has_progressed = False

    def progress(self) -> None:
        """The parser has met data or the end of a chunk: it holds no bytes."""
        self._has_progressed = True

    def field(self, name: bytes, value: bytes) -> None:
        """Count a trailer."""
        self._fields += 1
        self._field_bytes += len(name) + len(value) + 4
        self._has_progressed = True

    def fed(self, count: int) -> None:
        """The parser was given `count` bytes; without progress it holds them, as part of an unfinished field."""
        self._held_bytes = 0 if self._has_progressed else self._held_bytes + count
        self._has_progressed = False

    def are_too_large(self) -> bool:
        """Return whether they are over a bound."""
        most = limits.HEADERS_BYTES_MAX
        return (
            self._fields > limits.HEADERS_COUNT_MAX
            or self._field_bytes > most
            or self._held_bytes > most
        )
