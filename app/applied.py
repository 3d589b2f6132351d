"""Waiting until an operation has been applied: the fold's thread tells, requests in the event loop wait."""

import asyncio
import heapq
import itertools
import threading
from dataclasses import dataclass

from engine.tuples.batch import Seq


@dataclass(frozen=True, slots=True)
class AppliedStatistics:
    """The applied position and how many wait for a later one."""

    applied: Seq
    waiting: int


class AppliedPosition:
    """The applied seq, and those who wait for it to pass theirs. Invariant: it only grows.

    `advance` and `close` may be called from any thread; everything else in the event loop's.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Stand before the first operation; `loop` is where the waiting happens."""
        self._loop = loop
        self._applied = Seq(0)
        self._closed = False
        self._tickets = itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[bool]]] = []
        self._announced = threading.Lock()

    @property
    def seq(self) -> Seq:
        """Return the last applied seq."""
        return self._applied

    def advance(self, seq: Seq) -> None:
        """Move to `seq` and wake those it passes. A smaller `seq` than before does nothing."""
        with self._announced:
            if seq <= self._applied:
                return
            self._applied = seq
        self._call(self._release)

    def close(self) -> None:
        """Wake everybody: nothing will be applied any more."""
        self._closed = True
        self._call(self._release_all)

    async def wait(self, seq: Seq, *, timeout_s: float) -> bool:
        """Return whether `seq` was applied within `timeout_s` seconds."""
        if seq <= self._applied or self._closed or timeout_s <= 0:
            return seq <= self._applied
        ticket: asyncio.Future[bool] = self._loop.create_future()
        heapq.heappush(self._waiting, (seq, next(self._tickets), ticket))
        if seq <= self._applied:  # it passed between the look and the push
            self._release()
        done, _ = await asyncio.wait({ticket}, timeout=timeout_s)
        if not done:
            ticket.cancel()
        return seq <= self._applied

    def statistics(self) -> AppliedStatistics:
        """Return counters."""
        live = sum(not ticket.done() for _, _, ticket in self._waiting)
        return AppliedStatistics(applied=self._applied, waiting=live)

    def check(self) -> None:
        """Raise AssertionError if somebody waits for what has been applied. For tests."""
        late = [
            seq for seq, _, ticket in self._waiting if seq <= self._applied and not ticket.done()
        ]
        if late:
            raise AssertionError(f"applied {self._applied} and still waited for: {late}")

    def _call(self, callback: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)  # type: ignore[arg-type]
        except RuntimeError:  # the loop is closed, so nobody waits in it
            self._closed = True

    def _release(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._applied:
            ticket = heapq.heappop(self._waiting)[2]
            if not ticket.done():
                ticket.set_result(True)

    def _release_all(self) -> None:
        self._release()
        for _, _, ticket in self._waiting:
            if not ticket.done():
                ticket.set_result(False)
        self._waiting.clear()
