"""How large an expression in normal form is, and the refusal of what is too large."""

from typing import NamedTuple

from psoup.engine import limits
from psoup.engine.errors import QueryTooComplexError
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.values.expression import (
    AggregateCall,
    And,
    ColumnRef,
    Compare,
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
from psoup.engine.tuples.schema import ColumnType


class Size(NamedTuple):
    """How large an expression is.

    Attributes:
        factors: leaf predicates: comparisons, IN, LIKE, IS NULL, columns that are conditions.
        height: operators above each other, as canonical SQL writes them.
        options: constants of its longest IN list.
    """

    factors: int
    height: int
    options: int


_BOOL = ColumnType.BOOL
_MEASURED = ("Boolean factors", "Operators inside each other", "Constants of one IN list")
_VALUE = Size(0, 0, 0)
_FLAG = Size(1, 0, 0)
_TEST = Size(1, 1, 0)
_MOST = Size(limits.QUERY_FACTORS_MAX, limits.QUERY_DEPTH_MAX, limits.QUERY_IN_LIST_MAX)


def measure(expression: Expression) -> Size:
    """Return the size of an expression in normal form."""
    match expression:
        case Constant() | ColumnRef():
            return _FLAG if expression.type is _BOOL else _VALUE
        case Compare(left=ColumnRef() as left, right=Constant()) if left.type is not _BOOL:
            return _TEST  # what most expressions are made of
        case InList(operand=operand, options=options):
            inner = measure(operand)
            return Size(max(1, inner.factors), inner.height + 1, max(len(options), inner.options))
        case Not(operand=InList() | Like() | IsNull() | IsTrue() as test):
            return measure(test)
        case And(operands=parts) | Or(operands=parts):
            return _joined(parts)
        case AggregateCall(filter=where):
            taken = expression.arguments if where is None else (*expression.arguments, where)
            least = 1 if expression.type is _BOOL else 0
            size = _joined(taken) if taken else _VALUE
            return Size(max(least, size.factors), size.height, size.options)
        case Not() | IsTrue():
            return _joined(children(expression))
        case _:
            size = _joined(children(expression))
            is_test = expression.type is _BOOL
            return Size(max(1, size.factors) if is_test else 0, size.height, size.options)


def _joined(parts: tuple[Expression, ...]) -> Size:
    """Return the size of an operator above these parts."""
    factors = height = options = 0
    for part in parts:
        size = measure(part)
        factors += size.factors
        height = max(height, size.height)
        options = max(options, size.options)
    return Size(factors, height + 1, options)


def check_size(expression: Expression, span: Span) -> None:
    """Refuse an expression that is over a limit in normal form, so that no canonical text is."""
    size = measure(expression)
    if (
        size.factors <= _MOST.factors
        and size.height <= _MOST.height
        and size.options <= _MOST.options
    ):
        return
    for what, actual, limit in zip(_MEASURED, size, _MOST, strict=True):
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
