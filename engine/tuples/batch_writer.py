"""From the values of a batch to a logged body, without making Arrow arrays: the twin of `batch_reader`.

A batch of one tuple is a whole operation, and pyarrow takes longer to put three messages around it than everything else
that is done with its values. All bodies of a stream differ in a few numbers and in their values alone: the rest is
written by pyarrow once. Source: Apache Arrow columnar format 1.5, "IPC Streaming Format".
"""

import struct
from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from psoup.engine.tuples import ipc
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ColumnType, StreamSchema

_WORD: Final = b"\1" * ipc.WORD_BYTES
_ONE: Final[dict[ColumnType, tuple[bytes, ...]]] = {
    ColumnType.INT64: (_WORD,),
    ColumnType.FLOAT64: (_WORD,),
    ColumnType.BOOL: (b"\1",),
    ColumnType.STRING: (b"\0\0\0\0\1\0\0\0", b"a"),
    ColumnType.TIMESTAMP: (_WORD,),
}
"""The buffers of one value of each type, none of which is empty."""
HEADS_MAX: Final = 8
"""Of a stream. A head is some hundred bytes, and there may be thousands of streams."""
_PADDING: Final = tuple(bytes(-length % ipc.WORD_BYTES) for length in range(ipc.WORD_BYTES))
"""What follows a buffer, by its length modulo 8."""

Bytes = bytes | bytearray


class BatchWriter:
    """Writes the bodies of one stream, each as `encode_batch` writes the same rows."""

    def __init__(self, schema: StreamSchema) -> None:
        """Have pyarrow write a body of this declaration."""
        arrow = arrow_schema(schema)
        # Not of values: the first of them that pyarrow is given makes it load pandas, where that is installed.
        values = [
            pa.Array.from_buffers(field.type, 1, [None, *map(pa.py_buffer, _ONE[column.type])])
            for column, field in zip(schema.columns, arrow, strict=True)
        ]
        begin = arrow.serialize().to_pybytes()
        message = pa.RecordBatch.from_arrays(values, schema=arrow).serialize().to_pybytes()
        metadata = ipc.metadata_of(message, 0)
        slots = ipc.slots(metadata)
        assert slots is not None, "pyarrow writes uncompressed batches of format 5"
        front = begin + message[: ipc.PREFIX_BYTES]
        self._begin = front + metadata
        self._slots = ipc.Slots(*(len(front) + slot for slot in slots))
        self._heads: dict[tuple[object, ...], bytes] = {}

    def body(self, rows: int, nulls: tuple[int, ...], buffers: Sequence[Bytes]) -> bytes:
        """Return the body of a batch.

        Args:
            rows: of the batch, 1 or more.
            nulls: how many there are in each column.
            buffers: of all columns, in the order of the format (`batch_reader.BUFFERS`): for each column first which
                values are valid, no bytes where all are.

        Cost: a microsecond; 3 more for lengths that were not met lately.
        """
        sizes = tuple(map(len, buffers))
        key = rows, nulls, sizes
        head = self._heads.get(key)
        if head is None:
            head = self._head(rows, nulls, sizes)
            if len(self._heads) >= HEADS_MAX:
                self._heads.clear()
            self._heads[key] = head
        parts: list[Bytes] = [head]
        for buffer, size in zip(buffers, sizes, strict=True):
            if size:
                parts += (buffer, _PADDING[size % ipc.WORD_BYTES])
        parts.append(ipc.END)
        return b"".join(parts)

    def _head(self, rows: int, nulls: tuple[int, ...], sizes: tuple[int, ...]) -> bytes:
        """Return all that stands before the values."""
        places: list[int] = []
        past = 0
        for size in sizes:
            places += (past, size)
            past += size + len(_PADDING[size % ipc.WORD_BYTES])
        head, slots = bytearray(self._begin), self._slots
        struct.pack_into("<q", head, slots.rows, rows)
        struct.pack_into("<q", head, slots.body_length, past)
        pairs = [number for missing in nulls for number in (rows, missing)]
        struct.pack_into(f"<{len(pairs)}q", head, slots.columns, *pairs)
        struct.pack_into(f"<{len(places)}q", head, slots.buffers, *places)
        return bytes(head)
