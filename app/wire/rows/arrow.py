"""Rows as an Arrow IPC stream: the fields are checked before any buffer is read.

Fields are found by name, in any order; one that is absent is all NULL. What widens without loss is
taken: narrower integers for int64, float32 for float64, dictionary-encoded and large strings, any time
zone for timestamps of microseconds (the instant is the same). Nothing else is converted.
"""

import functools
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from psoup.app.errors import BadBodyError
from psoup.app.wire.bounds import check_decoded_size, check_row_count
from psoup.app.wire.reasons import first_repeated
from psoup.app.wire.rows.arrow_messages import UNREADABLE, plain_rows, unreadable
from psoup.app.wire.rows.errors import (
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
from psoup.app.wire.rows.values import judge_text, texts_fit, timestamps_in_range
from psoup.engine import limits
from psoup.engine.tuples.arrow import ARROW_TYPES, arrow_schema
from psoup.engine.tuples.schema import ColumnSchema, ColumnType, StreamSchema

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
        check_row_count(plain_rows(body))
        columns, rows = _read(body, schema)
    except UNREADABLE as error:
        raise unreadable(error) from error
    arrays, errors = [], RowErrors()
    for place, column in enumerate(schema.columns):
        given = columns.get(column.name)
        if given is None:
            arrays.append(pa.nulls(rows, ARROW_TYPES[column.type]))
            continue
        array = _exact(column, given)
        if not _all_fit(column, array):
            _judge_column(column, array, place, errors)
        arrays.append(array)
    errors.raise_if_any(None)
    return arrays


def _read(
    body: bytes, schema: StreamSchema
) -> tuple[Mapping[str, pa.Array | pa.ChunkedArray], int]:
    """Return the stream's columns by name, and how many rows they have.

    Raises:
        RowsRejectedError: fields that do not exist, are missing or of a wrong type.
    """
    with pa.ipc.open_stream(body) as reader:
        given = reader.schema
        # Most senders declare every field nullable, and mean nothing by it.
        if not (given.equals(arrow_schema(schema)) or given.equals(_nullable_schema(schema))):
            _check_fields(given, schema)
        batches = list(reader)
    # One batch, the usual number, would be copied if it were a chunk of a table.
    read = batches[0] if len(batches) == 1 else pa.Table.from_batches(batches, given)
    read.validate(full=True)
    return dict(zip(given.names, read.columns, strict=True)), read.num_rows


@functools.lru_cache(maxsize=limits.STREAMS_COUNT_CEILING)
def _nullable_schema(schema: StreamSchema) -> pa.Schema:
    """Return the stream's Arrow schema with NULL allowed in every field."""
    return pa.schema([field.with_nullable(nullable=True) for field in arrow_schema(schema)])


def _exact(column: ColumnSchema, given: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array of its exact type."""
    if column.type is ColumnType.STRING:
        _check_decoded_size(given)
    exact = ARROW_TYPES[column.type]
    if given.type != exact:
        given = given.cast(exact)
    return given if isinstance(given, pa.Array) else given.combine_chunks()


def _check_fields(given: pa.Schema, schema: StreamSchema) -> None:
    if len(set(given.names)) < len(given.names):
        twice = first_repeated(given.names)
        raise BadBodyError("The schema names a field twice.", reason="schema", column=twice)
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


def _check_decoded_size(texts: pa.Array | pa.ChunkedArray) -> None:
    """Refuse texts that outgrow a body: a dictionary's text may be named by every row."""
    size = 0
    for chunk in [texts] if isinstance(texts, pa.Array) else texts.chunks:
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.binary_length(chunk.dictionary).cast(pa.int64()).take(chunk.indices)
            size += pc.sum(lengths).as_py() or 0
    check_decoded_size(size, bytes_max=limits.BODY_DECODED_BYTES_MAX)


def _all_fit(column: ColumnSchema, array: pa.Array) -> bool:
    """Return whether a column is seen at once to hold nothing that a stream does not."""
    if array.null_count:
        return column.nullable and column.type in {ColumnType.INT64, ColumnType.BOOL}
    if column.type is ColumnType.FLOAT64:
        return bool(np.isfinite(array.to_numpy()).all())
    if column.type is ColumnType.TIMESTAMP:
        return timestamps_in_range(array.view(pa.int64()))
    return column.type is not ColumnType.STRING or texts_fit(array)


def _judge_column(column: ColumnSchema, array: pa.Array, place: int, errors: RowErrors) -> None:
    error = functools.partial(value_error, column)
    if array.null_count and not column.nullable:
        nulls = pc.indices_nonzero(array.is_null()).to_pylist()
        errors.add_each(((i, MISSING, None) for i in nulls), error, place=place)
    errors.add_each(_wrong_values(column, array), error, place=place)


def _wrong_values(column: ColumnSchema, array: pa.Array) -> Iterator[WrongValue]:
    """Yield (row, code, value) of each value its exact type holds and a stream does not."""
    if column.type is ColumnType.FLOAT64:
        # NaN and infinities have no JSON: their names are shown.
        for i in pc.indices_nonzero(pc.invert(pc.is_finite(array))).to_pylist():
            yield i, OUT_OF_RANGE, str(array[i].as_py())
    elif column.type is ColumnType.TIMESTAMP:
        us = array.view(pa.int64())
        early, late = pc.less(us, limits.TIMESTAMP_US_MIN), pc.greater(us, limits.TIMESTAMP_US_MAX)
        for i in pc.indices_nonzero(pc.or_(early, late)).to_pylist():
            yield i, OUT_OF_RANGE, us[i].as_py()
    elif column.type is ColumnType.STRING and not texts_fit(array):
        for i, text in enumerate(array.to_pylist()):
            code = None if text is None else judge_text(text)
            if code is not None:
                yield i, code, text
