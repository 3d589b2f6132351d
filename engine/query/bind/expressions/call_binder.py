"""Calls of functions: arguments become what the table says that the function takes, and the call is in normal form.

A BIGINT beside a DOUBLE is cast to one, anything that is joined to a text is cast to VARCHAR; nothing else converts but
constants (`coercion.py`). Some functions are written in other words, which indexes and joins know: MOD as `%`, NULLIF
as CASE, STARTS_WITH and its kin with a constant as LIKE.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from psoup.engine import limits
from psoup.engine.errors import TypeMismatchError, UnsupportedSqlError
from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.bind.conditions.size import check_repeated, check_size, too_complex
from psoup.engine.query.bind.expressions.arithmetic_binder import bound_arithmetic
from psoup.engine.query.bind.expressions.coercion import alike, described, kind_of
from psoup.engine.query.bind.expressions.comparison_binder import Side, compared
from psoup.engine.query.functions.casts import CASTS
from psoup.engine.query.functions.function import Function, Takes
from psoup.engine.query.functions.table import CASE, CAST, FUNCTIONS, JOINED
from psoup.engine.query.functions.times import PARTS, UNITS_US_MAX
from psoup.engine.query.text.durations import duration_us
from psoup.engine.query.text.refusal import ParameterSpan, Refused, Span
from psoup.engine.query.text.syntax import (
    CallSyntax,
    ExpressionSyntax,
    IntervalSyntax,
    StringSyntax,
)
from psoup.engine.query.values.expression import (
    ArithmeticOp,
    Call,
    CompareOp,
    Constant,
    Expression,
)
from psoup.engine.query.values.like import ANY_ONE, ANY_RUN
from psoup.engine.tuples.schema import ColumnType

_INT64, _FLOAT64, _BOOL = ColumnType.INT64, ColumnType.FLOAT64, ColumnType.BOOL
_STRING, _TIMESTAMP = ColumnType.STRING, ColumnType.TIMESTAMP
_ESCAPE = "\\"
_NAMED: Final[Mapping[Takes, tuple[str, Mapping[str, object]]]] = {
    Takes.UNIT: ("a unit of time", UNITS_US_MAX),
    Takes.PART: ("a part of an instant", {**PARTS, "epoch": None}),
}
"""What constant texts name, and the names there are."""


def bound_call(syntax: CallSyntax, sides: Sequence[Side]) -> Expression:
    """Return the call of a function, in normal form.

    Args:
        syntax: the call; the number of its arguments is one that the function takes.
        sides: its arguments, bound, each with its place; an INTERVAL by `interval_us`.

    Raises:
        Refused: `type-mismatch`, or `unsupported-sql` for what has to be a constant.
    """
    function = FUNCTIONS[syntax.name]
    typed = [
        _taken(function, function.taken(place), expression, span)
        for place, (expression, span) in enumerate(sides)
    ]
    if function.taken(0) is Takes.ALIKE:
        typed = unified([(one, span) for one, (_, span) in zip(typed, sides, strict=True)])
    rewrite = _REWRITES.get(syntax.name)
    if rewrite is not None:
        return rewrite([(one, span) for one, (_, span) in zip(typed, sides, strict=True)])
    kind = typed[0].type if function.gives is None else function.gives
    return form.fold(Call(syntax.name, tuple(typed), kind))


def interval_us(syntax: ExpressionSyntax) -> Constant:
    """Return the BIGINT of microseconds that an INTERVAL is, or the text of a parameter as one.

    Raises:
        Refused: `type-mismatch`: it is anything else, or of no length.
    """
    us = syntax.us if isinstance(syntax, IntervalSyntax) else 0
    if isinstance(syntax, StringSyntax) and isinstance(syntax.span, ParameterSpan):
        us = duration_us(syntax.value, syntax.span)
    if 0 < us <= limits.WINDOW_US_MAX:
        return Constant(us, _INT64)
    raise Refused(
        TypeMismatchError,
        "Expected an INTERVAL above 0, of a century at most.",
        syntax.span,
        "write TIME_BUCKET(INTERVAL '5' MINUTE, ts)",
    )


def bound_cast(operand: Expression, span: Span, kind: ColumnType) -> Expression:
    """Return an expression as a value of another type, in normal form."""
    if form.is_null(operand):
        if kind is _BOOL:
            return Constant(None, _BOOL)
        # A bare NULL is a BOOLEAN, which is cast to no TIMESTAMP; a text is cast to every other type.
        null = Constant(None, _BOOL if kind is _STRING else _STRING)
        return form.fold(Call(CAST, (null,), kind))
    if operand.type is kind:
        return operand
    if (operand.type, kind) not in CASTS:
        raise Refused(
            TypeMismatchError,
            f"{kind_of(operand)} is not cast to {kind.sql_name}.",
            span,
            _CAST_HINTS.get((operand.type, kind), "cast to VARCHAR and from there"),
            quoting=f"{described(operand)} is not cast to {kind.sql_name}.",
        )
    return form.fold(Call(CAST, (operand,), kind))


def bound_case(branches: Sequence[tuple[Expression, Side]], default: Side) -> Expression:
    """Return CASE of conditions and results, in normal form."""
    results = unified([*[result for _, result in branches], default])
    parts = [
        part
        for (condition, _), result in zip(branches, results[:-1], strict=True)
        for part in (condition, result)
    ]
    return form.fold(Call(CASE, (*parts, results[-1]), results[-1].type))


def unified(sides: Sequence[Side]) -> list[Expression]:
    """Return expressions as values of one type: theirs, or DOUBLE of numbers of both types; NULL takes it on.

    Raises:
        Refused: `type-mismatch` where there is no such type.
    """
    known = [one for one, _ in sides if not form.is_null(one)]
    known.sort(key=lambda one: isinstance(one, Constant))  # constants take on what others are
    kinds = [one.type for one in known]
    kind = kinds[0] if kinds else _BOOL
    if _FLOAT64 in kinds:
        kind = _FLOAT64
    elif _TIMESTAMP in kinds:
        kind = _TIMESTAMP
    return [_as_kind(one, span, kind) for one, span in sides]


def _as_kind(expression: Expression, span: Span, kind: ColumnType) -> Expression:
    """Return an expression beside values of this type as one of them."""
    if form.is_null(expression):
        return Constant(None, kind)
    found = alike(expression, span, kind)
    if found.type is kind:
        return found
    if found.type is _INT64 and kind is _FLOAT64:
        return bound_cast(found, span, kind)
    raise Refused(
        TypeMismatchError,
        f"Expected {kind.sql_name} as beside it, found {kind_of(found)}.",
        span,
        f"write CAST(... AS {kind.sql_name}), or cast what stands beside it",
        quoting=f"Expected {kind.sql_name} as beside it, found {described(found)}.",
    )


def _taken(function: Function, takes: Takes, expression: Expression, span: Span) -> Expression:
    """Return an argument as its function takes it."""
    if takes in (Takes.ALIKE, Takes.ANY, Takes.INTERVAL):
        return expression
    if takes in _NAMED:
        return _named(takes, expression, span)
    if takes is Takes.PRINTED:
        if form.is_null(expression):
            return Constant(None, _STRING)
        return bound_cast(expression, span, _STRING)
    wanted = _KINDS[takes]
    if form.is_null(expression):
        return Constant(None, wanted[0])
    found = alike(expression, span, wanted[0]) if len(wanted) == 1 else expression
    if takes is Takes.DOUBLE and found.type is _INT64:
        return bound_cast(found, span, _FLOAT64)
    if found.type in wanted:
        return found
    raise Refused(
        TypeMismatchError,
        f"Expected {_WANTED[takes]}, found {kind_of(found)}.",
        span,
        f"write {function.usage}",
        quoting=f"Expected {_WANTED[takes]}, found {described(found)}.",
    )


def _named(takes: Takes, expression: Expression, span: Span) -> Constant:
    """Return the constant name of a unit or a part, as the table has it: in small letters, in the singular."""
    what, names = _NAMED[takes]
    listed = ", ".join(f"'{name}'" for name in names)
    if isinstance(expression, Constant) and isinstance(expression.value, str):
        name = expression.value.lower()
        for known in (name, name.removesuffix("s")):
            if known in names:
                return Constant(known, _STRING)
    raise Refused(
        UnsupportedSqlError,
        f"Expected {what} as a constant text.",
        span,
        f"write one of {listed}",
        quoting=f"Expected {what} as a constant text, found {described(expression)}.",
    )


def _modulo(sides: Sequence[Side]) -> Expression:
    return bound_arithmetic(ArithmeticOp.MODULO, *sides)


def _null_if(sides: Sequence[Side]) -> Expression:
    left, right = sides
    check_repeated(left[0], 2, left[1])
    equal = compared(CompareOp.EQ, left, right, left[1].to(right[1]))
    found = bound_case([(equal, (form.UNKNOWN, left[1]))], left)
    check_size(found, left[1])
    return found


def _liked(name: str, before: str, behind: str) -> Callable[..., Expression]:
    """Return what writes STARTS_WITH and its kin of a constant as LIKE: `before` and `behind` are its wildcards."""

    def rewrite(sides: Sequence[Side]) -> Expression:
        (text, _), (sought, _) = sides
        if isinstance(sought, Constant) and isinstance(sought.value, str):
            literal = _literal(sought.value)
            if len(literal) + 2 <= limits.QUERY_PATTERN_LENGTH_MAX:
                escape = _ESCAPE if literal != sought.value else None
                return form.like(text, f"{before}{literal}{behind}", escape)
        return form.fold(Call(name, (text, sought), _BOOL))

    return rewrite


def _literal(text: str) -> str:
    """Return the pattern that a text alone fits, with backslashes before wildcards."""
    special = (_ESCAPE, ANY_RUN, ANY_ONE)
    return "".join([_ESCAPE + one if one in special else one for one in text])


def _joined(sides: Sequence[Side]) -> Expression:
    """Return the texts joined: joined ones among them as what they join."""
    texts: list[Expression] = []
    for one, _ in sides:
        texts += one.arguments if isinstance(one, Call) and one.function == JOINED else (one,)
    if len(texts) > limits.QUERY_ARGUMENTS_MAX:
        span = sides[0][1].to(sides[-1][1])
        raise too_complex("Texts joined by ||", len(texts), limits.QUERY_ARGUMENTS_MAX, span)
    return form.fold(Call(JOINED, tuple(texts), _STRING))


def _part(sides: Sequence[Side]) -> Expression:
    (part, _), (instant, _) = sides
    if part == Constant("epoch", _STRING):
        return form.fold(Call("EPOCH", (instant,), _FLOAT64))
    return form.fold(Call("DATE_PART", (part, instant), _INT64))


_REWRITES: Mapping[str, Callable[[Sequence[Side]], Expression]] = {
    "MOD": _modulo,
    "NULLIF": _null_if,
    "STARTS_WITH": _liked("STARTS_WITH", "", ANY_RUN),
    "ENDS_WITH": _liked("ENDS_WITH", ANY_RUN, ""),
    "CONTAINS": _liked("CONTAINS", ANY_RUN, ANY_RUN),
    JOINED: _joined,
    "DATE_PART": _part,
}
"""What is written in other words, always or where it can be."""

_KINDS: Mapping[Takes, tuple[ColumnType, ...]] = {
    Takes.NUMBER: (_INT64, _FLOAT64),
    Takes.DOUBLE: (_FLOAT64,),
    Takes.BIGINT: (_INT64,),
    Takes.TEXT: (_STRING,),
    Takes.TIMESTAMP: (_TIMESTAMP,),
}
_WANTED: Mapping[Takes, str] = {
    Takes.NUMBER: "a number",
    Takes.DOUBLE: "a number",
    Takes.BIGINT: "a BIGINT",
    Takes.TEXT: "a text",
    Takes.TIMESTAMP: "a TIMESTAMP",
}
_CAST_HINTS: Mapping[tuple[ColumnType, ColumnType], str] = {
    (_TIMESTAMP, _INT64): "EPOCH(ts) gives its seconds since 1970",
    (_TIMESTAMP, _FLOAT64): "EPOCH(ts) gives its seconds since 1970",
    (_INT64, _TIMESTAMP): "declare the column as a timestamp, which may be sent in seconds",
    (_FLOAT64, _TIMESTAMP): "declare the column as a timestamp, which may be sent in seconds",
}
