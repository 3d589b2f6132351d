"""Grouped filters: all standing single-attribute factors over the attributes of one stream, probed together.

An attribute is a column, or a function of one.

Clauses arrive one at a time; what tuples meet are clause tables: a small one of the recent slots, so that a
registration between two chunks does not cost the large ones, and some settled ones, each several times as large
as the next, so that a clause is put into a larger table a few times in its life. The intervals of one factor
belong together, so a tuple that satisfies one of two conjuncts on an attribute does not pass for it (the
defect of CACQ's filter, which ORs its structures). Clauses that ask for one of very many values of an attribute are
settled in pivot tables by that value, so that a chunk meets those alone whose value occurs in it.
Source: Madden et al., SIGMOD 2002 (CACQ), 3.2; Chandrasekaran & Franklin 2002, 2.3 (predicate index).
"""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from psoup.engine.clauses.pivot_table import PivotTable, pivoted, pivots_among
from psoup.engine.clauses.table import ClauseTable
from psoup.engine.clauses.table_probe import IndexTables, TableProbe
from psoup.engine.query.factor import IndexedFactor
from psoup.engine.query.values.factor_table import Factors
from psoup.engine.query.values.value_set import ValueSet
from psoup.engine.results.match_block import Harvest
from psoup.engine.tuples.chunk import Attribute, Chunk
from psoup.engine.tuples.lineage import Lineage, Slot
from psoup.engine.tuples.schema import ColumnType

RECENT_SLOTS_MAX: Final = 1_024
"""Slots outside the settled tables: the small table is made anew in some milliseconds."""
PIVOT_VALUES_MIN: Final = 512
"""An attribute of which recent clauses ask for so many single values becomes a pivot: below it, bitmaps are as fast."""
PIVOT_SHARE: Final = 128
"""Clauses are not found by a value that more than one in so many recent ones ask for: often as many rows have it, and
each of its clauses would be compared with each of these."""
GROWTH: Final = 4
"""A settled table is put together with those after it unless it is so many times as large as they."""


@dataclass(frozen=True, slots=True)
class GroupedFilterStatistics:
    """Counters: clauses, present tables and their bytes; since the start tables made, and chunks."""

    slots: int
    tables: int
    table_bytes: int
    derived: int
    probed: int


@dataclass(frozen=True, slots=True)
class _Recent:
    factors: Sequence[IndexedFactor]
    is_open: bool


Table = TypeVar("Table", ClauseTable, PivotTable)


class GroupedFilters:
    """The clauses of a stream by slot, with their factors over one attribute each."""

    def __init__(self) -> None:
        """Begin without clauses."""
        self._attributes: dict[Attribute, int] = {}
        self._free: list[int] = []
        self._kinds: dict[Attribute, ColumnType] = {}
        self._recent: dict[Slot, _Recent] = {}
        self._recent_table: ClauseTable | None = None
        self._settled: list[ClauseTable] = []
        self._pivoted: dict[Attribute, list[PivotTable]] = {}
        self._probe = TableProbe()
        self._slots = 0
        self._derived = 0
        self._probed = 0

    def __len__(self) -> int:
        """Return the number of clauses."""
        return self._slots

    def build(self, slot: Slot, factors: Sequence[IndexedFactor], *, is_open: bool) -> None:
        """Keep the clause of a slot that has none yet; `is_open` = it has other factors as well.

        Cost: O(factors); tables are derived at the next probe.
        """
        assert slot not in self._recent, "a slot has one clause"
        for factor in factors:
            if factor.attribute not in self._attributes:
                free = heapq.heappop(self._free) if self._free else len(self._attributes)
                self._attributes[factor.attribute] = free
                self._kinds[factor.attribute] = factor.type
        self._recent[slot] = _Recent(factors, is_open)
        self._recent_table = None
        self._slots += 1

    def evict(self, slot: Slot) -> None:
        """Forget the slot's clause: it is not matched any more. Cost: O(log slots) for each table."""
        self._slots -= 1
        if self._recent.pop(slot, None) is not None:
            if not self._recent:
                self._recent_table = None
            elif self._recent_table is not None:
                self._recent_table.forget(slot)
            return
        if not (
            self._forget(self._settled, slot)
            or any(self._forget(tables, slot) for tables in self._pivoted.values())
        ):
            raise AssertionError("a slot that is not recent is settled")

    def release(self, attribute: Attribute) -> None:
        """Cease to look at an attribute that no clause asks for any more. Cost: that of tables that name it anew."""
        heapq.heappush(self._free, self._attributes.pop(attribute))
        del self._kinds[attribute]
        self._pivoted.pop(attribute, None)
        self._cease(self._settled, attribute)
        for tables in self._pivoted.values():
            self._cease(tables, attribute)
        if self._recent_table is not None and self._recent_table.asks(attribute):
            self._recent_table = None

    def probe(self, chunk: Chunk, wanted: NDArray[np.uint8], harvest: Harvest) -> Iterator[Lineage]:
        """Add the hits of clauses to the harvest; yield what open ones can still be satisfied by.

        Args:
            chunk: the tuples.
            wanted: by slot, a Keeping each.
            harvest: written.

        Yields:
            Lineages of open clauses that have a row left, each overwritten by the next.

        Cost: O(clauses) look-ups and O(CHUNK_WORDS) words for each factor; deriving tables first where clauses
            were built since the last probe.
        """
        tables = self.derived()
        self.count_probes(1)
        yield from self._probe.probe(tables, chunk, wanted, harvest)

    def derived(self) -> IndexTables:
        """Return the tables that chunks meet, deriving those of clauses that were built since: the same until then.

        Tables only forget: they may be kept as long as they know what was forgotten.
        """
        self._derive()
        recent = [] if self._recent_table is None else [self._recent_table]
        pivot_tables = [table for tables in self._pivoted.values() for table in tables]
        return IndexTables(self._attributes, [*self._settled, *recent], pivot_tables)

    def count_probes(self, chunks: int) -> None:
        """Count chunks that meet the tables."""
        self._probed += chunks

    @property
    def nbytes(self) -> int:
        """Return the size of the tables."""
        return sum(table.nbytes for table in self._tables())

    def statistics(self) -> GroupedFilterStatistics:
        """Return counters."""
        return GroupedFilterStatistics(
            slots=self._slots,
            tables=len(self._tables()),
            table_bytes=self.nbytes,
            derived=self._derived,
            probed=self._probed,
        )

    def check(self) -> None:
        """Assert that every slot is recent or settled, in one table, and attributes have numbers of their own."""
        numbers = [*self._attributes.values(), *self._free]
        assert sorted(numbers) == list(range(len(numbers))), "a number is free or an attribute's"
        assert self._attributes.keys() == self._kinds.keys(), "attributes have types"
        pivot_tables = itertools.chain.from_iterable(self._pivoted.values())
        parts = [
            *(table.slots for table in self._settled),
            *(table.slots for table in pivot_tables),
        ]
        settled = list(itertools.chain.from_iterable(parts))
        assert len(settled) == len(set(settled)), "a slot is settled once"
        assert not self._recent.keys() & set(settled), "a recent slot is not settled"
        assert self._slots == len(settled) + len(self._recent), "clauses are counted"

    def _forget(self, tables: list[Table], slot: Slot) -> bool:
        """Forget the clause of a slot in one of these tables; return whether it was in one."""
        for at, table in enumerate(tables):
            if table.forget(slot):
                if 2 * table.forgotten > len(table):  # mostly clauses that were evicted
                    self._put_together(tables, at, at + 1)
                return True
        return False

    def _cease(self, tables: list[Table], attribute: Attribute) -> None:
        """Make tables anew that name an attribute which no clause asks for."""
        for at, table in enumerate(tables):
            if table.asks(attribute):
                self._put_together(tables, at, at + 1)

    def _tables(self) -> list[ClauseTable | PivotTable]:
        """Return all tables, the recent one last."""
        pivoted_tables = [table for tables in self._pivoted.values() for table in tables]
        recent = [] if self._recent_table is None else [self._recent_table]
        return [*self._settled, *pivoted_tables, *recent]

    def _derive(self) -> None:
        """Make tables of what was built since the last probe."""
        if len(self._recent) > RECENT_SLOTS_MAX:
            self._settle_pivoted()
            if self._recent:
                self._settled.append(self._table_of(self._recent))
                self._derived += 1
                self._settle(self._settled)
            self._recent, self._recent_table = {}, None
        elif self._recent and self._recent_table is None:
            self._recent_table = self._table_of(self._recent)
            self._derived += 1

    def _settle_pivoted(self) -> None:
        """Settle the recent clauses that ask for one of very many values of an attribute, by that value.

        Those that ask for a value which many ask for are left.
        """
        asked = {slot: list(pivots_of(clause)) for slot, clause in self._recent.items()}
        often = Counter(map(_value_asked, itertools.chain.from_iterable(asked.values())))
        most = -(-len(self._recent) // PIVOT_SHARE)
        values = Counter(name for (name, _), count in often.items() if count <= most)
        sizes = {
            name: count
            for name, count in values.items()
            if name in self._pivoted or count >= PIVOT_VALUES_MIN
        }
        by_name: dict[Attribute, dict[Slot, Sequence[IndexedFactor]]] = {}
        for slot, factors in asked.items():
            rare = [_value_asked(f) for f in factors if often[_value_asked(f)] <= most]
            names = [name for name, _ in rare if name in sizes]
            if names:
                name = max(names, key=sizes.__getitem__)
                by_name.setdefault(name, {})[slot] = self._recent.pop(slot).factors
        for name, clauses in by_name.items():
            tables = self._pivoted.setdefault(name, [])
            tables.append(pivoted(name, clauses, self._attributes))
            self._derived += 1
            self._settle(tables)

    def _settle(self, tables: list[Table]) -> None:
        """Put the last tables together while one is not GROWTH times as large as those after it."""
        first = len(tables) - 1
        size = len(tables[first])
        while first and len(tables[first - 1]) < GROWTH * size:
            first -= 1
            size += len(tables[first])
        if first < len(tables) - 1:
            self._put_together(tables, first, len(tables))

    def _put_together(self, tables: list[Table], first: int, past: int) -> None:
        """Put one table in the place of these, without what they have forgotten."""
        some = tables[first:past]
        tables[first:past] = [type(some[0]).merged(some, self._attributes)]
        self._derived += 1

    def _table_of(self, recent: Mapping[Slot, _Recent]) -> ClauseTable:
        by_name: dict[Attribute, dict[Slot, ValueSet]] = {}
        for slot, clause in recent.items():
            for factor in clause.factors:
                by_name.setdefault(factor.attribute, {})[slot] = factor.values
        return ClauseTable(
            np.fromiter(recent, np.int32, len(recent)),
            np.fromiter((clause.is_open for clause in recent.values()), np.bool_, len(recent)),
            {name: Factors.of(self._kinds[name], some) for name, some in by_name.items()},
            self._attributes,
        )


def pivots_of(clause: _Recent) -> Iterator[IndexedFactor]:
    """Yield the factors by whose value the clause could be found, the others being compared then."""
    if not clause.is_open:
        yield from pivots_among(clause.factors)


def _value_asked(factor: IndexedFactor) -> tuple[Attribute, object]:
    """Return the attribute, and the one value of it, that a factor asks for which `asks_one`."""
    return factor.attribute, factor.values.intervals[0].low
