"""Quantiles and aggregates of DISTINCT values, which need each value: how often each value of a group occurs.

Their states grow with the values, unlike those of all other aggregates. So no partials are kept of them between
invocations; they are for rows that are computed apart and merged once.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.extremes import column_bytes
from psoup.engine.aggregates.groups import Members, grouped
from psoup.engine.aggregates.moments import moments_of
from psoup.engine.aggregates.quantiles import QUANTILES, quantiles_of_counted, share_of
from psoup.engine.aggregates.state import Aggregated
from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.joined_columns import stacked
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]

_BEFORE_ALL: Final = np.zeros(1, dtype=np.int64)


@value_type
class Occurrences:
    """The values of each of g groups, m of all groups together.

    Attributes:
        values: (m,) each value of a group once, ascending, one group after the other; none is NULL, a zero is 0.0.
        counts: (m,) how often each occurs in its group.
        edges: (g + 1,) where the values of each group begin, and the last ones end.
    """

    values: Column
    counts: Integers
    edges: Integers

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.edges) - 1

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays and of texts."""
        return column_bytes(self.values) + self.counts.nbytes + self.edges.nbytes

    @property
    def labels(self) -> Integers:
        """Return the group of each value."""
        return np.repeat(np.arange(len(self)), np.diff(self.edges))

    @classmethod
    def stacked(cls, states: Sequence["Occurrences"]) -> "Occurrences":
        """Return the groups of some states, one below the other."""
        lengths = np.concatenate([np.diff(one.edges) for one in states])
        return Occurrences(
            stacked([one.values for one in states]),
            np.concatenate([one.counts for one in states]),
            np.concatenate((_BEFORE_ALL, np.cumsum(lengths))),
        )

    def part(self, some: slice) -> "Occurrences":
        """Return the groups of a slice, as a view."""
        first, past, _ = some.indices(len(self))
        edges = self.edges[first : max(first, past) + 1]
        held = slice(int(edges[0]), int(edges[-1]))
        return Occurrences(self.values.part(held), self.counts[held], edges - edges[0])

    def take(self, places: Integers) -> "Occurrences":
        """Return the groups at these places."""
        lengths = np.diff(self.edges)[places]
        edges = np.concatenate((_BEFORE_ALL, np.cumsum(lengths)))
        held = np.repeat(self.edges[places] - edges[:-1], lengths) + np.arange(edges[-1])
        return Occurrences(self.values.take(held), self.counts[held], edges)

    @classmethod
    def merged(
        cls, states: Sequence["Occurrences"], labels: Sequence[Integers], count: int
    ) -> "Occurrences":
        """Return `count` groups, made of those with equal labels."""
        every = cls.stacked(states)
        return _counted(every.values, every.counts, np.concatenate(labels)[every.labels], count)

    def finished(self, call: AggregateCall) -> Aggregated:
        """Return the results; for DISTINCT each value of a group counts once."""
        if call.function in QUANTILES:
            return quantiles_of_counted(
                self.values, self.counts, self.edges, share_of(call), call.type
            )
        rows = Members(None, None, len(self), self.edges)
        return moments_of(call.function, numbers_of(self.values), rows).finished(call)


def occurrences_of(
    column: Column, members: Members, weights: Integers | None = None
) -> Occurrences:
    """Return how often each of the groups' values occurs.

    Args:
        column: (m,) the values of the members; none is NULL.
        members: the rows they belong to.
        weights: (m,) how often each row counts, once at least; None = once.

    Cost: that of `grouped` with two keys.
    """
    counts = np.ones(len(column), dtype=np.int64) if weights is None else weights
    return _counted(column, counts, members.labels, members.count)


def numbers_of(column: Column) -> NDArray[Any]:
    """Return the values that sums are made of; a boolean counts 0 or 1."""
    return column.values.astype(np.int64) if column.type is ColumnType.BOOL else column.values


def _counted(column: Column, counts: Integers, labels: Integers, count: int) -> Occurrences:
    """Return values that occur so often in the groups of these labels, each value of a group once."""
    values = Column(column.type, column.values, None, column.dictionary)
    pairs = grouped([Column(ColumnType.INT64, labels), values], len(labels))
    summed = np.zeros(pairs.count, dtype=np.int64)
    np.add.at(summed, pairs.labels, counts)
    edges = np.searchsorted(pairs.keys[0].values, np.arange(count + 1))
    return Occurrences(pairs.keys[1], summed, edges)
