"""`history`: answers that reach past memory, computed as they are asked for, one after the other.

The service keeps what is asked and what was answered; this claims the oldest that nobody computes, has Spark compute
it, and goes on with the next. A worker that dies leaves a claim that lapses, and another one begins anew.
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

from psoup.engine.limits import HISTORY_DETAIL_LENGTH_MAX
from psoup.pipeline.client import JsonObject, PsoupClient, RetryPolicy
from psoup.pipeline.errors import (
    JobFailedError,
    PipelineError,
    ServiceProblem,
    ServiceUnreachableError,
)
from psoup.pipeline.spark.archive_answers.claim import LOOK_S, LOST, Claim, SparkTasks
from psoup.pipeline.spark.archive_answers.computation import Computed, Places, computed
from psoup.pipeline.spark.launch.job_run import JobEnd, Stop, can_go_on, spark_errors_told
from psoup.pipeline.spark.launch.requests import HistoryRequest, archive_places, seconds_of
from psoup.pipeline.spark.launch.spark_submit import run_alone
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.sql.standing_query import agreeing
from psoup.pipeline.wording import counted

EVERY_S: Final = 2.0
"""Between two looks at what is asked for."""
AWAY_S: Final = 10.0
"""How long a service that is away is waited for at a time, by the job, which is told to end in between, and by tasks:
a history that is left is begun anew as soon as its claim has lapsed."""
OUTAGES_MAX: Final = 5
"""So often one worker begins a history and meets an outage; then it fails: what is away for its tasks stays away."""

_LOG = logging.getLogger("psoup.history")

HistoryState = Literal["running", "done", "failed", "left"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryProgress:
    """What became of a history so far.

    Attributes:
        history: its handle.
        state: `left` = it was another worker's or gone before it was done, the service was away, or all is to end.
        seq: the position that is answered for.
        done, of: tasks of Spark that are done, and that it knows of; while it is running.
        rows: of the answer, once it is done.
        seconds: since it was claimed.
        detail: why it failed, or from when on it is complete where it is not complete.
    """

    history: str
    state: HistoryState
    seq: int
    done: int = 0
    of: int = 0
    rows: int = 0
    seconds: float = 0.0
    detail: str = ""


Report = Callable[[HistoryProgress], None]


def history(spark: SparkSession, request: HistoryRequest, report: Report, stop: Stop) -> JobEnd:
    """Answer histories until `stop` says so, or all that are asked for are; return how many rows and answers.

    A history that cannot be computed fails, with the reason for its asker, and the job goes on.

    Raises:
        PipelineError: the service does not answer at the first look, or refuses to be asked.
    """
    worker = _Worker(agreeing(spark), request, report, stop)
    rows = answers = 0
    with _service(request) as service:
        for record in _asked(service, request, stop):
            counted = worker.answer(service, record)
            if counted is not None:
                rows, answers = rows + counted, answers + 1
    return JobEnd(rows=rows, batches=answers, stopped=stop())


def line_of(told: HistoryProgress) -> str:
    """Return what became of a history as one line of text; none while it is running."""
    if told.state == "running":
        return ""
    detail = f": {told.detail}" if told.detail else ""
    rows = f"{counted(told.rows, 'row')}, " if told.state == "done" else ""
    return f"{told.history}: {told.state}, {rows}{told.seconds:,.1f} s, seq {told.seq:,}{detail}"


class _Worker:
    """Answers one history after the other."""

    def __init__(
        self, spark: SparkSession, request: HistoryRequest, report: Report, stop: Stop
    ) -> None:
        folder, by_stream = archive_places(request.archive)
        self._spark = spark
        self._request = request
        self._report = report
        self._stop = stop
        self._places = Places(by_stream, folder)
        self._connection = Connection(url=request.url, token=request.token, retry_s=AWAY_S)
        self._at_most_s = seconds_of(request.at_most, option="--at-most")
        self._outages = Counter[str]()
        """How often in a row the work on each history that is not ended met an outage."""

    def answer(self, service: PsoupClient, record: JsonObject) -> int | None:
        """Claim a history, compute it and say so; return the rows of its answer, None where there is none.

        Raises:
            PipelineError: Spark is gone, or the service refuses to be told.
        """
        name, worker = str(record["id"]), uuid.uuid4().hex
        told = HistoryProgress(history=name, state="running", seq=int(record["seq"]))
        began_s = time.monotonic()

        def tell(state: HistoryState, detail: str = "", rows: int = 0) -> None:
            seconds = time.monotonic() - began_s
            self._report(replace(told, state=state, rows=rows, seconds=seconds, detail=detail))

        tasks = SparkTasks(self._spark, name)
        claim = Claim(
            self._open_service,
            name,
            worker,
            tasks=tasks,
            stop=self._stop,
            at_most_s=self._at_most_s,
            report=lambda done, of: self._report(replace(told, done=done, of=of)),
        )
        try:
            service.claim_archive_answer(name, worker)
            with self._outages_counted(name), spark_errors_told(), tasks, claim:
                found = self._computed(service, record, worker)
        except Exception as error:  # whatever it is, the histories behind this one wait
            is_later = _is_away(error) and self._outages[name] < OUTAGES_MAX
            if claim.is_lost or self._stop() or _is_over(error) or is_later:
                tell("left", "" if self._stop() else str(error))
                return None
            if not can_go_on():
                raise
            reason = self._reason(error, name, is_overdue=claim.is_overdue)
            was_told = self._give_up(service, name, worker, reason)
            if was_told:
                del self._outages[name]
            tell("failed" if was_told else "left", reason)
            return None
        complete_from = found.complete_from
        detail = "" if complete_from is None else f"complete from {complete_from}"
        tell("done", detail, found.parts.rows)
        return found.parts.rows

    def _computed(self, service: PsoupClient, record: JsonObject, worker: str) -> Computed:
        """Compute the answer, send it, and say that it is done."""
        found = computed(
            self._spark,
            service,
            self._connection,
            record,
            worker=worker,
            places=self._places,
        )
        service.finish_archive_answer(
            str(record["id"]),
            worker,
            parts=found.parts.parts,
            rows=found.parts.rows,
            complete_from=found.complete_from,
        )
        return found

    @contextmanager
    def _outages_counted(self, name: str) -> Iterator[None]:
        """Count one more where the work on a history ends by an outage, and forget them all where it does not."""
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
        """Return why a history fails, for its asker: whatever is not meant to be read goes to the log."""
        if is_overdue and isinstance(error, JobFailedError):  # Spark's word for being cancelled
            return (
                f"It took longer than {self._request.at_most}, which is the most that the job gives one. Ask for less:"
                " a narrower window, streams that are joined by equality or by a band of time; or start the job with a"
                " larger --at-most."
            )
        if _is_away(error):
            return (
                f"Begun {OUTAGES_MAX} times, and each time the service was away for it, most likely for the tasks of"
                f" Spark alone: the job's --url has to be one that executors reach. The last time: {error}"
            )
        if isinstance(error, PipelineError):
            return str(error) or error.code
        _LOG.error("history %s failed by an error that is not expected", name, exc_info=error)
        return (
            f"The job failed by an error that it does not expect, {type(error).__name__}: {error}. Where that is, the"
            " log of the job says: mend it, and ask again."
        )

    def _give_up(self, service: PsoupClient, name: str, worker: str, reason: str) -> bool:
        """Tell the asker why there is no answer; return False where the history is another worker's by now."""
        try:
            service.fail_archive_answer(name, worker, _sendable(reason))
        except PipelineError as error:
            if not (_is_over(error) or _is_away(error)):
                raise
            return False
        return True

    def _open_service(self) -> PsoupClient:
        return _service(self._request)


def _sendable(reason: str) -> str:
    """Return a reason as long as it may be, and without what is no character: paths may have half of one."""
    text = reason.encode(errors="replace").decode()
    most = HISTORY_DETAIL_LENGTH_MAX
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _is_over(error: Exception) -> bool:
    """Return whether the service says that a history is not, or no longer, this worker's."""
    return isinstance(error, ServiceProblem) and error.problem in LOST


def _is_away(error: Exception) -> bool:
    """Return whether the service could not be asked, or not now."""
    if isinstance(error, ServiceProblem):
        return error.retryable
    return isinstance(error, ServiceUnreachableError)


def _asked(service: PsoupClient, request: HistoryRequest, stop: Stop) -> Iterator[JsonObject]:
    """Yield the record of the oldest history that nobody computes, as often as there is one, until `stop` says so."""
    every_s = EVERY_S if request.every is None else seconds_of(request.every)
    pause = threading.Event()
    has_answered = False
    while not stop():
        try:
            waiting = service.archive_answers(state="queued")
            has_answered = True
        except PipelineError as error:
            if request.available_now or not (has_answered and _is_away(error)):
                raise
            waiting = []
        if waiting:
            yield waiting[0]
        elif request.available_now:
            return
        else:
            again_s = time.monotonic() + every_s
            while not stop() and (left_s := again_s - time.monotonic()) > 0:
                pause.wait(min(left_s, LOOK_S))


def _service(request: HistoryRequest) -> PsoupClient:
    return PsoupClient(request.url, token=request.token, retry=RetryPolicy(budget_s=AWAY_S))


if __name__ == "__main__":
    run_alone(HistoryRequest, history, line=line_of, done="answer")
