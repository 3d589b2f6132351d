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
from psoup.engine.query.bind.coercion import (
    alike,
    bound_number,
    constant_instant,
    described,
    kind_of,
)
from psoup.engine.query.bind.size import check_size, too_complex
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.syntax import (
    AbsoluteSyntax,
    AggregateSyntax,
    ArithmeticSyntax,
    BetweenSyntax,
    BooleanSyntax,
    ColumnSyntax,
    CompareSyntax,
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
    StringSyntax,
    TimestampSyntax,
)
from psoup.engine.query.values.expression import (
    Absolute,
    Arithmetic,
    ArithmeticOp,
    CompareOp,
    Constant,
    Expression,
    IsNull,
    Negate,
)
from psoup.engine.query.values.like import parse_like
from psoup.engine.tuples.schema import ColumnType

_BOOL = ColumnType.BOOL
_NUMBERS = (ColumnType.INT64, ColumnType.FLOAT64)
_EQ, _GE, _LE = CompareOp.EQ, CompareOp.GE, CompareOp.LE
_Side = tuple[Expression, Span]
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


def _signed(syntax: NegateSyntax | AbsoluteSyntax, lookup: Lookup) -> Expression:
    operand = bind_expression(syntax.operand, lookup)
    if form.is_null(operand):
        operand = Constant(None, ColumnType.INT64)
    if operand.type not in _NUMBERS:
        raise Refused(
            TypeMismatchError,
            f"Expected a number, found {kind_of(operand)}.",
            syntax.operand.span,
            "- and ABS take BIGINT and DOUBLE",
            quoting=f"Expected a number, found {described(operand)}.",
        )
    kind = Negate if isinstance(syntax, NegateSyntax) else Absolute
    return form.fold(kind(operand, operand.type))


def _arithmetic(syntax: ArithmeticSyntax, lookup: Lookup) -> Expression:
    if isinstance(syntax.right, IntervalSyntax) or isinstance(syntax.left, IntervalSyntax):
        return _moved(syntax, lookup)
    left, right = bind_expression(syntax.left, lookup), bind_expression(syntax.right, lookup)
    if form.is_null(left) != form.is_null(right):
        known = right if form.is_null(left) else left
        left = Constant(None, known.type) if form.is_null(left) else left
        right = Constant(None, known.type) if form.is_null(right) else right
    for side, part in ((left, syntax.left), (right, syntax.right)):
        if side.type not in _NUMBERS:
            remedy = "+ - * / % take BIGINT and DOUBLE"
            if left.type is right.type is ColumnType.TIMESTAMP:
                remedy = (
                    "compare two times by moving one of them: a.ts < b.ts + INTERVAL '5' MINUTE"
                )
            elif side.type is ColumnType.TIMESTAMP:
                remedy = "a TIMESTAMP moves by an INTERVAL: ts - INTERVAL '5' MINUTE"
            raise Refused(
                TypeMismatchError,
                f"Expected a number, found {kind_of(side)}.",
                part.span,
                remedy,
                quoting=f"Expected a number, found {described(side)}.",
            )
    if left.type is not right.type:
        left = alike(left, syntax.left.span, ColumnType.FLOAT64)
        right = alike(right, syntax.right.span, ColumnType.FLOAT64)
    whole = left.type is right.type is ColumnType.INT64 and syntax.op is not ArithmeticOp.DIVIDE
    kind = ColumnType.INT64 if whole else ColumnType.FLOAT64
    return form.fold(Arithmetic(syntax.op, left, right, kind))


def _moved(syntax: ArithmeticSyntax, lookup: Lookup) -> Expression:
    """Return a timestamp plus or minus an INTERVAL."""
    moved, by, op = syntax.left, syntax.right, syntax.op
    if isinstance(moved, IntervalSyntax) and op is ArithmeticOp.ADD:
        moved, by = by, moved
    if not isinstance(by, IntervalSyntax) or op not in (ArithmeticOp.ADD, ArithmeticOp.SUBTRACT):
        raise Refused(
            TypeMismatchError,
            f"{op} does not take an INTERVAL there.",
            syntax.op_span,
            "write ts + INTERVAL '1' HOUR or ts - INTERVAL '1' HOUR",
        )
    instant = bind_expression(moved, lookup)
    if form.is_null(instant):
        instant = Constant(None, ColumnType.TIMESTAMP)
    instant = alike(instant, moved.span, ColumnType.TIMESTAMP)
    if instant.type is not ColumnType.TIMESTAMP:
        raise Refused(
            TypeMismatchError,
            f"Expected a TIMESTAMP beside an INTERVAL, found {kind_of(instant)}.",
            moved.span,
            "only timestamps move by an INTERVAL",
            quoting=f"Expected a TIMESTAMP beside an INTERVAL, found {described(instant)}.",
        )
    us = by.us
    if us < 0:
        op = ArithmeticOp.SUBTRACT if op is ArithmeticOp.ADD else ArithmeticOp.ADD
        us = -us
    step = Constant(us, ColumnType.INT64)
    return form.fold(Arithmetic(op, instant, step, ColumnType.TIMESTAMP))


def _compare(syntax: CompareSyntax, lookup: Lookup) -> Expression:
    left, right = bind_expression(syntax.left, lookup), bind_expression(syntax.right, lookup)
    return _compared(
        syntax.op, (left, syntax.left.span), (right, syntax.right.span), syntax.op_span
    )


def _compared(op: CompareOp, left_side: _Side, right_side: _Side, op_span: Span) -> Expression:
    (left, left_span), (right, right_span) = left_side, right_side
    if left.type is not right.type:
        if form.is_null(left) or form.is_null(right):
            return form.UNKNOWN
        left = alike(left, left_span, right.type)
        right = alike(right, right_span, left.type)
        if left.type is not right.type and not (left.type in _NUMBERS and right.type in _NUMBERS):
            where = op_span
            if isinstance(left, Constant) != isinstance(right, Constant):
                where = left_span if isinstance(left, Constant) else right_span
            raise Refused(
                TypeMismatchError,
                f"{kind_of(left)} does not compare with {kind_of(right)}.",
                where,
                _comparison_remedy(left, right),
                quoting=f"{described(left)} does not compare with {described(right)}.",
                hint=_comparison_hint(left, right),
            )
    return form.comparison(op, left, right)


def _comparison_hint(left: Expression, right: Expression) -> str | None:
    """Return what to write in place of a constant, where that quotes it; else None."""
    constant, other = (left, right) if isinstance(left, Constant) else (right, left)
    if isinstance(constant, Constant) and other.type is ColumnType.STRING:
        return f"write the constant in single quotes: '{constant.value}'"
    return None


def _comparison_remedy(left: Expression, right: Expression) -> str:
    constant, other = (left, right) if isinstance(left, Constant) else (right, left)
    if isinstance(constant, Constant):
        if other.type is ColumnType.STRING:
            return "write the constant in single quotes: 'text'"
        if other.type is ColumnType.BOOL:
            return "compare with TRUE or FALSE"
        if other.type in _NUMBERS:
            return "write a number, without quotes"
        if constant.type in _NUMBERS:
            return "write a time in quotes, TIMESTAMP '2014-01-05 12:00:00': without them 2014-01-05 is a subtraction"
        return "write a time: TIMESTAMP '2014-01-05 12:00:00'"
    return "compare values of one type; numbers compare with numbers"


def _between(syntax: BetweenSyntax, lookup: Lookup) -> Expression:
    side = bind_expression(syntax.operand, lookup), syntax.operand.span
    low, high = syntax.low, syntax.high
    found = form.conjunction(
        [
            _compared(_GE, side, (bind_expression(low, lookup), low.span), syntax.op_span),
            _compared(_LE, side, (bind_expression(high, lookup), high.span), syntax.op_span),
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
    operand = bind_expression(syntax.operand, lookup)
    side = operand, syntax.operand.span
    options: list[Constant] = []
    apart: list[Expression] = []
    for part in syntax.options:
        option = _option(part, operand, lookup)
        compared = _compared(_EQ, side, (option, part.span), part.span)
        if option.value is None or option.type is operand.type:
            options.append(option)
        else:  # a DOUBLE beside BIGINTs: equal to none, or beyond what a DOUBLE tells apart
            apart.append(compared)
    if options:
        apart.append(form.membership(operand, options))
    found = form.disjunction(apart)
    return form.negation(found) if syntax.negated else found


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
            "compare it with =, < or >",
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
    if parse_like(pattern.value, escape) is None:
        raise Refused(
            TypeMismatchError,
            "The pattern ends with its escape character.",
            pattern.span,
            "write the escape character twice to mean itself",
        )
    found = form.like(operand, pattern.value, escape)
    return form.negation(found) if syntax.negated else found


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
    NegateSyntax: _signed,
    AbsoluteSyntax: _signed,
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
