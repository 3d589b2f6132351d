"""The join itself: rows of one source, the partners they find in the others, composites with their lineage.

Three passes over the sources, in the order of a route.

1. Outwards: the entering rows look up candidates in the key index of the next source, each distinct key once; the
   candidates meet the clauses and look up theirs in the source after it.
2. Back (from three sources on): a row stays only if the source behind it has a partner for it. What JIT learns from
   the feedback of operators is known here before anything is built: no partial result is made that finds no end.
3. Outwards again: composites grow source by source, the lineage of each the AND of its parts', and those
   without a bit are left out. The span of a row's key in the index is its number of partners, so the cost of a step is
   known, and counted, before it is taken. Where equalities tie the next source to two that are known, the span is
   narrowed by the second one first: what closes a circle is looked up, and not asked of every pair.

Source: Chandrasekaran & Franklin 2002, 2.2 and 3.2 (hybrid structs, composite tuples); Yang & Papadias 2008 (JIT).
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.join_keys import key_of
from psoup.engine.data.source import PartneredRows, PartnerSpans
from psoup.engine.joins.counts import JoinCounts
from psoup.engine.joins.link import Link, lookup_of
from psoup.engine.joins.side import NO_ROWS, Rows, Side, Taken, alive_places
from psoup.engine.joins.slices import sliced
from psoup.engine.kernels.bits import Words
from psoup.engine.kernels.join import Places, count_slots, paired, paired_alive, paired_rows
from psoup.engine.query.join_shape import JoinShape, Step
from psoup.engine.query.values.evaluate import truth
from psoup.engine.query.values.expression import ColumnRef, Expression, sources_of
from psoup.engine.tuples.batch import Column

SLICE_PAIRS: Final = 1_000_000
"""Pairs made at once, of 64 clauses; of more as many fewer: what a step takes in memory is bounded by it."""
PLAIN_PAIRS: Final = 16_000_000
"""The same for composites that are the answer already: no condition is left that would take memory."""


@dataclass(slots=True)
class Condition:
    """A condition over several sources, and what it did so far.

    Attributes:
        expression: has to be TRUE.
        sources: what it reads.
        asks: (w,) the bits of the clauses that ask for it; None = all do.
        seen, left: composites it was evaluated for, and those it was TRUE of.
    """

    expression: Expression
    sources: frozenset[int]
    asks: Words | None = None
    seen: int = 0
    left: int = 0

    @property
    def selectivity(self) -> float:
        """Return the share that comes through; 1 before anything was seen."""
        return self.left / self.seen if self.seen else 1.0


class OverrunError(Exception):
    """A join needs more steps than it may take.

    `words` (k, w) are the lineages of the rows that wanted `steps` (k,) more each; both None for one clause alone, or
    where the rows are not told apart. `before` (64 w,) are the steps that the rows of each slot have had by then, None
    for none.
    """

    def __init__(
        self, words: Words | None, steps: Places | None, before: Places | None = None
    ) -> None:
        super().__init__("a join takes too many steps")
        self.words = words
        self.steps = steps
        self.before = before


@dataclass(frozen=True, slots=True)
class Composites:
    """Composites made: (n, p) rows by source, (p, w) lineage or None where one clause asks."""

    rows: Rows
    words: Words | None


class _Partial:
    """Composites of some sources: for each the places of their parts among the rows taken of it."""

    __slots__ = ("places", "words")

    def __init__(self, places: Mapping[int, Places], words: Words | None) -> None:
        self.places = places
        self.words = words

    def __len__(self) -> int:
        return len(next(iter(self.places.values())))

    def take(self, some: Places | slice) -> "_Partial":
        words = None if self.words is None else self.words[some]
        return _Partial({source: own[some] for source, own in self.places.items()}, words)


class Join:
    """One entrant's join. Used once, by one thread."""

    def __init__(
        self,
        shape: JoinShape,
        sides: Sequence[Side],
        conditions: Sequence[Condition],
        counts: JoinCounts,
        *,
        steps_max: int,
    ) -> None:
        """Join these sides.

        Args:
            shape: what ties them.
            sides: by source.
            conditions: what clauses ask besides of composites.
            counts: added to.
            steps_max: when more are needed, `run` raises OverrunError before it takes them.
        """
        self._shape = shape
        self._sides = sides
        self._conditions = conditions
        self._counts = counts
        self._steps_max = steps_max
        self._steps = 0
        self._had: Places | None = None
        self._taken: dict[int, Taken] = {}
        self._links: dict[Step, Link] = {}

    def run(self, route: Sequence[Step], *, fresh: int) -> Iterator[Composites]:
        """Yield the composites, in pieces.

        Args:
            route: steps to all other sources, each from one that is known by then.
            fresh: the source whose rows enter.

        Raises:
            OverrunError: it takes more than `steps_max` steps.
            PageExpiredError: rows are not held any more.
        """
        if self._prepare(route, fresh):
            yield from self._composites(route, fresh)

    def count(self, route: Sequence[Step], *, fresh: int) -> int:
        """Return how many composites one clause has. Where spans tell, none is made. Raises as `run` does."""
        (step, *others) = route
        if not self._prepare(route, fresh):
            return 0
        link = self._links[step]
        if not others and not self._checks(step, {fresh}):
            return int((link.high - link.low).sum())
        return sum(found.rows.shape[1] for found in self._composites(route, fresh))

    def partnered(self, route: Sequence[Step], *, fresh: int) -> PartneredRows | None:
        """Return the rows that enter with their partners; None where a band has to be asked of each pair.

        Args:
            route: steps from `fresh` to all other sources, which no other factor ties.
            fresh: the source whose rows enter.

        Raises as `run` does. Cost: that of `run` without what it makes.
        """
        if not self._prepare(route, fresh):
            nothing = PartnerSpans(NO_ROWS, NO_ROWS, NO_ROWS)
            some = [None if one == fresh else nothing for one in range(self._shape.count)]
            return PartneredRows(fresh, NO_ROWS, tuple(some))
        if any(link.doubts for link in self._links.values()):
            return None
        held = np.ones(len(self._taken[fresh]), dtype=np.bool_)
        for link in self._links.values():
            held &= link.low < link.high
        places = np.flatnonzero(held)
        partners: list[PartnerSpans | None] = [None] * self._shape.count
        for (_, to), link in self._links.items():
            partners[to] = PartnerSpans(self._taken[to].rows, link.low[places], link.high[places])
        return PartneredRows(fresh, self._taken[fresh].rows[places], tuple(partners))

    # --- which rows may take part -----------------------------------------------------------------

    def _prepare(self, route: Sequence[Step], fresh: int) -> bool:
        """Take the rows of every source that can have partners; return whether there are any of each."""
        self._taken[fresh] = self._sides[fresh].all()
        self._counts.fresh_rows += len(self._taken[fresh])
        for step in route:
            if not len(self._taken[step[0]]):
                return False
            self._taken[step[1]] = self._partners(step)
        if not all(map(len, self._taken.values())):
            return False
        for at in reversed(range(len(route))):
            # What lies behind the step has been semi-joined: the rows of its second source are those that stay.
            step = route[at]
            link = self._link(step, {fresh, *(to for _, to in route[:at])})
            self._keep(step[1], link.to_places)
            self._links[step] = link
            if at:
                self._semi_join(step)
            if not len(self._taken[step[0]]):
                return False
        return True

    def _partners(self, step: Step) -> Taken:
        """Return the rows of the next source that may match some row taken of the one before."""
        tie, of = self._shape.tie(step), self._taken[step[0]]
        key = key_of(tie, tie.to)
        lookup = functools.partial(lookup_of, tie, of)
        found = self._sides[step[1]].candidates(key, len(of), lookup)
        self._counts.candidates += len(found)
        self._add_steps(len(found), None, None)
        return found

    def _link(self, step: Step, known: set[int]) -> Link:
        """Return the partners of the rows that a step goes from; `known` are the sources by then."""
        second = self._shape.closing(step, known)
        closing = None
        if second is not None:
            closing = self._shape.tie(second), self._taken[second[0]]
        return Link(self._shape.tie(step), self._taken[step[0]], self._taken[step[1]], closing)

    def _semi_join(self, step: Step) -> None:
        """Leave out the rows that have no partner behind them."""
        of, link = self._taken[step[0]], self._links[step]
        places = np.flatnonzero(link.low < link.high)
        if len(places) < len(of):
            self._counts.semijoined += len(of) - len(places)
            self._keep(step[0], places)

    def _keep(self, source: int, places: Places) -> None:
        """Take no other rows of a source than those at these places, in this order."""
        self._taken[source] = self._taken[source].take(places)
        for link in self._links.values():
            link.keep(source, places)

    def _composites(self, route: Sequence[Step], fresh: int) -> Iterator[Composites]:
        """Yield the composites of the rows that can take part."""
        start = self._taken[fresh]
        if len(route) == 1 and start.words is None and not self._checks(route[0], {fresh}):
            yield from self._pairs(route[0])
            return
        yield from self._grown(
            _Partial({fresh: np.arange(len(start))}, start.words), route, 0, {fresh}
        )

    def _pairs(self, step: Step) -> Iterator[Composites]:
        """Yield pairs as rows of the answer, where no condition and no source is left."""
        link = self._links[step]
        of, to = self._taken[step[0]].rows, self._taken[step[1]].rows
        lengths = link.high - link.low
        self._add_steps(int(lengths.sum()), None, None)
        for some, low, high in sliced(link.low, link.high, lengths, PLAIN_PAIRS):
            rows = np.empty((2, int((high - low).sum())), dtype=np.int64)
            paired_rows(low, high, of[some], to, rows[step[0]], rows[step[1]])
            self._counts.results += rows.shape[1]
            yield Composites(rows, None)

    # --- composites -------------------------------------------------------------------------------

    def _grown(
        self, partial: _Partial, route: Sequence[Step], at: int, known: set[int]
    ) -> Iterator[Composites]:
        """Yield the composites of all sources that these of some become."""
        if at == len(route):
            self._counts.results += len(partial)
            if len(partial):
                yield self._finished(partial)
            return
        if at:
            self._counts.intermediates += len(partial)
        step = route[at]
        link = self._links[step]
        low, high = link.partners(partial.places)
        lengths = high - low
        total = int(lengths.sum())
        counted = self._counts.step(step)
        counted.lookups += len(partial)
        counted.partners += total
        self._add_steps(total, partial.words, lengths)
        checks = self._checks(step, known)
        behind = {*known, step[1]}
        width = 1 if partial.words is None else partial.words.shape[1]
        for some, begin, past in sliced(low, high, lengths, max(1, SLICE_PAIRS // width)):
            made = self._paired(partial.take(some), step[1], begin, past)
            if len(made) and checks:
                made = self._checked(made, checks)
            yield from self._grown(made, route, at + 1, behind)

    def _paired(self, partial: _Partial, to: int, low: Places, high: Places) -> _Partial:
        """Return the composites with one part more."""
        total, to_words = int((high - low).sum()), self._taken[to].words
        left, right = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
        words: Words | None = None
        if partial.words is None or to_words is None:
            paired(low, high, left, right)
        else:
            words = np.empty((total, partial.words.shape[1]), dtype=np.uint64)
            count = paired_alive(low, high, partial.words, to_words, left, right, words)
            left, right, words = left[:count], right[:count], words[:count]
        places = {source: own[left] for source, own in partial.places.items()}
        return _Partial({**places, to: right}, words)

    def _checks(self, step: Step, known: set[int]) -> list[Condition]:
        """Return the conditions that composites can meet from this step on and not before, the most selective first."""
        link = self._links[step]
        closed = None if link.closing is None else link.closing.source
        own = [
            Condition(expression, sources_of(expression))
            for expression in (*link.doubts, *self._shape.checks(step, known, closed))
        ]
        ready = [
            one
            for one in self._conditions
            if step[1] in one.sources and one.sources <= {*known, step[1]}
        ]
        return [*own, *sorted(ready, key=lambda one: one.selectivity)]

    def _checked(self, partial: _Partial, checks: Sequence[Condition]) -> _Partial:
        """Return the composites that some clause can still be satisfied by, these conditions settled."""
        for check in checks:
            words, asks = partial.words, check.asks
            if words is None or asks is None:
                partial = partial.take(np.flatnonzero(self._true(partial, check, words)))
                continue
            # Few of a group's clauses ask for one condition: the words of the others are not looked at.
            own = np.flatnonzero(asks)
            lineage = words[:, own] & asks[own]
            places = alive_places(lineage)
            true = self._true(partial.take(places), check, lineage[places])
            failed = places[~true]
            for word in own.tolist():
                words[failed, word] &= ~asks[word]
        if partial.words is None or not any(check.asks is not None for check in checks):
            return partial
        return partial.take(alive_places(partial.words))

    def _true(self, asked: _Partial, check: Condition, words: Words | None) -> NDArray[np.bool_]:
        """Return for which composites a condition is TRUE; `words` are the bits of those that ask."""
        count = len(asked)
        self._add_steps(count, words, np.ones(count, dtype=np.int64))

        def column(ref: ColumnRef) -> Column:
            return self._taken[ref.source].column(ref).take(asked.places[ref.source])

        true = truth(check.expression, column, count)
        check.seen += count
        check.left += int(np.count_nonzero(true))
        return true

    def _finished(self, partial: _Partial) -> Composites:
        rows = np.empty((self._shape.count, len(partial)), dtype=np.int64)
        for source, places in partial.places.items():
            np.take(self._taken[source].rows, places, out=rows[source], mode="clip")
        return Composites(rows, partial.words)

    def _add_steps(self, steps: int, words: Words | None, pairs: Places | None) -> None:
        checkpoint()
        if self._steps + steps > self._steps_max:
            raise OverrunError(words, pairs, self._had)
        self._steps += steps
        self._counts.steps += steps
        several = self._shape.count > 2 or self._conditions
        if several and words is not None and pairs is not None:
            # Slice after slice asks for more: the one that is too many need not be that of who had the most.
            if self._had is None:
                self._had = np.zeros(words.shape[1] * 64, dtype=np.int64)
            count_slots(words, pairs, self._had)
