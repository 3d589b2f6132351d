"""The values of parameters: each as the literal that it stands for, and what is refused of all of them.

A value is one leaf of the syntax, whatever it holds: the tokens decide what the text means, and no value is a token.
"""

import difflib
import math
from collections.abc import Iterable
from decimal import Decimal

from psoup.engine import limits
from psoup.engine.errors import ParameterError, QueryTooComplexError, TypeMismatchError
from psoup.engine.query.parameters import Parameters, ParameterValue
from psoup.engine.query.text.refusal import ParameterSpan, Refused, Span, wrong_parameters
from psoup.engine.query.text.scanner import Token, TokenKind
from psoup.engine.query.text.stray_characters import NO_CHARACTER
from psoup.engine.query.text.syntax import BooleanSyntax, NullSyntax, NumberSyntax, StringSyntax

ConstantSyntax = NumberSyntax | StringSyntax | BooleanSyntax | NullSyntax
_WHOLE_TEXT = Span(0, 0)
_NAMES_SHOWN_MAX = 5


def constant_of(token: Token, tokens: Iterable[Token], values: Parameters) -> ConstantSyntax:
    """Return the literal that the parameter `token` stands for, at the parameter's place.

    Args:
        token: the parameter.
        tokens: all tokens of the text.
        values: what was given.

    Raises:
        Refused: `invalid-field`, for this parameter and all others that were not given.
    """
    name = parameter_name(token)
    if name not in values:
        raise _not_given(tokens, values)
    value = values[name]
    span = ParameterSpan(token.span.start, token.span.past, name)
    if value is None:
        return NullSyntax(span)
    if isinstance(value, bool):
        return BooleanSyntax(value, span)
    if isinstance(value, str):
        return StringSyntax(value, span)
    return NumberSyntax(_number(value), span)


def parameter_name(token: Token) -> str:
    """Return the name of a parameter, which stands behind : or $."""
    return token.text[1:]


def unfit(constant: ConstantSyntax, expected: str, remedy: str) -> Refused:
    """Return the refusal of a parameter's value of another kind than is `expected`."""
    return Refused(
        TypeMismatchError,
        f"Expected {expected}, found {_KINDS[type(constant)]}.",
        constant.span,
        remedy,
    )


def check_values(text: str, tokens: Iterable[Token], values: Parameters) -> None:
    """Refuse texts among the values that are none, and values that make a text too long.

    A value is counted wherever its parameter stands, as if it had been written there.

    Raises:
        Refused: `invalid-field` or `query-too-complex`.
    """
    broken = [
        name
        for name, value in values.items()
        if isinstance(value, str) and NO_CHARACTER.search(value)
    ]
    if broken:
        raise Refused(
            ParameterError,
            "A value in params holds NUL or half of a surrogate pair, which are no characters of text.",
            _WHOLE_TEXT,
            "send plain Unicode text",
            errors=wrong_parameters(broken, "holds what is no character of text"),
        )
    sizes = {name: _size(value) for name, value in values.items()}
    size = len(text.encode())
    size += sum([sizes.get(parameter_name(one), 0) for one in _parameters(tokens)])
    if size > limits.QUERY_TEXT_BYTES_MAX:
        raise Refused(
            QueryTooComplexError,
            f"The text has {size} bytes with the values of its parameters;"
            f" {limits.QUERY_TEXT_BYTES_MAX} are accepted.",
            _WHOLE_TEXT,
            "split the query into several",
            limit=limits.QUERY_TEXT_BYTES_MAX,
            actual=size,
        )


def check_used(tokens: Iterable[Token], values: Parameters) -> None:
    """Refuse values of parameters that the text does not have. Raises Refused: `invalid-field`."""
    known = dict.fromkeys(map(parameter_name, _parameters(tokens)))
    unused = [name for name in values if name not in known]
    if not unused:
        return
    has = ", ".join([f":{name}" for name in list(known)[:_NAMES_SHOWN_MAX]])
    raise Refused(
        ParameterError,
        "A value is given for a parameter that the query does not have.",
        _WHOLE_TEXT,
        "leave the value out, or write the parameter where a constant stands: a > :name",
        quoting=f"The query has no parameter :{unused[0]}.",
        hint=f"it has {has}" if known else None,
        errors=wrong_parameters(unused, "is not a parameter of the query"),
    )


def _not_given(tokens: Iterable[Token], values: Parameters) -> Refused:
    missing: dict[str, Token] = {}
    for one in _parameters(tokens):
        if parameter_name(one) not in values:
            missing.setdefault(parameter_name(one), one)
    name, first = next(iter(missing.items()))
    known = set(map(parameter_name, _parameters(tokens)))
    near = difflib.get_close_matches(name, [one for one in values if one not in known], n=1)
    return Refused(
        ParameterError,
        "A parameter of the query has no value.",
        first.span,
        'give a value for each in params, beside sql: "params": {"name": 40}',
        quoting=f"The parameter {first.text} has no value.",
        hint=f"did you mean the {near[0]} of params?"
        if near
        else f'give one in params, beside sql: "params": {{"{name}": 40}}',
        errors=wrong_parameters(missing, "is missing: the query has this parameter"),
    )


def _parameters(tokens: Iterable[Token]) -> list[Token]:
    return [one for one in tokens if one.kind is TokenKind.PARAMETER]


def _number(value: float) -> str:
    """Return a number as a literal, a DOUBLE with a point; without an exponent, which no number of seconds has."""
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return repr(value)  # no literal, and refused as none that a DOUBLE holds
    text = format(Decimal(repr(value)), "f")
    return text if "." in text else f"{text}.0"


def _size(value: ParameterValue) -> int:
    return len(value.encode(errors="surrogatepass")) if isinstance(value, str) else len(str(value))


_KINDS: dict[type[ConstantSyntax], str] = {
    NumberSyntax: "a number",
    StringSyntax: "a text",
    BooleanSyntax: "TRUE or FALSE",
    NullSyntax: "NULL",
}
