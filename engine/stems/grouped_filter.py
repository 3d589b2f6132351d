"""Grouped filter: all standing factors over one attribute of one stream, probed together.

It clears lineage bits and never sets one; a slot without a factor passes. Factors arrive one at a time and
cost O(log constants); what tuples meet are rank tables, derived at the next probe. There are two: a large
settled one, and a small one of the recent slots, so that a registration between two batches does not cost
the large one. The intervals of one factor are disjoint and belong together, so a tuple that satisfies one of
two conjuncts on an attribute does not pass for it (the defect of CACQ's filter, which ORs its structures).
Source: Madden et al., SIGMOD 2002 (CACQ), 3.2; Chandrasekaran & Franklin 2002, 2.3 (predicate index).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sortedcontainers import SortedDict

from engine import limits
from engine.query.expression import Value
from engine.query.value_set import ValueSet
from engine.stems.rank_table import RankTable
from engine.tuples.batch import Column
from engine.tuples.lineage import Lineage, Slot
from engine.tuples.schema import ColumnType

RECENT_SLOTS_MAX: Final = 64
"""Slots outside the settled table: one word of bits, so the small table stays small."""


@dataclass(frozen=True, slots=True)
class GroupedFilterStatistics:
    """Counters. `derived` = tables made since the start, `table_bytes` those of the present ones."""

    slots: int
    constants: int
    table_bytes: int
    derived: int
    probed: int


class GroupedFilter:
    """The factors over one attribute of type `kind`, by slot."""

    def __init__(
        self, kind: ColumnType, *, bytes_max: int = limits.GROUPED_FILTER_BYTES_MAX
    ) -> None:
        """Begin without factors; a table of bit rows never exceeds `bytes_max`."""
        self._kind = kind
        self._bytes_max = bytes_max
        self._factors: dict[Slot, ValueSet] = {}
        self._constants = SortedDict()  # constant -> number of interval ends that are it
        self._recent: set[Slot] = set()
        self._settled_table: RankTable | None = None
        self._recent_table: RankTable | None = None
        self._forgotten = 0
        self._derived = 0
        self._probed = 0

    def __len__(self) -> int:
        """Return the number of slots with a factor."""
        return len(self._factors)

    def build(self, slot: Slot, values: ValueSet) -> None:
        """Keep the factor of a slot that has none yet: a normal value set of the attribute's type.

        Cost: O(intervals log constants).
        """
        assert slot not in self._factors, "a slot has one factor per attribute"
        self._factors[slot] = values
        for constant in _ends(values):
            self._constants[constant] = self._constants.get(constant, 0) + 1
        self._recent.add(slot)
        self._recent_table = None

    def evict(self, slot: Slot) -> None:
        """Forget the slot's factor: it passes from now on, whoever gets it next."""
        for constant in _ends(self._factors.pop(slot)):
            self._constants[constant] -= 1
            if not self._constants[constant]:
                del self._constants[constant]
        if slot in self._recent:
            self._recent.remove(slot)
            self._recent_table = None
            return
        assert self._settled_table is not None, "a slot is recent or settled"
        self._settled_table.forget(slot)
        self._forgotten += 1
        if self._forgotten > len(self._factors):  # mostly constants that nobody asks for any more
            self._recent, self._recent_table = set(self._factors), None
            self._settled_table, self._forgotten = None, 0

    def probe(self, column: Column, lineage: Lineage) -> None:
        """Clear slot s of row i wherever s has a factor that value i does not satisfy.

        Args:
            column: (n,) values of this attribute.
            lineage: (n, q) bits, narrowed in place.

        Cost: O(n log c + n q / 64) for c distinct constants; deriving the tables first where factors
        were built since the last probe.
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
            constants=len(self._constants),
            table_bytes=sum(table.nbytes for table in tables),
            derived=self._derived,
            probed=self._probed,
        )

    def check(self) -> None:
        """Assert that constants are counted exactly and every slot is recent or settled."""
        counted: dict[Value, int] = {}
        for values in self._factors.values():
            for constant in _ends(values):
                counted[constant] = counted.get(constant, 0) + 1
        assert counted == dict(self._constants), "the constants are the ends of the intervals"
        assert list(self._constants) == sorted(counted), "the constants are in order"
        assert self._recent <= self._factors.keys(), "a recent slot has a factor"
        settled = self._factors.keys() - self._recent
        assert not settled or self._settled_table is not None, "settled slots are in the table"

    def _derive(self) -> None:
        if len(self._recent) > RECENT_SLOTS_MAX:
            constants = list(self._constants)
            self._settled_table = self._table(self._factors, constants)
            self._recent, self._recent_table, self._forgotten = set(), None, 0
        elif self._recent and self._recent_table is None:
            factors = {slot: self._factors[slot] for slot in self._recent}
            constants = sorted({end for values in factors.values() for end in _ends(values)})
            self._recent_table = self._table(factors, constants)

    def _table(self, factors: dict[Slot, ValueSet], constants: list[Value]) -> RankTable:
        self._derived += 1
        return RankTable(self._kind, factors, constants, bytes_max=self._bytes_max)


def _ends(values: ValueSet) -> Iterator[Value]:
    """Yield the constants a factor is made of, one for each end that has one."""
    for interval in values.intervals:
        if interval.low is not None:
            yield interval.low
        if interval.high is not None:
            yield interval.high
