"""Values as bytes whose order is that of ORDER BY: whoever can sort bytes can sort an answer.

Of a key that is a first byte, which tells NULL from a value, then the value: 8 bytes of a number, an instant or a
boolean, the highest byte first; of a text its UTF-8, in which a zero byte is `00 FF`, and `00 00` behind it. So no key
is the beginning of another one, and keys can be written one behind the other. Equal values have equal bytes; -0.0
equals 0.0.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psoup.engine.aggregates.ordinals import ordinals
from psoup.engine.invocation.shaped.sorting import SortKey
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

_NULL_FIRST, _VALUE, _NULL_LAST = range(3)
_SIGN: Final = np.uint64(1 << 63)
_NUMBER_BYTES: Final = 9
_INVERTED: Final = bytes(range(255, -1, -1))
_ZERO, _ZERO_WRITTEN, _END = b"\0", b"\0\xff", b"\0\0"


def bytes_of(keys: Sequence[SortKey], count: int) -> pa.BinaryArray:
    """Return the bytes of `count` rows: they are in order of the first key, where equal of the second, and so on.

    Cost: O(count) a key; for texts also the distinct ones.
    """
    pieces = [_bytes_of(key) for key in keys]
    if not pieces:
        return pa.array([b""] * count, pa.binary())
    return pieces[0] if len(pieces) == 1 else pc.binary_join_element_wise(*pieces, b"")


def _bytes_of(key: SortKey) -> pa.BinaryArray:
    column = key.column
    null = _NULL_FIRST if key.nulls_first else _NULL_LAST
    if column.type is ColumnType.STRING:
        return _of_texts(column, bytes([null]), descending=key.descending)
    valid = np.ones(len(column), np.bool_) if column.valid is None else column.valid
    known = ordinals(Column(column.type, column.values)).keys
    numbers = known.view(np.uint64) ^ _SIGN
    if key.descending:
        numbers = ~numbers
    written = np.empty((len(column), _NUMBER_BYTES), dtype=np.uint8)
    written[:, 0] = np.where(valid, _VALUE, null)
    held: NDArray[Any] = np.where(valid, numbers, np.uint64(0)).astype(">u8")
    written[:, 1:] = held.view(np.uint8).reshape(-1, _NUMBER_BYTES - 1)
    ends = np.arange(len(column) + 1, dtype=np.int32) * _NUMBER_BYTES
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(written)]
    return pa.BinaryArray.from_buffers(pa.binary(), len(column), buffers)


def _of_texts(column: Column, null: bytes, *, descending: bool) -> pa.BinaryArray:
    assert column.dictionary is not None, "a string column has its dictionary"
    used, codes = np.unique(column.values, return_inverse=True)
    written = [_text(column.dictionary[code], descending=descending) for code in used.tolist()]
    mask = None if column.valid is None else ~column.valid
    held = pa.array(written, pa.binary()).take(pa.array(codes, pa.int64(), mask=mask))
    return held.fill_null(null)


def _text(text: str, *, descending: bool) -> bytes:
    written = text.encode().replace(_ZERO, _ZERO_WRITTEN) + _END
    return bytes([_VALUE]) + (written.translate(_INVERTED) if descending else written)
