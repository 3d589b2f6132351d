"""Query SteM: all standing query clauses, by stream and dense slot, in the form in which tuples meet them.

Per stream: one grouped filter for every attribute some clause names, one residual factor for every distinct
expression that cannot be indexed, and the live mask: the slots in use. Slots are reused; a slot that is
given away has no factor left anywhere, so a new clause never inherits a bit. It knows neither handles nor
windows nor time: equal clauses are one clause here.
Source: Chandrasekaran & Franklin 2002, 2.3; Madden et al., SIGMOD 2002 (CACQ), 3.1-3.2.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.kernels import bits
from engine.kernels.bits import WORD_BITS, Words
from engine.query.clause import StandingQueryClause
from engine.query.evaluate import truth
from engine.query.expression import Expression
from engine.query.factor import AttributeFactor
from engine.results.hits import ClauseId
from engine.stems.contract import AttributeFilter, Narrowing, Passed
from engine.stems.grouped_filter import GroupedFilter
from engine.tuples.block import Block
from engine.tuples.lineage import Slot
from engine.tuples.schema import ColumnType, StreamId

FilterMaker = Callable[[ColumnType], AttributeFilter]


class FilterStep:
    """A grouped filter as something that narrows blocks."""

    indexed = True

    def __init__(self, attribute: str, attribute_filter: AttributeFilter) -> None:
        """Wrap the filter of the column named `attribute`."""
        self.attribute = attribute
        self.filter = attribute_filter

    def narrow(self, block: Block) -> Passed:
        """Probe the filter with the column and drop the rows nobody asks for any more."""
        seen = len(block)
        self.filter.probe(block.column(self.attribute), block.lineage)
        return Passed(seen, block.keep_alive())


class ResidualStep:
    """One expression that cannot be indexed, and the slots of the clauses it is a conjunct of."""

    indexed = False

    def __init__(self, expression: Expression) -> None:
        """Begin without slots."""
        self.expression = expression
        self.slots: set[Slot] = set()
        self._masks: list[tuple[int, np.uint64]] | None = None

    def change(self, slot: Slot, *, asks: bool) -> None:
        """Let a slot begin, or cease, to ask for this expression."""
        if asks:
            self.slots.add(slot)
        else:
            self.slots.remove(slot)
        self._masks = None

    def narrow(self, block: Block) -> Passed:
        """Evaluate the expression for the rows that some of its clauses still ask for, once.

        Cost: O(n) per word of slots, and one evaluation over the surviving rows.
        """
        words = block.lineage.words
        masks = self._word_masks()
        asked = np.zeros(len(words), dtype=np.bool_)
        for word, mask in masks:
            asked |= (words[:, word] & mask) != 0
        rows = np.flatnonzero(asked)
        if not len(rows):
            return Passed(0, 0)
        holds = truth(self.expression, lambda ref: block.column(ref.name).take(rows), len(rows))
        failed = rows[~holds]
        for word, mask in masks:
            words[failed, word] &= ~mask
        return Passed(len(rows), len(rows) - len(failed))

    def _word_masks(self) -> list[tuple[int, np.uint64]]:
        if self._masks is None:
            by_word: dict[int, int] = {}
            for slot in self.slots:
                word, bit = divmod(slot, WORD_BITS)
                by_word[word] = by_word.get(word, 0) | 1 << bit
            self._masks = [(word, np.uint64(mask)) for word, mask in sorted(by_word.items())]
        return self._masks


@dataclass(frozen=True, slots=True)
class QuerySteMStatistics:
    """Counters: standing clauses, grouped filters, distinct residual factors, slots ever needed."""

    clauses: int
    filters: int
    residuals: int
    slots: int


class StreamClauses:
    """The clauses over one stream: slots, live mask, filters, residual factors."""

    def __init__(self, make_filter: FilterMaker = GroupedFilter) -> None:
        """Begin without clauses."""
        self._make_filter = make_filter
        self.slots: dict[Slot, tuple[ClauseId, StandingQueryClause]] = {}
        self.filters: dict[str, FilterStep] = {}
        self.residuals: dict[Expression, ResidualStep] = {}
        self._free: list[Slot] = []
        self._past = 0
        self._live: Words | None = None

    @property
    def live(self) -> Words:
        """The slots in use, as one bit row."""
        if self._live is None:
            slots = np.fromiter(self.slots, dtype=np.int64, count=len(self.slots))
            self._live = bits.mask_of(slots, bits.words_of(self._past))
        return self._live

    def build(self, clause_id: ClauseId, clause: StandingQueryClause) -> Slot:
        """Give the clause the lowest free slot and keep its factors. Cost: O(factors log constants)."""
        slot = heapq.heappop(self._free) if self._free else Slot(self._past)
        self._past = max(self._past, slot + 1)
        self.slots[slot] = (clause_id, clause)
        self._live = None
        for factor in clause.factors:
            if isinstance(factor, AttributeFactor):
                column = factor.column
                step = self.filters.get(column.name)
                if step is None:
                    step = FilterStep(column.name, self._make_filter(column.type))
                    self.filters[column.name] = step
                step.filter.build(slot, factor.values)
            else:
                residual = self.residuals.setdefault(
                    factor.expression, ResidualStep(factor.expression)
                )
                residual.change(slot, asks=True)
        return slot

    def evict(self, slot: Slot) -> None:
        """Forget the clause in this slot, and every filter that nobody needs any more."""
        _, clause = self.slots.pop(slot)
        for factor in clause.factors:
            if isinstance(factor, AttributeFactor):
                step = self.filters[factor.column.name]
                step.filter.evict(slot)
                if not len(step.filter):
                    del self.filters[factor.column.name]
            else:
                residual = self.residuals[factor.expression]
                residual.change(slot, asks=False)
                if not residual.slots:
                    del self.residuals[factor.expression]
        heapq.heappush(self._free, slot)
        self._live = None

    def steps(self) -> Sequence[Narrowing]:
        """Return what a block of this stream has to be routed through, grouped filters first."""
        return [*self.filters.values(), *self.residuals.values()]

    def check(self) -> None:
        """Assert that slots, filters and residual factors agree, and free slots hold nothing."""
        assert set(range(self._past)) == set(self.slots) | set(self._free), "slots are dense"
        assert len(self.slots) + len(self._free) == self._past, "a slot is used or free"
        assert set(bits.positions(self.live).tolist()) == set(self.slots), "live = in use"
        asked: dict[str, int] = {}
        residual: dict[Expression, set[Slot]] = {}
        for slot, (_, clause) in self.slots.items():
            for factor in clause.factors:
                if isinstance(factor, AttributeFactor):
                    asked[factor.column.name] = asked.get(factor.column.name, 0) + 1
                else:
                    residual.setdefault(factor.expression, set()).add(slot)
        assert asked == {name: len(step.filter) for name, step in self.filters.items()}
        assert residual == {step.expression: step.slots for step in self.residuals.values()}
        for step in self.filters.values():
            step.filter.check()


class QuerySteM:
    """All standing query clauses."""

    def __init__(self, make_filter: FilterMaker = GroupedFilter) -> None:
        """Begin without clauses; `make_filter` makes the filter of an attribute."""
        self._make_filter = make_filter
        self._streams: dict[StreamId, StreamClauses] = {}
        self._slots: dict[ClauseId, tuple[StreamId, Slot]] = {}

    def build(self, clause_id: ClauseId, clause: StandingQueryClause) -> StreamClauses:
        """Keep a clause; return it alone, in the form in which stored tuples meet it."""
        assert clause_id not in self._slots, "a clause is built once"
        (source,) = clause.sources
        stream_id = source.stream_id
        clauses = self._streams.setdefault(stream_id, StreamClauses(self._make_filter))
        self._slots[clause_id] = (stream_id, clauses.build(clause_id, clause))
        alone = StreamClauses(self._make_filter)
        alone.build(clause_id, clause)
        return alone

    def probe(self, stream_id: StreamId) -> StreamClauses | None:
        """Return the clauses that tuples of this stream have to meet; None = there are none."""
        return self._streams.get(stream_id)

    def evict(self, clause_id: ClauseId) -> None:
        """Forget a clause that is kept."""
        stream_id, slot = self._slots.pop(clause_id)
        self._streams[stream_id].evict(slot)
        if not self._streams[stream_id].slots:
            del self._streams[stream_id]

    def statistics(self) -> QuerySteMStatistics:
        """Return counters."""
        streams = self._streams.values()
        return QuerySteMStatistics(
            clauses=len(self._slots),
            filters=sum(len(one.filters) for one in streams),
            residuals=sum(len(one.residuals) for one in streams),
            slots=sum(len(one.live) * WORD_BITS for one in streams),
        )

    def check(self) -> None:
        """Assert that every clause is in the slot it is thought to be in, and each stream's invariants."""
        for clause_id, (stream_id, slot) in self._slots.items():
            assert clause_id == self._streams[stream_id].slots[slot][0], "a slot holds its clause"
        assert len(self._slots) == sum(len(one.slots) for one in self._streams.values())
        for clauses in self._streams.values():
            assert clauses.slots, "a stream without clauses is not kept"
            clauses.check()
