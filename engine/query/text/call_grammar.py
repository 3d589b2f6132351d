"""What is called: functions, and what SQL writes like one.

    call   := name ( [value {, value}] )
            | (CAST | TRY_CAST) ( or AS type )
            | EXTRACT ( part FROM or )          which is DATE_PART('part', or)
            | POSITION ( concat IN or )         which is STRPOS(or, concat)
            | SUBSTRING ( or [FROM or] [FOR or] )
            | TRIM ( [BOTH | LEADING | TRAILING] [or] FROM or )
    case   := CASE [or] WHEN or THEN or {WHEN or THEN or} [ELSE or] END
    type   := BIGINT | DOUBLE | BOOLEAN | VARCHAR | TIMESTAMP | DATE, or another name of these

What stands inside recurses by way of `Rules`. Brackets and CASE nest as deep as the scanner lets them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from psoup.engine import limits
from psoup.engine.errors import QueryTooComplexError, SqlSyntaxError, UnsupportedSqlError
from psoup.engine.query import dialect
from psoup.engine.query.functions.table import ALIASES, FUNCTIONS, PARTS_AS_FUNCTIONS
from psoup.engine.query.other_functions import function_hint
from psoup.engine.query.text.reader import TokenReader, expect, kind_of, shown, string
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.scanner import Token, TokenKind
from psoup.engine.query.text.syntax import (
    CallSyntax,
    CaseSyntax,
    CastSyntax,
    ExpressionSyntax,
    StringSyntax,
)

_Arguments = list[ExpressionSyntax]
_CLOSING = "a comma or a closing bracket"


class Rules(NamedTuple):
    """The rules of the grammar around a call.

    Attributes:
        expression: anything, from the next token on.
        concat: a value without comparison, AND and OR.
    """

    expression: Callable[[TokenReader], ExpressionSyntax]
    concat: Callable[[TokenReader], ExpressionSyntax]


def call_syntax(reader: TokenReader, rules: Rules) -> ExpressionSyntax:
    """Return the call that begins at the next token, a name before a bracket; the reader stands behind it.

    Raises:
        Refused: `sql-syntax`; `unsupported-sql` for a function that is not offered; `query-too-complex`.
    """
    token = reader.take()
    reader.take()
    keyword = token.keyword
    if keyword in ("CAST", "TRY_CAST"):
        return _cast(reader, rules, token)
    if keyword in PARTS_AS_FUNCTIONS:
        return _called(reader, rules, token, "DATE_PART", [_part(keyword, token.span)])
    if keyword == "EXTRACT":
        return _extract(reader, rules, token)
    if keyword == "POSITION":
        return _position(reader, rules, token)
    if keyword == "TRIM":
        return _trim(reader, rules, token)
    name = ALIASES.get(keyword, keyword)
    if name not in FUNCTIONS:
        raise _no_function(token)
    return _called(reader, rules, token, name, [])


def case_syntax(reader: TokenReader, rules: Rules) -> CaseSyntax:
    """Return the CASE that begins at the next token; the reader stands behind its END."""
    start = reader.take()
    operand = None if reader.at("WHEN") else rules.expression(reader)
    branches: list[tuple[ExpressionSyntax, ExpressionSyntax]] = []
    expected = "WHEN and a condition"
    while not branches or reader.at("WHEN"):
        when = expect(reader, "WHEN", expected)
        _check_count(len(branches) + 1, when.span, "Branches of one CASE")
        condition = rules.expression(reader)
        expect(reader, "THEN", "THEN and a value")
        branches.append((condition, rules.expression(reader)))
    default = rules.expression(reader) if reader.take_if("ELSE") else None
    end = expect(reader, "END", "WHEN, ELSE or END of CASE")
    return CaseSyntax(operand, tuple(branches), default, start.span.to(end.span))


def cast_to(reader: TokenReader, operand: ExpressionSyntax) -> ExpressionSyntax:
    """Return the cast of an operand to the type that the next tokens name; the reader stands behind them."""
    token = reader.token
    name = token.keyword
    kind = dialect.TYPES.get(name)
    if kind is None:
        known = dialect.OTHER_TYPES.get(name)
        raise Refused(
            SqlSyntaxError if known is None else UnsupportedSqlError,
            f"Expected a type, found {kind_of(token)}."
            if known is None
            else f"The type {name} is not offered.",
            token.span,
            known or dialect.TYPES_HINT,
            quoting=f"Expected a type, found {shown(token)}." if known is None else None,
        )
    reader.take()
    if name == "DOUBLE":
        reader.take_if("PRECISION")
    span = operand.span.to(reader.last_span)
    if reader.at("("):
        raise Refused(
            UnsupportedSqlError,
            "Types take no length.",
            reader.token.span,
            f"write {name} alone; LEFT(s, 10) shortens a text",
        )
    found = CastSyntax(operand, kind, span)
    if name != "DATE":
        return found
    return CallSyntax("DATE_TRUNC", (StringSyntax("day", token.span), found), span, token.span)


def _called(
    reader: TokenReader, rules: Rules, token: Token, name: str, arguments: _Arguments
) -> CallSyntax:
    """Return the call of a function of the table, whose first arguments are there already."""
    if not reader.at(")"):
        arguments.append(rules.expression(reader))
        while reader.take_if(","):
            arguments.append(rules.expression(reader))
            _check_count(len(arguments), arguments[-1].span, "Arguments of one function")
        if name == "SUBSTRING" and len(arguments) == 1:
            _from_for(reader, rules, arguments)
    close = expect(reader, ")", _CLOSING)
    return _checked(token, name, arguments, close.span)


def _checked(token: Token, name: str, arguments: _Arguments, close: Span) -> CallSyntax:
    """Return the call, unless it has too few or too many arguments."""
    function = FUNCTIONS[name]
    two_alone = token.keyword == "IFNULL" and len(arguments) != 2
    if two_alone or not function.least <= len(arguments) <= function.most:
        usage = "IFNULL(a, b)" if two_alone else function.usage
        raise Refused(
            SqlSyntaxError,
            f"A call has not as many arguments as its function takes: {len(arguments)}.",
            token.span.to(close),
            f"write {usage}",
        )
    return CallSyntax(name, tuple(arguments), token.span.to(close), token.span)


def _check_count(count: int, span: Span, what: str) -> None:
    if count > limits.QUERY_ARGUMENTS_MAX:
        raise Refused(
            QueryTooComplexError,
            f"{what}: more than {limits.QUERY_ARGUMENTS_MAX}.",
            span,
            "write fewer of them",
            limit=limits.QUERY_ARGUMENTS_MAX,
            actual=count,
        )


def _cast(reader: TokenReader, rules: Rules, token: Token) -> ExpressionSyntax:
    operand = rules.expression(reader)
    expect(reader, "AS", "AS and a type")
    found = cast_to(reader, operand)
    close = expect(reader, ")", "a closing bracket")
    return replace(found, span=token.span.to(close.span))


def _extract(reader: TokenReader, rules: Rules, token: Token) -> CallSyntax:
    part = reader.token
    if part.kind is TokenKind.PARAMETER:
        name = string(reader, "a part of an instant")
        expect(reader, "FROM", "FROM and an instant")
        return _called(reader, rules, token, "DATE_PART", [name])
    if part.kind not in (TokenKind.WORD, TokenKind.STRING):
        raise Refused(
            SqlSyntaxError,
            f"Expected a part of an instant, found {kind_of(part)}.",
            part.span,
            "write EXTRACT(hour FROM ts)",
            quoting=f"Expected a part of an instant, found {shown(part)}.",
        )
    reader.take()
    expect(reader, "FROM", "FROM and an instant")
    name = StringSyntax(part.text, part.span)
    return _called(reader, rules, token, "DATE_PART", [name])


def _part(function: str, span: Span) -> StringSyntax:
    return StringSyntax(PARTS_AS_FUNCTIONS[function], span)


def _position(reader: TokenReader, rules: Rules, token: Token) -> CallSyntax:
    sought = rules.concat(reader)
    expect(reader, "IN", "IN and a text: POSITION('a' IN s)")
    text = rules.expression(reader)
    close = expect(reader, ")", "a closing bracket")
    return _checked(token, "STRPOS", [text, sought], close.span)


def _from_for(reader: TokenReader, rules: Rules, arguments: _Arguments) -> None:
    """Take FROM start FOR count, which may stand in place of commas."""
    start = reader.token.span
    if reader.take_if("FROM"):
        arguments.append(rules.expression(reader))
    if reader.take_if("FOR"):
        if len(arguments) == 1:
            raise Refused(
                SqlSyntaxError,
                "FOR stands behind FROM.",
                start,
                "write SUBSTRING(s FROM 1 FOR 3)",
            )
        arguments.append(rules.expression(reader))


def _trim(reader: TokenReader, rules: Rules, token: Token) -> CallSyntax:
    side = reader.take_any(dialect.TRIM_SIDES)
    name = "TRIM" if side is None else dialect.TRIM_SIDES[side.keyword]
    if side is not None and reader.take_if("FROM"):
        return _called(reader, rules, token, name, [])
    first = rules.expression(reader)
    if reader.take_if("FROM"):
        text = rules.expression(reader)
        close = expect(reader, ")", "a closing bracket")
        return _checked(token, name, [text, first], close.span)
    if side is None and reader.take_if(","):
        return _called(reader, rules, token, name, [first])
    close = expect(reader, ")", _CLOSING)
    return _checked(token, name, [first], close.span)


def _no_function(token: Token) -> Refused:
    """Return the refusal of a call: of the present, or of any function that is not offered."""
    called = f"{token.text[:40].upper()}()"
    detail, quoting = "This function is not offered.", f"The function {called} is not offered."
    remedy = function_hint(token.keyword)
    if token.keyword in dialect.CLOCKS:
        detail, remedy = dialect.CLOCK_DETAIL, dialect.CLOCK_HINT
    return Refused(UnsupportedSqlError, detail, token.span, remedy, quoting=quoting)
