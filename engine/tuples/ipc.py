"""Where the values of a logged batch lie in its bytes, read off the Arrow IPC stream itself.

A batch of one tuple is a whole operation, and opening a stream takes pyarrow longer than everything else that is
done with it. The log's streams are plain: the schema's message, one record batch that is not compressed, the end.
A stream that differs by a single byte is not read here: `arrow.decode_batch` reads it or refuses it.
Source: Apache Arrow columnar format 1.5, "IPC Streaming Format"; FlatBuffers, "Internals".
"""

import struct
from typing import Final, NamedTuple

CONTINUATION: Final = b"\xff\xff\xff\xff"
END: Final = CONTINUATION + b"\0\0\0\0"
WORD_BYTES: Final = 8
PREFIX_BYTES: Final = 8
"""Of a message, in front of its metadata: the continuation, and how long they are."""

_COUNT_BYTES: Final = 4
"""In front of the elements of a vector."""
_VERSION_5: Final = 4
_RECORD_BATCH: Final = 3


class Buffer(NamedTuple):
    """A run of bytes, by its place in the stream."""

    begin: int
    length: int


class Layout(NamedTuple):
    """What the message of a record batch says.

    Attributes:
        rows: of the batch.
        null_counts: of each column.
        buffers: of all columns, in the order of the format.
        begin: where the values begin in the stream.
        past: length of the whole stream, the end marker included.
    """

    rows: int
    null_counts: tuple[int, ...]
    buffers: tuple[Buffer, ...]
    begin: int
    past: int


def metadata_of(stream: bytes, begin: int) -> bytes:
    """Return the metadata of the message that begins at `begin`; empty if there is no message."""
    if stream[begin : begin + 4] != CONTINUATION:
        return b""
    length = int.from_bytes(stream[begin + 4 : begin + 8], "little")
    first = begin + PREFIX_BYTES
    return stream[first : first + length]


class Slots(NamedTuple):
    """Where the metadata of a record batch's message has the numbers that differ between batches of one stream.

    Attributes:
        rows, body_length: each an int64.
        columns: a pair of int64 for each column, its rows and how many of them are NULL.
        buffers: a pair of int64 for each buffer, where it begins in the body, and its length.
    """

    rows: int
    body_length: int
    columns: int
    buffers: int


def layout(metadata: bytes, begin: int) -> Layout | None:
    """Return the layout that the metadata of a message describes; the message begins at `begin` of its stream.

    Returns:
        None if this is no uncompressed record batch of format 5 whose parts lie where they have to.
    """
    try:
        return _layout(metadata, begin + PREFIX_BYTES + len(metadata))
    except (struct.error, IndexError):  # it leads outside itself
        return None


def slots(data: bytes) -> Slots | None:
    """Return where a message's metadata has its numbers; None if this is no uncompressed record batch of format 5.

    Raises:
        struct.error, IndexError: it leads outside itself.
    """
    version, kind, header, length, *_ = *_fields(data, _pointed(data, 0)), 0, 0, 0, 0
    if not (version and kind and header and length):
        return None
    if struct.unpack_from("<h", data, version)[0] != _VERSION_5 or data[kind] != _RECORD_BATCH:
        return None
    count, columns, places, *more = *_fields(data, _pointed(data, header)), 0, 0, 0
    if not (count and columns and places) or any(more):  # more: it is compressed
        return None
    of_columns, of_buffers = _pointed(data, columns), _pointed(data, places)
    return Slots(count, length, of_columns + _COUNT_BYTES, of_buffers + _COUNT_BYTES)


def _layout(data: bytes, body: int) -> Layout | None:
    found = slots(data)
    if found is None:
        return None
    (body_length,) = struct.unpack_from("<q", data, found.body_length)
    (rows,) = struct.unpack_from("<q", data, found.rows)
    nodes = _pairs(data, found.columns)
    buffers = _pairs(data, found.buffers)
    inside = all(at >= 0 and 0 <= size <= body_length - at for at, size in buffers)
    whole = all(held == rows and 0 <= nulls <= rows for held, nulls in nodes)
    if not (inside and whole) or any((body + at) % WORD_BYTES for at, _ in buffers):
        return None
    return Layout(
        rows,
        tuple(nulls for _, nulls in nodes),
        tuple(Buffer(body + at, size) for at, size in buffers),
        body,
        body + body_length + len(END),
    )


def _pointed(data: bytes, at: int) -> int:
    """Return the place that the offset at `at` leads to."""
    (offset,) = struct.unpack_from("<I", data, at)
    return at + int(offset)


def _fields(data: bytes, table: int) -> tuple[int, ...]:
    """Return the place of each field of the table at `table`; 0 for one that is not there."""
    (back,) = struct.unpack_from("<i", data, table)
    vtable = table - back
    if vtable < 0:
        return ()
    (size,) = struct.unpack_from("<H", data, vtable)
    offsets = struct.unpack_from(f"<{max(0, size - 4) // 2}H", data, vtable + 4)
    return tuple(table + offset if offset else 0 for offset in offsets)


def _pairs(data: bytes, first: int) -> list[tuple[int, int]]:
    """Return the elements, each two numbers, of the vector whose first one is at `first`."""
    (count,) = struct.unpack_from("<I", data, first - _COUNT_BYTES)
    numbers = struct.unpack_from(f"<{2 * count}q", data, first)
    return list(zip(numbers[::2], numbers[1::2], strict=True))
