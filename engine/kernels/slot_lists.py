"""Lineage by row to lists by slot: the form in which few composites are kept."""

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import Words
from psoup.engine.kernels.compiled import compiled, lowest, without_lowest


@compiled
def list_rows(words: Words, past: NDArray[np.int64], offsets: NDArray[np.uint16]) -> None:
    """Write each row into the lists of all slots whose bit it has.

    Args:
        words: (n, w) lineage by row, n at most 4,096.
        past: (64 w,) where the list of each slot begins; written, where it ends.
        offsets: (m,) written: rows ascend in each list.

    Cost: O(n w + bits set).
    """
    for row in range(len(words)):
        for word in range(words.shape[1]):
            left = words[row, word]
            while left:
                slot = word * 64 + lowest(left)
                offsets[past[slot]] = row
                past[slot] += 1
                left = without_lowest(left)
