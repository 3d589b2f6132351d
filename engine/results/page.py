"""A page: the hits of one clause in one chunk of 4,096 rows, as an ordered list or as a bitmap.

The paper's rule (2.4): a sparse result is a list, a dense one a bitmap, whichever is smaller. Below 1/16
of the rows a list of 16-bit offsets is. Decided page by page, so a query may be dense on Monday and
sparse on Tuesday. A page is a value and always absolute: writing it twice is harmless.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from bitarray import bitarray
from numpy.typing import NDArray

from psoup.engine.kernels import bits, hits
from psoup.engine.limits import CHUNK_ROWS

LIST_ROWS_MAX: Final = hits.LIST_ROWS_MAX
"""Two bytes a row in a list, an eighth of a byte a row in a bitmap: equal at 1/16."""


@dataclass(frozen=True, slots=True)
class Page:
    """Hits in one chunk: at most one of `offsets` (uint16, ascending) and `bitmap` (CHUNK_ROWS bits).

    Neither = not kept: they are dense and cheap to evaluate, so the columns answer for them.
    """

    offsets: NDArray[np.uint16] | None
    bitmap: bitarray | None

    @property
    def kept(self) -> bool:
        """Return whether the hits are here."""
        return self.offsets is not None or self.bitmap is not None

    @property
    def count(self) -> int:
        """Return the number of hits that are kept here."""
        if self.offsets is not None:
            return len(self.offsets)
        return 0 if self.bitmap is None else self.bitmap.count()

    @property
    def nbytes(self) -> int:
        """Return the size of the payload in bytes."""
        if self.offsets is not None:
            return self.offsets.nbytes
        return 0 if self.bitmap is None else CHUNK_ROWS // 8

    def rows(self, first_row: int) -> NDArray[np.int64]:
        """Return the hits as row numbers, ascending; `first_row` is the chunk's first."""
        if self.offsets is not None:
            return self.offsets.astype(np.int64) + first_row
        assert self.bitmap is not None, "a page that is not kept has no rows to tell"
        words = np.frombuffer(self.bitmap.tobytes(), bits.LITTLE)
        return bits.positions(words) + first_row


UNKEPT: Final = Page(None, None)


def bitmap_of(words: bits.Words) -> bitarray:
    """Return the words of one chunk as a bitmap of its rows."""
    made = bitarray(endian="little")
    made.frombytes(words.tobytes())
    return made
