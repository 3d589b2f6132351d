"""`history`: computes archive answers, which reach past memory, one after another as they are asked for.

The service keeps the requests and the answers. The job claims the oldest archive answer that no worker computes, has
Spark compute it, and goes on with the next. The claim of a worker that dies lapses, and another worker starts over.
"""

import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Literal

from pyspark.sql import SparkSession

from psoup.client.calls import JsonObject, PsoupClient, RetryPolicy
from psoup.client.errors import PsoupError, ServiceProblem, ServiceUnreachableError
from psoup.engine.limits import HISTORY_DETAIL_LENGTH_MAX
from psoup.pipeline.errors import JobFailedError
from psoup.pipeline.spark.archive_answers.claim import LOST, POLL_S, Claim, SparkTasks
from psoup.pipeline.spark.archive_answers.computation import (
    ArchivePaths,
    SentAnswer,
    compute_answer,
)
from psoup.pipeline.spark.launch.job_run import (
    JobEnd,
    Stop,
    is_spark_alive,
    translated_spark_errors,
)
from psoup.pipeline.spark.launch.requests import HistoryRequest, archive_paths, seconds_of
from psoup.pipeline.spark.launch.spark_submit import run_as_program
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.sql.standing_query import agreeing
from psoup.pipeline.wording import counted

EVERY_S: Final = 2.0
"""Between two requests for queued archive answers."""
AWAY_S: Final = 10.0
"""How long one request of the job or of a task is repeated while the service is away. The job can stop in between;
an archive answer that it leaves is computed anew once its claim has lapsed."""
OUTAGES_MAX: Final = 5
"""Outages in a row after which an archive answer fails: its tasks, most likely, cannot reach the service at all."""

_LOG = logging.getLogger("psoup.history")

AnswerState = Literal["running", "done", "failed", "left"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveAnswerProgress:
    """The progress of an archive answer.

    Attributes:
        history: its handle.
        state: `left`: the claim was lost, the answer is gone, the service was away, or the job is to stop.
        seq: the position that it is computed for.
        done, of: Spark tasks that have finished, and that Spark knows; while it is running.
        rows: of the answer, once it is done.
        seconds: since it was claimed.
        detail: why it failed, or the instant from which an incomplete answer is complete.
    """

    history: str
    state: AnswerState
    seq: int
    done: int = 0
    of: int = 0
    rows: int = 0
    seconds: float = 0.0
    detail: str = ""


Report = Callable[[ArchiveAnswerProgress], None]


def history(spark: SparkSession, request: HistoryRequest, report: Report, stop: Stop) -> JobEnd:
    """Compute archive answers until `stop` returns True or none is queued; return the totals of rows and answers.

    An answer that cannot be computed fails, its reader is shown the reason, and the job goes on.

    Raises:
        PsoupError: the service does not answer the first request, or refuses it.
    """
    worker = _Worker(agreeing(spark), request, report, stop)
    rows = answers = 0
    with _service(request) as service:
        for record in _queued(service, request, stop):
            answer_rows = worker.answer(service, record)
            if answer_rows is not None:
                rows, answers = rows + answer_rows, answers + 1
    return JobEnd(rows=rows, batches=answers, stopped=stop())


def line_of(progress: ArchiveAnswerProgress) -> str:
    """Return the progress of an archive answer as one line of text; empty while it is running."""
    if progress.state == "running":
        return ""
    detail = f": {progress.detail}" if progress.detail else ""
    rows = f"{counted(progress.rows, 'row')}, " if progress.state == "done" else ""
    return f"{progress.history}: {progress.state}, {rows}{progress.seconds:,.1f} s, seq {progress.seq:,}{detail}"


class _Worker:
    """Computes one archive answer after another."""

    def __init__(
        self, spark: SparkSession, request: HistoryRequest, report: Report, stop: Stop
    ) -> None:
        folder, by_stream = archive_paths(request.archive)
        self._spark = spark
        self._request = request
        self._report = report
        self._stop = stop
        self._paths = ArchivePaths(by_stream, folder)
        self._connection = Connection(url=request.url, token=request.token, retry_s=AWAY_S)
        self._at_most_s = seconds_of(request.at_most, option="--at-most")
        self._outages = Counter[str]()
        """Outages in a row that the computation of each unfinished answer met, by its handle."""

    def answer(self, service: PsoupClient, record: JsonObject) -> int | None:
        """Claim an archive answer, compute and finish it; return its number of rows, None: it failed or was left.

        Raises:
            PsoupError: Spark is gone, or the service refuses the report.
        """
        name, worker = str(record["id"]), uuid.uuid4().hex
        progress = ArchiveAnswerProgress(history=name, state="running", seq=int(record["seq"]))
        began_s = time.monotonic()

        def report(state: AnswerState, detail: str = "", rows: int = 0) -> None:
            seconds = time.monotonic() - began_s
            self._report(replace(progress, state=state, rows=rows, seconds=seconds, detail=detail))

        tasks = SparkTasks(self._spark, name)
        claim = Claim(
            self._open_client,
            name,
            worker,
            tasks=tasks,
            stop=self._stop,
            at_most_s=self._at_most_s,
            report=lambda done, of: self._report(replace(progress, done=done, of=of)),
        )
        try:
            service.claim_archive_answer(name, worker)
            with self._outages_counted(name), translated_spark_errors(), tasks, claim:
                sent = self._compute(service, record, worker)
        except (
            Exception
        ) as error:  # of any kind: the answers queued behind this one must not wait for ever
            is_later = _is_away(error) and self._outages[name] < OUTAGES_MAX
            if claim.is_lost or self._stop() or _is_over(error) or is_later:
                report("left", "" if self._stop() else str(error))
                return None
            if not is_spark_alive():
                raise
            reason = self._reason(error, name, is_overdue=claim.is_overdue)
            is_failed = self._give_up(service, name, worker, reason)
            if is_failed:
                del self._outages[name]
            report("failed" if is_failed else "left", reason)
            return None
        complete_from = sent.complete_from
        detail = "" if complete_from is None else f"complete from {complete_from}"
        report("done", detail, sent.parts.rows)
        return sent.parts.rows

    def _compute(self, service: PsoupClient, record: JsonObject, worker: str) -> SentAnswer:
        """Compute the answer, send it, and finish it."""
        sent = compute_answer(
            self._spark,
            service,
            self._connection,
            record,
            worker=worker,
            paths=self._paths,
        )
        service.finish_archive_answer(
            str(record["id"]),
            worker,
            parts=sent.parts.parts,
            rows=sent.parts.rows,
            complete_from=sent.complete_from,
            overflowed=sent.overflowed,
        )
        return sent

    @contextmanager
    def _outages_counted(self, name: str) -> Iterator[None]:
        """Count an outage that ends the computation of an answer; any other end resets the count."""
        try:
            yield
        except Exception as error:
            if _is_away(error):
                self._outages[name] += 1
            else:
                del self._outages[name]
            raise
        del self._outages[name]

    def _reason(self, error: Exception, name: str, *, is_overdue: bool) -> str:
        """Return why an archive answer fails, as its reader is shown it. An unexpected error also goes to the log."""
        if is_overdue and isinstance(error, JobFailedError):  # raised when Spark jobs are cancelled
            return (
                f"The computation took longer than {self._request.at_most}, the limit of the job. Ask for less: a narrower"
                " window, streams that are joined by equality or by a band of time. Or start the job with a larger"
                " --at-most."
            )
        if _is_away(error):
            return (
                f"The job began {OUTAGES_MAX} times, and each time the service did not answer, most likely the tasks of Spark"
                f" alone: the job's --url has to be one that executors reach. The last error: {error}"
            )
        if isinstance(error, PsoupError):
            return str(error) or error.code
        _LOG.error("archive answer %s failed by an unexpected error", name, exc_info=error)
        return (
            f"The job failed by an unexpected error, {type(error).__name__}: {error}. The log of the job has its traceback:"
            " remove the cause, and ask again."
        )

    def _give_up(self, service: PsoupClient, name: str, worker: str, reason: str) -> bool:
        """Report that an archive answer failed; return False if the claim is lost or the service is away."""
        try:
            service.fail_archive_answer(name, worker, _sendable(reason))
        except PsoupError as error:
            if not (_is_over(error) or _is_away(error)):
                raise
            return False
        return True

    def _open_client(self) -> PsoupClient:
        return _service(self._request)


def _sendable(reason: str) -> str:
    """Return a reason of the allowed length, without unpaired surrogates, which paths may have."""
    text = reason.encode(errors="replace").decode()
    most = HISTORY_DETAIL_LENGTH_MAX
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _is_over(error: Exception) -> bool:
    """Return whether the service says that this worker does not have the claim."""
    return isinstance(error, ServiceProblem) and error.problem in LOST


def _is_away(error: Exception) -> bool:
    """Return whether the service did not answer, or refused only for now."""
    if isinstance(error, ServiceProblem):
        return error.retryable
    return isinstance(error, ServiceUnreachableError)


def _queued(service: PsoupClient, request: HistoryRequest, stop: Stop) -> Iterator[JsonObject]:
    """Yield the record of the oldest queued archive answer, again and again until `stop` returns True."""
    every_s = EVERY_S if request.every is None else seconds_of(request.every)
    pause = threading.Event()
    has_answered = False
    while not stop():
        try:
            queued = service.archive_answers(state="queued")
            has_answered = True
        except PsoupError as error:
            if request.available_now or not (has_answered and _is_away(error)):
                raise
            queued = []
        if queued:
            yield queued[0]
        elif request.available_now:
            return
        else:
            again_s = time.monotonic() + every_s
            while not stop() and (left_s := again_s - time.monotonic()) > 0:
                pause.wait(min(left_s, POLL_S))


def _service(request: HistoryRequest) -> PsoupClient:
    return PsoupClient(request.url, token=request.token, retry=RetryPolicy(budget_s=AWAY_S))


if __name__ == "__main__":
    run_as_program(HistoryRequest, history, line=line_of, done="answer")
