"""Threads that settle chunks beside the fold's: started when they are first needed, ended with the context."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from psoup.engine.engine import MatchThreads

GROUP: Final = Path("/sys/fs/cgroup")
"""The control group of a container, as it sees itself."""


class StartedThreads:
    """Threads that take calls from one queue, as the engine asks for them (`MatchThreads`).

    Only calls for which a thread runs are queued: a thread that cannot be started leaves none behind, which a later
    thread would make after the batch that it was for.
    """

    def __init__(self, count: int) -> None:
        """Take how many there may be; none is started yet."""
        self._count = count
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._started: list[threading.Thread] = []
        self._ended = False

    @property
    def count(self) -> int:
        """Return how many there are, where all can be started."""
        return self._count

    def begin(self, work: Callable[[int], None], calls: int) -> Callable[[], None]:
        """Call `work` in `calls` threads, or in as many as can be started, and return the wait for these calls.

        Cost: some 20 us a thread.
        """
        self._start(calls)
        begun = [_Call(work, number) for number in range(min(calls, len(self._started)))]
        for call in begun:
            self._calls.put(call)
        return lambda: _wait(begun)

    def end(self) -> None:
        """End all threads, and wait for them. What is asked for afterwards begins no call."""
        self._ended = True
        for _ in self._started:
            self._calls.put(None)
        while self._started:
            self._started.pop().join()

    def _start(self, wanted: int) -> None:
        """Start threads up to so many. What the system refuses is asked for again at the next batch."""
        while len(self._started) < wanted and not self._ended:
            name = f"psoup-settle-{len(self._started)}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # a bound on threads or memory
                return
            self._started.append(thread)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call.make()
            del call  # it holds the hits of its batch


class _Call:
    """One call, which is made once or withdrawn."""

    def __init__(self, work: Callable[[int], None], number: int) -> None:
        self._work = work
        self._number = number
        self._outcome: Future[None] = Future()

    def make(self) -> None:
        """Call, unless that was withdrawn."""
        if not self._outcome.set_running_or_notify_cancel():
            return
        try:
            self._work(self._number)
        except BaseException as error:  # noqa: BLE001 (raised by who waits)
            self._outcome.set_exception(error)
        else:
            self._outcome.set_result(None)

    def withdraw_or_wait(self) -> None:
        """Withdraw the call if it has not begun, wait for its end if it has; raise what it has raised."""
        if not self._outcome.cancel():
            self._outcome.result()


@contextlib.contextmanager
def match_threads(asked: int) -> Iterator[MatchThreads | None]:
    """Yield threads beside the one that folds, and end them with the context. None: it settles all chunks itself.

    `asked` is the setting `match_threads`: how many settle chunks, the fold's among them; 0 = as many as `cores` allow.
    """
    count = (asked or max(1, cores() - 1)) - 1
    if count < 1:
        yield None
        return
    threads = StartedThreads(count)
    try:
        yield threads
    finally:
        threads.end()


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


def _wait(begun: list[_Call]) -> None:
    for call in begun:
        call.withdraw_or_wait()
