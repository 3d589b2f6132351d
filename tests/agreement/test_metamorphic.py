"""Metamorphic relations: queries that must add up, whatever the right answer is."""

from hypothesis import given, strategies as st

from tests import strategies, strategies_sql, strategies_windows
from tests.strategies import fewer
from tests.world import World


@fewer(15)
@given(data=st.data())
def test_oracle_condition_its_negation_and_its_unknown_partition_the_stream(data):
    """TLP: every tuple is shown by exactly one of p, NOT p and (p) IS NULL."""
    schema = data.draw(strategies.schemas())
    condition = data.draw(strategies_sql.conditions(schema)).text
    window = data.draw(strategies_windows.windows()).text
    everything = f"SELECT * FROM {schema.name} {window}"
    parts = [
        f"SELECT * FROM {schema.name} WHERE {where} {window}"
        for where in (condition, f"NOT ({condition})", f"({condition}) IS NULL")
    ]
    world = World()
    world.declare(schema)
    early = [world.register(sql) for sql in parts]
    world.append(schema.name, data.draw(strategies.batches(schema)))
    world.append(schema.name, data.draw(strategies.batches(schema)))
    late = [world.register(sql) for sql in parts]
    whole = world.invoke(world.register(everything)).rows
    for handles in (early, late):
        shown = [row for query_id in handles for row in world.invoke(query_id).rows]
        assert sorted(whole, key=repr) == sorted(shown, key=repr), condition


@fewer(15)
@given(data=st.data())
def test_oracle_conjunction_shows_what_both_sides_show(data):
    """P AND q shows the tuples that p shows and q shows; p OR q those that either does."""
    schema = data.draw(strategies.schemas())
    left = data.draw(strategies_sql.conditions(schema, 1)).text
    right = data.draw(strategies_sql.conditions(schema, 1)).text
    world = World()
    world.declare(schema)
    world.append(schema.name, data.draw(strategies.batches(schema)))

    def ids(where: str) -> set[str]:
        query_id = world.register(f"SELECT * FROM {schema.name} WHERE {where}")
        return {row_ids for row_ids, _, _ in world.invoke(query_id).rows}

    assert ids(left) & ids(right) == ids(f"({left}) AND ({right})")
    assert ids(left) | ids(right) == ids(f"({left}) OR ({right})")
