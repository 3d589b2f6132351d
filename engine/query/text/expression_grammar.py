"""Expressions: tokens to syntax. One function a level of precedence, loosest first.

    or     := and { OR and }
    and    := not { AND not }
    not    := { NOT } is
    is     := compare { IS [NOT] (NULL | TRUE | FALSE | DISTINCT FROM compare) }
    compare:= match [ (= | <> | != | < | <= | > | >=) match ]
    match  := concat [ [NOT] (BETWEEN concat AND concat | IN (or, ...) | (LIKE | ILIKE) string [ESCAPE string]) ]
    concat := sum { || sum }
    sum    := product { (+ | -) product }
    product:= sign { (* | / | %) sign }
    sign   := { - } cast
    cast   := operand { :: type }
    operand:= literal | parameter | [name.]name | call | aggregate | case | (or) | (or, or, ...)

These are the precedences of PostgreSQL and DuckDB. Only brackets and CASE recurse, and the scanner has bounded
those; chains of operators and of prefixes are loops.
"""

import re
from dataclasses import replace
from typing import Final, NoReturn

from psoup.engine import limits
from psoup.engine.errors import QueryTooComplexError, SqlSyntaxError, UnsupportedSqlError
from psoup.engine.query import dialect
from psoup.engine.query.functions.table import JOINED
from psoup.engine.query.text.aggregate_grammar import aggregate, is_aggregate
from psoup.engine.query.text.call_grammar import Rules, call_syntax, case_syntax, cast_to
from psoup.engine.query.text.reader import (
    AS_NAME,
    TokenReader,
    UnexpectedError,
    expect,
    interval,
    kind_of,
    name,
    shown,
    string,
)
from psoup.engine.query.text.refusal import ParameterSpan, Refused, Span
from psoup.engine.query.text.scanner import Token, TokenKind
from psoup.engine.query.text.syntax import (
    ArithmeticSyntax,
    BetweenSyntax,
    BooleanSyntax,
    CallSyntax,
    ColumnSyntax,
    CompareSyntax,
    DistinctSyntax,
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
    RowSyntax,
    StringSyntax,
    TimestampSyntax,
)
from psoup.engine.query.values.expression import ArithmeticOp, CompareOp

_QUOTED, _WORD = TokenKind.QUOTED, TokenKind.WORD
_NUMBER, _STRING, _PARAMETER = TokenKind.NUMBER, TokenKind.STRING, TokenKind.PARAMETER
_COMPARISONS = {op.value: op for op in CompareOp} | {"!=": CompareOp.NE}
_SUMS = {op.value: op for op in (ArithmeticOp.ADD, ArithmeticOp.SUBTRACT)}
_PRODUCTS = {
    op.value: op for op in (ArithmeticOp.MULTIPLY, ArithmeticOp.DIVIDE, ArithmeticOp.MODULO)
}
_ARITHMETIC = frozenset({*_SUMS, *_PRODUCTS})
_TRUTHS = {what.value: what for what in IsWhat}
_MATCHES = frozenset({"BETWEEN", "IN", "LIKE", "ILIKE"})
_PATTERN = (
    "write one constant: a LIKE 'A%'; several patterns are joined by OR, and another column is sought by "
    "STARTS_WITH(s, t), ENDS_WITH(s, t) or CONTAINS(s, t)"
)
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def expression(reader: TokenReader) -> ExpressionSyntax:
    """Return the expression that begins at the next token; the reader stands behind it.

    Raises:
        Refused: sql-syntax or unsupported-sql; as UnexpectedError where only a whole parser of SQL can tell.
    """
    return _logical(reader, "OR")


def _logical(reader: TokenReader, keyword: str) -> ExpressionSyntax:
    conjunction = keyword == "AND"
    first = _not(reader) if conjunction else _logical(reader, "AND")
    if reader.token.keyword != keyword:
        return first
    operands = [first]
    while reader.take_if(keyword):
        operands.append(_not(reader) if conjunction else _logical(reader, "AND"))
    return LogicalSyntax(conjunction, tuple(operands), first.span.to(operands[-1].span))


def _not(reader: TokenReader) -> ExpressionSyntax:
    if reader.token.keyword != "NOT":
        return _is(reader)
    nots = []
    while token := reader.take_if("NOT"):
        nots.append(token.span)
    found = _is(reader)
    for span in reversed(nots):
        found = NotSyntax(found, span.to(found.span))
    return found


def _is(reader: TokenReader) -> ExpressionSyntax:
    found = _compare(reader)
    while reader.token.keyword == "IS":
        start = reader.take()
        negated = reader.take_if("NOT") is not None
        if reader.take_if("DISTINCT"):
            op_span = start.span.to(expect(reader, "FROM", "FROM and a value").span)
            right = _compare(reader)
            found = DistinctSyntax(found, right, negated, found.span.to(right.span), op_span)
            continue
        what = reader.take_any(_TRUTHS)
        if what is None:
            raise UnexpectedError(
                SqlSyntaxError,
                f"Expected NULL, TRUE or FALSE after IS, found {kind_of(reader.token)}.",
                reader.token.span,
                "write IS NULL, IS NOT NULL, IS TRUE or IS FALSE; values compare by = and <>",
                quoting=f"Expected NULL, TRUE or FALSE after IS, found {shown(reader.token)}.",
            )
        op_span = start.span.to(what.span)
        found = IsSyntax(found, _TRUTHS[what.keyword], negated, found.span.to(what.span), op_span)
    return found


def _compare(reader: TokenReader) -> ExpressionSyntax:
    left = _match(reader)
    if reader.token.keyword not in _COMPARISONS:
        return left
    op = reader.take()
    right = _match(reader)
    if reader.token.keyword in _COMPARISONS:
        raise Refused(
            UnsupportedSqlError,
            "Comparisons do not chain.",
            reader.token.span,
            "write a < b AND b < c, or put brackets; || joins texts, OR joins conditions",
        )
    return CompareSyntax(_COMPARISONS[op.keyword], left, right, left.span.to(right.span), op.span)


def _match(reader: TokenReader) -> ExpressionSyntax:
    operand = _sum(reader)
    if reader.token.keyword == JOINED:
        operand = _joined(reader, operand)
    start = reader.token
    negated = start.keyword == "NOT" and reader.following.keyword in _MATCHES
    if negated:
        reader.take()
    elif start.keyword not in _MATCHES:
        return operand
    op = reader.take()
    op_span = start.span.to(op.span)
    if op.keyword == "BETWEEN":
        low = _concat(reader)
        expect(reader, "AND", "AND and the upper end of BETWEEN")
        high = _concat(reader)
        return BetweenSyntax(operand, low, high, negated, operand.span.to(high.span), op_span)
    if op.keyword == "IN":
        options, span = _options(reader)
        return InSyntax(operand, options, negated, operand.span.to(span), op_span)
    pattern = string(reader, "a pattern in single quotes", _PATTERN)
    if reader.at(JOINED):
        raise Refused(
            UnsupportedSqlError, "A pattern is one constant text.", reader.token.span, _PATTERN
        )
    escape = string(reader, "one character in single quotes") if reader.take_if("ESCAPE") else None
    span = operand.span.to((escape or pattern).span)
    insensitive = op.keyword == "ILIKE"
    return LikeSyntax(operand, pattern, escape, negated, span, op_span, insensitive)


def _options(reader: TokenReader) -> tuple[tuple[ExpressionSyntax, ...], Span]:
    expect(reader, "(", "a list of constants in brackets")
    if reader.at(")"):
        raise Refused(
            SqlSyntaxError,
            "The list of IN is empty.",
            reader.token.span,
            "write at least one constant, or FALSE in place of the condition",
        )
    options = [expression(reader)]
    while reader.take_if(","):
        options.append(expression(reader))
    return tuple(options), expect(reader, ")", "a comma or a closing bracket").span


def _concat(reader: TokenReader) -> ExpressionSyntax:
    first = _sum(reader)
    return _joined(reader, first) if reader.token.keyword == JOINED else first


def _joined(reader: TokenReader, first: ExpressionSyntax) -> ExpressionSyntax:
    texts, op = [first], reader.token
    while reader.take_if(JOINED):
        texts.append(_sum(reader))
    if len(texts) > limits.QUERY_ARGUMENTS_MAX:
        raise Refused(
            QueryTooComplexError,
            f"|| joins more than {limits.QUERY_ARGUMENTS_MAX} texts.",
            texts[limits.QUERY_ARGUMENTS_MAX].span,
            "join fewer texts",
            limit=limits.QUERY_ARGUMENTS_MAX,
            actual=len(texts),
        )
    return CallSyntax(JOINED, tuple(texts), first.span.to(texts[-1].span), op.span)


def _sum(reader: TokenReader) -> ExpressionSyntax:
    left = _sign(reader)
    if reader.token.keyword not in _ARITHMETIC:
        return left
    left = _product(reader, left)
    while reader.token.keyword in _SUMS:
        op = reader.take()
        right = _product(reader, _sign(reader))
        left = ArithmeticSyntax(_SUMS[op.keyword], left, right, left.span.to(right.span), op.span)
    return left


def _product(reader: TokenReader, left: ExpressionSyntax) -> ExpressionSyntax:
    while reader.token.keyword in _PRODUCTS:
        op = reader.take()
        right = _sign(reader)
        left = ArithmeticSyntax(
            _PRODUCTS[op.keyword], left, right, left.span.to(right.span), op.span
        )
    return left


def _sign(reader: TokenReader) -> ExpressionSyntax:
    if reader.token.keyword != "-":
        found = _operand(reader)
        return _cast(reader, found) if reader.token.keyword == "::" else found
    signs = []
    while token := reader.take_if("-"):
        signs.append(token.span)
    number = reader.token.kind is _NUMBER or reader.token.kind is _PARAMETER
    found = _cast(reader, _operand(reader))
    if number and isinstance(found, NumberSyntax):
        found = found.negated(signs.pop().to(found.span))
    for span in reversed(signs):
        found = NegateSyntax(found, span.to(found.span))
    return found


def _cast(reader: TokenReader, found: ExpressionSyntax) -> ExpressionSyntax:
    while reader.take_if("::"):
        found = cast_to(reader, found)
    return found


def _operand(reader: TokenReader) -> ExpressionSyntax:
    token = reader.token
    if token.kind is _QUOTED or (token.kind is _WORD and token.keyword not in dialect.RESERVED):
        return _named(reader)
    literal = _literal(token)
    if literal is not None:
        reader.take()
        return literal
    if token.kind is _PARAMETER:
        return reader.take_constant()
    if token.keyword == "(":
        return _bracketed(reader)
    if token.keyword == "CASE":
        return case_syntax(reader, RULES)
    if token.keyword in dialect.RESERVED_FUNCTIONS and reader.following.keyword == "(":
        return call_syntax(reader, RULES)
    return _refuse_operand(reader)


def _literal(token: Token) -> ExpressionSyntax | None:
    """Return the literal that a token is by itself; None where it is none."""
    if token.kind is _NUMBER:
        return NumberSyntax(token.text, token.span)
    if token.kind is _STRING:
        return StringSyntax(token.text, token.span)
    if token.keyword in ("TRUE", "FALSE"):
        return BooleanSyntax(token.keyword == "TRUE", token.span)
    return NullSyntax(token.span) if token.keyword == "NULL" else None


def _refuse_operand(reader: TokenReader) -> NoReturn:
    token, following = reader.token, reader.following
    known = dialect.OPERANDS.get(token.keyword)
    is_name = token.keyword in dialect.RESERVED and (
        following.kind is TokenKind.END or following.keyword in dialect.BEHIND_A_NAME
    )
    if known is not None and not is_name:
        raise Refused(UnsupportedSqlError, f"{known[0]} is not offered.", token.span, known[1])
    known_remedy = dialect.MISPLACED.get(token.keyword)
    remedy, hint = known_remedy or "write a column, a constant or an expression here", None
    if is_name and known_remedy is None:
        remedy, hint = AS_NAME, f'{AS_NAME}: "{token.text}"'
    raise Refused(
        SqlSyntaxError if known is None else UnsupportedSqlError,
        f"Expected a value, found {kind_of(token)}.",
        token.span,
        remedy,
        quoting=f"Expected a value, found {shown(token)}.",
        hint=hint,
    )


def _bracketed(reader: TokenReader) -> ExpressionSyntax:
    start = reader.take()
    found = expression(reader)
    if reader.at(","):
        return _row(reader, start.span, found)
    close = expect(reader, ")", "a closing bracket")
    if isinstance(found.span, ParameterSpan):
        return found
    return replace(found, span=start.span.to(close.span))


def _row(reader: TokenReader, start: Span, first: ExpressionSyntax) -> RowSyntax:
    operands = [first]
    while reader.take_if(","):
        operands.append(expression(reader))
    close = expect(reader, ")", "a comma or a closing bracket")
    return RowSyntax(tuple(operands), start.to(close.span))


def _named(reader: TokenReader) -> ExpressionSyntax:
    """Return what begins with a name: a typed literal, a function, a column."""
    token, following = reader.token, reader.following
    literal = following.kind is _STRING or following.kind is _PARAMETER
    if token.keyword == "TIMESTAMP" and literal:
        reader.take()
        value = string(reader, "a time in single quotes")
        return TimestampSyntax(value, token.span.to(value.span))
    if token.keyword == "DATE" and literal:
        return _date(reader)
    if token.keyword == "INTERVAL" and (literal or following.kind is _NUMBER):
        return interval(reader)
    if literal and token.keyword in dialect.TYPED_LITERALS:
        what, hint = dialect.TYPED_LITERALS[token.keyword]
        raise Refused(UnsupportedSqlError, f"{what} is not offered.", token.span, hint)
    if following.keyword == "(":
        return aggregate(reader, expression) if is_aggregate(token) else call_syntax(reader, RULES)
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


def _date(reader: TokenReader) -> TimestampSyntax:
    """Return the midnight, in UTC, with which a day begins."""
    token = reader.take()
    value = string(reader, "a day in single quotes")
    if not _DATE.fullmatch(value.value):
        raise Refused(
            UnsupportedSqlError,
            "A DATE is a day alone.",
            value.span,
            "write DATE '2014-01-05', or TIMESTAMP '2014-01-05 12:00:00'",
        )
    return TimestampSyntax(value, token.span.to(value.span))


RULES: Final = Rules(expression, _concat)
"""What stands inside a call or a CASE."""
