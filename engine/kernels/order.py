"""A chunk's values in order, and bitmaps of its smallest rows: what intervals are read off.

Over n values in ascending order an interval of values is a range of places `[low, high)`, and the bitmap of
its rows is that of the first `high` rows without the first `low`: one XOR, because the one holds the other.
So a chunk costs one look among the bounds for each value, and every interval of every clause two look-ups, however
many constants there are. This is the rank-to-bitmap table of a grouped filter, turned around: ranks of the chunk's
values instead of the constants', so that it is never larger than the chunk squared. Where there are few bounds, the
values are compared with each (`compare`); where values span little, they are counted (`counted.py`).

Values are whole numbers here; `sortable` makes such of floats.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import Words
from psoup.engine.kernels.compiled import compiled, ones
from psoup.engine.kernels.grouping import rows_by_group

Integers = NDArray[np.int64]

_INT64_BITS: Final = 63
RADIX_BITS: Final = 11
"""Keys are put in order by so many bits at a time: their counters stay in the first level of the cache."""
RADIX_MASK: Final = 2**RADIX_BITS - 1
_SIGN: Final = np.int64(2**63 - 1)


def sortable(values: NDArray[np.float64]) -> Integers:
    """Return (n,) whole numbers that are ordered as the floats are; 0.0 and -0.0 are the same. No NaN."""
    bits = (values + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & _SIGN)


_COUNTED_KEYS_MAX: Final = 2
"""Values that keys span, by their number: fewer are counted."""


def sorted_places(keys: Integers) -> NDArray[np.int64]:
    """Return the places of (n,) keys in ascending order, equal ones as they came.

    Keys that span little are counted. Else key and place are one number where both fit, and are sorted by radix.

    Cost: O(n) for each RADIX_BITS bits of the span, 3 ns a key.
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
    either = np.empty((2, count), dtype=np.int64)
    ordered = _sort_by_digits(keys - least, bits, bits + span.bit_length(), either)
    found: NDArray[np.int64] = either[ordered] & ((1 << bits) - 1)
    return found


@compiled
def _sort_by_digits(keys: Integers, bits: int, past: int, either: Integers) -> int:
    """Write keys and their places as one number each, ascending, the lowest digit first.

    Args:
        keys: (n,) from 0 on.
        bits: of a place.
        past: bits of such a number.
        either: (2, n) written.

    Returns:
        Which of the two has them in order.
    """
    counts = np.empty(1 << RADIX_BITS, dtype=np.int64)
    for place in range(len(keys)):
        either[0, place] = keys[place] << bits | place
    ordered = 0
    while bits < past:
        counts[:] = 0
        for i in range(len(keys)):
            counts[(either[ordered, i] >> bits) & RADIX_MASK] += 1
        begin = 0
        for digit in range(len(counts)):
            begin, counts[digit] = begin + counts[digit], begin
        for i in range(len(keys)):
            number = either[ordered, i]
            digit = (number >> bits) & RADIX_MASK
            either[1 - ordered, counts[digit]] = number
            counts[digit] += 1
        ordered = 1 - ordered
        bits += RADIX_BITS
    return ordered


@compiled
def rank(
    values: Integers,
    null_rows: Words,
    edges: Integers,
    cells: NDArray[np.int32],
    below: NDArray[np.int32],
) -> None:
    """Look each value up among edges: add how many are not above it to its row's cell, and count the rows below each.

    Args:
        values: (4096,) by row.
        null_rows: (64,) words: rows that hold NULL, whatever their values.
        edges: (c,) ascending, each once.
        cells: (4096,) added to, but for NULL.
        below: (c + 1,) written: how many values lie below each edge; the last is how many there are.

    Cost: O(4096 log c + c). All rows take one step of the search, then the next one: no step waits for the one before
        it, nor depends on a branch that could be foretold wrongly.
    """
    firsts = np.zeros(4_096, dtype=np.int64)
    left = len(edges)
    while left > 1:
        half = left >> 1
        for row in range(4_096):
            first = firsts[row]
            firsts[row] = first + half * (edges[np.uint64(first + half - 1)] <= values[row])
        left -= half
    below[:] = 0
    for row in range(4_096):
        first = firsts[row]
        if left:
            first += edges[np.uint64(first)] <= values[row]
        is_null = (null_rows[row >> 6] >> np.uint64(row & 63)) & np.uint64(1)
        cells[row] += 0 if is_null else first
        below[first] += 0 if is_null else 1
    for edge in range(1, len(below)):
        below[edge] += below[edge - 1]


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
