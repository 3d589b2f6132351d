"""Windows: `BEGIN bound END bound [hops]`, a bound with brackets around it or without; `[RANGE reach]` of one source.

bound := NOW [- reach] | TIMESTAMP string | string
hops := EVERY reach [ALIGN [TIMESTAMP] string]
reach := seconds | INTERVAL

A parameter may stand for the string, for the seconds, or for the INTERVAL, which it gives as a text: "10 minutes".
"""

from typing import NamedTuple

from psoup.engine import limits
from psoup.engine.errors import QueryTooComplexError, SqlSyntaxError, UnsupportedSqlError
from psoup.engine.query import dialect
from psoup.engine.query.text.durations import duration_us
from psoup.engine.query.text.parameter_values import ConstantSyntax, unfit
from psoup.engine.query.text.reader import TokenReader, expect, interval, kind_of, shown, string
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.scanner import Token, TokenKind
from psoup.engine.query.text.syntax import (
    BoundSyntax,
    HopsSyntax,
    NumberSyntax,
    RangeSyntax,
    StringSyntax,
    WindowSyntax,
)
from psoup.engine.query.time_literals import whole_us

_FUTURE = "A bound after NOW is not offered: tuples of the future are not known."
_RANGE_HINT = "write [RANGE INTERVAL '5' MINUTE], or [RANGE 300] (seconds)"
_EVERY_FORM = "EVERY INTERVAL '5' MINUTE"
_EVERY_HINT = f"write {_EVERY_FORM}, or EVERY 300 (seconds)"
_NO_HOP = "From one hop to the next is a length of time above zero."
_BOUND_HINT = "a bound is NOW, NOW - 600 (seconds), NOW - INTERVAL '10' MINUTE or TIMESTAMP '2014-01-05 12:00:00'"


class _Said(NamedTuple):
    """What is said of a reach: that one was expected, is below zero or too long, and what to write."""

    expected: str
    backwards: str
    hint: str
    beyond: str = f"A window reaches at most {limits.WINDOW_US_MAX // limits.DAY_US} days back."
    shorter: str = "leave BEGIN and END out to see everything that is kept"


_EVERY = _Said(
    "Expected seconds or an INTERVAL after EVERY",
    _NO_HOP,
    _EVERY_HINT,
    f"Hops lie at most {limits.WINDOW_US_MAX // limits.DAY_US} days apart.",
    _EVERY_HINT,
)


def window_syntax(reader: TokenReader) -> WindowSyntax:
    """Return the window that begins at the next token; the reader stands behind it."""
    if reader.at("EVERY"):
        raise Refused(
            UnsupportedSqlError,
            "EVERY says when a window moves on, and stands behind BEGIN and END.",
            reader.token.span,
            f"write BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) {_EVERY_FORM}",
        )
    start = expect(reader, "BEGIN", "BEGIN (...) before END (...)")
    begin = _bound(reader)
    expect(reader, "END", "END (...) after BEGIN (...)")
    end = _bound(reader)
    span = start.span.to(reader.last_span)
    return WindowSyntax(begin, end, span, _hops(reader) if reader.at("EVERY") else None)


def range_syntax(reader: TokenReader) -> RangeSyntax:
    """Return the window of one source that begins at the next token, `[`; the reader stands behind it."""
    start = reader.take()
    word = reader.token
    if not reader.take_if("RANGE"):
        raise Refused(
            UnsupportedSqlError if word.kind is TokenKind.WORD else SqlSyntaxError,
            f"Expected RANGE or ROWS, found {kind_of(word)}.",
            word.span,
            f"{_RANGE_HINT}; the newest rows are [ROWS 100]",
            quoting=f"Expected RANGE or ROWS, found {shown(word)}.",
        )
    said = _Said(
        "Expected seconds or an INTERVAL after RANGE",
        "A RANGE reaches back from NOW.",
        _RANGE_HINT,
    )
    us = _reach(reader, reader.token.span, said)
    if not reader.at("]"):
        raise Refused(
            SqlSyntaxError,
            f"Expected a closing bracket behind the window, found {kind_of(reader.token)}.",
            reader.token.span,
            _RANGE_HINT,
            quoting=f"Expected a closing bracket behind the window, found {shown(reader.token)}.",
        )
    return RangeSyntax(us, start.span.to(reader.take().span))


def _bound(reader: TokenReader) -> BoundSyntax:
    brackets = 0
    while reader.take_if("("):
        brackets += 1
    found = _bound_value(reader)
    for _ in range(brackets):
        if not reader.at(")"):
            raise Refused(
                SqlSyntaxError,
                f"Expected a closing bracket behind the bound, found {kind_of(reader.token)}.",
                reader.token.span,
                _BOUND_HINT,
                quoting=f"Expected a closing bracket behind the bound, found {shown(reader.token)}.",
            )
        reader.take()
    return found


def _bound_value(reader: TokenReader) -> BoundSyntax:
    start = reader.token
    if start.keyword == "NOW":
        reader.take()
        return _now_minus(reader, start)
    if start.keyword == "TIMESTAMP":
        reader.take()
    elif start.kind not in (TokenKind.STRING, TokenKind.PARAMETER):
        missing = start.kind is TokenKind.END or start.keyword in (")", "END")
        raise Refused(
            SqlSyntaxError if missing else UnsupportedSqlError,
            f"Expected a bound of the window, found {kind_of(start)}.",
            start.span,
            "the present is NOW, without brackets: NOW - INTERVAL '10' MINUTE"
            if start.keyword in dialect.CLOCKS
            else _BOUND_HINT,
            quoting=f"Expected a bound of the window, found {shown(start)}.",
        )
    constant = string(reader, "a time in single quotes")
    return BoundSyntax(constant, 0, start.span.to(constant.span))


def _now_minus(reader: TokenReader, start: Token) -> BoundSyntax:
    if reader.at("+"):
        raise Refused(
            UnsupportedSqlError,
            _FUTURE,
            start.span.to(reader.token.span),
            _BOUND_HINT,
        )
    if reader.at("("):
        raise Refused(
            UnsupportedSqlError,
            "NOW is no function.",
            start.span.to(reader.token.span),
            "write NOW without brackets behind it",
        )
    if not reader.take_if("-"):
        return BoundSyntax(None, 0, start.span)
    said = _Said("Expected seconds or an INTERVAL after NOW -", _FUTURE, _BOUND_HINT)
    us = _reach(reader, start.span, said)
    return BoundSyntax(None, us, start.span.to(reader.last_span))


def _hops(reader: TokenReader) -> HopsSyntax:
    """Return EVERY, which is the next token, with ALIGN behind it."""
    start = reader.take()
    at = reader.token
    every_us = _reach(reader, at.span, _EVERY)
    if not every_us:
        raise Refused(UnsupportedSqlError, _NO_HOP, at.span.to(reader.last_span), _EVERY_HINT)
    align: StringSyntax | None = None
    if reader.take_if("ALIGN"):
        reader.take_if("TIMESTAMP")
        align = string(reader, "a time in single quotes")
    return HopsSyntax(every_us, align, start.span.to(reader.last_span))


def _reach(reader: TokenReader, start: Span, said: _Said) -> int:
    """Return the microseconds that seconds or an INTERVAL are, or a parameter for either of them.

    What is refused of them is refused of the text from `start` on; of a parameter, of what it gives.
    """
    token = reader.token
    if token.kind is TokenKind.PARAMETER:
        constant = reader.take_constant()
        return _checked_offset(_given(constant), constant.span, said)
    if token.keyword == "INTERVAL":
        offset: int | None = interval(reader).us
    elif token.kind is TokenKind.NUMBER:
        offset = whole_us(reader.take().text, limits.SECOND_US)
    else:
        raise Refused(
            SqlSyntaxError,
            f"{said.expected}, found {kind_of(token)}.",
            token.span,
            "a length of time in quotes follows the word INTERVAL: INTERVAL '10 minutes'"
            if token.kind is TokenKind.STRING
            else said.hint,
            quoting=f"{said.expected}, found {shown(token)}.",
        )
    return _checked_offset(offset, start.to(reader.last_span), said)


def _given(constant: ConstantSyntax) -> int | None:
    """Return the microseconds of a parameter: a number counts seconds, a text is what an INTERVAL holds."""
    if isinstance(constant, StringSyntax):
        return duration_us(constant.value, constant.span)
    if isinstance(constant, NumberSyntax):
        return whole_us(constant.text, limits.SECOND_US)
    raise unfit(constant, "a length of time", "give a number of seconds, or a text: 10 minutes")


def _checked_offset(offset: int | None, span: Span, said: _Said) -> int:
    if offset is None:
        raise Refused(
            SqlSyntaxError,
            "The offset is no whole number of microseconds, or one of more than 64 bits.",
            span,
            "a plain number counts seconds, at most six decimals; "
            f"a window reaches at most {limits.WINDOW_US_MAX // limits.SECOND_US} seconds back",
        )
    if offset < 0:
        raise Refused(UnsupportedSqlError, said.backwards, span, said.hint)
    if offset > limits.WINDOW_US_MAX:
        raise Refused(
            QueryTooComplexError,
            said.beyond,
            span,
            said.shorter,
            limit=limits.WINDOW_US_MAX,
            actual=offset,
        )
    return offset
