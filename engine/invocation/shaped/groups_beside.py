"""The groups of rows that are not visible, beside those that are: of what has left, and of what is to come."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.grouping import AggregatedGroups, Grouping
from psoup.engine.aggregates.groups import grouped
from psoup.engine.data.source import Tuples
from psoup.engine.invocation.shaped.grouping import Numbers, columns_of
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.joined_columns import stacked
from psoup.engine.tuples.value_type import value_type

NOT_VISIBLE = -1
"""The number of a group that has no visible row."""


@value_type
class GroupsBeside:
    """The groups of m rows, and those of the visible ones.

    Attributes:
        keys: for each key its values, of all these groups.
        labels: (m,) the group of each row among them.
        numbers: for each of them its number among those of the visible rows, or NOT_VISIBLE.
    """

    keys: tuple[Column, ...]
    labels: Numbers
    numbers: Numbers

    def numbers_of(self, some: slice) -> Numbers:
        """Return for some of the rows the number of their group among those of the visible rows, or NOT_VISIBLE."""
        found: Numbers = self.numbers[self.labels[some]]
        return found

    def keys_without(self, some: slice, shown: NDArray[np.int64]) -> tuple[int, list[Column]]:
        """Return the groups that some of the rows belong to, without those with the numbers `shown`: their keys.

        First comes how many they are.
        """
        groups = np.unique(self.labels[some])
        groups = groups[~np.isin(self.numbers[groups], shown)]
        return len(groups), [key.take(groups) for key in self.keys]


def groups_beside(
    grouping: Grouping, visible: AggregatedGroups, parts: Sequence[Tuples]
) -> GroupsBeside:
    """Return the groups of rows beside those of the visible ones.

    Args:
        grouping: of the query.
        visible: the groups of its visible rows.
        parts: the tuples of the other rows, by source, with the columns that GROUP BY reads.

    Cost: that of grouping these rows and as many as there are visible groups.
    """
    count, read = len(parts[0].times), columns_of(parts)
    keys = [
        stacked([own, evaluate(key, read, count)])
        for key, own in zip(grouping.keys, visible.keys, strict=True)
    ]
    every = grouped(keys, visible.count + count)
    labels = every.labels
    numbers = np.full(every.count, NOT_VISIBLE, dtype=np.int64)
    numbers[labels[: visible.count]] = np.arange(visible.count)
    return GroupsBeside(every.keys, labels[visible.count :], numbers)
