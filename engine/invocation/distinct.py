"""DISTINCT over columns: which rows are shown for those that are equal."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType


def shown_once(column: Column) -> Column:
    """Return values as DISTINCT shows them: a zero is 0.0, whichever of the equal rows comes first."""
    if column.type is not ColumnType.FLOAT64:
        return column
    return Column(column.type, column.values + 0.0, column.valid)


def first_and_last(
    columns: Sequence[Column], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each set of equal rows, the position of its first and of its last row.

    NULL equals NULL. Both arrays are in order of the first positions.

    Args:
        columns: the values compared, `count` each.
        count: number of rows.

    Cost: one sort of `count` numbers a column.
    """
    group, first = groups_of(columns, count)
    last = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(last, group, np.arange(count, dtype=np.int64))
    return first, last


def last_leaving(
    group: NDArray[np.int64], leaves_us: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    """Return for each set of equal rows the position of the one that leaves last; of several the last one.

    Args:
        group: (n,) the number of the set that each row is in.
        leaves_us: (n,) when each row leaves.
        groups: how many sets there are; each has a row.

    Cost: one sort of n numbers.
    """
    by_leaving = np.argsort(leaves_us, kind="stable")
    last = np.zeros(groups, dtype=np.int64)
    np.maximum.at(last, group[by_leaving], np.arange(len(group)))
    return by_leaving[last]


def groups_of(columns: Sequence[Column], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each of `count` rows the number of the set of equal rows it is in, and for each set its first row.

    NULL equals NULL. Sets are numbered from 0 in order of their first rows.

    Cost: one sort of `count` numbers a column.
    """
    group = np.zeros(count, dtype=np.int64)
    for column in columns:
        codes = codes_of(column)
        # Both factors are at most `count` + 1, so the product is far from overflow.
        together = group * (int(codes.max(initial=0)) + 1) + codes
        _, group = np.unique(together, return_inverse=True)
    _, first = np.unique(group, return_index=True)
    order = np.argsort(first)
    numbers = np.empty(len(first), dtype=np.int64)
    numbers[order] = np.arange(len(first))
    return numbers[group], first[order]


def codes_of(column: Column) -> NDArray[np.int64]:
    """Return small integers, from 0, that are equal iff the values are; NULL has one of its own."""
    _, codes = np.unique(column.values, return_inverse=True)
    codes = codes.astype(np.int64)
    if column.valid is not None:
        codes[~column.valid] = int(codes.max(initial=-1)) + 1
    return codes
