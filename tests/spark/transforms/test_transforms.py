"""DataFrame -> DataFrame: mapping, tuple time, fitting, pieces; on a few rows each."""

import datetime as dt

import pyarrow as pa
import pytest
from pyspark.sql import functions

from psoup.pipeline.spark.transforms.event_time import by_day, dated, in_time_order
from psoup.pipeline.spark.transforms.fitting import fitted
from psoup.pipeline.spark.transforms.mapping import mapped
from psoup.pipeline.spark.transforms.pieces import PIECE, cut, extent_of, planned

NOON = dt.datetime(2024, 1, 5, 12, tzinfo=dt.UTC)
NOON_US = int(NOON.timestamp()) * 1_000_000


def test_mapped_without_expressions_is_the_rows_as_they_are(spark):
    """Nothing asked for is nothing changed; names with dots are names."""
    rows = spark.sql("SELECT 1 AS n, 'a' AS `id.orig_h`")
    found = mapped(rows, {})
    assert (rows.schema, rows.collect()) == (found.schema, found.collect())


def test_mapped_names_the_columns_in_their_order(spark):
    """Each column is its expression over the source's, of the rows that meet the condition."""
    rows = spark.sql(
        "SELECT * FROM VALUES ('a', 150, 1), ('b', NULL, 2), ('c', 7, 3) AS t(sym, cents, z)"
    )
    found = mapped(rows, {"px": "cents / 100", "sym": "upper(sym)"}, where="z < 3")
    assert [("px", "double"), ("sym", "string")] == found.dtypes
    assert {(1.5, "A"), (None, "B")} == {tuple(row) for row in found.collect()}
    assert 2 == found.count()


def test_mapped_star_keeps_the_source_and_replaces_by_name(spark):
    """`*` stands for all columns; one that is mapped as well keeps its place."""
    found = mapped(spark.sql("SELECT 1 AS a, 2 AS b"), {"*": "*", "a": "a + 10", "c": "a + b"})
    assert ["a", "b", "c"] == found.columns
    assert [(11, 2, 3)] == [tuple(row) for row in found.collect()]


@pytest.mark.parametrize(
    ("given", "micros"),
    [
        ("'2024-01-05 12:00:00'", NOON_US),
        ("'2024-01-05T14:00:00+02:00'", NOON_US),
        ("DATE '2024-01-05'", NOON_US - 43_200_000_000),
        ("TIMESTAMP_NTZ '2024-01-05 12:00:00'", NOON_US),
        ("TIMESTAMP '2024-01-05 12:00:00'", NOON_US),
    ],
)
def test_dated_reads_texts_and_dates_as_instants(spark, given, micros):
    """What is written as a time is one, in UTC; the other columns stay."""
    found = dated(spark.sql(f"SELECT 1 AS n, {given} AS ts"), "ts")
    assert [(1, micros)] == [
        tuple(row) for row in found.selectExpr("n", "unix_micros(ts)").collect()
    ]


def test_dated_leaves_numbers_alone(spark):
    """They do not say what they count."""
    rows = spark.sql("SELECT 1704456000L AS ts")
    assert "struct<ts:bigint>" == dated(rows, "ts").schema.simpleString()
    assert rows.columns == dated(rows, None).columns


def test_in_time_order_sorts_over_all_partitions(spark):
    """Row after row, partition after partition, times never fall; without a time column nothing moves."""
    rows = (
        spark.range(1_000)
        .repartition(4)
        .selectExpr("timestamp_micros((id * 7919) % 1000) AS ts", "id")
    )
    times = [row["ts"] for row in in_time_order(rows, "ts").toLocalIterator()]
    assert sorted(times) == times
    assert rows.sameSemantics(in_time_order(rows, None))


def test_by_day_is_the_day_in_utc(spark):
    """The last microsecond of a day belongs to it."""
    rows = spark.sql(
        "SELECT timestamp_micros(x) AS ts FROM VALUES (1704499199999999L), (1704499200000000L) AS t(x)"
    )
    found = by_day(rows, "ts")
    assert ["ts", "day"] == found.columns
    assert [dt.date(2024, 1, 5), dt.date(2024, 1, 6)] == sorted(
        row["day"] for row in found.collect()
    )


def test_fitted_makes_columns_those_of_the_stream(spark):
    """Dates and texts become instants, small numbers floats, a missing column NULL; the rest stays for the writer."""
    declared = spark.sql("SELECT TIMESTAMP '2024-01-01' AS ts, 0D AS x, 0L AS n, '' AS more").schema
    rows = spark.sql("SELECT DATE '2024-01-05' AS ts, 3 AS x, 4 AS n, 'z' AS unknown")
    found = fitted(rows, declared)
    kinds = "struct<ts:timestamp,x:double,n:int,unknown:string,more:string>"
    assert kinds == found.schema.simpleString()
    assert [(3.0, 4, "z", None)] == [tuple(row)[1:] for row in found.collect()]


def test_fitted_for_a_stream_to_be_has_types_that_streams_have(spark):
    """Decimals are floats and dates instants; texts stay texts."""
    rows = spark.sql("SELECT CAST(1.5 AS DECIMAL(8, 2)) AS p, DATE '2024-01-05' AS d, '2024' AS s")
    kinds = "struct<p:double,d:timestamp,s:string>"
    assert kinds == fitted(rows, None).schema.simpleString()


def pieces_of(rows, time, *, piece_bytes):
    extent = extent_of(rows, time)
    plan = planned(rows, time, extent=extent, piece_bytes=piece_bytes)
    return plan, cut(rows, time, plan)


def timed(spark, seconds, *, partitions):
    """Return rows of 24 bytes each at these seconds."""
    times = pa.array(seconds, pa.int64()).cast(pa.timestamp("s", tz="UTC"))
    columns = {"n": pa.array(range(len(seconds))), "ts": times, "s": ["abcd"] * len(seconds)}
    return spark.createDataFrame(pa.table(columns)).repartition(partitions)


def test_pieces_of_few_rows_are_one(spark):
    """What fits into a commit is not cut; no rows are one piece as well."""
    rows = timed(spark, range(10), partitions=2)
    plan, found = pieces_of(rows, "ts", piece_bytes=10_000)
    assert (1, 10) == (plan.pieces, plan.extent.rows)
    assert 10 * (8 + 8 + 4 + 4) == plan.extent.nbytes
    assert [0] * 10 == [row[PIECE] for row in found.collect()]
    empty, _ = pieces_of(rows.where("n < 0"), "ts", piece_bytes=10_000)
    assert (1, 0) == (empty.pieces, empty.extent.rows)


def test_pieces_follow_time_and_stay_below_their_size(spark):
    """Each row is in one piece, no piece begins before the one ahead of it ends, all are about as large as asked."""
    rows = timed(spark, [(n * 37) % 1_000 for n in range(1_000)], partitions=3)
    plan, found = pieces_of(rows, "ts", piece_bytes=2_400)  # of 24 bytes each: a hundred rows
    spans = (
        (found.groupBy(PIECE).agg(functions.min("ts"), functions.max("ts"), functions.count("*")))
        .orderBy(PIECE)
        .collect()
    )
    assert list(range(plan.pieces)) == [row[0] for row in spans]
    assert 10 <= plan.pieces <= 11
    assert 1_000 == sum(row[3] for row in spans)
    assert all(row[3] <= 100 for row in spans)
    bounds = [time for row in spans for time in (row[1], row[2])]
    assert sorted(bounds) == bounds


def test_pieces_of_one_instant_are_shared_out_by_content(spark):
    """Rows that time does not tell apart go into several pieces nevertheless; later ones come after."""
    rows = timed(spark, [5] * 900 + [9] * 20, partitions=3)
    plan, found = pieces_of(rows, "ts", piece_bytes=2_400)
    assert 10 == plan.pieces
    counts = {row[PIECE]: row["count"] for row in found.groupBy(PIECE).count().collect()}
    assert 920 == sum(counts.values())
    assert 20 == counts[9]
    assert all(50 < counts[piece] < 150 for piece in range(9))
    _, undated = pieces_of(rows.drop("ts"), None, piece_bytes=2_400)
    assert 7 == undated.select(PIECE).distinct().count()


def test_pieces_are_the_same_for_the_same_rows(spark):
    """A batch that Spark repeats in other partitions and another order is cut the same way."""
    seconds = [(n * n) % 977 for n in range(500)]

    def cut_in(partitions):
        _, found = pieces_of(timed(spark, seconds, partitions=partitions), "ts", piece_bytes=1_000)
        return {row["n"]: row[PIECE] for row in found.collect()}

    assert cut_in(1) == cut_in(5)
