"""A clause's own pages: its hits in the chunks that were whole when it came, in a few arrays.

One object for a run of chunks: ten million rows are 2,442 chunks, and an object for each of them costs more than
to look at the rows. It is a value, and goes when the last of its segments goes.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import CHUNK_WORDS, Words
from psoup.engine.kernels.clause_hits import place, write_lists
from psoup.engine.kernels.hits import SLACK
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.results.match_block import Form, Keeping
from psoup.engine.results.page import LIST_ROWS_MAX, UNKEPT, Page, bitmap_of
from psoup.engine.tuples.value_type import value_type

RUN_SEGMENTS: Final = 16
RUN_ROWS: Final = RUN_SEGMENTS * SEGMENT_ROWS
"""Rows of a run, which begins at a multiple of it: bitmaps of it take 128 KiB."""
RUN_CHUNKS: Final = RUN_ROWS // CHUNK_ROWS

_LIST: Final = int(Form.LIST)
_BITMAP: Final = int(Form.BITMAP)
_UNKEPT: Final = int(Form.UNKEPT)

_POLICIES: Final = {
    Keeping.SPARSE: (LIST_ROWS_MAX, _UNKEPT),
    Keeping.SMALLER: (LIST_ROWS_MAX, _BITMAP),
    Keeping.LISTS: (CHUNK_ROWS, _BITMAP),
}
"""The most hits that are a list, and the form of more."""


@value_type
class ClausePages:
    """Hits of one clause in consecutive chunks of one run.

    Attributes:
        first_chunk: number of the first.
        forms: (c,) uint8, a Form each; LIST where there are no hits.
        counts: (c,) int32, how many hits, kept or not.
        places: (c,) int32: where the list begins in `offsets`, or the row of `bitmaps`; anything else where
            nothing is kept.
        offsets: (t,) uint16, the lists.
        bitmaps: (d, CHUNK_WORDS) uint64.
    """

    first_chunk: int
    forms: NDArray[np.uint8]
    counts: NDArray[np.int32]
    places: NDArray[np.int32]
    offsets: NDArray[np.uint16]
    bitmaps: Words

    @classmethod
    def of(
        cls, first_chunk: int, words: Words, counts: NDArray[np.int32], keeping: Keeping
    ) -> "ClausePages":
        """Return the hits given as bits; `words` is given away.

        Args:
            first_chunk: the chunk of the first word.
            words: (CHUNK_WORDS c,).
            counts: (c,) how many bits of each chunk are set.
            keeping: what is to be kept of them.

        Cost: O(c + hits listed), and a copy of the bitmaps where not all are.
        """
        chunks = len(counts)
        list_max, dense = _POLICIES[keeping]
        forms, places = np.empty(chunks, dtype=np.uint8), np.empty(chunks, dtype=np.int32)
        listed, others = place(counts, list_max, (_LIST, dense), forms, places)
        offsets = np.empty(listed + SLACK if listed else 0, dtype=np.uint16)
        if listed:
            write_lists(words, counts, list_max, offsets)
            offsets = offsets[:listed]
        bitmaps = words.reshape(chunks, CHUNK_WORDS)
        if others < chunks or dense == _UNKEPT:
            bitmaps = bitmaps[forms == _BITMAP]
        return cls(first_chunk, forms, counts, places, offsets, bitmaps)

    def __len__(self) -> int:
        """Return the number of chunks with hits."""
        return int(np.count_nonzero(self.counts))

    @property
    def chunks(self) -> range:
        """Return the numbers of the chunks."""
        return range(self.first_chunk, self.first_chunk + len(self.counts))

    @property
    def run(self) -> int:
        """Return the number of the run."""
        return self.first_chunk // RUN_CHUNKS

    @property
    def last_segment(self) -> int:
        """Return the number of the last segment that there are chunks of: the run goes with it."""
        return (self.first_chunk + len(self.counts) - 1) * CHUNK_ROWS // SEGMENT_ROWS

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays."""
        entries = self.forms.nbytes + self.counts.nbytes + self.places.nbytes
        return int(entries + self.offsets.nbytes + self.bitmaps.nbytes)

    def page(self, chunk: int) -> Page | None:
        """Return the hits in a chunk; None where there are none. Cost: O(1), and a copy of a bitmap."""
        at = chunk - self.first_chunk
        if not 0 <= at < len(self.counts) or not self.counts[at]:
            return None
        form, begin = int(self.forms[at]), int(self.places[at])
        if form == _LIST:
            return Page(self.offsets[begin : begin + int(self.counts[at])], None)
        return Page(None, bitmap_of(self.bitmaps[begin])) if form == _BITMAP else UNKEPT

    def pages(self) -> Iterator[tuple[int, Page]]:
        """Yield each chunk with hits, ascending, and its hits."""
        for at in np.flatnonzero(self.counts).tolist():
            page = self.page(self.first_chunk + at)
            assert page is not None
            yield self.first_chunk + at, page

    def check(self) -> None:
        """Assert that lists and bitmaps are where they are said to be."""
        for chunk, page in self.pages():
            if page.offsets is not None:
                steps = np.diff(page.offsets.astype(np.int64))
                assert (steps > 0).all(), "each hit once, ascending"
            if page.kept:
                assert page.count == self.counts[chunk - self.first_chunk], "hits are counted"


def runs_of(segments: range) -> range:
    """Return the runs that these segments lie in; none for none."""
    if not segments:
        return range(0)
    return range(segments[0] // RUN_SEGMENTS, segments[-1] // RUN_SEGMENTS + 1)
