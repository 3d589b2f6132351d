"""Arithmetic of bound sides: numbers with numbers, instants with an INTERVAL or with each other.

A parameter beside an instant gives what an INTERVAL holds: "10 minutes".
"""

from psoup.engine.errors import TypeMismatchError
from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.bind.expressions.coercion import alike, described, kind_of
from psoup.engine.query.bind.expressions.comparison_binder import NUMBERS, Side
from psoup.engine.query.text.durations import duration_us, is_duration
from psoup.engine.query.text.refusal import ParameterSpan, Refused
from psoup.engine.query.values.expression import (
    Arithmetic,
    ArithmeticOp,
    Constant,
    Expression,
    Negate,
)
from psoup.engine.tuples.schema import ColumnType

_INT64, _FLOAT64, _TIMESTAMP = ColumnType.INT64, ColumnType.FLOAT64, ColumnType.TIMESTAMP
_MOVES = (ArithmeticOp.ADD, ArithmeticOp.SUBTRACT)


def bound_negation(side: Side) -> Expression:
    """Return -x in normal form. Raises Refused: `type-mismatch`."""
    operand, span = side
    if form.is_null(operand):
        operand = Constant(None, _INT64)
    if operand.type not in NUMBERS:
        raise Refused(
            TypeMismatchError,
            f"Expected a number, found {kind_of(operand)}.",
            span,
            "- takes BIGINT and DOUBLE",
            quoting=f"Expected a number, found {described(operand)}.",
        )
    return form.fold(Negate(operand, operand.type))


def bound_arithmetic(op: ArithmeticOp, left_side: Side, right_side: Side) -> Expression:
    """Return left op right of numbers, or the microseconds between two instants; an instant moved as a parameter says.

    Raises Refused: `type-mismatch`, or as `duration_us` does.
    """
    moved = _moved_as_given(op, left_side, right_side)
    if moved is not None:
        return moved
    (left, left_span), (right, right_span) = left_side, right_side
    left, right = _typed(left, right)
    if _TIMESTAMP in (left.type, right.type) and op is ArithmeticOp.SUBTRACT:
        left, right = alike(left, left_span, _TIMESTAMP), alike(right, right_span, _TIMESTAMP)
        if left.type is right.type:
            return form.fold(Arithmetic(op, left, right, _INT64))
    for side, span in ((left, left_span), (right, right_span)):
        if side.type not in NUMBERS:
            remedy = "+ - * / % take BIGINT and DOUBLE"
            if side.type is _TIMESTAMP:
                remedy = "a TIMESTAMP moves by an INTERVAL: ts - INTERVAL '5' MINUTE"
            elif side.type is ColumnType.STRING and op is ArithmeticOp.ADD:
                remedy = "texts are joined by ||"
            raise Refused(
                TypeMismatchError,
                f"Expected a number, found {kind_of(side)}.",
                span,
                remedy,
                quoting=f"Expected a number, found {described(side)}.",
            )
    if left.type is not right.type:
        left = alike(left, left_span, _FLOAT64)
        right = alike(right, right_span, _FLOAT64)
    whole = left.type is right.type is _INT64 and op is not ArithmeticOp.DIVIDE
    return form.fold(Arithmetic(op, left, right, _INT64 if whole else _FLOAT64))


def bound_move(op: ArithmeticOp, moved: Side, us: int) -> Expression:
    """Return an instant plus or minus an INTERVAL of so many microseconds. Raises Refused: `type-mismatch`."""
    instant, span = moved
    if form.is_null(instant):
        instant = Constant(None, _TIMESTAMP)
    instant = alike(instant, span, _TIMESTAMP)
    if instant.type is not _TIMESTAMP:
        raise Refused(
            TypeMismatchError,
            f"Expected a TIMESTAMP beside an INTERVAL, found {kind_of(instant)}.",
            span,
            "only timestamps move by an INTERVAL",
            quoting=f"Expected a TIMESTAMP beside an INTERVAL, found {described(instant)}.",
        )
    if us < 0:
        op = ArithmeticOp.SUBTRACT if op is ArithmeticOp.ADD else ArithmeticOp.ADD
        us = -us
    return form.fold(Arithmetic(op, instant, Constant(us, _INT64), _TIMESTAMP))


def _typed(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Return both sides; a NULL takes on the type of the other one, and two NULLs are BIGINTs."""
    if form.is_null(left):
        left = Constant(None, _INT64 if form.is_null(right) else right.type)
    if form.is_null(right):
        right = Constant(None, left.type)
    return left, right


def _moved_as_given(op: ArithmeticOp, left: Side, right: Side) -> Expression | None:
    """Return an instant that moves by what a parameter gives; None where it does not, or is taken from another one.

    Raises:
        Refused: `type-mismatch`: the parameter gives neither a length of time nor an instant.
    """
    if op is ArithmeticOp.ADD and isinstance(left[1], ParameterSpan):
        left, right = right, left
    given, span = right
    if op not in _MOVES or left[0].type is not _TIMESTAMP or not isinstance(span, ParameterSpan):
        return None
    if not isinstance(given, Constant) or given.value is None:
        return None
    if isinstance(given.value, str):
        if is_duration(given.value):
            return bound_move(op, left, duration_us(given.value, span))
        if op is ArithmeticOp.SUBTRACT:
            return None
    raise Refused(
        TypeMismatchError,
        f"Expected a length of time beside a TIMESTAMP, found {kind_of(given)}.",
        span,
        "give a text: 10 minutes",
        quoting=f"Expected a length of time beside a TIMESTAMP, found {described(given)}.",
    )
