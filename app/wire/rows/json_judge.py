"""What is wrong with values that orjson has read: only those it may have changed are looked up as they were written.

It makes floats of integers of more than 64 bits and does not tell. So a float that is large enough to have been one is
in doubt, and so is an array or an object, which may hold one and is shown to the sender.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from psoup.app.wire.rows.errors import RowError, WrongValue, value_error
from psoup.app.wire.rows.values import fast_column, judge
from psoup.engine.tuples.schema import ColumnSchema

Written = Callable[[int], object]
"""The index of a row to its value as it was written."""
_VAST = 2.0**63
"""orjson makes floats of integers from 2^64 on and of negative ones beyond -2^63."""
_SLICE_ROWS = 128
"""Of a column that is wrong somewhere, slices that are right are passed over: one wrong value costs so many."""


def is_doubtful(array: pa.Array | None) -> bool:
    """Return whether values of a column may be wrong, judged by what `fast_column` made of it."""
    if array is None:
        return True
    if not pa.types.is_floating(array.type):
        return False
    values = np.abs(array.to_numpy(zero_copy_only=False))
    return bool(np.fmax.reduce(values, initial=0.0) >= _VAST)  # passes over NULL, which is NaN


def may_differ(value: object) -> bool:
    """Return whether a value may be another one as it was written: vast, or something may be within."""
    if isinstance(value, float):
        return not -_VAST < value < _VAST
    return isinstance(value, (list, dict))


def wrong_values(
    column: ColumnSchema, values: Sequence[object], indices: Sequence[int], written: Written
) -> Iterator[WrongValue]:
    """Yield (row, code, value) of each value that does not fit; `indices` are the rows of the values, ascending."""
    for first in range(0, len(values), _SLICE_ROWS):
        some = values[first : first + _SLICE_ROWS]
        if not is_doubtful(fast_column(column, some)):
            continue
        for i, given in zip(indices[first : first + _SLICE_ROWS], some, strict=True):
            value = written(i) if isinstance(given, float) and may_differ(given) else given
            code = judge(column, value)
            if code is not None:
                yield i, code, value


def error_as_written(column: ColumnSchema, written: Written) -> Callable[[WrongValue], RowError]:
    """Return what makes the error of a value that does not fit, which it shows as it was written."""

    def error(found: WrongValue) -> RowError:
        index, code, value = found
        got = written(index) if may_differ(value) else value
        return value_error(column, (index, code, got))

    return error
