"""The job around a history: what it claims, how it ends, and what becomes of its claim."""

import dataclasses
import itertools
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from psoup.client.calls import PsoupClient
from psoup.client.connections.messages import Request
from psoup.client.errors import DefinitionError, ServiceProblem, ServiceUnreachableError
from psoup.pipeline.errors import JobFailedError
from psoup.pipeline.spark.archive_answers import claim, computation as computing, parts
from psoup.pipeline.spark.archive_answers.archive_note import read_note, write_note
from psoup.pipeline.spark.archive_answers.archive_query import instant_us
from psoup.pipeline.spark.jobs import history as job
from psoup.pipeline.spark.jobs.history import ArchiveAnswerProgress, line_of
from psoup.pipeline.spark.launch.requests import HistoryRequest, archive_paths
from tests.patience import WAIT_S
from tests.spark.archive_answers.archive_world import archive_of, asked, compute, never
from tests.spark.between import Answer, Rule

HOUR_US = 3_600_000_000


def state_of(service, handle):
    """Return the record of the history of a query, as the computing side sees it."""
    (record,) = (one for one in service.archive_answers() if one["query"] == handle)
    return record


def test_history_of_a_stream_without_time_or_archive_is_read_from_the_log(
    spark, psoup_url, service
):
    """Tuples are dated by their arrival; the log reaches back to the first of them."""
    columns = [{"name": "n", "type": "int64"}]
    service.declare("pings", {"columns": columns, "retention": {"rows": 3}})
    for n in range(4):
        body = b"".join(b'{"n": %d}\n' % one for one in range(10 * n, 10 * n + 10))
        service.append("pings", body, content_type="application/x-ndjson")
    sql = "SELECT n FROM pings WHERE n % 2 = 0 BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)"
    handle = service.register(sql)["id"]
    assert service.invoke(handle)["complete_from"] is not None
    service.invoke(handle, history="true")
    assert [20] == [one.rows for one in compute(spark, psoup_url)]
    found = service.invoke(handle, history="true")
    assert (list(range(0, 40, 2)), None) == (
        [row["n"] for row in found["rows"]],
        found["complete_from"],
    )
    leaving = [instant_us(row["_x"]) for row in found["rows"]]
    arrived = [instant_us(one) for one in arrivals(service, "pings") for _ in range(5)]
    assert [one + HOUR_US + 1 for one in arrived] == leaving
    service.drop("pings", cascade=True)


def arrivals(service, stream):
    """Return when each batch came."""
    import pyarrow as pa

    for one in service.batches(stream):
        with pa.ipc.open_stream(service.batch(stream, one["seq"])) as reader:
            yield f"{reader.read_all()['_arrival'][0].as_py():%Y-%m-%dT%H:%M:%S.%fZ}"


def test_history_that_cannot_be_computed_fails_with_what_to_do(spark, psoup_url, service, tmp_path):
    """Its asker reads it; the job goes on with the next."""
    fails, answered = asked(service, "of_another"), asked(service, "of_this")
    archive_of(spark, psoup_url, "of_another", tmp_path)
    path = str(tmp_path / "of_another")
    note = read_note(spark, path)
    assert note is not None
    write_note(spark, path, dataclasses.replace(note, gen=note.gen - 1, number=note.number + 1))
    told = compute(spark, psoup_url, f"of_another={path}")
    assert [("failed", 0), ("done", 40)] == [(one.state, one.rows) for one in told]
    with pytest.raises(ServiceProblem, match=r"archive .*of_another is of generation") as caught:
        service.invoke(fails, history="true")
    assert "history-failed" == caught.value.problem
    assert told[0].detail in str(caught.value)
    assert 40 == service.invoke(answered, history="true")["count"]

    service.request(Request(method="DELETE", path=f"/v1/histories/{told[0].history}"))
    write_note(spark, path, dataclasses.replace(note, number=note.number + 2))
    next(tmp_path.glob("of_another/day=*/*.parquet")).unlink()
    service.invoke(fails, history="true")
    (broken,) = compute(spark, psoup_url, f"of_another={path}")
    assert "failed" == broken.state
    assert "parquet" in broken.detail
    assert "\tat " not in broken.detail
    for stream in ("of_another", "of_this"):
        service.drop(stream, cascade=True)


def test_claim_that_is_lost_ends_the_work(spark, service, between, monkeypatch):
    """Spark is told to stop, nothing is said of the history, which is another worker's, and the job goes on."""
    handle = asked(service, "taken")
    taken = {"status": 409, "code": "history-taken", "retryable": False}
    is_refused = threading.Event()

    def claimed_once(forward):
        monkeypatch.setattr(claim, "RENEW_S", 0.0)
        between.refuse("POST", "/v1/histories/", times=1_000, **taken)
        return forward()

    def sent(forward):
        deadline = time.monotonic() + WAIT_S
        while between.count("POST", "/v1/histories/") < 2 and time.monotonic() < deadline:
            is_refused.wait(0.05)
        is_refused.wait(claim.POLL_S * 2)
        return forward()

    between.rules.append(Rule("POST", "/v1/histories/", claimed_once))
    between.rules.append(Rule("PUT", "/v1/histories/", sent, 1_000))
    told = compute(spark, between.url)
    assert ["left"] == [one.state for one in told]
    record = state_of(service, handle)
    assert ("running", None) == (record["state"], record["detail"])
    service.drop("taken", cascade=True)
    assert [] == service.archive_answers()


def test_job_told_to_stop_leaves_its_history_to_another(spark, service, between):
    """It neither fails nor is done: its claim lapses."""
    handle = asked(service, "stopped")
    is_stopped = threading.Event()

    def stop_then(forward):
        is_stopped.set()
        threading.Event().wait(claim.POLL_S * 3)
        return forward()

    between.rules.append(Rule("PUT", "/v1/histories/", stop_then))
    told = compute(spark, between.url, stop=is_stopped.is_set)
    assert [("left", "")] == [(one.state, one.detail) for one in told]
    assert "running" == state_of(service, handle)["state"]
    service.drop("stopped", cascade=True)


def test_parts_that_are_sent_again_change_nothing(spark, service, between, monkeypatch):
    """A task that fails amid its parts is repeated, and sends the same under the same numbers."""
    monkeypatch.setattr(parts, "PARTITION_ROWS", 20)
    monkeypatch.setattr(parts, "PART_ROWS_MAX", 4)
    handle = asked(service, "repeated")
    sent = itertools.count()

    def break_the_fifth(forward):
        refusal = json.dumps({"status": 422, "code": "broken", "retryable": False}).encode()
        return Answer(422, refusal) if next(sent) == 4 else forward()

    between.rules.append(Rule("PUT", "/v1/histories/", break_the_fifth, 1_000))
    assert [("done", 40)] == [(one.state, one.rows) for one in compute(spark, between.url)]
    statuses = [one.status for one in between.passed if one.method == "PUT"]
    assert 1 == statuses.count(422)
    found = service.invoke(handle, history="true")
    ids = [int(row["_id"]) for row in found["rows"]]
    assert list(range(ids[0], ids[0] + 40)) == ids
    service.drop("repeated", cascade=True)


def test_tuples_that_were_archived_meanwhile_are_looked_for_again(
    spark, psoup_url, service, monkeypatch
):
    """A batch that went between the look and the read is in the archive by then: the second look finds it there."""
    asked(service, "overtaken")
    answers, tries = [True, False], list[int]()
    monkeypatch.setattr(computing, "is_gone", lambda *_: answers[len(tries) - 1])
    real = parts.send_parts

    def broken_once(*given, **named):
        tries.append(1)
        if len(tries) == 1:
            raise JobFailedError("The batch at position 5 is gone.")
        return real(*given, **named)

    monkeypatch.setattr(computing, "send_parts", broken_once)
    assert [("done", 40)] == [(one.state, one.rows) for one in compute(spark, psoup_url)]
    service.drop("overtaken", cascade=True)

    asked(service, "broken")
    tries.clear()
    answers[0] = False
    (told,) = compute(spark, psoup_url)
    assert ("failed", "The batch at position 5 is gone.") == (told.state, told.detail)
    service.drop("broken", cascade=True)


def test_job_without_a_service_says_so_at_once(spark):
    """A wrong address is told at the first look; afterwards the job waits for a service that is away."""
    request = HistoryRequest(url="http://127.0.0.1:9")
    with pytest.raises(ServiceUnreachableError):
        job.history(spark, request, lambda _: None, never)


def test_job_waits_for_a_service_that_is_away(monkeypatch):
    """It has answered before: it is looked for again until the job is told to stop."""
    answers: Iterator[Any] = iter(
        [[], ServiceUnreachableError("away"), ServiceProblem(503, {}), [{"id": "h_1"}]]
    )

    class Shelf(PsoupClient):
        def archive_answers(self, *, state=None):
            assert state == "queued"
            found = next(answers)
            if isinstance(found, Exception):
                raise found
            return found

    request = HistoryRequest(every="1ms")
    with Shelf("http://127.0.0.1:9") as shelf:
        assert {"id": "h_1"} == next(job._queued(shelf, request, never))
        answers = iter([ServiceProblem(403, {"code": "scope-missing"})])
        with pytest.raises(ServiceProblem, match="scope-missing"):
            next(job._queued(shelf, request, never))


def test_archives_are_named_by_stream_or_by_the_folder_of_all():
    """As often as need be; two folders for the same are refused, an address with a sign in it is a folder."""
    assert (None, {}) == archive_paths(None)
    assert ("a", {"trades": "b=c"}) == archive_paths(["a", "trades=b=c", "a"])
    assert ("s3://b/x=1", {}) == archive_paths(["s3://b/x=1"])
    for given in (["a", "b"], ["t=a", "t=b"], ["t="], [""]):
        with pytest.raises(DefinitionError, match="--archive"):
            HistoryRequest(archive=given)
    with pytest.raises(DefinitionError, match="exclude each other"):
        HistoryRequest(every="2s", available_now=True)
    with pytest.raises(DefinitionError, match="expected a duration"):
        HistoryRequest(every="soon")
    places = computing.ArchivePaths({"trades": "elsewhere"}, "all")
    assert ("elsewhere", False) == places.of("trades")
    assert ("all/quotes", True) == places.of("quotes")
    assert (None, False) == computing.ArchivePaths({}).of("trades")


def test_lines_say_what_became_of_a_history():
    """One that is running has none: it is on the bar."""
    told = ArchiveAnswerProgress(history="h_1", state="running", seq=1_000, done=1, of=3)
    assert "" == line_of(told)
    done = ArchiveAnswerProgress(history="h_1", state="done", seq=1_000, rows=2_000, seconds=1.25)
    assert "h_1: done, 2,000 rows, 1.2 s, seq 1,000" == line_of(done)
    failed = ArchiveAnswerProgress(history="h_1", state="failed", seq=7, detail="why")
    assert "h_1: failed, 0.0 s, seq 7: why" == line_of(failed)
