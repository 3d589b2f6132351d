"""Instants at which answers change by the clock alone: one timer for each distinct instant."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Protocol

from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import QueryId

_FARTHEST_S: Final = 3_600.0
"""A timer is set no farther ahead, and then anew: clocks drift apart."""
_LEAST_S: Final = 0.001
"""As exact as timers of the event loop are."""


class CallLater(Protocol):
    """`call_later` of an event loop."""

    def __call__(
        self, delay: float, callback: Callable[..., object], *args: object
    ) -> asyncio.TimerHandle:
        """Call `callback` in `delay` seconds."""
        ...


@dataclass(frozen=True, slots=True)
class AlarmStatistics:
    """Instants that have a timer, queries that wait for one, and how often a timer has rung since the start."""

    timers: int
    queries: int
    rung: int


class Alarms:
    """Wakes queries at instants of the store's clock. Used in the event loop alone."""

    def __init__(
        self,
        call_later: CallLater,
        now_us: Callable[[], int],
        ring: Callable[[Collection[QueryId]], None],
    ) -> None:
        """Set timers with `call_later`; call `ring` with the queries whose instant has come by the clock `now_us`."""
        self._call_later = call_later
        self._now_us = now_us
        self._ring = ring
        self._rung = 0
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._queries: dict[int, dict[QueryId, None]] = {}
        self._instants: dict[QueryId, int] = {}

    def set(self, query_id: QueryId, instant_us: int | None) -> None:
        """Let a query ring at an instant, and no longer at the one of before; None = at none. Cost: O(1)."""
        before_us = self._instants.get(query_id)
        if before_us == instant_us:
            return
        if before_us is not None:
            self._leave(query_id, before_us)
        if instant_us is None:
            return
        self._instants[query_id] = instant_us
        queries = self._queries.setdefault(instant_us, {})
        queries[query_id] = None
        if len(queries) == 1:
            self._start(instant_us)

    def close(self) -> None:
        """Cancel all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._queries.clear()
        self._instants.clear()

    def statistics(self) -> AlarmStatistics:
        """Return counters."""
        return AlarmStatistics(len(self._timers), len(self._instants), self._rung)

    def check(self) -> None:
        """Raise AssertionError unless each instant has its timer, and each query its instant. For tests."""
        by_query = {one: us for us, queries in self._queries.items() for one in queries}
        if by_query != self._instants or self._timers.keys() != self._queries.keys():
            raise AssertionError(f"{self._instants}, {self._queries}, {list(self._timers)}")

    def _leave(self, query_id: QueryId, instant_us: int) -> None:
        del self._instants[query_id]
        queries = self._queries[instant_us]
        del queries[query_id]
        if not queries:
            del self._queries[instant_us]
            self._timers.pop(instant_us).cancel()

    def _start(self, instant_us: int) -> None:
        left_s = (instant_us - self._now_us()) / SECOND_US
        delay_s = min(max(left_s, _LEAST_S), _FARTHEST_S)
        self._timers[instant_us] = self._call_later(delay_s, self._look, instant_us)

    def _look(self, instant_us: int) -> None:
        """Ring, if the instant has come by the store's clock too."""
        if self._now_us() < instant_us:
            self._start(instant_us)
            return
        self._rung += 1
        del self._timers[instant_us]
        queries = self._queries.pop(instant_us)
        for query_id in queries:
            del self._instants[query_id]
        self._ring(queries)
