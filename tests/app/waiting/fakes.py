"""A waiting room at a clock that is moved by hand, over a lookout that sees what a test tells it."""

import asyncio
import contextlib
import heapq
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from psoup.app.admission.work_pool import WorkPool
from psoup.app.backend.applied import AppliedPosition
from psoup.app.waiting.lookout import Errand, LookoutStatistics, Sighting
from psoup.app.waiting.pace import Pace
from psoup.app.waiting.room import WaitingRoom
from psoup.app.waiting.standing import Standing
from psoup.engine.invocation.position.answer import Since
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import Gen
from psoup.engine.tuples.batch import Seq

GEN = Gen(7)
Q, R = QueryId("q_one"), QueryId("q_two")


@dataclass
class Timer:
    """What `FakeTime.call_later` returns."""

    callback: Callable[[], object]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeTime:
    """A clock of seconds and a `call_later` that follows it."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._order = itertools.count()
        self._timers: list[tuple[float, int, Timer]] = []

    def call_later(self, delay: float, callback: Callable[..., object], *args: object) -> Any:
        timer = Timer(lambda: callback(*args))
        heapq.heappush(self._timers, (self.now_s + delay, next(self._order), timer))
        return timer

    @property
    def left(self) -> int:
        """How many timers are set."""
        return sum(not timer.cancelled for *_, timer in self._timers)

    def now_us(self) -> int:
        return round(self.now_s * SECOND_US)

    def elapsed_s(self) -> float:
        return self.now_s

    def pass_s(self, seconds: float) -> None:
        """Let time pass, and call what is due, in order."""
        end_s = self.now_s + seconds
        while self._timers and self._timers[0][0] <= end_s:
            at_s, _, timer = heapq.heappop(self._timers)
            self.now_s = max(self.now_s, at_s)
            if not timer.cancelled:
                timer.callback()
        self.now_s = end_s


@dataclass
class FakeLookout:
    """Sees `next_sightings` at the next look, and remembers its errands."""

    errands: list[Errand] = field(default_factory=list)
    next_sightings: list[Sighting] = field(default_factory=list)
    error: Exception | None = None
    before_answer: Callable[[], None] = lambda: None

    def look(self, errand: Errand) -> list[Sighting]:
        self.errands.append(errand)
        self.before_answer()
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        found, self.next_sightings = self.next_sightings, []
        return found

    def statistics(self) -> LookoutStatistics:
        return LookoutStatistics(0, len(self.errands), 0)

    def check(self) -> None:
        pass


@dataclass
class Room:
    """A room, and what moves it."""

    room: WaitingRoom
    applied: AppliedPosition
    lookout: FakeLookout
    time: FakeTime

    async def settle(self) -> None:
        """Let everything run that can."""
        for _ in range(20):
            await asyncio.sleep(0)
        await asyncio.sleep(0.02)

    async def see(self, seq: int, *sightings: Sighting) -> None:
        """Apply up to `seq`, and have the look at it see this."""
        self.lookout.next_sightings += sightings
        self.applied.advance(Seq(seq))
        await self.settle()


@contextlib.asynccontextmanager
async def opened() -> AsyncIterator[Room]:
    """Yield a room that is open, at position 1."""
    time, lookout = FakeTime(), FakeLookout()
    applied = AppliedPosition(asyncio.get_running_loop())
    applied.advance(Seq(1))
    room = WaitingRoom(
        applied,
        lookout,  # type: ignore[arg-type] # as far as a room knows it
        WorkPool("woken", threads=1),
        now_us=time.now_us,
        pace=Pace(below=lambda _: 0, elapsed_s=time.elapsed_s),
        call_later=time.call_later,
        elapsed_s=time.elapsed_s,
    )
    room.start()
    one = Room(room, applied, lookout, time)
    await one.settle()
    try:
        yield one
        room.check()
    finally:
        await room.stop()


def standing(
    seq: int = 1, *, now_us: int = 0, alarm_us: int | None = None, enters: bool = False
) -> Standing:
    """Return a standing at a position and an instant."""
    return Standing(Seq(seq), Since(GEN, Seq(seq), now_us, (), alarm_us, 0), alarm_us, enters)


def changed(query_id: QueryId, at: Standing, *, entered: bool = True) -> Sighting:
    """Return the sighting of a change up to `at`."""
    return Sighting(query_id, at.place, changed=True, entered=entered, standing=at)


def still(query_id: QueryId, at: Standing) -> Sighting:
    """Return the sighting of an answer that has not changed, but stands elsewhere."""
    return Sighting(query_id, at.place, changed=False, entered=False, standing=at)
