"""Translates expressions of a standing query to Spark SQL, from the syntax of the text, not from the bound query.

Nothing is folded, reordered or evaluated: Spark reads every literal and computes every value. Additions preserve the
meaning that decision record 0005 gives a text; `standing_query.py` lists them.
"""

from collections.abc import Callable
from typing import Any

from psoup.engine.query.text.syntax import (
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
from psoup.engine.query.text.syntax_parts import operands as syntax_operands
from psoup.engine.query.values.expression import ArithmeticOp
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.spark.sql.calls import as_kind, call_sql, cast_sql, common_kind
from psoup.pipeline.spark.sql.terms import (
    Lookup,
    Term,
    finite,
    instant_sql,
    interval_sql,
    name_sql,
    text_sql,
)

_BOOL, _INT64, _FLOAT64 = ColumnType.BOOL, ColumnType.INT64, ColumnType.FLOAT64
_STRING, _TIMESTAMP = ColumnType.STRING, ColumnType.TIMESTAMP

_LEAST = "-9223372036854775808L"
_TRIED = {
    ArithmeticOp.ADD: "try_add",
    ArithmeticOp.SUBTRACT: "try_subtract",
    ArithmeticOp.MULTIPLY: "try_multiply",
    ArithmeticOp.DIVIDE: "try_divide",
    ArithmeticOp.MODULO: "try_mod",
}
"""Spark's functions that return NULL where the operator raises."""

_PAST_LAST = "TIMESTAMP '+10000-01-01 00:00:00'"
_BEFORE_FIRST = "TIMESTAMP '0000-12-31 23:59:59.999999'"


def expression_sql(syntax: ExpressionSyntax, lookup: Lookup) -> Term:
    """Return the Spark SQL of an expression that the binder accepts.

    SQL of more than one word or call is in brackets. Cost: linear in the text.

    Raises:
        UntranslatedError: a function of which Spark cannot be made to say what it means.
    """
    return _TRANSLATORS[type(syntax)](syntax, lookup)


def _number(syntax: NumberSyntax, _: Lookup) -> Term:
    if syntax.is_integer:
        return Term(f"{syntax.text}L", _INT64)
    return Term(f"{syntax.text}D", _FLOAT64)


def _string(syntax: StringSyntax, _: Lookup) -> Term:
    return Term(text_sql(syntax.value), _STRING, syntax.value)


def _boolean(syntax: BooleanSyntax, _: Lookup) -> Term:
    return Term("TRUE" if syntax.value else "FALSE", _BOOL)


def _null(_: NullSyntax, __: Lookup) -> Term:
    return Term("NULL", None)


def _timestamp(syntax: TimestampSyntax, _: Lookup) -> Term:
    return Term(instant_sql(syntax.value.value), _TIMESTAMP)


def _column(syntax: ColumnSyntax, lookup: Lookup) -> Term:
    source, ref = lookup(syntax)
    return Term(f"{source}.{name_sql(ref.name)}", ref.type)


def _negate(syntax: NegateSyntax, lookup: Lookup) -> Term:
    operand = expression_sql(syntax.operand, lookup)
    kind = operand.type or _INT64
    sql = operand.beside(kind)
    return Term(f"(- {sql if kind is _FLOAT64 else f'nullif({sql}, {_LEAST})'})", kind)


def _call(syntax: CallSyntax, lookup: Lookup) -> Term:
    terms = [
        Term(f"{one.us}L", _INT64)
        if isinstance(one, IntervalSyntax)
        else expression_sql(one, lookup)
        for one in syntax.arguments
    ]
    if syntax.name == "MOD":
        return _computed(ArithmeticOp.MODULO, *terms)
    if syntax.name == "NULLIF":
        sides = terms[0].beside(terms[1].type), terms[1].beside(terms[0].type)
        return Term(f"nullif({sides[0]}, {sides[1]})", terms[0].type or terms[1].type)
    return call_sql(syntax.name, terms)


def _cast(syntax: CastSyntax, lookup: Lookup) -> Term:
    return cast_sql(expression_sql(syntax.operand, lookup), syntax.type)


def _case(syntax: CaseSyntax, lookup: Lookup) -> Term:
    operand = None if syntax.operand is None else expression_sql(syntax.operand, lookup)
    conditions = [expression_sql(when, lookup) for when, _ in syntax.branches]
    if operand is not None:
        conditions = [_compared(operand, "=", when) for when in conditions]
    results = [expression_sql(then, lookup) for _, then in syntax.branches]
    default = Term("NULL", None)
    if syntax.default is not None:
        default = expression_sql(syntax.default, lookup)
    kind = common_kind([*results, default])
    whens = [
        f"WHEN {condition.beside(_BOOL)} THEN {as_kind(result, kind).sql}"
        for condition, result in zip(conditions, results, strict=True)
    ]
    return Term(f"CASE {' '.join(whens)} ELSE {as_kind(default, kind).sql} END", kind)


def _distinct(syntax: DistinctSyntax, lookup: Lookup) -> Term:
    left, right = expression_sql(syntax.left, lookup), expression_sql(syntax.right, lookup)
    same = f"({left.beside(right.type)} <=> {right.beside(left.type)})"
    return _negated(same, negated=not syntax.negated)


def _arithmetic(syntax: ArithmeticSyntax, lookup: Lookup) -> Term:
    if isinstance(syntax.right, IntervalSyntax):
        return _moved(syntax.left, syntax.op, syntax.right, lookup)
    if isinstance(syntax.left, IntervalSyntax):
        return _moved(syntax.right, syntax.op, syntax.left, lookup)
    left, right = expression_sql(syntax.left, lookup), expression_sql(syntax.right, lookup)
    return _computed(syntax.op, left, right)


def _computed(op: ArithmeticOp, left: Term, right: Term) -> Term:
    """Return left op right of numbers, two NULLs being BIGINTs, or the microseconds between two instants."""
    if op is ArithmeticOp.SUBTRACT and _TIMESTAMP in (left.type, right.type):
        first, second = left.beside(_TIMESTAMP), right.beside(_TIMESTAMP)
        return Term(f"(unix_micros({first}) - unix_micros({second}))", _INT64)
    kind = left.type or right.type or _INT64
    tried = f"{_TRIED[op]}({left.beside(kind)}, {right.beside(kind)})"
    if {left.type or kind, right.type or kind} == {_INT64} and op is not ArithmeticOp.DIVIDE:
        return Term(tried, _INT64)
    return Term(finite(tried), _FLOAT64)


def _moved(syntax: ExpressionSyntax, op: ArithmeticOp, by: IntervalSyntax, lookup: Lookup) -> Term:
    """Return an instant moved by an interval; NULL outside the years 1 to 9999."""
    instant = expression_sql(syntax, lookup).beside(_TIMESTAMP)
    step = interval_sql(abs(by.us))
    if (op is ArithmeticOp.ADD) == (by.us >= 0):
        moved = f"nullif(least(try_add({instant}, {step}), {_PAST_LAST}), {_PAST_LAST})"
    else:
        moved = (
            f"nullif(greatest(try_subtract({instant}, {step}), {_BEFORE_FIRST}), {_BEFORE_FIRST})"
        )
    return Term(moved, _TIMESTAMP)


def _compare(syntax: CompareSyntax, lookup: Lookup) -> Term:
    left, right = expression_sql(syntax.left, lookup), expression_sql(syntax.right, lookup)
    return _compared(left, syntax.op.value, right)


def _compared(left: Term, op: str, right: Term) -> Term:
    return Term(f"({left.beside(right.type)} {op} {right.beside(left.type)})", _BOOL)


def _between(syntax: BetweenSyntax, lookup: Lookup) -> Term:
    operand, low, high = (
        expression_sql(part, lookup) for part in (syntax.operand, syntax.low, syntax.high)
    )
    if operand.type is None or operand.text is not None:
        # A literal takes the type of each end by itself, which may be two.
        ends = f"{_compared(operand, '>=', low).sql} AND {_compared(operand, '<=', high).sql}"
    else:
        ends = f"{operand.sql} BETWEEN {low.beside(operand.type)} AND {high.beside(operand.type)}"
    return _negated(f"({ends})", negated=syntax.negated)


def _in(syntax: InSyntax, lookup: Lookup) -> Term:
    if isinstance(syntax.operand, RowSyntax):
        return _row_in(syntax, syntax.operand, lookup)
    operand = expression_sql(syntax.operand, lookup)
    options = [expression_sql(part, lookup) for part in syntax.options]
    kind = operand.type or next((one.type for one in options if one.type), None)
    # Spark brings all options to one type first: a DOUBLE among them would make a BIGINT one as well.
    apart = [one for one in options if (kind, one.type) == (_INT64, _FLOAT64)]
    alike = [one.beside(kind) for one in options if (kind, one.type) != (_INT64, _FLOAT64)]
    tests = [_compared(operand, "=", one).sql for one in apart]
    if alike:
        tests.append(f"({operand.beside(kind)} IN ({', '.join(alike)}))")
    return _negated(f"({' OR '.join(tests)})", negated=syntax.negated)


def _row_in(syntax: InSyntax, row: RowSyntax, lookup: Lookup) -> Term:
    operands = [expression_sql(one, lookup) for one in row.operands]
    tests = []
    for option in syntax.options:
        parts = [expression_sql(one, lookup) for one in syntax_operands(option)]
        equal = [_compared(a, "=", b).sql for a, b in zip(operands, parts, strict=True)]
        tests.append(f"({' AND '.join(equal)})")
    return _negated(f"({' OR '.join(tests)})", negated=syntax.negated)


def _like(syntax: LikeSyntax, lookup: Lookup) -> Term:
    operand = expression_sql(syntax.operand, lookup).beside(_STRING)
    escape = None if syntax.escape is None else syntax.escape.value
    pattern = text_sql(_spark_pattern(syntax.pattern.value, escape))
    like = "ILIKE" if syntax.insensitive else "LIKE"
    return _negated(f"({operand} {like} {pattern})", negated=syntax.negated)


def _spark_pattern(pattern: str, escape: str | None) -> str:
    r"""Return the pattern with `\` as its escape, which in Spark stands before nothing but `%`, `_` and itself."""
    written = []
    characters = iter(pattern)
    for character in characters:
        literal = character == escape
        meant = next(characters) if literal else character
        special = meant == "\\" or (literal and meant in "%_")
        written.append("\\" + meant if special else meant)
    return "".join(written)


def _is(syntax: IsSyntax, lookup: Lookup) -> Term:
    operand = expression_sql(syntax.operand, lookup)
    sql = operand.sql if syntax.what is IsWhat.NULL else operand.beside(_BOOL)
    return Term(f"({sql} IS {'NOT ' if syntax.negated else ''}{syntax.what})", _BOOL)


def _not(syntax: NotSyntax, lookup: Lookup) -> Term:
    return _negated(expression_sql(syntax.operand, lookup).beside(_BOOL), negated=True)


def _negated(sql: str, *, negated: bool) -> Term:
    return Term(f"(NOT {sql})" if negated else sql, _BOOL)


def _logical(syntax: LogicalSyntax, lookup: Lookup) -> Term:
    word = " AND " if syntax.conjunction else " OR "
    operands = [expression_sql(one, lookup).beside(_BOOL) for one in syntax.operands]
    return Term(f"({word.join(operands)})", _BOOL)


_TRANSLATORS: dict[type[ExpressionSyntax], Callable[[Any, Lookup], Term]] = {
    ColumnSyntax: _column,
    NumberSyntax: _number,
    StringSyntax: _string,
    TimestampSyntax: _timestamp,
    BooleanSyntax: _boolean,
    NullSyntax: _null,
    NegateSyntax: _negate,
    CallSyntax: _call,
    CastSyntax: _cast,
    CaseSyntax: _case,
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
"""The one translator of each type of node; an INTERVAL stands beside an instant or in a call, a row beside IN."""
