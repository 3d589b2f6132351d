"""A chunk: 4,096 rows of one stream, in the form in which standing clauses meet them.

Each column that some clause asks about is put in order once; whatever intervals are asked for are then places
in that order (`kernels/order.py`).
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engine.kernels import order as kernel
from engine.kernels.bits import CHUNK_WORDS, full, packed
from engine.limits import CHUNK_ROWS
from engine.tuples.batch import Column
from engine.tuples.schema import ColumnType

NO_ROWS: Final = full(0, CHUNK_WORDS)
RADIX_SPAN_MAX: Final = np.iinfo(np.uint16).max


class ChunkColumn:
    """One column of a chunk in order.

    Attributes:
        column: the values by row.
        order: (n,) int32, the rows that hold a value, in ascending order of it.
        null_rows: (CHUNK_WORDS,) words, the rows that hold NULL.
    """

    __slots__ = ("_distinct", "_ordered", "column", "null_rows", "order")

    def __init__(self, column: Column) -> None:
        """Put a column of CHUNK_ROWS values in order. Cost: one sort."""
        assert len(column) == CHUNK_ROWS, "only whole chunks meet the Query SteM"
        self.column = column
        self._distinct: list[str] | None = None
        values = column.values
        if column.type is ColumnType.STRING:
            self._distinct, values = _ranked(column)
        elif column.type is ColumnType.BOOL:
            values = values.astype(np.int64)
        rows = np.arange(CHUNK_ROWS) if column.valid is None else np.flatnonzero(column.valid)
        self.null_rows = NO_ROWS if column.valid is None else packed(~column.valid)
        values = values[rows]
        places = ascending(values)
        self.order = rows[places].astype(np.int32)
        self._ordered = values[places]

    def below(self, bounds: NDArray[Any]) -> NDArray[np.int32]:
        """Return how many of the values lie below each of the ascending bounds.

        Args:
            bounds: (c,) int64 (for bool, int64 and timestamps), float64, or objects: texts.

        Cost: O(n + c); for texts O(distinct texts x log c).
        """
        if self._distinct is None:
            return kernel.places_below(self._ordered, bounds)
        known = bounds.tolist()
        # A text counts for each bound above it: those from the first one that is larger on.
        passed = np.array([bisect_right(known, text) for text in self._distinct], dtype=np.int64)
        rows = np.bincount(self._ordered, minlength=len(self._distinct))
        entering = np.bincount(passed, weights=rows, minlength=len(known) + 1)
        return np.cumsum(entering)[: len(known)].astype(np.int32)

    def up_to(self, bounds: NDArray[Any]) -> NDArray[np.int32]:
        """Return how many of the values lie below each ascending bound or equal it; not for texts."""
        return kernel.places_up_to(self._ordered, bounds)


class Chunk:
    """Rows `[first_row, first_row + CHUNK_ROWS)` of one stream; its columns are put in order when asked for."""

    __slots__ = ("_columns", "_ordered", "first_row")

    def __init__(self, first_row: int, columns: Callable[[str], Column]) -> None:
        """Begin with nothing put in order; `columns` gives the CHUNK_ROWS values of a column."""
        assert first_row % CHUNK_ROWS == 0, "a chunk begins where chunks begin"
        self.first_row = first_row
        self._columns = columns
        self._ordered: dict[str, ChunkColumn] = {}

    @property
    def number(self) -> int:
        """Return the chunk's number in its stream."""
        return self.first_row // CHUNK_ROWS

    def ordered(self, name: str) -> ChunkColumn:
        """Return the column of this name in order."""
        found = self._ordered.get(name)
        if found is None:
            found = self._ordered[name] = ChunkColumn(self._columns(name))
        return found

    def values(self, name: str, rows: NDArray[np.int64]) -> Column:
        """Return the column's values at these rows of the chunk."""
        return self._columns(name).take(rows)


def ascending(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places of (n,) int64 or float64 values in ascending order of them, equal ones in any.

    Whole numbers of a narrow span are sorted by radix, five times as fast as by comparing.
    """
    if values.dtype == np.int64 and len(values):
        least = values.min()
        if int(values.max()) - int(least) <= RADIX_SPAN_MAX:
            return np.argsort((values - least).astype(np.uint16), kind="stable")
    return np.argsort(values)


def _ranked(column: Column) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct texts that occur, ascending, and for each row the place of its own; 0 under NULL."""
    assert column.dictionary is not None, "a string column has its dictionary"
    valid = slice(None) if column.valid is None else column.valid
    used, codes = np.unique(column.values[valid], return_inverse=True)
    texts = [column.dictionary[code] for code in used.tolist()]
    by_text = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(texts), dtype=np.int64)
    rank[by_text] = np.arange(len(texts))
    ranks = np.zeros(len(column), dtype=np.int64)
    ranks[valid] = rank[codes]
    return [texts[i] for i in by_text], ranks
