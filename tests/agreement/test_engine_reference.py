"""The engine against its oracles: the naive twin on random programs, DuckDB on random queries."""

from collections import Counter

from hypothesis import given, strategies as st

from psoup.engine.clock import ManualClock
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.canonical import sql_window
from psoup.engine.tuples.schema import StreamId, StreamSchema
from tests import strategies, strategies_sql
from tests.agreement.comparison import compare
from tests.oracle_duckdb import DuckDbOracle
from tests.reference import Reference
from tests.reference_values import Row, holds, value_of
from tests.reference_windows import bounds
from tests.strategies import fewer
from tests.strategies_sql import DrawnQuery
from tests.world import World


@st.composite
def programs(draw: st.DrawFn) -> tuple[StreamSchema, list[list[Row] | DrawnQuery]]:
    """Draw a stream, and batches and queries over it in one order."""
    schema = draw(strategies.schemas(retention=strategies.retentions()))
    entrants = st.one_of(strategies.batches(schema), strategies_sql.queries(schema))
    return schema, draw(st.lists(entrants, min_size=1, max_size=8))


@fewer(15)
@given(program=programs(), data=st.data())
def test_oracle_engine_on_random_programs_answers_as_the_twin(program, data):
    """Batches and queries in any order, retention included: every answer is the twin's."""
    schema, entrants = program
    world = World()
    world.declare(schema)
    handles = []
    for entrant in entrants:
        if isinstance(entrant, DrawnQuery):
            handles.append(world.register(entrant.sql))
        else:
            world.append(schema.name, entrant)
            world.clock.advance(data.draw(st.sampled_from([0, 1, 5_000_000])))
    world.check()
    reference = Reference.fold(world.history)
    for query_id in handles:
        compare(world, reference, query_id, limit=data.draw(st.sampled_from([1, 1_000])))
        at_us = data.draw(strategies.times_us())
        compare(world, reference, query_id, at_us=at_us)


@given(data=st.data())
def test_oracle_binder_keeps_the_meaning_of_the_text(data):
    """What the binder makes of a text (factors, normal forms) holds for the same tuples as the tree drawn.

    Its canonical text, bound again, is the same query.
    """
    schema = data.draw(strategies.schemas())
    rows = data.draw(strategies.batches(schema))
    query = data.draw(strategies_sql.queries(schema))
    streams = {schema.name: (StreamId(1), schema)}
    bound = bind(query.sql, streams)
    assert query.window.window == bound.window
    assert query.distinct == bound.shape.distinct
    for row in rows:
        expected = query.where is None or value_of(query.where, [row]) is True
        assert expected == holds(bound.clause, [row]), (query.sql, row)
        shown = [value_of(output.expression, [row]) for output in bound.shape.outputs]
        assert [value_of(tree, [row]) for tree in query.outputs] == shown
    again = bind(bound.canonical, streams)
    assert (bound.clause, bound.window, bound.canonical) == (
        again.clause,
        again.window,
        again.canonical,
    )


@fewer(15)
@given(data=st.data())
def test_oracle_engine_on_random_queries_answers_as_duckdb(data):
    """Three registrations of one query, old data and new: the answer is DuckDB's of the drawn text.

    DuckDB is asked for the canonical text as well: the printer does not change what is meant.
    """
    schema = data.draw(strategies.schemas())
    query = data.draw(strategies_sql.queries(schema))
    world = World()
    world.declare(schema)
    handles = [world.register(query.sql)]
    for _ in range(2):
        world.append(schema.name, data.draw(strategies.batches(schema)))
        handles.append(world.register(query.sql))
    kept = [
        one for stream in Reference.fold(world.history).streams.values() for one in stream.tuples
    ]
    answers = [world.invoke(query_id) for query_id in handles]
    now_us = answers[0].now_us
    if now_us is None:
        assert all(answer.rows == () for answer in answers)
        return
    begin_us, end_us = bounds(query.window.window, now_us)
    end_us = now_us if end_us is None else min(end_us, now_us)
    bound = bind(query.sql, world.streams)
    canonical = bound.canonical.removesuffix(sql_window(bound.window))
    with DuckDbOracle() as oracle:
        oracle.load(
            schema,
            [one.values for one in kept],
            tuple_ids=[one.tuple_id for one in kept],
            times_us=[one.time_us for one in kept],
        )
        for text in (query.select, canonical):
            for answer in answers:
                shown = [values for _, _, values in answer.rows]
                if query.distinct:
                    found = oracle.distinct_values(text, begin_us=begin_us, end_us=end_us)
                    assert Counter(found) == Counter(shown), text
                else:
                    matches = oracle.answer(text, begin_us=begin_us, end_us=end_us)
                    expected = [(str(tuple_id), values) for tuple_id, _, values in matches]
                    assert expected == [(ids, values) for ids, _, values in answer.rows], text


def test_strategies_draw_queries_that_find_something():
    """Three queries of five find a tuple, and half of those that do leave one out: the proofs bite."""
    outcomes: Counter[str] = Counter()

    @given(data=st.data())
    def draw_and_count(data):
        schema = data.draw(strategies.schemas())
        query = data.draw(strategies_sql.queries(schema))
        world = World(clock=ManualClock(strategies.EPOCH_US + strategies.SPAN_US // 2))
        world.declare(schema)
        rows = data.draw(st.lists(strategies.rows(schema), min_size=6, max_size=12))
        world.append(schema.name, rows)
        world.clock.advance(strategies.SPAN_US // 2)
        shown = len(world.invoke(world.register(query.sql)).rows)
        outcomes["all" if shown == len(rows) else "some" if shown else "none"] += 1

    draw_and_count()
    total = outcomes.total()
    assert outcomes["none"] <= 0.4 * total, outcomes
    assert outcomes["some"] >= 0.3 * total, outcomes
