"""Whole numbers of many digits in base 2^32, one for each of g groups: exact sums are kept and rounded so.

A number is `sum(digits[k] * 2^(32 k))`. While values are added a digit may be any int64; `carry` brings all but the
last, which has the sign, into `[0, 2^32)`. Where the digits begin on the axis of exponents is known to the caller:
`unit` is the exponent of two of digit 0.
"""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.compiled import compiled, inlined

Integers = NDArray[np.int64]

DIGIT_BITS: Final = 32
_DIGIT: Final = 0xFFFF_FFFF
_LEAST_EXPONENT: Final = -1_074
"""Of the smallest float64, 2^-1074: every finite float64 is a multiple of it."""
_EXPONENT_PAST: Final = 1_024
"""Every finite float64 is smaller than 2^1024."""
_PRECISION: Final = 53
_QUOTIENT_BITS: Final = 56
"""Of a quotient before it is rounded: three more than a float64 keeps, less one where the first is zero."""
_NOTHING_LEFT: Final = 60
"""A quotient shifted by more than this is less than half of the smallest float64."""


@inlined
def put(digits: Any, group: Any, bit: Any, low: Any, high: Any, sign: Any) -> None:
    """Add `sign * (low + high * 2^32) * 2^bit` to a group's number; low is in `[0, 2^32)`, high in `[-2^31, 2^32)`."""
    place, shift = bit >> 5, bit & 31
    lower, upper = low << shift, high << shift
    digits[group, place] += sign * (lower & 0xFFFF_FFFF)
    digits[group, place + 1] += sign * ((lower >> 32) + (upper & 0xFFFF_FFFF))
    digits[group, place + 2] += sign * (upper >> 32)


@inlined
def _carry(digits: Any, group: Any, first: Any, past: Any) -> None:
    over = 0
    for place in range(first, past - 1):
        value = digits[group, place] + over
        digits[group, place] = value & 0xFFFF_FFFF
        over = value >> 32
    digits[group, past - 1] += over


@compiled
def carry(digits: Integers) -> None:
    """Bring all digits of (g, w) but the last of each number into `[0, 2^32)`."""
    for group in range(len(digits)):
        _carry(digits, group, 0, digits.shape[1])


@compiled
def carry_all(rows: Integers, numbers: Integers) -> None:
    """Do as `carry` for each number in (g, w) rows; (m, 2) `numbers` says where each begins in a row, and ends."""
    for row in range(len(rows)):
        for number in range(len(numbers)):
            _carry(rows, row, numbers[number, 0], numbers[number, 1])


@compiled
def add_numbers(numbers: Integers, labels: Integers, first: int, digits: Integers) -> None:
    """Add each of (n, w) carried numbers to that of its group, from digit `first` on.

    (g, first + w or more) digits are not carried afterwards. Cost: 1 ns a digit.
    """
    for row in range(len(labels)):
        group = labels[row]
        for place in range(numbers.shape[1]):
            digits[group, first + place] += numbers[row, place]


@compiled
def merge_rows(rows: Integers, labels: Integers, added: int, found: Integers) -> None:
    """Merge (n, w) rows into those of (g, w) `found` that their labels say.

    The first `added` words of a row are added, as those of carried numbers and of counts are; of the others the least
    is kept. Cost: 0.5 ns a word.
    """
    for row in range(len(rows)):
        group = labels[row]
        for word in range(added):
            found[group, word] += rows[row, word]
        for word in range(added, rows.shape[1]):
            found[group, word] = min(found[group, word], rows[row, word])


@inlined
def _magnitude(digits: Any, group: Any, found: Any) -> Any:
    """Write the digits of a carried number without its sign into (w + 1,) `found`; return whether it is negative."""
    last = digits.shape[1] - 1
    negative = digits[group, last] < 0
    over = 0
    for place in range(last):
        value = digits[group, place] + over if not negative else over - digits[group, place]
        found[place] = value & 0xFFFF_FFFF
        over = value >> 32
    value = digits[group, last] + over if not negative else over - digits[group, last]
    found[last] = value & 0xFFFF_FFFF
    found[last + 1] = value >> 32
    return negative


@inlined
def _length(value: Any) -> Any:
    """Return how many bits a number of at least 0 has."""
    length = 0
    for step in (32, 16, 8, 4, 2, 1):
        if value >> step:
            value >>= step
            length += step
    return length + (1 if value else 0)


@inlined
def _cut(found: Any, low: Any, count: Any) -> Any:
    """Return `count` bits, 62 at most, of (w,) digits from bit `low` on, which may lie below the first digit."""
    taken = 0
    for place in range(low >> 5, ((low + count - 1) >> 5) + 1):
        digit = int(found[place]) if 0 <= place < len(found) else 0
        shift = 32 * place - low
        taken |= digit << shift if shift >= 0 else digit >> -shift
    return taken & ((1 << count) - 1)


@inlined
def _any_below(found: Any, bit: Any) -> Any:
    """Return whether (w,) digits have a bit set below `bit`."""
    place = 0
    while 32 * (place + 1) <= bit and place < len(found):
        if found[place]:
            return True
        place += 1
    if place < len(found) and bit > 32 * place:
        return (int(found[place]) & ((1 << (bit - 32 * place)) - 1)) != 0
    return False


@inlined
def _rounded(bits: Any, exponent: Any) -> Any:
    """Return `bits * 2^exponent` rounded once, half to even; NaN past the largest float64. `bits` has 55 at least."""
    dropped = _length(bits) - _PRECISION
    if exponent + dropped < _LEAST_EXPONENT:
        dropped = _LEAST_EXPONENT - exponent
    if dropped > _NOTHING_LEFT:
        return 0.0
    kept, rest = bits >> dropped, bits & ((1 << dropped) - 1)
    half = 1 << (dropped - 1)
    if rest > half or (rest == half and kept & 1):
        kept += 1
    if _length(kept) + exponent + dropped > _EXPONENT_PAST:
        return math.nan
    return math.ldexp(float(kept), int(exponent + dropped))


@compiled
def quotients(
    digits: Integers,
    unit: int,
    divisors: Integers,
    found: NDArray[np.float64],
) -> None:
    """Write `number * 2^unit / divisor` for each group, rounded once, half to even.

    Args:
        digits: (g, w) carried.
        unit: the exponent of digit 0.
        divisors: (g,) in [1, 2^62); (0,) = 1 for all.
        found: (g,) written: NaN where the quotient is larger than every float64.

    Cost: 30 ns a group for divisor 1, else 150 ns.
    """
    plain = np.zeros(digits.shape[1] + 1, dtype=np.int64)
    for group in range(len(digits)):
        negative = _magnitude(digits, group, plain)
        top = len(plain) - 1
        while top >= 0 and plain[top] == 0:
            top -= 1
        if top < 0:
            found[group] = 0.0
            continue
        divisor = int(divisors[group]) if len(divisors) else 1
        # The first bits are fewer than the divisor; each of the next ones gives a bit of the quotient.
        at = 32 * top + _length(int(plain[top]))
        first = _length(divisor) - 1
        at -= first
        rest = _cut(plain, at, first) if first else 0
        bits = 0
        if first:
            for _ in range(_QUOTIENT_BITS):
                at -= 1
                rest = rest << 1 | _cut(plain, at, 1)
                fits = rest >= divisor
                bits = bits << 1 | (1 if fits else 0)
                rest -= divisor if fits else 0
        else:
            at -= _QUOTIENT_BITS
            bits = _cut(plain, at, _QUOTIENT_BITS)
        more = rest != 0 or _any_below(plain, at)
        value = _rounded(bits << 1 | (1 if more else 0), at + unit - 1)
        found[group] = 0.0 - value if negative else value


@compiled
def spreads(sums: Integers, squares: Integers, counts: Integers, found: Integers) -> None:
    """Write `count * squares - sums^2` for each group: count^2 times the variance, exactly.

    Args:
        sums: (g, w) carried sums of values.
        squares: (g, v) carried sums of their squares; the exponent of digit 0 is twice that of `sums`.
        counts: (g,) numbers of values, below 2^31.
        found: (g, u) zeros; u at least max(2 w + 3, v + 3); written, carried.
    """
    plain = np.zeros(sums.shape[1] + 1, dtype=np.int64)
    square = np.zeros(squares.shape[1] + 1, dtype=np.int64)
    for group in range(len(sums)):
        _magnitude(squares, group, square)
        for place in range(len(square)):
            product = int(square[place]) * int(counts[group])
            found[group, place] += product & 0xFFFF_FFFF
            found[group, place + 1] += product >> 32
        _magnitude(sums, group, plain)
        for one in range(len(plain)):
            if plain[one] == 0:
                continue
            for other in range(len(plain)):
                product = int(plain[one]) * int(plain[other])
                found[group, one + other] -= product & 0xFFFF_FFFF
                found[group, one + other + 1] -= (product >> 32) & 0xFFFF_FFFF
    carry(found)


@compiled
def whole_numbers(digits: Integers, found: Integers, fits: NDArray[np.bool_]) -> None:
    """Write the numbers of (g, w) carried digits as int64, and whether they fit in it; w is at least 3.

    Digit 0 counts ones. What lies above bit 63 has to repeat it: it is the sign.
    """
    last = digits.shape[1] - 1
    for group in range(len(digits)):
        value = digits[group, 1] << 32 | digits[group, 0]
        sign = value >> 63
        inside = digits[group, last] == sign
        for place in range(2, last):
            inside &= digits[group, place] == sign & 0xFFFF_FFFF
        found[group] = value
        fits[group] = inside
