"""The naive twin of a grouped filter: every factor compared with every value, nothing derived."""

from engine.kernels.bits import CHUNK_WORDS
from engine.query.value_set import ValueSet
from engine.tuples.chunk import ChunkColumn
from engine.tuples.lineage import Lineage, Slot
from engine.tuples.schema import ColumnType
from tests.engine.columns import satisfying
from tests.engine.kernels import twins


class PlainFilter:
    """Filtering switched off: `compared` counts the values it had to look at, one factor at a time."""

    compared = 0

    def __init__(self, kind: ColumnType) -> None:
        self.kind = kind
        self.factors: dict[Slot, ValueSet] = {}

    def __len__(self) -> int:
        return len(self.factors)

    def build(self, slot: Slot, values: ValueSet) -> None:
        assert slot not in self.factors
        self.factors[slot] = values

    def evict(self, slot: Slot) -> None:
        del self.factors[slot]

    def probe(self, column: ChunkColumn, lineage: Lineage) -> None:
        values = column.column.to_list()
        for slot, asked in self.factors.items():
            place = slot - lineage.first_slot
            if 0 <= place < len(lineage) and lineage.alive[place]:
                PlainFilter.compared += len(values)
                lineage.words[place] &= twins.words_from(satisfying(values, asked), CHUNK_WORDS)
                lineage.alive[place] = lineage.words[place].any()

    def check(self) -> None:
        assert all(isinstance(values, ValueSet) for values in self.factors.values())


class OpenFilter(PlainFilter):
    """A filter that lets everything pass."""

    def probe(self, column: ChunkColumn, lineage: Lineage) -> None:
        pass
