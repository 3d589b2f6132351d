"""Clause tables and pivot tables as a chunk of tuples meets them: all at once, in arrays that are used again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psoup.engine.clauses.locator import Locator
from psoup.engine.clauses.pivot_table import PivotTable
from psoup.engine.clauses.table import ClauseTable
from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE
from psoup.engine.kernels.match import Located, match_clauses, narrowest
from psoup.engine.results.match_block import Harvest
from psoup.engine.tuples.chunk import Attribute, Chunk
from psoup.engine.tuples.lineage import TILE_SLOTS, Lineage


@dataclass(frozen=True, slots=True)
class IndexTables:
    """Every table that the clauses of a stream are in. Together with their order they decide how hits are laid out.

    Attributes:
        attributes: the number of each attribute, in all tables.
        clause_tables: probed in this order.
        pivot_tables: probed behind these, in this order.
    """

    attributes: Mapping[Attribute, int]
    clause_tables: Sequence[ClauseTable]
    pivot_tables: Sequence[PivotTable]

    @property
    def nbytes(self) -> int:
        """Return the size of their arrays; of texts only their places."""
        clause_bytes = sum(table.nbytes for table in self.clause_tables)
        return clause_bytes + sum(table.nbytes for table in self.pivot_tables)


class TableProbe:
    """Meets chunks with tables. Holds nothing but room for what lies between the two."""

    __slots__ = ("_left", "_left_names", "_locator")

    def __init__(self) -> None:
        """Begin with room for little."""
        self._locator = Locator()
        self._left = np.empty((1, CHUNK_WORDS), dtype=LITTLE)
        self._left_names = np.empty(1, dtype=np.int32)

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays that are used again."""
        return self._locator.nbytes + self._left.nbytes + self._left_names.nbytes

    def probe(
        self, tables: IndexTables, chunk: Chunk, wanted: NDArray[np.uint8], harvest: Harvest
    ) -> Iterator[Lineage]:
        """Add the hits of clauses to the harvest; yield what open ones can still be satisfied by.

        Args:
            tables: the clauses, by slot.
            chunk: the tuples.
            wanted: by slot, a Keeping each.
            harvest: written.

        Yields:
            Lineages of open clauses that have a row left, each overwritten by the next.

        Cost: O(clauses) look-ups and O(CHUNK_WORDS) words for each factor.
        """
        among = tables.clause_tables
        located = self._locator.locate(chunk, among, tables.attributes)
        for table, places in zip(among, located, strict=True):
            yield from self._match(table, places, wanted, harvest)
        for pivot_table in tables.pivot_tables:
            pivot_table.match(chunk, wanted, harvest)

    def _match(
        self, table: ClauseTable, located: Located, wanted: NDArray[np.uint8], harvest: Harvest
    ) -> Iterator[Lineage]:
        """Add the hits of clauses; yield lineages of those that are open."""
        clauses = table.clauses
        if len(self._left) < TILE_SLOTS and clauses.open.any():
            self._left = np.empty((TILE_SLOTS, CHUNK_WORDS), dtype=LITTLE)
            self._left_names = np.empty(TILE_SLOTS, dtype=np.int32)
        count = len(clauses.names)
        least, fewest = np.empty((2, count), dtype=np.int32)
        narrowest(clauses, located, least, fewest)
        left, names, at = self._left, self._left_names, 0
        while at < count:
            at, open_left = match_clauses(
                clauses, located, least, fewest, wanted, harvest.room(), left, names, at
            )
            if open_left:
                yield Lineage(names[:open_left], left[:open_left])
