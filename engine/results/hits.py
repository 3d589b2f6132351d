"""Hits: which tuples satisfied which clause, before they are put into pages."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NewType

import numpy as np
from numpy.typing import NDArray

from engine.limits import CHUNK_ROWS

ClauseId = NewType("ClauseId", int)
"""Seq of the registration that made the clause. Never reused; the key of stored results."""


@dataclass(frozen=True, slots=True)
class HitBatch:
    """Rows of one stream that satisfy one clause, each exactly once.

    Attributes:
        clause_id: the clause.
        rows: (k,) int64 row numbers, ascending.
    """

    clause_id: ClauseId
    rows: NDArray[np.int64]

    def by_chunk(self) -> Iterator[tuple[int, NDArray[np.uint16]]]:
        """Yield each chunk touched, ascending, with the hits' offsets in it, ascending."""
        if not len(self.rows):
            return
        first, last = int(self.rows[0]) // CHUNK_ROWS, int(self.rows[-1]) // CHUNK_ROWS
        if first == last:
            yield first, (self.rows - first * CHUNK_ROWS).astype(np.uint16)
            return
        edges = np.arange(first, last + 2, dtype=np.int64) * CHUNK_ROWS
        cuts = np.searchsorted(self.rows, edges).tolist()
        for chunk, begin, past in zip(range(first, last + 1), cuts[:-1], cuts[1:], strict=True):
            if begin < past:
                offsets = self.rows[begin:past] - chunk * CHUNK_ROWS
                yield chunk, offsets.astype(np.uint16)
