"""A few rows of JSON, as sensors and phones send them, straight to the body that the log keeps of them.

The kernels that read all plain JSON (`json_text`) read the text. The words that they write are buffers of the body as
they are, but for texts, booleans and NULLs. So the body is written around them, without arrays and batches of Arrow,
each of which takes longer to make than a row takes to read.

There is no refusal here, nor a second look at anything: bodies that need one are left to `json_text` and the checks
behind it.
"""

import math
import struct
from collections.abc import Iterable, Sequence
from typing import Final

from psoup.engine.kernels.json_bodies import FewReader, Form
from psoup.engine.kernels.json_values import LITERAL, NULL, SPAN_BITS
from psoup.engine.tuples.batch_writer import BatchWriter, Bytes
from psoup.engine.tuples.json_text import LENGTH_MASK, columns_to_read
from psoup.engine.tuples.schema import ColumnSchema, ColumnType, StreamSchema
from psoup.engine.tuples.time_unit import COARSE_COUNTS, instant_of

_WORD_BYTES: Final = 8


class FewRowsReader:
    """Reads small bodies of one stream: what `encode_batch` writes of the columns that `arrays_from_json_text` returns.

    Any thread may use it.
    """

    def __init__(self, schema: StreamSchema) -> None:
        """Prepare for bodies of this declaration."""
        self._columns = schema.columns
        self._time_index = schema.time_index
        columns = columns_to_read(schema.columns)
        self._reader = None if columns is None else FewReader(columns)
        self._writer = BatchWriter(schema)

    def read(self, body: bytes, form: Form, *, latest_us: int) -> tuple[int, bytes] | None:
        """Return how many rows a body has, one or more, and the body of the log with them.

        Args:
            body: as it was sent; so small that no row of it is larger than ROW_BYTES_MAX.
            form: how its rows are written, not COLUMNS.
            latest_us: what no row may be dated past.

        Returns:
            None where the body is not read here: it has no rows or many, is not written plainly or not right, a text
            has escapes, a row is dated too late, or instants look as if they were of another unit.

        Cost: about 10 microseconds, and one for each text, instant and column with NULLs.
        """
        if self._reader is None:
            return None
        if not body.isascii() and not _is_utf8(body):
            return None
        rows, room, memory, states = self._reader.read(body, form)
        if rows < 1:
            return None
        words = memoryview(memory)[: _WORD_BYTES * len(states)].cast("q")
        nulls: list[int] = []
        buffers: list[Bytes] = []
        for place, column in enumerate(self._columns):
            first, past = place * room, place * room + rows
            own, values = states[first:past], words[first:past]
            if LITERAL in own and not _read_literals(column.type, body, own, values):
                return None
            if column.type is ColumnType.TIMESTAMP:
                latest = latest_us if place == self._time_index else None
                if not _are_instants(column, values, latest):
                    return None
            missing = own.count(NULL)
            nulls.append(missing)
            buffers.append(_bits(state != NULL for state in own) if missing else b"")
            if column.type is ColumnType.STRING:
                buffers += _texts(body, values)
            elif column.type is ColumnType.BOOL:
                buffers.append(_bits(values))
            else:
                buffers.append(values.tobytes())
        return rows, self._writer.body(rows, tuple(nulls), buffers)


def _is_utf8(body: bytes) -> bool:
    """Return whether the bytes are UTF-8: of few bytes a text is made sooner than Arrow looks at them (`json_text`)."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read_literals(kind: ColumnType, body: bytes, states: Bytes, values: memoryview) -> bool:
    """Put floats in place of the spans that the kernel left; return whether all literals were floats that fit.

    Texts with escapes are not.
    """
    if kind is not ColumnType.FLOAT64:
        return False
    for row, state in enumerate(states):
        if state == LITERAL:
            size = float(_text(body, values[row]))
            if math.isinf(size):
                return False
            values[row : row + 1] = memoryview(struct.pack("<d", size)).cast("q")
    return True


def _are_instants(column: ColumnSchema, values: memoryview, latest_us: int | None) -> bool:
    """Bring counts of a column's unit to microseconds, in place; return whether all are instants that fit.

    False as well where one is dated past `latest_us`, and where one may have been sent in another unit.
    """
    if column.unit is None:
        if any(us in COARSE_COUNTS for us in values):
            return False
    else:
        for row, count in enumerate(values):
            us = instant_of(count, column.unit)
            if us is None:
                return False
            values[row] = us
    return latest_us is None or max(values) <= latest_us


def _text(body: bytes, span: int) -> bytes:
    begin = span >> SPAN_BITS
    return body[begin : begin + (span & LENGTH_MASK)]


def _texts(body: bytes, spans: Sequence[int]) -> tuple[bytes, bytes]:
    """Return where each text ends, and the texts."""
    texts = [_text(body, span) for span in spans]
    ends = [0]
    for text in texts:
        ends.append(ends[-1] + len(text))
    return struct.pack(f"<{len(ends)}i", *ends), b"".join(texts)


def _bits(values: Iterable[int]) -> bytes:
    """Return numbers that are 0 or 1 as bits, the first one the lowest."""
    bits = rows = 0
    for value in values:
        bits |= value << rows
        rows += 1
    return bits.to_bytes(-(-rows // 8), "little")
