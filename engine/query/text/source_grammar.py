"""FROM: streams separated by commas, or joined.

    from   := FROM source { , source | CROSS JOIN source | [INNER] JOIN source ON or }
              [LEFT [OUTER] JOIN source ON or]
    source := name [window] [[AS] alias] [window]
    window := '[' RANGE reach ']' | '[' [PARTITION BY or {, or}] ROWS n ']'

A comma and CROSS JOIN mean the same; the conditions behind ON are conjuncts of WHERE, but for that of LEFT JOIN.
"""

from dataclasses import replace
from enum import Enum, auto
from typing import NoReturn

from psoup.engine import limits
from psoup.engine.errors import QueryTooComplexError, SqlSyntaxError, UnsupportedSqlError
from psoup.engine.query import dialect
from psoup.engine.query.text.expression_grammar import expression
from psoup.engine.query.text.reader import (
    COMMA_OR_FROM,
    TokenReader,
    alias,
    expect,
    kind_of,
    name,
    refuse_rest,
    shown,
)
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.text.row_window_grammar import ROW_WINDOW_WORDS, row_window_syntax
from psoup.engine.query.text.scanner import Token
from psoup.engine.query.text.syntax import RangeSyntax, RowsSyntax, SourceSyntax
from psoup.engine.query.text.window_grammar import range_syntax

_ON_HINT = "write JOIN b ON a.x = b.y, or FROM a, b WHERE a.x = b.y"


def sources_syntax(reader: TokenReader) -> tuple[SourceSyntax, ...]:
    """Return the sources of the FROM that begins at the next token; the reader stands behind them.

    Raises:
        Refused: `sql-syntax`, `unsupported-sql` (joins but inner ones and one LEFT JOIN),
            `query-too-complex` (too many).
    """
    expect(reader, "FROM", COMMA_OR_FROM)
    found = [_source(reader)]
    while True:
        start = reader.token
        kind = _joined(reader)
        if kind is None:
            return tuple(found)
        if found[-1].left:
            _refuse_behind_left(start, kind)
        if len(found) == limits.QUERY_STREAMS_MAX:
            raise Refused(
                QueryTooComplexError,
                f"FROM has more than {limits.QUERY_STREAMS_MAX} streams.",
                reader.token.span,
                "join fewer streams",
                limit=limits.QUERY_STREAMS_MAX,
                actual=len(found) + 1,
            )
        source = _source(reader)
        if kind is not _Join.PRODUCT:
            source = replace(_with_condition(reader, source), left=kind is _Join.LEFT)
        elif reader.at("ON") or reader.at("USING"):
            _refuse_condition(reader.token, start)
        found.append(source)


class _Join(Enum):
    """How a further source is joined: ON follows but for a product."""

    PRODUCT = auto()
    INNER = auto()
    LEFT = auto()


def _joined(reader: TokenReader) -> _Join | None:
    """Take what joins a further source, and return how; None where there is none."""
    if reader.take_if(","):
        return _Join.PRODUCT
    if reader.take_if("CROSS"):
        expect(reader, "JOIN", "JOIN after CROSS")
        return _Join.PRODUCT
    if reader.take_if("INNER"):
        expect(reader, "JOIN", "JOIN after INNER")
        return _Join.INNER
    if reader.take_if("LEFT"):
        reader.take_if("OUTER")
        _refuse_kind(reader)
        expect(reader, "JOIN", "JOIN after LEFT")
        return _Join.LEFT
    return _Join.INNER if reader.take_if("JOIN") else None


def _refuse_behind_left(joined: Token, kind: _Join) -> NoReturn:
    if kind is _Join.LEFT:
        raise Refused(
            UnsupportedSqlError,
            "FROM has one LEFT JOIN at most: this is a second one.",
            joined.span,
            "register a query for each of them, FROM a LEFT JOIN b and FROM a LEFT JOIN c, and put their rows together by"
            " the columns of a; or write an inner JOIN for one, before the LEFT JOIN",
        )
    raise Refused(
        UnsupportedSqlError,
        "A LEFT JOIN stands last in FROM: no stream is joined behind it.",
        joined.span,
        "write inner joins before it: FROM a JOIN c ON a.x = c.x LEFT JOIN b ON a.x = b.y",
    )


def _source(reader: TokenReader) -> SourceSyntax:
    token = reader.token
    if token.keyword == "(":
        what = "A subquery" if reader.following.keyword in ("SELECT", "WITH") else "A bracket"
        raise Refused(
            UnsupportedSqlError,
            f"{what} in FROM is not offered.",
            token.span,
            "FROM takes the name of a stream",
        )
    stream = name(reader, "the name of a stream")
    if reader.at("("):
        refuse_rest(reader, "the name of a stream, not a function")
    window = _window(reader, None)
    _refuse_kind(reader)
    called = alias(reader)
    window = _window(reader, window)
    _refuse_kind(reader)
    if isinstance(window, RowsSyntax):
        return SourceSyntax(stream, called, rows=window)
    return SourceSyntax(stream, called, window)


def _refuse_kind(reader: TokenReader) -> None:
    """Refuse a join of a kind that is no reserved word, and would be read as an alias."""
    kind = reader.token
    if kind.keyword in dialect.JOIN_KINDS and reader.following.keyword == "JOIN":
        raise Refused(
            UnsupportedSqlError,
            f"{kind.keyword} JOIN is not offered.",
            kind.span,
            dialect.JOIN_KINDS[kind.keyword],
        )


def _window(
    reader: TokenReader, before: RangeSyntax | RowsSyntax | None
) -> RangeSyntax | RowsSyntax | None:
    """Return the window at the next token, or the one that stood before the alias; None where neither is."""
    if not reader.at("["):
        return before
    if before is not None:
        raise Refused(
            UnsupportedSqlError,
            "A stream of FROM has one window.",
            reader.token.span,
            "leave one of the two out",
        )
    if reader.following.keyword in ROW_WINDOW_WORDS:
        return row_window_syntax(reader)
    return range_syntax(reader)


def _with_condition(reader: TokenReader, source: SourceSyntax) -> SourceSyntax:
    token = reader.token
    if token.keyword in dialect.CLAUSES and token.keyword != "ON":
        refuse_rest(reader, "ON and a condition")
    if not reader.take_if("ON"):
        raise Refused(
            SqlSyntaxError,
            f"Expected ON and a condition after JOIN, found {kind_of(token)}.",
            token.span,
            _ON_HINT,
            quoting=f"Expected ON and a condition after JOIN, found {shown(token)}.",
        )
    return replace(source, on=expression(reader))


def _refuse_condition(token: Token, joined: Token) -> NoReturn:
    what = "CROSS JOIN" if joined.keyword == "CROSS" else "A comma"
    raise Refused(UnsupportedSqlError, f"{what} takes no {token.keyword}.", token.span, _ON_HINT)
