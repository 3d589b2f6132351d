"""The two oracles agree with each other: the twin's evaluator and DuckDB share not one line.

Here the twin evaluates the tree a query was drawn from, not what the binder made of its text.
"""

import pytest
from hypothesis import given, strategies as st

from psoup.engine.query.values.expression import Expression
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from tests import strategies, strategies_sql
from tests.oracle_duckdb import DuckDbOracle, Found
from tests.reference_values import INT64_MAX, INT64_MIN, Row, value_of
from tests.strategies import fewer
from tests.world import World


def matches(
    where: Expression | None, outputs: tuple[Expression, ...], rows: list[Row]
) -> list[Found]:
    """Return what a query finds among rows numbered from 1 and dated by their number."""
    return [
        (number, number, tuple(value_of(output, [row]) for output in outputs))
        for number, row in enumerate(rows, start=1)
        if where is None or value_of(where, [row]) is True
    ]


@fewer(15)
@given(data=st.data())
def test_oracle_evaluator_of_drawn_trees_equals_duckdb(data):
    """WHERE and select list of any drawn query mean the same to the twin and to DuckDB."""
    schema = data.draw(strategies.schemas())
    rows = data.draw(strategies.batches(schema))
    query = data.draw(strategies_sql.queries(schema))
    numbers = range(1, len(rows) + 1)
    with DuckDbOracle() as oracle:
        oracle.load(schema, rows, tuple_ids=numbers, times_us=numbers)
        expected = matches(query.where, query.outputs, rows)
        if not query.distinct:
            assert expected == oracle.answer(query.select)
        else:
            kept = {values for _, _, values in expected}
            distinct = oracle.distinct_values(query.select)
            assert kept == set(distinct)
            assert len(kept) == len(distinct)


TRAPS = [
    ("text is compared by code point", "s < 'ü'", [{"s": "a"}, {"s": "日"}], [1]),
    ("LIKE keeps the case", "s LIKE 'a%'", [{"s": "ab"}, {"s": "AB"}], [1]),
    ("_ is one character, not one byte", "s LIKE '_'", [{"s": "𝄞"}, {"s": "ab"}], [1]),
    ("an empty string is not NULL", "s IS NULL", [{"s": ""}, {"s": None}], [2]),
    ("NULL equals nothing", "i = i", [{"i": None}, {"i": 1}], [2]),
    ("a miss among NULLs is unknown", "i NOT IN (1, NULL)", [{"i": 1}, {"i": 2}], []),
    ("nor does its negation hold", "NOT (i IN (1, NULL))", [{"i": 1}, {"i": 2}], []),
    ("NOT of unknown is unknown", "NOT (i > 0)", [{"i": None}, {"i": 0}], [2]),
    ("zeros are equal", "f = -0.0", [{"f": 0.0}, {"f": -0.0}], [1, 2]),
    ("division is of doubles", "i / 2 = 0.5", [{"i": 1}], [1]),
    ("division by zero is NULL", "1 / i IS NULL", [{"i": 0}, {"i": 1}], [1]),
    ("% has the sign of its left side", "i % 3 = -1", [{"i": -7}, {"i": 7}], [1]),
    ("the least integer % -1 is 0", "i % -1 = 0", [{"i": INT64_MIN}], [1]),
    ("overflow is NULL", "i + 1 IS NULL", [{"i": INT64_MAX}, {"i": 0}], [1]),
    ("the least integer has no negative", "-i IS NULL", [{"i": INT64_MIN}], [1]),
    ("infinity is NULL", "f * 10 IS NULL", [{"f": 1e308}, {"f": 1.0}], [1]),
    ("beside a double an integer is one", "i = f", [{"i": 2**53 + 1, "f": 2.0**53}], [1]),
    ("beside an integer it is exact", "i = 9007199254740992", [{"i": 2**53 + 1}], []),
    ("false sorts before true", "b < TRUE", [{"b": False}, {"b": True}], [1]),
]


@pytest.mark.parametrize(("claim", "where", "cells", "found"), TRAPS, ids=[t[0] for t in TRAPS])
def test_oracle_engine_and_duckdb_at_a_trap_answer_as_agreed(claim, where, cells, found):
    """Where engines differ, psoup means what is written down, and the rewritten query means the same."""
    kinds = {
        "i": ColumnType.INT64,
        "f": ColumnType.FLOAT64,
        "b": ColumnType.BOOL,
        "s": ColumnType.STRING,
    }
    columns = tuple(ColumnSchema(name, kind) for name, kind in kinds.items())
    schema = StreamSchema("t", columns, None, ClockKind.SERVER)
    rows = [dict.fromkeys(kinds) | cell for cell in cells]
    numbers = range(1, len(rows) + 1)
    with DuckDbOracle() as oracle:
        oracle.load(schema, rows, tuple_ids=numbers, times_us=numbers)
        answered = oracle.answer(f"SELECT i FROM t WHERE {where}")
    assert found == [tuple_id for tuple_id, _, _ in answered], claim
    world = World()
    world.declare(schema)
    early = world.register(f"SELECT i FROM t WHERE {where}")
    world.append("t", rows)
    late = world.register(f"SELECT f FROM t WHERE {where}")
    for query_id in (early, late):
        assert found == [int(ids) for ids, _, _ in world.invoke(query_id).rows], claim
