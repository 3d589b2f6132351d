"""The naive twin's evaluator: one expression, one row, plain Python values, three-valued logic.

Written from the docstrings of `engine/query/values/expression.py` alone. NULL is None. Nothing here is clever:
no columns, no indexes, no shortcuts a reader would have to believe.
"""

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from psoup.engine.limits import TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.factor import (
    AttributeFactor,
    BandFactor,
    BooleanFactor,
    EquiFactor,
    ResidualFactor,
)
from psoup.engine.query.values.expression import (
    AggregateCall,
    And,
    Arithmetic,
    ArithmeticOp,
    Call,
    ColumnRef,
    Compare,
    CompareOp,
    Constant,
    Expression,
    GroupKey,
    InList,
    IsNull,
    IsTrue,
    Like,
    Negate,
    Not,
    Or,
    Value,
    column_refs,
)
from psoup.engine.tuples.schema import ColumnType
from tests.reference_functions import called

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1

Row = Mapping[str, Value | None]
"""One tuple: column name to value."""


def holds(clause: StandingQueryClause, rows: Sequence[Row]) -> bool:
    """Return whether every factor of the clause is TRUE for one row of each stream in FROM."""
    return all(factor_holds(factor, rows) for factor in clause.factors)


def factor_holds(factor: BooleanFactor, rows: Sequence[Row]) -> bool:
    """Return whether the factor is TRUE (neither FALSE nor unknown) for these rows.

    Rows of streams behind the last one that the factor reads may be missing.
    """
    return judge_of(factor)(rows)


def judge_of(factor: BooleanFactor) -> Callable[[Sequence[Row]], bool]:
    """Return what says of rows whether the factor is TRUE for them, as `factor_holds` does."""
    if isinstance(factor, AttributeFactor):
        return functools.partial(_lies_inside, factor)
    conditions = _conditions(factor)
    return lambda rows: all(value_of(one, rows) is True for one in conditions)


def _lies_inside(factor: AttributeFactor, rows: Sequence[Row]) -> bool:
    value = rows[factor.column.source][factor.column.name]
    if value is None:
        return factor.values.null
    for interval in factor.values.intervals:
        above = below = True
        if interval.low is not None:
            order = _order(value, interval.low)
            above = order > 0 or (order == 0 and interval.low_closed)
        if interval.high is not None:
            order = _order(value, interval.high)
            below = order < 0 or (order == 0 and interval.high_closed)
        if above and below:
            return True
    return False


def _conditions(factor: ResidualFactor | EquiFactor | BandFactor) -> tuple[Expression, ...]:
    match factor:
        case ResidualFactor(expression=expression):
            return (expression,)
        case EquiFactor(left=left, right=right):
            return (Compare(CompareOp.EQ, left, right),)
        case BandFactor(conditions=conditions):
            return conditions


def sources_of(factor: BooleanFactor) -> set[int]:
    """Return the places in FROM of the streams that the factor reads."""
    if isinstance(factor, AttributeFactor):
        return {factor.column.source}
    return {ref.source for one in _conditions(factor) for ref in column_refs(one)}


def value_of(expression: Expression, rows: Sequence[Row]) -> Value | None:
    """Return the value of the expression for one row of each stream in FROM; None = NULL, unknown."""
    match expression:
        case Constant(value=value):
            return value
        case ColumnRef() | GroupKey() | AggregateCall():
            return _read(expression, rows)
        case Negate(operand=operand, type=kind):
            value = value_of(operand, rows)
            return None if value is None else _finite(-value, kind)  # type: ignore[operator]
        case Call(arguments=arguments):
            return called(expression, [value_of(one, rows) for one in arguments])
        case Arithmetic(op=op, left=left, right=right, type=kind):
            return _arithmetic(op, value_of(left, rows), value_of(right, rows), kind)
        case Compare(op=op, left=left, right=right):
            return _compare(op, value_of(left, rows), value_of(right, rows))
        case _:
            return _truth(expression, rows)


def _read(leaf: ColumnRef | GroupKey | AggregateCall, rows: Sequence[Any]) -> Value | None:
    """Return what a leaf reads. Of a group `rows` are the values of its keys, and of its aggregates."""
    if isinstance(leaf, ColumnRef):
        found: Value | None = rows[leaf.source][leaf.name]
    else:
        found = rows[0][leaf.place] if isinstance(leaf, GroupKey) else rows[1][leaf]
    return found


def _truth(expression: Expression, rows: Sequence[Row]) -> bool | None:
    match expression:
        case InList(operand=operand, options=options):
            value = value_of(operand, rows)
            return _any([_compare(CompareOp.EQ, value, option.value) for option in options])
        case Like(operand=operand, pattern=pattern, escape=escape):
            text = value_of(operand, rows)
            return None if text is None else _like(str(text), pattern, escape)
        case IsNull(operand=operand):
            return value_of(operand, rows) is None
        case IsTrue(operand=operand):
            return value_of(operand, rows) is True
        case Not(operand=operand):
            return _not(value_of(operand, rows))
        case And(operands=operands):
            return _not(_any([_not(value_of(operand, rows)) for operand in operands]))
        case Or(operands=operands):
            return _any([value_of(operand, rows) for operand in operands])
        case _:
            raise AssertionError(f"not a condition: {expression!r}")


def _not(truth: Value | None) -> bool | None:
    return None if truth is None else not truth


def _any(truths: Sequence[Value | None]) -> bool | None:
    if any(truth is True for truth in truths):
        return True
    return None if any(truth is None for truth in truths) else False


def _order(left: Value, right: Value) -> int:
    """Return -1, 0, 1. An int beside a float is taken as a double; text by code point."""
    if isinstance(left, float) != isinstance(right, float):
        left, right = float(left), float(right)
    return (left > right) - (left < right)  # type: ignore[operator]


def _compare(op: CompareOp, left: Value | None, right: Value | None) -> bool | None:
    if left is None or right is None:
        return None
    return _COMPARED[op](_order(left, right), 0)


_COMPARED: Mapping[CompareOp, Callable[[int, int], bool]] = {
    CompareOp.EQ: operator.eq,
    CompareOp.NE: operator.ne,
    CompareOp.LT: operator.lt,
    CompareOp.LE: operator.le,
    CompareOp.GT: operator.gt,
    CompareOp.GE: operator.ge,
}
"""What each asks of -1, 0, 1 and of 0."""


def _arithmetic(
    op: ArithmeticOp, left: Value | None, right: Value | None, kind: ColumnType
) -> Value | None:
    if left is None or right is None:
        return None
    assert not isinstance(left, str)
    assert not isinstance(right, str)
    if kind is ColumnType.FLOAT64:
        left, right = float(left), float(right)
    match op:
        case ArithmeticOp.ADD:
            return _finite(left + right, kind)
        case ArithmeticOp.SUBTRACT:
            return _finite(left - right, kind)
        case ArithmeticOp.MULTIPLY:
            return _finite(left * right, kind)
        case ArithmeticOp.DIVIDE:
            return None if right == 0 else _finite(left / right, kind)
        case ArithmeticOp.MODULO:
            if right == 0:
                return None
            if kind is ColumnType.FLOAT64:
                return math.fmod(left, right)
            rest = abs(left) % abs(right)
            return -rest if left < 0 else rest


def _finite(value: float, kind: ColumnType) -> int | float | None:
    """Return the value, or NULL where the type has no such finite value."""
    if kind is ColumnType.FLOAT64:
        return value if math.isfinite(value) else None
    if kind is ColumnType.TIMESTAMP:
        return value if TIMESTAMP_US_MIN <= value <= TIMESTAMP_US_MAX else None
    return value if INT64_MIN <= value <= INT64_MAX else None


def _like(text: str, pattern: str, escape: str | None) -> bool:
    """Return whether all of `text` fits: every set of positions the pattern can have reached."""
    reached = {0}
    literal = False
    for character in pattern:
        if not literal and character == escape:
            literal = True
        elif not literal and character == "%":
            reached = set(range(min(reached), len(text) + 1)) if reached else reached
        elif not literal and character == "_":
            reached = {at + 1 for at in reached if at < len(text)}
        else:
            reached = {at + 1 for at in reached if at < len(text) and text[at] == character}
            literal = False
    return len(text) in reached
