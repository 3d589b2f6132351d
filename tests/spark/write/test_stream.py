"""`df.writeStream.format("psoup")`: each row once, whatever is repeated, lost or killed on the way."""

import shutil

import pytest

from tests.spark.between import Answer, Rule
from tests.spark.stored import stored_numbers
from tests.spark.streaming import Job, write_file


@pytest.fixture
def job(spark, between, tmp_path, request):
    """Return a job over three files of ten rows each, into a stream named after the test."""
    one = Job(spark, between.url, request.node.name[:60], tmp_path)
    for number in range(3):
        write_file(one.files, number, 10 * number, 10 * number + 10)
    return one


def test_stream_micro_batches_are_committed_under_query_and_number(job, between, service):
    """One commit a micro-batch, under the id that the checkpoint keeps: what all else stands on."""
    query_id = job.run()
    named = [(commit["app"], commit["version"]) for commit in between.commits()]
    assert [(f"spark:{query_id}", number) for number in range(3)] == named
    assert list(range(30)) == stored_numbers(service, job.stream, "id")


def test_stream_started_again_goes_on(job, between, service):
    """What was written is not written again; a file that came meanwhile is."""
    first = job.run()
    write_file(job.files, 3, 30, 35)
    assert first == job.run()
    assert 4 == len(between.commits())
    assert list(range(35)) == stored_numbers(service, job.stream, "id")


def test_stream_killed_after_the_commit_repeats_it_in_vain(job, between, service):
    """The micro-batch whose end Spark has forgotten is repeated, in other partitions, and not stored again."""
    job.run()
    assert 2 == job.forget_last_commit()
    write_file(job.files, 3, 30, 35)
    job.run(lambda frame: frame.repartition(3))
    assert [0, 1, 2, 2, 3] == [commit["version"] for commit in between.commits()]
    assert 1 < len(between.commits()[3]["stages"])
    assert list(range(35)) == stored_numbers(service, job.stream, "id")


def test_stream_without_its_checkpoint_is_another_job(job, service):
    """Numbers begin anew under another name: nothing is skipped in silence."""
    first = job.run()
    shutil.rmtree(job.checkpoint)
    assert first != job.run()
    twice = sorted(2 * list(range(30)))
    assert twice == stored_numbers(service, job.stream, "id")


def test_stream_whose_source_has_changed_stops(job, service):
    """Other rows under a number that was used are refused, with what that means."""
    job.run()
    job.forget_last_commit()
    write_file(job.files, 2, 500, 510)
    with pytest.raises(Exception, match="Other rows were stored under this version before"):
        job.run()
    assert list(range(30)) == stored_numbers(service, job.stream, "id")


def test_stream_micro_batch_without_rows_sends_nothing(job, between, service):
    """A filter that leaves nothing of a file leaves no commit."""
    job.run(lambda frame: frame.where("id >= 20 OR id < 10"))
    assert [0, 2] == [commit["version"] for commit in between.commits()]
    assert [*range(10), *range(20, 30)] == stored_numbers(service, job.stream, "id")


def test_stream_waits_for_an_overloaded_service(job, between, service):
    """Told to come later, it comes later: with a part, and with a commit."""
    between.refuse("POST", "/v1/streams/", 503, times=1, code="overloaded", retryable=True)
    between.refuse("POST", "/v1/commits", 429, times=1, code="quota-exceeded", retryable=True)
    job.run()
    assert [0, 0, 1, 2] == [commit["version"] for commit in between.commits()]
    assert list(range(30)) == stored_numbers(service, job.stream, "id")


def test_stream_whose_patience_ends_fails_the_micro_batch(job, between, service):
    """Past `retrySeconds` the query fails with the service's reason; started again, it goes on."""
    job.options["retrySeconds"] = "0"
    between.refuse("POST", "/v1/commits", 503, times=1, code="overloaded", detail="too much")
    with pytest.raises(Exception, match="503 overloaded: too much"):
        job.run()
    assert 1 == between.count("DELETE", "/v1/stages/")
    job.run()
    assert list(range(30)) == stored_numbers(service, job.stream, "id")


def test_stream_whose_answer_was_lost_commits_once(job, between, service):
    """The commit is carried out, its answer is not: sent again, it is a duplicate."""
    between.lose_answer("POST", "/v1/commits")
    job.run()
    assert [0, 0, 1, 2] == [commit["version"] for commit in between.commits()]
    assert list(range(30)) == stored_numbers(service, job.stream, "id")


def test_stream_abort_after_a_commit_undoes_nothing(job, between, service):
    """Spark aborts a micro-batch whose commit seems to have failed, although it had not."""

    def carried_out_and_refused(forward):
        assert 200 == forward().status
        return Answer(400, b'{"status": 400, "code": "lost"}')

    between.rules.append(Rule("POST", "/v1/commits", carried_out_and_refused))
    with pytest.raises(Exception, match="400 lost"):
        job.run()
    assert 1 == between.count("DELETE", "/v1/stages/")
    assert list(range(10)) == stored_numbers(service, job.stream, "id")
    job.run()
    assert list(range(30)) == stored_numbers(service, job.stream, "id")


def test_stream_declared_otherwise_meanwhile_stops_the_query(job, service):
    """A job that was right until yesterday is told what has changed."""
    job.run()
    service.drop(job.stream)
    service.declare(job.stream, {"columns": [{"name": "id", "type": "float64"}]})
    write_file(job.files, 3, 30, 35)
    with pytest.raises(Exception, match="id: in Spark bigint, in the stream float64"):
        job.run()


def test_stream_output_mode_complete_is_refused(spark, between, tmp_path):
    """Only what is new can be written: a stream only grows."""
    frame = spark.readStream.format("rate").load().groupBy().count()
    written = frame.writeStream.format("psoup").outputMode("complete")
    written = written.options(url=between.url, stream="whole", createStream="true")
    query = written.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    with pytest.raises(Exception, match=r"only grows|outputMode"):
        query.awaitTermination(60)
