"""The frame of a request, from its head: whether it names one host, and where its body ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from psoup.app.errors import FramingError


@dataclass(frozen=True, slots=True)
class Frame:
    """How the bytes behind a head belong to its request.

    Attributes:
        length: of the body, in bytes; 0 where there is none, or the length is not known before.
        chunked: the body ends with its last chunk.
    """

    length: int = 0
    chunked: bool = False

    @property
    def has_body(self) -> bool:
        """Whether a body follows, or may follow."""
        return self.chunked or self.length > 0


class Parsed(Protocol):
    """What `frame_of` needs of uvicorn's parser."""

    def get_http_version(self) -> str:
        """Return the version of HTTP."""
        ...

    def should_upgrade(self) -> bool:
        """Return whether the request offers to go on in another protocol, in which the parser reads no body."""
        ...


_NO_BODY: Final = Frame()


def frame_of(headers: Sequence[tuple[bytes, bytes]], parser: Parsed) -> Frame:
    """Return the frame of a request. The parser has checked each header, and that lengths agree.

    Args:
        headers: of the request, in small letters.
        parser: of the rest of the head.

    Raises:
        FramingError: not one host, where HTTP/1.0 alone needs none; or a body behind an offer to upgrade.
    """
    hosts, length, chunked = 0, 0, False
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"content-length":
            length = int(value)
        elif name == b"transfer-encoding":
            chunked = True
    if hosts > 1 or (not hosts and parser.get_http_version() != "1.0"):
        raise FramingError("A request names the host it is for once: send one Host header.")
    if not chunked and not length:
        return _NO_BODY
    if parser.should_upgrade():
        raise FramingError("A request that offers to upgrade the connection has no body here.")
    return Frame(0 if chunked else length, chunked)


def has_body(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Return whether a body follows these headers, or may."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0") != b"")
        for name, value in headers
    )
