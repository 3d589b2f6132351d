"""Digests of what an answer holds: where LIMIT cuts it, rows may enter and leave while the answer stays as it is."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

_DIGEST_BYTES: Final = 16


def content_of(columns: Sequence[Column], *arrays: NDArray[np.int64] | None) -> bytes:
    """Return a digest of columns and of arrays, both in their order: equal for equal values alone.

    Cost: that of the bytes; texts once for each row.
    """
    digest = blake2b(digest_size=_DIGEST_BYTES)

    def add(data: bytes) -> None:
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)

    for array in arrays:
        add(b"" if array is None else np.ascontiguousarray(array).tobytes())
    for column in columns:
        valid = np.ones(len(column), np.bool_) if column.valid is None else column.valid
        add(valid.tobytes())
        if column.type is ColumnType.STRING:
            for text in column.to_list():
                add(b"" if text is None else str(text).encode())
        else:
            add(np.where(valid, column.values, column.values.dtype.type(0)).tobytes())
    return digest.digest()
