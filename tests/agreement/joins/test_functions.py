"""Functions in joins and in conditions of one stream: the engine beside the twin, asked before and after tuples."""

import functools
from random import Random

import pytest

from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from tests.reference import AnswerRow, Reference
from tests.reference_values import Row
from tests.strategies import EPOCH_US
from tests.world import World

SCHEMAS = [
    StreamSchema(
        name,
        (
            ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
            ColumnSchema("t", ColumnType.STRING),
            ColumnSchema("i", ColumnType.INT64),
            ColumnSchema("f", ColumnType.FLOAT64),
        ),
        "ts",
        ClockKind.HIGH_WATER,
    )
    for name in "ab"
]
TEXTS = (None, "ACME", "acme", "Acme ", "IBM", "ibm", "", "é", "É")
QUERIES = (
    "SELECT a.t, b.t || '!' AS u FROM a, b WHERE LOWER(a.t) = LOWER(b.t)",
    "SELECT a.i FROM a, b WHERE TRIM(UPPER(a.t)) = TRIM(UPPER(b.t)) AND ABS(a.ts - b.ts) < 5000000",
    "SELECT a.i, a.ts - b.ts AS d FROM a, b WHERE a.ts - b.ts BETWEEN -3000000 AND 2000000",
    "SELECT a.i FROM a, b WHERE DATE_TRUNC('minute', a.ts) = DATE_TRUNC('minute', b.ts) AND a.i > b.i",
    "SELECT a.i FROM a, b WHERE COALESCE(a.i, 0) = COALESCE(b.i, 0) AND LENGTH(a.t) > 2",
    "SELECT a.i FROM a, b WHERE a.i IS NOT DISTINCT FROM b.i AND a.t = b.t",
    "SELECT a.i FROM a, b WHERE CAST(a.f AS BIGINT) = b.i AND a.ts - DATE '1970-01-01' > b.i",
    "SELECT a.i FROM a, b WHERE (ROUND(a.f) = b.i OR CASE WHEN a.i > b.i THEN a.t = b.t END) AND a.i >= 0 AND b.i < 2",
    "SELECT DISTINCT LOWER(t) AS t, CASE WHEN i > 1 THEN 'many' ELSE 'few' END AS n FROM a WHERE t ILIKE '%m%'",
    "SELECT t FROM a WHERE COALESCE(i, 3) > 2 AND DATE_TRUNC('minute', ts) >= '2014-01-05 00:00:00'",
    "SELECT t FROM a WHERE LEFT(t, 2) IN ('AC', 'ac', 'é') AND (t, i) NOT IN (('acme', 1), ('ACME', 2))",
    "SELECT t FROM a WHERE LENGTH(t) > 3 OR SQRT(f) > 1 OR TIME_BUCKET(INTERVAL '7' SECOND, ts) = ts",
)


def rows(rng: Random, count: int) -> list[Row]:
    """Return tuples whose values often meet."""
    return [
        {
            "ts": EPOCH_US + rng.randrange(200) * SECOND_US,
            "t": rng.choice(TEXTS),
            "i": rng.choice([None, 0, 1, 2, 3, -1]),
            "f": rng.choice([None, 0.4, 0.5, 1.5, 2.5, -1.0, 3.0]),
        }
        for _ in range(count)
    ]


def world_under(materialize: Materialize) -> tuple[World, list[tuple[str, QueryId]]]:
    """Return the world, the same under each policy but for what is kept, and the queries of before and after."""
    rng, world = Random(3), World()
    for schema in SCHEMAS:
        world.declare(schema)
    early = [(text, world.register(text, materialize=materialize)) for text in QUERIES[::2]]
    for _ in range(4):
        for name in "ab":
            world.append(name, rows(rng, 15))
    late = [(text, world.register(text, materialize=materialize)) for text in QUERIES]
    for name in "ab":
        world.append(name, rows(rng, 15))
    return world, [*early, *late]


@functools.cache
def rows_of_the_twin() -> dict[str, tuple[AnswerRow, ...]]:
    """Return by text what the twin answers, which knows nothing of policies."""
    world, queries = world_under(Materialize.AUTO)
    reference, now_us = Reference.fold(world.history), world.clock.now_us()
    return {
        text: reference.invoke(query_id, server_now_us=now_us).rows
        for text, query_id in queries[-len(QUERIES) :]
    }


@pytest.mark.parametrize("materialize", list(Materialize))
def test_oracle_functions_answer_as_the_twin(materialize):
    """Old queries meet new tuples, new queries old ones; what is kept is what is found."""
    world, queries = world_under(materialize)
    expected = rows_of_the_twin()
    for text, query_id in queries:
        assert expected[text] == world.invoke(query_id).rows, text
    assert all(expected.values())
