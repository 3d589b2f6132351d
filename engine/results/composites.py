"""Composite tuples: what joins find, kept for all clauses of a group together.

The clauses with one FROM list and the same join factors form a group. Each composite tuple that satisfies some of
them is kept once, as the row numbers of its parts, with one bit for each of them: the paper's bitmap of a FROM
list, cut into pages of 4,096 composites, each a match block, so that a clause that few of them satisfy takes a list.
A page is a value. Source: Chandrasekaran & Franklin 2002, 2.4 (Results Structure), 3.1.3 (two stamps of a join row).
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import MatchBlock

CompositeKey = tuple[ClauseId, int, int, int]
"""Group, entrant, number, page.

Whoever entered found what is in a page: a chunk of the group's source number `entrant`, or, where that is the number
of its sources, the clause `number`, which met the tuples that were there before it.
"""


@dataclass(frozen=True, slots=True, eq=False)
class PageBounds:
    """What a page's composites lie between, both ends inclusive: microseconds. By it pages are passed over.

    One object belongs to one page, and may outlive it: whoever remembers what was in a page knows it by this.
    """

    least_earliest: int
    most_earliest: int
    least_latest: int
    most_latest: int


@dataclass(frozen=True, slots=True, eq=False)
class CompositePage:
    """Up to CHUNK_ROWS composite tuples of one entrant, in order of their latest part's time.

    Attributes:
        rows: (n, p) int64, the row of each of n sources.
        earliest, latest: (p,) int64, the smallest and the largest tuple time among a composite's parts.
        block: which clauses are satisfied, by place 0 to p - 1. None of its forms is UNKEPT.
        bounds: of the times; they follow from the others.
    """

    rows: NDArray[np.int64]
    earliest: NDArray[np.int64]
    latest: NDArray[np.int64]
    block: MatchBlock
    bounds: PageBounds = field(init=False)

    def __post_init__(self) -> None:
        """Note the bounds. Cost: O(p)."""
        earliest, latest = self.earliest, self.latest
        bounds = PageBounds(
            int(earliest.min()), int(earliest.max()), int(latest[0]), int(latest[-1])
        )
        object.__setattr__(self, "bounds", bounds)

    def __len__(self) -> int:
        """Return the number of composite tuples."""
        return len(self.earliest)

    @property
    def past_rows(self) -> tuple[int, ...]:
        """Return for each source the row past the largest: below it is all that the page names."""
        return tuple((self.rows.max(axis=1) + 1).tolist())

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays."""
        return self.rows.nbytes + self.earliest.nbytes + self.latest.nbytes + self.block.nbytes

    def places(self, clause_id: ClauseId) -> NDArray[np.int64]:
        """Return the places of the composites that satisfy a clause, ascending. Cost: O(log h + hits)."""
        page = self.block.page(clause_id)
        return np.empty(0, dtype=np.int64) if page is None else page.rows(0)

    def check(self) -> None:
        """Assert that the arrays agree, that latest times ascend, and that there is nothing nobody asked for."""
        count = len(self)
        assert 0 < count <= CHUNK_ROWS, "a page has composites"
        assert self.rows.shape[1] == count == len(self.latest)
        assert (self.rows >= 0).all()
        assert (self.earliest <= self.latest).all()
        assert (np.diff(self.latest) >= 0).all(), "composites are in order of their latest part"
        self.block.check()
        asked = [page.rows(0) for _, page in self.block.pages()]
        assert asked, "somebody asked for the page"
        assert np.array_equal(np.unique(np.concatenate(asked)), np.arange(count)), "and for each"
