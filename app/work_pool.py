"""Threads for what would hold the event loop up: parsing, invoking, encoding, talking to the store.

Who waits for work gives up at its deadline, whether a thread is free or not, and also when its client goes, which
cancels it. Work that nobody waits for any more is not started; what runs ends at its next checkpoint
(`engine.checkpoint`), so that its thread is free for others.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from app.errors import FramingError
from engine.checkpoint import checked_by
from engine.errors import OverloadedError

Result = TypeVar("Result")
Gone = Callable[[], Awaitable[None]]

RETRY_AFTER_S: Final = 1
WATCHED_S: Final = 0.05
"""From here on it is worth to watch whether somebody still waits: most work is done long before."""


@dataclass(frozen=True, slots=True)
class WorkStatistics:
    """What a pool does, and has done since its start.

    Attributes:
        running: pieces of work that wait for a thread, or have one.
        done: pieces of work that have ended, in whatever way.
        refused: those that nobody waited for to their end, because their deadline passed.
        abandoned: those that nobody waited for to their end, because their client had gone.
    """

    running: int
    done: int
    refused: int
    abandoned: int


class WorkPool:
    """A bounded number of threads. Used in one event loop."""

    def __init__(self, name: str, *, threads: int) -> None:
        """Prepare `threads` threads; each is started when it is first needed."""
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"psoup-{name}")
        self._running = self._done = self._refused = self._abandoned = 0

    async def run(
        self, work: Callable[[], Result], *, deadline_s: float, gone: Gone | None = None
    ) -> Result:
        """Return what `work` returns, or raise what it raises.

        Args:
            work: what to do in a thread.
            deadline_s: seconds after which nobody waits for it any more.
            gone: returns when whoever asked for the work has gone; asked where it takes longer than WATCHED_S.

        Raises:
            OverloadedError: it was not done by the deadline. Nobody sees what becomes of it then.
            FramingError: whoever asked for it has gone.
        """
        loop = asyncio.get_running_loop()
        piece = _Piece(work, latest=time.monotonic() + deadline_s)
        future = self._threads.submit(piece)
        self._running += 1
        future.add_done_callback(lambda _: self._tell(loop))
        outcome = asyncio.wrap_future(future)
        try:
            if await _is_done(outcome, max(deadline_s, 0.0), gone):
                return outcome.result()
        except PastDeadlineError:  # its thread has noticed first
            pass
        except (asyncio.CancelledError, FramingError):
            self._abandoned += 1
            raise
        finally:
            piece.abandon()
            if not outcome.cancel():
                outcome.exception()  # looked at, so that one that came with a cancellation is not a warning
        self._refused += 1
        raise too_late(begun=piece.begun)

    def close(self) -> None:
        """Wait for what runs, drop what waits. Blocks."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def statistics(self) -> WorkStatistics:
        """Return counters."""
        return WorkStatistics(self._running, self._done, self._refused, self._abandoned)

    def check(self) -> None:
        """Raise AssertionError if a counter cannot be. For tests."""
        if self._running < 0 or self._refused + self._abandoned > self._done + self._running:
            raise AssertionError(f"counters of a pool: {self.statistics()}")

    def _tell(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have it counted that a piece of work has ended. Any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody reads the counters
            loop.call_soon_threadsafe(self._count_ended)

    def _count_ended(self) -> None:
        self._running -= 1
        self._done += 1


class PastDeadlineError(OverloadedError):
    """A checkpoint ended the work: nobody waits for it. What the waiter is told, `too_late` says."""


class _Piece(Generic[Result]):
    """One piece of work on its way to a thread and through it."""

    def __init__(self, work: Callable[[], Result], *, latest: float) -> None:
        self._work = work
        self._latest = latest
        self._wanted = True
        self.begun = False

    def __call__(self) -> Result:
        """Do the work, in a thread."""
        self._check()
        self.begun = True
        with checked_by(self._check):
            return self._work()

    def abandon(self) -> None:
        """Let it end at its next checkpoint. Any thread."""
        self._wanted = False

    def _check(self) -> None:
        # The clock as well: where threads crowd the event loop, it learns of a deadline late.
        if not self._wanted or time.monotonic() > self._latest:
            raise PastDeadlineError("Nobody waits for this work any more.", reason="deadline")


def too_late(*, begun: bool) -> OverloadedError:
    """Return what is told to who waited for work to its deadline."""
    detail = "The request's turn did not come before its deadline; it was not started."
    if begun:
        detail = (
            "The answer was not there at the deadline, and the work for it was ended. Ask for less: a shorter window,"
            " count=only, fewer rows, a query that costs less; or ask again: hits that were found by then are kept."
        )
    return OverloadedError(detail, reason="deadline", retry_after_s=RETRY_AFTER_S)


async def _is_done(outcome: "asyncio.Future[Any]", deadline_s: float, gone: Gone | None) -> bool:
    """Return whether there is an outcome by the deadline. Raises FramingError where its client goes before."""
    # Waiting, unlike awaiting, leaves the outcome as it is.
    quick_s = deadline_s if gone is None else min(deadline_s, WATCHED_S)
    await asyncio.wait({outcome}, timeout=quick_s)
    if gone is None or outcome.done() or quick_s == deadline_s:
        return outcome.done()
    leaving = asyncio.ensure_future(gone())
    try:
        done, _ = await asyncio.wait(
            {outcome, leaving},
            timeout=deadline_s - quick_s,
            return_when=asyncio.FIRST_COMPLETED,
        )
    finally:
        leaving.cancel()
    if leaving in done and not outcome.done():
        raise FramingError("The client has gone: nobody reads the answer.")
    return outcome.done()
