"""A stream's tuples from JSON text, the quick way: bodies that are written plainly, straight to Arrow columns.

It reads what it reads exactly as a full parser and the checks of values behind it would, and leaves the rest to them:
escapes in names, 2^64, members that do not exist, whatever is wrong. So there is no refusal here.
"""

import functools
import json
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psoup.engine import limits
from psoup.engine.kernels import json_values
from psoup.engine.kernels.json_bodies import Form, cells_for, columns_of, read, room_for, text_of
from psoup.engine.kernels.json_rows import Columns, gather
from psoup.engine.kernels.json_values import LITERAL, NULL, SPAN_BITS, Bounds, Cells
from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.instants import instants_of
from psoup.engine.tuples.schema import ColumnSchema, ColumnType, StreamSchema

__all__ = ["Form", "arrays_from_json_text"]

_KINDS = {
    ColumnType.INT64: json_values.INT64,
    ColumnType.FLOAT64: json_values.FLOAT64,
    ColumnType.BOOL: json_values.BOOL,
    ColumnType.STRING: json_values.STRING,
    ColumnType.TIMESTAMP: json_values.TIMESTAMP,
}
_BOUNDS = Bounds(
    number_length=limits.JSON_NUMBER_LENGTH_MAX,
    text_bytes=limits.STRING_BYTES_MAX,
    earliest_us=limits.TIMESTAMP_US_MIN,
    latest_us=limits.TIMESTAMP_US_MAX,
)
LENGTH_MASK: Final = (1 << SPAN_BITS) - 1
"""Of a span."""
assert 6 * _BOUNDS.text_bytes + 3 <= LENGTH_MASK, (
    "a span holds the length of a text, escaped and quoted"
)


def arrays_from_json_text(body: bytes, schema: StreamSchema, form: Form) -> list[pa.Array] | None:
    """Return one Arrow array per column, of its exact type; None where the body is not read here.

    Cost: about 2 ns a byte, and 40 microseconds; 50 ns more for a float that needs more than one operation,
    and 200 ns for a text with escapes.
    """
    columns = columns_to_read(schema.columns)
    if columns is None or not _is_utf8(body):
        return None
    text = text_of(body)
    room = room_for(text, form)
    values = room if form is Form.COLUMNS else room * columns.width
    if values > (limits.BATCH_ROWS_MAX + 1) * columns.width:
        return None
    cells = cells_for(values)
    rows, begins = read(text, form, columns, cells, room=room)
    if not 0 <= rows <= limits.BATCH_ROWS_MAX:
        return None
    return _arrays(schema, text, cells, begins, rows)


@functools.lru_cache(maxsize=limits.STREAMS_COUNT_CEILING)
def columns_to_read(columns: tuple[ColumnSchema, ...]) -> Columns | None:
    """Return the columns as the kernels take them; None where a name cannot stand in JSON as it is."""
    names = [column.name.encode() for column in columns]
    if any(b'"' in name or b"\\" in name for name in names):
        return None
    return columns_of(
        names,
        [_KINDS[_read_as(column)] for column in columns],
        [column.nullable for column in columns],
        _BOUNDS,
    )


def _read_as(column: ColumnSchema) -> ColumnType:
    """Return the type a column's values are read as: integers for instants in a unit, unless some are texts."""
    return column.type if column.unit is None else ColumnType.INT64


def _is_utf8(body: bytes) -> bool:
    """Return whether the bytes are UTF-8, without making a text of them."""
    if body.isascii():
        return True
    offsets = pa.py_buffer(np.array([0, len(body)], np.int32))
    try:
        pa.StringArray.from_buffers(1, offsets, pa.py_buffer(body)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _arrays(
    schema: StreamSchema,
    text: NDArray[np.uint8],
    cells: Cells,
    begins: Sequence[int],
    rows: int,
) -> list[pa.Array] | None:
    """Return the columns; those that begin nowhere are NULL. None where what needed more care does not fit."""
    arrays = []
    for column, begin in zip(schema.columns, begins, strict=True):
        if begin < 0:
            arrays.append(pa.nulls(rows, ARROW_TYPES[column.type]))
            continue
        past = begin + rows
        own = Cells(cells.values[begin:past], cells.floats[begin:past], cells.states[begin:past])
        if _holds(own, LITERAL):
            array = _LITERAL_READERS[column.type](text, own)
        else:
            array = _array(_read_as(column), text, own)
        if array is not None and column.unit is not None:
            array = instants_of(array, column.unit)
            array = None if array is None else array.cast(ARROW_TYPES[column.type])
        if array is None:
            return None
        arrays.append(array)
    return arrays


def _holds(cells: Cells, state: int) -> bool:
    """Return whether a cell has the state; bytes tell it sooner than arrays."""
    return state in cells.states.tobytes()


def _array(kind: ColumnType, body: NDArray[np.uint8], cells: Cells) -> pa.Array:
    valid = None
    if _holds(cells, NULL):
        valid = pa.py_buffer(np.packbits(cells.states != NULL, bitorder="little"))
    if kind is ColumnType.STRING:
        return _texts(body, cells.values, valid)
    values = cells.values
    held = np.packbits(values != 0, bitorder="little") if kind is ColumnType.BOOL else values
    return pa.Array.from_buffers(ARROW_TYPES[kind], len(values), [valid, pa.py_buffer(held)])


def _texts(
    body: NDArray[np.uint8], spans: NDArray[np.int64], valid: pa.Buffer | None = None
) -> pa.StringArray:
    """Return the text of each span."""
    offsets = np.zeros(len(spans) + 1, np.int32)
    np.cumsum(spans & LENGTH_MASK, out=offsets[1:])
    data = np.empty(int(offsets[-1]), np.uint8)
    gather(body, spans, offsets, data)
    buffers = pa.py_buffer(offsets), pa.py_buffer(data)
    return pa.StringArray.from_buffers(len(spans), *buffers, valid)


def _floats(body: NDArray[np.uint8], cells: Cells) -> pa.Array | None:
    """Return a column of floats, some of which are spans yet; None where one is past all that there are."""
    (rows,) = np.nonzero(cells.states == LITERAL)
    found = _texts(body, cells.values[rows]).cast(pa.float64()).to_numpy()
    if not np.isfinite(found).all():
        return None
    cells.floats[rows] = found
    return _array(ColumnType.FLOAT64, body, cells)


def _escaped_texts(body: NDArray[np.uint8], cells: Cells) -> pa.Array | None:
    """Return a column of texts, some of which have escapes; None where one of these is not a text that fits."""
    escaped = cells.states == LITERAL
    spans = cells.values[escaped]
    # With its quotes and a comma behind each of them they are the elements of an array.
    quoted = _texts(body, spans - (1 << SPAN_BITS) + 3)
    data = np.frombuffer(quoted.buffers()[2], np.uint8).copy()
    data[np.frombuffer(quoted.buffers()[1], np.int32)[1:] - 1] = ord(",")
    try:
        texts = json.loads(b"[%b]" % data[:-1].tobytes())
        sizes = [len(text.encode()) for text in texts]
    except ValueError:  # no such escape, or half of a surrogate pair
        return None
    if max(sizes) > _BOUNDS.text_bytes or any("\0" in text for text in texts):
        return None
    plain = _array(ColumnType.STRING, body, cells)
    return pc.replace_with_mask(plain, pa.array(escaped), pa.array(texts, pa.string()))


_LITERAL_READERS = {ColumnType.FLOAT64: _floats, ColumnType.STRING: _escaped_texts}
