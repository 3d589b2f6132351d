"""Query text to tokens, each knowing its place. Linear in the text; brackets and CASE are counted on the way.

The nesting is bounded here, before anything that recurses sees the text.
"""

import re
from collections.abc import Iterable
from enum import Enum, auto

from psoup.engine import limits
from psoup.engine.errors import QueryTooComplexError, SqlSyntaxError
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.stray_characters import is_stray, stray
from psoup.engine.query.time_literals import spelled_unit
from psoup.engine.tuples.value_type import value_type

_TOKEN = re.compile(
    r"""
      ((?: \s+ | --[^\n]* | /\*(?:[^*]|\*(?!/))*+\*/ )*+)         # what is skipped; then
    (?: ([^\W\d]\w*)                                             # a word,
      | ((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)    # a number,
      | ( [:$][^\W\d]\w*                                          # a parameter,
        | '(?:[^']|'')*+' | "(?:[^"]|"")*+"                       # a string, a quoted name,
        | '|"|/\*                                                 # the beginning of what is left open,
        | <>|!=|<=|>=|==|\|\||::|->>|->|&&|<<|>>|. )              # a symbol,
      | \Z                                                       # or nothing more
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_NESTING = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1, "CASE": 1, "END": -1}
_OPENED = {
    "'": (
        "The string is never closed.",
        "close it with '; a quote inside is written twice: 'it''s'",
    ),
    '"': ("The quoted name is never closed.", 'close it with "'),
    "/*": ("The comment is never closed.", "close it with */"),
}


class TokenKind(Enum):
    """What a token is."""

    WORD = auto()
    QUOTED = auto()
    NUMBER = auto()
    STRING = auto()
    PARAMETER = auto()
    SYMBOL = auto()
    END = auto()


@value_type
class Token:
    """A token: `text` as written, but without quotes for strings and quoted names.

    `keyword` is the text in capitals for an ASCII word or a symbol, else "".
    """

    kind: TokenKind
    text: str
    keyword: str
    span: Span


_WORD, _NUMBER, _SYMBOL = TokenKind.WORD, TokenKind.NUMBER, TokenKind.SYMBOL
_QUOTES = {"'": TokenKind.STRING, '"': TokenKind.QUOTED}


def scan(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text, an END token last.

    Raises:
        Refused: something is left open, a number runs into a word, brackets nest too deep.
    """
    tokens: list[Token] = []
    past = 0
    number_past = -1
    for skipped, word, number, other in _TOKEN.findall(text):
        start = past + len(skipped)
        if word:
            past = start + len(word)
            if start == number_past:
                raise _runs_into(tokens[-1], word, Span(start, past))
            # Letters outside ASCII may have ASCII capitals (the long s has S): they make no keyword.
            keyword = word.upper() if word.isascii() else ""
            tokens.append(Token(_WORD, word, keyword, Span(start, past)))
        elif number:
            past = start + len(number)
            if start == number_past:
                raise _runs_into(tokens[-1], number, Span(start, past))
            number_past = past
            tokens.append(Token(_NUMBER, number, "", Span(start, past)))
        elif other:
            past = start + len(other)
            if len(other) == 1 and is_stray(other):
                raise stray(text, start)
            tokens.append(_other(other, Span(start, past)))
    tokens.append(Token(TokenKind.END, "", "", Span(len(text), len(text))))
    _check_nesting(tokens)
    return tuple(tokens)


def _check_nesting(tokens: Iterable[Token]) -> None:
    """Refuse brackets and CASE that nest too deep; an END outside of CASE is that of a window."""
    depth = cases = 0
    for token in tokens:
        step = _NESTING.get(token.keyword)
        if step is None:
            continue
        if token.kind is _WORD:
            if cases + step < 0:
                continue
            cases += step
        depth += step
        if depth > limits.QUERY_DEPTH_MAX:
            raise _too_deep(depth, token.span)


def _other(raw: str, span: Span) -> Token:
    """Return the token of a symbol, of a parameter, or of what quotes hold; refuse what is never closed."""
    kind = _QUOTES.get(raw[0])
    if kind is None and raw != "/*":
        if raw[0] in ":$" and raw != "::" and len(raw) > 1:
            return _parameter(raw, span)
        return Token(_SYMBOL, raw, raw, span)
    if kind is None or len(raw) == 1:
        raise Refused(SqlSyntaxError, _OPENED[raw][0], span, _OPENED[raw][1])
    return Token(kind, raw[1:-1].replace(raw[0] * 2, raw[0]), "", span)


def _parameter(raw: str, span: Span) -> Token:
    if len(raw) - 1 > limits.QUERY_PARAMETER_NAME_LENGTH_MAX:
        raise Refused(
            QueryTooComplexError,
            f"The name of a parameter has more than {limits.QUERY_PARAMETER_NAME_LENGTH_MAX} characters.",
            span,
            "give it a shorter name",
            limit=limits.QUERY_PARAMETER_NAME_LENGTH_MAX,
            actual=len(raw) - 1,
        )
    return Token(TokenKind.PARAMETER, raw, "", span)


def _too_deep(depth: int, span: Span) -> Refused:
    return Refused(
        QueryTooComplexError,
        f"Brackets and CASE nest deeper than {limits.QUERY_DEPTH_MAX}.",
        span,
        "write the expression with fewer brackets inside each other",
        limit=limits.QUERY_DEPTH_MAX,
        actual=depth,
    )


def _runs_into(number: Token, raw: str, span: Span) -> Refused:
    remedy = "separate the two; a name that begins with a digit stands in double quotes"
    unit = spelled_unit(raw)
    hint = None
    if unit is not None:
        remedy = "a length of time is INTERVAL '10' MINUTE, or a plain number of seconds"
        hint = f"write INTERVAL '{number.text[:20]}' {unit}"
    elif raw[:1] in "_xXoObB":
        remedy = "numbers are written in decimal digits without separators: 16, 1000, 1.5e3"
    return Refused(
        SqlSyntaxError,
        "A number runs into a word, or into another number.",
        number.span.to(span),
        remedy,
        quoting=f"A number runs into {raw[:20]!r}.",
        hint=hint,
    )
