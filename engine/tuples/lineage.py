"""Lineage: q slots x 4,096 rows bits. Set = the clause in that slot can still be satisfied by that row.

Bits are only ever cleared. A slot without a bit left is not looked at again, and rows that no slot asks for
are not evaluated. The bits of one slot lie together, because one clause's rows is what results are made of:
CACQ's tuple lineage, turned over for a whole chunk of tuples at a time.
Source: Madden et al., SIGMOD 2002 (CACQ), tuple lineage; positive here.
"""

from typing import Final, NewType

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bits import ALL, CHUNK_WORDS, LITTLE, Words

Slot = NewType("Slot", int)
"""Dense position of a clause among those of its stream. Internal, reused; never shown to anybody."""

TILE_SLOTS: Final = 4_096
"""Slots of one lineage: its 2 MiB of bits stay in a core's cache while the factors pass over them."""


class Lineage:
    """The bits of slots `[first_slot, first_slot + s)` over the rows of one chunk.

    Attributes:
        first_slot: the slot of the first row of words.
        words: (s, CHUNK_WORDS) uint64, row = slot, bit = row of the chunk; narrowed in place.
        alive: (s,) bool, whether a slot has a bit left.
    """

    __slots__ = ("alive", "first_slot", "words")

    def __init__(self, first_slot: int, words: Words, alive: NDArray[np.bool_]) -> None:
        """Take both arrays over."""
        self.first_slot = first_slot
        self.words = words
        self.alive = alive

    @classmethod
    def full(
        cls, first_slot: int, live: NDArray[np.bool_], buffer: Words | None = None
    ) -> "Lineage":
        """Return the lineage before any factor was looked at: every row for every live slot.

        Args:
            first_slot: the slot of `live[0]`.
            live: (s,) which slots are in use.
            buffer: (>= s, CHUNK_WORDS) words to use for it, as they are left by an earlier one.
        """
        words = (
            np.empty((len(live), CHUNK_WORDS), LITTLE) if buffer is None else buffer[: len(live)]
        )
        words.fill(ALL)
        return cls(first_slot, words, live.copy())

    def __len__(self) -> int:
        """Return the number of slots."""
        return len(self.words)

    @property
    def slots_alive(self) -> int:
        """Return how many slots have a bit left."""
        return int(np.count_nonzero(self.alive))

    def keep(self, slots: NDArray[np.int64], rows: Words) -> None:
        """Clear the bits of these alive slots that are not among `rows` (CHUNK_WORDS words)."""
        places = slots - self.first_slot
        kept = self.words[places] & rows
        self.words[places] = kept
        self.alive[places] = kept.any(axis=1)

    def asked(self, slots: NDArray[np.int64]) -> Words:
        """Return which rows some of these slots still asks for, (CHUNK_WORDS,)."""
        asked: Words = np.bitwise_or.reduce(self.words[slots - self.first_slot], axis=0)
        return asked
