"""The claim on an archive answer, renewed while Spark computes it."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from psoup.client.calls import PsoupClient
from psoup.client.errors import PsoupError, ServiceProblem
from psoup.engine.limits import HISTORY_CLAIM_S

RENEW_S: Final = HISTORY_CLAIM_S / 6
"""Between two renewals: several may fail before the claim lapses."""
POLL_S: Final = 0.5
"""Between two looks at Spark's progress, and at whether the job is to stop."""
LOST: Final = frozenset({"history-taken", "not-found"})
"""Problems that say that this worker has lost the claim, or that the archive answer is gone."""


class SparkTasks:
    """The Spark tasks that this thread starts while the context is open; any thread may count or cancel them."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        """Take the name of the job group."""
        self._context = spark.sparkContext
        self._name = name

    def __enter__(self) -> Self:
        """Put the Spark jobs of this thread into the job group."""
        self._context.setJobGroup(self._name, f"psoup archive answer {self._name}")
        return self

    def __exit__(self, *_: object) -> None:
        """Take later Spark jobs of this thread out of the job group."""
        with suppress(Py4JError, OSError):  # its JVM is gone, and said so
            for name in ("spark.jobGroup.id", "spark.job.description"):
                self._context.setLocalProperty(name, None)  # type: ignore[arg-type] # None removes it

    def counted(self) -> tuple[int, int]:
        """Return the number of finished tasks, and of all tasks that Spark knows so far."""
        tracker = self._context.statusTracker()
        stages: dict[int, tuple[int, int]] = {}
        for job_id in tracker.getJobIdsForGroup(self._name):
            job = tracker.getJobInfo(job_id)
            is_over = job is not None and job.status != "RUNNING"
            for stage_id in () if job is None else job.stageIds:
                stage = tracker.getStageInfo(stage_id)
                if stage is not None:
                    of = stage.numCompletedTasks if is_over else stage.numTasks
                    stages[stage_id] = stage.numCompletedTasks, of
        return sum(done for done, _ in stages.values()), sum(of for _, of in stages.values())

    def cancel(self) -> None:
        """Cancel the tasks that exist now."""
        self._context.cancelJobGroup(self._name)


class Claim:
    """Renews a claim in a thread while the context is open; cancels the work once it is lost, overdue or to stop.

    A cancelled Spark job raises in the thread that started it, which then reads `is_lost` and `is_overdue`.
    """

    def __init__(
        self,
        open_client: Callable[[], PsoupClient],
        history_id: str,
        worker: str,
        *,
        tasks: SparkTasks,
        stop: Callable[[], bool],
        at_most_s: float,
        report: Callable[[int, int], None],
    ) -> None:
        """Take over a claim that was just made.

        Args:
            open_client: opens a client for the thread.
            history_id: handle of the archive answer.
            worker: name under which it was claimed.
            tasks: the work to count and to cancel.
            stop: returns whether the job is to stop.
            at_most_s: seconds that the work may take; other archive answers wait meanwhile.
            report: called every POLL_S with the numbers of finished and of known tasks.
        """
        self._open_client = open_client
        self._history_id = history_id
        self._worker = worker
        self._tasks = tasks
        self._stop = stop
        self._at_most_s = at_most_s
        self._report = report
        self._ended = threading.Event()
        self._lost = threading.Event()
        self._overdue = threading.Event()
        self._thread = threading.Thread(target=self._run, name="psoup-claim", daemon=True)

    @property
    def is_lost(self) -> bool:
        """Return whether another worker has the claim, or the archive answer is gone."""
        return self._lost.is_set()

    @property
    def is_overdue(self) -> bool:
        """Return whether the work was cancelled because it took too long."""
        return self._overdue.is_set()

    def __enter__(self) -> Self:
        """Start to renew the claim."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop to renew the claim. It lapses unless the archive answer has ended."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        looks = 0
        ends_s = time.monotonic() + self._at_most_s
        with self._open_client() as service, suppress(Py4JError, OSError):  # its JVM is gone
            while not self._ended.wait(POLL_S):
                if time.monotonic() > ends_s:
                    self._overdue.set()
                is_left = self.is_lost or self._stop()
                if is_left or self.is_overdue:
                    self._tasks.cancel()  # at every poll: new tasks may have begun
                if is_left:
                    continue  # overdue work stays claimed, so that this worker can report why it failed
                looks += 1
                done, of = self._tasks.counted()
                self._report(done, of)
                if looks * POLL_S >= RENEW_S:
                    looks = 0
                    self._renew(service, done, of)

    def _renew(self, service: PsoupClient, done: int, of: int) -> None:
        try:
            service.claim_archive_answer(self._history_id, self._worker, done=done, of=of or None)
        except ServiceProblem as problem:
            if problem.problem in LOST:
                self._lost.set()
        except PsoupError:
            pass  # the service is away; a later renewal says whether the claim is lost
