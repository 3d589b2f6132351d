"""Lineage: q clauses x 4,096 rows bits. Set = the clause in that slot can still be satisfied by that row.

Bits are only ever cleared. A slot without bits is skipped, and a row without bits is not evaluated. The bits of one
slot lie together, because results hold rows by clause: CACQ's tuple lineage, transposed, for a chunk of tuples at a
time.
Source: Madden et al., SIGMOD 2002 (CACQ), tuple lineage; positive here.
"""

from typing import Final, NewType

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import Words

Slot = NewType("Slot", int)
"""Dense position of a clause among those of its stream. Internal, reused; never shown to anybody."""

TILE_SLOTS: Final = 1_024
"""Slots of one lineage: its 512 KiB of bits stay in a core's cache while they are narrowed."""


class Lineage:
    """The bits of some slots over the rows of one chunk.

    Attributes:
        slots: (s,) int32, ascending.
        words: (s, CHUNK_WORDS) uint64, row = slot, bit = row of the chunk; narrowed in place.
        alive: (s,) bool, whether a slot has a bit left.
    """

    __slots__ = ("alive", "slots", "words")

    def __init__(
        self, slots: NDArray[np.int32], words: Words, alive: NDArray[np.bool_] | None = None
    ) -> None:
        """Take the arrays over; without `alive`, every slot has a bit left."""
        self.slots = slots
        self.words = words
        self.alive = np.ones(len(slots), dtype=np.bool_) if alive is None else alive

    def __len__(self) -> int:
        """Return the number of slots."""
        return len(self.slots)

    def keep(self, places: NDArray[np.int64], rows: Words) -> None:
        """Clear the bits of the slots at these `places` that are not among `rows` (CHUNK_WORDS words)."""
        kept = self.words[places] & rows
        self.words[places] = kept
        self.alive[places] = kept.any(axis=1)

    def live_rows(self, places: NDArray[np.int64]) -> Words:
        """Return the rows that have a bit left in some of the slots at these places, (CHUNK_WORDS,)."""
        rows: Words = np.bitwise_or.reduce(self.words[places], axis=0)
        return rows
