"""Content encodings of bodies: gzip and zstd, one layer, decoded piece by piece under three bounds.

A body may grow to its limit and, past the first MiB, to 50 times what was sent: of the whole of it, since columns
that come first may repeat one value throughout. And it may have so many members (of gzip) or frames (of zstd): each
costs a decoder of its own, and an empty one is some ten bytes. All are checked while decoding, so a bomb costs no more
than that, and between two pieces the caller may end the decoding.
"""

import io
import zlib
from collections.abc import Callable, Iterator

import zstandard

from psoup.app.errors import BadBodyError, BodyTooLargeError, UnsupportedMediaError
from psoup.app.wire.bounds import check_decoded_size
from psoup.engine import limits

ENCODINGS = ("gzip", "zstd")
_GZIP_PIECE = 16 * limits.KIB
"""Bytes taken at a time. A member that ends leaves the rest of its piece, which is copied: no more than this."""
_GZIP_DECODED_PIECE = 256 * limits.KIB
_ZSTD_PIECE = 512
"""Of a hostile body 512 bytes decode to at most 16 MiB (an RLE block: 4 bytes to 128 KiB)."""
_ZSTD_WINDOW_MAX = 32 * limits.MIB
_GZIP_WBITS = 31


def decode_body(
    body: bytes,
    encoding: str,
    *,
    bytes_max: int,
    checkpoint: Callable[[int], None] = lambda _: None,
) -> bytes:
    """Return the body without its content encoding.

    Args:
        body: as it was sent.
        encoding: the header Content-Encoding.
        bytes_max: the most bytes it may decode to.
        checkpoint: called with the number of bytes decoded, before the first piece and after each. It ends the
            decoding by raising.

    Cost: linear in what is sent and what it decodes to, whatever the members.

    Raises:
        UnsupportedMediaError: an encoding that is not taken.
        BodyTooLargeError: more than one layer, more than `bytes_max` decoded, a bomb's ratio, or too many members.
        BadBodyError: not what the encoding says, or cut short.
        Exception: what `checkpoint` raises.
    """
    layers = [name for part in encoding.lower().split(",") if (name := part.strip())]
    layers = [name for name in layers if name != "identity"]
    if not layers:
        return body
    if len(layers) > 1:
        raise BodyTooLargeError(
            "The body is encoded more than once; one layer is taken.", limit="content encodings"
        )
    if layers[0] in ("gzip", "x-gzip"):
        pieces = _gunzip(body)
    elif layers[0] == "zstd":
        pieces = _unzstd(body)
    else:
        raise UnsupportedMediaError(
            f"This content encoding is not taken. Send the body by {' or '.join(ENCODINGS)}, or as it is.",
            supported=list(ENCODINGS),
            supported_encoding=", ".join(ENCODINGS),
        )
    decoded = io.BytesIO()
    checkpoint(0)
    for piece in pieces:
        decoded.write(piece)
        _check_size(decoded.tell(), len(body), bytes_max)
        checkpoint(decoded.tell())
    return decoded.getvalue()


def _check_size(decoded: int, sent: int, bytes_max: int) -> None:
    check_decoded_size(decoded, bytes_max=bytes_max)
    if decoded > limits.BODY_RATIO_FREE_BYTES and decoded > limits.BODY_RATIO_MAX * sent:
        raise BodyTooLargeError(
            f"The body decodes to more than {limits.BODY_RATIO_MAX} times its size: send it less"
            " compressed.",
            limit="compression ratio",
            max_bytes=limits.BODY_RATIO_MAX * sent,
        )


def _gunzip(body: bytes) -> Iterator[bytes]:
    """Yield decoded pieces, over all members; an empty one for input that decodes to nothing yet."""
    member, members = zlib.decompressobj(_GZIP_WBITS), 1
    for first, piece in _pieces(body, _GZIP_PIECE):
        rest: bytes | memoryview = piece
        while rest:
            if member.eof:
                member, members = zlib.decompressobj(_GZIP_WBITS), members + 1
                _check_members(members)
            try:
                decoded = member.decompress(rest, _GZIP_DECODED_PIECE)
            except zlib.error as error:
                raise _broken("gzip", first + len(piece) - len(rest)) from error
            rest = member.unused_data if member.eof else member.unconsumed_tail
            yield decoded
    while not member.eof:
        decoded = member.decompress(b"", _GZIP_DECODED_PIECE)
        if not decoded:
            raise _broken("gzip", len(body))
        yield decoded


def _unzstd(body: bytes) -> Iterator[bytes]:
    """Yield decoded pieces, over all frames, those that are to be skipped among them."""
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX)
    frame, frames = decoder.decompressobj(), 1
    for first, piece in _pieces(body, _ZSTD_PIECE):
        rest: bytes | memoryview = piece
        while rest:
            if frame.eof:
                frame, frames = decoder.decompressobj(), frames + 1
                _check_members(frames)
            try:
                decoded = frame.decompress(rest)
            except zstandard.ZstdError as error:
                raise _broken("zstd", first) from error
            rest = frame.unused_data if frame.eof else b""
            yield decoded
    if not frame.eof:
        raise _broken("zstd", len(body))


def _pieces(body: bytes, size: int) -> Iterator[tuple[int, memoryview]]:
    """Yield the body's offsets and pieces of `size` bytes."""
    view = memoryview(body)
    for first in range(0, len(body), size):
        yield first, view[first : first + size]


def _check_members(members: int) -> None:
    if members > limits.BODY_MEMBERS_MAX:
        raise BodyTooLargeError(
            f"The body is compressed in more than {limits.BODY_MEMBERS_MAX} members: compress it as one.",
            limit="members of a compressed body",
            max_members=limits.BODY_MEMBERS_MAX,
        )


def _broken(encoding: str, offset: int) -> BadBodyError:
    return BadBodyError(
        f"The body is not whole {encoding}.", reason=f"not {encoding}, or cut short", offset=offset
    )
