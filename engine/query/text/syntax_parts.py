"""What lies below a node of syntax: the expressions inside an expression, and those of a query.

Who looks for names or calls in a text walks by these, so that a new kind of node needs one line here.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from psoup.engine.query.text.syntax import (
    AggregateSyntax,
    ArithmeticSyntax,
    BetweenSyntax,
    CallSyntax,
    CaseSyntax,
    CastSyntax,
    CompareSyntax,
    DistinctSyntax,
    ExpressionSyntax,
    InSyntax,
    IsSyntax,
    LikeSyntax,
    LogicalSyntax,
    NegateSyntax,
    NotSyntax,
    QuerySyntax,
    RowSyntax,
    ShapeSyntax,
    SourceSyntax,
    StarSyntax,
)


def operands(expression: ExpressionSyntax) -> tuple[ExpressionSyntax, ...]:
    """Return the expressions directly below this one, left to right."""
    parts = _PARTS.get(type(expression))
    return () if parts is None else parts(expression)


def _parts_of_case(node: CaseSyntax) -> tuple[ExpressionSyntax, ...]:
    ends = (node.operand,), *node.branches, (node.default,)
    return tuple(part for parts in ends for part in parts if part is not None)


def shown_expressions(query: QuerySyntax) -> tuple[ExpressionSyntax, ...]:
    """Return the expressions of select list, GROUP BY, HAVING and ORDER BY, in this order."""
    outputs = [one.what for one in query.outputs if not isinstance(one.what, StarSyntax)]
    return (*outputs, *expressions_of(query.shape))


def expressions_of(shape: ShapeSyntax) -> tuple[ExpressionSyntax, ...]:
    """Return the expressions of GROUP BY, HAVING and ORDER BY, in this order."""
    if shape.span is None:
        return ()
    having = () if shape.having is None else (shape.having,)
    return (*shape.keys, *having, *[entry.what for entry in shape.order])


def partition_keys(sources: Sequence[SourceSyntax]) -> tuple[ExpressionSyntax, ...]:
    """Return the expressions that the row windows of FROM partition by, in their order."""
    return tuple(key for one in sources if one.rows is not None for key in one.rows.keys)


def aggregates_in(expression: ExpressionSyntax) -> tuple[AggregateSyntax, ...]:
    """Return the aggregates that the expression calls, left to right."""
    if isinstance(expression, AggregateSyntax):
        return (expression,)
    return tuple(call for part in operands(expression) for call in aggregates_in(part))


def _parts_of_aggregate(node: AggregateSyntax) -> tuple[ExpressionSyntax, ...]:
    return node.arguments if node.filter is None else (*node.arguments, node.filter)


_PARTS: dict[type[ExpressionSyntax], Callable[[Any], tuple[ExpressionSyntax, ...]]] = {
    NegateSyntax: lambda node: (node.operand,),
    CallSyntax: attrgetter("arguments"),
    CastSyntax: lambda node: (node.operand,),
    CaseSyntax: _parts_of_case,
    RowSyntax: attrgetter("operands"),
    DistinctSyntax: attrgetter("left", "right"),
    AggregateSyntax: _parts_of_aggregate,
    NotSyntax: lambda node: (node.operand,),
    IsSyntax: lambda node: (node.operand,),
    LikeSyntax: lambda node: (node.operand,),
    ArithmeticSyntax: attrgetter("left", "right"),
    CompareSyntax: attrgetter("left", "right"),
    BetweenSyntax: attrgetter("operand", "low", "high"),
    InSyntax: lambda node: (node.operand, *node.options),
    LogicalSyntax: attrgetter("operands"),
}
"""What lies below a node, where anything does."""
