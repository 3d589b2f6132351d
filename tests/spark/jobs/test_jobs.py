"""The jobs against a service: rows in exactly once, batches out into Parquet exactly once."""

import datetime as dt

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psoup.client.connections.messages import NDJSON
from psoup.client.errors import DefinitionError
from psoup.pipeline.errors import JobFailedError
from psoup.pipeline.spark.jobs.archive import archive
from psoup.pipeline.spark.jobs.backfill import backfill
from psoup.pipeline.spark.jobs.ingest import ingest
from psoup.pipeline.spark.launch.job_run import JobProgress, translated_spark_errors
from psoup.pipeline.spark.launch.requests import ArchiveRequest, BackfillRequest, IngestRequest
from tests.spark.stored import stored_numbers, stored_rows

DAY_1 = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def never() -> bool:
    return False


def write_days(path, first, past):
    """Write a CSV of one row an hour, newest first: the hours from the first on and before the last."""
    lines = [
        f"{DAY_1 + dt.timedelta(hours=n):%Y-%m-%d %H:%M:%S},{n},0{n}" for n in range(first, past)
    ]
    path.write_text("at,n,zip\n" + "\n".join(reversed(lines)) + "\n")


def arrived(service, stream):
    """Return the column `n` as it arrived: in order of tuple ids."""
    handle = service.register(f"SELECT n FROM {stream}", materialize="none")["id"]
    rows = service.invoke(handle, limit=100_000)["rows"]
    service.remove(handle)
    return [row["n"] for row in sorted(rows, key=lambda row: int(row["_id"]))]


def test_backfill_repeated_adds_what_is_new_alone(spark, psoup_url, service, tmp_path):
    """Rows come in order of time whatever their files' is; again: nothing; with one more file: that one's."""
    folder = tmp_path / "in"
    folder.mkdir()
    write_days(folder / "b.csv", 0, 30)
    write_days(folder / "a.csv", 20, 50)
    request = BackfillRequest(
        path=str(folder),
        stream="days",
        checkpoint=str(tmp_path / "checkpoint"),
        map=["*", "ts = at", "late = n > 30"],
        time="ts",
        create=True,
        retention_rows=1_000_000,
        url=psoup_url,
    )
    told: list[JobProgress] = []
    end = backfill(spark, request, told.append, never)
    assert (60, 1, False) == (end.rows, end.batches, end.stopped)
    assert sum(path.stat().st_size for path in folder.iterdir()) == told[-1].bytes_all
    assert told[-1].bytes_done == told[-1].bytes_all
    assert sorted([*range(30), *range(20, 50)]) == arrived(service, "days")
    declared = service.stream("days")
    assert declared["retention"]["rows"] == 1_000_000
    kinds = {column["name"]: column["type"] for column in declared["columns"]}
    assert {
        "at": "timestamp",
        "n": "int64",
        "zip": "int64",
        "ts": "timestamp",
        "late": "bool",
    } == kinds

    write_days(folder / "c.csv", 50, 60)
    write_days(folder / "a.csv", 90, 95)  # a file that is done stays done, as Spark's rules are
    end = backfill(spark, request, told.append, never)
    assert (10, 1) == (end.rows, end.batches)
    assert sorted([*range(30), *range(20, 60)]) == arrived(service, "days")

    other = BackfillRequest(**{**_members(request), "map": ["ts = at", "n"]})
    with pytest.raises(DefinitionError, match="another map"):
        backfill(spark, other, told.append, never)


def _members(request):
    return {name: getattr(request, name) for name in type(request).__dataclass_fields__}


def test_backfill_larger_than_a_commit_goes_on_amid_a_micro_batch(
    spark, psoup_url, service, tmp_path
):
    """One file becomes several commits in order of time; broken off between two, it goes on there, each row once."""
    rows = 90_000
    path = tmp_path / "large.parquet"
    times = pa.array([(n * 7_919) % rows for n in range(rows)], pa.int64())
    at = pa.compute.multiply(times, 1_000_000).cast(pa.timestamp("us", tz="UTC"))
    pq.write_table(pa.table({"ts": at, "n": times, "x": times.cast(pa.float64())}), path)
    columns = [("ts", "timestamp"), ("n", "int64"), ("x", "float64")]
    listed = [{"name": name, "type": kind} for name, kind in columns]
    service.declare("large", {"columns": listed, "time": "ts"})
    request = BackfillRequest(
        path=str(path),
        stream="large",
        checkpoint=str(tmp_path / "checkpoint"),
        commit_mib=1,
        url=psoup_url,
    )

    class BrokenOffError(Exception):
        pass

    def break_off(done):
        raise BrokenOffError

    with pytest.raises(JobFailedError, match="BrokenOffError"):
        backfill(spark, request, break_off, never)
    stored = service.stream("large")["rows"]
    assert 0 < stored < rows
    told: list[JobProgress] = []
    end = backfill(spark, request, told.append, never)
    assert (rows, 1) == (end.rows, end.batches)
    assert 3 == len(told)
    assert rows == service.stream("large")["rows"]
    assert list(range(rows)) == arrived(service, "large")


def test_backfill_of_a_declared_stream_reads_texts_by_its_types(
    spark, psoup_url, service, tmp_path
):
    """A postcode that the stream has as a text keeps its zero, a number that it has as a float becomes one."""
    columns = [("at", "timestamp"), ("zip", "string"), ("n", "float64"), ("more", "bool")]
    listed = [{"name": name, "type": kind} for name, kind in columns]
    service.declare("typed", {"columns": listed, "time": "at"})
    write_days(tmp_path / "days.csv", 7, 9)
    request = BackfillRequest(
        path=str(tmp_path / "days.csv"),
        stream="typed",
        checkpoint=str(tmp_path / "checkpoint"),
        url=psoup_url,
    )
    backfill(spark, request, lambda _: None, never)
    assert [
        {"at": DAY_1 + dt.timedelta(hours=n), "zip": f"0{n}", "n": float(n), "more": None}
        for n in (7, 8)
    ] == stored_rows(service, "typed").to_pylist()


def test_ingest_maps_a_source_and_goes_on_where_it_was(spark, psoup_url, service, tmp_path):
    """JSON objects become rows of the declared columns; the next run takes what came meanwhile."""
    folder = tmp_path / "in"
    folder.mkdir()

    def put(name, numbers):
        lines = [
            orjson.dumps({"t": f"2024-01-05T10:00:{n:02d}Z", "v": {"cents": n * 50}, "k": str(n)})
            for n in numbers
        ]
        (folder / name).write_bytes(b"\n".join(lines))

    request = IngestRequest(
        stream="prices",
        checkpoint=str(tmp_path / "checkpoint"),
        format="json",
        path=str(folder),
        schema="t STRING, v STRUCT<cents: BIGINT>, k STRING",
        map=["ts = t", "px = v.cents / 100", "n = CAST(k AS BIGINT)"],
        time="ts",
        create=True,
        available_now=True,
        url=psoup_url,
    )
    put("1.json", range(10))
    told: list[JobProgress] = []
    assert 10 == ingest(spark, request, told.append, never).rows
    put("2.json", range(10, 15))
    assert 5 == ingest(spark, request, told.append, never).rows
    assert [(0, 10, 10), (1, 5, 5)] == [(one.batch, one.rows, one.rows_all) for one in told]
    assert (told[0].seq or 0) < (told[1].seq or 0)
    rows = stored_rows(service, "prices").to_pylist()
    assert [(n, n / 2) for n in range(15)] == [(row["n"], row["px"]) for row in rows]


def test_ingest_of_other_columns_fails_and_names_them(spark, psoup_url, service, tmp_path):
    """What the stream does not have is said with its name and types, not with Spark's stack."""
    service.declare("narrow", {"columns": [{"name": "v", "type": "string"}]})
    request = IngestRequest(
        stream="narrow",
        checkpoint=str(tmp_path / "checkpoint"),
        format="rate",
        map=["v = value"],
        available_now=True,
        url=psoup_url,
    )
    with translated_spark_errors(), pytest.raises(JobFailedError) as caught:
        ingest(spark, request, lambda _: None, never)
    assert "v: in Spark bigint, in the stream string" in str(caught.value)
    assert "\tat " not in str(caught.value)


@pytest.mark.slow
def test_ingest_told_to_stop_ends_in_order(spark, psoup_url, service, tmp_path):
    """An endless source runs until told; what was committed is in, once."""
    service.declare("ticks", {"columns": [{"name": "n", "type": "int64"}]})
    request = IngestRequest(
        stream="ticks",
        checkpoint=str(tmp_path / "checkpoint"),
        format="rate",
        options=["rowsPerSecond=50"],
        map=["n = value"],
        every="200ms",
        url=psoup_url,
    )
    told: list[JobProgress] = []
    end = ingest(spark, request, told.append, lambda: len(told) >= 2)
    assert end.stopped
    numbers = stored_numbers(service, "ticks", "n")
    assert list(range(len(numbers))) == numbers
    assert len(numbers) >= sum(one.rows for one in told) == end.rows


def test_archive_has_every_tuple_once_whatever_retention_dropped(
    spark, psoup_url, service, tmp_path
):
    """From its first run on nothing is lost to retention; each run goes on; tuples lie by their UTC day."""
    columns = [{"name": "ts", "type": "timestamp"}, {"name": "n", "type": "int64"}]
    service.declare("short", {"columns": columns, "time": "ts", "retention": {"rows": 10}})

    def send(first, past):
        for n in range(first, past, 20):
            rows = [
                {"ts": f"{DAY_1 + dt.timedelta(hours=one):%Y-%m-%dT%H:%M:%SZ}", "n": one}
                for one in range(n, n + 20)
            ]
            body = b"\n".join(map(orjson.dumps, rows))
            service.append("short", body, content_type=NDJSON)

    folder = tmp_path / "archive"
    request = ArchiveRequest(stream="short", path=str(folder), url=psoup_url)
    send(0, 20)
    assert 20 == archive(spark, request, lambda _: None, never).rows
    send(20, 120)
    assert 120 > service.stream("short")["rows"]
    assert 100 == archive(spark, request, lambda _: None, never).rows
    found = spark.read.parquet(str(folder))
    assert {"_id", "_seq", "_arrival", "ts", "n", "day"} == set(found.columns)
    rows = found.selectExpr("n", "CAST(day AS STRING) AS day", "_id").orderBy("n").collect()
    assert list(range(120)) == [row["n"] for row in rows]
    assert [f"{DAY_1 + dt.timedelta(hours=n):%Y-%m-%d}" for n in range(120)] == [
        row["day"] for row in rows
    ]
    assert 120 == len({row["_id"] for row in rows})


def test_jobs_of_a_stream_that_is_not_there_are_refused_at_once(spark, psoup_url, tmp_path):
    """Before Spark reads anything: a wrong name costs no time."""
    at = {"stream": "no", "url": psoup_url}
    checkpoint = str(tmp_path / "checkpoint")
    with pytest.raises(DefinitionError, match="no stream 'no'"):
        ingest(
            spark,
            IngestRequest(checkpoint=checkpoint, format="rate", **at),
            lambda _: None,
            never,
        )
    with pytest.raises(DefinitionError, match="no stream 'no'"):
        backfill(
            spark,
            BackfillRequest(path="x.csv", checkpoint=checkpoint, **at),
            lambda _: None,
            never,
        )
    with pytest.raises(DefinitionError, match="no stream 'no'"):
        archive(spark, ArchiveRequest(path=str(tmp_path / "a"), **at), lambda _: None, never)


def test_archive_of_a_stream_with_a_day_of_its_own_is_refused(spark, psoup_url, service, tmp_path):
    """Its folders could not say which of the two they mean."""
    service.declare("days_of_their_own", {"columns": [{"name": "Day", "type": "int64"}]})
    request = ArchiveRequest(stream="days_of_their_own", path=str(tmp_path), url=psoup_url)
    with pytest.raises(DefinitionError, match="column 'Day' of its own"):
        archive(spark, request, lambda _: None, never)
