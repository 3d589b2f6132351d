"""Calls of aggregates: tokens to syntax.

    aggregate := name ( * | [DISTINCT] or {, or} ) [FILTER ( WHERE or )]

How many values an aggregate takes, and of which types, the binder says.
"""

from collections.abc import Callable
from typing import Final

from psoup.engine.errors import UnsupportedSqlError
from psoup.engine.query import dialect
from psoup.engine.query.other_functions import OTHER_AGGREGATES
from psoup.engine.query.text.reader import TokenReader, expect
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.scanner import Token
from psoup.engine.query.text.syntax import AggregateSyntax, ExpressionSyntax
from psoup.engine.query.values.expression import AggregateFunction

AGGREGATES: Final = {function.value: function for function in AggregateFunction}
"""The aggregates by the keyword that calls them."""

_CLOSING = "a comma or a closing bracket"


def is_aggregate(name: Token) -> bool:
    """Return whether a name that a bracket follows is that of an aggregate, be it one that is not offered."""
    return name.keyword in AGGREGATES or name.keyword in OTHER_AGGREGATES


def aggregate(
    reader: TokenReader, expression: Callable[[TokenReader], ExpressionSyntax]
) -> AggregateSyntax:
    """Return the call of an aggregate whose name is the next token, an opening bracket the one behind it.

    Args:
        reader: left behind the call.
        expression: reads an expression.

    Raises:
        Refused: as `expression` does; `unsupported-sql` for an aggregate that is not offered, for ORDER BY inside the
            call, and for OVER behind it.
    """
    name = reader.take()
    if name.keyword not in AGGREGATES:
        raise _not_offered(name)
    reader.take()
    distinct = reader.take_if("DISTINCT") is not None
    arguments: list[ExpressionSyntax] = []
    if reader.at("*"):
        _check_star(name, reader.take(), distinct=distinct)
        close = expect(reader, ")", "a closing bracket")
    elif not distinct and reader.at(")"):
        close = reader.take()
    else:
        arguments.append(expression(reader))
        while reader.take_if(","):
            arguments.append(expression(reader))
        _refuse_order(reader)
        close = expect(reader, ")", _CLOSING)
    span, where = name.span.to(close.span), None
    if reader.at("FILTER") and reader.following.keyword == "(":
        where, past = _filter(reader, expression)
        span = span.to(past)
    _refuse_over(reader)
    return AggregateSyntax(AGGREGATES[name.keyword], tuple(arguments), distinct, where, span)


def _check_star(name: Token, star: Token, *, distinct: bool) -> None:
    """Refuse `*` but in COUNT(*)."""
    if name.keyword != AggregateFunction.COUNT or distinct:
        raise Refused(
            UnsupportedSqlError,
            "* stands in COUNT(*) alone.",
            star.span,
            "name what to aggregate: COUNT(DISTINCT x), SUM(x)",
        )


def _not_offered(name: Token) -> Refused:
    return Refused(
        UnsupportedSqlError,
        f"The aggregate {name.keyword} is not offered.",
        name.span,
        OTHER_AGGREGATES[name.keyword],
    )


def _filter(
    reader: TokenReader, expression: Callable[[TokenReader], ExpressionSyntax]
) -> tuple[ExpressionSyntax, Span]:
    reader.take()
    reader.take()
    expect(reader, "WHERE", "WHERE and a condition")
    where = expression(reader)
    return where, expect(reader, ")", "a closing bracket").span


def _refuse_order(reader: TokenReader) -> None:
    if reader.at("ORDER"):
        raise Refused(
            UnsupportedSqlError,
            "ORDER BY inside an aggregate is not offered.",
            reader.token.span,
            "FIRST and LAST go by tuple time; ARG_MIN(x, y) and ARG_MAX(x, y) by any value",
        )


def _refuse_over(reader: TokenReader) -> None:
    if reader.at("OVER"):
        what, remedy = dialect.CLAUSES["OVER"]
        raise Refused(UnsupportedSqlError, f"{what} is not offered.", reader.token.span, remedy)
