"""Canonical text: binding it again gives the same query, and equal meaning shares one clause."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from psoup.engine.query.bind.conditions.normal_form import conjunction, disjunction, negation
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.values.expression import Constant, Expression
from psoup.engine.query.values.value_set import INT64_MAX, INT64_MIN
from psoup.engine.tuples.schema import ColumnType, StreamSchema
from tests import strategies, strategies_sql
from tests.engine.query.expression_strategies import (
    SCHEMA,
    bound,
    bound_or_none,
    loose_conditions,
    where_of,
)


def assert_bound_again_to_the_same(query: BoundQuery, schema: StreamSchema = SCHEMA) -> None:
    """Assert that the canonical text means the query, to the last type of the last constant.

    It is what the log keeps: the fold binds it, and has to get what the client was told.
    """
    again = bound(query.canonical, schema)
    assert query == again
    assert repr(query) == repr(again)
    condition = bound(query.clause.text, schema)
    assert query.clause == condition.clause
    assert query.clause.text == condition.canonical
    assert len(query.clause.text) <= len(query.canonical)


@given(data=st.data())
def test_canonical_text_of_drawn_query_binds_to_an_equal_query(data):
    """Idempotent: clause, factors, outputs, window and warnings are the same."""
    schema = data.draw(strategies.schemas())
    query = bound_or_none(data.draw(strategies_sql.queries(schema)).sql, schema)
    if query is not None:
        assert_bound_again_to_the_same(query, schema)


@given(condition=loose_conditions())
def test_canonical_text_of_loose_condition_binds_to_an_equal_query(condition):
    """The same for texts that hang on precedence."""
    assert_bound_again_to_the_same(bound(f"SELECT ({condition}) AS shown FROM s WHERE {condition}"))


@given(condition=loose_conditions())
def test_canonical_text_once_printed_is_no_part_of_an_expression(condition):
    """Printed or not, expressions are equal, hash alike and look alike."""
    (output,) = bound(f"SELECT ({condition}) AS shown FROM s").shape.outputs
    printed = output.expression
    fresh = unprinted(printed)
    assert fresh.printed is None
    assert printed == fresh
    assert hash(printed) == hash(fresh)
    assert repr(printed) == repr(fresh)
    assert sql_expression(printed) == sql_expression(fresh)


def unprinted(expression: Expression) -> Expression:
    """Return an equal expression that nobody has printed, nor any of its parts."""
    parts = [_unprinted(getattr(expression, name)) for name in expression.__match_args__]
    return type(expression)(*parts)


def _unprinted(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(_unprinted(one) for one in part)
    return unprinted(part) if isinstance(part, Expression) else part


@given(condition=loose_conditions())
def test_normal_form_is_kept_by_double_negation_and_repetition(condition):
    """NOT NOT x, x AND x, x OR x are x."""
    where = where_of(bound(f"SELECT i FROM s WHERE {condition}"), SCHEMA)
    assert where == negation(negation(where))
    assert where == conjunction([where, where]) == disjunction([where, where])


@pytest.mark.parametrize(
    "texts",
    [
        ["f > 40", "40.0 < f", "NOT f <= 4e1", "not (40 >= s.f)", "f > 20 + 20", "F > 40 AND TRUE"],
        ["i IN (2, 1)", "i = 1 OR i = 2", "2 = i OR 1 = i", "NOT (i <> 1 AND i <> 2)"],
        ["f BETWEEN 1 AND 2", "f >= 1 AND f <= 2", "NOT (f < 1 OR f > 2)", "f <= 2 AND 1 <= f"],
        ["b", "b = TRUE", "b <> FALSE", "b IS TRUE", "NOT NOT b", "NOT b = FALSE"],
        [
            "ts > '2014-01-05'",
            "ts > TIMESTAMP '2014-01-05 00:00:00'",
            "'2014-01-05T01:00:00+01:00' < ts",
        ],
        ["t LIKE 'a'", "t = 'a'", "t IN ('a')", "t IN ('a', 'a')"],
        ["i = 1 AND (f > 2 AND b)", "(b AND f > 2) AND i = 1", "b AND i = 1 AND f > 2 AND b"],
        ["i > f", "f < i", "NOT f >= i"],
        ["1 = 2", "NULL", "i = NULL", "i > 5 AND FALSE", "NOT TRUE"],
    ],
)
def test_canonical_text_of_equal_conditions_is_one(texts):
    """What means the same in an obvious way shares one clause."""
    clauses = {bound(f"SELECT i FROM s WHERE {text}").clause for text in texts}
    assert 1 == len(clauses)


@pytest.mark.parametrize(
    "texts",
    [
        ["i = 1", "f = 1", "j = 1"],
        ["t = '1'", "t = 'l'", "t = u", "t = 'u'"],
        ["i - j - i > 0", "i - (j - i) > 0"],
        ["i / 2 * 3 > 0", "i / (2 * 3) > 0"],
        ["-i > 0", "i > 0", "-(-i) > 0"],
        ["NOT (b AND c)", "NOT b AND c"],
        ["t LIKE 'a!%' ESCAPE '!'", "t LIKE 'a!%'"],
        ["i = 1 OR f = 2 AND b", "(i = 1 OR f = 2) AND b"],
    ],
)
def test_canonical_text_of_unlike_conditions_differs(texts):
    """What means different things has different clauses."""
    clauses = {bound(f"SELECT i FROM s WHERE {text}").clause.text for text in texts}
    assert len(texts) == len(clauses)


@pytest.mark.parametrize("value", [0, 1, -1, INT64_MIN, INT64_MAX])
def test_canonical_integer_is_read_back(value):
    """The least integer too, whose digits alone do not fit."""
    (output,) = bound(f"SELECT {value} AS v FROM s").shape.outputs
    assert Constant(value, ColumnType.INT64) == output.expression


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_canonical_double_is_read_back_to_the_last_bit(value):
    """The shortest text that names the DOUBLE; -0.0 is 0.0."""
    query = bound(f"SELECT {value!r} AS v, f FROM s WHERE f > {value!r}")
    assert query == bound(query.canonical)
    assert query.shape.outputs[0].expression in (
        Constant(value, ColumnType.FLOAT64),
        Constant(0.0, ColumnType.FLOAT64),
    )


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_canonical_string_is_read_back(text):
    """Quotes, line ends, comment signs and semicolons inside a string are text."""
    quoted = text.replace("'", "''")
    query = bound(f"SELECT i FROM s WHERE t = '{quoted}'")
    assert query == bound(query.canonical)
