"""Names and types of expressions: from syntax to bound expressions in normal form.

Literals take the type of what they stand beside: an integer beside a DOUBLE becomes one (if it can,
exactly), a whole DOUBLE beside a BIGINT becomes an integer, a string beside a TIMESTAMP is read as one.
Nothing else converts. A NULL literal is a `Constant` of any type with no value.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from psoup.engine import limits
from psoup.engine.errors import TypeMismatchError, UnsupportedSqlError
from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.bind.conditions.size import check_repeated, check_size, too_complex
from psoup.engine.query.bind.expressions.arithmetic_binder import (
    bound_arithmetic,
    bound_move,
    bound_negation,
)
from psoup.engine.query.bind.expressions.call_binder import (
    bound_call,
    bound_case,
    bound_cast,
    interval_us,
)
from psoup.engine.query.bind.expressions.coercion import (
    bound_number,
    constant_instant,
    described,
    kind_of,
)
from psoup.engine.query.bind.expressions.comparison_binder import Side, compared
from psoup.engine.query.bind.expressions.in_binder import bound_in
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


def _side(syntax: ExpressionSyntax, lookup: Lookup) -> Side:
    return bind_expression(syntax, lookup), syntax.span


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
        "write ts + INTERVAL '1' HOUR or ts - INTERVAL '1' HOUR; ts - ts is a number of microseconds",
    )


def _not(syntax: NotSyntax, lookup: Lookup) -> Expression:
    return form.negation(bind_predicate(syntax.operand, lookup))


def _logical(syntax: LogicalSyntax, lookup: Lookup) -> Expression:
    join = form.conjunction if syntax.conjunction else form.disjunction
    return join([bind_predicate(one, lookup) for one in syntax.operands])


def _negate(syntax: NegateSyntax, lookup: Lookup) -> Expression:
    return bound_negation(_side(syntax.operand, lookup))


def _call(syntax: CallSyntax, lookup: Lookup) -> Expression:
    function = FUNCTIONS[syntax.name]
    return bound_call(
        syntax,
        [
            (interval_us(one), one.span)
            if function.taken(place) is Takes.INTERVAL
            else _side(one, lookup)
            for place, one in enumerate(syntax.arguments)
        ],
    )


def _cast(syntax: CastSyntax, lookup: Lookup) -> Expression:
    return bound_cast(*_side(syntax.operand, lookup), syntax.type)


def _case(syntax: CaseSyntax, lookup: Lookup) -> Expression:
    operand: Side | None = None
    if syntax.operand is not None:
        operand = _side(syntax.operand, lookup)
        check_repeated(operand[0], len(syntax.branches), operand[1])
    branches = []
    for when, then in syntax.branches:
        if operand is None:
            condition = bind_predicate(when, lookup)
        else:
            condition = compared(_EQ, operand, _side(when, lookup), when.span)
        branches.append((condition, _side(then, lookup)))
    default: Side = form.UNKNOWN, syntax.span
    if syntax.default is not None:
        default = _side(syntax.default, lookup)
    found = bound_case(branches, default)
    check_size(found, syntax.span)
    return found


def _row(syntax: RowSyntax, _: Lookup) -> NoReturn:
    raise Refused(
        UnsupportedSqlError,
        "A row in brackets stands on both sides of IN alone.",
        syntax.span,
        "write (a, b) IN ((1, 2), (3, 4)), or a = 1 AND b = 2; elsewhere leave the brackets out",
    )


def _arithmetic(syntax: ArithmeticSyntax, lookup: Lookup) -> Expression:
    op, moved, by = syntax.op, syntax.left, syntax.right
    if isinstance(moved, IntervalSyntax) and op is ArithmeticOp.ADD:
        moved, by = by, moved
    if isinstance(by, IntervalSyntax) and op in (ArithmeticOp.ADD, ArithmeticOp.SUBTRACT):
        return bound_move(op, _side(moved, lookup), by.us)
    if isinstance(moved, IntervalSyntax) or isinstance(by, IntervalSyntax):
        raise Refused(
            TypeMismatchError,
            f"{op} does not take an INTERVAL there.",
            syntax.op_span,
            "write ts + INTERVAL '1' HOUR or ts - INTERVAL '1' HOUR",
        )
    return bound_arithmetic(op, _side(moved, lookup), _side(by, lookup))


def _compare(syntax: CompareSyntax, lookup: Lookup) -> Expression:
    left, right = _side(syntax.left, lookup), _side(syntax.right, lookup)
    return compared(syntax.op, left, right, syntax.op_span)


def _between(syntax: BetweenSyntax, lookup: Lookup) -> Expression:
    side = _side(syntax.operand, lookup)
    found = form.conjunction(
        [
            compared(_GE, side, _side(syntax.low, lookup), syntax.op_span),
            compared(_LE, side, _side(syntax.high, lookup), syntax.op_span),
        ]
    )
    # The operand stands twice in what BETWEEN means: nested ones would double at every level.
    check_size(found, syntax.span)
    return form.negation(found) if syntax.negated else found


def _in(syntax: InSyntax, lookup: Lookup) -> Expression:
    return bound_in(syntax, lambda part: _side(part, lookup))


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
    left, right = _side(syntax.left, lookup), _side(syntax.right, lookup)
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
