"""Functions of columns, of tuples one by one, and nested in each other: kernels and the naive twin agree."""

import re

from hypothesis import given, strategies as st

from psoup.engine.errors import QueryTooComplexError, SqlError, TypeMismatchError
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.factor import AttributeFactor
from psoup.engine.query.functions.table import FUNCTIONS
from psoup.engine.query.functions.times import UNITS_US_MAX
from psoup.engine.query.values.evaluate import evaluate, truth
from psoup.engine.query.values.expression import Call, Expression, Value, children
from psoup.engine.tuples.schema import ColumnType
from tests.engine.query.expression_strategies import SCHEMA, bound, columns_of, where_of
from tests.engine.query.functions.values import drawn_rows, edge_rows, expressions
from tests.engine.query.test_canonical import assert_bound_again_to_the_same
from tests.reference_functions import FUNCTIONS as TWIN
from tests.reference_values import Row, factor_holds, value_of

WRITTEN = sorted(expressions())
PLACES = {
    ColumnType.INT64: ("i", "j"),
    ColumnType.FLOAT64: ("f", "g"),
    ColumnType.BOOL: ("b", "c"),
    ColumnType.STRING: ("t", "u"),
    ColumnType.TIMESTAMP: ("te", "ts"),
}


def values_of(query: BoundQuery, rows: list[Row]) -> list[tuple[Value | None, ...]]:
    """Return the outputs for every row, by the kernels."""
    columns = columns_of(SCHEMA, rows)
    found = [evaluate(one.expression, columns, len(rows)).to_list() for one in query.shape.outputs]
    return list(zip(*found, strict=True))


def twin_of(query: BoundQuery, rows: list[Row]) -> list[tuple[Value | None, ...]]:
    """Return the outputs for every row, by the twin."""
    return [tuple(value_of(one.expression, [row]) for one in query.shape.outputs) for row in rows]


def functions_in(expression: Expression) -> set[str]:
    """Return the functions that an expression calls."""
    own = {expression.function} if isinstance(expression, Call) else set()
    return own.union(*map(functions_in, children(expression)))


@st.composite
def nested(draw: st.DrawFn) -> str:
    """Draw an expression of the file with others of the right type in place of some of its columns."""
    text = draw(st.sampled_from(WRITTEN))
    for _ in range(draw(st.integers(0, 3))):
        inner = draw(st.sampled_from(WRITTEN))
        (output,) = bound(f"SELECT {inner} AS v FROM s").shape.outputs
        column = draw(st.sampled_from(PLACES[output.type]))
        text = re.sub(rf"\b{column}\b(?!')", f"({inner})", text, count=1)
    return text


def test_twin_of_every_expression_agrees_at_the_edges():
    """Columns of values and one tuple after the other give the same, to the last bit."""
    rows = edge_rows(80)
    shown = ", ".join(f"{text} AS o{i}" for i, text in enumerate(WRITTEN))
    query = bound(f"SELECT {shown} FROM s")
    assert repr(twin_of(query, rows)) == repr(values_of(query, rows))
    called = set[str]().union(*(functions_in(one.expression) for one in query.shape.outputs))
    rewritten = {name for name, function in FUNCTIONS.items() if function.kernel is None}
    assert set(FUNCTIONS) - rewritten == called == {*TWIN, "CAST"}
    assert_bound_again_to_the_same(query)


@given(data=st.data())
def test_twin_of_functions_in_each_other_agrees(data):
    """What functions give is what others take; and canonical text binds to the same again."""
    rows = data.draw(drawn_rows())
    try:
        query = bound(f"SELECT {data.draw(nested())} AS value FROM s")
    except SqlError as refused:
        assert isinstance(refused, QueryTooComplexError | TypeMismatchError)  # noqa: PT017
        return
    assert repr(twin_of(query, rows)) == repr(values_of(query, rows))
    assert_bound_again_to_the_same(query)


@given(data=st.data())
def test_twin_of_factors_of_compared_functions_agrees(data):
    """Where a function becomes intervals of its column, they are where the condition is TRUE."""
    rows = data.draw(drawn_rows())
    condition = data.draw(st.sampled_from(INDEXED)).format(
        op=data.draw(OPS), at=data.draw(INSTANTS)
    )
    negation = data.draw(st.sampled_from(["", "NOT "]))
    query = bound(f"SELECT i FROM s WHERE {negation}({condition})")
    where = truth(where_of(query, SCHEMA), columns_of(SCHEMA, rows), len(rows)).tolist()
    factors = query.clause.factors
    assert all(isinstance(factor, AttributeFactor) for factor in factors)
    assert where == [all(factor_holds(factor, [row]) for factor in factors) for row in rows]


OPS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
INSTANTS = st.sampled_from(
    [
        "0001-01-01",
        "0001-01-04 10:00:00",
        "0001-01-08",
        "1969-12-31 23:59:59",
        "1969-12-29",
        "1970-01-01",
        "2000-01-01",
        "2000-01-03",
        "2014-01-05 12:00:00",
        "9999-12-31",
        "9999-12-27",
        "9999-12-31 23:59:59.999999",
    ]
)
INDEXED = (
    *(f"DATE_TRUNC('{unit}', te) {{op}} '{{at}}'" for unit in UNITS_US_MAX),
    *(f"TIME_BUCKET(INTERVAL '{width}', te) {{op}} '{{at}}'" for width in ("5 minutes", "9 days")),
    *("te::DATE IN ('{at}', '1970-01-01')", "te::DATE NOT IN ('{at}', NULL)"),
    *("TIME_BUCKET(INTERVAL '1000' SECOND, te) NOT IN ('{at}', '0001-01-01')",),
    *("LEFT(t, 1) = 'a'", "LEFT(t, 2) <> '1'", "LEFT(t, 1) IN ('a', 'A', '')", "LEFT(t, 1) = 'ab'"),
    *(
        "COALESCE(i, 5) {op} 2",
        "COALESCE(j, 2) {op} 2.5",
        "COALESCE(f, 0) {op} 0",
        "COALESCE(b, TRUE)",
    ),
    *(
        "COALESCE(t, 'a') {op} 'a'",
        "COALESCE(te, '1970-01-01') {op} '{at}'",
        "COALESCE(j, 1) IN (1, 2)",
    ),
)
"""Conditions that an index settles."""
