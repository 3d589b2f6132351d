"""A streaming query at work: what it has done so far, told micro-batch by micro-batch, and how it ends."""

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

from psoup.pipeline.client import PsoupClient
from psoup.pipeline.errors import JobFailedError, PipelineError, ServiceUnreachableError
from psoup.pipeline.spark.launch.requests import (
    ArchiveRequest,
    BackfillRequest,
    HistoryRequest,
    IngestRequest,
)
from psoup.pipeline.spark.quiet_session import open_quiet_session
from psoup.pipeline.spark.session import close_session, open_session

LOOK_S: Final = 1
"""Between two looks at what a query has done."""
_RAISED: Final = re.compile(
    r"^(?!org\.|java\.|py4j\.|pyspark\.)(?:\w+\.)*(\w+(?:Error|Problem|Exception)): ", re.M
)
"""Where the message of an error begins that was raised in Python, by this package or another."""
_MESSAGE_ENDS: Final = re.compile(r"\s*(?:SQLSTATE: |\n\s*at |\n\n|\nTraceback|\Z)")
_STREAM_FAILED: Final = re.compile(r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """What a job has done: in the micro-batch it tells of, and since it began.

    `batch` is Spark's number of it, which goes on where the checkpoint ended. `seq` is the service's position
    after it, None where the key may not read that. `bytes_done` and `bytes_all` are of files, 0 where a job has
    none; of the files that were in before nothing is counted.
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
    """How a job ended: after how many rows and micro-batches, or answers, and whether it was told to."""

    rows: int
    batches: int
    stopped: bool


Report = Callable[[JobProgress], None]
Stop = Callable[[], bool]
P = TypeVar("P")
R = TypeVar("R", IngestRequest, BackfillRequest, ArchiveRequest, HistoryRequest)
Job = Callable[[SparkSession, R, Callable[[P], None], Stop], JobEnd]
"""What each job's function is: it does what is asked, and tells of each micro-batch, or of what else it does."""


class Tally:
    """Rows and micro-batches so far; makes each `JobProgress`, with the service's position."""

    def __init__(self, service: PsoupClient, report: Report, *, bytes_all: int = 0) -> None:
        """Begin with nothing done."""
        self._service = service
        self._report = report
        self._bytes_all = bytes_all
        self._bytes_done = 0
        self._rows = 0
        self._last_batch = -1
        self._batches = 0

    def add(self, batch: int, rows: int, *, seconds: float, nbytes: int = 0) -> None:
        """Count what has been done in micro-batch `batch`, or in a part of it, and tell it."""
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
        """Return the sum."""
        return JobEnd(rows=self._rows, batches=self._batches, stopped=stopped)


def run_job(job: Job[R, P], request: R, report: Callable[[P], None], *, quiet: bool) -> JobEnd:
    """Return how a job ended that ran in a session of its own, which is stopped again.

    A first Ctrl-C or SIGTERM ends it in order.

    Args:
        job: its function.
        request: what it is asked for.
        report: called after each micro-batch, or part of one; told of what else the job does.
        quiet: whether Spark's own log is left out; what ends a job is in the error.

    Raises:
        PipelineError: any of them.
    """
    start = open_quiet_session if quiet else open_session
    spark = start(f"psoup {request.subject}", master=request.master)
    try:
        with stop_asked() as stop, spark_errors_told():
            return job(spark, request, report, stop)
    finally:
        close_session(spark)


def followed(query: StreamingQuery, tally: Tally, stop: Stop) -> JobEnd:
    """Tell of each micro-batch of a query that had rows until it ends, or until `stop` says so; return the sum.

    Raises:
        JobFailedError: Spark or a part of the job gave up; says what was said last.
    """
    told = -1

    def tell() -> None:
        nonlocal told
        for one in query.recentProgress:
            if one["batchId"] > told and one["numInputRows"]:
                told = one["batchId"]
                tally.add(told, one["numInputRows"], seconds=one["batchDuration"] / 1_000)

    stopped = until_ended(query, stop, tell)
    tell()
    return tally.end(stopped=stopped)


def until_ended(query: StreamingQuery, stop: Stop, look: Callable[[], None]) -> bool:
    """Wait until a query ends or `stop` says so, looking now and then; return whether it was stopped.

    A query that is stopped leaves its micro-batch as if it had never begun: the next run repeats it.

    Raises:
        JobFailedError, ServiceUnreachableError: it ended by itself, and not at its end.
    """
    try:
        with spark_errors_told():
            while not query.awaitTermination(LOOK_S):
                look()
                if stop():
                    return True
    except PipelineError:
        if not stop():
            raise
        return True
    finally:
        query.stop()
    return False


@contextmanager
def spark_errors_told() -> Iterator[None]:
    """While inside, what Spark raises is one of the errors of this package, with what was said last.

    Raises:
        JobFailedError: in the place of Spark's.
        ServiceUnreachableError: in the place of Spark's, where that is what a part of the job has raised last.
    """
    try:
        yield
    except PySparkException as error:
        raise _told(str(error)) from error
    except Py4JJavaError as error:  # of a job that was cancelled, for one
        raise _told(str(error.java_exception)) from error
    except Py4JError as error:
        raise _gone(error) from error
    except (OSError, EOFError) as error:  # Py4J's as well, where it connects once more
        if can_go_on():
            raise
        raise _gone(error) from error


def can_go_on() -> bool:
    """Return whether Spark can be asked for more: not where it has stopped by itself, or its JVM is gone."""
    context = SparkContext._active_spark_context  # noqa: SLF001 - nothing else tells
    try:
        return context is not None and not context._jsc.sc().isStopped()  # noqa: SLF001
    except (Py4JError, OSError):
        return False


def said_last(message: str) -> str:
    """Return what an error of Spark's says: what was raised in Python where it was, else its own first words."""
    kind, text = _raised_last(message)
    return text if kind is None or kind in _kinds(PipelineError) else f"{kind}: {text}"


def _told(message: str) -> JobFailedError | ServiceUnreachableError:
    """Return what stands for an error of Spark's."""
    kind, _ = _raised_last(message)
    is_away = kind == ServiceUnreachableError.__name__
    return (ServiceUnreachableError if is_away else JobFailedError)(said_last(message))


def _gone(error: Exception) -> JobFailedError:
    said = str(error) or type(error).__name__
    return JobFailedError(f"Spark is gone: {said}. Start the job again.")


def _raised_last(message: str) -> tuple[str | None, str]:
    """Return kind and text of what was raised in Python last; no kind and Spark's first words where nothing was."""
    raised = list(_RAISED.finditer(message))
    if not raised:
        return None, _until_end(_STREAM_FAILED.sub("", message.strip()))
    return raised[-1][1], _until_end(message[raised[-1].end() :])


def _until_end(text: str) -> str:
    """Return a message without what Spark and Java put behind it."""
    end = _MESSAGE_ENDS.search(text)
    return text if end is None else text[: end.start()]


def _kinds(root: type[PipelineError]) -> Iterator[str]:
    for one in root.__subclasses__():
        yield one.__name__
        yield from _kinds(one)


@contextmanager
def stop_asked() -> Iterator[Stop]:
    """While inside, a first Ctrl-C or SIGTERM is noted instead of carried out; yield what tells whether it came.

    The second one ends the process as usual. Of the main thread alone, once Spark runs: it sets signals itself.
    """
    asked = threading.Event()
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: FrameType | None) -> None:
        asked.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    for one in before:
        signal.signal(one, note)
    try:
        yield asked.is_set
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _position(service: PsoupClient) -> int | None:
    """Return the applied position; None where the key may not read it."""
    try:
        return int(service.status()["applied"])
    except PipelineError:
        return None
