"""A match block: the hits of all clauses of a stream in one chunk, in a few arrays.

One object per chunk, however many clauses stand: 100,000 of them cost arrays, not 100,000 pages. It is a
value, keyed by clause ids that never come again, so a slot of the Query SteM that is given away shows nobody
another clause's bits. A clause without hits is not in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.kernels import harvest
from engine.kernels.bits import CHUNK_WORDS, LITTLE, Words
from engine.limits import CHUNK_ROWS
from engine.results.hits import ClauseId
from engine.results.page import LIST_ROWS_MAX, UNKEPT, Page, bitmap_of
from engine.tuples.lineage import Lineage

UNPLACED: Final = -1

Scalar = TypeVar("Scalar", bound=np.generic)
Entries = tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32]]
"""Clause ids, forms, counts and places of the entries of a block."""


class Form(IntEnum):
    """How the hits of one clause are kept."""

    LIST = 0
    BITMAP = 1
    UNKEPT = 2


_LIST: Final = int(Form.LIST)
_BITMAP: Final = int(Form.BITMAP)


class Keeping(IntEnum):
    """What is kept of a clause's hits in a chunk."""

    SPARSE = 0
    """Lists; where a bitmap would be smaller the columns are asked instead."""
    SMALLER = 1
    """Lists or bitmaps, whichever is smaller."""
    LISTS = 2
    """Lists, however long."""


@dataclass(frozen=True, slots=True, eq=False)
class MatchBlock:
    """Hits by clause in one chunk.

    Attributes:
        clause_ids: (h,) int64, ascending.
        forms: (h,) uint8, a Form each.
        counts: (h,) int32, how many hits, kept or not.
        places: (h,) int32: where the list begins in `offsets`, the row of `bitmaps`, or UNPLACED.
        offsets: (t,) uint16, the lists.
        bitmaps: (d, CHUNK_WORDS) uint64.
    """

    clause_ids: NDArray[np.int64]
    forms: NDArray[np.uint8]
    counts: NDArray[np.int32]
    places: NDArray[np.int32]
    offsets: NDArray[np.uint16]
    bitmaps: Words

    def __len__(self) -> int:
        """Return the number of clauses with hits."""
        return len(self.clause_ids)

    @property
    def entries(self) -> Entries:
        """Return ids, forms, counts and places."""
        return self.clause_ids, self.forms, self.counts, self.places

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays."""
        entries = sum(column.nbytes for column in self.entries)
        return int(entries + self.offsets.nbytes + self.bitmaps.nbytes)

    def page(self, clause_id: ClauseId) -> Page | None:
        """Return the clause's hits; None where it has none. Cost: O(log h), and a copy of a bitmap."""
        at = int(np.searchsorted(self.clause_ids, np.int64(clause_id)))
        if at == len(self.clause_ids) or self.clause_ids[at] != clause_id:
            return None
        return self._page(at)

    def pages(self) -> Iterator[tuple[ClauseId, Page]]:
        """Yield each clause and its hits, ascending."""
        for at, clause_id in enumerate(self.clause_ids.tolist()):
            yield ClauseId(clause_id), self._page(at)

    def among(self, some: slice) -> "MatchBlock":
        """Return the block of the clauses at these places of `clause_ids`, with what they need alone."""
        forms, counts, places = self.forms[some], self.counts[some], self.places[some].copy()
        lists, maps = forms == Form.LIST, forms == Form.BITMAP
        lengths = counts[lists].astype(np.int64)
        begins = np.cumsum(lengths) - lengths
        taken = np.repeat(places[lists] - begins, lengths) + np.arange(int(lengths.sum()))
        bitmaps = self.bitmaps[places[maps]]
        places[lists] = begins
        places[maps] = np.arange(len(bitmaps))
        return MatchBlock(
            self.clause_ids[some], forms, counts, places, self.offsets[taken], bitmaps
        )

    def check(self) -> None:
        """Assert that ids ascend, and that lists and bitmaps are where they are said to be."""
        assert (np.diff(self.clause_ids) > 0).all(), "each clause once, ascending"
        assert (self.counts > 0).all(), "a clause without hits is not in a block"
        for _, page in self.pages():
            if page.offsets is not None:
                assert (np.diff(page.offsets.astype(np.int64)) > 0).all(), (
                    "each hit once, ascending"
                )
        for at in np.flatnonzero(self.forms != Form.UNKEPT).tolist():
            assert self._page(at).count == self.counts[at], "hits are counted"

    def _page(self, at: int) -> Page:
        form, place = int(self.forms[at]), int(self.places[at])
        if form == _LIST:
            return Page(self.offsets[place : place + int(self.counts[at])], None)
        return Page(None, bitmap_of(self.bitmaps[place])) if form == _BITMAP else UNKEPT


EMPTY: Final = MatchBlock(
    np.empty(0, np.int64),
    np.empty(0, np.uint8),
    np.empty(0, np.int32),
    np.empty(0, np.int32),
    np.empty(0, np.uint16),
    np.empty((0, CHUNK_WORDS), LITTLE),
)


class Harvest:
    """What is left of the lineages over one chunk, gathered tile by tile into one block.

    Lists and bitmaps are written into arrays that are used again for the next chunk, and copied once, when
    their number is known: memory that is touched for the first time is what gathering would cost most.
    """

    __slots__ = ("_bitmaps", "_bitmaps_past", "_offsets", "_offsets_past", "_parts")

    def __init__(self) -> None:
        """Begin empty."""
        self._offsets = np.empty(CHUNK_ROWS, dtype=np.uint16)
        self._bitmaps = np.empty((1, CHUNK_WORDS), dtype=LITTLE)
        self._offsets_past = self._bitmaps_past = 0
        self._parts: list[Entries] = []

    def add(
        self, lineage: Lineage, clause_ids: NDArray[np.int64], keeping: NDArray[np.uint8]
    ) -> None:
        """Add what is left of a settled lineage; no clause comes twice.

        Args:
            lineage: of s slots.
            clause_ids: (s,) the clause of each slot; that of a slot in nobody's use does not matter.
            keeping: (s,) a Keeping each.

        Cost: O(s CHUNK_WORDS + hits listed).
        """
        counts = harvest.counts(lineage.words, lineage.alive)
        slots = np.flatnonzero(counts)
        counts, keeping = counts[slots], keeping[slots]
        forms = np.full(len(slots), Form.BITMAP, dtype=np.uint8)
        forms[keeping == Keeping.SPARSE] = Form.UNKEPT
        forms[(counts <= LIST_ROWS_MAX) | (keeping == Keeping.LISTS)] = Form.LIST
        lists, maps = forms == Form.LIST, forms == Form.BITMAP
        places = np.full(len(slots), UNPLACED, dtype=np.int32)
        lengths = counts[lists].astype(np.int64)
        begin, past = self._offsets_past, self._offsets_past + int(lengths.sum())
        self._offsets = with_room(self._offsets, past + harvest.SLACK)
        harvest.write_offsets(lineage.words, slots[lists], self._offsets, begin)
        places[lists] = begin + np.cumsum(lengths) - lengths
        self._offsets_past = past
        begin, past = self._bitmaps_past, self._bitmaps_past + int(np.count_nonzero(maps))
        self._bitmaps = with_room(self._bitmaps, past)
        np.take(lineage.words, slots[maps], axis=0, out=self._bitmaps[begin:past], mode="clip")
        places[maps] = np.arange(begin, past)
        self._bitmaps_past = past
        self._parts.append((clause_ids[slots], forms, counts, places))

    def clear(self) -> None:
        """Forget what was added, if something broke off before it became a block."""
        self._offsets_past = self._bitmaps_past = 0
        self._parts = []

    def block(self) -> MatchBlock:
        """Return what was added as one block, and be empty again."""
        ids, forms, counts, places = (
            np.concatenate(column) for column in zip(EMPTY.entries, *self._parts, strict=True)
        )
        if (ids[1:] < ids[:-1]).any():  # slots were reused
            order = np.argsort(ids)
            ids, forms, counts, places = ids[order], forms[order], counts[order], places[order]
        offsets = self._offsets[: self._offsets_past].copy()
        bitmaps = self._bitmaps[: self._bitmaps_past].copy()
        self.clear()
        return MatchBlock(ids, forms, counts, places, offsets, bitmaps)


def with_room(array: NDArray[Scalar], length: int) -> NDArray[Scalar]:
    """Return the array, or a copy at least twice as long where it has not `length` places."""
    if length <= len(array):
        return array
    longer = np.empty((max(length, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
