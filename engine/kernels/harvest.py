"""What is left of a lineage, out of it: how many rows each clause matched, and which."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bits import Words
from engine.kernels.compiled import compiled, lowest, ones

SLACK: Final = 4
"""What is written past the last place, and never read."""


@compiled
def counts(lineage: Words, alive: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return how many bits each of the (s, 64) rows has; 0 where it is not `alive`."""
    found = np.zeros(len(lineage), dtype=np.int32)
    for slot in range(len(lineage)):
        if alive[slot]:
            total = 0
            own = lineage[slot]
            for word in range(64):
                total += ones(own[word])
            found[slot] = total
    return found


@compiled
def write_offsets(
    lineage: Words, slots: NDArray[np.int64], found: NDArray[np.uint16], begin: int
) -> None:
    """Write the places of the bits of some rows of words, ascending in each, one row after the other.

    Args:
        lineage: (s, 64) words.
        slots: (k,) which rows of it.
        found: written from `begin` on; there have to be SLACK places more than bits.
        begin: where the first one goes.

    Cost: O(64 k + bits). A word of a short list has few bits, at places that cannot be foretold: four are
        written whether they are there or not, which is faster than asking, and what was not there is
        written over.
    """
    at = np.uint64(begin)
    for slot in slots:
        own = lineage[slot]
        for place in range(64):
            word = own[place]
            bits = ones(word)
            base = np.uint16(place * 64)
            for few in range(4):
                found[at + np.uint64(few)] = base + np.uint16(lowest(word))
                word &= word - np.uint64(1) if word else word
            if bits > 4:
                beyond = at + np.uint64(4)
                while word:
                    found[beyond] = base + np.uint16(lowest(word))
                    beyond += np.uint64(1)
                    word &= word - np.uint64(1)
            at += np.uint64(bits)
