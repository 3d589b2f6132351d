"""Which rows of stored chunks lie in a clause's intervals: the scan that a fresh query is.

All factors of a clause and all segments of a stream are one call. Minima and maxima of whole chunks are looked
at first: a chunk that lies outside is cleared, one that lies inside is left as it is, and neither is read. What
is read is compact where it can be: a value as the distance from the least of its segment, in one byte or two.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import Words
from psoup.engine.kernels.compiled import compiled, ones
from psoup.engine.kernels.lanes import (
    byte_at,
    bytes_within,
    double_of,
    doubles_within,
    long_at,
    longs_within,
    short_at,
    shorts_within,
    word_at,
)

FORM: Final = 0
"""Places in a row of a scan table, which says how one column of one segment is read. How values are kept."""
VALUES: Final = 1
"""Address of the first value."""
NULLS: Final = 2
"""Address of one bit a row, set = NULL; 0 where there is none."""
BASE: Final = 3
"""The value of which BYTES and SHORTS are distances."""
TOP: Final = 4
"""The largest value of these two; below BASE where there is none."""
LEAST: Final = 5
"""From here on the least value of each chunk, NULLs aside; the wrong way round where it is not known."""
MOST: Final = LEAST + 16
"""From here on the largest."""
WIDTH: Final = MOST + 16

BYTES: Final = 0
"""Forms: distances in uint8."""
SHORTS: Final = 1
"""In uint16."""
LONGS: Final = 2
"""int64 as they are."""
DOUBLES: Final = 3
"""float64 as they are; here and in intervals the bits of a float64 stand where an int64 would."""

FEW: Final = 32
"""Up to this many intervals, comparing 64 values with each is faster than searching for each value."""

_CUTS: Final = 0
_ADDS: Final = 1

_OUTSIDE: Final = 0
_INSIDE: Final = 1
_OPEN: Final = 2


@compiled
def within(
    table: NDArray[np.int64],
    factors: NDArray[np.int64],
    ends: NDArray[np.int64],
    first: int,
    past: int,
    words: Words,
    counts: NDArray[np.int32],
) -> None:
    """Say which rows satisfy every factor, and how many of each chunk.

    Args:
        table: (segments, columns, WIDTH), rows as said above. What the addresses lead to is whole segments.
        factors: (f, 4): the column, the first of its intervals, past the last, whether NULL satisfies it.
        ends: (segments or 1, 2, k): lows and highs of closed intervals, those of a factor ascending and
            disjoint; where there is one row it is that of all segments. One that ends before it begins
            holds nothing.
        first: the first row asked about, from the first of the table's segments on.
        past: past the last one.
        words: (64 c,) written: bit i is row i of the chunk that `first` lies in, and clear outside of
            `[first, past)`.
        counts: (c,) written: how many bits of each chunk are set.

    Cost: of each factor one pass over the chunks that are not decided and in which something is left.
    """
    marks = np.empty(64, dtype=np.uint64)
    begin = first // 4096
    for at in range(len(counts)):
        chunk = begin + at
        segment, place = chunk // 16, chunk % 16
        bits = words[at * 64 : (at + 1) * 64]
        _fill(bits, first - chunk * 4096, past - chunk * 4096)
        own = min(segment, len(ends) - 1)
        left = True
        for factor in range(len(factors)):
            if not left:
                break
            column, low, past_end = factors[factor, 0], factors[factor, 1], factors[factor, 2]
            told = _OUTSIDE
            if low < past_end:
                told = _told(
                    table[segment, column, FORM],
                    table[segment, column, LEAST + place],
                    table[segment, column, MOST + place],
                    ends[own, 0, low],
                    ends[own, 1, past_end - 1],
                    past_end - low,
                )
            nulls = table[segment, column, NULLS]
            if told == _INSIDE and nulls == 0:
                continue
            if told == _OPEN and past_end - low == 1 and nulls == 0:  # by far the most frequent
                _compare(
                    table[segment, column, FORM],
                    table[segment, column, VALUES],
                    place,
                    table[segment, column, BASE],
                    table[segment, column, TOP],
                    ends[own, 0, low],
                    ends[own, 1, low],
                    _CUTS,
                    bits,
                )
            else:
                _mark(table[segment, column], place, ends[own, :, low:past_end], told, marks)
                _and(marks, nulls, place, factors[factor, 3], bits)
            left = _any(bits)
        counts[at] = _count(bits) if left else 0


@compiled
def _mark(
    column: NDArray[np.int64], place: int, ends: NDArray[np.int64], told: int, marks: Words
) -> None:
    """Write which of a chunk's values lie in an interval; NULL is anything.

    `column` is a row of the scan table, `ends` (2, k), `told` what least and largest value tell.
    """
    if told != _OPEN:
        marks[:] = np.uint64(0xFFFF_FFFF_FFFF_FFFF) if told == _INSIDE else np.uint64(0)
    elif ends.shape[1] > FEW:
        _search(column, place, ends, marks)
    else:
        marks[:] = np.uint64(0)
        for which in range(ends.shape[1]):
            _compare(
                column[FORM],
                column[VALUES],
                place,
                column[BASE],
                column[TOP],
                ends[0, which],
                ends[1, which],
                _ADDS,
                marks,
            )


@compiled
def _fill(bits: Words, first: int, past: int) -> None:
    """Set the bits of rows `[first, past)` of a chunk, clear the others."""
    if first <= 0 and past >= 4096:
        bits[:] = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
        return
    bits[:] = np.uint64(0)
    for row in range(max(first, 0), min(past, 4096)):
        bits[row // 64] |= np.uint64(1) << np.uint64(row % 64)


@compiled
def _count(bits: Words) -> int:
    total = 0
    for word in range(64):
        total += ones(bits[word])
    return total


@compiled
def _any(bits: Words) -> bool:
    left = np.uint64(0)
    for word in range(64):
        left |= bits[word]
    return bool(left != np.uint64(0))


@compiled
def _told(form: int, least: int, most: int, low: int, high: int, intervals: int) -> int:
    """Return whether a chunk's least and largest value decide it: all rows match, none does, or unknown."""
    if form == DOUBLES:
        return _told_of(
            double_of(least), double_of(most), double_of(low), double_of(high), intervals
        )
    return _told_of(least, most, low, high, intervals)


@compiled
def _told_of(least: float, most: float, low: float, high: float, intervals: int) -> int:
    if not least <= most:
        return _OPEN
    if most < low or least > high:
        return _OUTSIDE
    return _INSIDE if intervals == 1 and low <= least and most <= high else _OPEN


@compiled
def _and(marks: Words, nulls: int, place: int, takes_null: int, bits: Words) -> None:
    """Clear the bits of rows without a mark; of NULLs, at the address `nulls` if there are, marks say nothing."""
    if nulls == 0:
        for word in range(64):
            bits[word] &= marks[word]
        return
    start = nulls + place * 512
    for word in range(64):
        null = word_at(start + word * 8)
        bits[word] &= marks[word] | null if takes_null else marks[word] & ~null


@compiled
def _compare(
    form: int,
    start: int,
    place: int,
    base: int,
    top: int,
    low: int,
    high: int,
    adds: int,
    marks: Words,
) -> None:
    """Set the marks of a chunk's values in one interval, or clear those of the others; NULL is anything.

    `start` is the address of the segment's first value, `place` the chunk's in the segment. Numbers, no rows
    of the table: an array that is cut out for each chunk is counted in and out, which takes as long as the
    comparison.
    """
    if form == LONGS:
        for word in range(64):
            found = longs_within(start + (place * 64 + word) * 512, low, high)
            marks[word] = marks[word] | found if adds else marks[word] & found
        return
    if form == DOUBLES:
        low_end, high_end = double_of(low), double_of(high)
        for word in range(64):
            found = doubles_within(start + (place * 64 + word) * 512, low_end, high_end)
            marks[word] = marks[word] | found if adds else marks[word] & found
        return
    low, high = max(low, base), min(high, top)
    if low > high:
        if not adds:
            marks[:] = np.uint64(0)
    elif form == BYTES:
        near, reach = np.uint8(low - base), np.uint8(high - low)
        for word in range(64):
            found = bytes_within(start + (place * 64 + word) * 64, near, reach)
            marks[word] = marks[word] | found if adds else marks[word] & found
    else:
        wide_near, wide_reach = np.uint16(low - base), np.uint16(high - low)
        for word in range(64):
            found = shorts_within(start + (place * 64 + word) * 128, wide_near, wide_reach)
            marks[word] = marks[word] | found if adds else marks[word] & found


@compiled
def _search(column: NDArray[np.int64], place: int, ends: NDArray[np.int64], marks: Words) -> None:
    """Write which of a chunk's values lie in an interval, in O(log k) each; NULL is anything.

    `column` is a row of the scan table, `ends` (2, k).
    """
    form, start, base = column[FORM], column[VALUES], column[BASE]
    lows, highs = ends[0].copy(), ends[1].copy()
    double_lows, double_highs = lows.view(np.float64), highs.view(np.float64)
    for word in range(64):
        found = np.uint64(0)
        for bit in range(64):
            row = place * 4096 + word * 64 + bit
            if form == DOUBLES:
                double = double_of(long_at(start + row * 8))
                at = np.searchsorted(double_lows, double, "right") - 1
                lies = at >= 0 and double <= double_highs[max(at, 0)]
            else:
                if form == BYTES:
                    value = base + np.int64(byte_at(start + row))
                elif form == SHORTS:
                    value = base + np.int64(short_at(start + row * 2))
                else:
                    value = long_at(start + row * 8)
                at = np.searchsorted(lows, value, "right") - 1
                lies = at >= 0 and value <= highs[max(at, 0)]
            if lies:
                found |= np.uint64(1) << np.uint64(bit)
        marks[word] = found
