"""Spark's types and psoup's, both ways, and the words where none fits."""

import datetime as dt

import pyarrow as pa
import pytest

from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.errors import SchemaMismatchError
from psoup.pipeline.spark.schema import (
    arrow_schema_of,
    as_declared,
    check_columns,
    columns_to_declare,
    psoup_type,
    spark_type,
    struct_type,
)

DECLARED = (
    ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
    ColumnSchema("px", ColumnType.FLOAT64),
    ColumnSchema("size", ColumnType.INT64),
)


def struct(text):
    """Return a schema written as names and types: Spark itself would need a session to read one."""
    from pyspark.sql import types

    kinds = {
        "array<int>": types.ArrayType(types.IntegerType()),
        "bigint": types.LongType(),
        "binary": types.BinaryType(),
        "boolean": types.BooleanType(),
        "date": types.DateType(),
        "decimal(10,2)": types.DecimalType(10, 2),
        "double": types.DoubleType(),
        "float": types.FloatType(),
        "int": types.IntegerType(),
        "interval": types.CalendarIntervalType(),
        "map<string,int>": types.MapType(types.StringType(), types.IntegerType()),
        "smallint": types.ShortType(),
        "string": types.StringType(),
        "struct<a:int>": types.StructType([types.StructField("a", types.IntegerType())]),
        "timestamp": types.TimestampType(),
        "timestamp_ntz": types.TimestampNTZType(),
        "tinyint": types.ByteType(),
        "void": types.NullType(),
    }
    fields = [field.strip().split(" ") for field in text.split(";")]
    return types.StructType([types.StructField(name, kinds[kind]) for name, kind in fields])


@pytest.mark.parametrize("kind", ColumnType)
def test_types_read_are_written_back_as_they_were(kind):
    """What a column is read as becomes the same column again."""
    assert kind is psoup_type(spark_type(kind))


def test_struct_of_columns_keeps_names_order_and_nulls():
    """What a stream declares, as Spark sees it."""
    found = struct_type(DECLARED)
    assert "struct<ts:timestamp,px:double,size:bigint>" == found.simpleString()
    assert [False, True, True] == [field.nullable for field in found]


def test_columns_to_declare_keep_null_out_of_the_time_column():
    """Spark calls every column of a file nullable; one that dates a row cannot be."""
    found = columns_to_declare(struct("ts timestamp_ntz;px float;size smallint"), time="ts")
    assert DECLARED == found


@pytest.mark.parametrize(
    ("kind", "instead"),
    [
        ("date", 'col("x").cast("timestamp")'),
        ("decimal(10,2)", 'col("x").cast("double")'),
        ("binary", 'base64("x")'),
        ("array<int>", 'to_json("x")'),
        ("map<string,int>", 'to_json("x")'),
        ("struct<a:int>", 'to_json("x")'),
        ("interval", 'col("x").cast("string")'),
        ("void", 'col("x").cast("string")'),
    ],
)
def test_columns_without_a_type_are_refused_with_what_to_write(kind, instead):
    """By name, with Spark's type, and the expression that makes it one of the five."""
    with pytest.raises(SchemaMismatchError) as refused:
        columns_to_declare(struct(f"ts timestamp;x {kind}"), time="ts")
    assert f"x: in Spark {kind}" in str(refused.value)
    assert f'.withColumn("x", {instead})' in str(refused.value)
    assert "ts: " not in str(refused.value)


def test_columns_that_fit_in_any_order_are_taken():
    """Names count, not places; a narrower type is none other."""
    check_columns("trades", DECLARED, struct("size int;px float;ts timestamp"))


def test_columns_that_allow_null_may_be_left_out():
    """A job that was written before columns were added goes on; the time column has to be there."""
    check_columns("trades", DECLARED, struct("ts timestamp"))
    with pytest.raises(SchemaMismatchError, match=r"ts: in Spark not there.*: add it"):
        check_columns("trades", DECLARED, struct("px double"))


def test_columns_that_differ_are_told_all_at_once():
    """Every column has its line: what fits, what to cast, what to drop, what to add, what to rename."""
    given = struct("ts date;Px double;venue string")
    declared = (*DECLARED, ColumnSchema("venue", ColumnType.STRING))
    with pytest.raises(SchemaMismatchError) as refused:
        check_columns("trades", declared, given)
    first, *lines = str(refused.value).split("\n  ")
    assert "The DataFrame's columns are not those of stream 'trades'; nothing was sent." == first
    assert [
        (
            "ts: in Spark date, in the stream timestamp:"
            ' .withColumn("ts", col("ts").cast("timestamp"))'
        ),
        (
            "Px: in Spark double, in the stream not there:"
            ' names are compared exactly: .withColumnRenamed("Px", "px")'
        ),
        "venue: in Spark string, in the stream string: fits",
        "px: in Spark not there, in the stream float64: NULL in each row",
        "size: in Spark not there, in the stream int64: NULL in each row",
    ] == lines


def test_rows_are_cast_to_the_declared_columns():
    """Times are instants of UTC whatever the session's zone; without one they are UTC already."""
    noon = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    for zone, time in (("Asia/Tokyo", noon), (None, noon.replace(tzinfo=None))):
        batch = pa.record_batch(
            {
                "size": pa.array([1, None], pa.int16()),
                "px": pa.array([0.5, None], pa.float32()),
                "ts": pa.array([time, time], pa.timestamp("us", tz=zone)),
            }
        )
        found = as_declared(batch, arrow_schema_of(DECLARED))
        assert [
            {"ts": noon, "px": 0.5, "size": 1},
            {"ts": noon, "px": None, "size": None},
        ] == found.to_pylist()
        assert arrow_schema_of(DECLARED).equals(found.schema)
