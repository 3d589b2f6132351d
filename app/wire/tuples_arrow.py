"""Rows as an Arrow IPC stream: the fields are checked before any buffer is read.

Fields are found by name, in any order; one that is absent is all NULL. What widens without loss is
taken: narrower integers for int64, float32 for float64, dictionary-encoded and large strings, any time
zone for timestamps of microseconds (the instant is the same). Nothing else is converted.
"""

import functools
import struct
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.errors import BadBodyError
from app.wire.arrow_messages import StreamEndError, batch_headers
from app.wire.bounds import check_decoded_size, check_row_count
from app.wire.row_errors import (
    MISSING,
    OUT_OF_RANGE,
    TYPE_MISMATCH,
    UNKNOWN_COLUMN,
    RowError,
    RowErrors,
    WrongValue,
    pointer,
    reject_columns,
    value_error,
)
from app.wire.values import judge_text, texts_fit, timestamps_in_range
from engine import limits
from engine.tuples.arrow import ARROW_TYPES
from engine.tuples.schema import ColumnSchema, ColumnType, StreamSchema

_UNREADABLE = (pa.ArrowException, ValueError, OSError, EOFError, LookupError, struct.error)
"""What Arrow's readers raise over damaged bytes; names that are not UTF-8 are a ValueError."""
_NARROW_INTS = frozenset(
    {pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32(), pa.int64()}
)


def arrays_from_arrow(body: bytes, schema: StreamSchema) -> list[pa.Array]:
    """Return one Arrow array per column, each of its exact type.

    Raises:
        BadBodyError: not one whole Arrow IPC stream, compressed buffers, or buffers that contradict each
            other.
        BodyTooLargeError: more than BATCH_ROWS_MAX rows, or more text than a decoded body may have.
        RowsRejectedError: fields that do not exist, are missing or of a wrong type; values that do not fit.
    """
    try:
        _check_headers(body)
        with pa.ipc.open_stream(body) as reader:
            _check_fields(reader.schema, schema)
            table = reader.read_all()
        table.validate(full=True)
    except StreamEndError as error:
        raise BadBodyError(str(error), reason="end of stream", offset=error.offset) from error
    except _UNREADABLE as error:
        raise BadBodyError("The body is not an Arrow IPC stream.", reason="Arrow") from error
    arrays, errors, names = [], RowErrors(), set(table.column_names)
    for place, column in enumerate(schema.columns):
        if column.name not in names:
            arrays.append(pa.nulls(table.num_rows, ARROW_TYPES[column.type]))
            continue
        given = table.column(column.name)
        if column.type is ColumnType.STRING:
            _check_decoded_size(given)
        exact = ARROW_TYPES[column.type]
        given = given if given.type == exact else given.cast(exact)
        # One chunk, the usual number, would be copied.
        array = given.chunk(0) if given.num_chunks == 1 else given.combine_chunks()
        _judge_column(column, array, place, errors)
        arrays.append(array)
    errors.raise_if_any(None)
    return arrays


def _check_headers(body: bytes) -> None:
    rows = 0
    for header in batch_headers(body):
        if header.compressed:
            raise BadBodyError(
                "The stream's buffers are compressed. Send them plain; Content-Encoding may compress"
                " the whole.",
                reason="compressed Arrow buffers",
            )
        rows += 0 if header.dictionary else header.rows
    check_row_count(rows)


def _check_fields(given: pa.Schema, schema: StreamSchema) -> None:
    if len(set(given.names)) < len(given.names):
        raise BadBodyError("The schema names a field twice.", reason="schema")
    known = [column.name for column in schema.columns]
    unknown = [name for name in given.names if name not in known]
    reject_columns(unknown, UNKNOWN_COLUMN, known).raise_if_any(None)
    missing = [c.name for c in schema.columns if not c.nullable and c.name not in given.names]
    reject_columns(missing, MISSING, known).raise_if_any(None)
    errors = RowErrors()
    for place, column in enumerate(schema.columns):
        if column.name not in given.names:
            continue
        kind = given.field(column.name).type
        if not _fits(column, kind):
            wanted = str(ARROW_TYPES[column.type])
            errors.add(
                RowError(None, pointer(column.name), TYPE_MISMATCH, wanted, str(kind)[:64]),
                place=place,
            )
    errors.raise_if_any(None)


def _fits(column: ColumnSchema, kind: pa.DataType) -> bool:
    if pa.types.is_null(kind):
        return column.nullable
    if column.type is ColumnType.INT64:
        return kind in _NARROW_INTS
    if column.type is ColumnType.FLOAT64:
        return kind in (pa.float32(), pa.float64())
    if column.type is ColumnType.BOOL:
        return bool(pa.types.is_boolean(kind))
    if column.type is ColumnType.STRING:
        inner = kind.value_type if pa.types.is_dictionary(kind) else kind
        return inner in (pa.string(), pa.large_string())
    return pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz is not None


def _check_decoded_size(texts: pa.ChunkedArray) -> None:
    """Refuse texts that outgrow a body: a dictionary's text may be named by every row."""
    size = 0
    for chunk in texts.chunks:
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.binary_length(chunk.dictionary).cast(pa.int64()).take(chunk.indices)
            size += pc.sum(lengths).as_py() or 0
    check_decoded_size(size, bytes_max=limits.BODY_DECODED_BYTES_MAX)


def _judge_column(column: ColumnSchema, array: pa.Array, place: int, errors: RowErrors) -> None:
    error = functools.partial(value_error, column)
    if array.null_count and not column.nullable:
        nulls = pc.indices_nonzero(array.is_null()).to_pylist()
        errors.add_each(((i, MISSING, None) for i in nulls), error, place=place)
    errors.add_each(_wrong_values(column, array), error, place=place)


def _wrong_values(column: ColumnSchema, array: pa.Array) -> Iterator[WrongValue]:
    """Yield (row, code, value) of each value its exact type holds and a stream does not."""
    if column.type is ColumnType.FLOAT64:
        if not array.null_count and np.isfinite(array.to_numpy()).all():
            return
        # NaN and infinities have no JSON: their names are shown.
        for i in pc.indices_nonzero(pc.invert(pc.is_finite(array))).to_pylist():
            yield i, OUT_OF_RANGE, str(array[i].as_py())
    elif column.type is ColumnType.TIMESTAMP:
        us = array.view(pa.int64())
        if not timestamps_in_range(us):
            early = pc.less(us, limits.TIMESTAMP_US_MIN)
            late = pc.greater(us, limits.TIMESTAMP_US_MAX)
            for i in pc.indices_nonzero(pc.or_(early, late)).to_pylist():
                yield i, OUT_OF_RANGE, us[i].as_py()
    elif column.type is ColumnType.STRING and not texts_fit(array):
        for i, text in enumerate(array.to_pylist()):
            code = None if text is None else judge_text(text)
            if code is not None:
                yield i, code, text
