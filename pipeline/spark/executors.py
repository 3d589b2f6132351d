"""The executors of a Spark session of the engine's own."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from psoup.engine import limits
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
from psoup.engine.ahead.scans import Asked, Found
from psoup.engine.ahead.shipping import Sent, SentClauses
from psoup.engine.tuples.schema import StreamId
from psoup.pipeline.errors import PipelineError
from psoup.pipeline.spark.session import close_session, open_session

NAME: Final = "psoup engine"
SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",  # a row has the bodies, or the hits, of chunks
    "spark.sql.adaptive.enabled": "false",  # a job has one stage: there is nothing to adapt
}
BLOCKS_DDL: Final = "stream long, chunk long, " + ", ".join(f"{name} binary" for name in ARRAYS)
"""`exchange.BLOCKS` as Spark writes a schema."""
SCANS_DDL: Final = "clause long, chunk long, words binary, counts binary"
"""`exchange.SCANS` as Spark writes a schema."""
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
LOOK_S: Final = 0.2
"""Between two looks at whether a job is to be given up."""
_REASON_CHARACTERS: Final = 500
_GONE: Final = (PySparkException, Py4JError, OSError, EOFError)
"""What is raised where a task, an executor, or the JVM itself is gone."""


def engine_session(master: str) -> SparkSession:
    """Start the session of an engine. `master` is Spark's: `local[2]`, `spark://host:port`, …."""
    session = open_session(NAME, master=master, settings=SETTINGS)
    session.sparkContext.setLogLevel("ERROR")
    return session


class SparkExecutors:
    """Settles chunks by Spark jobs, one at a time, in a session of its own that is opened again where it was lost."""

    def __init__(
        self,
        opened: Callable[[], SparkSession],
        ended: Callable[[SparkSession], None] = close_session,
    ) -> None:
        """Start the session, and wait until the executors have loaded the engine: some 10 s.

        Args:
            opened: starts it (`engine_session`); again where it was lost.
            ended: ends it.

        Raises:
            JavaMissingError: there is no Java to start it with.
            ExecutorsError: it does not start, or no executor is ready within SCALED_START_S_MAX.
        """
        self._opened, self._ended = opened, ended
        self._opening: threading.Thread | None = None
        self._closing = threading.Event()
        self._session: SparkSession | None = None
        with self._told("The Spark session does not start"):
            self._session = self._ready()

    @property
    def parallelism(self) -> int:
        """Return how many tasks the executors do at once, as far as Spark knows. Raises ExecutorsError."""
        with self._told("Spark does not answer"):
            return max(1, self._open().sparkContext.defaultParallelism)

    def send(self, value: object) -> Sent:
        """Bring a value to all executors: each fetches it when a task of its own needs it. Raises ExecutorsError."""
        with self._told("Clauses cannot be sent to the executors"):
            sent: Sent = self._open().sparkContext.broadcast(value)
            return sent

    def take_back(self, sent: Sent) -> None:
        """Remove a value everywhere; one that is lost anyhow is not missed."""
        with suppress(*_GONE):
            sent.destroy()

    def settle(self, tasks: Sequence[ChunkTask], clauses: Mapping[StreamId, SentClauses]) -> Blocks:
        """Return the hits of all chunks of these tasks.

        Raises:
            ExecutorsError: the job has failed, has taken SCALED_JOB_S_MAX, or has returned too little.
        """
        sent = dict(clauses)
        found = read_blocks(self._done(tasks, BLOCKS_DDL, lambda given: settle_tasks(given, sent)))
        _make_sure(
            found.keys()
            == {
                (task.stream_id, chunk)
                for task in tasks
                for chunk in range(task.first_chunk, task.past_chunk)
            }
        )
        return found

    def scan(self, tasks: Sequence[ChunkTask], asked: Asked) -> Found:
        """Return what these clauses find in the rows of these tasks. Raises as `settle` does."""
        found = read_scans(self._done(tasks, SCANS_DDL, lambda given: scan_tasks(given, *asked)))
        _make_sure(found.keys() == {(one, task.first_chunk) for one in asked[1] for task in tasks})
        return found

    def close(self) -> None:
        """Stop the session, and the JVM with it; one that was lost is no reason to fail. Twice is harmless."""
        self._closing.set()
        if self._opening is not None:
            self._opening.join()
        self._end()

    def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._ended(session)

    def _done(self, tasks: Sequence[ChunkTask], columns: str, work: Work) -> list[pa.RecordBatch]:
        """Return what executors yield for these tasks: rows with these columns, in any order."""
        with self._told("A job for the engine has failed"):
            session = self._open()
            asked = pa.Table.from_batches([write_task(task) for task in tasks])
            with self._limited(
                session, limits.SCALED_JOB_S_MAX, "A job for the engine was not done"
            ):
                frame = session.createDataFrame(asked).mapInArrow(work, columns)
                found: list[pa.RecordBatch] = frame.toArrow().to_batches()
                return found

    def _open(self) -> SparkSession:
        """Return the session. One that was lost is opened again meanwhile: nobody waits for it.

        Raises:
            ExecutorsError: it is not open yet.
        """
        if self._session is None:
            if self._opening is None or not self._opening.is_alive():
                self._opening = threading.Thread(
                    target=self._open_again, name="psoup-spark", daemon=True
                )
                self._opening.start()
            raise ExecutorsError("The Spark session was lost, and is being opened again.")
        return self._session

    def _open_again(self) -> None:
        with suppress(
            *_GONE, ExecutorsError, PipelineError
        ):  # then it is tried once more when somebody asks
            self._session = self._ready()

    def _ready(self) -> SparkSession:
        """Return a new session whose executors, and its JVM, have done once what jobs will have them do.

        Raises:
            ExecutorsError: they have not within SCALED_START_S_MAX, as where the cluster has no room for them.
        """
        session = self._opened()
        tasks = session.sparkContext.defaultParallelism
        asked = pa.Table.from_batches([write_task(ChunkTask(StreamId(0), 0, 0, ()))] * tasks)

        try:
            what = "Spark's executors were not ready"
            with self._limited(session, limits.SCALED_START_S_MAX, what):
                session.createDataFrame(asked).mapInArrow(warm_up_tasks, BLOCKS_DDL).toArrow()
        except (*_GONE, ExecutorsError):
            self._ended(session)
            raise
        return session

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Let what Spark raises be ExecutorsErrors; a session that was lost is opened again the next time."""
        try:
            yield
        except (*_GONE, ExecutorsError) as error:
            if not self._lives():
                self._end()
            if isinstance(error, ExecutorsError):
                raise
            raise ExecutorsError(f"{what}: {type(error).__name__}: {_reason(error)}") from error

    @contextmanager
    def _limited(self, session: SparkSession, seconds: float, what: str) -> Iterator[None]:
        """Cancel the session's jobs after so many seconds, or when all is to end.

        Raises:
            ExecutorsError: then: `what`, and in which time.
        """
        is_done, is_over = threading.Event(), threading.Event()
        ends_s = time.monotonic() + seconds

        def cancel() -> None:
            while not is_done.wait(LOOK_S):
                if self._closing.is_set() or time.monotonic() >= ends_s:
                    is_over.set()
                    with suppress(*_GONE):
                        session.sparkContext.cancelAllJobs()  # again and again: one may begin later

        watching = threading.Thread(target=cancel, name="psoup-limit", daemon=True)
        watching.start()
        try:
            yield
        except _GONE as error:
            if is_over.is_set():
                raise ExecutorsError(f"{what} in {seconds:g} s, and given up.") from error
            raise
        finally:
            is_done.set()
            watching.join()

    def _lives(self) -> bool:
        """Return whether the session can be asked at all."""
        if self._session is None:
            return True
        try:
            return not self._session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 - nothing else tells
        except _GONE:
            return False


def _make_sure(is_all: bool) -> None:  # noqa: FBT001 - of one argument
    """Raise ExecutorsError unless a job has returned what it was asked for."""
    if not is_all:
        raise ExecutorsError(
            "A job for the engine has returned other things than it was asked for."
        )


def _reason(error: Exception) -> str:
    """Return what an error of Spark says of its cause, without the traces of two stacks."""
    lines = str(error).strip().splitlines() or [""]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    told = [line for line in lines if not line.startswith((" ", "\t"))]
    return (causes or told)[-1].strip()[:_REASON_CHARACTERS]
