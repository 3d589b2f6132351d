"""Threads for what would hold the event loop up: parsing, invoking, encoding, talking to the store."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from engine.errors import OverloadedError

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class WorkStatistics:
    """Counters of a pool since its start."""

    running: int
    done: int
    refused: int


class WorkPool:
    """A bounded number of threads. Work whose deadline passed in the queue is not started."""

    def __init__(self, name: str, *, threads: int) -> None:
        """Prepare `threads` threads; each is started when it is first needed."""
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"psoup-{name}")
        self._running = self._done = self._refused = 0

    async def run(self, work: Callable[[], Result], *, deadline_s: float) -> Result:
        """Return what `work` returns, or raise what it raises.

        Raises:
            OverloadedError: its turn had not come after `deadline_s` seconds; it was not started.
        """
        latest = time.monotonic() + deadline_s

        def in_time() -> Result:
            if time.monotonic() > latest:
                raise OverloadedError(
                    "The request's turn did not come before its deadline; it was not started.",
                    reason="deadline",
                )
            return work()

        self._running += 1
        try:
            return await asyncio.wrap_future(self._threads.submit(in_time))
        except OverloadedError:
            self._refused += 1
            raise
        finally:
            self._running -= 1
            self._done += 1

    def close(self) -> None:
        """Wait for what runs, drop what waits. Blocks."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def statistics(self) -> WorkStatistics:
        """Return counters."""
        return WorkStatistics(running=self._running, done=self._done, refused=self._refused)

    def check(self) -> None:
        """Raise AssertionError if a counter cannot be. For tests."""
        if not 0 <= self._refused <= self._done or self._running < 0:
            raise AssertionError(f"counters of a pool: {self.statistics()}")
