"""Functions of numbers. What has no finite result is NULL: the logarithm of 0, the root of -1, 10 to the 400th.

Logarithms and powers are those of the C library, value by value, as DuckDB's are: NumPy's own differ from them, and
from one processor to another.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.query.functions.function import Kernel
from psoup.engine.query.functions.valid import all_valid, finite, narrowed
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

_INT64, _FLOAT64 = ColumnType.INT64, ColumnType.FLOAT64
_INT64_MAX, _INT64_MIN = np.iinfo(np.int64).max, np.iinfo(np.int64).min
_DIGITS_MAX = 18
"""The largest power of ten that an int64 holds."""
_HALF_PAST = 5 * 10**_DIGITS_MAX
"""Half of the first power of ten that an int64 does not hold."""
_EXPONENT_MAX = 309
"""Ten to this is past every DOUBLE."""
_WHOLE_POWERS = np.array([10**digits for digits in range(_DIGITS_MAX + 1)], np.int64)
_POWERS = np.array([float(f"1e{digits}") for digits in range(_EXPONENT_MAX + 1)])


def absolute(columns: Sequence[Column], _: ColumnType) -> Column:
    """Return the absolute value of x; the least int64 has none and gives NULL."""
    (x,) = columns
    fits = x.values != _INT64_MIN if x.type is _INT64 else np.ones(len(x), np.bool_)
    return Column(x.type, np.absolute(x.values), narrowed(x.valid, fits))


def sign(columns: Sequence[Column], _: ColumnType) -> Column:
    """Return -1, 0 or 1 as BIGINT."""
    (x,) = columns
    return Column(_INT64, np.sign(x.values).astype(np.int64), x.valid)


def floor(columns: Sequence[Column], _: ColumnType) -> Column:
    """Return the largest whole number up to x."""
    (x,) = columns
    return x if x.type is _INT64 else Column(_FLOAT64, np.floor(x.values), x.valid)


def ceil(columns: Sequence[Column], _: ColumnType) -> Column:
    """Return the smallest whole number from x on."""
    (x,) = columns
    return x if x.type is _INT64 else Column(_FLOAT64, np.ceil(x.values), x.valid)


def rounded(columns: Sequence[Column], _: ColumnType) -> Column:
    """Return ROUND(x [, digits]): halves away from zero; digits below 0 round to tens, hundreds and so on.

    A BIGINT that would leave 64 bits is NULL.
    """
    x, *rest = columns
    if x.type is _INT64:
        return _rounded_whole(x, rest[0]) if rest else x
    if not rest:
        return Column(_FLOAT64, _half_away(x.values), x.valid)
    digits = rest[0].values
    power = _POWERS[np.abs(np.clip(digits, -_EXPONENT_MAX, _EXPONENT_MAX))]
    with np.errstate(all="ignore"):
        left = _half_away(x.values / power) * power
        right = _half_away(x.values * power) / power
    values = np.where(
        digits < 0,
        np.where(np.isfinite(left), left, 0.0),
        np.where(np.isfinite(right), right, x.values),
    )
    return Column(_FLOAT64, values, all_valid(columns))


def root(columns: Sequence[Column], _: ColumnType) -> Column:
    """Return the square root; NULL below 0."""
    (x,) = columns
    with np.errstate(all="ignore"):
        return finite(np.sqrt(x.values), x.valid)


def by_value(function: Callable[..., float]) -> Kernel:
    """Return the kernel that computes a function of DOUBLEs value by value; NULL where it raises."""

    def total(*values: float) -> float:
        try:
            return function(*values)
        except (ValueError, OverflowError):
            return math.nan

    def kernel(columns: Sequence[Column], _: ColumnType) -> Column:
        listed = [column.values.tolist() for column in columns]
        values = np.fromiter(map(total, *listed), np.float64, len(columns[0]))
        return finite(values, all_valid(columns))

    return kernel


def _half_away(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest whole numbers, halves away from zero; -0.4 becomes -0.0."""
    whole = np.trunc(values)
    with np.errstate(all="ignore"):  # infinities have no fraction
        up = np.abs(values - whole) >= 0.5  # exact: a DOUBLE less its whole part is one
    nearest: NDArray[np.float64] = whole + np.where(up, np.copysign(1.0, values), 0.0)
    return np.copysign(nearest, values)


def _rounded_whole(x: Column, digits: Column) -> Column:
    places = -np.clip(digits.values, -_DIGITS_MAX - 2, 0)
    power = _WHOLE_POWERS[np.minimum(places, _DIGITS_MAX)]
    rest = np.fmod(x.values, power)
    up = (np.abs(rest) >= power - np.abs(rest)) & (places > 0)
    tens = (x.values - rest) // power + np.where(up, np.sign(rest), 0)
    fits = np.abs(tens) <= _INT64_MAX // power
    # Of what is past all powers of ten one half of the next one would round up, out of 64 bits.
    past = places > _DIGITS_MAX
    half = (x.values >= _HALF_PAST) | (x.values <= -_HALF_PAST)
    fits = np.where(past, ~(half & (places == _DIGITS_MAX + 1)), fits)
    values = np.where(past, 0, tens * power)
    return Column(_INT64, values, narrowed(all_valid((x, digits)), fits))
