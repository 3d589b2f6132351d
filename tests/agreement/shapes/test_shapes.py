"""Drawn groups, orders and limits answer as DuckDB does, and the same bit for bit however rows came in."""

from random import Random

import duckdb
import pyarrow as pa
import pytest

from psoup.engine.tuples.arrow import arrow_schema
from tests.agreement.shapes.compared import (
    answer,
    assert_alike,
    in_micros,
    newest_us,
    table_of,
    world_of,
)
from tests.agreement.shapes.drawn import SECOND_US, STREAM, drawn_query, drawn_rows
from tests.reference_values import Row
from tests.strategies import EPOCH_US
from tests.world import World

QUERIES = 60


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 0), (2, 1), (3, 40), (4, 900), (5, 9_000), (6, 70_000)]
)
def test_oracle_duckdb_answers_drawn_shapes_alike(seed: int, count: int):
    """Keys and functions of all types, NULLs, FILTER, DISTINCT, HAVING, order, limits; sliding and delayed windows."""
    rng = Random(seed)
    rows = drawn_rows(rng, count, EPOCH_US)
    world = world_of(rows, sorted(rng.sample(range(count), min(3, count))))
    now_us, compared = newest_us(rows), 0
    with duckdb.connect() as connection:
        connection.register("loading", table_of(rows))
        connection.execute("CREATE TABLE s AS SELECT * FROM loading")
        for _ in range(QUERIES):
            query = drawn_query(rng)
            theirs = in_micros(connection.execute(query.duckdb(now_us)).fetchall())
            ours = answer(world, query.text)
            assert_alike(theirs, ours, query.text)
            compared += len(ours)
    assert compared > QUERIES or count < 2


def test_order_of_arrival_and_cuts_change_no_bit_of_an_answer():
    """The same rows, no two at one instant, in three orders and cuts: equal to the last bit."""
    rng = Random(11)
    rows: list[Row] = [
        {**row, "ts": EPOCH_US + place * SECOND_US // 8}
        for place, row in enumerate(drawn_rows(rng, 5_000, EPOCH_US))
    ]
    worlds = [world_of(rows, [1_000, 4_096])]
    for _ in range(2):
        shuffled = rng.sample(rows, len(rows))
        worlds.append(world_of(shuffled, sorted(rng.sample(range(len(rows)), 4))))
    for _ in range(QUERIES):
        text = drawn_query(rng).text
        first, *others = [repr(answer(world, text)) for world in worlds]
        assert [first, first] == others, text


def test_oracle_duckdb_answers_a_hundred_thousand_groups_alike():
    """More groups than a page has rows, and than partials are kept of."""
    count = 100_000
    rng = Random(7)
    numbers = [*range(count), *(rng.randrange(count) for _ in range(20_000))]
    rng.shuffle(numbers)
    cells = [
        range(EPOCH_US, EPOCH_US + len(numbers)),
        numbers,
        [number * 0.1 for number in numbers],
        [str(number % 7) for number in numbers],
        [None] * len(numbers),
    ]
    schema = arrow_schema(STREAM)
    arrays = [pa.array(one, field.type) for one, field in zip(cells, schema, strict=True)]
    table = pa.table(arrays, schema=schema)
    world = World()
    world.declare(STREAM)
    for start in range(0, len(numbers), 50_000):
        world.append_table("s", table.slice(start, 50_000))
    text = "SELECT i, COUNT(*) AS n, SUM(f) AS total, MAX(t) AS most FROM s GROUP BY i"
    with duckdb.connect() as connection:
        connection.register("s", table)
        theirs = connection.execute(f"{text} ORDER BY i").fetchall()
    query_id = world.register(text)
    assert len(theirs) == count
    for _ in range(2):
        answered = world.invoke(query_id, limit=40_000)
        assert_alike(theirs, [values for _, _, values in answered.rows], text)
