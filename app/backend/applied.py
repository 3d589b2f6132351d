"""Waiting until an operation has been applied: another thread tells, requests in the event loop wait."""

import asyncio
import heapq
import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from psoup.app.admission.slots import waiting
from psoup.engine.tuples.batch import Seq

UNMOVED_WAIT_S: Final = 1.0
"""While nothing applies operations, this is how long it is worth to wait for what would."""
_BEFORE_ALL: Final = Seq(-1)


@dataclass(frozen=True, slots=True)
class AppliedStatistics:
    """The applied position and how many wait for a later one."""

    applied: Seq
    waiting: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A position of one history, as it was looked at: `history` counts those that were begun before it."""

    history: int
    seq: Seq

    def of_any_age(self) -> "Mark":
        """Return the mark behind which all operations of this history lie."""
        return Mark(self.history, _BEFORE_ALL)


class AppliedPosition:
    """The applied seq, and those who wait for it to pass theirs. Invariant: within a history it only grows.

    A history is what one engine after the other goes on with. Where operations were lost another one begins, whose
    numbers may mean other operations: nobody who waits in one is told that it was applied in the other.
    `advance`, `begin_anew`, `set_stalled` and `close` may be called from any thread, the rest in the event loop's.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Stand before the first operation; `loop` is where the waiting happens."""
        self._loop = loop
        self._at = Mark(0, Seq(0))
        self._stalled = self._closed = False
        self._tickets = itertools.count()
        self._waiting: list[tuple[int, int, Mark, asyncio.Future[bool]]] = []
        self._announced = threading.Lock()
        self._watchers: list[Callable[[], None]] = []

    @property
    def seq(self) -> Seq:
        """Return the last applied seq."""
        return self._at.seq

    def mark(self) -> Mark:
        """Return where it stands: what is appended from now on lies behind it."""
        return self._at

    def watch(self, moved: Callable[[], None]) -> None:
        """Call `moved` in the event loop whenever the position has moved; what it moved to may be passed by then."""
        self._watchers.append(moved)

    def unwatch(self, moved: Callable[[], None]) -> None:
        """Do so no more."""
        self._watchers.remove(moved)

    def advance(self, seq: Seq) -> None:
        """Move to `seq` and wake those it passes. A smaller `seq` than before does nothing."""
        with self._announced:
            if seq <= self._at.seq:
                return
            self._at = Mark(self._at.history, seq)
        self._call(self._move)

    def begin_anew(self, seq: Seq) -> None:
        """Stand at `seq` of another history. Those who wait for operations of the one before are told no."""
        with self._announced:
            self._at = Mark(self._at.history + 1, seq)
        self._call(self._release_others)

    def set_stalled(self, *, stalled: bool) -> None:
        """Note whether an engine applies operations. While stalled, waits are capped at UNMOVED_WAIT_S.

        That holds for those who began to wait before as well, from now on.
        """
        began, self._stalled = stalled and not self._stalled, stalled
        if began:
            self._call(self._cap_waits)

    def close(self) -> None:
        """Wake everybody: nothing will be applied any more."""
        self._closed = True
        self._call(self._release_all)

    def shows(self, seq: Seq, *, since: Mark) -> bool:
        """Return whether `seq` is applied, of the history that `since` was taken in.

        Args:
            seq: the position of an operation that was appended after `since`.
            since: as `mark` returned it. An operation that does not lie behind it was appended to another history,
                of which nothing is known here yet.
        """
        at = self._at
        return since.history == at.history and since.seq < seq <= at.seq

    async def wait(self, seq: Seq, *, timeout_s: float, since: Mark | None = None) -> bool:
        """Return whether `seq` was applied within `timeout_s` seconds; `since` as for `shows`.

        A request whose client has its share of those that wait does not wait (`slots.waiting`).
        """
        mark = since or self._at.of_any_age()
        wait_s = min(timeout_s, UNMOVED_WAIT_S) if self._stalled else timeout_s
        ended = self._closed or mark.history != self._at.history
        if self.shows(seq, since=mark) or ended or wait_s <= 0:
            return self.shows(seq, since=mark)
        with waiting() as may_wait:
            if may_wait:
                await self._told(seq, mark, wait_s)
        return self.shows(seq, since=mark)

    def statistics(self) -> AppliedStatistics:
        """Return counters."""
        return AppliedStatistics(applied=self.seq, waiting=len(self._waiting))

    def check(self) -> None:
        """Raise AssertionError if somebody waits for what has been applied, or is not forgotten. For tests."""
        late = [
            seq
            for seq, _, mark, ticket in self._waiting
            if self.shows(Seq(seq), since=mark) and not ticket.done()
        ]
        if late:
            raise AssertionError(f"applied {self.seq} and still waited for: {late}")
        left = sum(ticket.cancelled() for *_, ticket in self._waiting)
        if left:
            raise AssertionError(f"{left} are remembered who wait no more")

    async def _told(self, seq: Seq, mark: Mark, wait_s: float) -> None:
        """Wait until there is something to see: `seq` was passed, its history has ended, or time is up."""
        ticket: asyncio.Future[bool] = self._loop.create_future()
        heapq.heappush(self._waiting, (seq, next(self._tickets), mark, ticket))
        self._release()  # it may have passed between the look and the push
        timer = self._loop.call_later(wait_s, _give_up, ticket)
        told = False
        try:
            told = await ticket
        finally:
            timer.cancel()
            if not told:
                self._leave(ticket)

    def _cap_waits(self) -> None:
        """Wake those who wait now in UNMOVED_WAIT_S, if nobody applies operations then either."""
        if waiting := [ticket for *_, ticket in self._waiting]:
            self._loop.call_later(UNMOVED_WAIT_S, self._give_up_on, waiting)

    def _give_up_on(self, tickets: list[asyncio.Future[bool]]) -> None:
        if self._stalled:
            for ticket in tickets:
                _give_up(ticket)

    def _leave(self, ticket: asyncio.Future[bool]) -> None:
        """Forget one who waits no more. Cost: O(those who wait), which the slots for waiting bound."""
        ticket.cancel()
        self._waiting = [one for one in self._waiting if one[-1] is not ticket]
        heapq.heapify(self._waiting)

    def _call(self, callback: Callable[[], None]) -> None:
        """Call `callback` in the event loop, soon."""
        try:
            if _runs_here(self._loop):
                self._loop.call_soon(callback)
            else:
                self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop is closed, so nobody waits in it
            self._closed = True

    def _release(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._at.seq:
            self._tell(heapq.heappop(self._waiting)[-1])

    def _release_others(self) -> None:
        """Wake those who wait in a history that has ended."""
        history = self._at.history
        ended = [one for one in self._waiting if one[2].history != history]
        self._waiting = [one for one in self._waiting if one[2].history == history]
        heapq.heapify(self._waiting)
        for *_, ticket in ended:
            self._tell(ticket)
        self._move()

    def _move(self) -> None:
        """Wake those who wait for what is applied now, and tell those who watch."""
        self._release()
        for moved in self._watchers:
            moved()

    def _release_all(self) -> None:
        for *_, ticket in self._waiting:
            self._tell(ticket)
        self._waiting.clear()

    @staticmethod
    def _tell(ticket: asyncio.Future[bool]) -> None:
        """Wake one who waits, and is remembered no more; what came of it he sees himself."""
        if not ticket.done():
            ticket.set_result(True)


def _give_up(ticket: asyncio.Future[bool]) -> None:
    """Wake one whose time is up."""
    if not ticket.done():
        ticket.set_result(False)


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether this is the thread of `loop`."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:  # no loop runs in it
        return False
