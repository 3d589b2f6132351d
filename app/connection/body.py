"""What is still to come of one request behind its head: a body of known length, or chunks and trailers."""

from psoup.app.connection.chunks import Chunks
from psoup.app.connection.trailers import Trailers
from psoup.app.http.framing import Frame


class ArrivingBody:
    """How far the body of one request has come.

    Attributes:
        frame: what the head said of it.
        left: bytes of a body of known length that are still to come.
        chunks: of a chunked body that has not ended.
    """

    def __init__(self, frame: Frame | None = None) -> None:
        """Begin behind a head that told `frame`; without one there is no request."""
        self.frame = frame or Frame()
        self.left = self.frame.length
        self.chunks = Chunks() if self.frame.chunked else None
        self._trailers = Trailers() if self.frame.chunked else None

    def data(self, count: int) -> None:
        """See that the parser came to `count` bytes of data."""
        if self._trailers is None:
            self.left -= count
        else:
            self._trailers.progress()

    def chunk(self) -> None:
        """See that the parser came to a chunk, or to the trailers."""
        if self._trailers is not None:
            self._trailers.progress()

    def trailer(self, name: bytes, value: bytes) -> None:
        """See that the parser came to a trailer."""
        if self._trailers is not None:
            self._trailers.field(name, value)

    def fed(self, count: int) -> None:
        """See that the parser was given `count` bytes."""
        if self._trailers is not None and self.chunks is not None:
            self._trailers.fed(count)

    def end(self) -> None:
        """See that the parser came to the end of the request."""
        self.left, self.chunks = 0, None

    @property
    def has_ended(self) -> bool:
        """Whether nothing is to come any more."""
        return not self.left and self.chunks is None

    @property
    def has_large_trailers(self) -> bool:
        """Whether its trailers are over their bounds."""
        return self._trailers is not None and self._trailers.are_too_large()
