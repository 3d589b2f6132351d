"""Windows: `BEGIN bound END bound`, a bound with brackets around it or without; `[RANGE reach]` of one source.

bound := NOW [- reach] | TIMESTAMP string | string
reach := seconds | INTERVAL
"""

from psoup.engine import limits
from psoup.engine.errors import QueryTooComplexError, SqlSyntaxError, UnsupportedSqlError
from psoup.engine.query import dialect
from psoup.engine.query.text.reader import TokenReader, expect, interval, kind_of, shown, string
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.scanner import Token, TokenKind
from psoup.engine.query.text.syntax import BoundSyntax, RangeSyntax, WindowSyntax
from psoup.engine.query.time_literals import whole_us

_FUTURE = "A bound after NOW is not offered: tuples of the future are not known."
_RANGE_HINT = "write [RANGE INTERVAL '5' MINUTE], or [RANGE 300] (seconds)"
_BOUND_HINT = "a bound is NOW, NOW - 600 (seconds), NOW - INTERVAL '10' MINUTE or TIMESTAMP '2014-01-05 12:00:00'"


def window_syntax(reader: TokenReader) -> WindowSyntax:
    """Return the window that begins at the next token; the reader stands behind it."""
    start = expect(reader, "BEGIN", "BEGIN (...) before END (...)")
    begin = _bound(reader)
    expect(reader, "END", "END (...) after BEGIN (...)")
    end = _bound(reader)
    return WindowSyntax(begin, end, start.span.to(reader.last_span))


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
    at = reader.token
    offset = _reach(reader, "Expected seconds or an INTERVAL after RANGE", _RANGE_HINT)
    span = at.span.to(reader.last_span)
    us = _checked_offset(offset, span, "A RANGE reaches back from NOW.", _RANGE_HINT)
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
    elif start.kind is not TokenKind.STRING:
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
    offset = _reach(reader, "Expected seconds or an INTERVAL after NOW -", _BOUND_HINT)
    span = start.span.to(reader.last_span)
    return BoundSyntax(None, _checked_offset(offset, span, _FUTURE, _BOUND_HINT), span)


def _reach(reader: TokenReader, expected: str, hint: str) -> int | None:
    """Return the microseconds that seconds or an INTERVAL are; None where that is no whole number."""
    token = reader.token
    if token.keyword == "INTERVAL":
        return interval(reader).us
    if token.kind is TokenKind.NUMBER:
        return whole_us(reader.take().text, limits.SECOND_US)
    quoting = f"{expected}, found {shown(token)}."
    if token.kind is TokenKind.STRING:
        hint = "a length of time in quotes follows the word INTERVAL: INTERVAL '10 minutes'"
    raise Refused(
        SqlSyntaxError, f"{expected}, found {kind_of(token)}.", token.span, hint, quoting=quoting
    )


def _checked_offset(offset: int | None, span: Span, backwards: str, hint: str) -> int:
    if offset is None:
        raise Refused(
            SqlSyntaxError,
            "The offset is no whole number of microseconds, or one of more than 64 bits.",
            span,
            "a plain number counts seconds, at most six decimals; "
            f"a window reaches at most {limits.WINDOW_US_MAX // limits.SECOND_US} seconds back",
        )
    if offset < 0:
        raise Refused(UnsupportedSqlError, backwards, span, hint)
    if offset > limits.WINDOW_US_MAX:
        raise Refused(
            QueryTooComplexError,
            f"A window reaches at most {limits.WINDOW_US_MAX // limits.DAY_US} days back.",
            span,
            "leave BEGIN and END out to see everything that is kept",
            limit=limits.WINDOW_US_MAX,
            actual=offset,
        )
    return offset
