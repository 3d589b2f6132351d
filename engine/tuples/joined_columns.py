"""Columns of one type put together into one."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.tuples.batch import DTYPES, Column
from psoup.engine.tuples.schema import ColumnType

Places = slice | NDArray[np.int64]

_TABLE_SHARE_MAX: Final = 16
"""Texts of a dictionary for each row up to which a table of them costs less than sorting the rows."""


def joined(kind: ColumnType, count: int, parts: Sequence[tuple[Places, Column]]) -> Column:
    """Return one column of `count` values from parts with their places; dictionaries are united.

    Cost: O(count) and, but for one dictionary that all parts share, one look-up per distinct text used in each part.
    """
    values = np.zeros(count, dtype=DTYPES[kind])
    valid: NDArray[np.bool_] | None = None
    shared = parts[0][1].dictionary if parts else None
    if any(column.dictionary is not shared for _, column in parts):
        shared = None
    codes: dict[str, int] = {}
    for places, column in parts:
        if column.dictionary is None or shared is not None:
            values[places] = column.values
        else:
            values[places] = _translated(column.values, column.dictionary, codes)
        if column.valid is not None:
            valid = np.ones(count, dtype=np.bool_) if valid is None else valid
            valid[places] = column.valid
    dictionary = shared
    if dictionary is None and kind is ColumnType.STRING:
        dictionary = tuple(codes) or ("",)
    return Column(kind, values, valid, dictionary)


def _translated(
    values: NDArray[np.int32], dictionary: Sequence[str], codes: dict[str, int]
) -> NDArray[np.int32]:
    """Return codes of `dictionary` as those of the same texts in `codes`, to which new texts are added."""
    if len(dictionary) > _TABLE_SHARE_MAX * len(values):
        used, rows = np.unique(values, return_inverse=True)
    else:
        seen = np.zeros(len(dictionary), dtype=np.bool_)
        seen[values] = True
        used, rows = np.flatnonzero(seen).astype(np.int32), (np.cumsum(seen) - 1)[values]
    own = [codes.setdefault(dictionary[code], len(codes)) for code in used.tolist()]
    table: NDArray[np.int32] = np.array(own or [0], dtype=np.int32)
    return table[rows]


def stacked(columns: Sequence[Column]) -> Column:
    """Return the values of some columns, one at least, one below the other. Cost: that of `joined`."""
    if len(columns) == 1:
        return columns[0]
    parts, row = [], 0
    for column in columns:
        parts.append((slice(row, row + len(column)), column))
        row += len(column)
    return joined(columns[0].type, row, parts)
