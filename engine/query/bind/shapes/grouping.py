"""Expressions over rows that hold keys and aggregates, as expressions over groups."""

from collections.abc import Callable, Sequence

from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.values.expression import (
    AggregateCall,
    ColumnRef,
    Constant,
    Expression,
    GroupKey,
    Not,
    children,
    with_children,
)
from psoup.engine.tuples.schema import ColumnType


def over_groups(
    expression: Expression,
    keys: Sequence[Expression],
    ungrouped: Callable[[ColumnRef], Exception],
) -> Expression:
    """Return an expression in which what is a key, or the negation of one, reads the key of a group.

    It prints as before, so that its canonical text binds to it again.

    Args:
        expression: over rows, in normal form, with aggregates as leaves.
        keys: the keys of GROUP BY, in normal form.
        ungrouped: what is raised for a column that is part of no key and inside no aggregate.
    """
    place = _place(expression, keys)
    if place is not None:
        return GroupKey(place, expression, expression.type)
    if expression.type is ColumnType.BOOL and not isinstance(expression, Constant | AggregateCall):
        place = _place(form.negation(expression), keys)
        if place is not None:
            return Not(GroupKey(place, keys[place], ColumnType.BOOL))
    if isinstance(expression, ColumnRef):
        raise ungrouped(expression)
    return with_children(expression, lambda part: over_groups(part, keys, ungrouped))


def is_made_of(expression: Expression, parts: Sequence[Expression]) -> bool:
    """Return whether the expression follows from the values of `parts`: equal parts, equal values."""
    if expression in parts or isinstance(expression, Constant):
        return True
    if isinstance(expression, ColumnRef | AggregateCall):
        return False
    return all(is_made_of(part, parts) for part in children(expression))


def aggregates_of(expression: Expression) -> tuple[AggregateCall, ...]:
    """Return the aggregates that the expression reads, left to right."""
    if isinstance(expression, AggregateCall):
        return (expression,)
    return tuple([call for part in children(expression) for call in aggregates_of(part)])


def _place(expression: Expression, keys: Sequence[Expression]) -> int | None:
    return keys.index(expression) if expression in keys else None
