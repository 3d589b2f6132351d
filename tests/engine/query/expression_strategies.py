"""Hypothesis strategies over one fixed stream that has every type twice: texts, columns, noise.

`tests/strategies_sql.py` draws queries over any schema; here are the helpers that need neither an engine
nor a log, and texts written without brackets, so that precedence is tested as well.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from psoup.engine.errors import TypeMismatchError
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.conditions.normal_form import TRUE
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.values.expression import ColumnRef, Expression, Value
from psoup.engine.tuples.batch import DTYPES, Column
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from tests.reference_values import Row

SCHEMA = StreamSchema(
    "s",
    (
        ColumnSchema("i", ColumnType.INT64),
        ColumnSchema("j", ColumnType.INT64),
        ColumnSchema("f", ColumnType.FLOAT64),
        ColumnSchema("g", ColumnType.FLOAT64),
        ColumnSchema("b", ColumnType.BOOL),
        ColumnSchema("c", ColumnType.BOOL),
        ColumnSchema("t", ColumnType.STRING),
        ColumnSchema("u", ColumnType.STRING),
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("te", ColumnType.TIMESTAMP),
    ),
    time="ts",
    clock=ClockKind.HIGH_WATER,
)
STREAMS = {"s": (StreamId(1), SCHEMA)}


def bound(text: str, schema: StreamSchema = SCHEMA) -> BoundQuery:
    """Return the text bound against one stream."""
    return bind(text, {schema.name: (StreamId(1), schema)})


def bound_or_none(text: str, schema: StreamSchema) -> BoundQuery | None:
    """Return the text bound, or None where a literal is refused for being inexact beside a DOUBLE."""
    try:
        return bound(text, schema)
    except TypeMismatchError as refused:
        if "beyond what a DOUBLE holds" not in refused.detail:
            raise
        return None


def where_of(query: BoundQuery, schema: StreamSchema) -> Expression:
    """Return the whole WHERE of a bound query as one expression: its text, selected as an output."""
    _, found, text = query.clause.text.partition(" WHERE ")
    if not found:
        return TRUE
    (output,) = bound(f"SELECT ({text}) AS w FROM {schema.name}", schema).shape.outputs
    return output.expression


def column_of(kind: ColumnType, cells: Sequence[Value | None]) -> Column:
    """Return the cells as a column; a string's dictionary also holds a text that no row uses."""
    valid = None
    if any(cell is None for cell in cells):
        valid = np.array([cell is not None for cell in cells], np.bool_)
    if kind is ColumnType.STRING:
        texts = sorted({str(cell) for cell in cells if cell is not None} | {"unused"}, reverse=True)
        codes = [texts.index(str(cell)) if cell is not None else 0 for cell in cells]
        return Column(kind, np.array(codes, np.int32), valid, texts)
    filled = [0 if cell is None else cell for cell in cells]
    return Column(kind, np.array(filled, DTYPES[kind]), valid)


def columns_of(schema: StreamSchema, rows: Sequence[Row]) -> Callable[[ColumnRef], Column]:
    """Return what `evaluate` asks for its columns."""
    made: Mapping[str, Column] = {
        column.name: column_of(column.type, [row[column.name] for row in rows])
        for column in schema.columns
    }
    return lambda ref: made[ref.name]


# --- Texts whose meaning hangs on precedence ------------------------------------------------------

_NUMBERS = st.sampled_from(["i", "j", "1", "2", "-3", "f", "g", "0.5", "ABS(i - j)", "-i", "- -j"])
_OPERATORS = st.sampled_from([" + ", " - ", " * ", "-"])
_COMPARISONS = st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">="])


@st.composite
def loose_sums(draw: st.DrawFn) -> str:
    """Draw a sum of products, hardly bracketed."""
    text = draw(_NUMBERS)
    for _ in range(draw(st.integers(0, 3))):
        part = draw(_NUMBERS)
        text += draw(_OPERATORS) + part if part[0] != "-" else f" + {part}"
    return f"({text})" if draw(st.integers(0, 4)) == 0 else text


@st.composite
def loose_tests(draw: st.DrawFn) -> str:
    """Draw one test without brackets around it."""
    negation = draw(st.sampled_from(["", "NOT "]))
    sums = loose_sums()
    match draw(st.integers(0, 6)):
        case 0:
            return f"{draw(sums)} {negation}BETWEEN {draw(sums)} AND {draw(sums)}"
        case 1:
            return f"{draw(sums)} {negation}IN (1, 2, 0.5)"
        case 2:
            return f"t {negation}LIKE {draw(st.sampled_from(['a%', '%b', '_', 'a_%', '%']))!r}"
        case 3:
            return f"{draw(sums)} IS {negation}NULL"
        case 4:
            return f"{draw(st.sampled_from('bc'))} IS {negation}{draw(st.sampled_from(['TRUE', 'FALSE']))}"
        case 5:
            return draw(st.sampled_from("bc"))
        case _:
            return f"{draw(sums)} {draw(_COMPARISONS)} {draw(sums)}"


@st.composite
def loose_conditions(draw: st.DrawFn, depth: int = 1) -> str:
    """Draw tests joined by AND, OR and NOT, few brackets."""
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        part = draw(loose_tests())
        if depth and draw(st.integers(0, 5)) == 0:
            part = f"({draw(loose_conditions(depth - 1))})"
        parts.append(draw(st.sampled_from(["", "", "NOT ", "NOT NOT "])) + part)
    text = parts[0]
    for part in parts[1:]:
        text += draw(st.sampled_from([" AND ", " OR ", " and ", " Or "])) + part
    return text


# --- Noise ----------------------------------------------------------------------------------------

_TOKENS = (
    "SELECT DISTINCT FROM WHERE AND OR NOT BETWEEN IN LIKE ESCAPE IS NULL TRUE FALSE BEGIN END NOW AS ABS "
    "TIMESTAMP INTERVAL HOUR GROUP BY ORDER LIMIT CASE WHEN CAST UNION WITH COUNT s i f b t ts x * + - "
    "JOIN INNER CROSS ON RANGE r s.i r.i "
    "/ % ( ) ( ) , ; . = <> < <= > >= || :: [ ] ? : $ @ # ! ~ -- /* */ 1 2.5 1e400 99999999999999999999 'a' "
    "WHEN THEN ELSE ILIKE EXTRACT( SUBSTRING( TRIM( POSITION( LEFT( COALESCE( DISTINCT DATE BIGINT FOR BOTH LOWER( MOD( "
    "'%' '2014-01-05' '6' \"i\" \"q ' \" é 日 \\ ' \" `"
)


def noise() -> st.SearchStrategy[str]:
    """Draw tokens of SQL in any order, or any text, behind a good beginning or not."""
    shuffled = st.lists(st.sampled_from(_TOKENS.split()), max_size=30).map(" ".join)
    beginnings = st.sampled_from(
        [
            "",
            "SELECT * FROM s ",
            "SELECT * FROM s WHERE ",
            "SELECT ",
            "SELECT s.f FROM s JOIN s AS r ",
            "SELECT s.f FROM s, s r WHERE s.i = r.i AND ",
        ]
    )
    return st.tuples(beginnings, shuffled | st.text(max_size=40)).map("".join)
