"""Where columns are NULL, and where what was computed of them is."""

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

Valid = NDArray[np.bool_] | None
"""(n,) bool, False = NULL; None = no NULL."""


def narrowed(valid: Valid, fits: NDArray[np.bool_]) -> Valid:
    """Return where both hold; None where that is everywhere."""
    if valid is not None:
        return valid & fits
    return None if fits.all() else fits


def both(one: Valid, other: Valid) -> Valid:
    """Return where neither is NULL."""
    if one is None:
        return other
    return one if other is None else one & other


def all_valid(columns: Iterable[Column]) -> Valid:
    """Return where none of the columns is NULL."""
    return reduce(both, (column.valid for column in columns), None)


def is_valid(column: Column) -> NDArray[np.bool_]:
    """Return where the column is not NULL, as an array."""
    return np.ones(len(column), np.bool_) if column.valid is None else column.valid


def finite(values: NDArray[np.float64], valid: Valid) -> Column:
    """Return DOUBLEs as a column, NULL where they are no finite number. Changes `values`."""
    fits = np.isfinite(values)
    values[~fits] = 0.0  # no infinity exists, not even under a NULL
    return Column(ColumnType.FLOAT64, values, narrowed(valid, fits))


def where_true(column: Column) -> NDArray[np.bool_]:
    """Return where a BOOLEAN column is TRUE; may be the column's own array."""
    values: NDArray[Any] = column.values
    return values if column.valid is None else values & column.valid
