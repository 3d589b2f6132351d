"""Pushes Spark's filters into the SQL text of a query.

A filter is pushed if psoup and Spark agree on its truth value, of three, for every value: if it compares a plain column
of the select list with a constant of the column's own type. Spark casts both sides to one type before, and keeps a
filter for which it had to cast the column. Not pushed are: NaN and infinities, which no column of psoup holds; lists
with a DOUBLE zero, which Spark looks up by its sign; texts with NUL, which no query can hold; times outside the years
1 to 9999.

A filter of a group's key is a filter of its rows; filters of other outputs of groups are Spark's, and all where LIMIT,
OFFSET, row windows or LEFT JOIN would find other rows.

Conjuncts are inserted at the positions of the syntax tree, never by a search in the text.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from psoup.engine.limits import (
    QUERY_IN_LIST_MAX,
    QUERY_PATTERN_LENGTH_MAX,
    TIMESTAMP_US_MAX,
    TIMESTAMP_US_MIN,
)
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.text.syntax import (
    ColumnSyntax,
    QuerySyntax,
)
from psoup.engine.query.text.syntax_parts import aggregates_in, shown_expressions
from psoup.engine.query.values import expression as sql
from psoup.engine.tuples.schema import ColumnType

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_INT64_PAST: Final = 2**63
_ESCAPE: Final = "\\"
_SPECIAL: Final = str.maketrans({one: _ESCAPE + one for one in (_ESCAPE, "%", "_")})
_COMPARISONS: Final[dict[type[Filter], sql.CompareOp]] = {
    EqualTo: sql.CompareOp.EQ,
    GreaterThan: sql.CompareOp.GT,
    GreaterThanOrEqual: sql.CompareOp.GE,
    LessThan: sql.CompareOp.LT,
    LessThanOrEqual: sql.CompareOp.LE,
}
_PATTERNS: Final[dict[type[Filter], tuple[str, str]]] = {
    StringContains: ("%", "%"),
    StringEndsWith: ("%", ""),
    StringStartsWith: ("", "%"),
}
"""Prefix and suffix of the text in a LIKE pattern."""


def push(
    canonical: str, columns: Mapping[str, ColumnType], filters: Sequence[Filter]
) -> tuple[str, list[Filter]]:
    """Return the query with the filters in its text, and the filters that it cannot express.

    Window and select list stay the same. DISTINCT is safe: the filters keep all rows that are equal in every column, or
    none of them. A query that groups, orders or limits its rows takes no filters: they hold for its answer.

    Args:
        canonical: the text of a query, as its description has it.
        columns: the names and types of what it shows.
        filters: what Spark wants to hold, all of them together.

    Cost: linear in the text, once for each filter that is taken over.
    """
    try:
        syntax = parse(canonical)
        shown = _filterable(syntax, plain_columns(syntax, columns))
    except Refused:  # a dialect that is newer than ours
        return canonical, list(filters)
    text, conjuncts, left = canonical, list[sql.Expression](), list[Filter]()
    for one in filters:
        conjunct = expression_of(one, shown)
        narrowed = None if conjunct is None else _narrowed(canonical, [*conjuncts, conjunct])
        if conjunct is None or narrowed is None:
            left.append(one)
        else:
            text = narrowed
            conjuncts.append(conjunct)
    return text, left


def plain_columns(
    syntax: QuerySyntax, columns: Mapping[str, ColumnType]
) -> dict[str, sql.ColumnRef]:
    """Return the entries of the select list that are plain columns, by their output name."""
    found = {}
    for output in syntax.outputs:
        what = output.what
        if not isinstance(what, ColumnSyntax):
            continue
        name = what.name.text if output.alias is None else output.alias.text
        kind = columns.get(name)
        if kind is not None:
            alias = "" if what.qualifier is None else what.qualifier.text
            found[name] = sql.ColumnRef(0, what.name.text, kind, alias)
    return found


def _filterable(
    syntax: QuerySyntax, shown: Mapping[str, sql.ColumnRef]
) -> Mapping[str, sql.ColumnRef]:
    """Return the columns of which a filter means the same before the query shapes its rows as behind that.

    Of groups these are their keys; none where LIMIT, OFFSET, a row window or LEFT JOIN would find other rows.
    """
    shape = syntax.shape
    if shape.limit is not None or shape.offset:
        return {}
    if any(one.rows is not None or one.left for one in syntax.sources):
        return {}
    if not shape.keys and not any(map(aggregates_in, shown_expressions(syntax))):
        return shown
    keys = {
        (key.qualifier.text if key.qualifier else "", key.name.text)
        for key in shape.keys
        if isinstance(key, ColumnSyntax)
    }
    return {name: ref for name, ref in shown.items() if (ref.alias, ref.name) in keys}


def expression_of(one: Filter, columns: Mapping[str, sql.ColumnRef]) -> sql.Expression | None:
    """Return a filter as an expression over these columns; None: psoup cannot express exactly the same."""
    if isinstance(one, Not):
        negated = expression_of(one.child, columns)
        return None if negated is None else sql.Not(negated)
    path: Sequence[str] = getattr(one, "attribute", ())
    column = columns.get(path[0]) if len(path) == 1 else None
    if column is None:
        return None
    if isinstance(one, IsNull):
        return sql.IsNull(column)
    if isinstance(one, IsNotNull):
        return sql.Not(sql.IsNull(column))
    return _of_constant(one, column, getattr(one, "value", None))


def with_conjuncts(text: str, conjuncts: Sequence[sql.Expression]) -> str:
    """Return the query's text with more conditions, joined by AND.

    Raises:
        Refused: the text is no query, or with them is more than a query may be.
    """
    syntax = parse(text)
    added = " AND ".join([f"({sql_expression(one)})" for one in conjuncts])
    if syntax.where is not None:
        own = syntax.where.span
        condition = f"({text[own.start : own.past]}) AND {added}"
        before, behind = text[: own.start], text[own.past :]
    else:
        follows = [syntax.shape.span, None if syntax.window is None else syntax.window.span]
        at = min([span.start for span in follows if span is not None], default=len(text))
        condition = f"WHERE {added}"
        before, behind = text[:at].rstrip() + " ", text[at:] and " " + text[at:]
    narrowed = f"{before}{condition}{behind}"
    parse(narrowed)
    return narrowed


def _narrowed(text: str, conjuncts: Sequence[sql.Expression]) -> str | None:
    """Return the text with the conjuncts; None: it exceeds the limits of a query."""
    try:
        return with_conjuncts(text, conjuncts)
    except Refused:
        return None


def _of_constant(one: Filter, column: sql.ColumnRef, value: object) -> sql.Expression | None:
    if isinstance(one, In):
        return _of_list(column, list(one.value))
    if isinstance(one, EqualNullSafe) and value is None:
        return sql.IsNull(column)
    constant = _constant(value, column.type)
    if constant is None:
        return None
    if isinstance(one, EqualNullSafe):  # never unknown, so that its negation is not either
        is_there = sql.Not(sql.IsNull(column))
        return sql.And((is_there, sql.Compare(sql.CompareOp.EQ, column, constant)))
    if type(one) in _PATTERNS and isinstance(value, str):
        return _of_pattern(column, value, *_PATTERNS[type(one)])
    op = _COMPARISONS.get(type(one))
    return None if op is None else sql.Compare(op, column, constant)


def _of_pattern(column: sql.ColumnRef, text: str, before: str, behind: str) -> sql.Like | None:
    literal = text.translate(_SPECIAL)
    pattern = f"{before}{literal}{behind}"
    escape = None if literal == text else _ESCAPE
    fits = len(pattern) <= QUERY_PATTERN_LENGTH_MAX
    return sql.Like(column, pattern, escape) if fits else None


def _of_list(column: sql.ColumnRef, values: list[Any]) -> sql.Expression | None:
    if not 0 < len(values) <= QUERY_IN_LIST_MAX:
        return None
    options = [
        sql.Constant(None, column.type) if value is None else _constant(value, column.type)
        for value in values
    ]
    kept = tuple([one for one in options if one is not None])
    has_zero = column.type is ColumnType.FLOAT64 and any(one.value == 0 for one in kept)
    return None if len(kept) < len(options) or has_zero else sql.InList(column, kept)


def _constant(value: object, kind: ColumnType) -> sql.Constant | None:
    """Return the value as a literal of exactly this type; None: there is none."""
    match kind, value:
        case (ColumnType.BOOL, bool()):
            return sql.Constant(value, kind)
        case (ColumnType.INT64, int()) if not isinstance(value, bool):
            fits = -_INT64_PAST <= value < _INT64_PAST
            return sql.Constant(value, kind) if fits else None
        case (ColumnType.FLOAT64, float()):
            return sql.Constant(value, kind) if math.isfinite(value) else None
        case (ColumnType.STRING, str()):
            return None if "\0" in value else sql.Constant(value, kind)
        case (ColumnType.TIMESTAMP, datetime()) if value.tzinfo is not None:
            us = (value - _EPOCH) // _MICROSECOND
            fits = TIMESTAMP_US_MIN <= us <= TIMESTAMP_US_MAX
            return sql.Constant(us, kind) if fits else None
        case _:
            return None
