"""Drawn groups, orders and limits answer as DuckDB does, and the same bit for bit however rows came in."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

import duckdb
import pyarrow as pa
import pytest

from psoup.engine.tuples.arrow import arrow_schema
from tests.agreement.shapes.drawn import SECOND_US, STREAM, Drawn, drawn_query, drawn_rows
from tests.oracle_duckdb import ARROW, ID
from tests.reference_values import Row
from tests.strategies import EPOCH_US
from tests.world import World

Values = list[tuple[object, ...]]
QUERIES = 60
EPOCH, MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)  # noqa: DTZ001 (UTC)


def world_of(rows: Sequence[Row], cuts: Sequence[int]) -> World:
    """Return a world that has taken the rows in batches that end at these places."""
    world = World()
    world.declare(STREAM)
    for first, last in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        if last > first:
            world.append("s", rows[first:last])
    return world


def answer(world: World, text: str) -> Values:
    """Return the values of an answer."""
    return [values for _, _, values in world.invoke(world.register(text)).rows]


def expected(connection: duckdb.DuckDBPyConnection, query: Drawn, now_us: int | None) -> Values:
    """Return what DuckDB answers, instants in microseconds."""
    where = query.where
    if query.length_s is not None and now_us is not None:
        first, last = now_us - query.length_s * SECOND_US, now_us - query.delay_s * SECOND_US
        shown = f"epoch_us(ts) BETWEEN {first} AND {last}"
        where = f" WHERE {shown}" if not where else f" WHERE ({where[7:]}) AND {shown}"
    found = connection.execute(query.oracle.format(where=where)).fetchall()
    return [tuple(map(in_micros, row)) for row in found]


def in_micros(value: object) -> object:
    """Return an instant in microseconds since 1970, anything else as it is."""
    return (value - EPOCH) // MICROSECOND if isinstance(value, datetime) else value


def agrees(one: object, other: object) -> bool:
    """Return whether two values are the same but for the last bits of a DOUBLE: DuckDB rounds at each step."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 0), (2, 1), (3, 40), (4, 900), (5, 9_000), (6, 70_000)]
)
def test_oracle_duckdb_answers_drawn_shapes_alike(seed: int, count: int):
    """Keys and functions of all types, NULLs, FILTER, DISTINCT, HAVING, order, limits; sliding and delayed windows."""
    rng = Random(seed)
    rows = drawn_rows(rng, count, EPOCH_US)
    world = world_of(rows, sorted(rng.sample(range(count), min(3, count))))
    table = {
        column.name: pa.array(
            [row[column.name] for row in rows],
            pa.int64() if column.name == "ts" else ARROW[column.type],
        ).cast(ARROW[column.type])
        for column in STREAM.columns
    }
    table[ID] = pa.array(range(1, count + 1), pa.int64())
    now_us = max((int(row["ts"] or 0) for row in rows), default=None)
    compared = 0
    with duckdb.connect() as connection:
        connection.register("loading", pa.table(table))
        connection.execute("CREATE TABLE s AS SELECT * FROM loading")
        for _ in range(QUERIES):
            query = drawn_query(rng)
            theirs, ours = expected(connection, query, now_us), answer(world, query.text)
            assert len(theirs) == len(ours), query.text
            for one, other in zip(theirs, ours, strict=True):
                assert all(map(agrees, one, other)), (query.text, one, other)
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
        ours = [values for _, _, values in answered.rows]
        assert all(all(map(agrees, *pair)) for pair in zip(theirs, ours, strict=True))
