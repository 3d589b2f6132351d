"""Lineage: n tuples x q slots bits. Set = the clause in that slot can still be satisfied by that tuple.

Bits are only ever cleared. No bit left = nobody asks for the tuple any more: stop.
Source: Madden et al., SIGMOD 2002 (CACQ), tuple lineage; positive here, per batch instead of per tuple.
"""

from collections.abc import Iterator
from typing import Final, NewType

import numpy as np
from numpy.typing import NDArray

from engine.kernels import bits
from engine.kernels.bits import Words

Slot = NewType("Slot", int)
"""Dense position of a clause among those of its stream. Internal, reused; never shown to anybody."""

FEW_SLOTS: Final = 8
"""Up to this many slots with hits, reading them one by one is cheaper than transposing the matrix."""

SLOTS_AT_ONCE: Final = 256
"""Slots whose hits are found in one pass: bounds the memory of a dense block."""


class Lineage:
    """The bits of one block. `words` is (n, w) uint64, row = tuple, column = slot."""

    __slots__ = ("words",)

    def __init__(self, words: Words) -> None:
        """Take `words` over; they are narrowed in place."""
        self.words = words

    @classmethod
    def full(cls, tuples: int, live: Words) -> "Lineage":
        """Return the lineage of `tuples` tuples before any factor was looked at: every live slot."""
        return cls(np.tile(live, (tuples, 1)))

    def __len__(self) -> int:
        """Return the number of tuples."""
        return len(self.words)

    def alive(self) -> NDArray[np.bool_]:
        """Return which tuples can still satisfy some clause. Cost: O(n w)."""
        return bits.any_row(self.words)

    def take(self, rows: NDArray[np.int64]) -> "Lineage":
        """Return the lineage of the tuples at positions `rows`."""
        return Lineage(self.words[rows])

    def hits(self) -> Iterator[tuple[Slot, NDArray[np.int64]]]:
        """Yield each slot that has a bit left, ascending, with its tuples' positions, ascending.

        Cost: one transpose, then O(hits).
        """
        if not len(self):
            return
        slots = bits.positions(np.bitwise_or.reduce(self.words, axis=0))
        if len(slots) <= FEW_SLOTS:
            for slot in slots.tolist():
                yield Slot(slot), bits.column(self.words, slot)
            return
        by_slot = bits.transpose(self.words)
        for begin in range(0, len(slots), SLOTS_AT_ONCE):
            some = slots[begin : begin + SLOTS_AT_ONCE]
            rows, edges = bits.positions_by_row(by_slot[some])
            bounds = edges.tolist()
            for i, slot in enumerate(some.tolist()):
                yield Slot(slot), rows[bounds[i] : bounds[i + 1]]
