"""Invocations of joins, against looking at every composite there is."""

from random import Random

import numpy as np
from hypothesis import assume, given, strategies as st

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.delta import JoinRecord
from psoup.engine.tuples.schema import StreamId
from tests.engine.invocation.several_streams.join_worlds import (
    GROUP,
    Joined,
    Told,
    rows_of,
    window_drawn,
)

SPAN = 40
ROWS = 3 * CHUNK_ROWS


def near_a_chunk(rng):
    """Return a number of rows, often of whole chunks."""
    return rng.choice([0, 1, CHUNK_ROWS, 2 * CHUNK_ROWS, rng.randrange(ROWS), rng.randrange(ROWS)])


def world_of(rng):
    """Return streams, some of them twice, with a query that joins them, and its composites."""
    sources = rng.choice([2, 2, 3])
    numbers = [1 + rng.randrange(sources) for _ in range(sources)]
    streams = [StreamId(number) for number in numbers]
    times = np.random.default_rng(rng.getrandbits(32))
    source = Told(
        {
            one: np.sort(times.integers(0, SPAN, ROWS)) // rng.choice([1, 4])
            if rng.random() < 0.5
            else times.integers(0, SPAN, ROWS)
            for one in streams
        },
        [],
    )
    # Composites share parts, as those of real joins do.
    parts = [[rng.randrange(ROWS) for _ in range(6)] for _ in streams]
    drawn = {tuple(map(rng.choice, parts)) for _ in range(rng.randrange(60))}
    source.matches = sorted(drawn, key=lambda _: rng.random())
    ranges = ()
    if rng.random() < 0.4:
        ranges = tuple(rng.choice([None, rng.randrange(SPAN)]) for _ in streams)
    fronts = tuple(near_a_chunk(rng) // CHUNK_ROWS * CHUNK_ROWS for _ in streams)
    if len(set(streams)) < sources:
        fronts = tuple(fronts[streams.index(one)] for one in streams)
    return Joined(
        streams,
        source,
        window_drawn(rng, SPAN),
        ranges,
        JoinRecord(GROUP, fronts) if rng.random() < 0.7 else None,
        distinct=rng.random() < 0.3,
    )


def grown(world, rng):
    """Move a world on: rows come, floors rise."""
    rows, floors = {}, {}
    for stream_id, record in world.records.items():
        rows[stream_id] = max(record.rows, near_a_chunk(rng))
        floor_row = max(record.floor_row, rng.choice([0, rng.randrange(rows[stream_id] + 1)]))
        floor_us = rng.choice([record.floor_us, max(record.floor_us or 0, rng.randrange(SPAN))])
        if rng.random() < 0.5:
            floors[stream_id] = (floor_row, floor_us)
    world.grow(rows, floors, rng)


@given(st.integers(0, 2**32))
def test_invoke_of_any_join_oracle_shows_every_visible_composite_once(seed):
    """Whatever is kept and whatever is open: at each position, for rows, pages and counts."""
    rng = Random(seed)
    world = world_of(rng)
    for _ in range(3):
        grown(world, rng)
        expected = world.expected()
        assert expected == rows_of(world.ask())
        assert len(expected) == world.ask(count_only=True).count
        limit = rng.randrange(1, 9)
        assert expected == world.pages(limit)[0]
        world.cache.check()


@given(st.integers(0, 2**32))
def test_invoke_of_any_join_page_by_page_oracle_stays_at_its_position(seed):
    """Rows that come and floors that rise between two pages change nothing in the answer they belong to."""
    rng = Random(seed)
    world = world_of(rng)
    grown(world, rng)
    expected, first = world.expected(), world.ask(limit=2)
    grown(world, rng)
    if rng.random() < 0.5:
        world.cache.orders._table.clear()
    assert expected == world.pages(2, first)[0]
    assert world.expected() == world.pages(100)[0]


@given(st.integers(0, 2**32))
def test_invoke_of_any_join_at_an_instant_oracle_shows_what_was_visible(seed):
    """`now=` moves the windows of all sources."""
    rng = Random(seed)
    world = world_of(rng)
    grown(world, rng)
    newest = max((one.high_water_us or 0 for one in world.records.values()), default=0)
    oldest = max((one.complete_from_us or 0 for one in world.records.values()), default=0)
    assume(any(one.rows for one in world.records.values()))
    now_us = rng.randint(min(oldest, newest), newest)
    assert world.expected(now_us) == rows_of(world.ask(now_us=now_us))
