"""Archives that are written and read: what they go on from, what they are read with, and what ends them."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from psoup.client.calls import PsoupClient
from psoup.client.errors import DefinitionError
from psoup.engine.query.window import Window
from psoup.pipeline.errors import JobFailedError, ReadRefusedError
from psoup.pipeline.spark.archive_answers import tuples
from psoup.pipeline.spark.archive_answers.archive import archived_through
from psoup.pipeline.spark.archive_answers.archive_note import (
    CHECKPOINT_FOLDER,
    ArchiveNote,
    read_note,
    write_note,
)
from psoup.pipeline.spark.archive_answers.archive_query import ArchiveQuery, instant_us
from psoup.pipeline.spark.archive_answers.tuples import find_tuples, rows_of
from psoup.pipeline.spark.jobs.archive import archive
from psoup.pipeline.spark.launch import checkpoints as kept
from psoup.pipeline.spark.launch.job_run import JobEnd, JobProgress
from psoup.pipeline.spark.launch.requests import ArchiveRequest
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.sql.standing_query import agreeing
from tests.patience import WAIT_S, wait_until
from tests.spark.archive_answers.archive_world import archive_of, never
from tests.spark.read.read_world import FLIGHTS, append, declare, flights

OPEN = (Window(),)


def archive_query_of(service, stream):
    """Return what asks for all of a stream that has come so far."""
    page = service.batch_list(stream, limit=1)
    text = f"SELECT 1 FROM {stream}"
    return ArchiveQuery("h_1", text, page["gen"], page["seq"], instant_us("2099-01-01"))


def test_archive_that_comes_further_while_it_is_looked_at_counts_each_tuple_once(
    spark, between, service, tmp_path, monkeypatch
):
    """What it has of later batches is not taken; where the log lets go of these, all is looked at anew."""
    declare(service, "moving", FLIGHTS)
    seqs = [append(service, "moving", flights(0, 20))]
    archive_of(spark, between.url, "moving", tmp_path)
    seqs += [append(service, "moving", flights(first, first + 20)) for first in (20, 40)]
    archive_query = archive_query_of(service, "moving")
    looked = []

    def archive_goes_on(*given):
        found = archived_through(*given)
        looked.append(found)
        if len(looked) == 1:
            archive_of(spark, between.url, "moving", tmp_path)
            between.forget("moving", *seqs)
        return found

    monkeypatch.setattr(tuples, "archived_through", archive_goes_on)
    connection = Connection(url=between.url, retry_s=5.0)
    path = str(tmp_path / "moving")
    with PsoupClient(between.url) as seen:
        found = find_tuples(agreeing(spark), seen, archive_query, "moving", path)
    assert ([], None, [seqs[0], seqs[2]]) == (found.live, found.known_from_us, looked)
    assert 60 == rows_of(agreeing(spark), connection, archive_query, found, OPEN).count()
    assert found.archived is not None
    earlier = dataclasses.replace(found.archived, through=seqs[0])
    as_of = dataclasses.replace(found, archived=earlier)
    assert 20 == rows_of(agreeing(spark), connection, archive_query, as_of, OPEN).count()


def test_archive_whose_checkpoint_was_put_back_is_not_gone_on_with(
    spark, psoup_url, service, tmp_path
):
    """Spark's sink would pass over the micro-batch that it has had of that number, and the hold move past its rows."""
    path = tmp_path / "back"
    checkpoint, saved, ahead = path / CHECKPOINT_FOLDER, tmp_path / "saved", tmp_path / "ahead"
    declare(service, "back", FLIGHTS)
    first = append(service, "back", flights(0, 20))
    archive_of(spark, psoup_url, "back", tmp_path)
    shutil.copytree(checkpoint, saved)
    second = append(service, "back", flights(20, 40))
    archive_of(spark, psoup_url, "back", tmp_path)
    note = read_note(spark, str(path))
    assert note is not None
    assert second == archived_through(spark, str(path), note)

    shutil.move(checkpoint, ahead)
    shutil.move(saved, checkpoint)
    with pytest.raises(DefinitionError, match="do not fit each other"):
        archive_of(spark, psoup_url, "back", tmp_path)
    shutil.rmtree(checkpoint)
    shutil.move(ahead, checkpoint)
    for name in ("1", ".1.crc"):  # as in a copy of which the files were taken first
        (path / "_spark_metadata" / name).unlink()
    with pytest.raises(DefinitionError, match="do not fit each other"):
        archive_of(spark, psoup_url, "back", tmp_path)
    assert first == archived_through(spark, str(path), note)


def test_archive_with_a_checkpoint_of_its_own_goes_on_however_that_is_written(
    spark, psoup_url, service, tmp_path
):
    """It is noted in full, so that who reads the archive elsewhere finds it."""
    declare(service, "apart", FLIGHTS)
    path, full = str(tmp_path / "apart"), str(tmp_path / "checkpoint")
    for checkpoint in (os.path.relpath(full), full):
        last = append(service, "apart", flights(0, 20))
        request = ArchiveRequest(stream="apart", path=path, url=psoup_url, checkpoint=checkpoint)
        assert 20 == archive(spark, request, lambda _: None, never).rows
        note = read_note(spark, path)
        assert note is not None
        assert (1, f"file:{full}") == (note.number, note.checkpoint)
        assert last == archived_through(spark, path, note)


def test_note_that_comes_while_the_checkpoint_is_read_counts(
    spark, psoup_url, service, tmp_path, monkeypatch
):
    """The archive may have gone on behind a gap meanwhile, which the note of before knows nothing of."""
    declare(service, "renoted", FLIGHTS)
    append(service, "renoted", flights(0, 20))
    archive_of(spark, psoup_url, "renoted", tmp_path)
    path, instant = str(tmp_path / "renoted"), "2024-05-01T12:00:05Z"

    def noted_anew(*given):
        found = archived_through(*given)
        if given[2].number == 1:
            note = dataclasses.replace(given[2], number=2, complete_from=instant)
            write_note(spark, path, note)
        return found

    monkeypatch.setattr(tuples, "archived_through", noted_anew)
    found = find_tuples(
        agreeing(spark), service, archive_query_of(service, "renoted"), "renoted", path
    )
    assert instant_us(instant) == found.known_from_us


def test_checkpoint_that_is_cleared_while_it_is_read_tells_the_rest(spark, tmp_path):
    """Spark keeps a hundred micro-batches and removes the others, of which nobody wants to know."""
    for number in range(3):
        (tmp_path / str(number)).write_text(f"batch {number}")
    rows = kept._text(spark, str(tmp_path))
    assert rows is not None
    (tmp_path / "0").unlink()
    assert ["batch 1", "batch 2"] == sorted(row["value"] for row in rows.collect())


def test_batches_without_rows_are_missed_by_nobody(spark, psoup_url, service, tmp_path):
    """The log forgets them at once: an archive that begins then has all that was sent, and so has a history."""
    declare(service, "sparse", FLIGHTS)
    for first in (0, 20):
        append(service, "sparse", flights(first, first + 20))
    empty = int(str(service.append("sparse", b"[]", content_type="application/json")["seq"]))
    append(service, "sparse", flights(40, 60))

    def is_gone():
        return empty not in [one["seq"] for one in service.batches("sparse")]

    wait_until(is_gone, "the batch without rows is forgotten")
    assert 0 == service.batch_list("sparse")["forgotten_through"]
    assert 60 == archive_of(spark, psoup_url, "sparse", tmp_path).rows
    archive_query = archive_query_of(service, "sparse")
    own = agreeing(spark)
    found = find_tuples(own, service, archive_query, "sparse", str(tmp_path / "sparse"))
    rows = rows_of(own, Connection(url=psoup_url, retry_s=5.0), archive_query, found, OPEN)
    assert (60, None) == (rows.count(), found.known_from_us)


def test_columns_of_any_name_are_read_from_an_archive(spark, psoup_url, service, tmp_path):
    """A dot, a star, a backtick mean nothing; a name that Spark's readers add is refused as that."""
    names = ["a.b", "*", "tick`ed", "1"]
    columns = [{"name": name, "type": "int64"} for name in names]
    service.declare("named", {"columns": columns})
    row = json.dumps(dict(zip(names, range(4), strict=True))).encode()
    for _ in range(2):
        service.append("named", row, content_type="application/x-ndjson")
        if not (tmp_path / "named").exists():
            archive_of(spark, psoup_url, "named", tmp_path)
    archive_query = archive_query_of(service, "named")
    own = agreeing(spark)
    found = find_tuples(own, service, archive_query, "named", str(tmp_path / "named"))
    rows = rows_of(own, Connection(url=psoup_url, retry_s=5.0), archive_query, found, OPEN)
    assert [(0, 1, 2, 3)] * 2 == [tuple(one)[3:] for one in rows.collect()]
    taken = [*columns, {"name": "_Seq", "type": "int64"}]
    service.declare("taken", {"columns": taken})
    with pytest.raises(ReadRefusedError, match=r"'_Seq' of its own.*another name for the column"):
        archive_of(spark, psoup_url, "taken", tmp_path)


def test_archive_of_a_stream_declared_anew_goes_on_nowhere(spark, psoup_url, service, tmp_path):
    """Its rows would stand beside those of the stream of before, under positions that say nothing of either."""
    declare(service, "anew", FLIGHTS)
    append(service, "anew", flights(0, 5))
    gen = service.batch_list("anew")["gen"]
    note = ArchiveNote(
        gen=gen,
        declared=service.stream("anew")["declared"],
        forgotten_through=0,
        complete_from=None,
        checkpoint=None,
    )
    write_note(spark, str(tmp_path / "anew"), note)
    service.drop("anew")
    declare(service, "anew", FLIGHTS)
    with pytest.raises(DefinitionError, match="Name another --path for the new stream"):
        archive_of(spark, psoup_url, "anew", tmp_path)
    assert service.held("anew") is None


def test_archive_goes_on_with_a_column_that_was_added(spark, psoup_url, service, tmp_path):
    """Its files of before are read with NULL there; a query that does not read the column ends, and loses nothing."""
    declare(service, "wider", FLIGHTS)
    append(service, "wider", flights(0, 20))
    archive_of(spark, psoup_url, "wider", tmp_path)
    options = {"url": psoup_url, "stream": "wider", "allColumns": "true"}
    begun = spark.readStream.format("psoup").options(**options).load().writeStream.format("noop")
    service.add_columns("wider", [{"name": "gate", "type": "string"}])
    gates = pa.array([f"gate {i}" for i in range(20)], pa.string())
    last = append(service, "wider", flights(20, 40).append_column("gate", gates))
    stale = begun.option("checkpointLocation", str(tmp_path / "stale")).start()
    with pytest.raises(
        StreamingQueryException, match=r"columns that this query does not read.*: gate"
    ):
        stale.awaitTermination(WAIT_S)
    archive_query = archive_query_of(service, "wider")
    path = str(tmp_path / "wider")
    connection = Connection(url=psoup_url, retry_s=5.0)
    for live in ([last], []):  # from old files and the log, then from files of both kinds
        found = find_tuples(agreeing(spark), service, archive_query, "wider", path)
        assert live == [one.seq for one in found.live]
        rows = rows_of(agreeing(spark), connection, archive_query, found, OPEN)
        shown = rows.orderBy("_id").select("gate").collect()
        assert [None] * 20 + gates.to_pylist() == [row.gate for row in shown]
        archive_of(spark, psoup_url, "wider", tmp_path)
    service.unhold("wider")


def test_archive_that_runs_goes_on_with_a_column_that_is_added(spark, psoup_url, service, tmp_path):
    """The query that does not read it ends, the next one takes its place: no row is missed or written twice."""
    declare(service, "growing", FLIGHTS)
    append(service, "growing", flights(0, 20))
    told: list[int] = []
    looked: list[None] = []

    def on_progress(done: JobProgress) -> None:
        told.append(done.rows_all)

    def widen() -> bool:
        """Add the column once the first rows are written; then tell whether all are."""
        looked.append(None)
        if len(looked) == 1:
            wait_until(lambda: any(Path(path).glob("day=*/*.parquet")), "rows are written")
            service.add_columns("growing", [{"name": "gate", "type": "string"}])
            gates = pa.array([f"gate {i}" for i in range(20)], pa.string())
            append(service, "growing", flights(20, 40).append_column("gate", gates))
        return 40 in told

    path = str(tmp_path / "growing")
    request = ArchiveRequest(stream="growing", path=path, every="200ms", url=psoup_url)
    end = archive(spark, request, on_progress, widen)
    assert (40, [20, 40], True) == (end.rows, told, end.stopped)
    rows = spark.read.option("mergeSchema", "true").parquet(path).orderBy("_id").collect()
    assert [None] * 20 + [f"gate {i}" for i in range(20)] == [row.gate for row in rows]
    service.unhold("growing")


def test_archive_that_fails_otherwise_is_not_begun_anew(
    spark, psoup_url, service, tmp_path, monkeypatch
):
    """A failure ends the job, where no column is missing that would explain it."""
    declare(service, "failing", FLIGHTS)
    append(service, "failing", flights(0, 5))
    begun: list[object] = []

    def fail(query: StreamingQuery, *_: object) -> JobEnd:
        begun.append(query)
        query.stop()
        raise JobFailedError("gone")

    monkeypatch.setattr("psoup.pipeline.spark.jobs.archive.follow_query", fail)
    with pytest.raises(JobFailedError, match="gone"):
        archive_of(spark, psoup_url, "failing", tmp_path)
    assert 1 == len(begun)
    service.unhold("failing")
