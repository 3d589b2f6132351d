"""Reading tokens one by one: the steps that every rule of the grammar takes, and their refusals."""

from collections.abc import Mapping
from typing import NoReturn

from engine.errors import SqlSyntaxError, UnsupportedSqlError
from engine.query import dialect
from engine.query.instant import split_duration, unit_us, whole_us
from engine.query.refusal import Refused, Span
from engine.query.scanner import Token, TokenKind
from engine.query.syntax import IntervalSyntax, Name, StringSyntax

_WORD, _QUOTED, _END = TokenKind.WORD, TokenKind.QUOTED, TokenKind.END
Keywords = frozenset[str] | Mapping[str, object]
"""Keywords and symbols, none of them empty."""
_NUMBER_SHOWN_MAX = 20
UNIT_HINT = (
    "units are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY and WEEK: INTERVAL '6' HOUR"
)


class UnexpectedError(Refused):
    """Something stands where the dialect has nothing: SQL that is not offered, or no SQL at all."""


class TokenReader:
    """A place in a row of tokens, moving forward.

    `token` is the next token; the END token for ever at the end.
    """

    __slots__ = ("_at", "_last", "_tokens", "token")

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        """Stand before the first token."""
        assert tokens[-1].kind is _END
        self._tokens = tokens
        self._at = 0
        self._last = len(tokens) - 1
        self.token = tokens[0]

    @property
    def following(self) -> Token:
        """The token after the next one."""
        return self.peek(1)

    def peek(self, ahead: int) -> Token:
        """Return the token `ahead` places after the next one."""
        return self._tokens[min(self._at + ahead, self._last)]

    @property
    def last_span(self) -> Span:
        """The span of the token taken last."""
        return self._tokens[max(self._at - 1, 0)].span

    def take(self) -> Token:
        """Return the next token and move past it."""
        token = self.token
        if self._at < self._last:
            self._at += 1
            self.token = self._tokens[self._at]
        return token

    def take_if(self, keyword: str) -> Token | None:
        """Take and return the next token if it is this keyword or symbol; else leave it and return None."""
        return self.take() if self.token.keyword == keyword else None

    def take_any(self, keywords: Keywords) -> Token | None:
        """Take and return the next token if it is one of these; else leave it and return None."""
        return self.take() if self.token.keyword in keywords else None

    def at(self, keyword: str) -> bool:
        """Return whether the next token is this keyword or symbol."""
        return self.token.keyword == keyword


def name(reader: TokenReader, what: str) -> Name:
    """Return the name that is the next token; refuse anything else as not `what`."""
    token = reader.token
    kind = token.kind
    if kind is _WORD and token.keyword in dialect.RESERVED:
        raise Refused(
            SqlSyntaxError,
            f"Expected {what}, found the keyword {token.keyword}.",
            token.span,
            f'as a name it is written in quotes: "{token.text}"',
        )
    if (kind is not _WORD and kind is not _QUOTED) or not token.text:
        raise Refused(
            SqlSyntaxError,
            f"Expected {what}, found {shown(token)}.",
            token.span,
            f"write {what} here",
        )
    reader.take()
    return Name(token.text, kind is _QUOTED, token.span)


def alias(reader: TokenReader) -> Name | None:
    """Return the alias at the next token, AS or not, or None."""
    if reader.take_if("AS"):
        return name(reader, "an alias")
    token = reader.token
    if token.kind is _QUOTED or (
        token.kind is _WORD
        and token.keyword not in dialect.RESERVED
        and token.keyword not in dialect.CLAUSES
    ):
        return name(reader, "an alias")
    return None


def shown(token: Token) -> str:
    """Return how a message names a token."""
    return "the end of the text" if token.kind is _END else repr(token.text[:40])


def refuse_rest(reader: TokenReader, expected: str) -> NoReturn:
    """Refuse what stands where a part of the query is finished and `expected` would follow."""
    token = reader.token
    known = dialect.CLAUSES.get(token.keyword)
    if known is not None:
        raise Refused(UnsupportedSqlError, f"{known[0]} is not offered.", token.span, known[1])
    raise UnexpectedError(
        SqlSyntaxError,
        f"Expected {expected}, found {shown(token)}.",
        token.span,
        f"write {expected}",
    )


def expect(reader: TokenReader, keyword: str, expected: str) -> Token:
    """Take and return the keyword or symbol; refuse anything else."""
    token = reader.take_if(keyword)
    if token is None:
        refuse_rest(reader, expected)
    return token


def string(reader: TokenReader, what: str) -> StringSyntax:
    """Return the string that is the next token; refuse anything else as not `what`."""
    token = reader.token
    if token.kind is not TokenKind.STRING:
        raise UnexpectedError(
            SqlSyntaxError, f"Expected {what}, found {shown(token)}.", token.span, f"write {what}"
        )
    reader.take()
    return StringSyntax(token.text, token.span)


def interval(reader: TokenReader) -> IntervalSyntax:
    """Return the interval literal at the next token: '6' HOUR, '6 hours' or 6 HOUR."""
    start, literal = reader.take(), reader.take()
    parts = split_duration(literal.text)
    if parts is None:
        raise Refused(
            UnsupportedSqlError,
            "An INTERVAL is one number and one unit.",
            literal.span,
            UNIT_HINT,
        )
    number, unit = parts
    unit_span = literal.span
    if not unit:
        token = reader.token
        if token.kind is not _WORD or token.keyword in dialect.RESERVED:
            raise Refused(
                SqlSyntaxError, f"Expected a unit, found {shown(token)}.", token.span, UNIT_HINT
            )
        reader.take()
        unit, unit_span = token.text, token.span
    length = unit_us(unit)
    if length is None:
        raise Refused(
            UnsupportedSqlError, f"INTERVAL has no unit {unit[:20]!r}.", unit_span, UNIT_HINT
        )
    us = whole_us(number, length)
    if us is None:
        raise Refused(
            SqlSyntaxError,
            f"{number[:_NUMBER_SHOWN_MAX]!r} is no number of whole microseconds.",
            literal.span,
            UNIT_HINT,
        )
    return IntervalSyntax(us, start.span.to(reader.last_span))
