"""Where an expression over one attribute is TRUE: from a predicate to a set of values.

Kept as a pair (where TRUE, where FALSE); what lies in neither is unknown. So NOT swaps, AND and OR work
on both sides, and three-valued logic needs nothing else.
"""

import math

from psoup.engine.query.values.call_truth import Truth, call_truth
from psoup.engine.query.values.expression import (
    And,
    Call,
    ColumnRef,
    Compare,
    CompareOp,
    Constant,
    Expression,
    InList,
    IsNull,
    IsTrue,
    Like,
    Not,
    Or,
)
from psoup.engine.query.values.like import parse_like, prefix_past
from psoup.engine.query.values.value_set import (
    EVERY_VALUE,
    EVERYTHING,
    NO_VALUE,
    NULL_ALONE,
    ValueSet,
    intersection,
    union,
    values_among,
    values_between,
    values_where,
)
from psoup.engine.tuples.schema import ColumnType

_INT64 = ColumnType.INT64
_TRUE = Constant(value=True, type=ColumnType.BOOL)
_EXACT_MAX = 2**52
"""Beyond it a DOUBLE beside an int64 stands for several integers: left to the evaluator."""


def true_set(expression: Expression) -> ValueSet | None:
    """Return the values of its one column for which the expression is TRUE.

    None where that is not a set of intervals or not worth finding: arithmetic on the column, most functions
    (`call_truth.py`), a LIKE that is not a prefix, a DOUBLE beyond 2**52 beside an int64. The expression reads exactly
    one column.
    """
    if isinstance(expression, Compare) and isinstance(expression.left, ColumnRef):
        return _compared(expression)  # most are: where they are FALSE is not asked
    found = _truth(expression)
    return None if found is None else found[0]


def _truth(expression: Expression) -> Truth | None:
    match expression:
        case Constant(value=value):
            return (
                EVERYTHING if value is True else NO_VALUE,
                EVERYTHING if value is False else NO_VALUE,
            )
        case IsTrue(operand=operand):
            return _known(_truth(operand))
        case Not(operand=operand):
            inner = _truth(operand)
            return None if inner is None else (inner[1], inner[0])
        case And(operands=operands) | Or(operands=operands):
            return _joined(operands, conjunction=isinstance(expression, And))
        case _:
            return _tested(expression)


def _tested(expression: Expression) -> Truth | None:
    """Return the truth of one test of the column itself."""
    match expression:
        case ColumnRef():
            return _decided(values_where(CompareOp.EQ, constant=True))
        case Compare(left=Call()) | InList(operand=Call()) | Call():
            return _called(expression)
        case Compare():
            where_true = _compared(expression)
            return None if where_true is None else _decided(where_true)
        case InList(operand=ColumnRef(), options=options):
            among = values_among(one.value for one in options if one.value is not None)
            with_null = any(one.value is None for one in options)
            return among, NO_VALUE if with_null else among.complement()
        case Like(operand=ColumnRef()):
            return _prefixed(expression)
        case IsNull(operand=ColumnRef()):
            return NULL_ALONE, EVERY_VALUE
        case _:
            return None


def _called(expression: Compare | InList | Call) -> Truth | None:
    """Return the truth of one test of a call."""
    match expression:
        case Compare(right=Constant()):
            return call_truth(expression, _compared)
        case InList():
            return _among(expression)
        case Call():  # a flag
            return call_truth(Compare(CompareOp.EQ, expression, _TRUE), _compared)
        case _:
            return None


def _among(test: InList) -> Truth | None:
    """Return the truth of a call among constants: TRUE where it equals one, FALSE where it equals none of them."""
    known = [one for one in test.options if one.value is not None]
    pairs = [
        call_truth(Compare(CompareOp.EQ, test.operand, one), _compared)
        for one in known
        if one.type is test.operand.type
    ]
    found = [pair for pair in pairs if pair is not None]
    if len(found) < len(known):
        return None
    with_null = len(known) < len(test.options)
    return union([true for true, _ in found]), (
        NO_VALUE if with_null else intersection([false for _, false in found])
    )


def _decided(where_true: ValueSet) -> Truth:
    """Return the truth of a predicate that is unknown for NULL alone."""
    return where_true, where_true.complement()


def _known(inner: Truth | None) -> Truth | None:
    if inner is None:
        return None
    where_true = inner[0]
    return where_true, ValueSet(where_true.complement().intervals, null=not where_true.null)


def _joined(operands: tuple[Expression, ...], *, conjunction: bool) -> Truth | None:
    pairs = [_truth(one) for one in operands]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < len(pairs):
        return None
    trues, falses = [pair[0] for pair in known], [pair[1] for pair in known]
    if conjunction:
        return intersection(trues), union(falses)
    return union(trues), intersection(falses)


def _compared(test: Compare) -> ValueSet | None:
    """Return where the comparison is TRUE; None where it is not one of the column with a constant."""
    op, column, constant = test.op, test.left, test.right
    if not isinstance(column, ColumnRef) or not isinstance(constant, Constant):
        return None
    value = constant.value
    assert value is not None, "a comparison with NULL is folded to NULL"
    if column.type is not _INT64 or constant.type is _INT64:
        return values_where(op, value)
    if abs(value) > _EXACT_MAX:  # type: ignore[arg-type]
        return None
    below = math.floor(value)  # type: ignore[arg-type]
    assert below != value, "the binder writes a whole number beside an int64 as int64"
    if op in (CompareOp.EQ, CompareOp.NE):
        return NO_VALUE if op is CompareOp.EQ else EVERY_VALUE
    less = op in (CompareOp.LT, CompareOp.LE)
    return values_where(CompareOp.LE if less else CompareOp.GT, below)


def _prefixed(like: Like) -> Truth | None:
    pattern = parse_like(like.pattern, like.escape)
    assert pattern is not None, "the binder refuses a pattern that ends with its escape"
    if pattern.prefix is None:
        return None
    if not pattern.prefix:
        return _decided(EVERY_VALUE)
    return _decided(values_between(pattern.prefix, prefix_past(pattern.prefix)))
