"""Which joins are told in buckets of time. The answers are compared in tests/agreement/spark/test_programs.py."""

import pytest

from psoup.engine.limits import SECOND_US
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from psoup.pipeline.spark.sql.buckets import time_buckets
from psoup.pipeline.spark.sql.standing_query import spark_query

COLUMNS = (
    ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
    ColumnSchema("at", ColumnType.TIMESTAMP),
    ColumnSchema("k", ColumnType.INT64),
)
SCHEMAS = [StreamSchema(name, COLUMNS, "ts", ClockKind.HIGH_WATER) for name in ("a", "b", "c")]
STREAMS = {schema.name: (StreamId(i), schema) for i, schema in enumerate(SCHEMAS, start=1)}
NEAR = "a.ts BETWEEN b.ts - INTERVAL '2' SECOND AND b.ts + INTERVAL '1' SECOND"


def found(condition: str, sources: str = "a, b") -> list[tuple[str, str, int, int]]:
    """Return the buckets of a join."""
    clause = bind(f"SELECT a.k FROM {sources} WHERE {condition}", STREAMS).clause
    return [
        (named(one.left), named(one.right), one.low_us, one.high_us)
        for one in time_buckets(clause, SCHEMAS)
    ]


def named(column: ColumnRef) -> str:
    """Return a column as a text names it."""
    return f"{'abc'[column.source]}.{column.name}"


def test_buckets_are_those_of_bands_of_time_with_two_ends():
    """Between columns, wherever the bounds stand, and whichever is named first."""
    assert [("a.ts", "b.ts", -2 * SECOND_US, SECOND_US)] == found(NEAR)
    assert [("a.at", "b.ts", 0, SECOND_US)] == found(
        "b.ts <= a.at AND b.ts >= a.at - INTERVAL '1' SECOND"
    )


@pytest.mark.parametrize(
    "condition",
    [
        f"{NEAR} AND a.k = b.k",  # which Spark looks up
        "a.ts >= b.ts - INTERVAL '2' SECOND",
        "a.k BETWEEN b.k - 2 AND b.k + 1",
        f"a.k < b.k AND ({NEAR} OR a.k = 1)",
        "a.ts > b.ts + INTERVAL '1' SECOND AND a.ts < b.ts",
    ],
)
def test_buckets_of_other_joins_there_are_none(condition):
    """And their text is the one that it is without."""
    assert [] == found(condition)
    text = f"SELECT a.k FROM a, b WHERE {condition}"
    plain, told = (spark_query(text, SCHEMAS, now_us=0, in_buckets=one) for one in (False, True))
    assert plain == told


def test_buckets_hold_together_what_nothing_else_does():
    """A tuple that stood once for each bucket of two bands would meet another more than once."""
    chain = f"{NEAR} AND c.ts BETWEEN a.at AND a.at + INTERVAL '1' SECOND AND c.at BETWEEN b.at AND b.at"
    both = found(chain, "a, b, c")
    assert ["b.ts", "c.ts"] == sorted(right for _, right, _, _ in both)
    assert 1 == len(found(f"{chain} AND c.k = b.k", "a, b, c")), "b and c are held by an equality"


def test_buckets_do_not_hang_on_the_order_of_the_streams():
    """What an equality joins to one stream may be held to another by its times alone."""
    text = "c.ts BETWEEN a.ts AND a.ts + INTERVAL '2' SECOND AND b.k = c.k"
    assert [("a.ts", "c.ts", -2 * SECOND_US, 0)] == found(text, "a, b, c")
    star = f"{NEAR} AND c.ts BETWEEN b.at AND b.at + INTERVAL '2' SECOND"
    assert [("a.ts", "b.ts"), ("b.at", "c.ts")] == [one[:2] for one in found(star, "a, b, c")]
    both = "c.ts BETWEEN a.ts AND a.ts AND c.at BETWEEN b.ts AND b.ts + INTERVAL '3' SECOND"
    assert [("a.ts", "c.ts", 0, 0), ("c.at", "b.ts", 0, 3 * SECOND_US)] == found(both, "a, b, c")


def test_buckets_of_bands_further_than_any_two_instants_are_apart():
    """Nothing meets there, and nothing may overflow."""
    far = "a.ts BETWEEN b.ts {0} INTERVAL '{1}' DAY AND b.ts {0} INTERVAL '{2}' DAY"
    for text in (far.format("+", 4_000_000, 5_000_000), far.format("-", 5_000_000, 4_000_000)):
        ((_, _, low, high),) = found(text)
        assert -(2**59) < low <= high < 2**59


def test_buckets_have_names_of_their_own():
    """A column may be called as they would be."""
    taken = ColumnSchema("_bucket0", ColumnType.INT64)
    named_so = StreamSchema("d", (*COLUMNS, taken), "ts", ClockKind.HIGH_WATER)
    clause = bind(f"SELECT a.k FROM a, b WHERE {NEAR}", STREAMS).clause
    for schemas, name in ((SCHEMAS, "`_bucket0`"), ([*SCHEMAS, named_so], "`_bucket_0`")):
        assert [name] == [one.name for one in time_buckets(clause, schemas)]
