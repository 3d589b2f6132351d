"""Where the bounds of standing clauses lie in a chunk.

Each attribute is put in order once for all tables, or compared with each bound where these are few. The arrays
are used again for the next chunk: what was located holds until then.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.clauses.table import Bounds, ClauseTable
from psoup.engine.kernels import order
from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE
from psoup.engine.kernels.match import Located
from psoup.engine.limits import CHUNK_ROWS, COLUMNS_COUNT_MAX
from psoup.engine.tuples.chunk import Chunk, ChunkColumn

COMPARED_BOUNDS_MAX: Final = 24
"""So many bounds are compared with faster than a chunk is put in order."""


Asking = tuple[Bounds, NDArray[np.int32], NDArray[np.int32]]
"""What a table asks of an attribute, and where places and rows of bitmaps by its numbers go."""


class Locator:
    """Arrays that places and bitmaps are written into, chunk after chunk."""

    __slots__ = ("_bitmaps", "_in_order", "_null_rows", "_numbers", "_orders", "_past")

    def __init__(self) -> None:
        """Begin with room for little."""
        self._bitmaps = np.empty((COMPARED_BOUNDS_MAX, CHUNK_WORDS), dtype=LITTLE)
        self._past = 0
        self._numbers = np.zeros(CHUNK_ROWS + 1, dtype=np.int32)
        self._orders = np.empty((0, CHUNK_ROWS), dtype=np.int32)
        self._in_order = np.zeros(COLUMNS_COUNT_MAX, dtype=np.bool_)
        self._null_rows = np.zeros((COLUMNS_COUNT_MAX, CHUNK_WORDS), dtype=LITTLE)

    def locate(
        self, chunk: Chunk, tables: Sequence[ClauseTable], attributes: Mapping[str, int]
    ) -> list[Located]:
        """Return where the bounds of each table lie; what was located before does not hold any more.

        Cost: for each attribute one sort of a chunk, or a pass for each of a few bounds; and O(bounds), and
            CHUNK_WORDS words for each place asked for.
        """
        self._past = 0
        self._in_order[:] = False
        if len(self._orders) < len(attributes):
            self._orders = np.empty((len(attributes), CHUNK_ROWS), dtype=np.int32)
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

    def _put_in_order(self, number: int, column: ChunkColumn, asking: Sequence[Asking]) -> None:
        ordered = column.in_order
        count = len(ordered.rows)
        self._orders[number, :count] = ordered.rows
        self._in_order[number] = True
        numbers = self._numbers[: count + 1]
        numbers[:] = 0
        for bounds, places, _ in asking:
            lows, highs, inside = bounds.keys(column)
            at, past = bounds.first, bounds.first + len(bounds)
            order.places(ordered, lows, up_to=False, found=places[at:])
            order.places(ordered, highs, up_to=inside, found=places[at + len(lows) :])
            places[past - 1] = count
            order.mark(places[at:past], numbers)
        asked = order.number(numbers)
        first = self._make_room(asked)
        order.prefixes(ordered.rows, numbers, self._bitmaps[first:])
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
