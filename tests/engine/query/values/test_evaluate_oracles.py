"""Columns, rows, DuckDB: one query means the same to the evaluator, the naive twin and DuckDB."""

from hypothesis import given, strategies as st

from psoup.engine.query.factor import AttributeFactor, ResidualFactor
from psoup.engine.query.values.evaluate import evaluate, truth
from tests import strategies, strategies_sql
from tests.engine.query.expression_strategies import (
    SCHEMA,
    bound,
    bound_or_none,
    columns_of,
    loose_conditions,
    where_of,
)
from tests.oracle_duckdb import DuckDbOracle
from tests.reference_values import factor_holds, value_of


@given(data=st.data())
def test_oracle_evaluate_of_drawn_query_equals_the_twin_on_the_drawn_tree(data):
    """Parser, binder and evaluator together compute what the tree behind the text means, row by row."""
    schema = data.draw(strategies.schemas())
    rows = data.draw(strategies.batches(schema))
    query = data.draw(strategies_sql.queries(schema))
    found = bound_or_none(query.select, schema)
    if found is None:
        return
    columns = columns_of(schema, rows)
    for output, tree in zip(found.shape.outputs, query.outputs, strict=True):
        expected = [value_of(tree, [row]) for row in rows]
        actual = evaluate(output.expression, columns, len(rows))
        assert expected == actual.to_list(), output
        assert (output.type, len(rows)) == (actual.type, len(actual))
    expected_rows = [query.where is None or value_of(query.where, [row]) is True for row in rows]
    assert expected_rows == truth(where_of(found, schema), columns, len(rows)).tolist()


@given(data=st.data())
def test_oracle_factors_of_drawn_query_hold_where_its_where_is_true(data):
    """The conjunction of indexed and residual factors is the WHERE, for every row."""
    schema = data.draw(strategies.schemas())
    rows = data.draw(strategies.batches(schema))
    condition = data.draw(strategies_sql.conditions(schema))
    found = bound_or_none(f"SELECT * FROM {schema.name} WHERE {condition.text}", schema)
    if found is None:
        return
    factors = found.clause.factors
    indexed = [factor.column for factor in factors if isinstance(factor, AttributeFactor)]
    assert len(set(indexed)) == len(indexed), "one factor a column"
    columns = columns_of(schema, rows)
    for number, row in enumerate(rows):
        expected = value_of(condition.tree, [row]) is True
        holds = []
        for factor in factors:
            if isinstance(factor, AttributeFactor):
                holds.append(factor.values.contains(row[factor.column.name]))
                assert factor_holds(factor, [row]) == holds[-1]
            else:
                assert isinstance(factor, ResidualFactor)
                holds.append(bool(truth(factor.expression, columns, len(rows))[number]))
        assert expected == all(holds), factors


@given(data=st.data())
def test_oracle_loose_text_means_to_us_what_it_means_to_duckdb(data):
    """Without brackets, AND, OR, NOT, IS, IN, BETWEEN, LIKE and arithmetic bind as they do in DuckDB."""
    rows = data.draw(strategies.batches(SCHEMA, max_size=6))
    small = [
        row
        | {name: None if row[name] is None else int(row[name]) % 7 - 3 for name in "ij"}
        | {name: None if row[name] is None else float(row[name]) % 4 - 2 for name in "fg"}
        for row in rows
    ]
    text = f"SELECT i FROM s WHERE {data.draw(loose_conditions())}"
    numbers = range(1, len(small) + 1)
    where = where_of(bound(text), SCHEMA)
    shown = truth(where, columns_of(SCHEMA, small), len(small)).tolist()
    with DuckDbOracle() as oracle:
        oracle.load(SCHEMA, small, tuple_ids=numbers, times_us=numbers)
        condition = text.partition(" WHERE ")[2]
        found = oracle.scalar(f"SELECT list(_tuple_id ORDER BY _tuple_id) FROM s WHERE {condition}")
    expected = [number for number, seen in zip(numbers, shown, strict=True) if seen]
    assert (found or []) == expected, text
