"""Slots are given away; what was found for the clause before is never shown to the next one."""

from random import Random

import pytest

from psoup.engine.clauses import grouped_filter
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize
from tests.engine.one_stream import T0, send, world_of

ASKED = {
    "a = 3": lambda a: a == 3,
    "a > 40": lambda a: a is not None and a > 40,
    "a IS NULL": lambda a: a is None,
    "a + 1 = 8": lambda a: a == 7,
    "a < 5 OR a > 90": lambda a: a is not None and (a < 5 or a > 90),
    "TRUE": lambda a: True,
}


def shown(world, query_id):
    """Return the rows an answer holds, by their number."""
    return sorted(int(ids) - 1 for ids, _, _ in world.invoke(query_id, limit=100_000).rows)


@pytest.mark.parametrize("policy", list(Materialize))
def test_slot_given_away_oracle_shows_the_hits_of_its_clause_alone(policy):
    """One slot, six clauses in turn, chunks whole and open between: each shows what it asks for."""
    world, rng = world_of(), Random(1)
    rows = []
    for where, holds in ASKED.items():
        query_id = world.register(f"SELECT ts FROM s WHERE {where}", materialize=policy)
        for count in (CHUNK_ROWS, 700):
            fresh = [(T0 + i, rng.choice([None, rng.randrange(100)])) for i in range(count)]
            rows += fresh
            send(world, *fresh)
            world.check()
            assert [i for i, (_, a) in enumerate(rows) if holds(a)] == shown(world, query_id)
        used = 0 if policy is Materialize.NONE else 1
        assert used == world.engine.statistics().query_stem.slots
        world.remove(query_id)
        world.check()


@pytest.mark.parametrize(("recent_max", "pivot_min"), [(0, 1), (0, 512), (1_024, 512)])
def test_slots_given_away_among_others_oracle_show_the_hits_of_their_clauses_alone(
    recent_max, pivot_min, monkeypatch
):
    """Clauses come and go among standing ones, by value, settled or recent; a restart gives them other slots."""
    monkeypatch.setattr(grouped_filter, "RECENT_SLOTS_MAX", recent_max)
    monkeypatch.setattr(grouped_filter, "PIVOT_VALUES_MIN", pivot_min)
    world, rng = world_of(), Random(2)
    rows, standing = [], {}
    for turn in range(12):
        for _ in range(3):
            where, policy = rng.choice(list(ASKED)), rng.choice(list(Materialize))
            query_id = world.register(f"SELECT ts FROM s WHERE {where}", materialize=policy)
            standing[query_id] = ASKED[where]
        for query_id in rng.sample(list(standing), 2):
            del standing[query_id]
            world.remove(query_id)
        fresh = [(T0 + i, rng.choice([None, rng.randrange(100)])) for i in range(3_000)]
        rows += fresh
        send(world, *fresh)
        world.check()
        if turn % 5 == 4:
            world.lose_engine()
    for query_id, holds in standing.items():
        assert [i for i, (_, a) in enumerate(rows) if holds(a)] == shown(world, query_id)
