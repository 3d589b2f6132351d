"""Partials: the states of the groups of some rows, to be merged with those of other rows in any order."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates import tallies
from psoup.engine.aggregates.extremes import column_bytes
from psoup.engine.aggregates.grouping import AggregatedGroups, Grouping, RowsToAggregate
from psoup.engine.aggregates.groups import Groups, divided, grouped
from psoup.engine.aggregates.state import State
from psoup.engine.aggregates.tallies import Layout, Tallies
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.joined_columns import stacked
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]


@value_type
class Partial:
    """Groups and their states. A group may be in it more than once, until it is merged.

    Attributes:
        count: g.
        keys: for each key of GROUP BY the g values of the groups.
        tallies: counts, sums and extremes of the g groups.
        states: for each other state of the grouping those of the g groups.
    """

    count: int
    keys: tuple[Column, ...]
    tallies: Tallies
    states: tuple[State, ...]

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays and of texts."""
        alone = sum(state.nbytes for state in self.states)
        return sum(map(column_bytes, self.keys)) + self.tallies.nbytes + alone

    def part(self, begin: int, past: int) -> "Partial":
        """Return the groups `[begin, past)`, as a view."""
        some = slice(begin, past)
        keys = tuple([key.part(some) for key in self.keys])
        states = tuple([state.part(some) for state in self.states])
        return Partial(past - begin, keys, self.tallies.part(some), states)

    def take(self, places: Integers) -> "Partial":
        """Return the groups at these places, in that order; one may be there more than once."""
        keys = tuple([key.take(places) for key in self.keys])
        states = tuple([state.take(places) for state in self.states])
        return Partial(len(places), keys, self.tallies.take(places), states)


@value_type
class PartialRun:
    """The partials of units `[first, past)` of a stream, which follow each other: of chunks, or of larger units.

    Attributes:
        first: the number of the first unit.
        edges: (past - first + 1,) where the groups of each unit begin in `partial`, and the last ones end.
        partial: the groups of one unit after the other.
    """

    first: int
    edges: Integers
    partial: Partial

    @property
    def past(self) -> int:
        """Return the number of the unit behind the last one."""
        return self.first + len(self.edges) - 1

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays and of texts."""
        return self.edges.nbytes + self.partial.nbytes

    def part(self, first: int, past: int) -> Partial:
        """Return the groups of some of the units, as a view."""
        edges = self.edges
        return self.partial.part(int(edges[first - self.first]), int(edges[past - self.first]))

    def since(self, first: int) -> "PartialRun":
        """Return the run without the units before `first`, which is one of them or the one behind."""
        edges = self.edges[first - self.first :]
        return PartialRun(first, edges - edges[0], self.part(first, self.past))

    def followed(self, *later: "PartialRun") -> "PartialRun":
        """Return one run of this one and of others, each of which begins where the one before ends. Cost: O(all)."""
        if not later:
            return self
        runs = (self, *later)
        assert all(one.past == other.first for one, other in pairwise(runs)), (
            "runs follow each other"
        )
        groups = np.cumsum([0, *(one.partial.count for one in runs[:-1])])
        edges = [one.edges[1:] + before for one, before in zip(runs, groups, strict=True)]
        partial = together([one.partial for one in runs])
        return PartialRun(self.first, np.concatenate((self.edges[:1], *edges)), partial)

    def coarser(self, units: int) -> "PartialRun":
        """Return the partials of as many units together, of those groups of units that lie in the run as a whole."""
        first, past = -(-self.first // units), self.past // units
        if past <= first:
            return PartialRun(first, np.zeros(1, dtype=np.int64), self.partial.part(0, 0))
        begin, end = first * units - self.first, past * units - self.first
        some = self.part(first * units, past * units)
        edges = self.edges[begin : end + 1 : units] - self.edges[begin]
        numbers, groups = divided(grouped(some.keys, some.count), edges)
        # Keys keep their dictionary, so that chunks and segments are merged without a look at texts.
        labels, count = groups.labels, groups.count
        rows = np.empty(count, dtype=np.int64)
        rows[labels] = np.arange(some.count)
        keys = tuple([key.take(rows) for key in some.keys])
        return _run(first, past, numbers, merged_states([some], [labels], keys, count))


def together(partials: Sequence[Partial]) -> Partial:
    """Return the groups of some partials, one at least, one below the other."""
    if len(partials) == 1:
        return partials[0]
    first = partials[0]
    return Partial(
        sum(one.count for one in partials),
        tuple([stacked([one.keys[k] for one in partials]) for k in range(len(first.keys))]),
        tallies.stacked([one.tallies for one in partials]),
        tuple(
            [
                state.stacked([one.states[k] for one in partials])
                for k, state in enumerate(first.states)
            ]
        ),
    )


def partial_of(
    grouping: Grouping,
    rows: RowsToAggregate,
    groups: Groups | None = None,
    like: Layout | None = None,
) -> Partial:
    """Return the partial of some rows; without keys one group, also of no rows.

    Args:
        grouping: what is computed.
        rows: of which.
        groups: the rows in groups, where these are known.
        like: the layout of partials with which this one is to be merged.
    """
    groups = groups or grouping.groups(rows)
    made = grouping.tallies_of(rows, groups, like)
    return Partial(groups.count, groups.keys, made, grouping.states_of(rows, groups))


def run_of(
    grouping: Grouping,
    rows: RowsToAggregate,
    edges: Integers,
    first: int,
    *,
    groups_max: int,
    groups: Groups | None = None,
    like: Layout | None = None,
) -> PartialRun | None:
    """Return the partials of some units, all in one pass over their rows; None where they have too many groups.

    Args:
        grouping: what is computed.
        rows: of these units, one after the other.
        edges: (u + 1,) where the rows of each unit begin, and the last ones end.
        first: the number of the first unit.
        groups_max: of all units together.
        groups: the rows in groups, where these are known.
        like: the layout of partials with which these are to be merged.

    Cost: that of `Grouping.aggregated`.
    """
    groups, units = groups or grouping.groups(rows), len(edges) - 1
    if units == 1:
        of_units = np.zeros(groups.count, dtype=np.int64)
    else:
        of_units, groups = divided(groups, edges)
    if groups.count > groups_max:
        return None
    return _run(first, first + units, of_units, partial_of(grouping, rows, groups, like))


def merged(partials: Sequence[Partial]) -> Partial:
    """Return each group once, in order of the keys, with its states of all the partials: at least one.

    The order of the partials makes no difference. Cost: O(groups of all), 5 ns for each group and state.
    """
    total = sum(one.count for one in partials)
    keys = [stacked(pair) for pair in zip(*(one.keys for one in partials), strict=True)]
    groups = grouped(keys, total)
    cuts = np.cumsum([one.count for one in partials[:-1]], dtype=np.int64)
    labels = np.split(groups.labels, cuts)
    return merged_states(partials, labels, groups.keys, groups.count)


def merged_states(
    partials: Sequence[Partial], labels: Sequence[Integers], keys: tuple[Column, ...], count: int
) -> Partial:
    """Return the groups of some partials as those that their labels say: `count`, each with one at least, and keys."""
    states = tuple(
        [
            state.merged([one.states[k] for one in partials], labels, count)
            for k, state in enumerate(partials[0].states)
        ]
    )
    tallied = tallies.merged([one.tallies for one in partials], labels, count)
    return Partial(count, keys, tallied, states)


def finished(grouping: Grouping, partial: Partial) -> AggregatedGroups:
    """Return the results of a partial that has each group once."""
    results = grouping.results(partial.tallies, partial.states)
    return AggregatedGroups(partial.count, partial.keys, results)


def _run(first: int, past: int, numbers: Integers, partial: Partial) -> PartialRun:
    """Return the partials of units; `numbers` says to which of them, from 0 on, each group belongs, ascending."""
    if past - first == 1:
        return PartialRun(first, np.array([0, partial.count]), partial)
    return PartialRun(first, np.searchsorted(numbers, np.arange(past - first + 1)), partial)
