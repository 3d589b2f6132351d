"""Aggregates once more, slowly: of Python values one by one, sums as fractions."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from psoup.engine.query.values.expression import (
    AggregateCall,
    AggregateFunction as Function,
    ColumnRef,
    Constant,
)
from psoup.engine.tuples.schema import ColumnType as Type

NUMBERS = (Type.INT64, Type.FLOAT64)
SAMPLE = (Function.VAR_SAMP, Function.STDDEV_SAMP)
ROOT = (Function.STDDEV_SAMP, Function.STDDEV_POP)
OF_NUMBERS = (Function.SUM, Function.AVG, Function.VAR_POP, Function.STDDEV_POP, *SAMPLE)
OF_BOOLEANS = (Function.BOOL_AND, Function.BOOL_OR)
OF_TWO = (Function.ARG_MIN, Function.ARG_MAX)
INSIDE = range(-(2**63), 2**63)
NO_VALUES = [()]
"""Keys of a group of all rows."""


def call_of(function, kind, *, distinct=False, share=0.5) -> AggregateCall:
    """Return an aggregate of a column of one type; COUNT(*) of None."""
    if kind is None:
        return AggregateCall(function, (), False, None, Type.INT64)
    arguments: tuple[Any, ...] = (ColumnRef(0, "x", kind),)
    result = kind
    if function is Function.COUNT:
        result = Type.INT64
    elif function is Function.SUM:
        result = Type.FLOAT64 if kind is Type.FLOAT64 else Type.INT64
    elif function in OF_NUMBERS or (
        function in (Function.MEDIAN, Function.QUANTILE_CONT) and kind in NUMBERS
    ):
        result = Type.FLOAT64
    if function is Function.QUANTILE_CONT:
        arguments = (*arguments, Constant(share, Type.FLOAT64))
    if function in OF_TWO:
        arguments = (*arguments, ColumnRef(0, "y", kind))
    return AggregateCall(function, arguments, distinct, None, result)


def functions_of(kind) -> list[Function]:
    """Return the aggregates that take values of a type."""
    found = [one for one in Function if one not in (*OF_NUMBERS, *OF_BOOLEANS)]
    if kind in NUMBERS:
        return [*found, *OF_NUMBERS]
    if kind is Type.TIMESTAMP:
        return found
    found.remove(Function.QUANTILE_CONT)
    return [*found, *OF_BOOLEANS] if kind is Type.BOOL else found


def aggregate(call: AggregateCall, rows: list[tuple[Any, ...]]) -> tuple[Any, bool]:
    """Return the result, and whether it overflowed, of rows (x, y, time, tuple ids)."""
    function = call.function
    if not call.arguments:
        return len(rows), False
    kind = call.arguments[0].type
    if function in (Function.FIRST, Function.LAST, *OF_TWO):
        return picked(function, rows), False
    values = [row[0] for row in rows if row[0] is not None]
    if call.distinct:
        values = list({0.0 if value == 0 and kind is Type.FLOAT64 else value for value in values})
    if function is Function.COUNT:
        return len(values), False
    if function in (Function.MIN, Function.BOOL_AND):
        return plain(min(values, default=None)), False
    if function in (Function.MAX, Function.BOOL_OR):
        return plain(max(values, default=None)), False
    if function in (Function.MEDIAN, Function.QUANTILE_CONT):
        return quantile(call, sorted(values)), False
    return moment(call, values, kind)


def plain(value: Any) -> Any:
    """Return a value; zero without its sign."""
    return value + 0.0 if isinstance(value, float) else value


def picked(function: Function, rows: list[tuple[Any, ...]]) -> Any:
    """Return the value of the row that stands first."""
    if function in OF_TWO:
        rows = [row for row in rows if row[0] is not None and row[1] is not None]
    if not rows:
        return None
    if function is Function.FIRST:
        return min(rows, key=lambda row: row[2:])[0]
    if function is Function.LAST:
        return max(rows, key=lambda row: row[2:])[0]
    end = (min if function is Function.ARG_MIN else max)(row[1] for row in rows)
    return min([row for row in rows if row[1] == end], key=lambda row: row[2:])[0]


def quantile(call: AggregateCall, values: list[Any]) -> Any:
    """Return a quantile of values in order."""
    if not values:
        return None
    share = 0.5
    if isinstance(given := call.arguments[-1], Constant):
        share = float(given.value or 0)
    if call.type in (Type.STRING, Type.BOOL):
        return values[max(math.ceil(share * len(values)) - 1, 0)]
    place = share * (len(values) - 1)
    distance = place - math.floor(place)
    low, high = values[math.floor(place)], values[math.ceil(place)]
    if call.type is Type.TIMESTAMP:
        exact = low + Fraction((high - low) * distance)
        return (
            math.floor(exact + Fraction(1, 2)) if exact >= 0 else math.ceil(exact - Fraction(1, 2))
        )
    low, high = float(low), float(high)
    return min(max(low * (1.0 - distance) + high * distance, low), high) + 0.0


def moment(call: AggregateCall, values: list[Any], kind: Type) -> tuple[Any, bool]:
    """Return SUM, AVG or a variance."""
    function, count = call.function, len(values)
    if count <= (function in SAMPLE):
        return None, False
    exact = [Fraction(value) for value in values]
    total = sum(exact, Fraction(0))
    if function is Function.SUM and kind is not Type.FLOAT64:
        return (int(total), False) if int(total) in INSIDE else (None, True)
    if function is Function.SUM:
        return rounded(total)
    if function is Function.AVG:
        if kind is not Type.FLOAT64:
            return rounded(total / count)
        found, overflowed = rounded(total)
        return (None if found is None else found / count + 0.0), overflowed
    squares = sum((one * one for one in exact), Fraction(0))
    found, overflowed = rounded(
        (count * squares - total * total) / (count * (count - (function in SAMPLE)))
    )
    return (math.sqrt(found) if found is not None and function in ROOT else found), overflowed


def rounded(value: Fraction) -> tuple[float | None, bool]:
    """Return the nearest float64, and whether there is none."""
    try:
        return float(value) + 0.0, False
    except OverflowError:
        return None, True


def bits(values: list[Any]) -> list[Any]:
    """Return values so that floats are equal iff their bits are."""
    return [value.hex() if isinstance(value, float) else value for value in values]


def shuffled(count: int, seed: int) -> np.ndarray[Any, Any]:
    """Return the places of rows in another order."""
    return np.random.default_rng(seed).permutation(count)
