"""Expressions computed column-wise: three-valued logic, arithmetic without a finite result is NULL.

Cost: one pass of NumPy over n values a node. Predicates on strings are decided once per distinct text
that occurs, never per row and never for texts of the dictionary that no row uses.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from psoup.engine.checkpoint import checkpoint
from psoup.engine.query.functions.distinct import per_text, ranked
from psoup.engine.query.functions.table import FUNCTIONS
from psoup.engine.query.functions.valid import all_valid, where_true
from psoup.engine.query.values.arithmetic import arithmetic, negate
from psoup.engine.query.values.expression import (
    AggregateCall,
    And,
    Arithmetic,
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
)
from psoup.engine.query.values.like import like_matcher, parse_like
from psoup.engine.tuples.batch import DTYPES, Column
from psoup.engine.tuples.schema import ColumnType

Columns = Callable[[Any], Column]
"""From what an expression reads to its values, all of one length.

It reads `ColumnRef`s over rows, `GroupKey`s and `AggregateCall`s over groups.
"""

_COMPARE: dict[CompareOp, Callable[[Any, Any], Any]] = {
    CompareOp.EQ: np.equal,
    CompareOp.NE: np.not_equal,
    CompareOp.LT: np.less,
    CompareOp.LE: np.less_equal,
    CompareOp.GT: np.greater,
    CompareOp.GE: np.greater_equal,
}


def evaluate(expression: Expression, columns: Columns, count: int) -> Column:
    """Return the expression's value for each of `count` rows.

    Args:
        expression: as the binder makes it: types agree.
        columns: called once per leaf that is no constant; each answer has `count` values. Not modified.
        count: number of rows; matters where the expression reads no column.

    Returns:
        `count` values of `expression.type`. Shares memory with a column where the expression is one.
    """
    checkpoint()
    match expression:
        case Constant():
            return _constant(expression, count)
        case ColumnRef() | GroupKey() | AggregateCall():
            return columns(expression)
        case Negate(operand=one):
            return negate(evaluate(one, columns, count))
        case Call():
            return _call(expression, columns, count)
        case Arithmetic(op=op, left=left, right=right, type=kind):
            return arithmetic(
                op, evaluate(left, columns, count), evaluate(right, columns, count), kind
            )
        case _:
            return _predicate(expression, columns, count)


def truth(expression: Expression, columns: Columns, count: int) -> NDArray[np.bool_]:
    """Return for which of `count` rows a BOOLEAN expression is TRUE: (count,) bool, the caller's own."""
    return where_true(evaluate(expression, columns, count)).copy()


def _call(call: Call, columns: Columns, count: int) -> Column:
    kernel = FUNCTIONS[call.function].kernel
    assert kernel is not None, "the binder writes the call in other words"
    return kernel([evaluate(one, columns, count) for one in call.arguments], call.type)


def _predicate(
    expression: Compare | InList | Like | IsNull | IsTrue | Not | And | Or,
    columns: Columns,
    count: int,
) -> Column:
    match expression:
        case Compare():
            return _compare(expression, columns, count)
        case InList(operand=operand, options=options):
            return _in_list(evaluate(operand, columns, count), options)
        case Like(operand=operand):
            return _like(expression, evaluate(operand, columns, count))
        case IsNull(operand=operand):
            valid = evaluate(operand, columns, count).valid
            return _known(np.zeros(count, np.bool_) if valid is None else ~valid)
        case IsTrue(operand=operand):
            return _known(where_true(evaluate(operand, columns, count)))
        case Not(operand=operand):
            column = evaluate(operand, columns, count)
            return Column(ColumnType.BOOL, ~column.values, column.valid)
        case And(operands=operands):
            return reduce(_and, (evaluate(one, columns, count) for one in operands))
        case Or(operands=operands):
            return reduce(_or, (evaluate(one, columns, count) for one in operands))
        case _:
            assert_never(expression)


def _constant(constant: Constant, count: int) -> Column:
    kind = constant.type
    valid = np.zeros(count, np.bool_) if constant.value is None else None
    if kind is ColumnType.STRING:
        text = "" if constant.value is None else str(constant.value)
        return Column(kind, np.zeros(count, np.int32), valid, (text,))
    value = 0 if constant.value is None else constant.value
    return Column(kind, np.full(count, value, DTYPES[kind]), valid)


def _known(values: NDArray[np.bool_]) -> Column:
    return Column(ColumnType.BOOL, values)


def _false(column: Column) -> NDArray[np.bool_]:
    values: NDArray[np.bool_] = ~column.values
    return values if column.valid is None else values & column.valid


def _and(left: Column, right: Column) -> Column:
    if left.valid is None and right.valid is None:
        return _known(left.values & right.values)
    true = where_true(left) & where_true(right)
    return Column(ColumnType.BOOL, true, true | _false(left) | _false(right))


def _or(left: Column, right: Column) -> Column:
    if left.valid is None and right.valid is None:
        return _known(left.values | right.values)
    true = where_true(left) | where_true(right)
    return Column(ColumnType.BOOL, true, true | (_false(left) & _false(right)))


def _compare(comparison: Compare, columns: Columns, count: int) -> Column:
    compare = _COMPARE[comparison.op]
    left = evaluate(comparison.left, columns, count)
    right = evaluate(comparison.right, columns, count)
    valid = all_valid((left, right))
    if left.type is ColumnType.STRING:
        (left_ranks, right_ranks), _ = ranked((left, right))
        return Column(ColumnType.BOOL, compare(left_ranks, right_ranks), valid)
    if left.type is not right.type:
        return Column(
            ColumnType.BOOL,
            compare(*(side.values.astype(np.float64) for side in (left, right))),
            valid,
        )
    return Column(ColumnType.BOOL, compare(left.values, right.values), valid)


def _in_list(column: Column, options: Sequence[Constant]) -> Column:
    wanted = [option.value for option in options if option.value is not None]
    if column.type is ColumnType.STRING:
        texts = frozenset(wanted)
        found = per_text(column, lambda given: np.array([text in texts for text in given]))
    else:
        found = np.isin(column.values, np.array(wanted, DTYPES[column.type]))
    valid = column.valid
    if len(wanted) < len(options):  # a miss beside NULL is unknown
        valid = found if valid is None else found & valid
    return Column(ColumnType.BOOL, found, valid)


def _like(like: Like, column: Column) -> Column:
    pattern = parse_like(like.pattern, like.escape)
    assert pattern is not None, "the binder refuses a pattern that ends with its escape"
    return Column(ColumnType.BOOL, per_text(column, like_matcher(pattern)), column.valid)
