"""Trailers: the fields behind a chunked body. They are dropped, and bounded as the headers of a head are.

What comes behind a body cannot say how it is to be read, or who sends it: by then that is decided.
"""

from psoup.engine import limits


class Trailers:
    """Counts what of one chunked body is no data, and what of it the parser still holds."""

    def __init__(self) -> None:
        """Count for a request whose head has ended."""
        self._fields = self._field_bytes = self._held_bytes = 0
        self._has_progressed = False

    def progress(self) -> None:
        """See that the parser came to data, or to a chunk's end: it holds nothing."""
        self._has_progressed = True

    def field(self, name: bytes, value: bytes) -> None:
        """Count a trailer."""
        self._fields += 1
        self._field_bytes += len(name) + len(value) + 4
        self._has_progressed = True

    def fed(self, count: int) -> None:
        """See that the parser was given `count` bytes; without progress it holds them, a field that does not end."""
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
