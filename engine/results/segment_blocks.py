"""The match blocks of one segment: what is dropped together, and is asked together for one clause."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels import block_rows
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.results.clause_pages import ClausePages
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Form, MatchBlock
from psoup.engine.results.page import Page

CHUNKS: Final = SEGMENT_ROWS // CHUNK_ROWS

KeptRows = tuple[NDArray[np.int64], list[int]]
"""Rows of hits that are kept, ascending, and the chunks whose hits are told by the columns, ascending."""


NO_ROWS: Final[NDArray[np.int64]] = np.empty(0, dtype=np.int64)


class SegmentBlocks:
    """Blocks by chunk. A value: one block more makes another, so readers keep what they have.

    Attributes:
        blocks: by number of the chunk.
        nbytes: size of the arrays of all blocks.
    """

    __slots__ = ("_known", "_unknown", "blocks", "nbytes")

    def __init__(
        self,
        blocks: Mapping[int, MatchBlock],
        nbytes: int,
        known: NDArray[np.int64],
        unknown: Sequence[int],
    ) -> None:
        """Take what `beside` makes; `known`: (CHUNKS, WIDTH), as `locate` reads it, but for the chunks of `unknown`."""
        self.blocks = blocks
        self.nbytes = nbytes
        self._known = known
        self._unknown = unknown

    def beside(self, chunk: int, block: MatchBlock) -> "SegmentBlocks":
        """Return these blocks and one more, which takes the place of any there is of its chunk."""
        assert all(array.flags.c_contiguous for array in _arrays(block)), (
            "kernels read them as they lie"
        )
        # In this order: a reader that fills the table meanwhile leaves chunks that are filled in again, none unfilled.
        unknown = self._unknown
        known = self._known
        before = self.blocks.get(chunk)
        nbytes = self.nbytes + block.nbytes - (0 if before is None else before.nbytes)
        blocks = {**self.blocks, chunk: block}
        return SegmentBlocks(
            blocks, nbytes, known, unknown if chunk in unknown else (*unknown, chunk)
        )

    def rows(self, clause_id: ClauseId, first_chunk: int, past_chunk: int) -> KeptRows:
        """Return the clause's hits in some chunks of the segment. Cost: O(chunks log clauses + hits)."""
        place = first_chunk % CHUNKS
        table = self._table()[place : place + past_chunk - first_chunk]
        found = np.zeros((len(table), 3), dtype=np.int64)
        kept = block_rows.locate(table, clause_id, found)
        return _rows(table, found, first_chunk, kept)

    def check(self) -> None:
        """Assert that blocks are sound, and the table leads to them."""
        for chunk, block in self.blocks.items():
            block.check()
            assert _entry(block) == self._table()[chunk % CHUNKS].tolist()
        assert np.count_nonzero(self._table()[:, block_rows.IDS]) == len(self.blocks)
        assert self.nbytes == sum(block.nbytes for block in self.blocks.values())

    def _table(self) -> NDArray[np.int64]:
        """Return where the arrays of all blocks lie. Cost: O(1); the first time some microseconds for each block more.

        Of several threads each may be the first.
        """
        unknown = self._unknown
        if unknown:
            known = self._known.copy()  # the value that this one was made of has it as well
            for chunk in unknown:
                known[chunk % CHUNKS] = _entry(self.blocks[chunk])
            self._known, self._unknown = known, ()  # in this order: `beside` reads the other way
        return self._known


NO_BLOCKS: Final = SegmentBlocks({}, 0, np.zeros((CHUNKS, block_rows.WIDTH), dtype=np.int64), ())


def rows_by_chunk(pages: Mapping[int, Page]) -> list[KeptRows]:
    """Return the hits of pages by chunk, in a part for each."""
    return [
        (page.rows(chunk * CHUNK_ROWS), []) if page.kept else (NO_ROWS, [chunk])
        for chunk, page in sorted(pages.items())
    ]


def rows_of_pages(pages: ClausePages, first_chunk: int, past_chunk: int) -> KeptRows:
    """Return the hits that a clause's own pages have in some chunks. Cost: O(chunks + hits)."""
    first = max(first_chunk, pages.first_chunk)
    past = min(past_chunk, pages.first_chunk + len(pages.counts))
    if first >= past:
        return NO_ROWS, []
    some = slice(first - pages.first_chunk, past - pages.first_chunk)
    found = np.empty((past - first, 3), dtype=np.int64)
    found[:, 0], found[:, 1], found[:, 2] = (
        pages.forms[some],
        pages.counts[some],
        pages.places[some],
    )
    table = np.zeros((past - first, block_rows.WIDTH), dtype=np.int64)
    table[:, block_rows.OFFSETS] = _address(pages.offsets)
    table[:, block_rows.BITMAPS] = _address(pages.bitmaps)
    kept = int(found[:, 1].sum(where=found[:, 0] != Form.UNKEPT))
    return _rows(table, found, first, kept)


def _rows(
    table: NDArray[np.int64], found: NDArray[np.int64], first_chunk: int, kept: int
) -> KeptRows:
    rows = np.empty(kept, dtype=np.int64)
    block_rows.write_rows(table, found, first_chunk * CHUNK_ROWS, rows)
    unkept = (found[:, 0] == Form.UNKEPT) & (found[:, 1] > 0)
    return rows, (np.flatnonzero(unkept) + first_chunk).tolist() if unkept.any() else []


def _arrays(block: MatchBlock) -> list[NDArray[Any]]:
    """Return the arrays of a block in the order in which a table has them."""
    return [*block.entries, block.offsets, block.bitmaps]


def _entry(block: MatchBlock) -> list[int]:
    """Return the entry of a block in a table."""
    return [*map(_address, _arrays(block)), len(block)]


def _address(array: NDArray[Any]) -> int:
    """Return where an array lies. Whoever keeps the address keeps the array."""
    return int(array.__array_interface__["data"][0])
