"""A running job: its progress by micro-batch, its end, and Spark's errors as errors of this package."""

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from psoup.client.calls import PsoupClient
from psoup.client.errors import PsoupError, ServiceUnreachableError
from psoup.pipeline.errors import JobFailedError
from psoup.pipeline.spark.launch.requests import (
    ArchiveRequest,
    BackfillRequest,
    HistoryRequest,
    IngestRequest,
)
from psoup.pipeline.spark.quiet_session import open_quiet_session
from psoup.pipeline.spark.session import close_session, open_session

POLL_S: Final = 1
"""Seconds between two looks at the progress of a query."""
_RAISED: Final = re.compile(
    r"^(?!org\.|java\.|py4j\.|pyspark\.)(?:\w+\.)*(\w+(?:Error|Problem|Exception)): ", re.M
)
"""The beginning of an error message that Python raised, in this package or another."""
_MESSAGE_ENDS: Final = re.compile(r"\s*(?:SQLSTATE: |\n\s*at |\n\n|\nTraceback|\Z)")
_STREAM_FAILED: Final = re.compile(r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """Progress of a job: `rows` and `rows_per_s` of one micro-batch, the others since the job began.

    Attributes:
        batch: Spark's number of the micro-batch, which continues that of the checkpoint.
        rows, rows_per_s: of this micro-batch.
        rows_all, batches: totals of this run.
        seq: the service's position after the micro-batch; None: the key may not read it.
        bytes_done, bytes_all: sizes of files, without files of earlier runs; 0: the job reads no files.
    """

    batch: int
    rows: int
    rows_per_s: float
    rows_all: int
    batches: int
    seq: int | None
    bytes_done: int = 0
    bytes_all: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """Totals of a job that has ended: rows, and micro-batches or answers; `stopped`: it was asked to stop."""

    rows: int
    batches: int
    stopped: bool


Report = Callable[[JobProgress], None]
Stop = Callable[[], bool]
P = TypeVar("P")
R = TypeVar("R", IngestRequest, BackfillRequest, ArchiveRequest, HistoryRequest)
Job = Callable[[SparkSession, R, Callable[[P], None], Stop], JobEnd]
"""The function of a job: takes session, request, a callback for progress, and whether to stop; returns the totals."""


class ProgressCounter:
    """Counts rows and micro-batches, and reports a `JobProgress` with the service's position for each."""

    def __init__(self, service: PsoupClient, report: Report, *, bytes_all: int = 0) -> None:
        """Begin at zero."""
        self._service = service
        self._report = report
        self._bytes_all = bytes_all
        self._bytes_done = 0
        self._rows = 0
        self._last_batch = -1
        self._batches = 0

    def add(self, batch: int, rows: int, *, seconds: float, nbytes: int = 0) -> None:
        """Count the rows of micro-batch `batch`, or of a part of it, and report the progress."""
        self._batches += batch != self._last_batch
        self._last_batch = batch
        self._rows += rows
        self._bytes_done += nbytes
        self._report(
            JobProgress(
                batch=batch,
                rows=rows,
                rows_per_s=rows / seconds if seconds > 0 else 0.0,
                rows_all=self._rows,
                batches=self._batches,
                seq=_position(self._service),
                bytes_done=self._bytes_done,
                bytes_all=self._bytes_all,
            )
        )

    def end(self, *, stopped: bool) -> JobEnd:
        """Return the totals."""
        return JobEnd(rows=self._rows, batches=self._batches, stopped=stopped)


def run_job(job: Job[R, P], request: R, report: Callable[[P], None], *, quiet: bool) -> JobEnd:
    """Run a job in a Spark session of its own; return its totals.

    The first Ctrl-C or SIGTERM asks the job to stop.

    Args:
        job: its function.
        request: its options.
        report: called with the progress of each micro-batch, or part of one, or archive answer.
        quiet: whether Spark's own log is suppressed; the error says why a job failed.

    Raises:
        PsoupError: of any kind.
    """
    start = open_quiet_session if quiet else open_session
    spark = start(f"psoup {request.subject}", master=request.master)
    try:
        with stop_on_signal() as stop, translated_spark_errors():
            return job(spark, request, report, stop)
    finally:
        close_session(spark)


def follow_query(query: StreamingQuery, progress: ProgressCounter, stop: Stop) -> JobEnd:
    """Report each micro-batch with rows until the query ends, fails or `stop` returns True; return the totals.

    Raises:
        JobFailedError: Spark or a task failed; has its last message.
    """
    reported = -1

    def report() -> None:
        nonlocal reported
        for batch in query.recentProgress:
            if batch["batchId"] > reported and batch["numInputRows"]:
                reported = batch["batchId"]
                progress.add(
                    reported, batch["numInputRows"], seconds=batch["batchDuration"] / 1_000
                )

    try:
        stopped = wait_until_ended(query, stop, report)
    except JobFailedError:
        if is_spark_alive():
            report()  # what was written before it failed counts
        raise
    report()
    return progress.end(stopped=stopped)


def wait_until_ended(query: StreamingQuery, stop: Stop, poll: Callable[[], None]) -> bool:
    """Wait until a query ends or `stop` returns True, calling `poll` meanwhile; return whether it was stopped.

    The next run repeats the micro-batch in which a query is stopped.

    Raises:
        JobFailedError, ServiceUnreachableError: the query failed.
    """
    try:
        with translated_spark_errors():
            while not query.awaitTermination(POLL_S):
                poll()
                if stop():
                    return True
    except PsoupError:
        if not stop():
            raise
        return True
    finally:
        query.stop()
    return False


@contextmanager
def translated_spark_errors() -> Iterator[None]:
    """Raise Spark's errors as errors of this package, with their last message, while the context is open.

    Raises:
        JobFailedError: Spark or a task failed.
        ServiceUnreachableError: a task failed by this error.
    """
    try:
        yield
    except PySparkException as error:
        raise _translated(str(error)) from error
    except Py4JJavaError as error:  # for example of a cancelled job
        raise _translated(str(error.java_exception)) from error
    except Py4JError as error:
        raise _gone(error) from error
    except (OSError, EOFError) as error:  # also raised by Py4J when it reconnects
        if is_spark_alive():
            raise
        raise _gone(error) from error


def is_spark_alive() -> bool:
    """Return whether Spark can run jobs: its context has not stopped, and its JVM answers."""
    context = SparkContext._active_spark_context  # noqa: SLF001 - nothing else tells
    try:
        return context is not None and not context._jsc.sc().isStopped()  # noqa: SLF001
    except (Py4JError, OSError):
        return False


def last_message(message: str) -> str:
    """Return the message of a Spark error: of the last Python error in it, else Spark's own first words."""
    kind, text = _raised_last(message)
    return text if kind is None or kind in _kinds(PsoupError) else f"{kind}: {text}"


def _translated(message: str) -> JobFailedError | ServiceUnreachableError:
    """Return the error of this package for the message of a Spark error."""
    kind, _ = _raised_last(message)
    is_away = kind == ServiceUnreachableError.__name__
    return (ServiceUnreachableError if is_away else JobFailedError)(last_message(message))


def _gone(error: Exception) -> JobFailedError:
    reason = str(error) or type(error).__name__
    return JobFailedError(f"Spark is gone: {reason}. Start the job again.")


def _raised_last(message: str) -> tuple[str | None, str]:
    """Return class and message of the last Python error in a message; without one, None and Spark's first words."""
    raised = list(_RAISED.finditer(message))
    if not raised:
        return None, _until_end(_STREAM_FAILED.sub("", message.strip()))
    return raised[-1][1], _until_end(message[raised[-1].end() :])


def _until_end(text: str) -> str:
    """Return a message without the suffix and stack trace that Spark and Java append."""
    end = _MESSAGE_ENDS.search(text)
    return text if end is None else text[: end.start()]


def _kinds(root: type[PsoupError]) -> Iterator[str]:
    for kind in root.__subclasses__():
        yield kind.__name__
        yield from _kinds(kind)


@contextmanager
def stop_on_signal() -> Iterator[Stop]:
    """Note the first Ctrl-C or SIGTERM while the context is open; yield a function that returns whether it came.

    The second one ends the process as usual. Call it in the main thread, after Spark has set its own handlers.
    """
    received = threading.Event()
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: FrameType | None) -> None:
        received.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    for number in previous:
        signal.signal(number, note)
    try:
        yield received.is_set
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _position(service: PsoupClient) -> int | None:
    """Return the applied position; None: the key may not read it, or the service does not answer."""
    try:
        return int(service.status()["applied"])
    except PsoupError:
        return None
