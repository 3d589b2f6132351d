"""What is not translated to Spark SQL is refused, where it stands."""

import pytest

from psoup.engine.errors import UnsupportedSqlError
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from psoup.pipeline.spark.sql.standing_query import spark_query

SCHEMA = StreamSchema("s", (ColumnSchema("a", ColumnType.INT64),), None, ClockKind.SERVER)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT a, COUNT(*) FROM s GROUP BY a HAVING a > 1", "GROUP BY a HAVING a > 1"),
        ("SELECT a FROM s WHERE a > 1 ORDER BY a BEGIN (NOW - 60) END (NOW)", "ORDER BY a"),
        ("SELECT a FROM s LIMIT 5", "LIMIT 5"),
        ("SELECT a FROM s OFFSET 5", "OFFSET 5"),
        ("SELECT 1 AS one, MAX(a) + 1 AS high FROM s", "MAX(a)"),
    ],
)
def test_query_that_groups_orders_or_limits_is_refused_and_not_translated_without_that(text, place):
    """Spark would answer all of its rows."""
    with pytest.raises(UnsupportedSqlError) as refused:
        spark_query(text, [SCHEMA], now_us=0)
    position = refused.value.position
    assert (text.index(place) + 1, len(place)) == (position.column, position.length)
