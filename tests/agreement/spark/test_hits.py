"""Row windows, LEFT JOIN and groups past memory: Spark SQL finds the hits, and the answer is that of an invocation."""

from random import Random

import pyarrow as pa
import pytest

from psoup.engine.limits import SECOND_US
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.time_literals import format_instant
from psoup.engine.shaping.found_rows import columns_read
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from psoup.pipeline.spark.sql.hits import hits_sql
from psoup.pipeline.spark.sql.sources import ID
from psoup.pipeline.spark.sql.standing_query import agreeing
from tests.agreement.shapes.pieces import answered, shown
from tests.oracle_spark import ARROW
from tests.reference import Reference
from tests.reference_values import Row
from tests.strategies import EPOCH_US
from tests.world import World

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

ROWS = 30
STREAMS = [
    StreamSchema(
        name,
        (
            ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
            ColumnSchema("a", ColumnType.INT64),
            ColumnSchema("t", ColumnType.STRING),
        ),
        "ts",
        ClockKind.HIGH_WATER,
    )
    for name in ("x", "y", "z")
]
WINDOWS = [
    "",
    "BEGIN (NOW - 6) END (NOW)",
    "BEGIN (NOW - 9) END (NOW - 3)",
    "BEGIN (NOW - 6) END (NOW - 2) EVERY INTERVAL '4' SECOND",
    "BEGIN (TIMESTAMP '{0}') END (NOW)",
    "BEGIN (TIMESTAMP '{0}') END (TIMESTAMP '{1}')",
]
NEWEST = ["", "", "[ROWS 4]", "[PARTITION BY t ROWS 2]", "[PARTITION BY a % 2, t IS NULL ROWS 3]"]
RANGES = ["", "[RANGE 5]"]
ON = [
    "x.a = y.a",
    "x.t = y.t AND x.a > 1",
    "x.ts BETWEEN y.ts - INTERVAL '3' SECOND AND y.ts + INTERVAL '1' SECOND",
    "x.t = y.t AND (x.a < 2 OR y.a > 2)",
]
WHERE = [
    "",
    "",
    "y.a IS NULL",
    "x.a > 1",
    "x.t IS NULL OR y.t IS NULL",
    "x.a <> 1 AND (y.a = 2 OR y.a IS NULL)",
]
SHOWN = [
    "x.a AS a, y.a AS b, COALESCE(y.t, x.t) AS either",
    "x.t AS t, COUNT(*) AS n, COUNT(y.a) AS m, LAST(y.t) AS last, SUM(x.a) AS total",
    "DISTINCT x.t AS t, y.t AS u",
]
BEHIND = ["", "GROUP BY x.t", "ORDER BY t DESC LIMIT 4"]


def text_of(rng: Random) -> str:
    """Return a query with row windows, a LEFT JOIN, or both."""
    newest, own = rng.choice(NEWEST), rng.choice(WINDOWS)
    instants = [EPOCH_US // SECOND_US + second for second in (4, 11)]
    window = own.format(*[format_instant(second * SECOND_US) for second in instants])
    if rng.random() < 0.3:
        return (
            f"SELECT x.a AS a, x.t AS t FROM x {newest or '[ROWS 5]'} {rng.choice(['', 'WHERE x.a > 1'])}"
            f" {rng.choice(['', 'ORDER BY a LIMIT 3'])} {window}"
        )
    ranges = [""] if window else RANGES  # each source would have one of its own
    left = newest or rng.choice(ranges)
    right = rng.choice(NEWEST) or rng.choice(ranges)
    place = rng.randrange(len(SHOWN))
    sources, where = f"FROM x {left}", rng.choice(WHERE)
    if rng.random() < 0.3:
        sources += ", z"
        where = f"x.a = z.a AND {where}" if where and " OR " not in where else "x.a = z.a"
    where = f"WHERE {where}" if where else ""
    return f"SELECT {SHOWN[place]} {sources} LEFT JOIN y {right} ON {rng.choice(ON)} {where} {BEHIND[place]} {window}"


def world_of(rng: Random) -> tuple[World, dict[str, pa.Table]]:
    """Return a world of three streams, and their tuples as tables."""
    world = World()
    for schema in STREAMS:
        world.declare(schema)
    for schema in STREAMS:
        rows: list[Row] = [
            {
                "ts": EPOCH_US + rng.randrange(16) * SECOND_US,
                "a": rng.choice([None, 0, 1, 2, 3]),
                "t": rng.choice([None, "", "p", "q"]),
            }
            for _ in range(rng.choice([0, 5, ROWS, ROWS, ROWS]))
        ]
        if rows:
            world.append(schema.name, rows)
    tables = {}
    for stream in Reference.fold(world.history).streams.values():
        cells = {name: [one.values[name] for one in stream.tuples] for name in ("ts", "a", "t")}
        kinds = [ARROW[column.type] for column in stream.schema.columns]
        arrays = [
            pa.array(values, pa.int64()).cast(kind) if name == "ts" else pa.array(values, kind)
            for (name, values), kind in zip(cells.items(), kinds, strict=True)
        ]
        ids = pa.array([one.tuple_id for one in stream.tuples], pa.int64())
        tables[stream.schema.name] = pa.table([*arrays, ids], names=[*cells, ID])
    return world, tables


def compare(spark, seed: int, queries: int) -> int:
    """Ask drawn queries of a drawn world at drawn instants; return how many rows were compared."""
    rng = Random(seed)
    world, tables = world_of(rng)
    session, compared = agreeing(spark), 0
    for name, table in tables.items():
        session.createDataFrame(table).createOrReplaceTempView(name)
    streams = {schema.name: (StreamId(i), schema) for i, schema in enumerate(STREAMS, start=1)}
    for _ in range(queries):
        text = text_of(rng)
        query = bind(text, streams)
        handle = world.register(text)
        newest = world.invoke(handle)
        if newest.now_us is None:
            continue
        now_us = newest.now_us - rng.choice([0, 0, 4, 7]) * SECOND_US
        answer = world.invoke(handle, at_us=max(now_us, EPOCH_US))
        if answer.now_us is None:
            continue
        hits = hits_sql(
            query.canonical,
            STREAMS,
            now_us=answer.now_us,
            read=columns_read(query.shape),
            is_ahead=query.shape.keys is not None,
        )
        found = session.sql(hits).toArrow()
        assert shown(answer) == answered(found, query, answer.now_us, rng), (text, answer.now_us)
        compared += len(answer.rows)
    return compared


def test_hits_oracle_make_the_answer_of_an_invocation(spark):
    """Windows of times of all kinds, NULL partners, tuples that are to come, row windows on either side."""
    assert compare(spark, 4, 25) > 25


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_hits_oracle_make_the_answers_of_invocations(spark):
    """The same of many worlds."""
    assert sum(compare(spark, 100 + seed, 25) for seed in range(40)) > 1_000
