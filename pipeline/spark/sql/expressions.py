"""Translates expressions of a standing query to Spark SQL, from the syntax of the text, not from the bound query.

Nothing is folded, reordered or evaluated: Spark reads every literal and computes every value. Additions preserve the
meaning that decision record 0005 gives a text; `standing_query.py` lists them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from psoup.engine.limits import DAY_US, SECOND_US
from psoup.engine.query.text.syntax import (
    ArithmeticSyntax,
    BetweenSyntax,
    BooleanSyntax,
    CallSyntax,
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
from psoup.engine.query.values.expression import ArithmeticOp, ColumnRef
from psoup.engine.tuples.schema import ColumnType

_BOOL, _INT64, _FLOAT64 = ColumnType.BOOL, ColumnType.INT64, ColumnType.FLOAT64
_STRING, _TIMESTAMP = ColumnType.STRING, ColumnType.TIMESTAMP
TYPE_NAMES = {
    _BOOL: "BOOLEAN",
    _INT64: "BIGINT",
    _FLOAT64: "DOUBLE",
    _STRING: "STRING",
    _TIMESTAMP: "TIMESTAMP",
}
"""Names of the types in Spark SQL."""

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
_INSTANT = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(:\d{2})?(\.\d+)?(?:[Zz]|([+-])(\d{2}:\d{2}))?)?"
)

Lookup = Callable[[ColumnSyntax], tuple[str, ColumnRef]]
"""Returns the SQL of a column's source, and the column, given the column's name."""


@dataclass(frozen=True, slots=True)
class Term:
    """An expression in Spark SQL. A `type` of None is a bare NULL; `text` is the value of a string literal."""

    sql: str
    type: ColumnType | None
    text: str | None = None

    def beside(self, kind: ColumnType | None) -> str:
        """Return the SQL of the term beside a value of this type, which a literal takes on.

        A NULL beside another NULL is a BOOLEAN.
        """
        if self.type is None:
            return f"CAST(NULL AS {TYPE_NAMES[kind or _BOOL]})"
        if self.text is not None and kind is _TIMESTAMP:
            return instant_sql(self.text)
        return self.sql


def expression_sql(syntax: ExpressionSyntax, lookup: Lookup) -> Term:
    """Return the Spark SQL of an expression that the binder accepts.

    SQL of more than one word or call is in brackets. Cost: linear in the text.
    """
    return _TRANSLATORS[type(syntax)](syntax, lookup)


def name_sql(name: str) -> str:
    """Return a name, quoted."""
    return "`" + name.replace("`", "``") + "`"


def text_sql(text: str) -> str:
    r"""Return a string literal; `\` escapes in Spark SQL, as it does not in psoup."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def instant_sql(text: str) -> str:
    """Return the instant of a psoup literal; Spark reads date and clock, and applies the offset.

    Spark's own literals need seconds, and offsets of at most 18 hours: so seconds are added, and the offset becomes an
    interval.
    """
    parts = _INSTANT.match(text)
    date, clock, seconds, fraction, sign, offset = parts.groups() if parts else (text, *[None] * 5)
    literal = f"TIMESTAMP '{date} {clock or '00:00'}{seconds or ':00'}{fraction or ''}'"
    if offset is None:
        return literal
    back = "-" if sign == "+" else "+"
    return f"({literal} {back} INTERVAL '{offset}' HOUR TO MINUTE)"


def interval_sql(us: int) -> str:
    """Return an interval of 0 or more microseconds."""
    days, rest = divmod(us, DAY_US)
    seconds, fraction = divmod(rest, SECOND_US)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"INTERVAL '{days} {hour:02}:{minute:02}:{second:02}.{fraction:06}' DAY TO SECOND"


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
    operand, kind = _signed(syntax.operand, lookup)
    return Term(f"(- {operand})", kind)


def _call(syntax: CallSyntax, lookup: Lookup) -> Term:
    (argument,) = syntax.arguments
    operand, kind = _signed(argument, lookup)
    return Term(f"abs({operand})", kind)


def _signed(syntax: ExpressionSyntax, lookup: Lookup) -> tuple[str, ColumnType]:
    """Return a number that can be negated: NULL instead of the least integer, which has no negative."""
    operand = expression_sql(syntax, lookup)
    kind = operand.type or _INT64
    sql = operand.beside(kind)
    return (sql if kind is _FLOAT64 else f"nullif({sql}, {_LEAST})"), kind


def _arithmetic(syntax: ArithmeticSyntax, lookup: Lookup) -> Term:
    if isinstance(syntax.right, IntervalSyntax):
        return _moved(syntax.left, syntax.op, syntax.right, lookup)
    if isinstance(syntax.left, IntervalSyntax):
        return _moved(syntax.right, syntax.op, syntax.left, lookup)
    left, right = expression_sql(syntax.left, lookup), expression_sql(syntax.right, lookup)
    kinds = {left.type or right.type, right.type or left.type}
    sides = f"{left.beside(right.type)}, {right.beside(left.type)}"
    tried = f"{_TRIED[syntax.op]}({sides})"
    if kinds == {_INT64} and syntax.op is not ArithmeticOp.DIVIDE:
        return Term(tried, _INT64)
    infinite = "nullif(nullif({}, DOUBLE('Infinity')), DOUBLE('-Infinity'))"
    return Term(infinite.format(tried), _FLOAT64)


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


def _like(syntax: LikeSyntax, lookup: Lookup) -> Term:
    operand = expression_sql(syntax.operand, lookup).beside(_STRING)
    escape = None if syntax.escape is None else syntax.escape.value
    pattern = text_sql(_spark_pattern(syntax.pattern.value, escape))
    return _negated(f"({operand} LIKE {pattern})", negated=syntax.negated)


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
    ArithmeticSyntax: _arithmetic,
    CompareSyntax: _compare,
    BetweenSyntax: _between,
    InSyntax: _in,
    LikeSyntax: _like,
    IsSyntax: _is,
    NotSyntax: _not,
    LogicalSyntax: _logical,
}
"""The one translator of each type of node; an INTERVAL only ever stands beside an instant."""
