"""Grouped filter: all standing single-attribute factors over one attribute of one stream, probed together.

It clears lineage bits and never sets one; a slot without a factor passes. Factors arrive one at a time; what
tuples meet are factor tables, of which there are two: a large settled one, and a small one of the recent
slots, so that a registration between two chunks does not cost the large one. The intervals of one factor
belong together, so a tuple that satisfies one of two conjuncts on an attribute does not pass for it (the
defect of CACQ's filter, which ORs its structures).
Source: Madden et al., SIGMOD 2002 (CACQ), 3.2; Chandrasekaran & Franklin 2002, 2.3 (predicate index).
"""

from dataclasses import dataclass
from typing import Final

from engine.query.value_set import ValueSet
from engine.stems.factor_table import GONE, FactorTable
from engine.tuples.chunk import ChunkColumn
from engine.tuples.lineage import Lineage, Slot
from engine.tuples.schema import ColumnType

RECENT_SLOTS_MAX: Final = 1_024
"""Slots outside the settled table: the small table is made anew in about a millisecond."""


@dataclass(frozen=True, slots=True)
class GroupedFilterStatistics:
    """Counters. `derived` = tables made since the start, `table_bytes` those of the present ones."""

    slots: int
    table_bytes: int
    derived: int
    probed: int


class GroupedFilter:
    """The factors over one attribute of type `kind`, by slot."""

    def __init__(self, kind: ColumnType) -> None:
        """Begin without factors."""
        self._kind = kind
        self._factors: dict[Slot, ValueSet] = {}
        self._recent: dict[Slot, ValueSet] = {}
        self._settled_table: FactorTable | None = None
        self._recent_table: FactorTable | None = None
        self._forgotten = 0
        self._derived = 0
        self._probed = 0

    def __len__(self) -> int:
        """Return the number of slots with a factor."""
        return len(self._factors)

    def build(self, slot: Slot, values: ValueSet) -> None:
        """Keep the factor of a slot that has none yet: a normal value set of the attribute's type.

        Cost: O(1); the tables are derived at the next probe.
        """
        assert slot not in self._factors, "a slot has one factor per attribute"
        self._factors[slot] = values
        self._recent[slot] = values
        self._recent_table = None

    def evict(self, slot: Slot) -> None:
        """Forget the slot's factor: it passes from now on, whoever gets it next. Cost: O(log slots)."""
        del self._factors[slot]
        if slot in self._recent:
            del self._recent[slot]
            self._recent_table = None
            return
        assert self._settled_table is not None, "a slot is recent or settled"
        self._settled_table.forget(slot)
        self._forgotten += 1
        if self._forgotten > len(self._factors):  # mostly factors that nobody asks for any more
            self._recent, self._recent_table = dict(self._factors), None
            self._settled_table, self._forgotten = None, 0

    def probe(self, column: ChunkColumn, lineage: Lineage) -> None:
        """Clear slot s of row i wherever s has a factor that value i does not satisfy.

        Args:
            column: the values of this attribute in one chunk.
            lineage: (q slots, chunk) bits, narrowed in place.

        Cost: O(q) look-ups and O(q x CHUNK_WORDS) words; deriving the tables first where factors were
            built since the last probe.
        """
        self._derive()
        self._probed += len(lineage)
        for table in (self._settled_table, self._recent_table):
            if table is not None:
                table.narrow(column, lineage)

    def statistics(self) -> GroupedFilterStatistics:
        """Return counters."""
        tables = [table for table in (self._settled_table, self._recent_table) if table is not None]
        return GroupedFilterStatistics(
            slots=len(self._factors),
            table_bytes=sum(table.nbytes for table in tables),
            derived=self._derived,
            probed=self._probed,
        )

    def check(self) -> None:
        """Assert that every slot with a factor is recent or settled, and none is both."""
        assert self._recent.items() <= self._factors.items(), "a recent slot has a factor"
        settled = set()
        if self._settled_table is not None:
            settled = set(self._settled_table.slots.tolist()) - {GONE}
        assert settled == self._factors.keys() - self._recent.keys(), "the others are settled"

    def _derive(self) -> None:
        if self._recent and self._recent_table is None:
            self._recent_table = FactorTable.of(self._kind, self._recent)
            self._derived += 1
        if len(self._recent) > RECENT_SLOTS_MAX:
            assert self._recent_table is not None, "it has just been made"
            settled = self._settled_table
            self._settled_table = (
                self._recent_table if settled is None else settled.joined(self._recent_table)
            )
            self._derived += settled is not None
            self._recent, self._recent_table, self._forgotten = {}, None, 0
