"""Threads that settle chunks beside the fold's: started when they are first needed, ended with the context."""

import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

from psoup.engine.engine import MatchThreads

GROUP: Final = Path("/sys/fs/cgroup")
"""The control group of a container, as it sees itself."""


class PooledThreads:
    """Threads of a pool, as the engine asks for them (`MatchThreads`)."""

    def __init__(self, pool: ThreadPoolExecutor, count: int) -> None:
        """Take a pool of `count` threads, whose owner ends it."""
        self._pool = pool
        self._count = count

    @property
    def count(self) -> int:
        """Return how many there are."""
        return self._count

    def begin(self, work: Callable[[int], None], calls: int) -> Callable[[], None]:
        """Call `work` in `calls` threads, and return the wait for these calls. Cost: some 20 us a thread."""
        begun = [self._pool.submit(work, number) for number in range(calls)]
        return lambda: _wait(begun)


@contextlib.contextmanager
def match_threads(asked: int) -> Iterator[MatchThreads | None]:
    """Yield threads beside the one that folds, and end them with the context. None: it settles all chunks itself.

    `asked` is the setting `match_threads`: how many settle chunks, the fold's among them; 0 = as many as `cores` allow.
    """
    count = (asked or max(1, cores() - 1)) - 1
    if count < 1:
        yield None
        return
    with ThreadPoolExecutor(count, thread_name_prefix="psoup-match") as pool:
        yield PooledThreads(pool, count)


def cores(group: Path = GROUP) -> int:
    """Return how many cores the process may use: those it may run on, or as many as the quota of its `group` fills."""
    if not hasattr(os, "sched_getaffinity"):  # macOS
        return os.cpu_count() or 1
    count = len(os.sched_getaffinity(0))
    try:
        quota, period = (group / "cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):  # no such group, or an older kind
        return count
    return count if quota == "max" else min(count, max(1, int(quota) // int(period)))


def _wait(begun: list[Future[None]]) -> None:
    for call in begun:
        if not call.cancel():
            call.result()
