"""What state modules owe the eddy: build, probe, evict, and an account of themselves.

A SteM holds one side of the join. An entrant is built into its own SteM and then probes the others; the
order, and that it happens exactly once, is the eddy's business (`engine/eddy/eddy.py`).
Source: Chandrasekaran & Franklin 2002, 2.2 and 2.3; Madden et al., SIGMOD 2002 (CACQ), 3.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.gathering import Gathering
from psoup.engine.data.join_keys import SideKey
from psoup.engine.data.key_index import KeyIndex
from psoup.engine.data.source import DatedRows, RowSpan
from psoup.engine.kernels.bits import Words
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.factor import IndexedFactor
from psoup.engine.results.match_block import Harvest
from psoup.engine.tuples.block import Block
from psoup.engine.tuples.chunk import Attribute, Chunk
from psoup.engine.tuples.lineage import Lineage, Slot


@dataclass(frozen=True, slots=True)
class Passed:
    """What a residual factor did with one block: how many rows it looked at, and how many satisfied it."""

    seen: int
    left: int


class Narrowing(Protocol):
    """One way to narrow the lineage of a block: a residual factor."""

    def narrow(self, block: Block) -> Passed:
        """Clear the bits of clauses that a tuple cannot satisfy; never set one."""
        ...


class ClauseIndex(Protocol):
    """A SteM of clauses: all that those of one stream ask of single attributes, by slot."""

    def __len__(self) -> int:
        """Return the number of clauses."""
        ...

    def build(self, slot: Slot, factors: Sequence[IndexedFactor], *, is_open: bool) -> None:
        """Keep the clause of a slot that has none yet; `is_open` = it has other factors as well."""
        ...

    def probe(self, chunk: Chunk, wanted: NDArray[np.uint8], harvest: Harvest) -> Iterator[Lineage]:
        """Add the hits of clauses to the harvest; yield what the others can still be satisfied by.

        `wanted` is a Keeping for each slot. A lineage holds until the next is taken.
        """
        ...

    def evict(self, slot: Slot) -> None:
        """Forget the clause of a slot that has one."""
        ...

    def release(self, attribute: Attribute) -> None:
        """Cease to look at an attribute that was built, and that no clause asks for any more."""
        ...

    @property
    def nbytes(self) -> int:
        """Return the size of the tables that tuples meet, as they were last derived."""
        ...

    def check(self) -> None:
        """Assert the invariants. For tests."""
        ...


class ReadableSteM(Protocol):
    """The tuples of one stream, as a join of one clause reads them. Each raises PageExpiredError for rows not held."""

    @property
    def past_row(self) -> int:
        """Return the row past the last."""
        ...

    @property
    def gathering(self) -> Gathering:
        """Return the reader of tuples by row number."""
        ...

    def probe(
        self, clause: StandingQueryClause, first_row: int, past_row: int
    ) -> tuple[int, Words, NDArray[np.int32]]:
        """Return which of the rows `[first_row, past_row)` satisfy the clause (`HeldSegments.probe`)."""
        ...

    def reach(self, span: DatedRows) -> Sequence[RowSpan]:
        """Return the runs of the span's rows that may be dated in it."""
        ...

    def indexed(self, key: SideKey, first_row: int, past_row: int) -> Iterator[KeyIndex]:
        """Yield key indexes of whole chunks that have those of `[first_row, past_row)` that some span reaches."""
        ...
