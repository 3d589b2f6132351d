"""What Spark calls at the end of a write, with the messages that it chose: commits, aborts, and their errors."""

import re

import pytest
from pyspark.sql.types import LongType, StructField, StructType

from psoup.client.calls import Txn
from psoup.client.errors import ServiceProblem
from psoup.pipeline.errors import OptionError, WriteRefusedError
from psoup.pipeline.spark.options import write_options
from psoup.pipeline.spark.staging import StagedRows
from psoup.pipeline.spark.writing import (
    PsoupStreamWriter,
    PsoupWriter,
    WrittenMicroBatchPartition,
    WrittenPartition,
    micro_batch_of_task,
)
from tests.spark.stored import stored_numbers

SCHEMA = StructType([StructField("id", LongType())])


@pytest.fixture
def target(between, request):
    """Return what a writer is told: a stream of the test's own, through the proxy."""
    stream = re.sub(r"\W", "_", request.node.name)[:60]
    given = {"url": between.url, "stream": stream, "createStream": "true"}
    return write_options(given)


def staged(service, stream, *ids):
    """Stage rows as an attempt of a task does; return what it tells the commit."""
    body = b"".join(b'{"id":%d}\n' % i for i in ids)
    receipt = service.stage(stream, body, content_type="application/x-ndjson")
    return StagedRows((receipt["stage"],), len(ids))


def micro_batch(service, stream, *ids, query="q", number=7):
    return WrittenMicroBatchPartition(staged(service, stream, *ids), query, number)


def test_commit_counts_the_attempts_that_spark_chose(target, service):
    """A slow attempt and the speculative one that overtook it have both staged their rows."""
    writer = PsoupStreamWriter(target, SCHEMA, overwrite=False)
    slow = micro_batch(service, target.stream, 1, 2)
    chosen = [micro_batch(service, target.stream, 1, 2), micro_batch(service, target.stream, 3)]
    writer.commit(chosen, 7)
    assert [1, 2, 3] == stored_numbers(service, target.stream, "id")
    writer.abort([slow], 7)
    with pytest.raises(ServiceProblem, match="stage-missing"):
        service.commit(Txn("other", 0), slow.staged.stages)


def test_abort_names_what_it_knows_and_undoes_no_commit(target, service):
    """Tasks that failed have no message; what was committed stays, however often it is aborted."""
    writer = PsoupStreamWriter(target, SCHEMA, overwrite=False)
    told = [micro_batch(service, target.stream, 1), None]
    writer.commit(told[:1], 7)
    writer.abort(told, 7)
    writer.abort([None, None], 7)
    assert [1] == stored_numbers(service, target.stream, "id")


def test_commit_by_a_writer_made_anew_is_the_same_commit(target, between, service):
    """Each micro-batch is planned by another process than commits it, and may be committed twice."""
    for ids in ([1, 2], [2, 1]):
        writer = PsoupStreamWriter(target, SCHEMA, overwrite=False)
        writer.commit([micro_batch(service, target.stream, *ids)], 7)
    assert [("spark:q", 7)] * 2 == [(c["app"], c["version"]) for c in between.commits()]
    assert [1, 2] == stored_numbers(service, target.stream, "id")


def test_commit_of_no_rows_is_not_sent(target, between):
    """Every partition was empty: the service hears nothing of it."""
    writer = PsoupStreamWriter(target, SCHEMA, overwrite=False)
    writer.commit([WrittenMicroBatchPartition(StagedRows((), 0), "q", 7)], 7)
    writer.commit([], 8)
    assert [] == between.commits()


@pytest.mark.parametrize("strange", [{"query": "another"}, {"number": 8}])
def test_commit_of_messages_that_do_not_belong_together_is_refused(target, service, strange):
    """It would be stored under a name that is not its own."""
    writer = PsoupStreamWriter(target, SCHEMA, overwrite=False)
    told = [micro_batch(service, target.stream, 1)]
    told.append(micro_batch(service, target.stream, 2, **strange))
    with pytest.raises(WriteRefusedError, match="expected one query and this number"):
        writer.commit(told, 7)
    assert 0 == service.stream(target.stream)["rows"]


def test_batch_write_has_a_number_of_its_own_each_time(
    target, between, service, monkeypatch, tmp_path
):
    """Two writes that nobody numbered are two writes; each may be committed twice by itself.

    They go on with one name: a stream remembers a thousand of them for good, so the thousandth write would be refused.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for ids in ([1], [1]):
        writer = PsoupWriter(target, SCHEMA, overwrite=False)
        told = [WrittenPartition(staged(service, target.stream, *ids))]
        writer.commit(told)
        writer.commit(told)
    commits = [(commit["app"], commit["version"]) for commit in between.commits()]
    assert [1, 1] == stored_numbers(service, target.stream, "id")
    assert (4, 2) == (len(commits), len(set(commits)))
    assert 1 == len({app for app, _ in commits})


def test_streaming_query_is_not_numbered_by_the_user(between):
    """Its checkpoint does that: two numberings would contradict each other."""
    given = {"url": between.url, "stream": "s", "txnAppId": "a", "txnVersion": "1"}
    with pytest.raises(OptionError, match=r"txnVersion.* are for df"):
        PsoupStreamWriter(write_options(given), SCHEMA, overwrite=False)


def test_write_outside_of_a_streaming_task_is_refused():
    """Where Spark does not tell the query, rows could be stored twice: nothing is sent."""
    with pytest.raises(WriteRefusedError, match=r"sql\.streaming\.queryId"):
        micro_batch_of_task()
