"""Columns that come amid rows and queries: as if they had been there, NULL, from the beginning."""

from dataclasses import replace

from hypothesis import given, strategies as st

from psoup.engine.query.bind.binder import bind
from psoup.engine.tuples.schema import ColumnSchema, ColumnType, StreamId, StreamSchema
from tests import strategies, strategies_sql
from tests.agreement.comparison import compare
from tests.oracle_duckdb import DuckDbOracle
from tests.reference import Reference
from tests.strategies import fewer
from tests.world import World


@st.composite
def wider(draw: st.DrawFn, schema: StreamSchema, *names: str) -> StreamSchema:
    """Draw a declaration with one to three columns more, of these names."""
    kinds = st.sampled_from(list(ColumnType))
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    added = [ColumnSchema(name, draw(kinds)) for name in chosen if schema.column(name) is None]
    return replace(schema, columns=(*schema.columns, *added))


@fewer(15)
@given(data=st.data())
def test_old_and_new_tuples_answer_as_in_duckdb(data):
    """Queries of before and after, over tuples of before and after; the twin and DuckDB say the same."""
    narrow = data.draw(strategies.schemas(event_time=True))
    wide = data.draw(wider(narrow, "more", "n", "a b"))
    world = World()
    world.declare(narrow)
    queries = {}
    rows = data.draw(strategies.batches(narrow))
    for schema in (narrow, wide):
        if schema is wide:
            world.alter(wide)
            rows = [*rows, *(more := data.draw(strategies.batches(wide)))]
            world.append("s", more)
        else:
            world.append("s", rows)
        query = data.draw(strategies_sql.queries(schema))
        queries[world.register(query.sql)] = query, schema
    world.engine.check()
    reference = Reference.fold(world.history)
    for query_id in queries:
        compare(world, reference, query_id)
    world.lose_engine()
    nulls = dict.fromkeys(column.name for column in wide.columns)
    padded = [nulls | row for row in rows]
    numbers = range(1, len(rows) + 1)
    with DuckDbOracle() as oracle:
        for query_id, (query, schema) in queries.items():
            oracle.load(schema, padded, tuple_ids=numbers, times_us=[row["ts"] for row in rows])
            answer = world.invoke(query_id)
            assert compare(world, reference, query_id) == answer, "after a restart"
            if query.distinct or answer.now_us is None:
                continue
            begin_us, end_us = answer.begin_us, min(answer.end_us or answer.now_us, answer.now_us)
            found = oracle.answer(query.select, begin_us=begin_us, end_us=end_us)
            expected = [(tuple_id, values) for tuple_id, _, values in found]
            assert expected == [(int(ids), values) for ids, _, values in answer.rows]


@fewer(15)
@given(data=st.data())
def test_canonical_text_means_the_same_over_more_columns(data):
    """What was bound before is bound to an equal query after, whatever the new columns are called."""
    narrow = data.draw(strategies.schemas())
    wide = data.draw(wider(narrow, "more", "A", "ts ", "a + 1", "s.a"))
    query = data.draw(strategies_sql.queries(narrow))
    before = bind(query.sql, {"s": (StreamId(1), narrow)})
    after = bind(before.canonical, {"s": (StreamId(1), wide)})
    assert (before.canonical, before.clause, before.shape) == (
        after.canonical,
        after.clause,
        after.shape,
    )
