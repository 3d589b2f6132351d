"""Calls of aggregates: from syntax to what they take, and of which type their result is.

Normal form: `COUNT` of a constant that is not NULL is `COUNT(*)`, `MIN(DISTINCT x)` is `MIN(x)`, `MAX` likewise, and
`FILTER (WHERE TRUE)` is none.
"""

from collections.abc import Callable
from typing import Final

from psoup.engine.errors import TypeMismatchError, UnsupportedSqlError
from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.bind.conditions.size import check_size
from psoup.engine.query.bind.expressions.coercion import alike, described, kind_of
from psoup.engine.query.bind.expressions.expression_binder import (
    Lookup,
    bind_expression,
    bind_predicate,
    over_rows,
)
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.syntax import AggregateSyntax, ColumnSyntax, ExpressionSyntax
from psoup.engine.query.values.expression import (
    AggregateCall,
    AggregateFunction as Function,
    Constant,
    Expression,
)
from psoup.engine.tuples.schema import ColumnType

_BOOL, _INT64, _FLOAT64 = ColumnType.BOOL, ColumnType.INT64, ColumnType.FLOAT64
_NUMBERS: Final = frozenset({_INT64, _FLOAT64})

_OF_PAIRS: Final = frozenset({Function.ARG_MIN, Function.ARG_MAX, Function.QUANTILE_CONT})
_OF_CONDITIONS: Final = frozenset({Function.BOOL_AND, Function.BOOL_OR})
_OF_ANYTHING: Final = frozenset(
    {
        Function.COUNT,
        Function.MIN,
        Function.MAX,
        Function.FIRST,
        Function.LAST,
        Function.ARG_MIN,
        Function.ARG_MAX,
    }
)
_DISTINCT: Final = frozenset(
    {Function.COUNT, Function.SUM, Function.AVG, Function.MIN, Function.MAX}
)
_EXTREMES: Final = frozenset({Function.MIN, Function.MAX})
_NESTED: Final = (
    "Aggregates do not nest.",
    "register the inner one as a query of its own, or aggregate the column itself",
)


def bind_aggregate(
    syntax: AggregateSyntax, column: Callable[[ColumnSyntax], Expression]
) -> AggregateCall:
    """Return the call, its arguments and its FILTER over the rows that `column` finds the columns of.

    Raises:
        Refused: as `bind_expression`; `unsupported-sql` for another number of arguments, DISTINCT where it means
            nothing, an aggregate inside; `type-mismatch` for values that the aggregate does not take.
    """
    function, lookup = syntax.function, over_rows(column, *_NESTED)
    _check_form(syntax)
    arguments = [_argument(syntax, one, lookup) for one in syntax.arguments[:1]]
    if len(syntax.arguments) > 1:
        second = syntax.arguments[1]
        taken = _fraction if function is Function.QUANTILE_CONT else _bound
        arguments.append(taken(second, lookup))
    where = None if syntax.filter is None else _filter(syntax.filter, lookup)
    distinct = syntax.distinct and function not in _EXTREMES
    counts_rows = function is Function.COUNT and not distinct
    if counts_rows and arguments and _is_known(arguments[0]):
        arguments = []
    return AggregateCall(function, tuple(arguments), distinct, where, _result(function, arguments))


def _check_form(syntax: AggregateSyntax) -> None:
    """Refuse a number of arguments that the aggregate does not take, and DISTINCT where it means nothing."""
    function, given = syntax.function, len(syntax.arguments)
    wanted = 2 if function in _OF_PAIRS else 1
    if given != wanted and (given or function is not Function.COUNT):
        raise Refused(
            UnsupportedSqlError,
            f"{function} takes {'two values' if wanted == 2 else 'one value'}, found {given}.",
            syntax.span,
            _forms(function),
        )
    if syntax.distinct and function not in _DISTINCT:
        raise Refused(
            UnsupportedSqlError,
            f"{function} takes no DISTINCT.",
            syntax.span,
            "DISTINCT stands in COUNT, SUM, AVG, MIN and MAX",
        )


def _forms(function: Function) -> str:
    if function is Function.QUANTILE_CONT:
        return "write QUANTILE_CONT(x, 0.9): a value, and a number from 0 to 1"
    if function in _OF_PAIRS:
        return f"write {function}(x, y): x of the row with the {_EXTREME_WORDS[function]} y"
    if function is Function.COUNT:
        return "write COUNT(*), COUNT(x) or COUNT(DISTINCT x), of several columns COUNT(DISTINCT a || ',' || b)"
    return f"write {function}(x)"


_EXTREME_WORDS: Final = {Function.ARG_MIN: "least", Function.ARG_MAX: "greatest"}


def _bound(syntax: ExpressionSyntax, lookup: Lookup) -> Expression:
    found = bind_expression(syntax, lookup)
    check_size(found, syntax.span)
    return found


def _argument(call: AggregateSyntax, syntax: ExpressionSyntax, lookup: Lookup) -> Expression:
    """Return what is aggregated, of a type that the aggregate takes."""
    found, function = _bound(syntax, lookup), call.function
    if function in _OF_ANYTHING:
        return found
    if function in _OF_CONDITIONS:
        if found.type is not _BOOL:
            raise _wrong(function, "a condition", found, syntax.span, "compare it: x > 5")
        return found
    if form.is_null(found):
        return Constant(None, _INT64)
    if found.type not in _NUMBERS:
        raise _wrong(function, "a number", found, syntax.span, _number_remedy(found))
    return found


def _number_remedy(found: Expression) -> str:
    if found.type is _BOOL:
        return "count conditions by COUNT(*) FILTER (WHERE condition)"
    if found.type is ColumnType.TIMESTAMP:
        return "of times there are MIN, MAX, FIRST, LAST, ARG_MIN, ARG_MAX and COUNT"
    return "aggregate a BIGINT or a DOUBLE"


def _fraction(syntax: ExpressionSyntax, lookup: Lookup) -> Constant:
    """Return the second argument of QUANTILE_CONT: which part of the values is less."""
    found = alike(bind_expression(syntax, lookup), syntax.span, _FLOAT64)
    number = found.value if isinstance(found, Constant) and found.type is _FLOAT64 else None
    if not isinstance(found, Constant) or not isinstance(number, float) or not 0 <= number <= 1:
        raise Refused(
            TypeMismatchError,
            "QUANTILE_CONT takes a constant from 0 to 1 as its second value.",
            syntax.span,
            "write 0.5 for the median, 0.99 for the value that 99 % stay below",
        )
    return found


def _filter(syntax: ExpressionSyntax, lookup: Lookup) -> Expression | None:
    found = form.where_form(bind_predicate(syntax, lookup))
    check_size(found, syntax.span)
    return None if found == form.TRUE else found


def _is_known(expression: Expression) -> bool:
    """Return whether this is a constant that is not NULL."""
    return isinstance(expression, Constant) and expression.value is not None


def _result(function: Function, arguments: list[Expression]) -> ColumnType:
    """Return the type of what an aggregate of these arguments comes to."""
    if function is Function.COUNT:
        return _INT64
    if function is Function.SUM or function in _OF_ANYTHING or function in _OF_CONDITIONS:
        return arguments[0].type
    return _FLOAT64


def _wrong(function: Function, wanted: str, found: Expression, span: Span, remedy: str) -> Refused:
    return Refused(
        TypeMismatchError,
        f"{function} takes {wanted}, found {kind_of(found)}.",
        span,
        remedy,
        quoting=f"{function} takes {wanted}, found {described(found)}.",
    )
