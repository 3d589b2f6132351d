"""Groups, aggregates, orders and limits: what psoup answers, Spark SQL answers over the same rows."""

from random import Random

import pytest

from psoup.pipeline.spark.sql.standing_query import agreeing
from tests.agreement.shapes.compared import (
    answer,
    assert_alike,
    in_micros,
    newest_us,
    table_of,
    world_of,
)
from tests.agreement.shapes.drawn import drawn_query, drawn_rows
from tests.strategies import EPOCH_US

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

QUERIES = 60


def test_oracle_spark_answers_drawn_shapes_alike(spark):
    """Every aggregate, FILTER, DISTINCT, keys, HAVING, ORDER BY, LIMIT and OFFSET, over NULLs and extremes."""
    rng = Random(21)
    rows = drawn_rows(rng, 600, EPOCH_US)
    world, now_us = world_of(rows, [250]), newest_us(rows)
    session = agreeing(spark)
    session.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    asked: set[str] = set()
    for _ in range(QUERIES):
        query = drawn_query(rng)
        theirs = in_micros(map(tuple, session.sql(query.spark(now_us)).collect()))
        assert_alike(theirs, answer(world, query.text), query.text)
        asked |= {one for one in AGGREGATES if f"{one}(" in query.text}
    assert set(AGGREGATES) == asked


AGGREGATES = [
    "COUNT",
    "SUM",
    "AVG",
    "MIN",
    "MAX",
    "VAR_SAMP",
    "VAR_POP",
    "STDDEV_SAMP",
    "STDDEV_POP",
    "MEDIAN",
    "QUANTILE_CONT",
    "BOOL_AND",
    "BOOL_OR",
    "FIRST",
    "LAST",
    "ARG_MIN",
    "ARG_MAX",
]
