"""A block: the unit in flight, rows x lineage. What the eddy routes from operator to operator.

The rows of one block lie in one segment of one stream; those in flight only ever get fewer.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bits import Words
from engine.tuples.batch import Column
from engine.tuples.lineage import Lineage


class Block:
    """Rows `[first_row, first_row + rows)` of one stream, and what each can still satisfy.

    Attributes:
        first_row: row number of the first row the block began with.
        lineage: the bits of the rows still in flight.
        positions: the rows still in flight, as ascending offsets from `first_row`; None = all.
    """

    __slots__ = ("_columns", "first_row", "lineage", "positions")

    def __init__(
        self, *, first_row: int, rows: int, columns: Callable[[str], Column], live: Words
    ) -> None:
        """Begin with every row, each with every slot of `live`; `columns` gives whole columns."""
        self.first_row = first_row
        self.lineage = Lineage.full(rows, live)
        self.positions: NDArray[np.int64] | None = None
        self._columns = columns

    def __len__(self) -> int:
        """Return the number of rows in flight."""
        return len(self.lineage)

    def column(self, name: str) -> Column:
        """Return the column's values for the rows in flight."""
        whole = self._columns(name)
        return whole if self.positions is None else whole.take(self.positions)

    def keep_alive(self) -> int:
        """Drop the rows that nobody asks for any more; return how many are left. Cost: O(n w)."""
        alive = self.lineage.alive()
        left = np.flatnonzero(alive)
        if len(left) < len(alive):
            self.positions = left if self.positions is None else self.positions[left]
            self.lineage = self.lineage.take(left)
        return len(left)

    def rows_at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row numbers of the rows in flight at `positions`."""
        if self.positions is not None:
            positions = self.positions[positions]
        return positions + self.first_row
