"""The waiting room: who waits for which answer to change, and what wakes them.

Between two looks nothing is done. A look begins when a position was applied or an instant has come, and somebody waits;
positions that come while one is under way are looked at together by the next. Looks that take long are spaced out, so
that they take a fifth of a processor at most.
"""

import asyncio
import functools
import itertools
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar, cast

import structlog

from psoup.app.admission.work_pool import WorkPool
from psoup.app.backend.applied import AppliedPosition
from psoup.app.waiting.alarms import Alarms, AlarmStatistics, CallLater
from psoup.app.waiting.lookout import Errand, Lookout, LookoutStatistics, Sighting
from psoup.app.waiting.pace import Pace
from psoup.app.waiting.single_flight import SingleFlight
from psoup.app.waiting.standing import Standing
from psoup.app.waiting.watch import On, Waiter, Wake, Watch, release
from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.log.operation import QueryId

WOKEN_AT_ONCE: Final = 256
"""Then other requests get their turn."""
RETRY_S: Final = 1.0
"""After a look that the store did not let pass."""
SPACED_FROM_S: Final = 0.005
"""Looks that take less are not spaced out."""
SPACED_FACTOR: Final = 4
"""The others are followed by so many times what they have taken, which is left to the fold and to requests."""
SHED_AT_ONCE: Final = 64
SHED_EVERY_S: Final = 0.1
"""While requests are turned away, so many of those who wait give way, so often."""

Result = TypeVar("Result")
_LOG = structlog.get_logger("psoup.waiting")


@dataclass(frozen=True, slots=True)
class WaitingStatistics:
    """Who waits now, and since the start what became of those who did.

    Attributes:
        waiting: now.
        watched: queries that they wait for, each as often as somebody does.
        woken: because their answer may have changed.
        shed: because others had to be worked on.
        left: clients that had gone before anything happened.
        lookout, alarms: of the parts.
    """

    waiting: int
    watched: int
    woken: int
    shed: int
    left: int
    lookout: LookoutStatistics
    alarms: AlarmStatistics


class WaitingRoom:
    """Those who wait for answers to change. Used in one event loop; looks run in a thread of its own.

    Invariant: who waits from a standing is woken by every change behind it that concerns him, however it falls between
    his look at the answer and his coming here.
    """

    def __init__(
        self,
        applied: AppliedPosition,
        lookout: Lookout,
        pool: WorkPool,
        *,
        now_us: Callable[[], int],
        pace: Pace,
        call_later: CallLater | None = None,
        elapsed_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; nobody is woken before `start`. `stop` closes the pool.

        Args:
            applied: the position whose moves are told.
            lookout: looks at the queries.
            pool: threads for the answers of those who were woken.
            now_us: the store's clock; asks nobody.
            pace: how busy the service is.
            call_later: of the running event loop, if none is given.
            elapsed_s: measures how long looks take.
        """
        loop = asyncio.get_running_loop()
        self._call_later: CallLater = call_later or loop.call_later
        self.pace = pace
        self.pool = pool
        self.flights: SingleFlight[object] = SingleFlight()
        self._applied = applied
        self._history = applied.mark().history
        self._lookout = lookout
        self._elapsed_s = elapsed_s
        self._alarms = Alarms(self._call_later, now_us, self._ring)
        self._watches: dict[QueryId, Watch] = {}
        self._waiters: dict[Waiter, Sequence[Watch]] = {}
        """In the order in which they came."""
        self._audiences: dict[Waiter, Sized] = {}
        """Whom those among them wait for who wait for many."""
        self._watched = 0
        self._added: dict[QueryId, Standing] = {}
        self._dropped: dict[QueryId, None] = {}
        self._due: dict[QueryId, None] = {}
        self._moved = self._anew = self._closed = False
        self._wanted = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="psoup-look")
        self._looking: asyncio.Task[None] | None = None
        self._woken = self._shed = self._left = 0
        self._shed_s: float | None = None

    def start(self) -> None:
        """Begin to look when there is something to see."""
        self._looking = asyncio.get_running_loop().create_task(self._look_on())

    def close(self) -> None:
        """Wake everybody, and let nobody wait any more. Twice does nothing."""
        self._closed = True
        self._alarms.close()
        for watch in list(self._watches.values()):
            watch.wake_all(Wake.CLOSED)

    async def stop(self) -> None:
        """Close, and end the thread after its present look."""
        self.close()
        if self._looking is not None:
            self._looking.cancel()
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)
        await asyncio.to_thread(self.pool.close)

    def watched(self) -> Collection[QueryId]:
        """Return the queries that somebody waits for."""
        return self._watches.keys()

    async def shared(
        self, key: Hashable, work: Callable[[], Result], *, deadline_s: float
    ) -> Result:
        """Return what `work` returns, done in a thread once for all who ask under the same key meanwhile.

        Raises what `work` does, and OverloadedError where it is not done in `deadline_s` seconds.
        """

        async def compute() -> object:
            return await self.pool.run(work, deadline_s=deadline_s)

        return cast(Result, await self.flights.get(key, compute))

    async def wait(
        self,
        seen: Mapping[QueryId, Standing],
        *,
        on: On,
        timeout_s: float,
        leaving: asyncio.Future[None] | None = None,
        audience: Sized | None = None,
    ) -> Wake:
        """Wait until one of the answers that were seen may have changed; return why the wait has ended.

        Args:
            seen: queries that have just been answered, and where these answers stood.
            on: what ends the wait.
            timeout_s: seconds to wait at most.
            leaving: done when the client has disconnected.
            audience: those who were let in by `refusal`, and are waited for together here.

        It may end as CHANGED where nothing has; the caller looks, and waits again from where the new answers stand.
        Cost: O(queries), and a future and a timer.
        """
        if audience is None and (refusal := self.refusal(len(seen))) is not None:
            return refusal
        if self._closed:
            return Wake.CLOSED
        watches = [self._watch(query_id, at) for query_id, at in seen.items()]
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = watches
        if audience is not None:
            self._audiences[waiter] = audience
        self._watched += len(watches)
        timer = self._call_later(timeout_s, release, waiter, Wake.TIMED_OUT)
        note_left = functools.partial(self._note_left, waiter)
        try:
            for watch in watches:
                watch.add(waiter, seen[watch.query_id], on)
                self._alarms.set(watch.query_id, watch.alarm_us)
            if leaving is not None:
                leaving.add_done_callback(note_left)
            return await waiter
        finally:
            timer.cancel()
            if leaving is not None:
                leaving.remove_done_callback(note_left)
            self._leave(waiter)

    def note_released(self, why: Wake) -> None:
        """Take note that one of an audience listens no more."""
        self._left += why is Wake.LEFT
        self._shed += why is Wake.SHED

    def relieve(self) -> None:
        """Take it that a request was turned away: some of those who have waited longest give way."""
        self.pace.note_busy()
        now_s = self._elapsed_s()
        if self._shed_s is not None and now_s - self._shed_s < SHED_EVERY_S:
            return
        self._shed_s = now_s
        for waiter in list(itertools.islice(self._waiters, SHED_AT_ONCE)):
            self._shed += not waiter.done() and waiter not in self._audiences
            release(waiter, Wake.SHED)

    def statistics(self) -> WaitingStatistics:
        """Return counters."""
        listening = sum(len(audience) - 1 for audience in self._audiences.values())
        return WaitingStatistics(
            len(self._waiters) + listening,
            self._watched + listening,
            self._woken,
            self._shed,
            self._left,
            self._lookout.statistics(),
            self._alarms.statistics(),
        )

    def check(self) -> None:
        """Raise AssertionError if somebody is forgotten, or remembered in vain. For tests, between two looks."""
        for watch in self._watches.values():
            watch.check()
        self._alarms.check()
        self.flights.check()
        self.pool.check()
        self._lookout.check()
        watched = sum(map(len, self._waiters.values()))
        if sum(map(len, self._watches.values())) != self._watched or watched != self._watched:
            raise AssertionError(f"{self._watched} are watched, {self._watches}")
        if not all(map(len, self._watches.values())):
            raise AssertionError("a query is watched that nobody waits for")

    def refusal(self, queries: int) -> Wake | None:
        """Return why nobody may wait now for so many queries; None = he may."""
        if self._closed:
            return Wake.CLOSED
        if self.pace.is_busy or self._watched + queries > limits.WATCHED_QUERIES_MAX:
            self._shed += 1
            return Wake.SHED
        return None

    def _watch(self, query_id: QueryId, at: Standing) -> Watch:
        """Return the watch of a query, begun at `at` where nobody waits for it yet."""
        watch = self._watches.get(query_id)
        if not self._watches:  # while nobody waited, nobody listened
            self._applied.watch(self._note_applied)
            self._note_history()
        if watch is None:
            watch = self._watches[query_id] = Watch(query_id, at)
            self._added[query_id] = at
            if self._applied.seq != at.seq:  # something was applied since the answer was computed
                self._note_applied()
        return watch

    def _leave(self, waiter: Waiter) -> None:
        """Forget one who waits no more, and queries that he was the last to wait for."""
        watches = self._waiters.pop(waiter)
        self._audiences.pop(waiter, None)
        self._watched -= len(watches)
        for watch in watches:
            watch.remove(waiter)
            if len(watch) or self._watches.get(watch.query_id) is not watch:
                continue
            del self._watches[watch.query_id]
            self._alarms.set(watch.query_id, None)
            self._added.pop(watch.query_id, None)
            self._dropped[watch.query_id] = None
            if not self._watches:
                self._applied.unwatch(self._note_applied)

    def _note_left(self, waiter: Waiter, _: object) -> None:
        self._left += not waiter.done() and waiter not in self._audiences
        release(waiter, Wake.LEFT)

    def _note_applied(self) -> None:
        """Take note that the applied position has moved."""
        self._note_history()
        self._wanted.set()

    def _note_history(self) -> None:
        """Take note that streams may have moved, and of which history they are."""
        history = self._applied.mark().history
        self._anew |= history != self._history
        self._history, self._moved = history, True

    def _ring(self, query_ids: Collection[QueryId]) -> None:
        """Take note that an instant has come."""
        self._due.update(dict.fromkeys(query_ids))
        self._wanted.set()

    async def _look_on(self) -> None:
        """Look whenever there is something to see, until cancelled."""
        while True:
            await self._wanted.wait()
            begun_s = self._elapsed_s()
            rest_s = 0.0
            try:
                await self._look()
            except EngineError as error:
                _LOG.debug("not-looked", code=error.code)
                self._note_applied()
                rest_s = RETRY_S
            except Exception:  # noqa: BLE001 (a bug: who waits asks again when his time is up)
                _LOG.exception("look-failed")
                rest_s = RETRY_S
            took_s = self._elapsed_s() - begun_s
            if took_s > SPACED_FROM_S:
                rest_s = max(rest_s, took_s * SPACED_FACTOR)
            if rest_s:
                await asyncio.sleep(rest_s)

    async def _look(self) -> None:
        """Look once, and tell what was seen."""
        self._wanted.clear()
        errand = Errand(self._added, self._dropped, self._due, self._moved, self._anew)
        self._added, self._dropped, self._due = {}, {}, {}
        self._moved = self._anew = False
        loop = asyncio.get_running_loop()
        sightings = await loop.run_in_executor(self._thread, self._lookout.look, errand)
        woken = 0
        for sighting in sightings:
            woken += self._tell(sighting)
            if woken >= WOKEN_AT_ONCE:
                woken = 0
                await asyncio.sleep(0)

    def _tell(self, sighting: Sighting) -> int:
        """Wake those whom a sighting concerns; return how many those are."""
        watch = self._watches.get(sighting.query_id)
        if watch is None:
            return 0
        woken = 0
        if sighting.changed:
            woken = watch.change(sighting.place, entered=sighting.entered)
            self._woken += woken
        if sighting.standing is not None:
            watch.standing = sighting.standing
        self._alarms.set(watch.query_id, watch.alarm_us)
        return woken
