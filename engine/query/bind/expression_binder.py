"""Names and types of expressions: from syntax to bound expressions in normal form.

Literals take the type of what they stand beside: an integer beside a DOUBLE becomes one (if it can,
exactly), a whole DOUBLE beside a BIGINT becomes an integer, a string beside a TIMESTAMP is read as one.
Nothing else converts. A NULL literal is a `Constant` of any type with no value.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from psoup.engine import limits
from psoup.engine.errors import TypeMismatchError, UnsupportedSqlError
from psoup.engine.query.bind import normal_form as form
from psoup.engine.query.bind.arithmetic_binder import (
    bound_arithmetic,
    bound_move,
    bound_negation,
)
from psoup.engine.query.bind.call_binder import bound_call, bound_case, bound_cast, interval_us
from psoup.engine.query.bind.coercion import (
    alike,
    bound_number,
    constant_instant,
    described,
    kind_of,
)
from psoup.engine.query.bind.comparison_binder import Side, compared
from psoup.engine.query.bind.size import check_repeated, check_size, too_complex
from psoup.engine.query.functions.function import Takes
from psoup.engine.query.functions.table import FUNCTIONS
from psoup.engine.query.functions.texts import lower
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.text.syntax import (
    AggregateSyntax,
    ArithmeticSyntax,
    BetweenSyntax,
    BooleanSyntax,
    CallSyntax,
    CaseSyntax,
    CastSyntax,
    ColumnSyntax,
    CompareSyntax,
    DistinctSyntax,
    ExpressionSyntax,
    InSyntax,
    IntervalSyntax,
    IsSyntax,
    IsWhat,
    LikeSyntax,
    LogicalSyntax,
    NegateSyntax,
    NotSyntax,
    NullSyntax,
    NumberSyntax,
    RowSyntax,
    StringSyntax,
    TimestampSyntax,
)
from psoup.engine.query.values.expression import (
    ArithmeticOp,
    Call,
    CompareOp,
    Constant,
    Expression,
    IsNull,
)
from psoup.engine.query.values.like import parse_like
from psoup.engine.tuples.schema import ColumnType

_BOOL = ColumnType.BOOL
_EQ, _GE, _LE = CompareOp.EQ, CompareOp.GE, CompareOp.LE
Leaf = ColumnSyntax | AggregateSyntax
"""What an expression is made of besides literals."""
Lookup = Callable[[Leaf], Expression]
"""From a leaf to what it means; refuses a name that is no column, and an aggregate where there is none."""


def bind_expression(syntax: ExpressionSyntax, lookup: Lookup) -> Expression:
    """Return the expression that the syntax means, in normal form.

    Raises:
        Refused: `unknown-column` (from `lookup`), `type-mismatch`, `unsupported-sql` or
            `query-too-complex`, with its place in the text.
    """
    return _BINDERS[type(syntax)](syntax, lookup)


def bind_predicate(syntax: ExpressionSyntax, lookup: Lookup) -> Expression:
    """Return the expression, which has to be BOOLEAN, in normal form."""
    found = bind_expression(syntax, lookup)
    if found.type is not _BOOL:
        raise Refused(
            TypeMismatchError,
            f"Expected a condition, found {kind_of(found)}.",
            syntax.span,
            "compare it with something: a > 5",
            quoting=f"Expected a condition, found {described(found)}.",
        )
    return found


def over_rows(column: Callable[[ColumnSyntax], Expression], detail: str, remedy: str) -> Lookup:
    """Return the lookup of expressions that hold no aggregates: it refuses one with `detail` and `remedy`."""

    def found(leaf: Leaf) -> Expression:
        if isinstance(leaf, AggregateSyntax):
            raise Refused(UnsupportedSqlError, detail, leaf.span, remedy)
        return column(leaf)

    return found


def _leaf(syntax: Leaf, lookup: Lookup) -> Expression:
    return lookup(syntax)


def _number(syntax: NumberSyntax, _: Lookup) -> Constant:
    return bound_number(syntax)


def _string(syntax: StringSyntax, _: Lookup) -> Constant:
    return Constant(syntax.value, ColumnType.STRING)


def _timestamp(syntax: TimestampSyntax, _: Lookup) -> Constant:
    return constant_instant(syntax.value.value, syntax.value.span)


def _boolean(syntax: BooleanSyntax, _: Lookup) -> Constant:
    return form.TRUE if syntax.value else form.FALSE


def _null(_: NullSyntax, __: Lookup) -> Constant:
    return form.UNKNOWN


def _interval(syntax: IntervalSyntax, _: Lookup) -> NoReturn:
    raise Refused(
        TypeMismatchError,
        "An INTERVAL stands only beside a TIMESTAMP.",
        syntax.span,
        "write ts + INTERVAL '1' HOUR or ts - INTERVAL '1' HOUR",
    )


def _not(syntax: NotSyntax, lookup: Lookup) -> Expression:
    return form.negation(bind_predicate(syntax.operand, lookup))


def _logical(syntax: LogicalSyntax, lookup: Lookup) -> Expression:
    join = form.conjunction if syntax.conjunction else form.disjunction
    return join([bind_predicate(one, lookup) for one in syntax.operands])


def _negate(syntax: NegateSyntax, lookup: Lookup) -> Expression:
    return bound_negation((bind_expression(syntax.operand, lookup), syntax.operand.span))


def _call(syntax: CallSyntax, lookup: Lookup) -> Expression:
    function = FUNCTIONS[syntax.name]
    return bound_call(
        syntax,
        [
            (
                interval_us(one)
                if function.taken(place) is Takes.INTERVAL
                else bind_expression(one, lookup),
                one.span,
            )
            for place, one in enumerate(syntax.arguments)
        ],
    )


def _cast(syntax: CastSyntax, lookup: Lookup) -> Expression:
    return bound_cast(bind_expression(syntax.operand, lookup), syntax.operand.span, syntax.type)


def _case(syntax: CaseSyntax, lookup: Lookup) -> Expression:
    operand: Side | None = None
    if syntax.operand is not None:
        operand = bind_expression(syntax.operand, lookup), syntax.operand.span
        check_repeated(operand[0], len(syntax.branches), operand[1])
    branches = []
    for when, then in syntax.branches:
        if operand is None:
            condition = bind_predicate(when, lookup)
        else:
            condition = compared(
                _EQ, operand, (bind_expression(when, lookup), when.span), when.span
            )
        branches.append((condition, (bind_expression(then, lookup), then.span)))
    default: Side = form.UNKNOWN, syntax.span
    if syntax.default is not None:
        default = bind_expression(syntax.default, lookup), syntax.default.span
    found = bound_case(branches, default)
    check_size(found, syntax.span)
    return found


def _row(syntax: RowSyntax, _: Lookup) -> NoReturn:
    raise Refused(
        UnsupportedSqlError,
        "A row in brackets stands on both sides of IN alone.",
        syntax.span,
        "write (a, b) IN ((1, 2), (3, 4)), or a = 1 AND b = 2",
    )


def _arithmetic(syntax: ArithmeticSyntax, lookup: Lookup) -> Expression:
    op, moved, by = syntax.op, syntax.left, syntax.right
    if isinstance(moved, IntervalSyntax) and op is ArithmeticOp.ADD:
        moved, by = by, moved
    if isinstance(by, IntervalSyntax) and op in (ArithmeticOp.ADD, ArithmeticOp.SUBTRACT):
        return bound_move(op, (bind_expression(moved, lookup), moved.span), by.us)
    if isinstance(moved, IntervalSyntax) or isinstance(by, IntervalSyntax):
        raise Refused(
            TypeMismatchError,
            f"{op} does not take an INTERVAL there.",
            syntax.op_span,
            "write ts + INTERVAL '1' HOUR or ts - INTERVAL '1' HOUR",
        )
    left, right = bind_expression(moved, lookup), bind_expression(by, lookup)
    return bound_arithmetic(op, (left, moved.span), (right, by.span))


def _compare(syntax: CompareSyntax, lookup: Lookup) -> Expression:
    left, right = bind_expression(syntax.left, lookup), bind_expression(syntax.right, lookup)
    return compared(syntax.op, (left, syntax.left.span), (right, syntax.right.span), syntax.op_span)


def _between(syntax: BetweenSyntax, lookup: Lookup) -> Expression:
    side = bind_expression(syntax.operand, lookup), syntax.operand.span
    low, high = syntax.low, syntax.high
    found = form.conjunction(
        [
            compared(_GE, side, (bind_expression(low, lookup), low.span), syntax.op_span),
            compared(_LE, side, (bind_expression(high, lookup), high.span), syntax.op_span),
        ]
    )
    # The operand stands twice in what BETWEEN means: nested ones would double at every level.
    check_size(found, syntax.span)
    return form.negation(found) if syntax.negated else found


def _in(syntax: InSyntax, lookup: Lookup) -> Expression:
    if len(syntax.options) > limits.QUERY_IN_LIST_MAX:
        past = syntax.options[limits.QUERY_IN_LIST_MAX].span
        raise too_complex(
            "Constants of one IN list", len(syntax.options), limits.QUERY_IN_LIST_MAX, past
        )
    if isinstance(syntax.operand, RowSyntax):
        return _row_in(syntax, syntax.operand, lookup)
    operand = bind_expression(syntax.operand, lookup)
    side = operand, syntax.operand.span
    options: list[Constant] = []
    apart: list[Expression] = []
    for part in syntax.options:
        option = _option(part, operand, lookup)
        equal = compared(_EQ, side, (option, part.span), part.span)
        if option.value is None or option.type is operand.type:
            options.append(option)
        else:  # a DOUBLE beside BIGINTs: equal to none, or beyond what a DOUBLE tells apart
            apart.append(equal)
    if options:
        apart.append(form.membership(operand, options))
    found = form.disjunction(apart)
    return form.negation(found) if syntax.negated else found


def _row_in(syntax: InSyntax, row: RowSyntax, lookup: Lookup) -> Expression:
    """Return (a, b) IN ((1, 2), ...) as what it means: a = 1 AND b = 2 OR ..."""
    sides = [(bind_expression(one, lookup), one.span) for one in row.operands]
    for one, span in sides:
        check_repeated(one, len(syntax.options), span)
    found = []
    for option in syntax.options:
        if not isinstance(option, RowSyntax) or len(option.operands) != len(sides):
            raise Refused(
                TypeMismatchError,
                f"Expected a row of {len(sides)} constants.",
                option.span,
                "write (a, b) IN ((1, 2), (3, 4))",
            )
        pairs = zip(sides, option.operands, strict=True)
        found.append(
            form.conjunction(
                compared(_EQ, side, (_option(part, side[0], lookup), part.span), part.span)
                for side, part in pairs
            )
        )
    joined = form.disjunction(found)
    check_size(joined, syntax.span)
    return form.negation(joined) if syntax.negated else joined


def _option(part: ExpressionSyntax, operand: Expression, lookup: Lookup) -> Constant:
    option = alike(bind_expression(part, lookup), part.span, operand.type)
    if not isinstance(option, Constant):
        raise Refused(
            UnsupportedSqlError,
            "An IN list holds constants.",
            part.span,
            "write a = b OR a = c",
        )
    return option


def _like(syntax: LikeSyntax, lookup: Lookup) -> Expression:
    operand = bind_expression(syntax.operand, lookup)
    if operand.type is not ColumnType.STRING and not form.is_null(operand):
        raise Refused(
            TypeMismatchError,
            f"LIKE takes strings, found {kind_of(operand)}.",
            syntax.operand.span,
            "compare it with =, < or >, or write CAST(... AS VARCHAR)",
            quoting=f"LIKE takes strings, found {described(operand)}.",
        )
    pattern = syntax.pattern
    escape = None if syntax.escape is None else syntax.escape.value
    if len(pattern.value) > limits.QUERY_PATTERN_LENGTH_MAX:
        raise too_complex(
            "Characters of a pattern",
            len(pattern.value),
            limits.QUERY_PATTERN_LENGTH_MAX,
            pattern.span,
        )
    if syntax.escape is not None and len(syntax.escape.value) != 1:
        raise Refused(
            TypeMismatchError, "ESCAPE takes one character.", syntax.escape.span, "write ESCAPE '!'"
        )
    value = pattern.value
    if syntax.insensitive:  # both in small letters, but for the escape
        value = "".join([one if one == escape else lower(one) for one in value])
        if not form.is_null(operand):
            operand = form.fold(Call("LOWER", (operand,), ColumnType.STRING))
    if parse_like(value, escape) is None:
        raise Refused(
            TypeMismatchError,
            "The pattern ends with its escape character.",
            pattern.span,
            "write the escape character twice to mean itself",
        )
    found = form.like(operand, value, escape)
    return form.negation(found) if syntax.negated else found


def _distinct(syntax: DistinctSyntax, lookup: Lookup) -> Expression:
    """Return whether both sides are NULL, or both are not and equal: never unknown."""
    left = bind_expression(syntax.left, lookup), syntax.left.span
    right = bind_expression(syntax.right, lookup), syntax.right.span
    for side, other in ((left, right), (right, left)):
        if form.is_null(side[0]):
            found = form.fold(IsNull(other[0]))
            break
    else:
        found = form.is_true(compared(_EQ, left, right, syntax.op_span))
        if not isinstance(left[0], Constant) and not isinstance(right[0], Constant):
            check_repeated(left[0], 2, left[1])
            check_repeated(right[0], 2, right[1])
            nulls = form.conjunction([IsNull(left[0]), IsNull(right[0])])
            found = form.disjunction([found, nulls])
            check_size(found, syntax.span)
    return found if syntax.negated else form.negation(found)


def _is(syntax: IsSyntax, lookup: Lookup) -> Expression:
    if syntax.what is IsWhat.NULL:
        found = form.fold(IsNull(bind_expression(syntax.operand, lookup)))
    else:
        operand = bind_predicate(syntax.operand, lookup)
        found = form.is_true(form.negation(operand) if syntax.what is IsWhat.FALSE else operand)
    return form.negation(found) if syntax.negated else found


_BINDERS: dict[type[ExpressionSyntax], Callable[[Any, Lookup], Expression]] = {
    ColumnSyntax: _leaf,
    AggregateSyntax: _leaf,
    NumberSyntax: _number,
    StringSyntax: _string,
    TimestampSyntax: _timestamp,
    BooleanSyntax: _boolean,
    NullSyntax: _null,
    IntervalSyntax: _interval,
    NegateSyntax: _negate,
    CallSyntax: _call,
    CastSyntax: _cast,
    CaseSyntax: _case,
    RowSyntax: _row,
    DistinctSyntax: _distinct,
    ArithmeticSyntax: _arithmetic,
    CompareSyntax: _compare,
    BetweenSyntax: _between,
    InSyntax: _in,
    LikeSyntax: _like,
    IsSyntax: _is,
    NotSyntax: _not,
    LogicalSyntax: _logical,
}
"""The one binder of each type of node."""
