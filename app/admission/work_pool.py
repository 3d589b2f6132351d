"""Threads for work that would block the event loop: parsing, invoking, encoding, calls of the store.

Work that took less than a thread and back the last time is done in the event loop, as far as it takes no more again.

A caller waits until its deadline, whether a thread is free or not, and no longer than its client stays connected. Work
without a caller is not started; if it runs, it ends at its next checkpoint (`engine.checkpoint`) and frees its thread.
"""

import asyncio
import contextlib
import functools
import math
import threading
import time
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from psoup.app.errors import FramingError
from psoup.engine.checkpoint import checked_by
from psoup.engine.errors import OverloadedError
from psoup.engine.recent import Recent

Result = TypeVar("Result")
Gone = Callable[[], Awaitable[None]]

RETRY_AFTER_S: Final = 1
WATCHED_S: Final = 0.05
"""Work that takes longer watches whether its client is still connected; most work ends long before."""
QUICK_S: Final = 0.000_5
"""Work that took no longer is done in the event loop the next time: a thread and back take a fifth of that."""
AT_ONCE_S: Final = 0.002
"""Where it turns out to take longer it goes to a thread after all, at its next checkpoint."""
_QUICK_KEPT_MAX: Final = 4_096


@dataclass(frozen=True, slots=True)
class WorkStatistics:
    """Pieces of work of a pool.

    Attributes:
        running: queued or in a thread now.
        done: ended since the start, in whatever way.
        refused: whose callers stopped waiting at their deadline.
        abandoned: whose callers stopped waiting because their client had disconnected.
    """

    running: int
    done: int
    refused: int
    abandoned: int


class WorkPool:
    """A bounded number of threads. Used in one event loop."""

    def __init__(self, name: str, *, threads: int, advice: str = "Try again later.") -> None:
        """Prepare `threads` threads; each is started when it is first needed.

        `advice` tells clients what to do about work that was not done in time.
        """
        self._advice = advice
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"psoup-{name}")
        self._running = self._done = self._refused = self._abandoned = 0
        self._quick: Recent[Hashable, float] = Recent(_QUICK_KEPT_MAX, threading.Lock())
        """The seconds that work took the last time, by its key, where they were QUICK_S at most."""

    async def run(
        self,
        work: Callable[[], Result],
        *,
        deadline_s: float,
        gone: Gone | None = None,
        key: Hashable = None,
    ) -> Result:
        """Return what `work` returns, or raise what it raises.

        Args:
            work: called in a thread.
            deadline_s: seconds to wait at most.
            gone: returns when the client has disconnected; awaited where the work takes longer than WATCHED_S.
            key: of work that takes about as long each time, and may be begun anew where it ends at a checkpoint, or at
                a `check_hold`; None = it is always done in a thread.

        Raises:
            OverloadedError: the work was not done by the deadline; its result is dropped.
            FramingError: the client has disconnected.
        """
        note = None
        if key is not None:
            if deadline_s > 0 and self._quick.get(key) is not None:
                with contextlib.suppress(_NotQuickError):
                    return self._at_once(work, key)
            note = functools.partial(self._note, key)
        loop = asyncio.get_running_loop()
        piece = _Piece(work, latest=time.monotonic() + deadline_s, note=note)
        outcome = loop.create_future()
        future = self._threads.submit(piece)
        self._running += 1
        future.add_done_callback(lambda ended: self._pass_on(loop, ended, outcome))
        patience = _Patience(outcome, deadline_s, gone)
        try:
            result: Result = await outcome
        except PastDeadlineError:
            self._refused += 1
            raise _too_late(piece, self._advice) from None
        except (asyncio.CancelledError, FramingError):
            self._abandoned += 1
            raise
        finally:
            patience.end()
            piece.abandon()
            future.cancel()
        return result

    def close(self) -> None:
        """Drop queued work and wait for running work. Blocks."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def statistics(self) -> WorkStatistics:
        """Return counters."""
        return WorkStatistics(self._running, self._done, self._refused, self._abandoned)

    def check(self) -> None:
        """Raise AssertionError if a counter cannot be. For tests."""
        if self._running < 0 or self._refused + self._abandoned > self._done + self._running:
            raise AssertionError(f"counters of a pool: {self.statistics()}")

    def _at_once(self, work: Callable[[], Result], key: Hashable) -> Result:
        """Return what quick work returns. Raises what it does, and _NotQuickError where it is none any more."""
        begun = time.monotonic()
        latest = begun + AT_ONCE_S

        def check() -> None:
            if time.monotonic() > latest:
                raise _not_quick()

        try:
            with checked_by(check, holds=_refuse_hold):
                result = work()
        except _NotQuickError:
            self._quick.forget(key)
            self._done -= 1  # it ends in a thread
            raise
        finally:
            self._done += 1
        self._note(key, time.monotonic() - begun)
        return result

    def _note(self, key: Hashable, took_s: float) -> None:
        """Note how long work took that has come to its end; what held its thread took for ever. Any thread."""
        if took_s <= QUICK_S:
            self._quick.put(key, took_s)
        else:
            self._quick.forget(key)

    def _pass_on(
        self,
        loop: asyncio.AbstractEventLoop,
        ended: "Future[Result]",
        outcome: "asyncio.Future[Result]",
    ) -> None:
        """Pass the end of a piece of work on to the event loop. Any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits
            loop.call_soon_threadsafe(self._end, ended, outcome)

    def _end(self, ended: "Future[Result]", outcome: "asyncio.Future[Result]") -> None:
        self._running -= 1
        self._done += 1
        if outcome.done():  # the caller has stopped waiting
            return
        if ended.cancelled():
            outcome.cancel()
        elif (error := ended.exception()) is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(ended.result())


class PastDeadlineError(OverloadedError):
    """A checkpoint has ended work whose caller stopped waiting. Callers get the error of `_too_late` instead."""


class _NotQuickError(OverloadedError):
    """Work in the event loop takes longer than it did, or would hold it: it is begun anew in a thread."""


def _not_quick() -> _NotQuickError:
    return _NotQuickError("The work takes longer than it did.", reason="deadline")


def _refuse_hold() -> None:
    raise _not_quick()


class _Piece(Generic[Result]):
    """One piece of work on its way to a thread and through it."""

    def __init__(
        self, work: Callable[[], Result], *, latest: float, note: Callable[[float], None] | None
    ) -> None:
        self._work: Callable[[], Result] | None = work
        """None = the caller has stopped waiting."""
        self._latest = latest
        self._note = note
        """Is told the seconds that the work took, where somebody wants to know."""
        self._holds = False
        self.begun = False

    def __call__(self) -> Result:
        """Do the work, in a thread."""
        work = self._work
        if work is None:
            raise _unwanted()
        self._check()
        self.begun = True
        begun = time.monotonic()
        with checked_by(self._check, holds=self._hold):
            result = work()
        if self._note is not None:
            self._note(math.inf if self._holds else time.monotonic() - begun)
        return result

    def abandon(self) -> None:
        """Make the work end at its next checkpoint. Any thread.

        Work that has not begun stays queued until a thread takes it; what it refers to, maybe a body, is freed now.
        """
        self._work = None

    def _hold(self) -> None:
        self._holds = True

    def _check(self) -> None:
        # The clock as well: where threads crowd the event loop, it learns of a deadline late.
        if self._work is None or time.monotonic() > self._latest:
            raise _unwanted()


def _unwanted() -> PastDeadlineError:
    return PastDeadlineError("Nobody waits for this work any more.", reason="deadline")


class _Patience:
    """Fails an outcome at its deadline, or when the client has disconnected. Used in the event loop alone.

    Costs one timer where the outcome comes soon, as it mostly does.
    """

    def __init__(
        self, outcome: "asyncio.Future[Any]", deadline_s: float, gone: Gone | None
    ) -> None:
        self._loop = outcome.get_loop()
        self._outcome = outcome
        self._gone = gone
        self._leaving: asyncio.Future[None] | None = None
        self._latest = self._loop.time() + deadline_s
        first_s = deadline_s if gone is None else min(deadline_s, WATCHED_S)
        self._timer = self._loop.call_later(max(first_s, 0.0), self._look)

    def end(self) -> None:
        """Stop watching."""
        self._timer.cancel()
        if self._leaving is not None:
            self._leaving.cancel()

    def _look(self) -> None:
        left_s = self._latest - self._loop.time()
        if left_s <= 0 or self._gone is None:
            self._give_up(PastDeadlineError("Nobody waits for this work.", reason="deadline"))
            return
        self._leaving = asyncio.ensure_future(self._gone())
        self._leaving.add_done_callback(self._note_gone)
        self._gone = None
        self._timer = self._loop.call_later(left_s, self._look)

    def _note_gone(self, leaving: "asyncio.Future[None]") -> None:
        if not leaving.cancelled():
            self._give_up(FramingError("The client has gone: nobody reads the answer."))

    def _give_up(self, why: Exception) -> None:
        if not self._outcome.done():
            self._outcome.set_exception(why)


def _too_late(piece: _Piece[Any], advice: str) -> OverloadedError:
    """Return the error of a caller whose work was not done by its deadline."""
    detail = "The request's turn did not come before its deadline; it was not started."
    if piece.begun:
        detail = f"The work for the request was not done at its deadline, and was ended. {advice}"
    return OverloadedError(detail, reason="deadline", retry_after_s=RETRY_AFTER_S)
