"""A warm start of `psoup serve`: from its command line until it is ready, over an empty store.

Warm: modules and kernels are compiled, as an earlier start leaves them. What it takes besides for what the store holds
is among the figures of `processes`.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import process
from benchmarks.bench import Figure, Size, Survey
from benchmarks.service import running


def contests(size: Size) -> Iterator[Survey]:
    """Yield the survey, where /proc tells what a process takes."""
    if process.is_known():
        yield survey(starts=size.pick(smoke=1, full=15))


def survey(starts: int) -> Survey:
    """Return so many starts on one folder, after one that is not counted."""

    def run() -> Sequence[Figure]:
        with tempfile.TemporaryDirectory(prefix="psoup-start-") as folder:
            started_once(Path(folder))
            found = [started_once(Path(folder)) for _ in range(starts)]
        walls, cpus = zip(*found, strict=True)
        return [
            Figure("start-ready", "until it is ready: median", statistics.median(walls), "s"),
            Figure("start-ready-least", "until it is ready: least", min(walls), "s"),
            Figure(
                "start-cpu", "CPU of the service until then: median", statistics.median(cpus), "s"
            ),
            Figure("start-cpu-least", "CPU of the service until then: least", min(cpus), "s"),
        ]

    return Survey("start", "psoup serve over an empty embedded store, warm", run)


def started_once(folder: Path) -> tuple[float, float]:
    """Start a service and end it; return the seconds until it was ready, and its CPU seconds by then."""
    begun_s = time.perf_counter()
    with running(folder, store=None) as service:
        ready_s = time.perf_counter() - begun_s
        return ready_s, service.cpu_s()[0]
