"""Reading tokens one by one: the steps that every rule of the grammar takes, and their refusals."""

import difflib
from collections.abc import Mapping
from typing import NoReturn

from psoup.engine.errors import SqlSyntaxError, UnsupportedSqlError
from psoup.engine.query import dialect
from psoup.engine.query.canonical import sql_name, sql_text
from psoup.engine.query.parameters import NO_PARAMETERS, Parameters
from psoup.engine.query.text.durations import UNIT_HINT, duration_us, length_us, number_and_unit
from psoup.engine.query.text.parameter_values import ConstantSyntax, constant_of, unfit
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.scanner import Token, TokenKind
from psoup.engine.query.text.syntax import IntervalSyntax, Name, NumberSyntax, StringSyntax
from psoup.engine.query.time_literals import unit_us

_WORD, _QUOTED, _END = TokenKind.WORD, TokenKind.QUOTED, TokenKind.END
Keywords = frozenset[str] | Mapping[str, object]
"""Keywords and symbols, none of them empty."""
_TEXT_SHOWN_MAX = 40
AS_NAME = "as a name it stands in double quotes"
END_OF_QUERY = "the end of the query"
COMMA_OR_FROM = "a comma or FROM"


_KINDS = {
    TokenKind.WORD: "a word",
    TokenKind.QUOTED: "a name in double quotes",
    TokenKind.NUMBER: "a number",
    TokenKind.STRING: "a text in single quotes",
    TokenKind.PARAMETER: "a parameter",
    TokenKind.END: "the end of the text",
}


class UnexpectedError(Refused):
    """Something stands where the dialect has nothing: SQL that is not offered, or no SQL at all."""


class TokenReader:
    """A place in a row of tokens, moving forward.

    `token` is the next token; the END token for ever at the end.
    """

    __slots__ = ("_at", "_last", "_parameters", "_tokens", "token")

    def __init__(self, tokens: tuple[Token, ...], parameters: Parameters = NO_PARAMETERS) -> None:
        """Stand before the first token. `parameters` are the values that were given."""
        assert tokens[-1].kind is _END
        self._tokens = tokens
        self._parameters = parameters
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
    def last(self) -> Token:
        """The token taken last; the first one where none was."""
        return self._tokens[max(self._at - 1, 0)]

    @property
    def last_span(self) -> Span:
        """The span of the token taken last."""
        return self.last.span

    def take(self) -> Token:
        """Return the next token and move past it."""
        token = self.token
        if self._at < self._last:
            self._at += 1
            self.token = self._tokens[self._at]
        return token

    def take_constant(self) -> ConstantSyntax:
        """Take the parameter that is the next token, and return the literal that it stands for.

        Raises:
            Refused: `invalid-field`: it was not given.
        """
        assert self.token.kind is TokenKind.PARAMETER
        return constant_of(self.take(), self._tokens, self._parameters)

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
            AS_NAME,
            hint=f'{AS_NAME}: "{_whole_name(reader)}"',
        )
    if (kind is not _WORD and kind is not _QUOTED) or not token.text:
        text = kind is TokenKind.STRING
        raise Refused(
            SqlSyntaxError,
            f"Expected {what}, found {kind_of(token)}.",
            token.span,
            "single quotes make a text: a name stands without quotes, or in double ones"
            if text
            else "a parameter stands for a constant, not for a name"
            if token.kind is TokenKind.PARAMETER
            else f"write {what} here"
            if token.text != "["
            else "brackets quote nothing: a name with blanks stands in double quotes",
            quoting=f"Expected {what}, found {shown(token)}.",
            hint=f"single quotes make a text, a name is written {sql_name(token.text[:_TEXT_SHOWN_MAX])}"
            if text
            else None,
        )
    reader.take()
    return Name(token.text, kind is _QUOTED, token.span)


def _whole_name(reader: TokenReader) -> str:
    """Return the keyword that is the next token, with the word behind it that may be of the same name: Order ID."""
    word, following = reader.token, reader.following
    is_named = following.kind is _WORD and following.keyword not in dialect.RESERVED
    # In capitals it is meant as the keyword.
    if not is_named or word.text.isupper() or following.span.start != word.span.past + 1:
        return word.text
    return f"{word.text} {following.text}"


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
    """Return how a message to the query's author names a token."""
    return "the end of the text" if token.kind is _END else repr(token.text[:_TEXT_SHOWN_MAX])


def kind_of(token: Token) -> str:
    """Return how a message names a token that it does not quote: keywords and symbols are words of SQL."""
    if token.kind is TokenKind.SYMBOL:
        return f"the symbol {token.text}" if token.text.isascii() else "a symbol"
    if token.keyword in dialect.RESERVED:
        return f"the keyword {token.keyword}"
    return _KINDS[token.kind]


def refuse_rest(reader: TokenReader, expected: str) -> NoReturn:
    """Refuse what stands where a part of the query is finished and `expected` would follow."""
    token = reader.token
    known = dialect.CLAUSES.get(token.keyword)
    if known is not None:
        raise Refused(UnsupportedSqlError, f"{known[0]} is not offered.", token.span, known[1])
    remedy, hint = _rest_remedy(reader, expected)
    raise UnexpectedError(
        SqlSyntaxError,
        f"Expected {expected}, found {kind_of(token)}.",
        token.span,
        remedy,
        quoting=f"Expected {expected}, found {shown(token)}.",
        hint=hint,
    )


def _rest_remedy(reader: TokenReader, expected: str) -> tuple[str, str | None]:
    """Return what to do about the next token, which nothing may follow with; and the same quoting the text."""
    token, last = reader.token, reader.last
    ends = expected in (END_OF_QUERY, COMMA_OR_FROM) or expected.startswith("BEGIN")
    if last.kind is _WORD and last.keyword not in dialect.RESERVED:
        word = last.text[:_TEXT_SHOWN_MAX]
        near = difflib.get_close_matches(word.upper(), dialect.CLAUSE_WORDS, n=1, cutoff=0.7)
        if near:
            return (
                f"the word before it may be a misspelt {near[0]}",
                f"did you mean {near[0]} in place of {word}?",
            )
    if last.kind is _WORD and token.kind is TokenKind.NUMBER and token.span.start == last.span.past:
        return (
            "a name with a point stands in double quotes",
            f'a name with a point stands in double quotes: "{last.text}{token.text}"'[
                : _TEXT_SHOWN_MAX * 3
            ],
        )
    if token.keyword == "," and last.kind is TokenKind.NUMBER and expected == END_OF_QUERY:
        return "a decimal number has a point: 1.5", None
    known = dialect.RESTS.get(token.keyword)
    if known is not None and (ends or token.keyword not in dialect.CLAUSES_LATER):
        return known, None
    if expected == END_OF_QUERY:
        return "leave out what follows, or join conditions by AND", None
    if expected == COMMA_OR_FROM:
        return "columns are separated by commas; FROM and a stream stand behind the last", None
    return f"write {expected}", None


def expect(reader: TokenReader, keyword: str, expected: str) -> Token:
    """Take and return the keyword or symbol; refuse anything else."""
    token = reader.take_if(keyword)
    if token is None:
        refuse_rest(reader, expected)
    return token


def string(reader: TokenReader, what: str, remedy: str | None = None) -> StringSyntax:
    """Return the string that is the next token, or that it stands for; refuse anything else as not `what`.

    `remedy` says what to write in place of it, by default `what`.
    """
    token = reader.token
    if token.kind is TokenKind.PARAMETER:
        constant = reader.take_constant()
        if isinstance(constant, StringSyntax):
            return constant
        raise unfit(constant, what, "give a text")
    if token.kind is not TokenKind.STRING:
        quoted = token.kind is _QUOTED
        raise UnexpectedError(
            SqlSyntaxError,
            f"Expected {what}, found {kind_of(token)}.",
            token.span,
            "a text stands in single quotes; double quotes make a name"
            if quoted
            else remedy or f"write {what}",
            quoting=f"Expected {what}, found {shown(token)}.",
            hint=f"write it in single quotes: {sql_text(token.text[:_TEXT_SHOWN_MAX])}"
            if quoted
            else None,
        )
    reader.take()
    return StringSyntax(token.text, token.span)


def interval(reader: TokenReader) -> IntervalSyntax:
    """Return the interval literal at the next token: '6' HOUR, '6 hours' or 6 HOUR.

    Whether a unit follows a parameter is told by the text alone, so that no value decides over what follows.
    """
    start = reader.take()
    literal = reader.token
    if literal.kind is TokenKind.PARAMETER:
        return _interval_given(reader, start)
    reader.take()
    number, unit = number_and_unit(literal.text, literal.span)
    unit_span = literal.span
    if not unit:
        unit, unit_span = _unit(reader)
    us = length_us(number, unit, number_span=literal.span, unit_span=unit_span)
    return IntervalSyntax(us, start.span.to(reader.last_span))


def _interval_given(reader: TokenReader, start: Token) -> IntervalSyntax:
    """Return the interval whose number, or number and unit, the parameter gives that is the next token."""
    constant = reader.take_constant()
    if not isinstance(constant, NumberSyntax | StringSyntax):
        raise unfit(constant, "a length of time", "give a text: 10 minutes")
    text = constant.value if isinstance(constant, StringSyntax) else constant.text
    if unit_us(reader.token.keyword) is None:
        us = duration_us(text, constant.span)
    else:
        unit, unit_span = _unit(reader)
        us = length_us(text, unit, number_span=constant.span, unit_span=unit_span)
    return IntervalSyntax(us, start.span.to(reader.last_span))


def _unit(reader: TokenReader) -> tuple[str, Span]:
    """Return the unit of time that is the next token, and its place."""
    token = reader.token
    if token.kind is not _WORD or token.keyword in dialect.RESERVED:
        raise Refused(
            SqlSyntaxError,
            f"Expected a unit, found {kind_of(token)}.",
            token.span,
            UNIT_HINT,
            quoting=f"Expected a unit, found {shown(token)}.",
        )
    reader.take()
    return token.text, token.span
