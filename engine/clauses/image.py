"""The clauses of one stream as a value: another process joins tuples with it, and finds the same hits.

It has the tables ready: that process parses no text and sorts nothing. The Query SteM shares the tables and goes on
evicting clauses from them. So the sender of an image notes the clauses evicted by then (`gone`), and a receiver that
has an earlier image evicts them from it (`without`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psoup.engine.clauses.grouped_filter import GroupedFilters
from psoup.engine.clauses.stream_clauses import ResidualStep, StreamClauses
from psoup.engine.clauses.table_probe import IndexTables, TableProbe
from psoup.engine.query.values.expression import Expression
from psoup.engine.results.match_block import Harvest
from psoup.engine.tuples.chunk import Chunk
from psoup.engine.tuples.lineage import Lineage, Slot


@dataclass(frozen=True, slots=True, eq=False)
class ClauseImage:
    """What stands over one stream between two changes of it.

    Attributes:
        tables: the clauses by slot.
        clause_ids: (s,) int64, which clause is in each slot.
        wanted: (s,) uint8, how its hits are kept, a Keeping each.
        residuals: what cannot be indexed, once each, with the ascending slots (int32) that ask for it.
    """

    tables: IndexTables
    clause_ids: NDArray[np.int64]
    wanted: NDArray[np.uint8]
    residuals: tuple[tuple[Expression, NDArray[np.int32]], ...]

    @classmethod
    def of(cls, clauses: StreamClauses) -> "ClauseImage | None":
        """Return the image of clauses as they stand; None where their index is of another kind than grouped filters.

        Cost: O(slots) copied; tables are derived first where clauses were built since the last probe.
        """
        if not isinstance(clauses.index, GroupedFilters):
            return None
        tables = clauses.index.derived()
        width = clauses.width
        return cls(
            IndexTables(dict(tables.attributes), tables.clause_tables, tables.pivot_tables),
            clauses.clause_ids[:width].copy(),
            clauses.wanted[:width].copy(),
            tuple(
                (expression, np.array(sorted(step.slots), dtype=np.int32))
                for expression, step in clauses.residuals.items()
            ),
        )

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays; of texts only their places, and of expressions only their slots."""
        slots = sum(asking.nbytes for _, asking in self.residuals)
        return self.tables.nbytes + self.clause_ids.nbytes + self.wanted.nbytes + slots


class ImageIndex:
    """An index that was made elsewhere: it meets chunks, and no clause enters or leaves it."""

    __slots__ = ("_probe", "_tables")

    def __init__(self, tables: IndexTables, probe: TableProbe | None = None) -> None:
        """Take the tables of an image; threads that share them have a `probe` each."""
        self._tables = tables
        self._probe = probe or TableProbe()

    def probe(self, chunk: Chunk, wanted: NDArray[np.uint8], harvest: Harvest) -> Iterator[Lineage]:
        """Add hits to the harvest and yield what open clauses can still be satisfied by (`TableProbe.probe`)."""
        return self._probe.probe(self._tables, chunk, wanted, harvest)


def residual_steps(image: ClauseImage) -> list[ResidualStep]:
    """Return a step for each residual expression of an image."""
    steps = []
    for expression, slots in image.residuals:
        step = ResidualStep(expression)
        step.slots.update(map(Slot, slots.tolist()))
        steps.append(step)
    return steps
