"""What is computed of groups: aggregates, HAVING, the select list over groups, DISTINCT, ORDER BY, OFFSET and LIMIT."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.grouping import AggregatedGroups, Grouping, RowsToAggregate
from psoup.engine.data.source import Tuples
from psoup.engine.invocation.distinct import groups_of
from psoup.engine.invocation.shaped.sorting import SortKey, sorted_places
from psoup.engine.query.shape import Shape
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.values.expression import (
    AggregateCall,
    AggregateFunction,
    ColumnRef,
    Expression,
    GroupKey,
)
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Instants = NDArray[np.int64]
Numbers = NDArray[np.int64]
"""Of groups, in order of the values of their keys."""

NEVER_US: Final = 2**62
"""Later than every instant."""


_ROW_LEAVES: Final = ColumnRef(0, "", ColumnType.TIMESTAMP)
"""Of each row: its time, from which the window of a stream tells when it leaves; of a join when it leaves."""
FIRST_TO_LEAVE: Final = AggregateCall(
    AggregateFunction.MIN, (_ROW_LEAVES,), distinct=False, filter=None, type=ColumnType.TIMESTAMP
)


def grouping_of(shape: Shape) -> Grouping:
    """Return what is computed of a shape with groups: its aggregates, and of each group the row that leaves first."""
    assert shape.keys is not None
    return Grouping(shape.keys, (*shape.aggregates, FIRST_TO_LEAVE))


def rows_to_aggregate(parts: Sequence[Tuples], leaves: Instants) -> RowsToAggregate:
    """Return n rows as a grouping reads them.

    Args:
        parts: their tuples, by source, with the columns that GROUP BY and aggregates read.
        leaves: (n,) what the first row to leave is told by.
    """
    times, ids = parts[0].times, parts[0].tuple_ids
    if len(parts) > 1:
        times = np.minimum.reduce([part.times for part in parts])
        ids = np.array([part.tuple_ids for part in parts])

    def column(ref: ColumnRef) -> Column:
        if ref is _ROW_LEAVES:
            return Column(ColumnType.TIMESTAMP, leaves)
        return parts[ref.source].columns[ref.name]

    ascending = len(parts) == 1 and parts[0].ascending
    return RowsToAggregate(column, len(times), times, ids, ascending)


@value_type
class ComputedGroups:
    """Groups with their aggregates, before ORDER BY.

    Attributes:
        keys: the values of each key, by group.
        aggregates: the values of each aggregate, by group.
        shown: (m,) ascending numbers of the groups that HAVING lets through.
        overflowed: the aggregates that are NULL somewhere because their value is none of their type.
    """

    keys: tuple[Column, ...]
    aggregates: Mapping[AggregateCall, Column]
    shown: Numbers
    overflowed: tuple[AggregateCall, ...]

    def computed(self, expression: Expression, numbers: Numbers) -> Column:
        """Return an expression over groups, computed for those of these numbers."""

        def read(leaf: GroupKey | AggregateCall) -> Column:
            every = self.keys[leaf.place] if isinstance(leaf, GroupKey) else self.aggregates[leaf]
            return (
                every
                if len(numbers) == len(every) and numbers is self.shown
                else every.take(numbers)
            )

        return evaluate(expression, read, len(numbers))


def computed_groups(shape: Shape, groups: AggregatedGroups) -> ComputedGroups:
    """Return groups with the aggregates of a shape, shown where HAVING lets them through.

    Each group has a row, but for the only one of a query without keys. Behind the results of the shape's aggregates
    that of FIRST_TO_LEAVE may stand.
    """
    results = dict(zip(shape.aggregates, groups.results, strict=False))
    found = ComputedGroups(
        groups.keys,
        {call: result.column for call, result in results.items()},
        np.arange(groups.count, dtype=np.int64),
        tuple([call for call, result in results.items() if result.overflowed]),
    )
    if shape.having is None:
        return found
    holds = found.computed(shape.having, found.shown)
    passes = holds.values if holds.valid is None else holds.values & holds.valid
    return replace(found, shown=found.shown[passes])


def first_to_leave(groups: AggregatedGroups) -> Instants:
    """Return of each group what its first row to leave is told by; NEVER_US where it has no row."""
    column = groups.results[-1].column
    return (
        column.values if column.valid is None else np.where(column.valid, column.values, NEVER_US)
    )


def in_answer_order(shape: Shape, found: ComputedGroups) -> Numbers:
    """Return the numbers of the groups that an answer has, in its order."""
    numbers = found.shown
    if not shape.order and not shape.distinct and shape.limit is None and not shape.offset:
        return numbers
    ties: list[SortKey] = []
    if shape.distinct:
        outputs = [found.computed(one.expression, numbers) for one in shape.outputs]
        _, first = groups_of(outputs, len(numbers))
        numbers = numbers[first]
        ties = [SortKey(column.take(first)) for column in outputs]
    order = [
        SortKey(found.computed(one.expression, numbers), one.descending, one.nulls_first)
        for one in shape.order
    ]
    if order:
        order += ties
    past = None if shape.limit is None else shape.offset + shape.limit
    return numbers[sorted_places(order, len(numbers), first=past)[shape.offset :]]


def columns_of(parts: Sequence[Tuples]) -> Callable[[ColumnRef], Column]:
    """Return from a column of FROM to its values in some rows."""
    return lambda ref: parts[ref.source].columns[ref.name]
