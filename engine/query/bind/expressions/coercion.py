"""Constants take the type of what they stand beside; what cannot be said exactly is refused."""

from psoup.engine import limits
from psoup.engine.errors import TypeMismatchError
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.syntax import NumberSyntax
from psoup.engine.query.time_literals import INSTANT_FORMS, format_instant, parse_instant
from psoup.engine.query.values.expression import Constant, Expression, Value
from psoup.engine.query.values.value_set import INT64_MAX, INT64_MIN
from psoup.engine.tuples.schema import ColumnType

_INT64, _FLOAT64 = ColumnType.INT64, ColumnType.FLOAT64
_INFINITY = float("inf")
_NOWHERE = Span(0, 0)
_INT64_DIGITS = len(str(INT64_MAX))
_INTEGER_DIGITS_MAX = 40
"""Far above 64 bits; keeps int() away from texts of thousands of digits."""


def bound_number(syntax: NumberSyntax) -> Constant:
    """Return the number: BIGINT without point and exponent, else DOUBLE."""
    if syntax.is_integer:
        digits = syntax.text.lstrip("-").lstrip("0") or "0"
        if len(digits) <= _INTEGER_DIGITS_MAX:
            value = -int(digits) if syntax.text[0] == "-" else int(digits)
            if INT64_MIN <= value <= INT64_MAX:
                return Constant(value, _INT64)
        raise Refused(
            TypeMismatchError,
            "The integer does not fit 64 bits.",
            syntax.span,
            f"integers go from {INT64_MIN} to {INT64_MAX}; with a decimal point it is a DOUBLE",
        )
    number = float(syntax.text)
    if not -_INFINITY < number < _INFINITY:
        raise Refused(
            TypeMismatchError,
            "The number does not fit a DOUBLE.",
            syntax.span,
            "the largest DOUBLE is 1.7976931348623157e308",
        )
    return Constant(number + 0.0, _FLOAT64)


def column_number(text: str, kind: ColumnType) -> Value | None:
    """Return a number as a constant of a column's type; None where beside that column it is of another type.

    Args:
        text: of a number token, with its sign or without.
        kind: the column's type.

    Raises:
        Refused: as `bound_number` and `alike`.
    """
    if kind is _INT64 and len(text) < _INT64_DIGITS and text.lstrip("-").isdecimal():
        return int(text)  # most numbers are: no constant is made to be looked into
    constant = alike(bound_number(NumberSyntax(text, _NOWHERE)), _NOWHERE, kind)
    return constant.value if isinstance(constant, Constant) and constant.type is kind else None


def constant_instant(text: str, span: Span) -> Constant:
    """Return the TIMESTAMP that a literal's text names."""
    us = parse_instant(text)
    if us is None:
        raise Refused(
            TypeMismatchError,
            "The text is no time.",
            span,
            f"write {INSTANT_FORMS}, years 0001 to 9999",
            quoting=f"{text[:40]!r} is no time.",
        )
    return Constant(us, ColumnType.TIMESTAMP)


def alike(expression: Expression, span: Span, beside: ColumnType) -> Expression:
    """Return a constant as it is meant beside something of type `beside`; anything else unchanged.

    Raises:
        Refused: `type-mismatch`: an integer that no DOUBLE is equal to, a string that is no time.
    """
    if not isinstance(expression, Constant) or expression.value is None:
        return expression
    value, kind = expression.value, expression.type
    if kind is _INT64 and beside is _FLOAT64:
        if int(float(value)) != value:
            raise Refused(
                TypeMismatchError,
                "The integer is beyond what a DOUBLE holds exactly.",
                span,
                "write it as a DOUBLE, with a decimal point or an exponent: 1e17",
                quoting=f"The integer {value} is beyond what a DOUBLE holds exactly.",
                hint=f"write it as a DOUBLE: {float(value)!r}",
            )
        return Constant(float(value), _FLOAT64)
    if kind is _FLOAT64 and beside is _INT64:
        number = float(value)
        if number.is_integer() and abs(number) < limits.FLOAT64_EXACT_INT_MAX:
            return Constant(int(number), _INT64)
    if kind is ColumnType.STRING and beside is ColumnType.TIMESTAMP:
        return constant_instant(str(value), span)
    return expression


def kind_of(expression: Expression) -> str:
    """Return how a message names an expression that it does not quote: by its type."""
    if not isinstance(expression, Constant):
        return expression.type.sql_name
    return "NULL" if expression.value is None else f"{expression.type.sql_name} constant"


def described(expression: Expression) -> str:
    """Return how a message to the query's author names an expression: by its type, and a constant by its value."""
    if isinstance(expression, Constant):
        if expression.value is None:
            return "NULL"
        value = expression.value
        shown = repr(value[:40]) if isinstance(value, str) else str(value).upper()
        if expression.type is ColumnType.TIMESTAMP:
            shown = repr(format_instant(int(value)))
        return f"{expression.type.sql_name} constant {shown}"
    return expression.type.sql_name
