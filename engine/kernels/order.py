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
    asked = np.zeros(len(order) + 1, dtype=np.bool_)
    asked[low] = True
    asked[high] = True
    places = np.flatnonzero(asked).astype(np.int32)
    row_of = np.cumsum(asked, dtype=np.int32)
    row_of -= 1
    if buffer is None or len(buffer) < len(places):
        buffer = np.empty((len(places), CHUNK_WORDS), dtype=LITTLE)
    bitmaps = buffer[: len(places)]
    _fill_prefixes(order, places, bitmaps)
    return bitmaps, row_of[low], row_of[high]


@compiled
def _fill_prefixes(order: NDArray[np.int32], places: NDArray[np.int32], bitmaps: Words) -> None:
    growing = np.zeros(64, dtype=np.uint64)
    at = 0
    for k in range(len(places)):
        while at < places[k]:
            row = order[at]
            growing[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
            at += 1
        filled = bitmaps[k]
        for word in range(64):
            filled[word] = growing[word]
