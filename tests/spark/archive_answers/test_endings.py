"""How a history ends that is not done: errors that nobody expects, outages, Spark that is gone, time that is over."""

import threading
import uuid
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PythonException

from psoup.client.calls import PsoupClient
from psoup.client.errors import DefinitionError, ServiceProblem, ServiceUnreachableError
from psoup.pipeline.errors import JobFailedError
from psoup.pipeline.spark.archive_answers import claim, computation as computing, parts
from psoup.pipeline.spark.archive_answers.outage import task_client
from psoup.pipeline.spark.jobs import history as job
from psoup.pipeline.spark.launch import job_run as running
from psoup.pipeline.spark.launch.job_run import translated_spark_errors
from psoup.pipeline.spark.launch.requests import HistoryRequest
from psoup.pipeline.spark.options import Connection
from tests.patience import WAIT_S
from tests.spark.archive_answers.archive_world import asked, compute, never
from tests.spark.between import Rule

REFUSED = ConnectionRefusedError(111, "Connection refused")


def state_of(service, handle):
    """Return state and detail of the history of a query."""
    (record,) = (one for one in service.archive_answers() if one["query"] == handle)
    return record["state"], record["detail"]


def raise_once(monkeypatch, error):
    """Let the first history meet an error."""
    real, errors = computing.compute_answer, [error]

    def compute_answer(*given, **named):
        if errors:
            raise errors.pop()
        return real(*given, **named)

    monkeypatch.setattr(job, "compute_answer", compute_answer)


def test_error_that_is_not_expected_fails_its_history_alone(
    spark, psoup_url, service, monkeypatch, caplog
):
    """Its asker reads kind and text, the log has the place, and the history behind it is computed."""
    fails, answered = asked(service, "odd"), asked(service, "even")
    raise_once(monkeypatch, TypeError("half: " + "text " * 1_000))
    told = compute(spark, psoup_url)
    assert [("failed", 0), ("done", 40)] == [(one.state, one.rows) for one in told]
    state, detail = state_of(service, fails)
    assert "failed" == state
    assert "by an unexpected error, TypeError: half: text" in detail
    assert detail.endswith("...")
    (logged,) = (one for one in caplog.records if one.name == "psoup.history")
    assert logged.exc_info is not None
    assert TypeError is logged.exc_info[0]
    assert 40 == service.invoke(answered, history="true")["count"]
    for stream in ("odd", "even"):
        service.drop(stream, cascade=True)


def test_reason_is_text_that_can_be_sent():
    """A path may have half a character, and an error pages of text."""
    assert "half of ?" == job._sendable("half of \udcff")
    assert "a" * 1_000 == job._sendable("a" * 1_000)
    assert "a" * 997 + "..." == job._sendable("a" * 1_001)


def test_job_that_is_interrupted_ends(spark, psoup_url, service, monkeypatch):
    """That is no error of its history."""
    handle = asked(service, "interrupted")
    raise_once(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        compute(spark, psoup_url)
    assert ("running", None) == state_of(service, handle)
    service.drop("interrupted", cascade=True)


def test_job_whose_spark_is_gone_ends_with_its_error(spark, psoup_url, service, monkeypatch):
    """Whatever says so: nothing else can be computed either."""
    handle = asked(service, "without_spark")
    raise_once(monkeypatch, REFUSED)
    with monkeypatch.context() as patch:
        for module in (job, running):
            patch.setattr(module, "is_spark_alive", lambda: False)
        with pytest.raises(JobFailedError, match=r"Spark is gone: .*Connection refused"):
            compute(spark, psoup_url)
    assert ("running", None) == state_of(service, handle)
    service.drop("without_spark", cascade=True)


OUTAGES = {
    "reading": ("GET", "/v1/streams/outage/batches/", None),
    "sending": ("PUT", "/v1/histories/", None),
    "overloaded": ("PUT", "/v1/histories/", 503),
}
SENDING = ("sending", "overloaded")
"""Left as `reading` is, by the same error."""


@pytest.mark.parametrize(
    "outage", ["reading", *(pytest.param(one, marks=pytest.mark.slow) for one in SENDING)]
)
def test_history_whose_tasks_meet_an_outage_is_left(spark, service, between, monkeypatch, outage):
    """As one whose job meets it: its claim lapses, and it is computed once the service is back."""
    method, path, status = OUTAGES[outage]
    monkeypatch.setattr(job, "AWAY_S", 0.5)
    handle = asked(service, "outage")
    if status is None:
        between.rules.append(Rule(method, path, lambda _: None, 1_000))
    else:
        between.refuse(method, path, status, times=1_000, code="overloaded", retryable=True)
    (told,) = compute(spark, between.url)
    assert "left" == told.state
    assert ("503 overloaded" if status else "does not answer") in told.detail
    assert ("running", None) == state_of(service, handle)
    service.drop("outage", cascade=True)


def test_history_that_is_left_again_and_again_fails(spark, service, between, monkeypatch):
    """Its tasks do not reach what its job reaches: the asker reads so, in place of waiting for ever."""
    handle = asked(service, "unreached")
    between.rules.append(Rule("GET", "/v1/streams/unreached/batches/", lambda _: None, 1_000))
    monkeypatch.setattr(job, "AWAY_S", 0.2)
    monkeypatch.setattr(job, "OUTAGES_MAX", 2)
    # A claim lapses after half a minute: let the job claim its own again.
    with monkeypatch.context() as patch:
        patch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=1))
        listed = PsoupClient.archive_answers
        patch.setattr(
            PsoupClient,
            "archive_answers",
            lambda self, **_: [
                one for one in listed(self) if one["query"] == handle and one["state"] != "failed"
            ],
        )
        told = compute(spark, between.url)
    assert ["left", "failed"] == [one.state for one in told]
    state, detail = state_of(service, handle)
    assert "failed" == state
    assert "The job began 2 times" in detail
    service.drop("unreached", cascade=True)


def test_task_tells_an_outage_from_a_refusal():
    """By the kind, which is what Spark's driver sees of it."""
    connection = Connection(url="http://127.0.0.1:9")
    with pytest.raises(ServiceUnreachableError, match="503"), task_client(connection):
        raise ServiceProblem(503, {})
    with pytest.raises(ServiceProblem, match="409"), task_client(connection):
        raise ServiceProblem(409, {})
    text = "Traceback:\npipeline.errors.{}: The service is away.\n\tat org.apache.X"
    for kind, raised in (
        ("ServiceUnreachableError", ServiceUnreachableError),
        ("ServiceProblem", JobFailedError),
    ):
        with pytest.raises(raised, match=r"^The service is away\.$"), translated_spark_errors():
            raise PythonException(text.format(kind))


def test_history_that_takes_too_long_fails(spark, service, between, monkeypatch):
    """Its tasks are cancelled, and its asker reads what to ask instead."""
    is_cancelled = threading.Event()
    real = claim.SparkTasks.cancel

    def cancel(tasks):
        real(tasks)
        is_cancelled.set()

    def sent(forward):
        is_cancelled.wait(WAIT_S)
        return forward()

    monkeypatch.setattr(claim.SparkTasks, "cancel", cancel)
    between.rules.append(Rule("PUT", "/v1/histories/", sent, 1_000))
    handle = asked(service, "endless")
    request = HistoryRequest(available_now=True, url=between.url, at_most="1ms")
    assert 0 == job.history(spark, request, lambda _: None, never).batches
    assert is_cancelled.is_set()
    state, detail = state_of(service, handle)
    assert "failed" == state
    assert "longer than 1ms" in detail
    assert "larger --at-most" in detail
    service.drop("endless", cascade=True)
    with pytest.raises(DefinitionError, match="--at-most is 'long': expected a duration"):
        HistoryRequest(at_most="long")


class OfGoneJvm:
    """Rows, or a context, of a JVM that was killed."""

    def __getattr__(self, _: str) -> Any:
        raise REFUSED

    def persist(self, _):
        return self

    def createOrReplaceTempView(self, _):  # noqa: N802 - Spark's name
        return self


def test_jvm_that_is_gone_is_one_error(monkeypatch):
    """Py4J says so by an error of its own, and by a plain one where it connects once more."""
    monkeypatch.setattr(SparkContext, "_active_spark_context", OfGoneJvm())
    for error in (REFUSED, EOFError(), Py4JNetworkError("Answer from Java side is empty")):
        said = pytest.raises(JobFailedError, match=r"Spark is gone: .*Start the job again")
        with said, translated_spark_errors():
            raise error


def test_jvm_that_is_gone_is_not_told_twice():
    """What was kept there went with it: what is raised stays what said so first."""
    rows: Any = OfGoneJvm()
    with pytest.raises(JobFailedError, match="first"), parts._persisted(rows):
        raise JobFailedError("first")
    with pytest.raises(JobFailedError, match="first"), computing._views({"trades": rows}):
        raise JobFailedError("first")


def test_error_of_a_file_or_a_pipe_is_not_sparks(spark):
    """While Spark answers."""
    assert running.is_spark_alive()
    with pytest.raises(BrokenPipeError), translated_spark_errors():
        raise BrokenPipeError
