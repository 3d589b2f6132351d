"""The part of a request behind its head, while it arrives: a body of known length, or chunks and trailers."""

from psoup.app.connection.chunks import Chunks
from psoup.app.connection.trailers import Trailers
from psoup.app.http.framing import Frame


class ArrivingBody:
    """Progress of one request's body. The protocol reports what the parser meets.

    Attributes:
        frame: length or coding of the body, from the head.
        left: bytes of a body of known length that have not arrived.
        chunks: position in a chunked body; None = it is not chunked, or has ended.
    """

    __slots__ = ("_trailers", "chunks", "frame", "left")

    def __init__(self, frame: Frame | None = None) -> None:
        """Begin behind a head with this `frame`; None = no request is under way."""
        self.frame = frame or Frame()
        self.left = self.frame.length
        self.chunks = Chunks() if self.frame.chunked else None
        self._trailers = Trailers() if self.frame.chunked else None

    def data(self, count: int) -> None:
        """The parser has met `count` bytes of data."""
        if self._trailers is None:
            self.left -= count
        else:
            self._trailers.progress()

    def chunk(self) -> None:
        """The parser has met a chunk's size, or the trailers."""
        if self._trailers is not None:
            self._trailers.progress()

    def trailer(self, name: bytes, value: bytes) -> None:
        """The parser has met a trailer."""
        if self._trailers is not None:
            self._trailers.field(name, value)

    def fed(self, count: int) -> None:
        """The parser was given `count` bytes."""
        if self._trailers is not None and self.chunks is not None:
            self._trailers.fed(count)

    def end(self) -> None:
        """The parser has met the end of the request."""
        self.left, self.chunks = 0, None

    @property
    def has_ended(self) -> bool:
        """Whether the whole body has arrived."""
        return not self.left and self.chunks is None

    @property
    def has_large_trailers(self) -> bool:
        """Whether its trailers are over their bounds."""
        return self._trailers is not None and self._trailers.are_too_large()
