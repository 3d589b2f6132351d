"""IN: a value among constants, or a row of values among rows of constants."""

from collections.abc import Callable

from psoup.engine import limits
from psoup.engine.errors import TypeMismatchError, UnsupportedSqlError
from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.bind.conditions.size import check_repeated, check_size, too_complex
from psoup.engine.query.bind.expressions.coercion import alike
from psoup.engine.query.bind.expressions.comparison_binder import Side, compared
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.text.syntax import ExpressionSyntax, InSyntax, RowSyntax
from psoup.engine.query.values.expression import CompareOp, Constant, Expression

_EQ = CompareOp.EQ
_Bind = Callable[[ExpressionSyntax], Side]
"""From the syntax of an expression to what it means."""


def bound_in(syntax: InSyntax, bind: _Bind) -> Expression:
    """Return whether a value, or a row of values, is one of a list, in normal form.

    Raises:
        Refused: as `bind` does; `type-mismatch` for constants that do not compare with the value, and for rows of
            another length; `unsupported-sql` for an option that is no constant; `query-too-complex`.
    """
    if len(syntax.options) > limits.QUERY_IN_LIST_MAX:
        past = syntax.options[limits.QUERY_IN_LIST_MAX].span
        raise too_complex(
            "Constants of one IN list", len(syntax.options), limits.QUERY_IN_LIST_MAX, past
        )
    if isinstance(syntax.operand, RowSyntax):
        found = _row_in(syntax, [bind(one) for one in syntax.operand.operands], bind)
    else:
        found = _value_in(syntax, bind(syntax.operand), bind)
    return form.negation(found) if syntax.negated else found


def _value_in(syntax: InSyntax, side: Side, bind: _Bind) -> Expression:
    operand, _ = side
    options: list[Constant] = []
    apart: list[Expression] = []
    for part in syntax.options:
        option = _option(part, operand, bind)
        equal = compared(_EQ, side, (option, part.span), part.span)
        if option.value is None or option.type is operand.type:
            options.append(option)
        else:  # a DOUBLE beside BIGINTs: equal to none, or beyond what a DOUBLE tells apart
            apart.append(equal)
    if options:
        apart.append(form.membership(operand, options))
    return form.disjunction(apart)


def _row_in(syntax: InSyntax, sides: list[Side], bind: _Bind) -> Expression:
    """Return (a, b) IN ((1, 2), ...) as what it means: a = 1 AND b = 2 OR ..."""
    for one, span in sides:
        check_repeated(one, len(syntax.options), span)
    found = []
    for row in syntax.options:
        if not isinstance(row, RowSyntax) or len(row.operands) != len(sides):
            raise Refused(
                TypeMismatchError,
                f"Expected a row of {len(sides)} constants.",
                row.span,
                "write (a, b) IN ((1, 2), (3, 4))",
            )
        pairs = zip(sides, row.operands, strict=True)
        found.append(
            form.conjunction(
                compared(_EQ, side, (_option(part, side[0], bind), part.span), part.span)
                for side, part in pairs
            )
        )
    joined = form.disjunction(found)
    check_size(joined, syntax.span)
    return joined


def _option(part: ExpressionSyntax, operand: Expression, bind: _Bind) -> Constant:
    """Return the constant of a list, as it is meant beside the operand."""
    option = alike(*bind(part), operand.type)
    if not isinstance(option, Constant):
        raise Refused(
            UnsupportedSqlError,
            "An IN list holds constants.",
            part.span,
            "write a = b OR a = c",
        )
    return option
