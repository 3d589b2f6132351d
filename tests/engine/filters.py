"""The naive twin of a grouped filter: every factor compared with every value, nothing derived."""

from engine.query.value_set import ValueSet
from engine.tuples.batch import Column
from engine.tuples.lineage import Lineage, Slot
from engine.tuples.schema import ColumnType


class PlainFilter:
    """Filtering switched off: `compared` counts the factors it had to look at, one tuple at a time."""

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

    def probe(self, column: Column, lineage: Lineage) -> None:
        for i, value in enumerate(column.to_list()):
            for slot, values in self.factors.items():
                PlainFilter.compared += 1
                if not values.contains(value):
                    words = lineage.words[i].tolist()
                    words[slot // 64] &= ~(1 << slot % 64)
                    lineage.words[i] = words

    def check(self) -> None:
        assert all(isinstance(values, ValueSet) for values in self.factors.values())
