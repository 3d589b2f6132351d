"""The naive twin's shapes: rows to groups, HAVING, DISTINCT, ORDER BY, OFFSET and LIMIT, with plain Python values.

Written from the docstrings of `engine/query/shape.py` and of `AggregateFunction` alone. Sums are of fractions, and
rounded once.
"""

import hashlib
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from psoup.engine.query.shape import Ordering, Shape
from psoup.engine.query.values.expression import (
    AggregateCall,
    AggregateFunction as Function,
    Constant,
    Value,
)
from psoup.engine.tuples.schema import ColumnType
from tests.reference_values import INT64_MAX, INT64_MIN, Row, value_of

Values = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class ShapedRow:
    """A row of FROM at an instant, and of the answer.

    Attributes:
        ids: of a row its tuple ids joined by `-`, of DISTINCT those of the first one; of a group the digest of its key.
        order: of a row its place in the order of answers.
        rows: of a row the tuples of its parts.
        leaves_us: when it leaves; None = never.
        enters_us: when it enters, of one that is yet to; None = it is visible.
        values: the select list.
    """

    ids: str
    order: tuple[Any, ...]
    rows: Sequence[Row]
    leaves_us: int | None
    enters_us: int | None = None
    values: Values = ()


def shaped(shape: Shape, rows: Sequence[ShapedRow]) -> list[ShapedRow]:
    """Return the rows of an answer, in its order, of the rows that are visible or yet to be."""
    visible = sorted((row for row in rows if row.enters_us is None), key=lambda row: row.order)
    if shape.keys is None:
        found = [
            (row, tuple(value_of(one.expression, row.rows) for one in shape.outputs))
            for row in visible
        ]
        answer = [
            ShapedRow(row.ids, row.order, row.rows, row.leaves_us, None, values)
            for row, values in found
        ]
        keys = [[value_of(one.expression, row.rows) for one in shape.order] for row in visible]
    else:
        answer, keys = _grouped(shape, visible, [one for one in rows if one.enters_us is not None])
    if shape.distinct:
        answer, keys = _distinct(answer, keys)
    if shape.order:
        ties = _ordering(len(shape.outputs) if shape.distinct else 0)
        places = sorted(range(len(answer)), key=cmp_to_key(_comparing(shape, answer, keys, ties)))
        answer = [answer[place] for place in places]
    past = None if shape.limit is None else shape.offset + shape.limit
    return answer[shape.offset : past]


def digest(values: Values, types: Sequence[ColumnType]) -> str:
    """Return what a row of these values is known by."""
    marks = {
        ColumnType.INT64: "<cq",
        ColumnType.TIMESTAMP: "<cq",
        ColumnType.BOOL: "<c?",
        ColumnType.FLOAT64: "<cd",
    }
    written = b""
    for value, kind in zip(values, types, strict=True):
        if value is None:
            written += b"\0"
        elif isinstance(value, str):
            written += b"s" + len(value.encode()).to_bytes(8, "little") + value.encode()
        else:
            mark = {"int64": b"i", "timestamp": b"t", "bool": b"b", "float64": b"f"}[kind.value]
            written += struct.pack(marks[kind], mark, value)
    return hashlib.blake2b(written, digest_size=12).hexdigest()


def aggregate(call: AggregateCall, rows: Sequence[ShapedRow]) -> Value | None:
    """Return one aggregate of rows, which are in the order of answers."""
    taken = [
        row.rows for row in rows if call.filter is None or value_of(call.filter, row.rows) is True
    ]
    if not call.arguments:
        return len(taken)
    listed = [tuple(value_of(one, row) for one in call.arguments) for row in taken]
    function = call.function
    if function in {Function.FIRST, Function.LAST}:
        return (listed[0] if function is Function.FIRST else listed[-1])[0] if listed else None
    if function in {Function.ARG_MIN, Function.ARG_MAX}:
        return _of_extreme(function, [one for one in listed if None not in one])
    values: list[Any] = [one[0] for one in listed if one[0] is not None]
    if call.distinct:
        values = list(dict.fromkeys(values))
    if function is Function.COUNT:
        return len(values)
    return _of_values(call, values) if values else None


def _of_extreme(function: Function, listed: list[tuple[Any, ...]]) -> Value | None:
    """Return the first argument of the first row whose second is extreme."""
    if not listed:
        return None
    extreme = min if function is Function.ARG_MIN else max
    best = extreme(one[1] for one in listed)
    found: Value = next(one[0] for one in listed if one[1] == best)
    return found


def _of_values(call: AggregateCall, values: list[Any]) -> Value | None:
    """Return an aggregate of values, at least one, none of them NULL."""
    found: Value | None
    match call.function:
        case Function.MIN | Function.MAX:
            found = _plain(min(values) if call.function is Function.MIN else max(values))
        case Function.BOOL_AND | Function.BOOL_OR:
            found = all(values) if call.function is Function.BOOL_AND else any(values)
        case Function.MEDIAN | Function.QUANTILE_CONT:
            found = _quantile(call, sorted(values))
        case Function.SUM | Function.AVG:
            found = _sum(call, values)
        case _:
            found = _spread(call.function, [Fraction(value) for value in values])
    return found


def _sum(call: AggregateCall, values: list[Any]) -> Value | None:
    total = sum((Fraction(value) for value in values), Fraction(0))
    if call.type is ColumnType.INT64:
        return int(total) if INT64_MIN <= total <= INT64_MAX else None
    if call.function is Function.SUM:
        return _double(total)
    if isinstance(values[0], float):  # the sum is rounded, and so is the quotient
        whole = _double(total)
        return None if whole is None else _finite(whole / len(values))
    return _double(total / len(values))


def _spread(function: Function, numbers: list[Fraction]) -> Value | None:
    mean = sum(numbers, Fraction(0)) / len(numbers)
    squares = sum(((one - mean) ** 2 for one in numbers), Fraction(0))
    degrees = len(numbers) - (function in {Function.VAR_SAMP, Function.STDDEV_SAMP})
    if not degrees:
        return None
    spread = _double(squares / degrees)
    if spread is None or function in {Function.VAR_SAMP, Function.VAR_POP}:
        return spread
    return math.sqrt(spread)


def _quantile(call: AggregateCall, values: list[Any]) -> Value | None:
    share = 0.5
    if call.function is Function.QUANTILE_CONT:
        constant = call.arguments[1]
        assert isinstance(constant, Constant)
        share = float(constant.value or 0)
    place = share * (len(values) - 1)
    low = math.floor(place)
    below, above = float(values[low]), float(values[min(low + 1, len(values) - 1)])
    return _finite(below + (place - low) * (above - below))


def _double(value: Fraction) -> float | None:
    """Return the nearest DOUBLE; None where it is none that is finite."""
    try:
        return float(value)
    except OverflowError:
        return None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    """Return a zero without a sign."""
    return value + 0.0 if isinstance(value, float) else value


def _grouped(
    shape: Shape, visible: Sequence[ShapedRow], coming: Sequence[ShapedRow]
) -> tuple[list[ShapedRow], list[list[Value | None]]]:
    """Return the groups that HAVING lets through, in order of their keys, and what each is sorted by."""
    assert shape.keys is not None
    keys = shape.keys
    groups: dict[Values, list[ShapedRow]] = {} if keys else {(): []}
    instants: dict[Values, list[int]] = {}
    for row in (*visible, *coming):
        key = tuple(_plain(value_of(one, row.rows)) for one in keys)
        if row.enters_us is None:
            groups.setdefault(key, []).append(row)
        instant = row.leaves_us if row.enters_us is None else row.enters_us
        if instant is not None:
            instants.setdefault(key, []).append(instant)
    answer, sorted_by = [], []

    def by_key(left: Values, right: Values) -> int:
        return compared(left, right, _ordering(len(keys)))

    for key in sorted(groups, key=cmp_to_key(by_key)):
        read: dict[Any, Value | None] = {
            call: aggregate(call, groups[key]) for call in shape.aggregates
        }
        group: Any = (key, read)
        if shape.having is not None and value_of(shape.having, group) is not True:
            continue
        values = tuple(value_of(one.expression, group) for one in shape.outputs)
        until_us = min(instants.get(key, []), default=None)
        ids = digest(key, [one.type for one in keys])
        answer.append(ShapedRow(ids, (), (), until_us, None, values))
        sorted_by.append([value_of(one.expression, group) for one in shape.order])
    return answer, sorted_by


def _distinct(
    answer: list[ShapedRow], keys: list[list[Value | None]]
) -> tuple[list[ShapedRow], list[list[Value | None]]]:
    """Return one row for equal ones: where the earliest stands, leaving when the last one does."""
    kept: dict[Values, tuple[ShapedRow, list[Value | None]]] = {}
    for row, key in zip(answer, keys, strict=True):
        leaves_us, (first, key_of_first) = row.leaves_us, kept.get(row.values, (row, key))
        if first.leaves_us is None or leaves_us is None:
            leaves_us = None
        else:
            leaves_us = max(first.leaves_us, leaves_us)
        values = row.values
        shown = ShapedRow(first.ids, first.order, (), leaves_us, None, values)
        kept[values] = (shown, key_of_first)
    return [row for row, _ in kept.values()], [key for _, key in kept.values()]


def _ordering(columns: int) -> tuple[tuple[bool, bool], ...]:
    """Return how ties are broken: by the values, ascending, NULLs last."""
    return ((False, False),) * columns


def _comparing(
    shape: Shape,
    answer: list[ShapedRow],
    keys: list[list[Value | None]],
    ties: tuple[tuple[bool, bool], ...],
) -> Callable[[int, int], int]:
    """Return what compares places of an answer by ORDER BY; then by the values, where there are `ties`."""

    def how(one: Ordering) -> tuple[bool, bool]:
        return one.descending, one.nulls_first

    def compare(left: int, right: int) -> int:
        order = compared(keys[left], keys[right], tuple(map(how, shape.order)))
        return order or compared(answer[left].values, answer[right].values, ties)

    return compare


def compared(
    left: Sequence[Value | None],
    right: Sequence[Value | None],
    how: Sequence[tuple[bool, bool]],
) -> int:
    """Return -1, 0, 1; `how`: whether each value is compared descending, and whether NULL comes first."""
    for one, other, (descending, nulls_first) in zip(left, right, how, strict=False):
        if one is None or other is None:
            if one is not other:
                return -1 if (one is None) == nulls_first else 1
        elif one != other:
            order = -1 if one < other else 1  # type: ignore[operator]
            return -order if descending else order
    return 0
