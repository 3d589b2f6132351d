"""Order of arrival does not matter to joins: any interleaving of tuples, chunks and queries answers alike.

What a join has found is kept for whole chunks alone, so the same is asked twice: of tiny worlds, in which all is
found at the invocation, and of worlds of a few chunks, in which nearly all was found before.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from psoup.engine.limits import CHUNK_ROWS, SECOND_US
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from tests import strategies_join, strategies_streams
from tests.reference import Reference
from tests.reference_values import Row
from tests.strategies import EPOCH_US, fewer
from tests.world import World

COLUMNS = (
    ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
    ColumnSchema("k", ColumnType.INT64),
    ColumnSchema("n", ColumnType.INT64, nullable=False),
)
STREAMS = {
    name: StreamSchema(name, COLUMNS, "ts", ClockKind.HIGH_WATER) for name in ("r", "s", "t")
}

Batch = tuple[str, Sequence[Row] | pa.Table]
"""Tuples for a stream."""

Entrant = Batch | str
"""Tuples, or a query's text."""

Order = tuple[Entrant, ...]


def rows(*cells: tuple[int, int | None, int]) -> list[Row]:
    """Return tuples: (second, k, n)."""
    return [{"ts": EPOCH_US + second * SECOND_US, "k": k, "n": n} for second, k, n in cells]


def enter(
    schemas: Mapping[str, StreamSchema],
    entrants: Iterable[Entrant],
    materialize: Materialize = Materialize.AUTO,
) -> tuple[World, list[tuple[str, QueryId]]]:
    """Let tuples and texts enter in this order; return the world and who asks what."""
    world = World()
    for schema in schemas.values():
        world.declare(schema)
    handles = []
    for entrant in entrants:
        match entrant:
            case str():
                handles.append((entrant, world.register(entrant, materialize=materialize)))
            case (name, pa.Table() as table):
                world.append_table(name, table)
            case (name, listed):
                world.append(name, listed)
    return world, handles


def drawn(orders: Iterable[Order], part: int) -> list[Order]:
    """Return all orders, or one of so many of them."""
    listed = list(orders)
    return Random(part).sample(listed, len(listed) // part)


def answered(
    schemas: Mapping[str, StreamSchema],
    entrants: Iterable[Entrant],
    materialize: Materialize = Materialize.AUTO,
) -> list[tuple[str, list[str]]]:
    """Return each query's answer at the end, sorted; without the ids, which tell the order of arrival."""
    world, handles = enter(schemas, entrants, materialize)
    world.check()
    found = []
    for text, query_id in handles:
        answer = world.invoke(query_id, limit=100_000)
        shown = sorted(repr((leaves_us, values)) for _, leaves_us, values in answer.rows)
        found.append((text, [repr(answer.now_us), *shown]))
    return sorted(found)


TINY: tuple[Entrant, ...] = (
    ("r", rows((0, 1, 1))),
    ("r", rows((10, 2, 2))),
    ("s", rows((10, 1, 3), (3, 2, 4))),
    ("t", rows((4, 2, 5), (8, None, 6))),
)
TINY_QUERIES = (
    "SELECT r.n AS a, s.n AS b FROM r, s WHERE r.k = s.k",
    """SELECT x.n AS a, y.n AS b, t.n AS c FROM r AS x, s AS y, t
       WHERE x.k <= y.k AND y.k = t.k BEGIN (NOW - 7) END (NOW)""",
    "SELECT x.n AS a, y.n AS b FROM r AS x [RANGE 10], r AS y WHERE x.n < y.n AND x.k < 3 AND y.k < 3",
)


@pytest.mark.parametrize("texts", [TINY_QUERIES[::2], TINY_QUERIES[1:2]])
@pytest.mark.parametrize("part", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_order_every_interleaving_of_a_tiny_world_of_joins_answers_alike(texts, part):
    """Six tuples of three streams in four batches, queries among them, in any order: as the twin."""
    entrants = (*TINY, *texts)
    world, handles = enter(STREAMS, entrants)
    reference = Reference.fold(world.history)
    expected = []
    for text, query_id in handles:
        answer = reference.invoke(query_id, server_now_us=world.clock.now_us())
        shown = sorted(repr((leaves_us, values)) for _, leaves_us, values in answer.rows)
        assert shown, "a query that finds nothing shows nothing"
        expected.append((text, [repr(answer.now_us), *shown]))
    for order in drawn(itertools.permutations(entrants), part):
        assert sorted(expected) == answered(STREAMS, order), order


@fewer(15)
@given(data=st.data())
def test_order_random_permutation_of_tuples_and_joins_answers_alike(data):
    """Any tuples, any joins, any order."""
    schemas = data.draw(strategies_streams.stream_sets(event_time=True))
    entrants: list[Entrant] = []
    for name, schema in schemas.items():
        drawn = data.draw(strategies_streams.batches(schema))
        entrants += [(name, [row]) for row in drawn]
    # DISTINCT shows the earliest of its duplicates: among equal times that is the first to arrive.
    for query in data.draw(st.lists(strategies_join.queries(schemas), min_size=1, max_size=3)):
        entrants.append(strategies_join.without_ids(query).sql)
    other = data.draw(st.permutations(entrants))
    assert answered(schemas, entrants) == answered(schemas, other)


KEYS_COUNT = 3_000
"""Values of a key: each meets one or two tuples in a chunk."""


def chunk(seed: int, count: int = CHUNK_ROWS) -> pa.Table:
    """Return tuples of one of the streams: as many as a chunk has, or so many; `n` tells them apart."""
    rng = np.random.default_rng(seed)
    keys = pa.array(rng.integers(0, KEYS_COUNT, count), mask=rng.random(count) < 0.05)
    times = EPOCH_US + rng.integers(0, 60, count) * SECOND_US
    fields = arrow_schema(STREAMS["r"])
    cells = [pa.array(times).cast(fields.field("ts").type), keys]
    cells.append(pa.array(seed * 100_000 + np.arange(count)))
    return pa.table(cells, schema=fields)


CHUNKS: tuple[Batch, ...] = (
    ("r", chunk(1)),
    ("s", chunk(2)),
    ("t", chunk(3)),
)
OPEN: tuple[Batch, ...] = (("s", chunk(4, 40)), ("r", chunk(5, 4_000)), ("r", chunk(6, 150)))
"""What comes behind the chunks: 54 rows more than one of `r`, and 40 of `s`."""

CHUNK_QUERIES = (
    "SELECT r.n AS a, s.n AS b FROM r, s WHERE r.k = s.k AND r.k < 900",
    """SELECT x.n AS a, y.n AS b, z.n AS c FROM s AS x, t AS y, r AS z
       WHERE x.k = y.k AND y.k = z.k AND x.k % 3 = 1 BEGIN (NOW - 30) END (NOW)""",
    "SELECT x.n AS a, y.n AS b FROM r AS x, r AS y WHERE x.k = y.k AND x.n < y.n AND x.k >= 2000",
)


@pytest.mark.parametrize("materialize", [Materialize.COMPLETE, Materialize.AUTO])
@pytest.mark.parametrize("text", CHUNK_QUERIES)
@pytest.mark.parametrize("part", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_order_every_interleaving_of_chunks_and_a_join_answers_alike(text, materialize, part):
    """A chunk of each of three streams and a query in any order, then more tuples: one answer.

    Another clause of its group comes at any of these moments.
    """
    other = text.replace(".n AS a", ".n + 0 AS a")
    expected = answered(STREAMS, [*CHUNKS, *OPEN, text, other], Materialize.NONE)
    assert min(len(shown) for _, shown in expected) > 100
    for number, order in enumerate(drawn(itertools.permutations([*CHUNKS, text]), part)):
        place = number % (len(order) + 1)
        entrants = [*order[:place], other, *order[place:], *OPEN]
        named = [one if isinstance(one, str) else one[0] for one in entrants]
        assert expected == answered(STREAMS, entrants, materialize), named


def test_order_of_chunks_does_not_change_what_a_removed_and_repeated_join_answers():
    """The clause that began a group goes while another stands, and comes again: both answer as if alone."""
    text, other = CHUNK_QUERIES[0], CHUNK_QUERIES[0].replace("r.k < 900", "r.k < 2000")
    expected = dict(answered(STREAMS, [*CHUNKS, *OPEN, text, other], Materialize.NONE))
    for order in itertools.permutations([*CHUNKS, *OPEN[:1]]):
        world, handles = enter(STREAMS, [order[0], text, order[1], other], Materialize.COMPLETE)
        world.remove(handles[0][1])
        for name, table in order[2:]:
            world.append_table(name, table)
        handles[0] = (text, world.register(text, materialize=Materialize.COMPLETE))
        for name, table in OPEN[1:]:
            world.append_table(name, table)
        world.check()
        for asked, query_id in handles:
            answer = world.invoke(query_id, limit=100_000)
            shown = sorted(repr((leaves_us, values)) for _, leaves_us, values in answer.rows)
            assert expected[asked] == [repr(answer.now_us), *shown]
