"""Which clauses match most: the matches of each since the start of an engine, and the bytes that were kept of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.limits import CHUNK_ROWS, TOP_QUERIES_MAX
from psoup.engine.results.delta import Delta
from psoup.engine.results.match_block import Form

_PIECES_MAX: Final = 1_024
_BYTES: Final = np.zeros(len(Form), dtype=np.int64)
_BYTES[Form.BITMAP] = CHUNK_ROWS // 8
_OFFSET_BYTES: Final = 2

Piece = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Clause ids, their matches, and bytes kept of them."""
NOTHING: Final = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ClauseCount:
    """Matches of one clause in whole chunks, or of composite tuples, and the bytes that were kept of them."""

    clause_id: int
    matches: int
    bytes: int


class ClauseTally:
    """Sums by clause. One thread notes and sums up; any thread reads `largest`, as old as the last sum."""

    def __init__(self) -> None:
        """Begin without clauses."""
        self.largest: tuple[ClauseCount, ...] = ()
        """Of the clauses that stand, TOP_QUERIES_MAX with the most matches and as many with the most bytes."""
        self._sums: Piece = (NOTHING, NOTHING, NOTHING)
        self._pieces: list[Piece] = []
        self._dropped: set[int] = set()

    def note(self, delta: Delta) -> None:
        """Take note of what a delta has found. Cost: O(clauses hit), a few microseconds for each of its blocks."""
        self._dropped.update(delta.dropped_clauses)
        self._pieces += _found(delta)
        if len(self._pieces) > _PIECES_MAX:
            self._add()

    def sum_up(self) -> None:
        """Bring `largest` up to date. Cost: O(clauses), and a sort of those hit since."""
        if not self._pieces and not self._dropped:
            return
        self._add()
        ids, matches, nbytes = self._sums
        places = {
            int(at)
            for sums in (matches, nbytes)
            for at in np.argsort(-sums, kind="stable")[:TOP_QUERIES_MAX]
        }
        self.largest = tuple(
            ClauseCount(int(ids[at]), int(matches[at]), int(nbytes[at])) for at in sorted(places)
        )

    def check(self) -> None:
        """Raise AssertionError if a clause is counted twice, or one that stands no more. For tests."""
        ids = self._sums[0]
        if (np.diff(ids) <= 0).any() or len(self._pieces) > _PIECES_MAX:
            raise AssertionError("each clause is counted once")

    def _add(self) -> None:
        """Add up what was noted, and forget the clauses that were dropped."""
        columns = [np.concatenate(column) for column in zip(self._sums, *self._pieces, strict=True)]
        ids, places = np.unique(columns[0], return_inverse=True)
        sums = np.zeros((2, len(ids)), dtype=np.int64)
        np.add.at(sums[0], places, columns[1])
        np.add.at(sums[1], places, columns[2])
        stand = ~np.isin(ids, list(self._dropped))
        self._sums = ids[stand], sums[0][stand], sums[1][stand]
        self._pieces.clear()
        self._dropped.clear()


def _found(delta: Delta) -> Iterator[Piece]:
    """Yield what the blocks, pages and composites of a delta have of each clause."""
    blocks = [*delta.blocks.values(), *(page.block for page in delta.composites.values())]
    for block in blocks:
        yield block.clause_ids, block.counts.astype(np.int64), _bytes(block.forms, block.counts)
    for (clause_id, _), pages in delta.pages.items():
        ids = np.full(len(pages.counts), clause_id, dtype=np.int64)
        yield ids, pages.counts.astype(np.int64), _bytes(pages.forms, pages.counts)


def _bytes(forms: NDArray[np.uint8], counts: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return what the hits of a chunk take: two bytes each in a list, one bit a row in a bitmap, nothing if unkept."""
    lists = np.where(forms == Form.LIST, counts.astype(np.int64) * _OFFSET_BYTES, 0)
    return lists + _BYTES[forms]
