"""What stands between WHERE and the window: groups, order and limit, tokens to syntax.

    shape := [GROUP BY or {, or}] [HAVING or] [ORDER BY order {, order}] [LIMIT n] [OFFSET n]
    order := or [ASC | DESC] [NULLS (FIRST | LAST)]

LIMIT and OFFSET may change places; `n` is a whole number, or a parameter that gives one.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from psoup.engine import limits
from psoup.engine.errors import QueryTooComplexError, UnsupportedSqlError
from psoup.engine.query.text.counts import row_count
from psoup.engine.query.text.expression_grammar import expression
from psoup.engine.query.text.reader import TokenReader, expect
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.text.syntax import (
    NO_SHAPE,
    ExpressionSyntax,
    OrderSyntax,
    ShapeSyntax,
)

_Entry = TypeVar("_Entry")
_FIRST: Final = frozenset({"GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"})
_SETS: Final = frozenset({"CUBE", "ROLLUP", "GROUPING"})
_OPERATORS: Final = frozenset("+-*/%")
_LIMIT_HINT = "LIMIT and OFFSET take whole numbers: LIMIT 10 OFFSET 20"


def shape_syntax(reader: TokenReader) -> ShapeSyntax:
    """Return what is said of groups, order and limit from the next token on; the reader stands behind it.

    Raises:
        Refused: `sql-syntax`, `unsupported-sql` or `query-too-complex` (lists that are too long, limits too large).
    """
    start = reader.token
    if start.keyword not in _FIRST:
        return NO_SHAPE
    keys: tuple[ExpressionSyntax, ...] = ()
    order: tuple[OrderSyntax, ...] = ()
    if reader.take_if("GROUP"):
        expect(reader, "BY", "BY after GROUP")
        _refuse_key_sets(reader)
        keys = _listed(reader, expression, "GROUP BY", limits.QUERY_KEYS_MAX)
    having = expression(reader) if reader.take_if("HAVING") else None
    if reader.take_if("ORDER"):
        expect(reader, "BY", "BY after ORDER")
        _refuse_all(reader)
        order = _listed(reader, _ordering, "ORDER BY", limits.QUERY_KEYS_MAX)
    limit, offset = _limits(reader)
    return ShapeSyntax(keys, having, order, limit, offset, start.span.to(reader.last_span))


def _refuse_key_sets(reader: TokenReader) -> None:
    """Refuse GROUP BY of several sets of keys, and of none."""
    token, following = reader.token, reader.following
    sets = token.keyword in _SETS and following.keyword in ("(", "SETS")
    if sets or (token.keyword == "(" and following.keyword == ")"):
        raise Refused(
            UnsupportedSqlError,
            f"GROUP BY {token.keyword} is not offered." if sets else "GROUP BY names no key.",
            token.span,
            "register one query for each set of keys; without GROUP BY all rows are one group",
        )
    _refuse_all(reader)


def _refuse_all(reader: TokenReader) -> None:
    """Refuse ALL in place of a list."""
    if reader.at("ALL"):
        raise Refused(
            UnsupportedSqlError,
            "ALL in place of a list is not offered.",
            reader.token.span,
            "write the columns, or the places of outputs: 1, 2",
        )


def _listed(
    reader: TokenReader, entry: Callable[[TokenReader], _Entry], what: str, at_most: int
) -> tuple[_Entry, ...]:
    found = [entry(reader)]
    while comma := reader.take_if(","):
        if len(found) == at_most:
            raise Refused(
                QueryTooComplexError,
                f"{what} has more than {at_most} entries.",
                comma.span,
                "leave some of them out",
                limit=at_most,
                actual=len(found) + 1,
            )
        found.append(entry(reader))
    return tuple(found)


def _ordering(reader: TokenReader) -> OrderSyntax:
    what = expression(reader)
    descending = reader.take_if("DESC") is not None
    if not descending:
        reader.take_if("ASC")
    nulls_first = False
    if reader.take_if("NULLS"):
        nulls_first = reader.take_if("FIRST") is not None
        if not nulls_first:
            expect(reader, "LAST", "FIRST or LAST after NULLS")
    return OrderSyntax(what, descending, nulls_first)


def _limits(reader: TokenReader) -> tuple[int | None, int]:
    """Return LIMIT, None where there is none, and OFFSET."""
    found: dict[str, int] = {}
    while (word := reader.token).keyword in ("LIMIT", "OFFSET") and word.keyword not in found:
        reader.take()
        most = limits.QUERY_LIMIT_MAX
        found[word.keyword], _ = row_count(reader, word.keyword, most=most, hint=_LIMIT_HINT)
        if reader.at(","):
            raise Refused(
                UnsupportedSqlError,
                f"{word.keyword} takes one number.",
                reader.token.span,
                "write LIMIT 10 OFFSET 20: ten rows behind the first twenty",
            )
        if reader.token.keyword in _OPERATORS:
            raise Refused(
                UnsupportedSqlError,
                f"{word.keyword} takes a number alone.",
                reader.token.span,
                _LIMIT_HINT,
            )
    return found.get("LIMIT"), found.get("OFFSET", 0)
