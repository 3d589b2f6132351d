"""What an Arrow IPC stream says of itself, read before any of its buffers is: size, rows, compression, its end.

Arrow offers neither without decoding a batch, and a few hostile bytes can claim to decode to terabytes.
So the two members are read from the flatbuffer that Arrow has verified (`Message.fbs`, `RecordBatch`).
Nor does its reader tell a stream that ended from one that was cut between messages, or say what comes
after the end: rows would be lost in silence. So the mark of the end is asked for, and must be the last.
Each message costs some tens of microseconds, an empty one too, and each field of a schema one: messages are counted,
and their metadata weighed, before Arrow reads them.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from psoup.app.errors import BadBodyError, BodyTooLargeError
from psoup.engine import limits

UNREADABLE = (pa.ArrowException, ValueError, OSError, EOFError, LookupError, struct.error)
"""What Arrow's readers raise over damaged bytes; names that are not UTF-8 are a ValueError."""

_HEADER_FIELD = 2
_DICTIONARY_DATA_FIELD = 1
_LENGTH_FIELD = 0
_COMPRESSION_FIELD = 3
_CONTINUATION = b"\xff\xff\xff\xff"
_END_MARKS = (b"\xff\xff\xff\xff\0\0\0\0", b"\0\0\0\0")
"""Of the present format and of the one before Arrow 0.15: a message of no length."""


class StreamEndError(ValueError):
    """The stream does not end where its bytes do; `offset` is where it should go on, or should not."""

    def __init__(self, message: str, *, offset: int) -> None:
        """Keep the offset, in bytes."""
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """One batch of a stream, a dictionary's or of rows, by what its metadata say."""

    rows: int
    dictionary: bool
    compressed: bool


def batch_headers(body: bytes) -> Iterator[BatchHeader]:
    """Yield the headers of all batches in the stream `body`; no buffer is read.

    Raises:
        pyarrow.ArrowInvalid, OSError: it is not an Arrow IPC stream.
        StreamEndError: no mark of its end, or bytes after it; raised after the last header.
        struct.error: its metadata lead outside themselves.
        BodyTooLargeError: more than ARROW_MESSAGES_MAX messages, or one of more than ARROW_METADATA_BYTES_MAX metadata.
    """
    source = pa.BufferReader(body)
    messages = 0
    while not _ends(body, source.tell()):
        messages += 1
        _check_message(body, source.tell(), messages)
        message = pa.ipc.read_message(source)
        if message.type in ("record batch", "dictionary"):
            yield _header(message.metadata.to_pybytes(), dictionary=message.type == "dictionary")


def plain_rows(body: bytes) -> int:
    """Return how many rows the stream `body` has, whose buffers are not compressed; none of them is read.

    Raises:
        BadBodyError: its buffers are compressed.
        what `batch_headers` raises.
    """
    rows = 0
    for header in batch_headers(body):
        if header.compressed:
            raise BadBodyError(
                "The stream's buffers are compressed. Send them plain; Content-Encoding may compress"
                " the whole.",
                reason="compressed Arrow buffers",
            )
        rows += 0 if header.dictionary else header.rows
    return rows


def unreadable(error: Exception) -> BadBodyError:
    """Return the refusal of a body whose reading as an Arrow IPC stream raised one of UNREADABLE."""
    if isinstance(error, StreamEndError):
        return BadBodyError(str(error), reason="end of stream", offset=error.offset)
    return BadBodyError("The body is not an Arrow IPC stream.", reason="Arrow")


def _ends(body: bytes, at: int) -> bool:
    """Return whether the stream ends at `at`, where a message would begin."""
    if at >= len(body):
        raise StreamEndError("The stream has no mark of its end: it may have been cut.", offset=at)
    for mark in _END_MARKS:
        if body.startswith(mark, at):
            end = at + len(mark)
            if end < len(body):
                raise StreamEndError("The stream ends before the body does.", offset=end)
            return True
    return False


def _check_message(body: bytes, at: int, messages: int) -> None:
    """Refuse the message at `at`, which is the stream's `messages`-th, if Arrow would take too long to read it."""
    if messages > limits.ARROW_MESSAGES_MAX:
        raise BodyTooLargeError(
            f"The stream has more than {limits.ARROW_MESSAGES_MAX} messages: send more rows in each batch.",
            limit="messages of an Arrow stream",
            max_messages=limits.ARROW_MESSAGES_MAX,
        )
    at += len(_CONTINUATION) * body.startswith(_CONTINUATION, at)
    length = int(struct.unpack_from("<i", body, at)[0])
    if (
        limits.ARROW_METADATA_BYTES_MAX < length <= len(body) - at
    ):  # what a body does not hold is refused as damaged
        raise BodyTooLargeError(
            "A message of the stream has too many bytes of metadata: send fewer fields, and less that describes them.",
            limit="metadata of an Arrow message",
            max_bytes=limits.ARROW_METADATA_BYTES_MAX,
        )


def _header(metadata: bytes, *, dictionary: bool) -> BatchHeader:
    table = _follow(metadata, 0)
    table = _follow(metadata, _field(metadata, table, _HEADER_FIELD))
    if dictionary:
        table = _follow(metadata, _field(metadata, table, _DICTIONARY_DATA_FIELD))
    at = _field(metadata, table, _LENGTH_FIELD)
    rows = struct.unpack_from("<q", metadata, at)[0] if at else 0
    compressed = _field(metadata, table, _COMPRESSION_FIELD) != 0
    return BatchHeader(rows=rows, dictionary=dictionary, compressed=compressed)


def _follow(metadata: bytes, at: int) -> int:
    """Return the place that the offset stored at `at` leads to."""
    return at + int(struct.unpack_from("<I", metadata, at)[0])


def _field(metadata: bytes, table: int, index: int) -> int:
    """Return where the table's `index`-th member lies; 0 = it has its default."""
    vtable = table - int(struct.unpack_from("<i", metadata, table)[0])
    size = int(struct.unpack_from("<H", metadata, vtable)[0])
    slot = 4 + 2 * index
    if slot >= size:
        return 0
    offset = int(struct.unpack_from("<H", metadata, vtable + slot)[0])
    return table + offset if offset else 0
