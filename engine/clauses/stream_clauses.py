"""The clauses that tuples of one stream, or rows of one source of a join, meet: by slot, in the form they are met in.

Grouped filters over the attributes that clauses name, functions of text columns among them, one residual factor for
every distinct expression that is not indexed, and the slots in use. Slots are reused; a slot that is given away has no
factor left anywhere, so a new clause never inherits a bit.
Source: Chandrasekaran & Franklin 2002, 2.3; Madden et al., SIGMOD 2002 (CACQ), 3.1-3.2.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from psoup.engine.clauses.grouped_filter import GroupedFilters
from psoup.engine.data.contract import ClauseIndex, Passed
from psoup.engine.kernels.bits import CHUNK_WORDS, Words, mask_of, positions
from psoup.engine.limits import DERIVED_ATTRIBUTES_MAX
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.factor import (
    AttributeFactor,
    BooleanFactor,
    DerivedFactor,
    IndexedFactor,
    ResidualFactor,
)
from psoup.engine.query.values.derived import DerivedAttribute
from psoup.engine.query.values.evaluate import truth
from psoup.engine.query.values.expression import Expression
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Keeping
from psoup.engine.tuples.block import Block
from psoup.engine.tuples.lineage import Slot

IndexMaker = Callable[[], ClauseIndex]

NOBODY = -1
"""The clause of a slot that is free."""


class ResidualStep:
    """One expression that cannot be indexed, and the slots of the clauses it is a conjunct of."""

    def __init__(self, expression: Expression) -> None:
        """Begin without slots."""
        self.expression = expression
        self.slots: set[Slot] = set()
        self._ordered: NDArray[np.int32] | None = None

    def change(self, slot: Slot, *, asks: bool) -> None:
        """Let a slot begin, or cease, to ask for this expression."""
        if asks:
            self.slots.add(slot)
        else:
            self.slots.remove(slot)
        self._ordered = None

    def narrow(self, block: Block) -> Passed:
        """Evaluate the expression for the rows that some of its clauses still ask for, once.

        Counts rows evaluated and rows for which it is TRUE.
        Cost: O(slots x CHUNK_WORDS), and one evaluation over those rows.
        """
        lineage = block.lineage
        if self._ordered is None:
            self._ordered = np.array(sorted(self.slots), dtype=np.int32)
        _, places, _ = np.intersect1d(
            lineage.slots, self._ordered, assume_unique=True, return_indices=True
        )
        places = places[lineage.alive[places]]
        if not len(places):
            return Passed(0, 0)
        rows = positions(lineage.live_rows(places))
        true = truth(self.expression, lambda ref: block.chunk.values(ref.name, rows), len(rows))
        satisfied: Words = mask_of(rows[true], CHUNK_WORDS)
        lineage.keep(places, satisfied)
        return Passed(len(rows), int(np.count_nonzero(true)))


class StreamClauses:
    """The clauses over one stream.

    Attributes:
        slots: what stands in each slot in use.
        index: what they ask of single attributes.
        residuals: one step per distinct expression.
        changes: how often a clause has come or gone.
    """

    def __init__(self, make_index: IndexMaker = GroupedFilters) -> None:
        """Begin without clauses."""
        self.slots: dict[Slot, tuple[ClauseId, StandingQueryClause]] = {}
        self.index = make_index()
        self.residuals: dict[Expression, ResidualStep] = {}
        self._derived: Counter[DerivedAttribute] = Counter()
        self._unindexed: dict[Slot, set[DerivedAttribute]] = {}
        self._free: list[Slot] = []
        self._clause_ids = np.full(1, NOBODY, dtype=np.int64)
        self._keeping = np.zeros(1, dtype=np.uint8)
        self._past = 0
        self.changes = 0

    def build(self, clause_id: ClauseId, clause: StandingQueryClause, keeping: Keeping) -> Slot:
        """Give a clause the lowest free slot, and its factors their places."""
        slot = heapq.heappop(self._free) if self._free else Slot(self._past)
        self._past = max(self._past, slot + 1)
        self.changes += 1
        self.slots[slot] = (clause_id, clause)
        self._make_room()
        self._clause_ids[slot], self._keeping[slot] = clause_id, keeping
        self._admit(slot, clause)
        indexed = [factor for factor in clause.factors if self._is_indexed(factor, slot)]
        self.index.build(slot, indexed, is_open=len(indexed) < len(clause.factors))
        for expression in self._residual(slot, clause):
            self.residuals.setdefault(expression, ResidualStep(expression)).change(slot, asks=True)
        return slot

    def evict(self, slot: Slot) -> None:
        """Forget the clause in this slot, and every residual factor that nobody needs any more."""
        _, clause = self.slots.pop(slot)
        self.changes += 1
        self.index.evict(slot)
        for expression in self._residual(slot, clause):
            residual = self.residuals[expression]
            residual.change(slot, asks=False)
            if not residual.slots:
                del self.residuals[expression]
        for attribute in self._derived_of(slot, clause):
            self._derived[attribute] -= 1
            if not self._derived[attribute]:
                del self._derived[attribute]
                self.index.release(attribute)
        self._unindexed.pop(slot, None)
        heapq.heappush(self._free, slot)
        self._clause_ids[slot] = NOBODY

    @property
    def width(self) -> int:
        """Return the number of slots, in use or free."""
        return self._past

    @property
    def clause_ids(self) -> NDArray[np.int64]:
        """Return the clause in each slot, NOBODY in those that are free."""
        return self._clause_ids

    @property
    def wanted(self) -> NDArray[np.uint8]:
        """Return how the hits of the clause in each slot are kept, a Keeping."""
        return self._keeping

    def check(self) -> None:
        """Assert that slots, index and residual factors agree, and free slots hold nothing."""
        assert set(range(self._past)) == set(self.slots) | set(self._free), "slots are dense"
        assert len(self.slots) + len(self._free) == self._past, "a slot is used or free"
        used = np.flatnonzero(self._clause_ids != NOBODY).tolist()
        assert sorted(self.slots) == used, "slots in use are known"
        assert all(self._clause_ids[slot] == held for slot, (held, _) in self.slots.items())
        assert len(self.index) == len(self.slots), "the index has every clause"
        assert self._unindexed.keys() <= self.slots.keys(), "slots in use are noted"
        residual: dict[Expression, set[Slot]] = {}
        derived: Counter[DerivedAttribute] = Counter()
        for slot, (_, clause) in self.slots.items():
            for expression in self._residual(slot, clause):
                residual.setdefault(expression, set()).add(slot)
            derived.update(self._derived_of(slot, clause))
        assert residual == {step.expression: step.slots for step in self.residuals.values()}
        assert derived == self._derived, "what asks for a derived attribute is counted"
        assert len(derived) <= DERIVED_ATTRIBUTES_MAX, "derived attributes are bounded"
        self.index.check()

    def _admit(self, slot: Slot, clause: StandingQueryClause) -> None:
        """Decide which derived attributes of a new clause the index takes: DERIVED_ATTRIBUTES_MAX of all clauses.

        Factors of others are residual as long as the clause stands.
        """
        for factor in clause.factors:
            if not isinstance(factor, DerivedFactor):
                continue
            if factor.attribute in self._derived or len(self._derived) < DERIVED_ATTRIBUTES_MAX:
                self._derived[factor.attribute] += 1
            else:
                self._unindexed.setdefault(slot, set()).add(factor.attribute)

    def _is_indexed(self, factor: BooleanFactor, slot: Slot) -> TypeGuard[IndexedFactor]:
        """Return whether the index has this factor of the clause in a slot."""
        if isinstance(factor, DerivedFactor):
            return factor.attribute not in self._unindexed.get(slot, ())
        return isinstance(factor, AttributeFactor)

    def _derived_of(self, slot: Slot, clause: StandingQueryClause) -> Iterator[DerivedAttribute]:
        """Yield the derived attributes by which the index finds a clause."""
        for factor in clause.factors:
            if self._is_indexed(factor, slot) and isinstance(factor, DerivedFactor):
                yield factor.attribute

    def _residual(self, slot: Slot, clause: StandingQueryClause) -> Iterator[Expression]:
        """Yield what of a clause the index does not take."""
        for factor in clause.factors:
            if isinstance(factor, ResidualFactor) and not self._is_indexed(factor, slot):
                yield factor.expression

    def _make_room(self) -> None:
        """Double the arrays by slot where the last slot lies past their end."""
        room = len(self._clause_ids)
        if self._past > room:
            self._clause_ids = np.append(self._clause_ids, np.full(room, NOBODY, dtype=np.int64))
            self._keeping = np.append(self._keeping, np.zeros(room, dtype=np.uint8))
