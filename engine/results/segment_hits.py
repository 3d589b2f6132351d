"""The hits of one clause in one segment, in one piece: what a worker keeps of what it has read or evaluated.

Whole chunks do not change, nor do the hits in them: what was found once is right for as long as the clause
stands. So the first invocation gathers, and those after it slice.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.recent import ENTRY_BYTES
from psoup.engine.results.delta import CHUNKS
from psoup.engine.tuples.value_type import value_type

NO_ROWS: Final[NDArray[np.int64]] = np.empty(0, dtype=np.int64)


@value_type
class SegmentHits:
    """Hits in the consecutive whole chunks `[first_chunk, past_chunk)` of one segment.

    Attributes:
        first_chunk: number of the first chunk.
        past_chunk: number of the chunk behind the last one.
        ends: how many hits lie before each chunk, and after the last one: all of them.
        offsets: (n,) uint16, ascending: the hits, counted from the segment's first row.
    """

    first_chunk: int
    past_chunk: int
    ends: tuple[int, ...]
    offsets: NDArray[np.uint16]

    @property
    def nbytes(self) -> int:
        """Return the size of the hits, and of an entry for them."""
        return ENTRY_BYTES + self.offsets.nbytes

    def below(self, row: int) -> int:
        """Return how many hits lie before `row`, which lies in these chunks or just behind them.

        Cost: O(1) where a chunk begins, O(log n) elsewhere.
        """
        place, rest = divmod(row, CHUNK_ROWS)
        place -= self.first_chunk
        begin = self.ends[place]
        if not rest:
            return begin
        some = self.offsets[begin : self.ends[place + 1]]
        return begin + int(some.searchsorted(np.uint16(row % SEGMENT_ROWS)))

    def row(self, at: int) -> int:
        """Return the row of the hit at this place among them."""
        return self.first_chunk // CHUNKS * SEGMENT_ROWS + int(self.offsets.item(at))

    def rows(self, begin: int, past: int) -> NDArray[np.int64]:
        """Return the rows of the hits at the places `[begin, past)`, ascending."""
        found = self.offsets[begin:past].astype(np.int64)
        found += self.first_chunk // CHUNKS * SEGMENT_ROWS
        return found


def hits_of(rows: NDArray[np.int64], first_chunk: int, past_chunk: int) -> SegmentHits:
    """Return the hits of these chunks of one segment from all their rows, ascending."""
    edges = np.arange(first_chunk, past_chunk + 1) * CHUNK_ROWS
    ends = tuple(rows.searchsorted(edges).tolist())
    offsets = (rows & (SEGMENT_ROWS - 1)).astype(
        np.uint16
    )  # a power of two, and a remainder takes ten times that
    return SegmentHits(first_chunk, past_chunk, ends, offsets)
