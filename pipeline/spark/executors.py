"""Spark's executors, which compute hits for an engine in a session of the engine's own."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from psoup.client.errors import PsoupError
from psoup.engine import limits
from psoup.engine.ahead.broadcasts import BroadcastClauses, BroadcastValue
from psoup.engine.ahead.errors import ExecutorsError
from psoup.engine.ahead.exchange import (
    ARRAYS,
    Blocks,
    read_blocks,
    read_scans,
    write_task,
)
from psoup.engine.ahead.executor import scan_tasks, settle_tasks, warm_up_tasks
from psoup.engine.ahead.planning import ChunkTask
from psoup.engine.ahead.scans import ScanHits, ScannedClauses
from psoup.engine.tuples.schema import StreamId
from psoup.pipeline.spark.session import close_session, open_session

NAME: Final = "psoup engine"
SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",  # a row holds the bodies or the hits of chunks
    "spark.sql.adaptive.enabled": "false",  # a job has one stage, so there is nothing to adapt
}
BLOCKS_DDL: Final = "stream long, chunk long, " + ", ".join(f"{name} binary" for name in ARRAYS)
"""`exchange.BLOCKS` as Spark writes a schema."""
SCANS_DDL: Final = "clause long, chunk long, words binary, counts binary"
"""`exchange.SCANS` as Spark writes a schema."""
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
POLL_S: Final = 0.2
"""Between two looks at whether a job is to be cancelled."""
_REASON_CHARACTERS: Final = 500
_LOST: Final = (PySparkException, Py4JError, OSError, EOFError)
"""Raised when a task, an executor or the JVM itself is lost."""


def engine_session(master: str) -> SparkSession:
    """Start the Spark session of an engine at a master such as `local[2]` or `spark://host:port`."""
    session = open_session(NAME, master=master, settings=SETTINGS)
    session.sparkContext.setLogLevel("ERROR")
    return session


class SparkExecutors:
    """Runs the engine's tasks as Spark jobs, one at a time. A session that is lost is opened again."""

    def __init__(
        self,
        open_new: Callable[[], SparkSession],
        close_session: Callable[[SparkSession], None] = close_session,
    ) -> None:
        """Start the session, and wait until the executors have loaded the engine: some 10 s.

        Args:
            open_new: starts the session (`engine_session`), and starts it again after it was lost.
            close_session: ends the session.

        Raises:
            JavaMissingError: no Java was found.
            ExecutorsError: the session does not start, or its executors are not ready within SCALED_START_S_MAX.
        """
        self._open_new, self._close_session = open_new, close_session
        self._opening: threading.Thread | None = None
        self._closing = threading.Event()
        self._session: SparkSession | None = None
        with self._spark_errors("The Spark session does not start"):
            self._session = self._ready()

    @property
    def parallelism(self) -> int:
        """Return the number of tasks that Spark runs at once. Raises ExecutorsError."""
        with self._spark_errors("Spark does not answer"):
            return max(1, self._open().sparkContext.defaultParallelism)

    def send(self, value: object) -> BroadcastValue:
        """Broadcast a value: an executor fetches it when a task first needs it. Raises ExecutorsError."""
        with self._spark_errors("Clauses cannot be sent to the executors"):
            sent: BroadcastValue = self._open().sparkContext.broadcast(value)
            return sent

    def take_back(self, sent: BroadcastValue) -> None:
        """Remove a value from all executors. Never raises: a value that is lost is removed as well."""
        with suppress(*_LOST):
            sent.destroy()

    def settle(
        self, tasks: Sequence[ChunkTask], clauses: Mapping[StreamId, BroadcastClauses]
    ) -> Blocks:
        """Return the hits of all chunks of these tasks.

        Raises:
            ExecutorsError: the job failed, took SCALED_JOB_S_MAX, or returned other chunks than it was given.
        """
        sent = dict(clauses)
        rows = self._run(tasks, BLOCKS_DDL, lambda batches: settle_tasks(batches, sent))
        blocks = read_blocks(rows)
        _check_complete(
            blocks.keys()
            == {
                (task.stream_id, chunk)
                for task in tasks
                for chunk in range(task.first_chunk, task.past_chunk)
            }
        )
        return blocks

    def scan(self, tasks: Sequence[ChunkTask], scanned: ScannedClauses) -> ScanHits:
        """Return the hits of all clauses in all tasks. Raises as `settle` does."""
        schema, clauses = scanned
        rows = self._run(tasks, SCANS_DDL, lambda batches: scan_tasks(batches, schema, clauses))
        hits = read_scans(rows)
        _check_complete(
            hits.keys()
            == {(clause_id, task.first_chunk) for clause_id in clauses for task in tasks}
        )
        return hits

    def close(self) -> None:
        """Stop the session and its JVM. Never fails for a session that was lost; twice does nothing more."""
        self._closing.set()
        if self._opening is not None:
            self._opening.join()
        self._end()

    def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._close_session(session)

    def _run(self, tasks: Sequence[ChunkTask], columns: str, work: Work) -> list[pa.RecordBatch]:
        """Run a job; return the rows that `work` yields for these tasks, with these columns, in any order."""
        with self._spark_errors("A job for the engine failed"):
            session = self._open()
            table = pa.Table.from_batches([write_task(task) for task in tasks])
            with self._limited(
                session, limits.SCALED_JOB_S_MAX, "A job for the engine did not finish"
            ):
                frame = session.createDataFrame(table).mapInArrow(work, columns)
                rows: list[pa.RecordBatch] = frame.toArrow().to_batches()
                return rows

    def _open(self) -> SparkSession:
        """Return the session. If it was lost, open it again in a thread of its own, and do not wait for it.

        Raises:
            ExecutorsError: the session is not open yet.
        """
        if self._session is None:
            if self._opening is None or not self._opening.is_alive():
                self._opening = threading.Thread(
                    target=self._open_again, name="psoup-spark", daemon=True
                )
                self._opening.start()
            raise ExecutorsError("The Spark session was lost and is being opened again.")
        return self._session

    def _open_again(self) -> None:
        with suppress(*_LOST, ExecutorsError, PsoupError):  # the next job tries again
            self._session = self._ready()

    def _ready(self) -> SparkSession:
        """Return a new session whose executors have run one job, so that kernels are loaded and the JVM is warm.

        Raises:
            ExecutorsError: the job took SCALED_START_S_MAX; the cluster may have no room for executors.
        """
        session = self._open_new()
        tasks = session.sparkContext.defaultParallelism
        table = pa.Table.from_batches([write_task(ChunkTask(StreamId(0), 0, 0, ()))] * tasks)

        try:
            what = "Spark's executors were not ready"
            with self._limited(session, limits.SCALED_START_S_MAX, what):
                session.createDataFrame(table).mapInArrow(warm_up_tasks, BLOCKS_DDL).toArrow()
        except (*_LOST, ExecutorsError):
            self._close_session(session)
            raise
        return session

    @contextmanager
    def _spark_errors(self, what: str) -> Iterator[None]:
        """Raise Spark's errors as ExecutorsErrors. A lost session is ended, so that the next job opens a new one."""
        try:
            yield
        except (*_LOST, ExecutorsError) as error:
            if not self._is_alive():
                self._end()
            if isinstance(error, ExecutorsError):
                raise
            raise ExecutorsError(f"{what}: {type(error).__name__}: {_reason(error)}") from error

    @contextmanager
    def _limited(self, session: SparkSession, seconds: float, what: str) -> Iterator[None]:
        """Cancel the session's jobs after `seconds`, or when the executors are closed.

        Raises:
            ExecutorsError: jobs were cancelled; the message is `what` and the seconds.
        """
        is_done, is_over = threading.Event(), threading.Event()
        ends_s = time.monotonic() + seconds

        def cancel() -> None:
            while not is_done.wait(POLL_S):
                if self._closing.is_set() or time.monotonic() >= ends_s:
                    is_over.set()
                    with suppress(*_LOST):
                        session.sparkContext.cancelAllJobs()  # at every poll: a job may begin later

        watching = threading.Thread(target=cancel, name="psoup-limit", daemon=True)
        watching.start()
        try:
            yield
        except _LOST as error:
            if is_over.is_set():
                raise ExecutorsError(f"{what} in {seconds:g} s, and was cancelled.") from error
            raise
        finally:
            is_done.set()
            watching.join()

    def _is_alive(self) -> bool:
        """Return whether the session still answers."""
        if self._session is None:
            return True
        try:
            return not self._session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 - nothing else tells
        except _LOST:
            return False


def _check_complete(is_complete: bool) -> None:  # noqa: FBT001 - of one argument
    """Raise ExecutorsError unless a job has returned the results of all its tasks and no others."""
    if not is_complete:
        raise ExecutorsError("A job for the engine returned other results than those of its tasks.")


def _reason(error: Exception) -> str:
    """Return the cause that an error of Spark names, without its two stack traces."""
    lines = str(error).strip().splitlines() or [""]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    sentences = [line for line in lines if not line.startswith((" ", "\t"))]
    return (causes or sentences)[-1].strip()[:_REASON_CHARACTERS]
