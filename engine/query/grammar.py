"""Expressions: tokens to syntax. One function a level of precedence, loosest first.

    or     := and { OR and }
    and    := not { AND not }
    not    := { NOT } is
    is     := compare { IS [NOT] (NULL | TRUE | FALSE) }
    compare:= match [ (= | <> | != | < | <= | > | >=) match ]
    match  := sum [ [NOT] (BETWEEN sum AND sum | IN (or, ...) | LIKE string [ESCAPE string]) ]
    sum    := product { (+ | -) product }
    product:= sign { (* | / | %) sign }
    sign   := { - } operand
    operand:= literal | [name.]name | ABS(or) | (or)

These are the precedences of PostgreSQL and DuckDB. Only brackets recurse, and the scanner has bounded
those; chains of operators and of prefixes are loops.
"""

from dataclasses import replace
from typing import NoReturn

from engine.errors import SqlSyntaxError, UnsupportedSqlError
from engine.query import dialect
from engine.query.expression import ArithmeticOp, CompareOp
from engine.query.reader import (
    TokenReader,
    UnexpectedError,
    expect,
    interval,
    name,
    shown,
    string,
)
from engine.query.refusal import Refused, Span
from engine.query.scanner import Token, TokenKind
from engine.query.syntax import (
    AbsoluteSyntax,
    ArithmeticSyntax,
    BetweenSyntax,
    BooleanSyntax,
    ColumnSyntax,
    CompareSyntax,
    ExpressionSyntax,
    InSyntax,
    IsSyntax,
    IsWhat,
    LikeSyntax,
    LogicalSyntax,
    NegateSyntax,
    NotSyntax,
    NullSyntax,
    NumberSyntax,
    StringSyntax,
    TimestampSyntax,
)

_COMPARISONS = {op.value: op for op in CompareOp} | {"!=": CompareOp.NE}
_SUMS = {op.value: op for op in (ArithmeticOp.ADD, ArithmeticOp.SUBTRACT)}
_PRODUCTS = {
    op.value: op for op in (ArithmeticOp.MULTIPLY, ArithmeticOp.DIVIDE, ArithmeticOp.MODULO)
}


def expression(reader: TokenReader) -> ExpressionSyntax:
    """Return the expression that begins at the next token; the reader stands behind it.

    Raises:
        Refused: sql-syntax or unsupported-sql; as UnexpectedError where only a whole parser of SQL can tell.
    """
    return _logical(reader, "OR")


def _logical(reader: TokenReader, keyword: str) -> ExpressionSyntax:
    conjunction = keyword == "AND"
    operands: list[ExpressionSyntax] = []
    while not operands or reader.take_if(keyword):
        operands.append(_not(reader) if conjunction else _logical(reader, "AND"))
    if len(operands) == 1:
        return operands[0]
    return LogicalSyntax(conjunction, tuple(operands), operands[0].span.to(operands[-1].span))


def _not(reader: TokenReader) -> ExpressionSyntax:
    nots = []
    while token := reader.take_if("NOT"):
        nots.append(token.span)
    found = _is(reader)
    for span in reversed(nots):
        found = NotSyntax(found, span.to(found.span))
    return found


def _is(reader: TokenReader) -> ExpressionSyntax:
    found = _compare(reader)
    while start := reader.take_if("IS"):
        negated = reader.take_if("NOT") is not None
        what = reader.take_if(*IsWhat)
        if what is None:
            raise UnexpectedError(
                SqlSyntaxError,
                f"Expected NULL, TRUE or FALSE after IS, found {shown(reader.token)}.",
                reader.token.span,
                "write IS NULL, IS NOT NULL, IS TRUE or IS FALSE",
            )
        op_span = start.span.to(what.span)
        found = IsSyntax(found, IsWhat(what.keyword), negated, found.span.to(what.span), op_span)
    return found


def _compare(reader: TokenReader) -> ExpressionSyntax:
    left = _match(reader)
    op = reader.take_if(*_COMPARISONS)
    if op is None:
        return left
    right = _match(reader)
    if reader.at(*_COMPARISONS):
        raise Refused(
            UnsupportedSqlError,
            "Comparisons do not chain.",
            reader.token.span,
            "write a < b AND b < c, or put brackets",
        )
    return CompareSyntax(_COMPARISONS[op.keyword], left, right, left.span.to(right.span), op.span)


def _match(reader: TokenReader) -> ExpressionSyntax:
    operand = _sum(reader)
    start = reader.token
    negated = start.keyword == "NOT" and reader.following.keyword in ("BETWEEN", "IN", "LIKE")
    if negated:
        reader.take()
    op = reader.take_if("BETWEEN", "IN", "LIKE")
    if op is None:
        return operand
    op_span = start.span.to(op.span)
    if op.keyword == "BETWEEN":
        low = _sum(reader)
        expect(reader, "AND", "AND and the upper end of BETWEEN")
        high = _sum(reader)
        return BetweenSyntax(operand, low, high, negated, operand.span.to(high.span), op_span)
    if op.keyword == "IN":
        options, span = _options(reader)
        return InSyntax(operand, options, negated, operand.span.to(span), op_span)
    pattern = string(reader, "a pattern in single quotes")
    escape = string(reader, "one character in single quotes") if reader.take_if("ESCAPE") else None
    span = operand.span.to((escape or pattern).span)
    return LikeSyntax(operand, pattern, escape, negated, span, op_span)


def _options(reader: TokenReader) -> tuple[tuple[ExpressionSyntax, ...], Span]:
    expect(reader, "(", "a list of constants in brackets")
    options = [expression(reader)]
    while reader.take_if(","):
        options.append(expression(reader))
    return tuple(options), expect(reader, ")", "a comma or a closing bracket").span


def _sum(reader: TokenReader) -> ExpressionSyntax:
    left = _product(reader)
    while op := reader.take_if(*_SUMS):
        right = _product(reader)
        left = ArithmeticSyntax(_SUMS[op.keyword], left, right, left.span.to(right.span), op.span)
    return left


def _product(reader: TokenReader) -> ExpressionSyntax:
    left = _sign(reader)
    while op := reader.take_if(*_PRODUCTS):
        right = _sign(reader)
        left = ArithmeticSyntax(
            _PRODUCTS[op.keyword], left, right, left.span.to(right.span), op.span
        )
    return left


def _sign(reader: TokenReader) -> ExpressionSyntax:
    signs = []
    while token := reader.take_if("-"):
        signs.append(token.span)
    number = reader.token.kind is TokenKind.NUMBER
    found = _operand(reader)
    if signs and number and isinstance(found, NumberSyntax):
        found = NumberSyntax(f"-{found.text}", signs.pop().to(found.span))
    for span in reversed(signs):
        found = NegateSyntax(found, span.to(found.span))
    return found


def _operand(reader: TokenReader) -> ExpressionSyntax:
    token = reader.token
    if token.kind is TokenKind.NUMBER:
        reader.take()
        return NumberSyntax(token.text, token.span)
    if token.kind is TokenKind.STRING:
        reader.take()
        return StringSyntax(token.text, token.span)
    if token.keyword == "(":
        return _bracketed(reader)
    if token.kind is TokenKind.QUOTED or (
        token.kind is TokenKind.WORD and token.keyword not in dialect.RESERVED
    ):
        return _named(reader)
    if token.keyword in ("TRUE", "FALSE"):
        reader.take()
        return BooleanSyntax(token.keyword == "TRUE", token.span)
    if token.keyword == "NULL":
        reader.take()
        return NullSyntax(token.span)
    return _refuse_operand(token, reader.following)


def _refuse_operand(token: Token, following: Token) -> NoReturn:
    called = following.keyword == "(" and token.keyword in ("LEFT", "RIGHT")
    known = dialect.OPERANDS.get(token.keyword)
    if called:
        known = (f"{token.keyword}()", dialect.FUNCTION_HINT)
    if known is not None:
        raise Refused(UnsupportedSqlError, f"{known[0]} is not offered.", token.span, known[1])
    hint = "write a column, a constant or an expression here"
    if token.keyword in dialect.RESERVED:
        hint = f'as a name it is written in quotes: "{token.text}"'
    raise Refused(SqlSyntaxError, f"Expected a value, found {shown(token)}.", token.span, hint)


def _bracketed(reader: TokenReader) -> ExpressionSyntax:
    start = reader.take()
    found = expression(reader)
    close = expect(reader, ")", "a closing bracket")
    return replace(found, span=start.span.to(close.span))


def _named(reader: TokenReader) -> ExpressionSyntax:
    """Return what begins with a name: a typed literal, a function, a column."""
    token, following = reader.token, reader.following
    literal = following.kind is TokenKind.STRING
    if token.keyword == "TIMESTAMP" and literal:
        reader.take()
        value = string(reader, "a time in single quotes")
        return TimestampSyntax(value, token.span.to(value.span))
    if token.keyword == "INTERVAL" and (literal or following.kind is TokenKind.NUMBER):
        return interval(reader)
    if literal and token.keyword in dialect.TYPED_LITERALS:
        what, hint = dialect.TYPED_LITERALS[token.keyword]
        raise Refused(UnsupportedSqlError, f"{what} is not offered.", token.span, hint)
    if following.keyword == "(":
        return _call(reader)
    first = name(reader, "a column")
    if not reader.take_if("."):
        return ColumnSyntax(None, first, first.span)
    second = name(reader, "a column")
    if reader.at("."):
        raise Refused(
            UnsupportedSqlError,
            "A name has at most two parts.",
            first.span.to(reader.following.span),
            "write stream.column or column",
        )
    return ColumnSyntax(first, second, first.span.to(second.span))


def _call(reader: TokenReader) -> ExpressionSyntax:
    token = reader.take()
    if token.keyword != "ABS":
        shown_name = token.text[:40].upper()
        if token.keyword in dialect.AGGREGATES:
            detail, hint = (
                f"Aggregates like {shown_name}() are not offered.",
                dialect.AGGREGATE_HINT,
            )
        else:
            detail = f"The function {shown_name}() is not offered."
            hint = dialect.FUNCTION_HINTS.get(token.keyword, dialect.FUNCTION_HINT)
        raise Refused(UnsupportedSqlError, detail, token.span, hint)
    reader.take()
    operand = expression(reader)
    close = expect(reader, ")", "a closing bracket: ABS takes one value")
    return AbsoluteSyntax(operand, token.span.to(close.span))
