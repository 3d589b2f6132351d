"""A history that this process has claimed, while Spark computes it."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from psoup.engine.limits import HISTORY_CLAIM_S
from psoup.pipeline.client import PsoupClient
from psoup.pipeline.errors import PipelineError, ServiceProblem

RENEW_S: Final = HISTORY_CLAIM_S / 6
"""Between two renewals: several may fail before the claim lapses."""
LOOK_S: Final = 0.5
"""Between two looks at what Spark has done, and at whether all is to end."""
LOST: Final = frozenset({"history-taken", "not-found"})
"""Problems that say that the history is not this worker's any more, or gone with its query or its service's history."""


class SparkTasks:
    """The tasks of what this thread has Spark do while the context lasts: counted and cancelled from any thread."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        """Name them."""
        self._context = spark.sparkContext
        self._name = name

    def __enter__(self) -> Self:
        """Let all that this thread asks Spark for be of this name."""
        self._context.setJobGroup(self._name, f"psoup history {self._name}")
        return self

    def __exit__(self, *_: object) -> None:
        """Let what follows have no name again."""
        with suppress(Py4JError, OSError):  # its JVM is gone, and said so
            for name in ("spark.jobGroup.id", "spark.job.description"):
                self._context.setLocalProperty(name, None)  # type: ignore[arg-type] # None removes it

    def counted(self) -> tuple[int, int]:
        """Return how many tasks are done, and of how many that Spark knows of so far."""
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
        """Cancel those that there are now."""
        self._context.cancelJobGroup(self._name)


class Claim:
    """Renews a claim by a thread while the context lasts; cancels the work once it is lost, overdue, or all is to end.

    What Spark was doing then raises in the thread that asked for it, which looks here for why.
    """

    def __init__(
        self,
        open_service: Callable[[], PsoupClient],
        history_id: str,
        worker: str,
        *,
        tasks: SparkTasks,
        stop: Callable[[], bool],
        at_most_s: float,
        report: Callable[[int, int], None],
    ) -> None:
        """Begin with a claim that has just been made.

        Args:
            open_service: gives the thread a client of its own.
            history_id: what is claimed.
            worker: by whom.
            tasks: the work, cancelled and counted.
            stop: whether all is to end.
            at_most_s: how long the work may take: others wait for its end.
            report: called with tasks done and known, every LOOK_S.
        """
        self._open_service = open_service
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
        """Return whether the history is somebody else's by now, or gone."""
        return self._lost.is_set()

    @property
    def is_overdue(self) -> bool:
        """Return whether the work was cancelled for taking too long."""
        return self._overdue.is_set()

    def __enter__(self) -> Self:
        """Begin to renew it."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Renew it no longer; it lapses unless the history has been ended."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        looks = 0
        ends_s = time.monotonic() + self._at_most_s
        with self._open_service() as service, suppress(Py4JError, OSError):  # its JVM is gone
            while not self._ended.wait(LOOK_S):
                if time.monotonic() > ends_s:
                    self._overdue.set()
                is_left = self.is_lost or self._stop()
                if is_left or self.is_overdue:
                    self._tasks.cancel()  # each time: more may have begun since
                if is_left:
                    continue  # what is overdue stays claimed: it is to be said that it was
                looks += 1
                done, of = self._tasks.counted()
                self._report(done, of)
                if looks * LOOK_S >= RENEW_S:
                    looks = 0
                    self._renew(service, done, of)

    def _renew(self, service: PsoupClient, done: int, of: int) -> None:
        try:
            service.claim_archive_answer(self._history_id, self._worker, done=done, of=of or None)
        except ServiceProblem as problem:
            if problem.problem in LOST:
                self._lost.set()
        except PipelineError:
            pass  # the service is away: once it is back it says whose the history is
