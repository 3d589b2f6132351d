"""Clearing the bits of clauses whose factors a chunk's rows do not satisfy. The hottest loop there is."""

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bits import Words
from engine.kernels.compiled import compiled


@compiled
def narrow(
    lineage: Words,
    alive: NDArray[np.bool_],
    first_slot: int,
    slots: NDArray[np.int32],
    edges: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    nulls: NDArray[np.bool_],
    bitmaps: Words,
    null_rows: Words,
) -> None:
    """AND each factor's rows into its slot's.

    A factor is a union of intervals; interval j holds the rows `bitmaps[high[j]] ^ bitmaps[low[j]]`.

    Args:
        lineage: (s, 64) words, one row of words per slot; written.
        alive: (s,) whether a slot has a bit left; slots that have none are skipped; written.
        first_slot: slot of the first row of `lineage`.
        slots: (f,) each factor's slot; below 0 = there is none any more.
        edges: (f + 1,) factor i has the intervals `[edges[i], edges[i + 1])`.
        low: (k,) rows of `bitmaps`.
        high: (k,) rows of `bitmaps`.
        nulls: (f,) whether NULL satisfies the factor.
        bitmaps: (u, 64) as `order.prefixes` makes them.
        null_rows: (64,) the rows that hold NULL.

    Cost: O(64 k).
    """
    inside = np.empty(64, dtype=np.uint64)
    for factor in range(len(slots)):
        slot = slots[factor]
        if slot < 0 or not alive[slot - first_slot]:
            continue
        begin, past = edges[factor], edges[factor + 1]
        if past - begin == 1 and not nulls[factor] and low[begin] == high[begin]:
            lineage[slot - first_slot] = np.uint64(0)  # no row of the chunk: nothing is read
            alive[slot - first_slot] = False
            continue
        own = lineage[slot - first_slot]
        left = np.uint64(0)
        if past - begin == 1 and not nulls[factor]:
            upper, lower = bitmaps[high[begin]], bitmaps[low[begin]]
            for word in range(64):
                bits = own[word] & (upper[word] ^ lower[word])
                own[word] = bits
                left |= bits
        else:
            for word in range(64):
                inside[word] = null_rows[word] if nulls[factor] else np.uint64(0)
            for interval in range(begin, past):
                upper, lower = bitmaps[high[interval]], bitmaps[low[interval]]
                for word in range(64):
                    inside[word] |= upper[word] ^ lower[word]
            for word in range(64):
                bits = own[word] & inside[word]
                own[word] = bits
                left |= bits
        alive[slot - first_slot] = left != 0
