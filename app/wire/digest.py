"""An order-free digest of typed rows: how a producer's repeated version is told from another one.

The sum modulo 2^256 of SHA-256 of each row's canonical bytes: the same for every order of the rows and
every format they came in, and for a member left out and one sent as null. It detects accidents; it is
not a signature. Cost: about 1 microsecond a row and column.
"""

import hashlib
import struct

import pyarrow as pa

from engine.tuples.batch import DTYPES
from engine.tuples.schema import ColumnType, StreamSchema

DIGEST_BYTES = 32
_NULL = b"\0"
_PRESENT = b"\1"
_MODULUS = 1 << 256


def digest_rows(schema: StreamSchema, batch: pa.RecordBatch) -> bytes:
    """Return 32 bytes that are equal for equal bags of rows."""
    columns = [
        _cells(column.type, array)
        for column, array in zip(schema.columns, batch.columns, strict=True)
    ]
    total = 0
    for row in zip(*columns, strict=True):
        total += int.from_bytes(hashlib.sha256(b"".join(row)).digest())
    return (total % _MODULUS).to_bytes(DIGEST_BYTES)


def _cells(kind: ColumnType, array: pa.Array) -> list[bytes]:
    """Return each value as bytes that no other value of the column has: a mark, then the value."""
    if kind is ColumnType.STRING:
        texts = (text if text is None else text.encode() for text in array.to_pylist())
        return [
            _NULL if text is None else _PRESENT + struct.pack("<I", len(text)) + text
            for text in texts
        ]
    if kind is ColumnType.TIMESTAMP:
        array = array.cast(pa.int64())
    valid = array.is_valid().to_pylist() if array.null_count else [1] * len(array)
    filled = array.fill_null(False if kind is ColumnType.BOOL else 0)
    dtype = DTYPES[kind]
    # Adding zero makes one zero of the two that floats have: they are equal values.
    values = filled.to_numpy(zero_copy_only=False).astype(dtype)
    raw = (values + dtype.type(0) if kind is ColumnType.FLOAT64 else values).tobytes()
    size = dtype.itemsize
    return [
        _PRESENT + raw[i * size : (i + 1) * size] if ok else _NULL for i, ok in enumerate(valid)
    ]
