"""A stream's tuples as Arrow: the form in which batches rest in the log and travel in bulk.

The Arrow schema of a stream is exact: int64, float64, bool, string (UTF-8), timestamp[us, UTC], in
declared order. The maker of a batch casts and checks first (`app/wire/rows/body.py`); a reader asserts.
"""

import functools

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psoup.engine import limits
from psoup.engine.errors import IntegrityError
from psoup.engine.tuples import ipc
from psoup.engine.tuples.batch import DTYPES, Column
from psoup.engine.tuples.schema import ColumnType, StreamSchema

ARROW_TYPES: dict[ColumnType, pa.DataType] = {
    ColumnType.INT64: pa.int64(),
    ColumnType.FLOAT64: pa.float64(),
    ColumnType.BOOL: pa.bool_(),
    ColumnType.STRING: pa.string(),
    ColumnType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
}


@functools.lru_cache(maxsize=limits.STREAMS_COUNT_CEILING)
def arrow_schema(schema: StreamSchema) -> pa.Schema:
    """Return the Arrow schema that every batch of this stream has."""
    return pa.schema(
        [pa.field(c.name, ARROW_TYPES[c.type], nullable=c.nullable) for c in schema.columns]
    )


def encode_batch(batch: pa.RecordBatch) -> bytes:
    """Return the batch as one Arrow IPC stream, uncompressed.

    Its messages are put together here: a sink that grows would copy them once more, and its buffer to bytes again.
    """
    return b"".join((batch.schema.serialize(), batch.serialize(), ipc.END))


def decode_batch(schema: StreamSchema, body: bytes) -> pa.RecordBatch:
    """Return the record batch that `encode_batch` wrote; added columns that it was written without are NULL.

    Raises:
        IntegrityError: the bytes are not one Arrow IPC stream of one batch of exactly this stream.

    Cost: O(texts), which are looked at: Arrow would read wherever damaged ones lead.
    """
    try:
        with pa.ipc.open_stream(body) as reader:
            missing = len(schema.columns) - len(reader.schema)
            fits = 0 <= missing <= schema.added and reader.schema.equals(
                arrow_schema(schema.of_first(len(reader.schema)))
            )
            batches = list(reader)
        for batch in batches:
            batch.validate(full=True)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise IntegrityError(f"A batch of stream {schema.name} is not Arrow IPC.") from error
    if not fits or len(batches) != 1:
        raise IntegrityError(f"A batch does not have the columns of stream {schema.name}.")
    (batch,) = batches
    if not missing:
        return batch
    nulls = [pa.nulls(batch.num_rows, ARROW_TYPES[c.type]) for c in schema.columns[-missing:]]
    return pa.RecordBatch.from_arrays([*batch.columns, *nulls], schema=arrow_schema(schema))


def columns_from_arrow(schema: StreamSchema, batch: pa.RecordBatch) -> tuple[Column, ...]:
    """Return the record batch's columns; strings become codes into the batch's own dictionary.

    Cost: O(values); no Python object per value, one per distinct string.
    """
    return tuple(
        column_from_arrow(c.type, array)
        for c, array in zip(schema.columns, batch.columns, strict=True)
    )


def column_from_arrow(kind: ColumnType, array: pa.Array) -> Column:
    """Return one Arrow array of the type's exact Arrow type as a column."""
    valid: NDArray[np.bool_] | None = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
    if kind is ColumnType.STRING:
        coded = array.dictionary_encode()
        codes = coded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int32)
        return Column(kind, codes, valid, tuple(coded.dictionary.to_pylist()) or ("",))
    if kind is ColumnType.TIMESTAMP:
        array = array.cast(pa.int64())
    fill = False if kind is ColumnType.BOOL else 0
    values = (array.fill_null(fill) if array.null_count else array).to_numpy(zero_copy_only=False)
    return Column(kind, np.asarray(values, dtype=DTYPES[kind]), valid)


def column_to_arrow(column: Column) -> pa.Array:
    """Return the column as an Arrow array of its type's Arrow type."""
    mask = None if column.valid is None else ~column.valid
    if column.dictionary is not None:
        used, codes = np.unique(column.values, return_inverse=True)
        texts = pa.array([column.dictionary[code] for code in used.tolist()], pa.string())
        return pa.DictionaryArray.from_arrays(
            pa.array(codes.astype(np.int32), mask=mask), texts
        ).cast(pa.string())
    if column.type is ColumnType.TIMESTAMP:
        return pa.array(column.values, pa.int64(), mask=mask).cast(ARROW_TYPES[column.type])
    return pa.array(column.values, ARROW_TYPES[column.type], mask=mask)
