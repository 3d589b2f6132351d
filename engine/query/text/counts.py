"""Numbers of rows: what LIMIT, OFFSET and ROWS take, tokens to a number.

count := digits | parameter
"""

from typing import Final

from psoup.engine.errors import QueryTooComplexError, SqlSyntaxError, UnsupportedSqlError
from psoup.engine.query.text.parameter_values import unfit
from psoup.engine.query.text.reader import TokenReader, kind_of, shown
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.scanner import TokenKind
from psoup.engine.query.text.syntax import NumberSyntax

_DIGITS_MAX: Final = 19
"""Far above the limits, and told to clients as a number of 64 bits; keeps int() away from thousands of digits."""


def row_count(reader: TokenReader, keyword: str, *, most: int, hint: str) -> tuple[int, Span]:
    """Return the number of rows that the next token is, or that a parameter gives, and its place.

    Args:
        reader: left behind the number.
        keyword: that the number stands behind.
        most: the largest number that is taken.
        hint: what to write where there is another token.

    Raises:
        Refused: `unsupported-sql`, or `sql-syntax` where nothing stands there; `query-too-complex`; `invalid-field`.
    """
    token, digits = reader.token, reader.token.text
    span = token.span
    if token.kind is TokenKind.PARAMETER:
        constant = reader.take_constant()
        span = constant.span
        if not isinstance(constant, NumberSyntax) or not constant.text.isdigit():
            raise unfit(constant, "a whole number", f"give {keyword} a number like 10")
        digits = constant.text
    elif token.kind is TokenKind.NUMBER and digits.isdigit():
        reader.take()
    else:
        missing = token.kind is TokenKind.END or token.keyword == "]"
        raise Refused(
            SqlSyntaxError if missing else UnsupportedSqlError,
            f"Expected a whole number after {keyword}, found {kind_of(token)}.",
            span,
            hint,
            quoting=f"Expected a whole number after {keyword}, found {shown(token)}.",
        )
    digits = digits.lstrip("0") or "0"
    count = int(digits) if len(digits) < _DIGITS_MAX else 10 ** (_DIGITS_MAX - 1)
    if count > most:
        raise Refused(
            QueryTooComplexError,
            f"{keyword} is more than {most}: no answer has so many rows.",
            span,
            f"leave {keyword} out, or write a smaller number",
            limit=most,
            actual=count,
        )
    return count, span
