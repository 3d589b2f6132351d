"""Exact sums of the values of g groups, and of their squares."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.groups import Members, in_order
from psoup.engine.kernels import exact_sums as kernels
from psoup.engine.kernels.digits import (
    DIGIT_BITS,
    add_numbers,
    carry,
    quotients,
    spreads,
    whole_numbers,
)
from psoup.engine.kernels.float_sums import (
    ROOM_BITS,
    add_floats,
    add_floats_of_runs,
    exponents,
)
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_ABOVE: Final = 3
"""Digits that a value of 64 bits takes from the one that its lowest bit lies in."""
_PRECISION: Final = 53
_UNDIVIDED: Final = np.empty(0, dtype=np.int64)


class SumFormat(NamedTuple):
    """Which digits an exact sum has.

    Attributes:
        unit: the exponent of digit 0.
        width: how many digits there are.
    """

    unit: int
    width: int


@value_type
class ExactSums:
    """One number for each of g groups: `sum(digits[k] * 2^(unit + 32 k))`.

    Attributes:
        unit: a multiple of 32.
        digits: (g, w), carried (`kernels/digits.py`).
    """

    unit: int
    digits: Integers

    def part(self, some: slice) -> "ExactSums":
        """Return the numbers of a slice, as a view."""
        return ExactSums(self.unit, self.digits[some])

    def take(self, places: Integers) -> "ExactSums":
        """Return the numbers at these places."""
        return ExactSums(self.unit, self.digits[places])

    def whole_numbers(self) -> tuple[Integers, NDArray[np.bool_]]:
        """Return the numbers, whose unit is 1, as int64, and which of them fit in it."""
        found = np.empty(len(self.digits), dtype=np.int64)
        fits = np.empty(len(self.digits), dtype=np.bool_)
        whole_numbers(self.digits, found, fits)
        return found, fits

    def rounded(self, divisors: Integers | None = None) -> Floats:
        """Return the numbers, divided by `divisors` in [1, 2^62), rounded once; NaN past the largest float64."""
        found = np.empty(len(self.digits), dtype=np.float64)
        quotients(self.digits, self.unit, _UNDIVIDED if divisors is None else divisors, found)
        return found

    def spread(self, squares: "ExactSums", counts: Integers) -> "ExactSums":
        """Return `counts * squares - self^2`; the unit of `squares` is twice this one."""
        assert squares.unit == 2 * self.unit, "squares are counted in the square of the unit"
        width = max(2 * self.digits.shape[1] + 3, squares.digits.shape[1] + 3)
        found = np.zeros((len(counts), width), dtype=np.int64)
        spreads(self.digits, squares.digits, counts, found)
        return ExactSums(squares.unit, found)


def sums_of(values: NDArray[Any], members: Members) -> ExactSums:
    """Return the sum of each group's values, (m,) int64 or finite float64. Cost: that of `add_values`."""
    unit, width = format_of(values)
    digits = np.zeros((members.count, width), dtype=np.int64)
    fits = add_values(values, members, unit, digits, slice(0, width))
    assert fits, "the digits are made for the values"
    carry(digits)
    return ExactSums(unit, digits)


def format_of(values: NDArray[Any]) -> SumFormat:
    """Return the format of a sum of (m,) int64 or finite float64 values. Cost: that of `exponents` for float64."""
    if values.dtype != np.float64:
        return SumFormat(0, 1 + _ABOVE)
    span = exponents(values)
    return _format(span.unit, max(span.unit, span.top - ROOM_BITS))


def add_values(
    values: NDArray[Any], members: Members, unit: int, rows: Integers, digits: slice
) -> bool:
    """Add (m,) int64 or finite float64 values to the numbers of their groups.

    Args:
        values: of the members.
        members: the rows they belong to.
        unit: of the numbers.
        rows: (g, w) with the digits of a number each, added to and not carried.
        digits: where these are in a row.

    Returns:
        Whether the digits reach as low and as high as the values; where they do not, they hold anything.

    Cost: 0.3 ns a value where groups follow each other, 1.6 ns else; up to 4 ns for float64 of exponents far apart.
    """
    first, past = digits.start, digits.stop
    if values.dtype != np.float64:
        if members.edges is None:
            kernels.add_ints(values, members.codes, rows, first)
        else:
            kernels.add_ints_of_runs(values, members.edges, rows, first)
        return True
    if members.edges is None:
        return add_floats(values, members.codes, unit, rows, first, past)
    return add_floats_of_runs(values, members.edges, unit, rows, first, past)


def weighted_sums_of(values: NDArray[Any], weights: Integers, members: Members) -> ExactSums:
    """Return the sum of each group's values, each as often as its weight in `[0, 2^62)` says. Cost: 5 ns a value."""
    over = 64 if len(weights) and int(weights.max()) >> 32 else 32
    unit, digits = _room_for(values, over, members.count)
    whole = values.dtype != np.float64
    kernels.add_weighted(values.view(np.int64), weights, members.labels, unit, digits, whole=whole)
    carry(digits)
    return ExactSums(unit, digits)


def sums_of_spans(
    values: NDArray[Any], spans: tuple[Integers, Integers], weights: Integers, members: Members
) -> ExactSums:
    """Return the sum of the values in each group's spans.

    Args:
        values: (n,) int64 or finite float64.
        spans: (k,) where spans of the values begin, and where they end.
        weights: (k,) how often each counts, in `[0, 2^31)`.
        members: the spans, in groups.

    Cost: 5 ns a value; for each span 10 ns, and 3 ns for each digit: a few where exponents lie close together.
    """
    unit, digits = _room_for(values, DIGIT_BITS, members.count)
    begins, ends = (in_order(places, len(values) + 1) for places in spans)
    whole = values.dtype != np.float64
    kernels.add_spans(
        values.view(np.int64), begins, ends, weights, members.labels, unit, digits, whole=whole
    )
    carry(digits)
    return ExactSums(unit, digits)


def sums_and_squares_of(values: NDArray[Any], members: Members) -> tuple[ExactSums, ExactSums]:
    """Return the sum of each group's values, and of their squares in the square of its unit. Cost: 9 ns a value."""
    sums = sums_of(values, members)
    if values.dtype != np.float64:
        digits = np.zeros((members.count, 2 + _ABOVE), dtype=np.int64)
        kernels.add_int_squares(values, members.labels, digits)
    else:
        top = exponents(values).top - _PRECISION
        _, digits = _room(2 * sums.unit, 2 * top + 2 * DIGIT_BITS, members.count)
        kernels.add_float_squares(values.view(np.int64), members.labels, sums.unit, digits)
    carry(digits)
    return sums, ExactSums(2 * sums.unit, digits)


def stacked(sums: Sequence[ExactSums]) -> ExactSums:
    """Return numbers one below the other, in the least of their units."""
    first = sums[0]
    if all(one.unit == first.unit and one.digits.shape[1] == first.digits.shape[1] for one in sums):
        return ExactSums(first.unit, np.concatenate([one.digits for one in sums]))
    unit = min(one.unit for one in sums)
    places = [(one.unit - unit) // DIGIT_BITS for one in sums]
    width = max(place + one.digits.shape[1] for place, one in zip(places, sums, strict=True))
    digits = np.zeros((sum(len(one.digits) for one in sums), width), dtype=np.int64)
    row = 0
    for place, one in zip(places, sums, strict=True):
        past = row + len(one.digits)
        digits[row:past, place : place + one.digits.shape[1]] = one.digits
        row = past
    carry(digits)  # a digit that was a last one, with the sign, is none any more
    return ExactSums(unit, digits)


def merged(sums: Sequence[ExactSums], labels: Sequence[Integers], count: int) -> ExactSums:
    """Return the sums of the numbers with equal labels, `count` of them, in the least of the units."""
    unit = min(one.unit for one in sums)
    places = [(one.unit - unit) // DIGIT_BITS for one in sums]
    width = max(place + one.digits.shape[1] for place, one in zip(places, sums, strict=True))
    digits = np.zeros((count, width), dtype=np.int64)
    for place, one, own in zip(places, sums, labels, strict=True):
        add_numbers(one.digits, own, place, digits)
    carry(digits)
    return ExactSums(unit, digits)


def _room(lowest: int, highest: int, count: int) -> tuple[int, Integers]:
    """Return a unit of at most 2^lowest, and digits for values of 64 bits whose lowest bit is up to 2^highest."""
    unit, width = _format(lowest, highest)
    return unit, np.zeros((count, width), dtype=np.int64)


def _format(lowest: int, highest: int) -> SumFormat:
    """Return the format for multiples of 2^lowest: values of 64 bits, whose lowest bit is up to 2^highest."""
    unit = lowest // DIGIT_BITS * DIGIT_BITS
    return SumFormat(unit, (highest - unit) // DIGIT_BITS + _ABOVE)


def _room_for(values: NDArray[Any], over: int, count: int) -> tuple[int, Integers]:
    """Return a unit for values, and digits for as many numbers, with as many bits more as a weight has."""
    if values.dtype != np.float64:
        return _room(0, over, count)
    span = exponents(values)
    return _room(span.unit, max(span.unit, span.top - _PRECISION) + over, count)
