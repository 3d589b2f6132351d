"""Which rows the partials of chunks are of: how many, the first and the last, of any chunks that follow each other."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]

_BEHIND_ALL: Final = 2**63 - 1
"""Larger than every row number."""


@value_type
class RowExtent:
    """Some rows of a stream: how many, the smallest and the largest of their numbers; anything where there are none."""

    count: int
    oldest_row: int
    newest_row: int


NO_EXTENT: Final = RowExtent(0, _BEHIND_ALL, -1)


def extent_of(rows: Integers) -> RowExtent:
    """Return the extent of rows, which ascend."""
    return RowExtent(len(rows), rows.item(0), rows.item(-1)) if len(rows) else NO_EXTENT


def united(extents: Sequence[RowExtent]) -> RowExtent:
    """Return the extent of all rows of some extents, which have none in common."""
    count, oldest_row, newest_row = 0, _BEHIND_ALL, -1
    for one in extents:
        count += one.count
        oldest_row = min(oldest_row, one.oldest_row)
        newest_row = max(newest_row, one.newest_row)
    return RowExtent(count, oldest_row, newest_row)


@value_type
class ChunkRows:
    """Rows in chunks that follow each other.

    Attributes:
        first: the number of the first chunk.
        ends: (c + 1,) how many rows lie before each chunk, and before the end of the last one.
        nexts: (c,) the first row in each chunk or behind it; larger than all where there is none.
        lasts: (c,) the last row in each chunk or before it; -1 where there is none.
    """

    first: int
    ends: Integers
    nexts: Integers
    lasts: Integers

    @property
    def past(self) -> int:
        """Return the number of the chunk behind the last one."""
        return self.first + len(self.nexts)

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays."""
        return self.ends.nbytes + self.nexts.nbytes + self.lasts.nbytes

    def extent(self, first: int, past: int) -> RowExtent:
        """Return the extent of the rows of the chunks `[first, past)`. Cost: O(1)."""
        begin, end = first - self.first, past - self.first
        count = self.ends.item(end) - self.ends.item(begin)
        if not count:
            return NO_EXTENT
        return RowExtent(count, self.nexts.item(begin), self.lasts.item(end - 1))

    def since(self, first: int) -> "ChunkRows":
        """Return these without the chunks before `first`, which is one of them or the one behind."""
        begin = first - self.first
        ends = self.ends[begin:]
        return ChunkRows(first, ends - ends[0], self.nexts[begin:], self.lasts[begin:])

    def followed(self, *later: "ChunkRows") -> "ChunkRows":
        """Return the rows of these chunks and of others, each of which begin where those before end."""
        if not later:
            return self
        runs = (self, *later)
        counts = np.concatenate([np.diff(one.ends) for one in runs])
        nexts = np.concatenate([one.nexts for one in runs])
        lasts = np.concatenate([one.lasts for one in runs])
        return ChunkRows(
            self.first,
            np.concatenate(([0], np.cumsum(counts))),
            np.minimum.accumulate(nexts[::-1])[::-1],
            np.maximum.accumulate(lasts),
        )


def chunk_rows(first: int, rows: Integers, ends: Integers) -> ChunkRows:
    """Return rows in chunks.

    Args:
        first: the number of the first chunk.
        rows: those of all chunks, ascending.
        ends: (c + 1,) how many of them lie before each chunk, and before the end of the last one.
    """
    begins, past = ends[:-1], ends[1:]
    if not len(rows):
        return ChunkRows(first, ends, np.full_like(begins, _BEHIND_ALL), np.full_like(past, -1))
    nexts = np.where(begins < len(rows), rows.take(begins, mode="clip"), _BEHIND_ALL)
    lasts = np.where(past, rows.take(past - 1, mode="clip"), -1)
    return ChunkRows(first, ends, nexts, lasts)


def all_rows(first: int, past: int, rows: int) -> ChunkRows:
    """Return all rows of the chunks `[first, past)`, each of which has so many."""
    edges = np.arange(first, past + 1, dtype=np.int64) * rows
    return ChunkRows(first, edges - edges[0], edges[:-1], edges[1:] - 1)


def no_chunks(first: int) -> ChunkRows:
    """Return the rows of no chunks, before chunk `first`."""
    none = np.empty(0, dtype=np.int64)
    return ChunkRows(first, np.zeros(1, dtype=np.int64), none, none)
