"""How large an expression in normal form is, and the refusal of what is too large."""

from typing import NamedTuple

from psoup.engine import limits
from psoup.engine.errors import QueryTooComplexError
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.values.expression import (
    AggregateCall,
    And,
    Call,
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
        calls: functions that are called.
    """

    factors: int
    height: int
    options: int
    calls: int = 0


_BOOL = ColumnType.BOOL
_MEASURED = (
    "Boolean factors",
    "Operators inside each other",
    "Constants of one IN list",
    "Calls of functions",
)
_VALUE = Size(0, 0, 0)
_FLAG = Size(1, 0, 0)
_TEST = Size(1, 1, 0)
_MOST = Size(
    limits.QUERY_FACTORS_MAX,
    limits.QUERY_DEPTH_MAX,
    limits.QUERY_IN_LIST_MAX,
    limits.QUERY_CALLS_MAX,
)


def measure(expression: Expression) -> Size:
    """Return the size of an expression in normal form."""
    match expression:
        case Constant() | ColumnRef():
            return _FLAG if expression.type is _BOOL else _VALUE
        case Compare(left=ColumnRef() as left, right=Constant()) if left.type is not _BOOL:
            return _TEST  # what most expressions are made of
        case InList(operand=operand, options=options):
            inner = measure(operand)
            longest = max(len(options), inner.options)
            return Size(max(1, inner.factors), inner.height + 1, longest, inner.calls)
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
            least = 1 if expression.type is _BOOL else 0  # of a value the conditions of its CASE
            calls = size.calls + isinstance(expression, Call)
            return Size(max(least, size.factors), size.height, size.options, calls)


def _joined(parts: tuple[Expression, ...]) -> Size:
    """Return the size of an operator above these parts."""
    factors = height = options = calls = 0
    for part in parts:
        size = measure(part)
        factors += size.factors
        height = max(height, size.height)
        options = max(options, size.options)
        calls += size.calls
    return Size(factors, height + 1, options, calls)


def check_size(expression: Expression, span: Span) -> None:
    """Refuse an expression that is over a limit in normal form, so that no canonical text is."""
    size = measure(expression)
    if (
        size.factors <= _MOST.factors
        and size.height <= _MOST.height
        and size.options <= _MOST.options
        and size.calls <= _MOST.calls
    ):
        return
    for what, actual, limit in zip(_MEASURED, size, _MOST, strict=True):
        if actual > limit:
            raise too_complex(what, actual, limit, span)


def check_repeated(expression: Expression, times: int, span: Span) -> None:
    """Refuse an expression that is to stand so often in a canonical text that this would be too long."""
    length = len(sql_expression(expression)) * times
    if length > limits.QUERY_TEXT_BYTES_MAX:
        raise too_complex("Bytes of the canonical text", length, limits.QUERY_TEXT_BYTES_MAX, span)


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
