"""A chunk's values in order, and bitmaps of its smallest rows: what intervals are read off.

Over n values in ascending order an interval of values is a range of places `[low, high)`, and the bitmap of
its rows is that of the first `high` rows without the first `low`: one XOR, because the one holds the other.
So a chunk costs one sort an attribute, and every interval of every clause two look-ups, however many constants
there are. This is the rank-to-bitmap table of a grouped filter, turned around: ranks of the chunk's values
instead of the constants', so that it is never larger than the chunk squared.
"""

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bits import CHUNK_WORDS, LITTLE, Words
from engine.kernels.compiled import compiled


@compiled
def places_below(ordered: NDArray[np.generic], bounds: NDArray[np.generic]) -> NDArray[np.int32]:
    """Return how many of the values lie below each bound.

    Args:
        ordered: (n,) values, ascending.
        bounds: (c,) of the same dtype, ascending.

    Cost: O(n + c): both are walked once, without a branch that could be foretold wrongly.
    """
    places = np.full(len(bounds), len(ordered), dtype=np.int32)
    at = i = 0
    while at < len(ordered) and i < len(bounds):
        below = ordered[at] < bounds[i]
        places[i] = at
        at += below
        i += not below
    if i < len(bounds):
        places[i] = len(ordered)
    return places


@compiled
def places_up_to(ordered: NDArray[np.generic], bounds: NDArray[np.generic]) -> NDArray[np.int32]:
    """Return how many of the values lie below each bound or equal it; else as `places_below`."""
    places = np.full(len(bounds), len(ordered), dtype=np.int32)
    at = i = 0
    while at < len(ordered) and i < len(bounds):
        inside = ordered[at] <= bounds[i]
        places[i] = at
        at += inside
        i += not inside
    if i < len(bounds):
        places[i] = len(ordered)
    return places


def prefixes(
    order: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    buffer: Words | None = None,
) -> tuple[Words, NDArray[np.int32], NDArray[np.int32]]:
    """Return the bitmaps of the first rows in order, for the places that are asked for.

    Args:
        order: (n,) rows of a chunk (0 to 4,095) in ascending order of their values.
        low: (a,) places, 0 to n.
        high: (b,) places, 0 to n.
        buffer: bitmaps of an earlier chunk that nobody needs any more: written over if they are enough.

    Returns:
        (u, CHUNK_WORDS) bitmaps, and for each of `low` and `high` which of them is its own.

    Cost: O(n + a + b + u CHUNK_WORDS), u <= min(n + 1, a + b).
    """
    row_of = np.zeros(len(order) + 1, dtype=np.int32)
    low_rows, high_rows = np.empty_like(low), np.empty_like(high)
    count = _number(low, high, row_of, low_rows, high_rows)
    if buffer is None or len(buffer) < count:
        buffer = np.empty((count, CHUNK_WORDS), dtype=LITTLE)
    bitmaps = buffer[:count]
    _fill_prefixes(order, row_of, bitmaps)
    return bitmaps, low_rows, high_rows


@compiled
def _number(
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    row_of: NDArray[np.int32],
    low_rows: NDArray[np.int32],
    high_rows: NDArray[np.int32],
) -> int:
    """Number the places that are asked for, ascending; return how many there are.

    Args:
        low: (a,) places.
        high: (b,) places.
        row_of: (n + 1,) zeros; written: the number of a place from 1 on, 0 where it is not asked for.
        low_rows: (a,) written: for each of `low` its number less 1.
        high_rows: (b,) written: the same of `high`.
    """
    for place in low:
        row_of[place] = 1
    for place in high:
        row_of[place] = 1
    count = 0
    for place in range(len(row_of)):
        count += row_of[place]
        row_of[place] *= count
    for i in range(len(low)):
        low_rows[i] = row_of[low[i]] - 1
    for i in range(len(high)):
        high_rows[i] = row_of[high[i]] - 1
    return count


@compiled
def _fill_prefixes(order: NDArray[np.int32], row_of: NDArray[np.int32], bitmaps: Words) -> None:
    """Write the bitmap of the first rows in order for each place that has a number."""
    growing = np.zeros(64, dtype=np.uint64)
    for at in range(len(row_of)):
        if row_of[at]:
            filled = bitmaps[row_of[at] - 1]
            for word in range(64):
                filled[word] = growing[word]
        if at < len(order):
            row = order[at]
            growing[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
