"""Query text to tokens, each knowing its place. Linear in the text; brackets are counted on the way.

The nesting is bounded here, before anything that recurses sees the text.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

from engine import limits
from engine.errors import QueryTooComplexError, SqlSyntaxError
from engine.query.refusal import Refused, Span

_TOKEN = re.compile(
    r"""
      (?P<skip>   \s+ | --[^\n]* | /\*(?:[^*]|\*(?!/))*+\*/ )
    | (?P<word>   [^\W\d]\w* )
    | (?P<number> (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)? )
    | (?P<string> '(?:[^']|'')*+' )
    | (?P<quoted> "(?:[^"]|"")*+" )
    | (?P<open>   '|"|/\* )
    | (?P<symbol> <>|!=|<=|>=|==|\|\||::|->>|->|&&|<<|>>|. )
    """,
    re.VERBOSE | re.DOTALL,
)
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
    SYMBOL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A token: `text` as written, but without quotes for strings and quoted names.

    `keyword` is the text in capitals for an ASCII word or a symbol, else "".
    """

    kind: TokenKind
    text: str
    keyword: str
    span: Span


_KINDS = {
    "word": TokenKind.WORD,
    "number": TokenKind.NUMBER,
    "string": TokenKind.STRING,
    "quoted": TokenKind.QUOTED,
    "symbol": TokenKind.SYMBOL,
}


def scan(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text, an END token last.

    Raises:
        Refused: something is left open, a number runs into a word, brackets nest too deep.
    """
    tokens: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(text):
        group = match.lastgroup
        assert group is not None, "one of the groups matches any character"
        if group == "skip":
            continue
        span = Span(match.start(), match.end())
        if group == "open":
            detail, hint = _OPENED[match[0]]
            raise Refused(SqlSyntaxError, detail, span, hint)
        token = _token(_KINDS[group], match[0], span)
        _check_number(tokens, token)
        depth += (token.keyword in ("(", "[", "{")) - (token.keyword in (")", "]", "}"))
        if depth > limits.QUERY_DEPTH_MAX:
            raise Refused(
                QueryTooComplexError,
                f"Brackets nest deeper than {limits.QUERY_DEPTH_MAX}.",
                span,
                "write the expression with fewer brackets inside each other",
                limit=limits.QUERY_DEPTH_MAX,
                actual=depth,
            )
        tokens.append(token)
    tokens.append(Token(TokenKind.END, "", "", Span(len(text), len(text))))
    return tuple(tokens)


def _token(kind: TokenKind, raw: str, span: Span) -> Token:
    if kind in (TokenKind.STRING, TokenKind.QUOTED):
        return Token(kind, raw[1:-1].replace(raw[0] * 2, raw[0]), "", span)
    # Letters outside ASCII may have ASCII capitals (the long s has S): they make no keyword.
    keyword = raw.upper() if kind is not TokenKind.NUMBER and raw.isascii() else ""
    return Token(kind, raw, keyword, span)


def _check_number(before: list[Token], token: Token) -> None:
    if (
        token.kind in (TokenKind.WORD, TokenKind.NUMBER)
        and before
        and before[-1].kind is TokenKind.NUMBER
        and before[-1].span.past == token.span.start
    ):
        raise Refused(
            SqlSyntaxError,
            f"A number runs into {token.text[:20]!r}.",
            before[-1].span.to(token.span),
            "separate the two, or quote a name that begins with a digit",
        )
