"""A chunk: 4,096 rows of one stream, in the form in which standing clauses meet them.

Each column that some clause compares becomes whole numbers once; an interval of values is then a span of places in
the order of these (`kernels/order.py`).
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import CHUNK_WORDS, full, packed
from psoup.engine.kernels.order import Integers, sortable
from psoup.engine.kernels.span import least_most
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

NO_ROWS: Final = full(0, CHUNK_WORDS)
_EVERY: Final = np.arange(CHUNK_ROWS)


class Derived(Protocol):
    """What is computed of columns, and indexed as a column is; hashed by what it is."""

    def values(self, column: Callable[[str], Column]) -> Column:
        """Return the CHUNK_ROWS values of a chunk, whose columns `column` gives by name."""
        ...


Attribute = str | Derived
"""What clauses are indexed by: a column, by its name, or what is computed of some."""


class ChunkColumn:
    """One column of a chunk as whole numbers that are ordered as its values are.

    Attributes:
        column: the values by row.
        keys: (CHUNK_ROWS,) int64 by row; of texts the place among `texts`; under NULL whatever there is.
        texts: the distinct texts that occur, ascending; None where the column holds no texts.
        null_rows: (CHUNK_WORDS,) words, the rows that hold NULL.
    """

    __slots__ = ("column", "keys", "null_rows", "texts")

    def __init__(self, column: Column) -> None:
        """Take a column of CHUNK_ROWS values. Cost: O(rows), for texts O(d log d) of the distinct ones too."""
        assert len(column) == CHUNK_ROWS, "only whole chunks meet the Query SteM"
        self.column = column
        self.texts: list[str] | None = None
        self.null_rows = NO_ROWS if column.valid is None else packed(~column.valid)
        if column.type is ColumnType.STRING:
            self.texts, self.keys = _ranked(column)
        elif column.type is ColumnType.FLOAT64:
            self.keys = sortable(column.values)
        else:
            self.keys = column.values.astype(np.int64, copy=False)

    @property
    def span(self) -> tuple[int, int]:
        """Return the smallest and the largest key of rows that hold a value; (0, -1) where none does. Cost: O(rows)."""
        valid = self.column.valid
        keys = self.keys if valid is None else self.keys[valid]
        return least_most(keys) if len(keys) else (0, -1)


class Chunk:
    """Rows `[first_row, first_row + CHUNK_ROWS)` of one stream; columns are read and become keys at their first use.

    What is computed of columns becomes keys likewise.
    """

    __slots__ = ("_columns", "_known", "_read", "first_row")

    def __init__(self, first_row: int, columns: Callable[[str], Column]) -> None:
        """Begin with nothing known; `columns` gives the CHUNK_ROWS values of a column."""
        assert first_row % CHUNK_ROWS == 0, "a chunk begins where chunks begin"
        self.first_row = first_row
        self._columns = columns
        self._known: dict[Attribute, ChunkColumn] = {}
        self._read: dict[str, Column] = {}

    @property
    def number(self) -> int:
        """Return the chunk's number in its stream."""
        return self.first_row // CHUNK_ROWS

    def column(self, attribute: Attribute) -> ChunkColumn:
        """Return the column of this name, or what is computed, as keys."""
        found = self._known.get(attribute)
        if found is None:
            if isinstance(attribute, str):
                values = self._values(attribute)
            else:
                values = attribute.values(self._values)
            found = self._known[attribute] = ChunkColumn(values)
        return found

    def values(self, name: str, rows: NDArray[np.int64]) -> Column:
        """Return the column's values at these rows of the chunk, each once and ascending."""
        assert (rows[1:] > rows[:-1]).all(), (
            "so many rows as a chunk has are all of them, in their order"
        )
        column = self._values(name)
        return column if len(rows) == CHUNK_ROWS else column.take(rows)

    def _values(self, name: str) -> Column:
        """Return all values of a column; clauses that ask for it one after the other read it once."""
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = self._columns(name)
        return found


def padded(column: Column) -> Column:
    """Return a column of CHUNK_ROWS values that begins with these; what follows is NULL, which little is TRUE of."""
    count = len(column)
    if count == CHUNK_ROWS:
        return column
    values = np.zeros(CHUNK_ROWS, dtype=column.values.dtype)
    valid = np.zeros(CHUNK_ROWS, dtype=np.bool_)
    values[:count] = column.values
    valid[:count] = True if column.valid is None else column.valid
    return Column(column.type, values, valid, column.dictionary)


def _ranked(column: Column) -> tuple[list[str], Integers]:
    """Return the distinct texts that occur, ascending, and for each row the place of its own; 0 under NULL."""
    assert column.dictionary is not None, "a string column has its dictionary"
    valid: Any = slice(None) if column.valid is None else column.valid
    used, codes = np.unique(column.values[valid], return_inverse=True)
    texts = [column.dictionary[code] for code in used.tolist()]
    by_text = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(texts), dtype=np.int64)
    rank[by_text] = np.arange(len(texts))
    ranks = np.zeros(len(column), dtype=np.int64)
    ranks[valid] = rank[codes]
    return [texts[i] for i in by_text], ranks
