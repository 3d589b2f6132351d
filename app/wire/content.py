"""Content encodings of bodies: gzip and zstd, one layer, decoded piece by piece under two bounds.

A body may grow to its limit and, past the first MiB, to 50 times what was sent: of the whole of it, since columns
that come first may repeat one value throughout. Both are checked while decoding, so a bomb costs no more than that.
"""

import zlib
from collections.abc import Iterator

import zstandard

from app.errors import BadBodyError, BodyTooLargeError, UnsupportedMediaError
from app.wire.bounds import check_decoded_size
from engine import limits

ENCODINGS = ("gzip", "zstd")
_GZIP_PIECE = 256 * limits.KIB
_ZSTD_PIECE = 512
"""Of a hostile body 512 bytes decode to at most 16 MiB (an RLE block: 4 bytes to 128 KiB)."""
_ZSTD_WINDOW_MAX = 32 * limits.MIB
_GZIP_WBITS = 31


def decode_body(body: bytes, encoding: str, *, bytes_max: int) -> bytes:
    """Return the body without its content encoding.

    Raises:
        UnsupportedMediaError: an encoding that is not taken.
        BodyTooLargeError: more than one layer, more than `bytes_max` decoded, or a bomb's ratio.
        BadBodyError: not what the encoding says, or cut short.
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
            "This content encoding is not taken.", supported=list(ENCODINGS)
        )
    decoded = bytearray()
    for piece in pieces:
        decoded += piece
        _check_size(len(decoded), len(body), bytes_max)
    return bytes(decoded)


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
    """Yield decoded pieces, over all members."""
    rest = body
    while rest:
        member = zlib.decompressobj(_GZIP_WBITS)
        ended = False
        while not ended:
            try:
                piece = member.decompress(rest, _GZIP_PIECE)
            except zlib.error as error:
                raise _broken("gzip", len(body) - len(rest)) from error
            ended = member.eof
            rest = member.unused_data if ended else member.unconsumed_tail
            if not (piece or rest or ended):
                raise _broken("gzip", len(body))
            yield piece


def _unzstd(body: bytes) -> Iterator[bytes]:
    """Yield decoded pieces, over all frames."""
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX)
    frame = decoder.decompressobj()
    for first in range(0, len(body), _ZSTD_PIECE):
        piece = body[first : first + _ZSTD_PIECE]
        while piece:
            if frame.eof:
                frame = decoder.decompressobj()
            try:
                decoded = frame.decompress(piece)
            except zstandard.ZstdError as error:
                raise _broken("zstd", first) from error
            piece = frame.unused_data if frame.eof else b""
            yield decoded
    if not frame.eof:
        raise _broken("zstd", len(body))


def _broken(encoding: str, offset: int) -> BadBodyError:
    return BadBodyError(
        f"The body is not whole {encoding}.", reason=f"not {encoding}, or cut short", offset=offset
    )
