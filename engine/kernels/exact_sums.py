"""Sums that no rounding touches, by group: of int64, of float64, and of their squares.

Sums of float64 alone are in `float_sums.py`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.compiled import compiled, inlined
from psoup.engine.kernels.digits import carry, put

Integers = NDArray[np.int64]


@compiled
def add_float_squares(values: Integers, labels: Integers, unit: int, digits: Integers) -> None:
    """Add the squares of (n,) float64 values, given by their bits, to the numbers of their groups.

    Args:
        values: (n,) bits.
        labels: (n,) the group of each.
        unit: all values are multiples of 2^unit; digit 0 counts 2^(2 unit).
        digits: (g, w) added to, not carried; w reaches three digits past the highest bit.

    Cost: 6 ns a value.
    """
    for row in range(len(values)):
        word = values[row]
        exponent = (word >> 52) & 0x7FF
        fraction = word & 0xF_FFFF_FFFF_FFFF
        if exponent:
            fraction |= 1 << 52
        else:
            exponent = 1
        if fraction:
            bit = 2 * (exponent - 1_075 - unit)
            _put_square(digits, labels[row], bit, int(fraction & 0xFFFF_FFFF), int(fraction >> 32))


@compiled
def add_int_squares(values: Integers, labels: Integers, digits: Integers) -> None:
    """Add the squares of (n,) int64 values to the (g, w) numbers of their groups; w is at least 5.

    Cost: 6 ns a value.
    """
    for row in range(len(values)):
        value = values[row]
        low, high = int(value & 0xFFFF_FFFF), int(value >> 32)
        if high < 0:  # the negative, whose halves are not negative
            low, high = -low, -high
            high -= 1 if low < 0 else 0
            low &= 0xFFFF_FFFF
        _put_square(digits, labels[row], 0, low, high)


@inlined
def _put_square(digits: Any, group: Any, bit: Any, low: Any, high: Any) -> None:
    """Add `(low + high * 2^32)^2 * 2^bit` to a group's number; low below 2^32, high up to 2^31."""
    square = low * low  # 64 bits, as those of a signed number
    put(digits, group, bit, square & 0xFFFF_FFFF, (square >> 32) & 0xFFFF_FFFF, 1)
    square = low * high * 2
    put(digits, group, bit + 32, square & 0xFFFF_FFFF, (square >> 32) & 0xFFFF_FFFF, 1)
    square = high * high
    put(digits, group, bit + 64, square & 0xFFFF_FFFF, square >> 32, 1)


@compiled
def add_ints(values: Integers, labels: NDArray[Any], digits: Integers, first: int) -> None:
    """Add (n,) values to the numbers of their groups.

    Args:
        values: (n,).
        labels: (n,) the group of each, int32 or int64.
        digits: (g, w) added to, not carried.
        first: which of them is the first digit of a number, of three at least.

    Cost: 1 ns a value.
    """
    for row in range(len(values)):
        group, value = np.uint64(labels[row]), values[row]
        digits[group, first] += value & 0xFFFF_FFFF
        digits[group, first + 1] += value >> 32


@compiled
def add_ints_of_runs(values: Integers, edges: Integers, digits: Integers, first: int) -> None:
    """Do as `add_ints` where group i has the values `[edges[i], edges[i + 1])`. Cost: 0.4 ns a value."""
    for group in range(len(edges) - 1):
        low = high = 0
        for row in range(edges[group], edges[group + 1]):
            low += values[row] & 0xFFFF_FFFF
            high += values[row] >> 32
        digits[group, first] += low
        digits[group, first + 1] += high


@compiled
def add_weighted(
    values: Integers,
    weights: Integers,
    labels: Integers,
    unit: int,
    digits: Integers,
    *,
    whole: bool,
) -> None:
    """Add (n,) values, each as often as its weight says, to the numbers of their groups.

    Args:
        values: (n,) int64, or float64 given by their bits.
        weights: (n,) in `[0, 2^62)`.
        labels: (n,) the group of each.
        unit: the exponent of digit 0; all values are multiples of 2^unit.
        digits: (g, w) added to, not carried; w reaches three digits past the highest bit, which is that of the values
            and 32 more, or 64 where a weight has more than 32 bits.
        whole: whether the values are int64; their unit is 0.

    Cost: 5 ns a value.
    """
    for row in range(len(values)):
        bit, low, high, sign = _parts(values[row], unit, whole)
        group, weight = labels[row], weights[row]
        lower, upper = int(weight & 0xFFFF_FFFF), int(weight >> 32)
        _put_product(digits, group, bit, low, lower, sign)
        _put_product(digits, group, bit + 32, high, lower, sign)
        if upper:
            _put_product(digits, group, bit + 32, low, upper, sign)
            _put_product(digits, group, bit + 64, high, upper, sign)


@compiled
def add_spans(
    values: Integers,
    begins: tuple[Integers, Integers],
    ends: tuple[Integers, Integers],
    weights: Integers,
    labels: Integers,
    unit: int,
    digits: Integers,
    *,
    whole: bool,
) -> None:
    """Add the values in spans to the numbers of the groups of these, as often as the weights of the spans say.

    One pass over the values, with their sum up to each: a span is the sum up to its end without that up to its begin.

    Args:
        values: (n,) int64, or float64 given by their bits.
        begins: (k,) spans in order of where they begin, and (n + 2,) edges of those that begin at each place.
        ends: the same of where they end.
        weights: (k,) of each span, in `[0, 2^31)`.
        labels: (k,) the group of each span.
        unit: the exponent of digit 0; all values are multiples of 2^unit.
        digits: (g, w) added to, not carried; w reaches three digits past the highest bit, and 32 bits more.
        whole: whether the values are int64; their unit is 0.

    Cost: 5 ns a value and some 3 ns for each span and digit.
    """
    sums = np.zeros((1, digits.shape[1]), dtype=np.int64)
    for place in range(len(values) + 1):
        begin, past = begins[1][place], begins[1][place + 1]
        first, last = ends[1][place], ends[1][place + 1]
        if begin < past or first < last:
            carry(sums)
            for at in range(begin, past):
                span = begins[0][at]
                _add_times(sums, -weights[span], digits, labels[span])
            for at in range(first, last):
                span = ends[0][at]
                _add_times(sums, weights[span], digits, labels[span])
        if place < len(values):
            bit, low, high, sign = _parts(values[place], unit, whole)
            put(sums, 0, bit, low, high, sign)


@inlined
def _parts(word: Any, unit: Any, whole: Any) -> Any:
    """Return a value as `sign * (low + high * 2^32) * 2^(unit + bit)`: bit, low, high, sign; neither half negative."""
    sign, bit = (-1 if word < 0 else 1), 0
    if whole:
        low, high = int(word & 0xFFFF_FFFF), int(word >> 32)
        if high < 0:
            low, high = -low, -high
            high -= 1 if low < 0 else 0
            low &= 0xFFFF_FFFF
    else:
        exponent, fraction = int((word >> 52) & 0x7FF), int(word & 0xF_FFFF_FFFF_FFFF)
        if exponent:
            fraction |= 1 << 52
        bit = max(exponent, 1) - 1_075 - unit if fraction else 0
        low, high = fraction & 0xFFFF_FFFF, fraction >> 32
    return bit, low, high, sign


@inlined
def _put_product(digits: Any, group: Any, bit: Any, one: Any, other: Any, sign: Any) -> None:
    """Add `sign * one * other * 2^bit` to a group's number; both factors in `[0, 2^32)`."""
    product = one * other  # 64 bits, as those of a signed number
    put(digits, group, bit, product & 0xFFFF_FFFF, (product >> 32) & 0xFFFF_FFFF, sign)


@inlined
def _add_times(number: Any, times: Any, digits: Any, group: Any) -> None:
    """Add a carried (1, w) number, multiplied by less than 2^31, to that of a group."""
    last = digits.shape[1] - 1
    for place in range(last):
        product = int(number[0, place]) * int(times)
        digits[group, place] += product & 0xFFFF_FFFF
        digits[group, place + 1] += product >> 32
    digits[group, last] += number[0, last] * times


@compiled
def add_counts(values: Integers, labels: Integers, counts: Integers) -> None:
    """Add (n,) values to the (g,) counts of their groups. Cost: 1 ns a value."""
    for row in range(len(values)):
        counts[labels[row]] += values[row]


@compiled
def count_rows(labels: NDArray[Any], counts: Integers) -> None:
    """Count the rows of each group into (g,) `counts`; labels are int32 or int64. Cost: 0.3 ns a row."""
    for row in range(len(labels)):
        counts[np.uint64(labels[row])] += 1
