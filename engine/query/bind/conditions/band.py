"""Bands: what a comparison says of the difference between a value of one source and one of another.

`a.x <= b.y + 5`, `a.x - b.y <= 5` and `ABS(a.x - b.y) <= 5` all bound `a.x - b.y`. Constants are peeled off both
sides, step by step, until nothing but two bases is left, each over one source; comparisons of the same two bases
make one factor, which a key index answers by one span.

The bounds hold wherever the comparison is TRUE. Arithmetic of integers that overflows is NULL, which never is, so
of integers they are exact. A sum of DOUBLEs is rounded to the nearest one, and what a constant is added to is
itself a DOUBLE: so a step is off by the constant at most, and the bounds are widened by that much; and by what an
integer of 64 bits may lose as a DOUBLE, where it is compared as one. All of it is reckoned in fractions and rounded
outwards at the end.
"""

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from psoup.engine.query.factor import BandFactor
from psoup.engine.query.values.expression import (
    Arithmetic,
    ArithmeticOp,
    Call,
    Compare,
    CompareOp,
    Constant,
    Expression,
    sources_of,
)
from psoup.engine.tuples.schema import ColumnType

_INT64, _FLOAT64 = ColumnType.INT64, ColumnType.FLOAT64
_NUMBERS = (_INT64, _FLOAT64)
_ORDERED = (_INT64, _FLOAT64, ColumnType.TIMESTAMP)
_EQ, _NE = CompareOp.EQ, CompareOp.NE
_LESS = (CompareOp.LT, CompareOp.LE)
_STRICT = (CompareOp.LT, CompareOp.GT)
_EXACT_MAX = 2**52
"""Up to here an int64 beside a DOUBLE compares as the number it is."""
_ZERO = Fraction(0)
_DOUBLE_MAX = Fraction(sys.float_info.max)
_ROUNDING_MAX = Fraction(2**9)
"""No int64 is further from the DOUBLE that it becomes: half of what lies between two of them below 2**63."""
_SPAN_MAX = 2**64
"""No two values of 64 bits are that far apart."""

_Ends = tuple[Fraction | None, Fraction | None]
"""The least and the largest value there may be; None = open."""


class Band(NamedTuple):
    """What one comparison says of `left` - `right`, each over one source, `left` over the earlier.

    Attributes:
        left, right: the bases.
        low, high: as in `BandFactor`; not both None.
        condition: the comparison itself.
        is_pure: it compares the bases with each other, and nothing else.
    """

    left: Expression
    right: Expression
    low: int | float | None
    high: int | float | None
    condition: Compare
    is_pure: bool


class _Peeled(NamedTuple):
    """An expression is `base` + `offset`, give or take `slack`."""

    base: Expression
    offset: Fraction
    slack: Fraction


def band_of(condition: Compare) -> Band | None:
    """Return what a comparison in normal form says of two sources; None where it bounds no difference.

    Cost: linear in the height of its sides.
    """
    if isinstance(condition.right, Constant):
        return _difference_band(condition, condition.right)
    return _comparison_band(condition)


def band_factor(bands: Sequence[Band]) -> BandFactor:
    """Return the factor of one or more bands over the same two bases: TRUE where all of them are."""
    first = bands[0]
    lows = [band.low for band in bands if band.low is not None]
    highs = [band.high for band in bands if band.high is not None]
    is_exact = all(band.is_pure for band in bands)
    strict = [band for band in bands if is_exact and band.condition.op in _STRICT]
    return BandFactor(
        first.left,
        first.right,
        tuple(band.condition for band in bands),
        max(lows, default=None),
        min(highs, default=None),
        low_closed=all(band.low is None for band in strict),
        high_closed=all(band.high is None for band in strict),
        exact=is_exact,
    )


def _comparison_band(condition: Compare) -> Band | None:
    """Return the band of a comparison between a value of one source and one of another."""
    op, left, right = condition.op, condition.left, condition.right
    if op is _EQ or op is _NE or left.type not in _ORDERED or not _are_apart(left, right):
        return None
    kind = left.type if left.type is right.type else _FLOAT64
    is_pure = _step(left) is None and _step(right) is None
    # An integer below another one is below it by 1 at least. Of pure comparisons the ends are told apart.
    step = 1 if op in _STRICT and kind is not _FLOAT64 and not is_pure else 0
    ends: _Ends = (None, Fraction(-step)) if op in _LESS else (Fraction(step), None)
    found = _band((left, right), kind, ends)
    return None if found is None else Band(*found, condition, is_pure)


def _difference_band(condition: Compare, constant: Constant) -> Band | None:
    """Return the band of a difference, or of its size, compared with a constant."""
    op, node, value = condition.op, condition.left, constant.value
    if op is _NE or node.type not in _NUMBERS or len(sources_of(node)) != 2:
        return None
    assert isinstance(value, int | float), "what a number is compared with"
    edge = Fraction(value)
    if node.type is _INT64 and constant.type is _FLOAT64 and abs(edge) > _EXACT_MAX:
        return None
    step = 1 if op in _STRICT and constant.type is _INT64 else 0
    low = None if op in _LESS else edge + step
    high = edge - step if op in _LESS or op is _EQ else None
    unwrapped = _unwrapped(node, (low, high))
    if unwrapped is None:
        return None
    core, ends = unwrapped
    if not isinstance(core, Arithmetic) or core.op is not ArithmeticOp.SUBTRACT:
        return None
    if not _are_apart(core.left, core.right):
        return None
    if core.type is _FLOAT64:  # the difference is rounded too, to one of the two DOUBLEs next to it
        ends = _next_double(ends[0], up=False), _next_double(ends[1], up=True)
    found = _band((core.left, core.right), core.type, ends)
    return None if found is None else Band(*found, condition, is_pure=False)


def _unwrapped(node: Expression, ends: _Ends) -> tuple[Expression, _Ends] | None:
    """Return what lies below ABS and sums with constants, and the ends of its values.

    None where a size is bounded from below alone, or a DOUBLE says too little of an integer.
    """
    while True:
        step = _step(node)
        if step is not None:
            inner, by = step
            ends = _moved(ends, -by, abs(by) if node.type is _FLOAT64 else _ZERO)
            if inner.type is not node.type and any(end and abs(end) > _EXACT_MAX for end in ends):
                return None
        elif isinstance(node, Call) and node.function == "ABS":
            (inner,) = node.arguments
            if ends[1] is None:
                return None
            ends = -ends[1], ends[1]
        else:
            return node, ends
        node = inner


def _peel(side: Expression, kind: ColumnType) -> _Peeled:
    """Return the base of a side that is compared as `kind`, and what is added to it as `kind`."""
    base, offset, slack, lost = side, _ZERO, _ZERO, _ZERO
    while (step := _step(base)) is not None:
        if base.type is _FLOAT64:
            slack += abs(step[1])
        elif kind is _FLOAT64:
            lost = 2 * _ROUNDING_MAX  # a sum of integers becomes a DOUBLE there, its base does here
        base, by = step
        offset += by
    return _Peeled(base, offset, slack + lost)


def _step(node: Expression) -> tuple[Expression, Fraction] | None:
    """Return (x, c) of x + c, c + x or x - c with a constant c; None of anything else."""
    match node:
        case Arithmetic(
            op=ArithmeticOp.ADD, left=inner, right=Constant(value=int() | float() as by)
        ):
            return inner, Fraction(by)
        case Arithmetic(
            op=ArithmeticOp.ADD, left=Constant(value=int() | float() as by), right=inner
        ):
            return inner, Fraction(by)
        case Arithmetic(
            op=ArithmeticOp.SUBTRACT, left=inner, right=Constant(value=int() | float() as by)
        ):
            return inner, -Fraction(by)
        case _:
            return None


def _band(
    sides: tuple[Expression, Expression],
    kind: ColumnType,
    ends: _Ends,
) -> tuple[Expression, Expression, int | float | None, int | float | None] | None:
    """Return the bases of two sides that are compared as `kind`, and the ends of their difference.

    Args:
        sides: each over one source, and not the same.
        kind: what both are compared as.
        ends: of the difference of the first and the second side.

    Returns:
        As in `Band`; None where the difference is open at both ends, or is one of an instant and a number.
    """
    one, other = _peel(sides[0], kind), _peel(sides[1], kind)
    left, right = one.base, other.base
    if (left.type is ColumnType.TIMESTAMP) != (right.type is ColumnType.TIMESTAMP):
        return None  # the microseconds since a constant instant, beside a number
    slack = one.slack + other.slack
    if kind is _FLOAT64 and left.type is right.type is _INT64:
        slack += 2 * _ROUNDING_MAX  # both became DOUBLEs; what is bounded are the integers
    ends = _moved(ends, other.offset - one.offset, slack)
    if min(sources_of(left)) > min(sources_of(right)):
        left, right = right, left
        ends = (None if ends[1] is None else -ends[1], None if ends[0] is None else -ends[0])
    rounded = _whole if _FLOAT64 not in (left.type, right.type) else _double
    low, high = rounded(ends[0], up=False), rounded(ends[1], up=True)
    if low is None and high is None:
        return None
    return left, right, low, high


def _moved(ends: _Ends, by: Fraction, slack: Fraction) -> _Ends:
    low, high = ends
    return (
        None if low is None else low + by - slack,
        None if high is None else high + by + slack,
    )


def _whole(end: Fraction | None, *, up: bool) -> int | None:
    """Return the end of a span of differences between integers; None where every difference is inside."""
    if end is None:
        return None
    whole = math.floor(end) if up else math.ceil(end)
    if (whole >= _SPAN_MAX) if up else (whole <= -_SPAN_MAX):
        return None
    return max(-_SPAN_MAX, min(whole, _SPAN_MAX))


def _double(end: Fraction | None, *, up: bool) -> float | None:
    """Return the DOUBLE nearest to an end on its outer side; None, which is open, where there is none."""
    if end is None or abs(end) > _DOUBLE_MAX:
        return None
    number = float(end)
    if (Fraction(number) < end) if up else (Fraction(number) > end):
        number = math.nextafter(number, math.inf if up else -math.inf)
    return number if math.isfinite(number) else None


def _next_double(end: Fraction | None, *, up: bool) -> Fraction | None:
    """Return an end moved outwards past what is rounded to it; None where there is no DOUBLE."""
    number = _double(end, up=up)
    if number is None:
        return None
    number = math.nextafter(number, math.inf if up else -math.inf)
    return Fraction(number) if math.isfinite(number) else None


def _are_apart(left: Expression, right: Expression) -> bool:
    """Return whether each side reads one source, and not the same one."""
    sources = sources_of(left), sources_of(right)
    return len(sources[0]) == len(sources[1]) == 1 and sources[0] != sources[1]
