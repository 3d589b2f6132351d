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

from psoup.engine.kernels import hits
from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE, Words
from psoup.engine.kernels.hits import Written
from psoup.engine.kernels.order import sorted_places
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.page import UNKEPT, Page, bitmap_of
from psoup.engine.tuples.lineage import Lineage

UNPLACED: Final = hits.UNPLACED
"""The place of hits that are not kept."""

Scalar = TypeVar("Scalar", bound=np.generic)
Entries = tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32]]
"""Clause ids, forms, counts and places of the entries of a block."""


class Form(IntEnum):
    """How the hits of one clause are kept."""

    LIST = hits.LIST
    BITMAP = hits.BITMAP
    UNKEPT = hits.UNKEPT


_LIST: Final = int(Form.LIST)
_BITMAP: Final = int(Form.BITMAP)


class Keeping(IntEnum):
    """What is kept of a clause's hits in a chunk."""

    SPARSE = hits.SPARSE
    """Lists; where a bitmap would be smaller the columns are asked instead."""
    SMALLER = hits.SMALLER
    """Lists or bitmaps, whichever is smaller."""
    LISTS = hits.LISTS
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
    """The hits of the clauses over one chunk, gathered into one block.

    They are written into arrays that are used again for the next chunk, and copied once, when their number is
    known: memory that is touched for the first time is what gathering would cost most.
    """

    __slots__ = ("_written",)

    def __init__(self) -> None:
        """Begin empty, with room for little."""
        self._written = Written(
            names=np.empty(16, dtype=np.int32),
            forms=np.empty(16, dtype=np.uint8),
            counts=np.empty(16, dtype=np.int32),
            places=np.empty(16, dtype=np.int32),
            offsets=np.empty(hits.ROOM, dtype=np.uint16),
            bitmaps=np.empty((16, CHUNK_WORDS), dtype=LITTLE),
            past=np.zeros(3, dtype=np.int64),
        )

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays that are used again."""
        return sum(array.nbytes for array in self._written)

    def room(self) -> Written:
        """Return where hits are written, with room for those of one more clause at least."""
        entries, offsets, bitmaps = self._written.past.tolist()
        written = self._written
        self._written = Written(
            names=with_room(written.names, entries + 1),
            forms=with_room(written.forms, entries + 1),
            counts=with_room(written.counts, entries + 1),
            places=with_room(written.places, entries + 1),
            offsets=with_room(written.offsets, offsets + hits.ROOM),
            bitmaps=with_room(written.bitmaps, bitmaps + 1),
            past=written.past,
        )
        return self._written

    def add(self, lineage: Lineage, wanted: NDArray[np.uint8]) -> None:
        """Add what is left of a settled lineage; no slot comes twice.

        Args:
            lineage: of s slots.
            wanted: by slot, a Keeping each.

        Cost: O(s CHUNK_WORDS + hits listed).
        """
        at = 0
        while at < len(lineage):
            at = hits.write_all(
                lineage.words, lineage.alive, lineage.slots, wanted, self.room(), at
            )

    def clear(self) -> None:
        """Forget what was added, if something broke off before it became a block."""
        self._written.past[:] = 0

    def block(self, ids: NDArray[np.int64]) -> MatchBlock:
        """Return what was added as one block, and be empty again; `ids` are those of the slots."""
        entries, past, bitmaps = self._written.past.tolist()
        written = self._written
        clause_ids = ids[written.names[:entries]]
        order = None
        if (clause_ids[1:] < clause_ids[:-1]).any():  # several passes, or slots that were reused
            order = sorted_places(clause_ids)
            clause_ids = clause_ids[order]
        block = MatchBlock(
            clause_ids=clause_ids,
            forms=_copied(written.forms[:entries], order),
            counts=_copied(written.counts[:entries], order),
            places=_copied(written.places[:entries], order),
            offsets=written.offsets[:past].copy(),
            bitmaps=written.bitmaps[:bitmaps].copy(),
        )
        self.clear()
        return block


def with_room(array: NDArray[Scalar], length: int) -> NDArray[Scalar]:
    """Return the array, or a copy at least twice as long where it has not `length` places."""
    if length <= len(array):
        return array
    longer = np.empty((max(length, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def _copied(array: NDArray[Scalar], order: NDArray[np.int64] | None) -> NDArray[Scalar]:
    """Return a copy of the array, in another order where one is given."""
    return array.copy() if order is None else array[order]
