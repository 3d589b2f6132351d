"""An order-free digest of typed rows: it tells a producer's repeated version from another batch under its number.

The sum modulo 2^256 of 256 bits for each row (`engine/kernels/row_digest.py`): the same for every order of the rows and
every format they came in, and for a member left out and one sent as null. A row whose added columns are NULL has the
bits that it had before they were added: what is sent again after that is known. It detects accidents; it is not a
signature.
Stores keep digests: another one for the same rows would make a producer's repetition look like other content.
"""

from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psoup.engine.kernels import row_digest
from psoup.engine.tuples.schema import ColumnType, StreamSchema

Scalar = TypeVar("Scalar", bound=np.generic)
DIGEST_BYTES = 32
_LANE_BITS = 64
_MODULUS = 1 << 256
_BLOCK_ROWS = 8_192
"""Their states stay in the cache of a core from one column to the next."""
_NONE_NULL: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)


def digest_rows(schema: StreamSchema, batch: pa.RecordBatch) -> bytes:
    """Return 32 bytes that are equal for equal bags of rows. Cost: 3 ns a row and column, 1.5 ns a byte of text."""
    sums = np.zeros((row_digest.LANES, 2), dtype=np.uint64)
    for first in range(0, batch.num_rows, _BLOCK_ROWS):
        block = batch.slice(first, _BLOCK_ROWS)
        states = row_digest.begun(block.num_rows)
        for place, (column, array) in enumerate(zip(schema.columns, block.columns, strict=True)):
            if place < len(schema.columns) - schema.added:
                _take(column.type, array, states)
            else:
                _take_added(place, column.type, array, states)
        row_digest.sum_up(states, sums)
    total = sum(
        (rest + (passed << _LANE_BITS)) << _LANE_BITS * lane
        for lane, (rest, passed) in enumerate(sums.tolist())
    )
    return (total % _MODULUS).to_bytes(DIGEST_BYTES)


def _take_added(place: int, kind: ColumnType, array: pa.Array, states: row_digest.Words) -> None:
    """Take the place and the value of an added column into the states of those rows where it is not NULL."""
    there = array.is_valid().to_numpy(zero_copy_only=False)
    some = states[there]
    row_digest.take_words(np.full(len(some), place, dtype=np.uint64), _NONE_NULL, some)
    _take(kind, array.drop_null(), some)
    states[there] = some


def _take(kind: ColumnType, array: pa.Array, states: row_digest.Words) -> None:
    """Take a column into the states of its rows."""
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else _NONE_NULL
    if kind is ColumnType.STRING:
        _, places, text = array.buffers()
        offsets = _read_only(places, np.int32)[array.offset : array.offset + len(array) + 1]
        row_digest.take_texts(offsets, _read_only(text, np.uint8), valid, states)
        return
    if kind is ColumnType.FLOAT64:
        # Adding zero makes one zero of the two that floats have: they are equal values.
        words = (array.fill_null(0.0).to_numpy() + 0.0).view(np.uint64)
    else:
        whole = array.cast(pa.int64()).fill_null(0).to_numpy()
        words = whole.astype(np.uint64)
    row_digest.take_words(words, valid, states)


def _read_only(buffer: pa.Buffer | None, dtype: type[Scalar]) -> NDArray[Scalar]:
    """Return a buffer of Arrow as an array; kernels are compiled for those that are not to be written."""
    found = np.zeros(0, dtype=dtype) if buffer is None else np.frombuffer(buffer, dtype=dtype)
    found.setflags(write=False)
    return found
