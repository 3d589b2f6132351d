"""A page: the hits of one clause in one chunk of 4,096 rows, as an ordered list or as a bitmap.

The paper's rule (2.4): a sparse result is a list, a dense one a bitmap, whichever is smaller. Below 1/16
of the rows a list of 16-bit offsets is. Decided page by page, so a query may be dense on Monday and
sparse on Tuesday. A page is a value and always absolute: writing it twice is harmless.
"""

from dataclasses import dataclass

import numpy as np
from bitarray import bitarray
from numpy.typing import NDArray

from engine.limits import CHUNK_ROWS

LIST_ROWS_MAX = CHUNK_ROWS // 16
"""Two bytes a row in a list, an eighth of a byte a row in a bitmap: equal at 1/16."""


@dataclass(frozen=True, slots=True)
class Page:
    """Hits in one chunk: exactly one of `offsets` (uint16, ascending) and `bitmap` (CHUNK_ROWS bits)."""

    offsets: NDArray[np.uint16] | None
    bitmap: bitarray | None

    @property
    def count(self) -> int:
        """Return the number of hits."""
        if self.offsets is not None:
            return len(self.offsets)
        assert self.bitmap is not None
        return self.bitmap.count()

    @property
    def nbytes(self) -> int:
        """Return the size of the payload in bytes."""
        return self.offsets.nbytes if self.offsets is not None else CHUNK_ROWS // 8

    def rows(self, first_row: int) -> NDArray[np.int64]:
        """Return the hits as row numbers, ascending; `first_row` is the chunk's first."""
        if self.offsets is not None:
            return self.offsets.astype(np.int64) + first_row
        assert self.bitmap is not None
        bits = np.unpackbits(np.frombuffer(self.bitmap.tobytes(), np.uint8), bitorder="little")
        return np.flatnonzero(bits.view(np.bool_)) + first_row


def page_of(offsets: NDArray[np.uint16]) -> Page:
    """Return the smaller of the two forms for these hits (offsets in the chunk, ascending, distinct)."""
    if len(offsets) <= LIST_ROWS_MAX:
        return Page(offsets, None)
    bits = np.zeros(CHUNK_ROWS, dtype=np.bool_)
    bits[offsets] = True
    packed = bitarray(endian="little")
    packed.frombytes(np.packbits(bits, bitorder="little").tobytes())
    return Page(None, packed)
