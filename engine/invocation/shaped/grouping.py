"""Rows to groups: keys, aggregates, HAVING, the select list over groups, DISTINCT, ORDER BY, OFFSET and LIMIT."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.aggregated import aggregated
from psoup.engine.aggregates.groups import Groups, Members, grouped
from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import Tuples
from psoup.engine.invocation.distinct import groups_of
from psoup.engine.invocation.shaped.sorting import SortKey, sorted_places
from psoup.engine.query.shape import Shape
from psoup.engine.query.values.evaluate import evaluate, truth
from psoup.engine.query.values.expression import AggregateCall, ColumnRef, Expression, GroupKey
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.value_type import value_type

Rows = NDArray[np.int64]
Numbers = NDArray[np.int64]
"""Of groups, in order of the values of their keys."""

NEVER_US: Final = 2**62
"""Later than every instant."""


def grouped_rows(shape: Shape, parts: Sequence[Tuples]) -> Groups:
    """Return the groups of n rows, numbered in order of the values of their keys, NULLs last.

    Args:
        shape: of a query with groups.
        parts: the rows' tuples, by source, with the columns that GROUP BY reads.
    """
    assert shape.keys is not None
    count, read = len(parts[0].times), columns_of(parts)
    return grouped([evaluate(key, read, count) for key in shape.keys], count)


@value_type
class ComputedGroups:
    """Groups with their aggregates, before ORDER BY.

    Attributes:
        keys: the values of each key, by group.
        aggregates: the values of each aggregate, by group.
        shown: (m,) ascending numbers of the groups that have a row and that HAVING lets through.
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
            return every.take(numbers)

        return evaluate(expression, read, len(numbers))


def computed_groups(shape: Shape, groups: Groups, parts: Sequence[Tuples]) -> ComputedGroups:
    """Return the groups of rows with their aggregates.

    Args:
        shape: of the query.
        groups: of the rows, which are the first of those that were grouped.
        parts: the rows' tuples, by source, with the columns that aggregates read.
    """
    count = len(parts[0].times)
    if count < len(groups.labels):
        groups = Groups(groups.keys, Members(None, groups.labels[:count], groups.count))
    values, overflowed = _aggregated(shape.aggregates, parts, groups)
    shown = np.arange(groups.count, dtype=np.int64)
    if groups.keys:  # else there is one group, also of no rows
        shown = np.flatnonzero(np.bincount(groups.labels, minlength=groups.count))
    found = ComputedGroups(groups.keys, values, shown, overflowed)
    if shape.having is None:
        return found
    holds = found.computed(shape.having, shown)
    passes = holds.values if holds.valid is None else holds.values & holds.valid
    return replace(found, shown=shown[passes])


def _aggregated(
    calls: Sequence[AggregateCall], parts: Sequence[Tuples], groups: Groups
) -> tuple[Mapping[AggregateCall, Column], tuple[AggregateCall, ...]]:
    """Return the values of aggregates by group, and those that are NULL somewhere because they overflow."""
    count, read = len(groups.labels), columns_of(parts)
    times, ids = parts[0].times, parts[0].tuple_ids
    if len(parts) > 1:
        times = np.minimum.reduce([part.times for part in parts])
        ids = np.array([part.tuple_ids for part in parts])
    values: dict[AggregateCall, Column] = {}
    overflowed: list[AggregateCall] = []
    for call in calls:
        checkpoint()
        found = aggregated(
            call,
            [evaluate(argument, read, count) for argument in call.arguments],
            None if call.filter is None else truth(call.filter, read, count),
            groups=groups,
            times=times,
            tuple_ids=ids,
        )
        values[call] = found.column
        if found.overflowed:
            overflowed.append(call)
    return values, tuple(overflowed)


def in_answer_order(shape: Shape, found: ComputedGroups) -> Numbers:
    """Return the numbers of the groups that an answer has, in its order."""
    numbers = found.shown
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


def first_changes(groups: Groups, leaves_us: Rows | None, enters_us: Rows, shown: int) -> Rows:
    """Return for each group the first instant at which the clock alone changes it; NEVER_US = it never does.

    Args:
        groups: of the rows that are visible, then of those that the clock will bring, then maybe of others.
        leaves_us: when the former leave; None = they never do.
        enters_us: when those that come enter.
        shown: how many are visible.
    """
    until_us = np.full(groups.count, NEVER_US, dtype=np.int64)
    if leaves_us is not None:
        np.minimum.at(until_us, groups.labels[:shown], leaves_us)
    np.minimum.at(until_us, groups.labels[shown : shown + len(enters_us)], enters_us)
    return until_us


def columns_of(parts: Sequence[Tuples]) -> Callable[[ColumnRef], Column]:
    """Return from a column of FROM to its values in some rows."""
    return lambda ref: parts[ref.source].columns[ref.name]
