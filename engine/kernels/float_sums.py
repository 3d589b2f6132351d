"""Sums of float64 that no rounding touches, by group.

Values whose exponents lie close together are cut into folds: adding 1.5 * 2^(52 + k) rounds a value to a multiple of
2^k, which then stands in the lower bits of the sum; what is left is the rest, exactly. Each fold adds up in an int64.
Other values are put into digits of base 2^32 (`digits.py`) bit by bit.

Sources: pre-rounding, Demmel and Nguyen, Parallel Reproducible Summation, 2015; the superaccumulator of Neal, Fast
Exact Summation Using Small and Large Superaccumulators, 2015.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.compiled import compiled, inlined
from psoup.engine.kernels.digits import put

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

ROOM_BITS: Final = 45
"""Of the highest fold, at least: values of up to 2^top have digits for sums of multiples of 2^(top - ROOM_BITS).

A fold adds up in an int64: 62 bits, without the sign and one to spare.
"""
_ROWS_OF_RUN: Final = 2_048
"""Values that are read twice, and stay in the first cache meanwhile."""
_RUN_ROOM_BITS: Final = 50
"""Of their folds: 62 without those of their number, and as many as a fold has at most."""
_ROWS_OF_GROUPS: Final = 65_536
"""Values whose folds have ROOM_BITS: 62 without those of their number."""
_BIAS: Final = 1_023
_FRACTION_BITS: Final = 52
_NO_SIGN: Final = 0x7FFF_FFFF_FFFF_FFFF
_FOLDED_UNIT_MIN: Final = -1_022
"""Rests of folds are no subnormal numbers, which a process may be set to take for zero."""
_BIT_BY_BIT: Final = -1
"""In place of how many folds there are: values are put into digits one by one."""


class Exponents(NamedTuple):
    """Where the bits of finite float64 values lie: all are multiples of 2^unit, and smaller than 2^top."""

    unit: int
    top: int


def exponents(values: Floats) -> Exponents:
    """Return where the bits of (n,) finite values lie; unit and top are 0 where all are zero. Cost: 0.1 ns a value."""
    unit, top = _exponents(values.view(np.int64))
    return Exponents(unit, top)


@compiled
def _exponents(bits: Integers) -> tuple[int, int]:
    """Return unit and top of values, given by their (n,) bits: equal where all are zero alone.

    A magnitude is the bits without the sign, in the order of the values. Without a branch: less one, zero is the
    largest of all.
    """
    below, most = _NO_SIGN, 0
    for row in range(len(bits)):
        magnitude = bits[row] & _NO_SIGN
        below, most = min(below, (magnitude - 1) & _NO_SIGN), max(most, magnitude)
    if most == 0:
        return 0, 0
    lowest, highest = max((below + 1) >> _FRACTION_BITS, 1), max(most >> _FRACTION_BITS, 1)
    return lowest - _BIAS - _FRACTION_BITS, highest - _BIAS + 1


@inlined
def _bits_of(value: Any) -> Any:
    return np.float64(value).view(np.int64)


@inlined
def _shifters(folds: Any) -> Any:
    """Return for three folds what rounds a value that is added to it to a multiple of 2^fold."""
    one, two, three = folds
    return (
        math.ldexp(1.5, int(_FRACTION_BITS + one)),
        math.ldexp(1.5, int(_FRACTION_BITS + two)),
        math.ldexp(1.5, int(_FRACTION_BITS + three)),
    )


@inlined
def _choose_folds(bits: Any, room: Any, unit: Any, width: Any) -> Any:
    """Return how values are added to numbers.

    Args:
        bits: (n,) of the values.
        room: bits of a fold, 50 at most: 1.5 * 2^(52 + k) and a value of up to 2^(50 + k) have a sum between
            2^(52 + k) and 2^(53 + k).
        unit: the exponent of the first digit of a number.
        width: digits of a number.

    Returns:
        Whether the digits reach as low and as high as the values do; how many folds hold the values, 0 where all are
        zero, or _BIT_BY_BIT; and the exponents of three folds, the highest first. One that has nothing to hold is that
        before it once more.
    """
    lowest, top = _exponents(bits)
    one = max(top - room, lowest)
    two = max(one - room, lowest)
    three = max(two - room, lowest)
    folds = one, two, three
    if lowest == top:
        return True, 0, folds
    fits = lowest >= unit and (top - ROOM_BITS - unit) >> 5 <= width - 3
    if three > lowest or lowest < _FOLDED_UNIT_MIN or one + _FRACTION_BITS >= _BIAS:
        return fits, _BIT_BY_BIT, folds
    return fits, 2 if two == three else 3, folds


@compiled
def add_floats_of_runs(
    values: Floats, edges: Integers, unit: int, digits: Integers, first: int, past: int
) -> bool:
    """Add (n,) float64 values to numbers; group i has the values `[edges[i], edges[i + 1])`.

    Args:
        values: (n,) finite.
        edges: (g + 1,).
        unit: the exponent of the first digit of a number.
        digits: (g, w) added to, not carried.
        first: which of them is the first digit of a number.
        past: the one behind its last digit.

    Returns:
        Whether the digits reach as low and as high as the values do; where they do not, digits hold anything.

    Cost: 0.3 ns a value, 3 ns where exponents lie far apart.
    """
    bits = values.view(np.int64)
    for group in range(len(edges) - 1):
        for begin in range(edges[group], edges[group + 1], _ROWS_OF_RUN):
            end = min(begin + _ROWS_OF_RUN, edges[group + 1])
            fits, count, folds = _choose_folds(bits[begin:end], _RUN_ROOM_BITS, unit, past - first)
            if not fits:
                return False
            if count == _BIT_BY_BIT:
                for row in range(begin, end):
                    _put_float(digits, group, bits[row], unit, first)
            elif count:
                sums = _add_run(values[begin:end], _shifters(folds), count)
                for fold, part in zip(folds, sums):  # noqa: B905 (numba has no `strict`)
                    bit = fold - unit + (first << 5)
                    put(digits, group, bit, part & 0xFFFF_FFFF, part >> 32, 1)
    return True


@compiled
def _add_run(
    values: Floats, shifters: tuple[float, float, float], count: int
) -> tuple[int, int, int]:
    """Return the sums of the folds of (n,) values, in units of each: `count` of them, two at least."""
    one, two, three = shifters
    bits_one, bits_two, bits_three = _bits_of(one), _bits_of(two), _bits_of(three)
    first = second = third = 0
    if count > 2:
        for row in range(len(values)):
            rounded = values[row] + one
            rest = values[row] - (rounded - one)
            next_rounded = rest + two
            first += _bits_of(rounded) - bits_one
            second += _bits_of(next_rounded) - bits_two
            third += _bits_of(rest - (next_rounded - two) + three) - bits_three
    else:
        for row in range(len(values)):
            rounded = values[row] + one
            first += _bits_of(rounded) - bits_one
            second += _bits_of(values[row] - (rounded - one) + two) - bits_two
    return first, second, third


@compiled
def add_floats(
    values: Floats, labels: NDArray[Any], unit: int, digits: Integers, first: int, past: int
) -> bool:
    """Add (n,) float64 values to the numbers of their groups.

    Args:
        values: (n,) finite.
        labels: (n,) the group of each, int32 or int64.
        unit: the exponent of the first digit of a number.
        digits: (g, w) added to, not carried.
        first: which of them is the first digit of a number.
        past: the one behind its last digit.

    Returns:
        Whether the digits reach as low and as high as the values do; where they do not, digits hold anything.

    Cost: 1 to 3 ns a value.
    """
    bits, sums = values.view(np.int64), np.zeros((len(digits), 3), dtype=np.int64)
    for begin in range(0, len(values), _ROWS_OF_GROUPS):
        end = min(begin + _ROWS_OF_GROUPS, len(values))
        fits, count, folds = _choose_folds(bits[begin:end], ROOM_BITS, unit, past - first)
        if not fits:
            return False
        if count == _BIT_BY_BIT:
            _put_floats(bits[begin:end], labels[begin:end], unit, digits, first)
        elif count:
            _add_groups(values[begin:end], labels[begin:end], _shifters(folds), count, sums)
            at = np.array(folds) - unit + (first << 5)
            for group in range(len(digits)):
                for place in range(count):
                    part = sums[group, place]
                    put(digits, group, at[place], part & 0xFFFF_FFFF, part >> 32, 1)
                    sums[group, place] = 0
    return True


@compiled
def _add_groups(
    values: Floats,
    labels: NDArray[Any],
    shifters: tuple[float, float, float],
    count: int,
    sums: Integers,
) -> None:
    """Add the folds of (n,) values, `count` of them, to the (g, 3) sums of their groups."""
    one, two, three = shifters
    bits_one, bits_two, bits_three = _bits_of(one), _bits_of(two), _bits_of(three)
    for row in range(len(values)):
        group, value = np.uint64(labels[row]), values[row]
        rounded = value + one
        rest = value - (rounded - one)
        next_rounded = rest + two
        sums[group, 0] += _bits_of(rounded) - bits_one
        sums[group, 1] += _bits_of(next_rounded) - bits_two
        if count > 2:
            sums[group, 2] += _bits_of(rest - (next_rounded - two) + three) - bits_three


@compiled
def _put_floats(
    bits: Integers, labels: NDArray[Any], unit: int, digits: Integers, first: int
) -> None:
    """Add values, given by their (n,) bits, to the numbers of their groups bit by bit."""
    for row in range(len(bits)):
        _put_float(digits, labels[row], bits[row], unit, first)


@inlined
def _put_float(digits: Any, group: Any, word: Any, unit: Any, first: Any) -> None:
    """Add a float64, given by its bits, to a group's number, whose first digit is `first`."""
    exponent, fraction = int((word >> 52) & 0x7FF), int(word & 0xF_FFFF_FFFF_FFFF)
    if exponent:
        fraction |= 1 << 52
    else:
        exponent = 1
    if fraction:
        bit = exponent - 1_075 - unit + (first << 5)
        put(digits, group, bit, fraction & 0xFFFF_FFFF, fraction >> 32, -1 if word < 0 else 1)
