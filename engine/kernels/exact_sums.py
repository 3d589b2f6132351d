"""Sums that no rounding touches, by group: of int64, of float64, and of their squares.

Float64 values whose exponents lie close together are cut into folds: adding 1.5 * 2^(52 + k) rounds a value to a
multiple of 2^k, which then stands in the lower bits of the sum; what is left is the rest, exactly. Each fold adds up in
an int64. Other values are put into digits of base 2^32 (`digits.py`) bit by bit.

Sources: pre-rounding, Demmel and Nguyen, Parallel Reproducible Summation, 2015; the superaccumulator of Neal, Fast
Exact Summation Using Small and Large Superaccumulators, 2015.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.compiled import compiled, inlined
from psoup.engine.kernels.digits import carry, put

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

FOLDS_MAX: Final = 3
_SUM_BITS: Final = 62
"""Of an int64 that folds add up in, without its sign, and one to spare."""
_FOLD_BITS_MAX: Final = 50
"""Of a fold: 1.5 * 2^(52 + k) and a value of up to 2^(50 + k) have a sum between 2^(52 + k) and 2^(53 + k)."""
_BIAS: Final = 1_023
_FRACTION_BITS: Final = 52
_NO_SIGN: Final = 0x7FFF_FFFF_FFFF_FFFF
_FOLDED_UNIT_MIN: Final = -1_022
"""Rests of folds are no subnormal numbers, which a process may be set to take for zero."""


class Exponents(NamedTuple):
    """Where the bits of finite float64 values lie: all are multiples of 2^unit, and smaller than 2^top."""

    unit: int
    top: int


def exponents(values: Floats) -> Exponents:
    """Return where the bits of (n,) finite values lie; unit and top are 0 where all are zero. Cost: 0.3 ns a value."""
    below, most = _magnitudes(values.view(np.int64))
    if not most:
        return Exponents(0, 0)
    lowest, highest = (max(int(one) >> _FRACTION_BITS, 1) for one in (below + 1, most))
    return Exponents(lowest - _BIAS - _FRACTION_BITS, highest - _BIAS + 1)


def folds_of(span: Exponents, count: int) -> tuple[int, ...]:
    """Return the exponents k of the folds for `count` values at most a group, the highest first; () = too many."""
    room = min(_FOLD_BITS_MAX, _SUM_BITS - count.bit_length())
    at, found = span.top, list[int]()
    while not found or found[-1] > span.unit:
        at = max(at - room, span.unit)
        found.append(at)
    usable = span.unit >= _FOLDED_UNIT_MIN and found[0] + _FRACTION_BITS < _BIAS
    return tuple(found) if usable and len(found) <= FOLDS_MAX else ()


def shifters(folds: tuple[int, ...]) -> tuple[float, float, float]:
    """Return what each fold adds to a value to round it; missing folds repeat the last one, and find nothing."""
    added = [1.5 * 2.0 ** (_FRACTION_BITS + k) for k in folds]
    first, second, third = [*added, added[-1], added[-1]][:FOLDS_MAX]
    return first, second, third


@compiled
def _magnitudes(bits: Integers) -> tuple[int, int]:
    """Return one less than the least magnitude but zero, and the largest, of values given by their bits.

    A magnitude is the bits without the sign, in the order of the values. Without a branch: less one, zero is the
    largest of all.
    """
    least, most = _NO_SIGN, 0
    for word in bits:
        magnitude = word & _NO_SIGN
        below = (magnitude - 1) & _NO_SIGN
        least = below if below < least else least
        most = magnitude if magnitude > most else most
    return least, most


@inlined
def _bits_of(value: Any) -> Any:
    return np.float64(value).view(np.int64)


@compiled
def add_folds(
    values: Floats, labels: Integers, shifter: tuple[float, float, float], sums: Integers
) -> None:
    """Add the folds of (n,) values to the (g, 3) sums of their groups. Cost: 2 ns a value."""
    one, two, three = shifter
    bits_one, bits_two, bits_three = _bits_of(one), _bits_of(two), _bits_of(three)
    with_third = three != two
    for row in range(len(values)):
        group, value = labels[row], values[row]
        rounded = value + one
        sums[group, 0] += _bits_of(rounded) - bits_one
        value -= rounded - one
        rounded = value + two
        sums[group, 1] += _bits_of(rounded) - bits_two
        if with_third:
            value -= rounded - two
            sums[group, 2] += _bits_of(value + three) - bits_three


@compiled
def add_folds_of_runs(
    values: Floats, edges: Integers, shifter: tuple[float, float, float], sums: Integers
) -> None:
    """Add the folds of (n,) values to (g, 3) sums; group i has the values `[edges[i], edges[i + 1])`.

    Cost: 0.4 ns a value.
    """
    one, two, three = shifter
    bits_one, bits_two, bits_three = _bits_of(one), _bits_of(two), _bits_of(three)
    for group in range(len(edges) - 1):
        first = second = third = 0
        for row in range(edges[group], edges[group + 1]):
            value = values[row]
            rounded = value + one
            first += _bits_of(rounded) - bits_one
            value -= rounded - one
            rounded = value + two
            second += _bits_of(rounded) - bits_two
            value -= rounded - two
            third += _bits_of(value + three) - bits_three
        sums[group, 0] += first
        sums[group, 1] += second
        sums[group, 2] += third


@compiled
def add_floats(values: Integers, labels: Integers, unit: int, digits: Integers) -> None:
    """Add (n,) float64 values of any exponents, given by their bits, to the numbers of their groups.

    Args:
        values: (n,) bits.
        labels: (n,) the group of each.
        unit: the exponent of digit 0; all values are multiples of 2^unit.
        digits: (g, w) added to, not carried; w reaches three digits past the highest bit.

    Cost: 2 to 3 ns a value.
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
            sign = -1 if word < 0 else 1
            bit = exponent - 1_075 - unit
            put(digits, labels[row], bit, fraction & 0xFFFF_FFFF, fraction >> 32, sign)


@compiled
def add_float_squares(values: Integers, labels: Integers, unit: int, digits: Integers) -> None:
    """Add the squares of (n,) float64 values, given by their bits; as in `add_floats`, but digit 0 counts 2^(2 unit).

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
def add_ints(values: Integers, labels: Integers, sums: Integers) -> None:
    """Add the lower and the upper 32 bits of (n,) values to the (g, 2) sums of their groups. Cost: 1.5 ns a value."""
    for row in range(len(values)):
        group, value = labels[row], values[row]
        sums[group, 0] += value & 0xFFFF_FFFF
        sums[group, 1] += value >> 32


@compiled
def add_ints_of_runs(values: Integers, edges: Integers, sums: Integers) -> None:
    """Do as `add_ints` where group i has the values `[edges[i], edges[i + 1])`. Cost: 0.4 ns a value."""
    for group in range(len(edges) - 1):
        low = high = 0
        for row in range(edges[group], edges[group + 1]):
            low += values[row] & 0xFFFF_FFFF
            high += values[row] >> 32
        sums[group, 0] += low
        sums[group, 1] += high


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
def count_rows(labels: Integers, counts: Integers) -> None:
    """Count the rows of each group into (g,) `counts`. Cost: 1 ns a row."""
    for label in labels:
        counts[label] += 1
