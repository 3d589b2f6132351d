"""What differs between psoup and Spark SQL, and what does not: each row of the table in decision record 0005.

The translation rests on it: where a later Spark means something else, a line here fails before an answer is wrong.
"""

import pytest

from psoup.engine.query.bind.binder import bind
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from psoup.pipeline.spark.sql.standing_query import agreeing
from tests.world import World

pytestmark = [pytest.mark.spark]

LEAST = "-9223372036854775808"
MOST = "9223372036854775807"
INFINITY = float("inf")

VALUES = [
    ("7 / 2", 3.5, "7L / 2L", 3.5),
    ("-7 % 3", -1, "-7L % 3L", -1),
    (f"{LEAST} % -1", 0, f"{LEAST}L % -1L", 0),
    ("1e308 * 10", None, "1e308D * 10D", INFINITY),
    ("0.0 = -0.0", True, "0.0D = -0.0D", True),
    ("i = 9007199254740992.5", True, "i = 9007199254740992.5D", True),
    ("i IN (9007199254740992, 2.5)", False, "i IN (9007199254740992L, 2.5D)", True),
    ("i BETWEEN 1.5 AND 9007199254740992", False, "i BETWEEN 1.5D AND 9007199254740992L", False),
    ("'B' < 'a'", True, "'B' < 'a'", True),
    ("'ﬀ' < '𝄞'", True, "'ﬀ' < '𝄞'", True),
    ("'AB' LIKE 'a%'", False, "'AB' LIKE 'a%'", False),
    ("'𝄞' LIKE '_'", True, "'𝄞' LIKE '_'", True),
    ("'a\\b' LIKE 'a\\%'", True, "'a\\\\b' LIKE 'a\\\\%'", False),
    ("'' IS NULL", False, "'' IS NULL", False),
    ("(2 NOT IN (1, NULL)) IS NULL", True, "(2L NOT IN (1L, NULL)) IS NULL", True),
    ("FALSE < TRUE", True, "FALSE < TRUE", True),
    (
        "TIMESTAMP '9999-12-31' + INTERVAL '1' DAY IS NULL",
        True,
        "TIMESTAMP '9999-12-31' + INTERVAL '1' DAY IS NULL",
        False,
    ),
    (
        "TIMESTAMP '2014-01-05T12:00:00+02:00' = TIMESTAMP '2014-01-05T10:00:00Z'",
        True,
        "TIMESTAMP '2014-01-05T12:00:00+02:00' = TIMESTAMP '2014-01-05T10:00:00Z'",
        True,
    ),
]
"""An expression of psoup and its value, the same in Spark's words and its value there; `i` is 2^53 + 1."""

KINDS = [
    ("1.5", ColumnType.FLOAT64, "1.5", "decimal(2,1)"),
    ("1", ColumnType.INT64, "1", "int"),
    ("7 / 2", ColumnType.FLOAT64, "7 / 2", "double"),
    ("ABS(NULL)", ColumnType.INT64, "abs(NULL)", "double"),
    ("NULL", ColumnType.BOOL, "NULL", "void"),
]
"""An expression of psoup and its type, the same in Spark's words and its type there."""

ERRORS = [
    (f"{MOST} + 1", f"{MOST}L + 1L", "ARITHMETIC_OVERFLOW"),
    (f"-({LEAST})", f"-({LEAST}L)", "ARITHMETIC_OVERFLOW"),
    (f"ABS({LEAST})", f"abs({LEAST}L)", "ARITHMETIC_OVERFLOW"),
    ("1 / 0", "1L / 0L", "DIVIDE_BY_ZERO"),
    ("1.0 / 0", "1D / 0D", "DIVIDE_BY_ZERO"),
    ("1 % 0", "1L % 0L", "REMAINDER_BY_ZERO"),
    (
        "TIMESTAMP '9999-12-31' + INTERVAL '106000000' DAY",
        "TIMESTAMP '9999-12-31' + INTERVAL '106000000' DAY",
        "None",
    ),
]
"""An expression that is NULL to psoup, and the condition of Spark's error: one has none."""

REFUSED = ["TIMESTAMP '2014-01-05T12:00Z'", "TIMESTAMP '2014-01-05T12:00:00+23:00'"]
"""Literals of psoup that Spark does not read."""


def psoup_row(expressions: list[str]) -> tuple[tuple[object, ...], list[ColumnType]]:
    """Return what psoup makes of expressions over one tuple, and their types."""
    world = World()
    columns = (ColumnSchema("i", ColumnType.INT64),)
    world.declare(StreamSchema("one", columns, None, ClockKind.SERVER))
    world.append("one", [{"i": 2**53 + 1}])
    listed = ", ".join(f"{text} AS o{i}" for i, text in enumerate(expressions))
    sql = f"SELECT {listed} FROM one"
    ((_, _, values),) = world.invoke(world.register(sql)).rows
    return values, [one.type for one in bind(sql, world.streams).shape.outputs]


def test_differential_values_of_psoup_and_spark_sql_differ_where_it_is_written_down(spark):
    """The same expression has the values and types that the table of record 0005 says, here and there."""
    own = agreeing(spark)
    values, _ = psoup_row([text for text, *_ in VALUES])
    listed = ", ".join(f"{text} AS o{i}" for i, (_, _, text, _) in enumerate(VALUES))
    (row,) = own.sql(f"SELECT {listed} FROM (SELECT 9007199254740993L AS i)").collect()
    assert [(here, there) for _, here, _, there in VALUES] == list(zip(values, row, strict=True))
    _, kinds = psoup_row([text for text, *_ in KINDS])
    typed = ", ".join(f"typeof({text}) AS o{i}" for i, (_, _, text, _) in enumerate(KINDS))
    (row,) = own.sql(f"SELECT {typed}").collect()
    assert [(here, there) for _, here, _, there in KINDS] == list(zip(kinds, row, strict=True))


def test_differential_what_has_no_value_is_null_in_psoup_and_refused_by_spark_sql(spark):
    """Overflow and zero divisors end a query of Spark's; literals it cannot read are none of its SQL."""
    from pyspark.errors import PySparkException

    own = agreeing(spark)
    values, _ = psoup_row([text for text, *_ in ERRORS])
    assert {None} == set(values)
    for _, text, condition in ERRORS:
        with pytest.raises(PySparkException) as refused:
            own.sql(f"SELECT {text}").collect()
        assert condition == str(refused.value.getCondition()), text
    values, _ = psoup_row(REFUSED)
    assert None not in values
    for text in REFUSED:
        with pytest.raises(PySparkException) as refused:
            own.sql(f"SELECT {text}")
        assert "INVALID_TYPED_LITERAL" == refused.value.getCondition(), text


def test_differential_zeros_are_one_value_to_distinct_and_to_joins_of_spark_sql(spark):
    """0.0 and -0.0 are one group, and meet in a join, as in psoup."""
    own = agreeing(spark)
    zeros = "(SELECT explode(array(0.0D, -0.0D)) AS x)"
    assert 1 == own.sql(f"SELECT DISTINCT x FROM {zeros}").count()
    assert 4 == own.sql(f"SELECT * FROM {zeros} AS a JOIN {zeros} AS b ON a.x = b.x").count()
