"""Where the bounds of standing clauses lie in a chunk.

Each attribute is put in order once for all tables, or compared with each bound where these are few. The arrays
are used again for the next chunk: what was located holds until then.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.clauses.table import Bounds, ClauseTable
from psoup.engine.kernels import counted, order, pivot
from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE
from psoup.engine.kernels.match import Located
from psoup.engine.kernels.rows import BLOCK_WORDS
from psoup.engine.limits import CHUNK_ROWS, COLUMNS_COUNT_MAX, DERIVED_ATTRIBUTES_MAX
from psoup.engine.tuples.chunk import Attribute, Chunk, ChunkColumn

COMPARED_BOUNDS_MAX: Final = 24
"""So many bounds are compared with faster than a chunk is put in order."""
COUNTED_SPAN_MAX: Final = 4_095
"""Values of up to this span are counted into the cells between the bounds, others are sorted."""
ATTRIBUTES_MAX: Final = COLUMNS_COUNT_MAX + DERIVED_ATTRIBUTES_MAX
"""Columns, and functions of them: their numbers lie below."""

Asking = tuple[Bounds, NDArray[np.int32], NDArray[np.int32]]
"""What a table asks of an attribute, and where places and rows of bitmaps by its numbers go."""


class Locator:
    """Arrays that places and bitmaps are written into, chunk after chunk."""

    __slots__ = (
        "_bitmaps",
        "_cells",
        "_counts",
        "_digits",
        "_either",
        "_found",
        "_in_order",
        "_null_rows",
        "_numbers",
        "_orders",
        "_parts",
        "_past",
    )

    def __init__(self) -> None:
        """Begin with room for little."""
        self._bitmaps = np.empty((COMPARED_BOUNDS_MAX, CHUNK_WORDS), dtype=LITTLE)
        self._past = 0
        self._numbers = np.zeros(CHUNK_ROWS + 1, dtype=np.int32)
        self._found = np.empty(CHUNK_ROWS, dtype=np.int32)
        self._either = np.empty((2, CHUNK_ROWS), dtype=np.int32)
        self._digits = np.empty(1 << order.RADIX_BITS, dtype=np.int32)
        self._cells = np.empty(COUNTED_SPAN_MAX + 3, dtype=np.int32)
        self._counts = np.empty(COUNTED_SPAN_MAX + 2, dtype=np.int32)
        self._parts = np.zeros((COUNTED_SPAN_MAX + 3, BLOCK_WORDS), dtype=LITTLE)
        self._orders = np.empty((0, CHUNK_ROWS), dtype=np.int32)
        self._in_order = np.zeros(ATTRIBUTES_MAX, dtype=np.bool_)
        self._null_rows = np.zeros((ATTRIBUTES_MAX, CHUNK_WORDS), dtype=LITTLE)

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays."""
        return sum(
            array.nbytes
            for name in self.__slots__
            if isinstance(array := getattr(self, name), np.ndarray)
        )

    def locate(
        self, chunk: Chunk, tables: Sequence[ClauseTable], attributes: Mapping[Attribute, int]
    ) -> list[Located]:
        """Return where the bounds of each table lie; what was located before does not hold any more.

        Cost: for each attribute one sort of a chunk, or a pass for each of a few bounds; and O(bounds), and
            CHUNK_WORDS words for each place asked for.
        """
        self._past = 0
        self._in_order[:] = False
        past = max(attributes.values(), default=-1) + 1
        if len(self._orders) < past:
            self._orders = np.empty((past, CHUNK_ROWS), dtype=np.int32)
        found = [
            (
                np.zeros(table.bounds_count, dtype=np.int32),
                np.zeros(table.bounds_count, dtype=np.int32),
            )
            for table in tables
        ]
        for name, number in attributes.items():
            asking = [
                (table.bounds[name], *arrays)
                for table, arrays in zip(tables, found, strict=True)
                if name in table.bounds
            ]
            if not asking:
                continue
            column = chunk.column(name)
            self._null_rows[number] = column.null_rows
            if sum(len(bounds) for bounds, _, _ in asking) <= COMPARED_BOUNDS_MAX:
                self._compare(column, asking)
                continue
            self._in_order[number] = True
            span = column.span
            if span[1] - span[0] <= COUNTED_SPAN_MAX:
                self._count(number, column, span, asking)
            else:
                self._put_in_order(number, column, asking)
        return [
            Located(places, rows, self._bitmaps, self._orders, self._in_order, self._null_rows)
            for places, rows in found
        ]

    def _compare(self, column: ChunkColumn, asking: Sequence[Asking]) -> None:
        for bounds, places, rows in asking:
            first = self._make_room(len(bounds))
            lows, highs, inside = bounds.keys(column)
            past = first + len(lows)
            at = bounds.first
            order.compare(
                column.keys,
                column.null_rows,
                lows,
                self._bitmaps[first:past],
                places[at:],
                up_to=False,
            )
            at += len(lows)
            order.compare(
                column.keys,
                column.null_rows,
                highs,
                self._bitmaps[past:],
                places[at:],
                up_to=inside,
            )
            at += len(highs)
            last = past + len(highs)
            self._bitmaps[last] = ~column.null_rows
            places[at] = CHUNK_ROWS if column.column.valid is None else column.column.valid.sum()
            rows[bounds.first : at + 1] = np.arange(first, last + 1)

    def _count(
        self, number: int, column: ChunkColumn, span: tuple[int, int], asking: Sequence[Asking]
    ) -> None:
        """Count the values into the cells between the bounds. `places` hold edges until rows are counted."""
        least, most = span
        cells = self._cells[: most - least + 3]
        cells[:] = 0
        for bounds, places, _ in asking:
            lows, highs, inside = bounds.keys(column)
            lows_at, highs_at = bounds.first, bounds.first + len(lows)
            counted.find_edges(lows, least, most, places[lows_at:], cells, up_to=False)
            counted.find_edges(highs, least, most, places[highs_at:], cells, up_to=inside)
            places[highs_at + len(highs)] = most - least + 1
            cells[most - least + 1] = 1
        edges = counted.number_cells(cells)
        first = self._make_room(edges)
        counted.put_into_cells(
            column.keys,
            column.null_rows,
            least,
            cells,
            self._parts,
            self._bitmaps[first : first + edges],
            self._counts,
            self._orders[number],
        )
        for bounds, places, rows in asking:
            own = slice(bounds.first, bounds.first + len(bounds))
            counted.rows_below(places[own], cells, self._counts, first, rows[own])

    def _put_in_order(self, number: int, column: ChunkColumn, asking: Sequence[Asking]) -> None:
        """Look the values up among the bounds, and order the rows by where they lie."""
        cells, numbers = self._found, self._numbers
        cells[:], numbers[:], edges_count = 0, 0, 0
        if column.column.valid is not None:
            cells[~column.column.valid] = pivot.NOWHERE
        for bounds, places, _ in asking:
            edges, edge_of = bounds.edges
            edges_count += len(edges)
            below = np.empty(len(edges) + 1, dtype=np.int32)
            order.rank(column.keys, column.null_rows, edges, cells, below)
            asked_places = places[bounds.first : bounds.first + len(bounds)]
            asked_places[:] = below[edge_of]
            order.mark(asked_places, numbers)
        ordered, count = pivot.by_place(cells, edges_count + 1, self._either, self._digits)
        in_order = self._either[ordered, :count]
        self._orders[number, :count] = in_order
        numbers = numbers[: count + 1]
        asked = order.number(numbers)
        first = self._make_room(asked)
        order.prefixes(in_order, numbers, self._bitmaps[first:])
        for bounds, places, rows in asking:
            own = slice(bounds.first, bounds.first + len(bounds))
            order.rows_of(places[own], numbers, first, rows[own])

    def _make_room(self, count: int) -> int:
        """Return where the next `count` bitmaps go."""
        first = self._past
        self._past += count
        if self._past > len(self._bitmaps):
            longer = np.empty((2 * self._past, CHUNK_WORDS), dtype=LITTLE)
            longer[:first] = self._bitmaps[:first]
            self._bitmaps = longer
        return first
