"""Canonical SQL: one text for one bound thing; binding the text again gives the same thing.

Expressions come in normal form (`normal_form.py`); this module only prints. Names are quoted only where
they must be, literals are written in their column's type, brackets stand only where the grammar needs
them. Queries are equal iff their canonical texts are.
"""

import re

from engine.query import dialect
from engine.query.clause import Output
from engine.query.expression import (
    Absolute,
    And,
    Arithmetic,
    ArithmeticOp,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    InList,
    IsNull,
    IsTrue,
    Like,
    Negate,
    Not,
    Or,
)
from engine.query.instant import format_duration, format_instant
from engine.query.window import Bound, Window
from engine.tuples.schema import ColumnType

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# How tightly a node binds; a part that binds more loosely than its place stands in brackets.
_OR, _AND, _NOT, _IS, _COMPARE, _SUM, _PRODUCT, _SIGN, _OPERAND = range(9)


def sql_name(name: str) -> str:
    """Return the name, quoted where a bare word would not be read back as it."""
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in dialect.RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """Return the text as a string literal."""
    return "'" + text.replace("'", "''") + "'"


def sql_constant(constant: Constant) -> str:
    """Return the constant as a literal of its type."""
    value = constant.value
    if value is None:
        return "NULL"
    match constant.type:
        case ColumnType.TIMESTAMP:
            return f"TIMESTAMP {sql_text(format_instant(int(value)))}"
        case ColumnType.STRING:
            return sql_text(str(value))
        case ColumnType.BOOL:
            return "TRUE" if value else "FALSE"
        case ColumnType.INT64 | ColumnType.FLOAT64:
            return repr(value)


def sql_expression(expression: Expression) -> str:
    """Return the expression as canonical SQL."""
    return _print(expression)[0]


def sql_output(output: Output) -> str:
    """Return one entry of the select list; its alias only where the name would not come by itself."""
    text = sql_expression(output.expression)
    if output.name == default_name(output.expression):
        return text
    return f"{text} AS {sql_name(output.name)}"


def default_name(expression: Expression) -> str:
    """Return the name of an output without alias: the column's, else its canonical SQL."""
    return expression.name if isinstance(expression, ColumnRef) else sql_expression(expression)


def sql_clause(
    *, distinct: bool, outputs: tuple[Output, ...], stream: str, where: Expression | None
) -> str:
    """Return the canonical SELECT-FROM-WHERE of one stream."""
    listed = ", ".join(sql_output(output) for output in outputs)
    parts = ["SELECT", *(["DISTINCT"] if distinct else []), listed, "FROM", sql_name(stream)]
    if where is not None:
        parts += ["WHERE", sql_expression(where)]
    return " ".join(parts)


def sql_window(window: Window) -> str:
    """Return ` BEGIN (...) END (...)`, or nothing for no window: what follows the clause."""
    if window.begin is None or window.end is None:
        return ""
    return f" BEGIN ({_bound(window.begin)}) END ({_bound(window.end)})"


def _bound(bound: Bound) -> str:
    if not bound.moving:
        return sql_constant(Constant(bound.us, ColumnType.TIMESTAMP))
    return f"NOW - {format_duration(bound.us)}" if bound.us else "NOW"


def _within(expression: Expression, place: int) -> str:
    """Return the expression as it stands where at least `place` is wanted."""
    text, binding = _print(expression)
    return text if binding >= place else f"({text})"


def _print(expression: Expression) -> tuple[str, int]:
    """Return the text, and how tightly it binds."""
    match expression:
        case Constant() | ColumnRef() | Absolute():
            return _print_operand(expression), _OPERAND
        case Negate(operand=one):
            text = _within(one, _OPERAND)
            # Two signs in a row would begin a comment.
            return (f"-({text})" if text.startswith("-") else f"-{text}"), _SIGN
        case Arithmetic():
            return _print_arithmetic(expression)
        case And(operands=many):
            return " AND ".join(_within(one, _NOT) for one in many), _AND
        case Or(operands=many):
            return " OR ".join(_within(one, _NOT) for one in many), _OR
        case Not(operand=InList() | Like() | IsNull() | IsTrue() as one):
            return _print_test(one, "NOT ")
        case Not(operand=one):
            return f"NOT {_within(one, _IS)}", _NOT
        case _:
            return _print_test(expression, "")


def _print_operand(expression: Constant | ColumnRef | Absolute) -> str:
    match expression:
        case Constant():
            return sql_constant(expression)
        case ColumnRef(name=name):
            return sql_name(name)
        case Absolute(operand=one):
            return f"ABS({sql_expression(one)})"


def _print_arithmetic(expression: Arithmetic) -> tuple[str, int]:
    op, left, right = expression.op, expression.left, expression.right
    place = _SUM if op in (ArithmeticOp.ADD, ArithmeticOp.SUBTRACT) else _PRODUCT
    if expression.type is ColumnType.TIMESTAMP:
        assert isinstance(right, Constant), "a timestamp moves by a constant INTERVAL"
        assert isinstance(right.value, int), "of microseconds"
        return f"{_within(left, place)} {op} {format_duration(right.value)}", place
    return f"{_within(left, place)} {op} {_within(right, place + 1)}", place


def _print_test(
    expression: Compare | InList | Like | IsNull | IsTrue, negation: str
) -> tuple[str, int]:
    match expression:
        case Compare(op=op, left=left, right=right):
            return f"{_within(left, _SUM)} {op} {_within(right, _SUM)}", _COMPARE
        case InList(operand=one, options=options):
            listed = ", ".join(sql_constant(option) for option in options)
            return f"{_within(one, _SUM)} {negation}IN ({listed})", _COMPARE
        case Like(operand=one, pattern=pattern, escape=escape):
            ending = "" if escape is None else f" ESCAPE {sql_text(escape)}"
            return f"{_within(one, _SUM)} {negation}LIKE {sql_text(pattern)}{ending}", _COMPARE
        case IsNull(operand=one):
            return f"{_within(one, _SUM)} IS {negation}NULL", _IS
        case IsTrue(operand=Not(operand=ColumnRef() as one)):
            return f"{_within(one, _SUM)} IS {negation}FALSE", _IS
        case IsTrue(operand=one):
            return f"{_within(one, _SUM)} IS {negation}TRUE", _IS
