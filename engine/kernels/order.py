"""A chunk's values in order, and bitmaps of its smallest rows: what intervals are read off.

Over n values in ascending order an interval of values is a range of places `[low, high)`, and the bitmap of
its rows is that of the first `high` rows without the first `low`: one XOR, because the one holds the other.
So a chunk costs one sort an attribute, and every interval of every clause two look-ups, however many constants
there are. This is the rank-to-bitmap table of a grouped filter, turned around: ranks of the chunk's values
instead of the constants', so that it is never larger than the chunk squared. Where there are few bounds, the
values are compared with each, and nothing is put in order.

Values are whole numbers here; `sortable` makes such of floats.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import Words
from psoup.engine.kernels.compiled import compiled, ones
from psoup.engine.kernels.grouping import rows_by_group

Integers = NDArray[np.int64]

COUNTED_SPAN_MAX: Final = 4_095
"""Values of up to this span are put in order by counting."""
RADIX_SPAN_MAX: Final = np.iinfo(np.uint16).max
FEW_SHARE: Final = 8
"""Bounds fewer than one in so many values are searched for, more are walked past."""
_INT64_BITS: Final = 63
_SIGN: Final = np.int64(2**63 - 1)


def sortable(values: NDArray[np.float64]) -> Integers:
    """Return (n,) whole numbers that are ordered as the floats are; 0.0 and -0.0 are the same. No NaN."""
    bits = (values + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & _SIGN)


class Ordered(NamedTuple):
    """The values of a chunk in order.

    Attributes:
        rows: (n,) int32, the rows of the chunk in ascending order of their values, equal ones in any.
        values: (n,) so ordered.
        least: the smallest value.
        begins: (s,) int32: how many values lie below `least`, `least + 1`, ...; the last is n. Empty where the
            span of the values is too wide to be counted.
    """

    rows: NDArray[np.int32]
    values: Integers
    least: int
    begins: NDArray[np.int32]


_COUNTED_KEYS_MAX: Final = 2
"""Values that keys span, by their number: fewer are counted."""
_NOT_COUNTED: Final = np.empty(0, dtype=np.int32)


def ascending(values: Integers, rows: NDArray[np.int32] | None = None) -> Ordered:
    """Return (n,) values in order; they are those of `rows`, or of the rows 0 to n - 1.

    Whole numbers of a narrow span are counted or sorted by radix, many times as fast as by comparing.
    """
    if not len(values):
        return Ordered(np.empty(0, dtype=np.int32), values, 0, _NOT_COUNTED)
    least, begins = int(values.min()), _NOT_COUNTED
    span = int(values.max()) - least
    if span <= COUNTED_SPAN_MAX:
        order = np.empty(len(values), dtype=np.int32)
        begins = np.zeros(span + 2, dtype=np.int32)
        _count(values, least, begins, order)
    elif span <= RADIX_SPAN_MAX:
        order = np.argsort((values - least).astype(np.uint16), kind="stable").astype(np.int32)
    else:
        order = np.argsort(values).astype(np.int32)
    return Ordered(order if rows is None else rows[order], values[order], least, begins)


def sorted_places(keys: Integers) -> NDArray[np.int64]:
    """Return the places of (n,) keys in ascending order, equal ones as they came.

    Keys that span little are counted. Else key and place are one number where both fit: numbers are sorted several
    times as fast as places by numbers.
    """
    count = len(keys)
    if not count:
        return np.empty(0, dtype=np.int64)
    bits, least = count.bit_length(), int(keys.min())
    span = int(keys.max()) - least
    if span < _COUNTED_KEYS_MAX * count:
        places = np.empty(count, dtype=np.int64)
        rows_by_group(keys - least, np.zeros(span + 2, dtype=np.int64), places)
        return places
    if span.bit_length() + bits > _INT64_BITS:
        return np.argsort(keys, kind="stable")
    together = ((keys - least) << bits) | np.arange(count)
    together.sort()
    found: NDArray[np.int64] = together & ((1 << bits) - 1)
    return found


@compiled
def _count(
    values: Integers, least: int, begins: NDArray[np.int32], order: NDArray[np.int32]
) -> None:
    """Write the places of the values in order, and how many lie below each value of the span.

    Args:
        values: (n,).
        least: the smallest.
        begins: (span + 2,) zeros; written.
        order: (n,) written.
    """
    for value in values:
        begins[value - least + 1] += 1
    for i in range(1, len(begins)):
        begins[i] += begins[i - 1]
    next_place = begins.copy()
    for row in range(len(values)):
        key = values[row] - least
        order[next_place[key]] = row
        next_place[key] += 1


def places(ordered: Ordered, bounds: Integers, *, up_to: bool, found: NDArray[np.int32]) -> None:
    """Write how many of the values lie below each bound, or up to it.

    Args:
        ordered: n values.
        bounds: (c,) ascending.
        up_to: whether values that equal a bound count.
        found: (c,) written.

    Cost: O(c) where values were counted, else O(n + c), or O(c log n) for a few bounds.
    """
    if len(ordered.begins):
        _look_up(ordered.least, ordered.begins, bounds, found, up_to=up_to)
    elif len(bounds) * FEW_SHARE < len(ordered.values):
        found[: len(bounds)] = np.searchsorted(ordered.values, bounds, "right" if up_to else "left")
    else:
        _walk(ordered.values, bounds, found, up_to=up_to)


@compiled
def _look_up(
    least: int,
    begins: NDArray[np.int32],
    bounds: Integers,
    found: NDArray[np.int32],
    *,
    up_to: bool,
) -> None:
    most = least + len(begins) - 2
    for i in range(len(bounds)):
        bound = bounds[i]
        if bound < least:
            found[i] = 0
        elif bound > most:
            found[i] = begins[-1]
        else:
            found[i] = begins[bound - least + up_to]


@compiled
def _walk(values: Integers, bounds: Integers, found: NDArray[np.int32], *, up_to: bool) -> None:
    """Walk both once, without a branch that could be foretold wrongly."""
    at = i = 0
    while at < len(values) and i < len(bounds):
        inside = (values[at] < bounds[i]) | (up_to & (values[at] == bounds[i]))
        found[i] = at
        at += inside
        i += not inside
    for rest in range(i, len(bounds)):
        found[rest] = len(values)


@compiled
def mark(asked: NDArray[np.int32], numbers: NDArray[np.int32]) -> None:
    """Write 1 into (n + 1,) `numbers` for each of (b,) places that are asked for."""
    for place in asked:
        numbers[place] = 1


@compiled
def number(numbers: NDArray[np.int32]) -> int:
    """Number the marked of (n + 1,) places from 1 on, ascending; the others stay 0. Return how many there are."""
    count = 0
    for place in range(len(numbers)):
        count += numbers[place]
        numbers[place] *= count
    return count


@compiled
def rows_of(
    asked: NDArray[np.int32], numbers: NDArray[np.int32], first: int, rows: NDArray[np.int32]
) -> None:
    """Write into (b,) `rows` which bitmap is that of each place asked for; number 1 is bitmap `first`."""
    for i in range(len(asked)):
        rows[i] = first + numbers[asked[i]] - 1


@compiled
def prefixes(order: NDArray[np.int32], numbers: NDArray[np.int32], bitmaps: Words) -> None:
    """Write the bitmap of the first rows in order for each place that has a number.

    Args:
        order: (n,) rows of a chunk (0 to 4,095).
        numbers: (n + 1,) as `number` writes them.
        bitmaps: (u, 64) words; written: the first is that of number 1.

    Cost: O(n + 64 u).
    """
    growing = np.zeros(64, dtype=np.uint64)
    for at in range(len(numbers)):
        if numbers[at]:
            filled = bitmaps[numbers[at] - 1]
            for word in range(64):
                filled[word] = growing[word]
        if at < len(order):
            row = order[at]
            growing[row >> 6] |= np.uint64(1) << np.uint64(row & 63)


@compiled
def compare(
    values: Integers,
    null_rows: Words,
    bounds: Integers,
    bitmaps: Words,
    places: NDArray[np.int32],
    *,
    up_to: bool,
) -> None:
    """Write the bitmap of the rows below each bound, or up to it, and how many they are.

    Args:
        values: (4096,) by row.
        null_rows: (64,) words: rows that hold NULL, whatever their values.
        bounds: (c,) in any order.
        bitmaps: (c, 64) words; written.
        places: (c,) written.
        up_to: whether rows that equal a bound count.

    Cost: O(4096 c), some values at a time.
    """
    for i in range(len(bounds)):
        bound, filled = bounds[i], bitmaps[i]
        count = 0
        for word in range(64):
            some = values[word * 64 : word * 64 + 64]
            bits = np.uint64(0)
            if up_to:
                for bit in range(64):
                    bits |= np.uint64(some[bit] <= bound) << np.uint64(bit)
            else:
                for bit in range(64):
                    bits |= np.uint64(some[bit] < bound) << np.uint64(bit)
            bits &= ~null_rows[word]
            filled[word] = bits
            count += ones(bits)
        places[i] = count
