"""Canonical SQL: one text for one bound thing; binding the text again gives the same thing.

Expressions come in normal form (`normal_form.py`); this module only prints. Names are quoted only where
they must be, literals are written in their column's type, brackets stand only where the grammar needs
them. Queries are equal iff their canonical texts are.
"""

import re
from collections.abc import Callable, Set as AbstractSet
from dataclasses import replace
from typing import Any

from psoup.engine.query import dialect
from psoup.engine.query.clause import Source
from psoup.engine.query.functions import table
from psoup.engine.query.hops import Hops
from psoup.engine.query.left_join import LeftJoin
from psoup.engine.query.row_window import RowWindow, RowWindows
from psoup.engine.query.shape import Ordering, Output, Shape
from psoup.engine.query.time_literals import format_duration, format_instant
from psoup.engine.query.values.expression import (
    AggregateCall,
    And,
    Arithmetic,
    ArithmeticOp,
    Call,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    GroupKey,
    InList,
    IsNull,
    IsTrue,
    Like,
    Negate,
    Not,
    Or,
    with_children,
)
from psoup.engine.query.window import Bound, Window
from psoup.engine.tuples.schema import ColumnType

_INT64, _FLOAT64, _BOOL = ColumnType.INT64, ColumnType.FLOAT64, ColumnType.BOOL
_STRING, _TIMESTAMP = ColumnType.STRING, ColumnType.TIMESTAMP
_NO_WINDOW = Window()
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# How tightly a node binds; a part that binds more loosely than its place stands in brackets.
_OR, _AND, _NOT, _IS, _COMPARE, _CONCAT, _SUM, _PRODUCT, _SIGN, _OPERAND = range(10)


def sql_name(name: str) -> str:
    """Return the name, quoted where a bare word would not be read back as it."""
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in dialect.RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """Return the text as a string literal."""
    return "'" + text.replace("'", "''") + "'"


def sql_constant(constant: Constant) -> str:
    """Return the constant as a literal of its type."""
    value, kind = constant.value, constant.type
    if value is None:
        return "NULL"
    if kind is _INT64 or kind is _FLOAT64:
        return repr(value)
    if kind is _STRING:
        return sql_text(str(value))
    if kind is _BOOL:
        return "TRUE" if value else "FALSE"
    return f"TIMESTAMP {sql_text(format_instant(int(value)))}"


def sql_expression(expression: Expression) -> str:
    """Return the expression as canonical SQL. Cost: linear in what was never printed before."""
    text = expression.printed
    if text is None:
        text = _PRINTERS[type(expression)](expression)
        # Not a change of the value: the text follows from it.
        object.__setattr__(expression, "printed", text)
    return text


def sql_output(output: Output) -> str:
    """Return one entry of the select list; its alias only where the name would not come by itself."""
    expression = output.expression
    text = sql_expression(expression)
    return text if output.name == default_name(expression) else f"{text} AS {sql_name(output.name)}"


def default_name(expression: Expression) -> str:
    """Return the name of an output without alias: the column's, else its canonical SQL."""
    column = _column_of(expression)
    return sql_expression(expression) if column is None else column.name


def _column_of(expression: Expression) -> ColumnRef | None:
    """Return the column that an expression is, be it as a key of groups."""
    column = expression.expression if isinstance(expression, GroupKey) else expression
    return column if isinstance(column, ColumnRef) else None


def sql_condition(sources: tuple[Source, ...], where: Expression | None) -> str:
    """Return the canonical text of a condition, a query that shows nothing of its rows; `where` None = every row."""
    return f"SELECT 1 {_sql_from(sources)}{_sql_where(where)}"


def sql_query(
    shape: Shape,
    sources: tuple[Source, ...],
    where: Expression | None,
    *,
    ranges: tuple[int | None, ...] = (),
    window: Window = _NO_WINDOW,
) -> str:
    """Return the canonical text of a query, with the window of each source where `ranges` has one."""
    head = sql_head(shape, sources, ranges)
    return f"{head}{_sql_where(where)}{_sql_shape(shape, sources)}{sql_window(window)}"


def sql_head(shape: Shape, sources: tuple[Source, ...], ranges: tuple[int | None, ...] = ()) -> str:
    """Return the canonical text of a query up to its WHERE."""
    listed = ", ".join([sql_output(output) for output in shape.outputs])
    from_ = _sql_from(sources, ranges, shape.row_windows, shape.left_join)
    return f"SELECT {'DISTINCT ' if shape.distinct else ''}{listed} {from_}"


def _sql_shape(shape: Shape, sources: tuple[Source, ...]) -> str:
    """Return what stands between WHERE and the window."""
    parts = []
    if shape.keys:
        parts.append(f" GROUP BY {', '.join(map(sql_expression, shape.keys))}")
    if shape.having is not None:
        names = {output.name.casefold() for output in shape.outputs}
        having = _apart_from(shape.having, names, sources)
        parts.append(f" HAVING {sql_expression(having)}")
    if shape.order:
        listed = [_sql_ordering(one, shape.outputs, sources) for one in shape.order]
        parts.append(f" ORDER BY {', '.join(listed)}")
    if shape.limit is not None:
        parts.append(f" LIMIT {shape.limit}")
    if shape.offset:
        parts.append(f" OFFSET {shape.offset}")
    return "".join(parts)


def _apart_from(
    expression: Expression, names: AbstractSet[str], sources: tuple[Source, ...]
) -> Expression:
    """Return an equal expression of HAVING in which columns that outputs are called like have their source's name."""
    if isinstance(expression, ColumnRef):
        if expression.alias or expression.name.casefold() not in names:
            return expression
        return replace(expression, alias=sources[expression.source].alias)
    if isinstance(expression, GroupKey) and _column_of(expression) is None:
        return replace(expression, expression=_apart_from(expression.expression, names, sources))
    return with_children(expression, lambda one: _apart_from(one, names, sources))


def _sql_ordering(
    ordering: Ordering, outputs: tuple[Output, ...], sources: tuple[Source, ...]
) -> str:
    """Return one entry of ORDER BY, where a name alone means the output of that name."""
    expression = ordering.expression
    text = sql_expression(expression)
    named = next((one.name for one in outputs if one.expression == expression), None)
    if named is not None and named != default_name(expression):
        text = sql_name(named)
    elif named is None and any(sql_name(one.name) == text for one in outputs):
        column = _column_of(expression)
        assert column is not None, "only a column is written as a name"
        text = f"{sql_name(sources[column.source].alias)}.{text}"
    direction = " DESC" if ordering.descending else ""
    return f"{text}{direction}{' NULLS FIRST' if ordering.nulls_first else ''}"


def _sql_from(
    sources: tuple[Source, ...],
    ranges: tuple[int | None, ...] = (),
    row_windows: RowWindows = (),
    left_join: LeftJoin | None = None,
) -> str:
    none = (None,) * len(sources)
    listed = map(_sql_source, sources, ranges or none, row_windows or none)
    if left_join is not None:
        *lefts, right = listed
        return f"FROM {', '.join(lefts)} LEFT JOIN {right} ON {sql_expression(left_join.on)}"
    return f"FROM {', '.join(listed)}"


def _sql_where(where: Expression | None) -> str:
    return "" if where is None else f" WHERE {sql_expression(where)}"


def _sql_source(source: Source, range_us: int | None, row_window: RowWindow | None) -> str:
    text = sql_name(source.stream)
    if range_us is not None:
        text += f" [RANGE {format_duration(range_us)}]"
    if row_window is not None:
        keys = ", ".join(map(sql_expression, row_window.keys))
        text += f" [{f'PARTITION BY {keys} ' if keys else ''}ROWS {row_window.count}]"
    return text if source.alias == source.stream else f"{text} AS {sql_name(source.alias)}"


def sql_window(window: Window) -> str:
    """Return ` BEGIN (...) END (...) EVERY ...`, or nothing for no window: the end of a query."""
    if window.begin is None or window.end is None:
        return ""
    return f" BEGIN ({_bound(window.begin)}) END ({_bound(window.end)}){_sql_hops(window.hops)}"


def _sql_hops(hops: Hops | None) -> str:
    if hops is None:
        return ""
    align = f" ALIGN {_sql_instant(hops.align_us)}" if hops.align_us else ""
    return f" EVERY {format_duration(hops.every_us)}{align}"


def _bound(bound: Bound) -> str:
    if not bound.moving:
        return _sql_instant(bound.us)
    return f"NOW - {format_duration(bound.us)}" if bound.us else "NOW"


def _sql_instant(us: int) -> str:
    return sql_constant(Constant(us, ColumnType.TIMESTAMP))


def _within(expression: Expression, place: int) -> str:
    """Return the expression as it stands where at least `place` is wanted."""
    text = sql_expression(expression)
    binding = _BINDINGS.get(type(expression))
    if binding is None:
        binding = _binding_by_part(expression)
    return text if binding >= place else f"({text})"


def _binding_by_part(expression: Expression) -> int:
    """Return how tightly something binds of which the type alone does not say it."""
    match expression:
        case Arithmetic(op=ArithmeticOp.ADD | ArithmeticOp.SUBTRACT):
            return _SUM
        case Arithmetic():
            return _PRODUCT
        case Call(function=function):
            return _CONCAT if function == table.JOINED else _OPERAND
        case GroupKey(expression=one):
            binding = _BINDINGS.get(type(one))
            return _binding_by_part(one) if binding is None else binding
        case Not(operand=InList() | Like() | IsNull() | IsTrue() as test):
            return _BINDINGS[type(test)]
        case _:
            return _NOT


def _print_column(expression: ColumnRef) -> str:
    name = sql_name(expression.name)
    return f"{sql_name(expression.alias)}.{name}" if expression.alias else name


def _print_key(expression: GroupKey) -> str:
    return sql_expression(expression.expression)


def _print_aggregate(expression: AggregateCall) -> str:
    taken = ", ".join([sql_expression(one) for one in expression.arguments]) or "*"
    text = f"{expression.function}({'DISTINCT ' if expression.distinct else ''}{taken})"
    if expression.filter is None:
        return text
    return f"{text} FILTER (WHERE {sql_expression(expression.filter)})"


def _print_call(expression: Call) -> str:
    arguments = expression.arguments
    match expression.function:
        case table.CASE:
            return _case(arguments)
        case table.CAST:
            return f"CAST({sql_expression(arguments[0])} AS {expression.type.sql_name})"
        case table.JOINED:
            return " || ".join([_within(one, _SUM) for one in arguments])
        case "TIME_BUCKET":
            width, instant = arguments
            assert isinstance(width, Constant), "a bucket is as long as a constant INTERVAL"
            assert isinstance(width.value, int), "of microseconds"
            return f"TIME_BUCKET({format_duration(width.value)}, {sql_expression(instant)})"
        case name:
            return f"{name}({', '.join(map(sql_expression, arguments))})"


def _case(arguments: tuple[Expression, ...]) -> str:
    *branches, default = map(sql_expression, arguments)
    whens = [
        f"WHEN {condition} THEN {result}"
        for condition, result in zip(branches[::2], branches[1::2], strict=True)
    ]
    ending = "" if default == "NULL" else f" ELSE {default}"
    return f"CASE {' '.join(whens)}{ending} END"


def _print_negate(expression: Negate) -> str:
    text = _within(expression.operand, _OPERAND)
    # Two signs in a row would begin a comment.
    return f"-({text})" if text.startswith("-") else f"-{text}"


def _print_arithmetic(expression: Arithmetic) -> str:
    op, left, right = expression.op, expression.left, expression.right
    place = _binding_by_part(expression)
    if expression.type is _TIMESTAMP:
        assert isinstance(right, Constant), "a timestamp moves by a constant INTERVAL"
        assert isinstance(right.value, int), "of microseconds"
        return f"{_within(left, place)} {op} {format_duration(right.value)}"
    return f"{_within(left, place)} {op} {_within(right, place + 1)}"


def _print_compare(expression: Compare) -> str:
    # A join takes the operator as the text it is, without formatting an enum's member.
    return " ".join(
        (_within(expression.left, _CONCAT), expression.op, _within(expression.right, _CONCAT))
    )


def _print_and(expression: And) -> str:
    return " AND ".join([_within(one, _NOT) for one in expression.operands])


def _print_or(expression: Or) -> str:
    return " OR ".join([_within(one, _NOT) for one in expression.operands])


def _print_not(expression: Not) -> str:
    match expression.operand:
        case InList() | Like() | IsNull() | IsTrue() as test:
            return _print_test(test, "NOT ")
        case one:
            return f"NOT {_within(one, _IS)}"


def _print_test(expression: InList | Like | IsNull | IsTrue, negation: str = "") -> str:
    match expression:
        case InList(operand=one, options=options):
            listed = ", ".join([sql_constant(option) for option in options])
            return f"{_within(one, _CONCAT)} {negation}IN ({listed})"
        case Like(operand=one, pattern=pattern, escape=escape):
            ending = "" if escape is None else f" ESCAPE {sql_text(escape)}"
            return f"{_within(one, _CONCAT)} {negation}LIKE {sql_text(pattern)}{ending}"
        case IsNull(operand=one):
            return f"{_within(one, _CONCAT)} IS {negation}NULL"
        case IsTrue(operand=Not(operand=ColumnRef() as one)):
            return f"{_within(one, _CONCAT)} IS {negation}FALSE"
        case IsTrue(operand=one):
            return f"{_within(one, _CONCAT)} IS {negation}TRUE"


_BINDINGS: dict[type[Expression], int] = {
    Constant: _OPERAND,
    ColumnRef: _OPERAND,
    AggregateCall: _OPERAND,
    Negate: _SIGN,
    Compare: _COMPARE,
    InList: _COMPARE,
    Like: _COMPARE,
    IsNull: _IS,
    IsTrue: _IS,
    And: _AND,
    Or: _OR,
}
"""How tightly a node binds, where its type says so."""

_PRINTERS: dict[type[Expression], Callable[[Any], str]] = {
    Constant: sql_constant,
    ColumnRef: _print_column,
    Call: _print_call,
    GroupKey: _print_key,
    AggregateCall: _print_aggregate,
    Negate: _print_negate,
    Arithmetic: _print_arithmetic,
    Compare: _print_compare,
    InList: _print_test,
    Like: _print_test,
    IsNull: _print_test,
    IsTrue: _print_test,
    Not: _print_not,
    And: _print_and,
    Or: _print_or,
}
"""The one printer of each type of node."""
