"""Bound expressions: trees of typed nodes over the columns of a FROM list.

Values, equal iff they are the same expression; `canonical.py` prints them, `evaluate.py` computes them.
NULL is unknown in every comparison (three-valued logic). Arithmetic that has no finite result (overflow
of int64, division by zero, a float that would be infinite, a timestamp that RFC 3339 cannot write) is
NULL, so no NaN or infinity ever exists.
"""

from collections.abc import Callable
from dataclasses import field, fields, replace
from enum import StrEnum
from typing import Any, Literal as OneOf, cast

from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Value = int | float | bool | str
"""A constant; timestamps are int microseconds, the node's type tells."""


class CompareOp(StrEnum):
    """The six comparisons."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


class ArithmeticOp(StrEnum):
    """`/` is always DOUBLE; `%` has the sign of its left side."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"


class AggregateFunction(StrEnum):
    """The aggregates, of the values of a group's rows that are not NULL; `COUNT(*)` counts rows.

    FIRST and LAST are by tuple time, then tuple ids, and take NULL as a value. ARG_MIN(x, y) is the x of the row with
    the least y, among rows with neither NULL. MEDIAN and QUANTILE_CONT(x, p) interpolate between two values.
    """

    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    VAR_SAMP = "VAR_SAMP"
    VAR_POP = "VAR_POP"
    STDDEV_SAMP = "STDDEV_SAMP"
    STDDEV_POP = "STDDEV_POP"
    MEDIAN = "MEDIAN"
    QUANTILE_CONT = "QUANTILE_CONT"
    BOOL_AND = "BOOL_AND"
    BOOL_OR = "BOOL_OR"
    FIRST = "FIRST"
    LAST = "LAST"
    ARG_MIN = "ARG_MIN"
    ARG_MAX = "ARG_MAX"


@value_type
class _Printed:
    """What every expression carries: its canonical text, once `canonical.py` has printed it.

    Operands are sorted by their text at every level of a tree: it is made once, and is no part of the value.
    """

    printed: str | None = field(default=None, init=False, repr=False, compare=False)


@value_type
class Constant(_Printed):
    """A literal. `value` None is NULL. An INTERVAL only ever occurs folded into a TIMESTAMP sum."""

    value: Value | None
    type: ColumnType


@value_type
class ColumnRef(_Printed):
    """Column `name` of the FROM list's `source`-th stream (0 = the first).

    `alias` is that source's canonical alias, "" where FROM has one source alone: how the column is printed. It
    follows from the FROM list, and is no part of the value either.
    """

    source: int
    name: str
    type: ColumnType
    alias: str = field(default="", repr=False, compare=False)


@value_type
class GroupKey(_Printed):
    """The `place`-th key of GROUP BY, read of a group; `expression` is the key, over rows, and how it is printed."""

    place: int
    expression: "Expression"
    type: ColumnType


@value_type
class AggregateCall(_Printed):
    """An aggregate of a group's rows.

    Attributes:
        function: which one.
        arguments: over rows: none for COUNT(*); two for ARG_MIN, ARG_MAX and QUANTILE_CONT, whose second is a
            DOUBLE `Constant` in [0, 1]; else one.
        distinct: values that are equal count once.
        filter: over rows: rows for which it is TRUE count; None = all.
        type: of the result.
    """

    function: AggregateFunction
    arguments: tuple["Expression", ...]
    distinct: bool
    filter: "Expression | None"
    type: ColumnType


@value_type
class Negate(_Printed):
    """-x of a number."""

    operand: "Expression"
    type: ColumnType


@value_type
class Call(_Printed):
    """A function of the table in `query/functions`, of arguments of the types that it takes.

    CASE is one too: condition and result in turn, then the result where no condition is TRUE. CAST turns its one
    argument into `type`.
    """

    function: str
    arguments: tuple["Expression", ...]
    type: ColumnType


@value_type
class Arithmetic(_Printed):
    """left op right. Both int64 -> int64 (but `/`), else float64; a timestamp plus or minus int64
    microseconds (an INTERVAL) -> timestamp; a timestamp minus another one -> int64 microseconds.
    """  # noqa: D205

    op: ArithmeticOp
    left: "Expression"
    right: "Expression"
    type: ColumnType


@value_type
class Compare(_Printed):
    """left op right; sides of one type, or both numbers (an int64 beside a float64 is taken as DOUBLE).

    Strings compare by code point, false < true.
    """

    op: CompareOp
    left: "Expression"
    right: "Expression"
    type: OneOf[ColumnType.BOOL] = ColumnType.BOOL


@value_type
class InList(_Printed):
    """operand IN (constants); at least one. A NULL constant makes a miss unknown."""

    operand: "Expression"
    options: tuple[Constant, ...]
    type: OneOf[ColumnType.BOOL] = ColumnType.BOOL


@value_type
class Like(_Printed):
    """operand LIKE pattern: `%` any run, `_` any one character, `escape` takes the next one literally."""

    operand: "Expression"
    pattern: str
    escape: str | None = None
    type: OneOf[ColumnType.BOOL] = ColumnType.BOOL


@value_type
class IsNull(_Printed):
    """operand IS NULL: never unknown."""

    operand: "Expression"
    type: OneOf[ColumnType.BOOL] = ColumnType.BOOL


@value_type
class IsTrue(_Printed):
    """operand IS TRUE: FALSE where the operand is FALSE or unknown, never unknown itself.

    IS FALSE is IS TRUE of the negation; IS NOT TRUE and IS NOT FALSE are a `Not` around either.
    """

    operand: "Expression"
    type: OneOf[ColumnType.BOOL] = ColumnType.BOOL


@value_type
class Not(_Printed):
    """NOT operand."""

    operand: "Expression"
    type: OneOf[ColumnType.BOOL] = ColumnType.BOOL


@value_type
class And(_Printed):
    """All of `operands`; two at least."""

    operands: tuple["Expression", ...]
    type: OneOf[ColumnType.BOOL] = ColumnType.BOOL


@value_type
class Or(_Printed):
    """Any of `operands`; two at least."""

    operands: tuple["Expression", ...]
    type: OneOf[ColumnType.BOOL] = ColumnType.BOOL


Expression = (
    Constant
    | ColumnRef
    | GroupKey
    | AggregateCall
    | Negate
    | Call
    | Arithmetic
    | Compare
    | InList
    | Like
    | IsNull
    | IsTrue
    | Not
    | And
    | Or
)


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions directly below this one, left to right.

    What a `GroupKey` or an `AggregateCall` holds is over rows: neither has anything below it that is over groups.
    """
    match expression:
        case Constant() | ColumnRef() | GroupKey() | AggregateCall():
            return ()
        case Negate(operand=one) | IsNull(operand=one) | Not(operand=one):
            return (one,)
        case Like(operand=one) | IsTrue(operand=one):
            return (one,)
        case Call(arguments=many):
            return many
        case InList(operand=one, options=options):
            return (one, *options)
        case Arithmetic(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case And(operands=many) | Or(operands=many):
            return many


def with_children(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return the expression with each one directly below it changed; itself where there is none."""
    if not children(expression):
        return expression
    changed: dict[str, Any] = {}
    for one in fields(expression):
        value = getattr(expression, one.name)
        if isinstance(value, _Printed):
            changed[one.name] = change(cast("Expression", value))
        elif isinstance(value, tuple):
            changed[one.name] = tuple([change(part) for part in value])
    return replace(expression, **changed)


def column_refs(expression: Expression) -> frozenset[ColumnRef]:
    """Return every column the expression reads."""
    if isinstance(expression, ColumnRef):
        return frozenset({expression})
    return frozenset[ColumnRef]().union(*(column_refs(child) for child in children(expression)))


def reads_columns(expression: Expression) -> bool:
    """Return whether the expression reads any column. Cost: up to the first one."""
    return isinstance(expression, ColumnRef) or any(map(reads_columns, children(expression)))


def sources_of(expression: Expression) -> frozenset[int]:
    """Return the places in FROM of the sources whose columns the expression reads."""
    if isinstance(expression, ColumnRef):
        return frozenset({expression.source})
    return frozenset[int]().union(*[sources_of(child) for child in children(expression)])
