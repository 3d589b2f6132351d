"""`df.write.format("psoup")`: all rows at once, each once, of the types that they had."""

import datetime as dt

import pyarrow as pa
import pytest

from tests.spark.stored import stored_numbers, stored_rows

NOON = dt.datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=dt.UTC)


def write(frame, url, stream, **options):
    """Append a DataFrame to a stream."""
    frame.write.format("psoup").mode("append").options(url=url, stream=stream, **options).save()


def test_write_types_arrive_as_the_stream_has_them(spark, psoup_url, service):
    """Every type that psoup has a place for: the value that Spark held, NULL as NULL, times in UTC."""
    frame = spark.createDataFrame(
        [
            (NOON, NOON.replace(tzinfo=None), 1, 2, 3, 2**62, 0.5, 0.1, True, "é"),
            (NOON, None, None, None, None, None, None, None, None, None),
        ],
        "ts timestamp, n timestamp_ntz, b byte, s short, i int, l long, f float, d double,"
        " t boolean, x string",
    )
    write(frame, psoup_url, "types", createStream="true", time="ts", retentionRows="1000")
    declared = {c["name"]: c["type"] for c in service.stream("types")["columns"]}
    kinds = ["timestamp"] * 2 + ["int64"] * 4 + ["float64"] * 2 + ["bool", "string"]
    assert (
        dict(zip(["ts", "n", "b", "s", "i", "l", "f", "d", "t", "x"], kinds, strict=True))
        == declared
    )
    first, second = stored_rows(service, "types").to_pylist()
    expected = {"ts": NOON, "n": NOON, "b": 1, "s": 2, "i": 3, "l": 2**62, "f": 0.5, "d": 0.1}
    assert expected | {"t": True, "x": "é"} == first
    assert {"ts": NOON} == {name: value for name, value in second.items() if value is not None}


def test_write_created_stream_is_declared_as_told(spark, psoup_url, service):
    """Time, clock and retention are those of the options; the time column allows no NULL."""
    frame = spark.sql("SELECT timestamp '2024-01-01' AS at, 1L AS v")
    told = {"createStream": "true", "time": "at", "clock": "server", "retentionTime": "7d"}
    write(frame, psoup_url, "told", **told)
    found = service.stream("told")
    assert ("at", "server") == (found["time"], found["clock"])
    assert "7d" == found["retention"]["time"]
    assert {"at": False, "v": False} == {c["name"]: c["nullable"] for c in found["columns"]}


def test_write_without_the_stream_is_refused(spark, psoup_url):
    """Nothing is declared by accident; the message says how it would be."""
    with pytest.raises(Exception, match=r"no stream 'absent'.*createStream"):
        write(spark.range(3), psoup_url, "absent")


def test_write_columns_in_another_order_go_by_their_names(spark, psoup_url, service):
    """What is first in the DataFrame may be last in the stream."""
    columns = [{"name": "a", "type": "int64"}, {"name": "b", "type": "string"}]
    service.declare("ordered", {"columns": columns})
    write(spark.sql("SELECT 'x' AS b, 7 AS a"), psoup_url, "ordered")
    assert [{"a": 7, "b": "x"}] == stored_rows(service, "ordered").to_pylist()


def test_write_leaves_out_a_column_that_was_added(spark, psoup_url, service):
    """A job that was written before goes on, NULL in what it does not know; one that knows the column sends it."""
    service.declare("outgrown", {"columns": [{"name": "a", "type": "int64"}]})
    service.add_columns("outgrown", [{"name": "b", "type": "string"}])
    write(spark.sql("SELECT 1L AS a"), psoup_url, "outgrown")
    write(spark.sql("SELECT 'x' AS b, 2L AS a"), psoup_url, "outgrown")
    assert [{"a": 1, "b": None}, {"a": 2, "b": "x"}] == stored_rows(service, "outgrown").to_pylist()


def test_write_mismatch_names_every_column_and_sends_nothing(spark, psoup_url, service):
    """One message: both types of each column, and what to write instead."""
    service.declare("mismatched", {"columns": [{"name": "id", "type": "string"}]})
    with pytest.raises(Exception, match="not those of stream 'mismatched'") as refused:
        write(spark.sql("SELECT 1L AS id, 2.5BD AS px"), psoup_url, "mismatched")
    text = str(refused.value)
    assert 'id: in Spark bigint, in the stream string: .withColumn("id", col("id")' in text
    assert 'px: in Spark decimal(2,1), in the stream not there: .drop("px")' in text
    assert 0 == service.stream("mismatched")["rows"]


@pytest.mark.parametrize(
    ("mode", "said"),
    [("overwrite", "only grows"), ("ignore", '"Append"'), ("errorifexists", '"Append"')],
)
def test_write_other_modes_are_refused(spark, psoup_url, mode, said):
    """A stream is never overwritten; Spark itself refuses what is left."""
    writer = spark.range(3).write.format("psoup").mode(mode)
    with pytest.raises(Exception, match=said):
        writer.options(url=psoup_url, stream="modes", createStream="true").save()


def test_write_rejected_values_are_named(spark, psoup_url, service):
    """A stream takes no NaN: the message says in which column, and nothing is stored."""
    service.declare("finite", {"columns": [{"name": "x", "type": "float64"}]})
    with pytest.raises(Exception, match=r"rejects 1 values of the DataFrame: column 'x'"):
        write(spark.sql("SELECT double('NaN') AS x UNION ALL SELECT 1.0D"), psoup_url, "finite")
    assert 0 == service.stream("finite")["rows"]


def test_write_numbered_by_the_user_is_stored_once(spark, psoup_url, service):
    """The same version again, in other partitions: nothing; another version: more."""
    options = {"createStream": "true", "txnAppId": "nightly"}
    rows = spark.range(100)
    write(rows, psoup_url, "numbered", txnVersion="1", **options)
    write(rows.repartition(3), psoup_url, "numbered", txnVersion="1", **options)
    assert list(range(100)) == stored_numbers(service, "numbered", "id")
    write(spark.range(100, 110), psoup_url, "numbered", txnVersion="2", **options)
    assert list(range(110)) == stored_numbers(service, "numbered", "id")
    with pytest.raises(Exception, match="Other rows were stored under this version"):
        write(spark.range(5), psoup_url, "numbered", txnVersion="2", **options)
    assert list(range(110)) == stored_numbers(service, "numbered", "id")


def test_write_unnumbered_twice_is_stored_twice(spark, psoup_url, service):
    """Without numbers each write stands for itself, as with any other sink."""
    for _ in range(2):
        write(spark.range(4), psoup_url, "twice", createStream="true")
    assert [0, 0, 1, 1, 2, 2, 3, 3] == stored_numbers(service, "twice", "id")


def test_write_of_a_task_that_failed_once_counts_once(spark, between, service, tmp_path):
    """The attempt that failed had staged 200,000 rows and more: only those of its repetition count."""
    marker = tmp_path / "failed"

    def fail_once(batches):
        for batch in batches:
            last = batch.column(0)[-1].as_py()
            if last == 499_999 and not marker.exists():
                marker.touch()
                raise RuntimeError("this attempt fails")
            yield batch

    between.refuse("DELETE", "/v1/stages/", 404, times=9)  # nothing of it is cleared away
    rows = spark.range(0, 500_000, numPartitions=2).mapInArrow(fail_once, "id bigint")
    write(rows, between.url, "attempts", createStream="true")
    assert marker.exists()
    assert 4 < between.count("POST", "/v1/streams/attempts/stages")
    assert [4] == [len(commit["stages"]) for commit in between.commits()]
    stored = stored_rows(service, "attempts")["id"].combine_chunks()
    assert pa.array(range(500_000)).equals(stored.take(pa.compute.sort_indices(stored)))


def test_write_with_a_partition_that_fails_stores_nothing(spark, between, service):
    """A partition that was staged whole does not appear without its neighbour."""

    def fail(batches):
        for batch in batches:
            if batch.column(0)[-1].as_py() == 9:
                raise RuntimeError("always")
            yield batch

    rows = spark.range(0, 10, numPartitions=2).mapInArrow(fail, "id bigint")
    with pytest.raises(Exception, match="always"):
        write(rows, between.url, "partly", createStream="true")
    assert 0 == service.stream("partly")["rows"]
    assert [] == between.commits()


def test_write_token_is_in_no_message(spark, between):
    """What a service refuses is told without the key it was refused with."""
    between.refuse("GET", "/v1/streams/", 401, times=1, detail="who are you?")
    with pytest.raises(Exception, match="who are you") as refused:
        write(spark.range(3), between.url, "secret", token="k_0123456789")
    assert "k_0123456789" not in str(refused.value)
