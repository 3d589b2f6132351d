"""How large an expression in normal form is, and the refusal of what is too large."""

from dataclasses import dataclass

from engine import limits
from engine.errors import QueryTooComplexError
from engine.query.expression import (
    And,
    ColumnRef,
    Constant,
    Expression,
    InList,
    IsNull,
    IsTrue,
    Like,
    Not,
    Or,
    children,
)
from engine.query.refusal import Refused, Span
from engine.tuples.schema import ColumnType


@dataclass(frozen=True, slots=True)
class Size:
    """How large an expression is.

    Attributes:
        factors: leaf predicates: comparisons, IN, LIKE, IS NULL, columns that are conditions.
        height: operators above each other, as canonical SQL writes them.
        options: constants of its longest IN list.
    """

    factors: int
    height: int
    options: int


def measure(expression: Expression) -> Size:
    """Return the size of an expression in normal form."""
    match expression:
        case Constant() | ColumnRef():
            return Size(int(expression.type is ColumnType.BOOL), 0, 0)
        case InList(operand=operand, options=options):
            inner = measure(operand)
            return Size(max(1, inner.factors), inner.height + 1, max(len(options), inner.options))
        case Not(operand=InList() | Like() | IsNull() | IsTrue() as test):
            return measure(test)
        case _:
            parts = [measure(part) for part in children(expression)]
            joins = isinstance(expression, And | Or | Not | IsTrue)
            factors = sum(part.factors for part in parts)
            return Size(
                factors if joins else max(1, factors) * (expression.type is ColumnType.BOOL),
                1 + max(part.height for part in parts),
                max(part.options for part in parts),
            )


def check_size(expression: Expression, span: Span) -> None:
    """Refuse an expression that is over a limit in normal form, so that no canonical text is."""
    size = measure(expression)
    for what, actual, limit in (
        ("Boolean factors", size.factors, limits.QUERY_FACTORS_MAX),
        ("Operators inside each other", size.height, limits.QUERY_DEPTH_MAX),
        ("Constants of one IN list", size.options, limits.QUERY_IN_LIST_MAX),
    ):
        if actual > limit:
            raise too_complex(what, actual, limit, span)


def too_complex(what: str, actual: int, limit: int, span: Span) -> Refused:
    """Return the refusal of something of which there is more than its limit."""
    return Refused(
        QueryTooComplexError,
        f"{what}: {actual}; {limit} are accepted.",
        span,
        "split the query into several",
        limit=limit,
        actual=actual,
    )
