"""Arithmetic of columns. What has no finite result is NULL: never a wrap, an infinity or a warning."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from psoup.engine.limits import TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.engine.query.functions.valid import all_valid, finite, narrowed
from psoup.engine.query.values.expression import ArithmeticOp
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

_INT64_MIN = np.iinfo(np.int64).min

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def negate(column: Column) -> Column:
    """Return -x; the least int64 has no negative and gives NULL."""
    if column.type is ColumnType.FLOAT64:
        return Column(column.type, -column.values, column.valid)
    fits = column.values != _INT64_MIN
    return Column(column.type, -column.values, narrowed(column.valid, fits))


def arithmetic(op: ArithmeticOp, left: Column, right: Column, kind: ColumnType) -> Column:
    """Return left op right as a column of type `kind`, as `expression.Arithmetic` says."""
    valid = all_valid((left, right))
    if kind is ColumnType.FLOAT64:
        with np.errstate(all="ignore"):
            floats = _FLOATS[op](left.values.astype(np.float64), right.values.astype(np.float64))
        return finite(floats, valid)
    values, fits = _INTS[op](left.values, right.values)
    if kind is ColumnType.TIMESTAMP:
        fits &= (values >= TIMESTAMP_US_MIN) & (values <= TIMESTAMP_US_MAX)
    return Column(kind, values, narrowed(valid, fits))


def _add(left: Ints, right: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    values = left + right
    return values, ((left ^ values) & (right ^ values)) >= 0


def _subtract(left: Ints, right: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    values = left - right
    return values, ((left ^ right) & (left ^ values)) >= 0


def _multiply(left: Ints, right: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    # A wrapped product is off by a multiple of 2**64; the product of DOUBLEs by less than 2**13 wherever
    # the true one fits.
    values = left * right
    near = left.astype(np.float64) * right.astype(np.float64)
    return values, np.abs(values.astype(np.float64) - near) < 2.0**60


def _modulo(left: Ints, right: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    fits = right != 0
    # x % -1 is 0 for every x, and the one division that overflows the processor.
    divisor = np.where(fits & (right != -1), right, 1)
    return np.fmod(left, divisor), fits


_FLOATS: dict[ArithmeticOp, Callable[[Floats, Floats], Floats]] = {
    ArithmeticOp.ADD: np.add,
    ArithmeticOp.SUBTRACT: np.subtract,
    ArithmeticOp.MULTIPLY: np.multiply,
    ArithmeticOp.DIVIDE: np.divide,
    ArithmeticOp.MODULO: np.fmod,
}

_INTS: dict[ArithmeticOp, Callable[[Ints, Ints], tuple[Ints, NDArray[np.bool_]]]] = {
    ArithmeticOp.ADD: _add,
    ArithmeticOp.SUBTRACT: _subtract,
    ArithmeticOp.MULTIPLY: _multiply,
    ArithmeticOp.MODULO: _modulo,
}
