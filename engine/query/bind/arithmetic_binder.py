"""Arithmetic of bound sides: numbers with numbers, instants with an INTERVAL or with each other."""

from psoup.engine.errors import TypeMismatchError
from psoup.engine.query.bind import normal_form as form
from psoup.engine.query.bind.coercion import alike, described, kind_of
from psoup.engine.query.bind.comparison_binder import NUMBERS, Side
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.values.expression import (
    Arithmetic,
    ArithmeticOp,
    Constant,
    Expression,
    Negate,
)
from psoup.engine.tuples.schema import ColumnType

_INT64, _FLOAT64, _TIMESTAMP = ColumnType.INT64, ColumnType.FLOAT64, ColumnType.TIMESTAMP


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
    """Return left op right of numbers, or the microseconds between two instants. Raises Refused: `type-mismatch`."""
    (left, left_span), (right, right_span) = left_side, right_side
    if form.is_null(left) != form.is_null(right):
        known = right if form.is_null(left) else left
        left = Constant(None, known.type) if form.is_null(left) else left
        right = Constant(None, known.type) if form.is_null(right) else right
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
