"""The window of one source that counts rows: tokens to syntax.

    window := bracket [PARTITION BY or {, or}] ROWS n bracket

The brackets are square ones.
"""

from typing import Final

from psoup.engine import limits
from psoup.engine.errors import QueryTooComplexError, SqlSyntaxError, UnsupportedSqlError
from psoup.engine.query.text.counts import row_count
from psoup.engine.query.text.expression_grammar import expression
from psoup.engine.query.text.reader import TokenReader, expect, kind_of, shown
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.text.syntax import ExpressionSyntax, RowsSyntax

ROW_WINDOW_WORDS: Final = frozenset({"PARTITION", "ROWS"})
"""The words behind the bracket that tell a window that counts rows."""

_HINT: Final = "write [ROWS 100], or [PARTITION BY a, b ROWS 1]"


def row_window_syntax(reader: TokenReader) -> RowsSyntax:
    """Return the window that begins at the next token, `[`; the reader stands behind it.

    Raises:
        Refused: as `expression` does; `sql-syntax`; `unsupported-sql` for a count that is no whole number of at least
            1; `query-too-complex` for a larger one than the limit, or for too many keys.
    """
    start = reader.take()
    keys = _keys(reader) if reader.take_if("PARTITION") else ()
    if not reader.take_if("ROWS"):
        raise _unexpected(reader, "ROWS and a number")
    count = _count(reader)
    if not reader.at("]"):
        raise _unexpected(reader, "a closing bracket behind the window")
    return RowsSyntax(count, keys, start.span.to(reader.take().span))


def _keys(reader: TokenReader) -> tuple[ExpressionSyntax, ...]:
    expect(reader, "BY", "BY after PARTITION")
    found = [expression(reader)]
    while comma := reader.take_if(","):
        if len(found) == limits.QUERY_KEYS_MAX:
            raise Refused(
                QueryTooComplexError,
                f"PARTITION BY has more than {limits.QUERY_KEYS_MAX} entries.",
                comma.span,
                "leave some of them out",
                limit=limits.QUERY_KEYS_MAX,
                actual=len(found) + 1,
            )
        found.append(expression(reader))
    return tuple(found)


def _count(reader: TokenReader) -> int:
    count, span = row_count(reader, "ROWS", most=limits.QUERY_WINDOW_ROWS_MAX, hint=_HINT)
    if not count:
        raise Refused(
            UnsupportedSqlError,
            "A window of 0 rows shows nothing.",
            span,
            "write a number from 1 on",
        )
    return count


def _unexpected(reader: TokenReader, expected: str) -> Refused:
    token = reader.token
    return Refused(
        SqlSyntaxError,
        f"Expected {expected}, found {kind_of(token)}.",
        token.span,
        _HINT,
        quoting=f"Expected {expected}, found {shown(token)}.",
    )
