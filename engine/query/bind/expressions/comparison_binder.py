"""Comparisons of two bound sides: their types agree, or constants take the type of what they stand beside."""

from psoup.engine.errors import TypeMismatchError
from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.bind.expressions.coercion import alike, described, kind_of
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.values.expression import CompareOp, Constant, Expression
from psoup.engine.tuples.schema import ColumnType

NUMBERS = (ColumnType.INT64, ColumnType.FLOAT64)
Side = tuple[Expression, Span]
"""A bound expression, and where it stands."""


def compared(op: CompareOp, left_side: Side, right_side: Side, op_span: Span) -> Expression:
    """Return left op right in normal form. Raises Refused: `type-mismatch`."""
    (left, left_span), (right, right_span) = left_side, right_side
    if left.type is not right.type:
        if form.is_null(left) or form.is_null(right):
            return form.UNKNOWN
        left = alike(left, left_span, right.type)
        right = alike(right, right_span, left.type)
        if left.type is not right.type and not (left.type in NUMBERS and right.type in NUMBERS):
            where = op_span
            if isinstance(left, Constant) != isinstance(right, Constant):
                where = left_span if isinstance(left, Constant) else right_span
            raise Refused(
                TypeMismatchError,
                f"{kind_of(left)} does not compare with {kind_of(right)}.",
                where,
                _comparison_remedy(left, right),
                quoting=f"{described(left)} does not compare with {described(right)}.",
                hint=_comparison_hint(left, right),
            )
    return form.comparison(op, left, right)


def _comparison_hint(left: Expression, right: Expression) -> str | None:
    """Return what to write in place of a constant, where that quotes it; else None."""
    constant, other = (left, right) if isinstance(left, Constant) else (right, left)
    if isinstance(constant, Constant) and other.type is ColumnType.STRING:
        return f"write it as a text, in quotes: '{constant.value}'"
    return None


def _comparison_remedy(left: Expression, right: Expression) -> str:
    constant, other = (left, right) if isinstance(left, Constant) else (right, left)
    if isinstance(constant, Constant):
        if other.type is ColumnType.STRING:
            return "write it as a text, in quotes: 'text'"
        if other.type is ColumnType.BOOL:
            return "compare with TRUE or FALSE"
        if other.type in NUMBERS:
            return "write a number, without quotes"
        if constant.type in NUMBERS:
            return "write a time in quotes, TIMESTAMP '2014-01-05 12:00:00': without them 2014-01-05 is a subtraction"
        return "write a time: TIMESTAMP '2014-01-05 12:00:00'"
    return "compare values of one type; numbers compare with numbers"
