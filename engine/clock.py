"""Clocks, for the log and the app. The fold never reads one: arrival times come with operations."""

import time
from typing import Protocol


class Clock(Protocol):
    """Where the time comes from: microseconds since the epoch, UTC."""

    def now_us(self) -> int:
        """Return the present instant in microseconds since the epoch."""
        ...


class SystemClock:
    """The wall clock of this machine."""

    def now_us(self) -> int:
        """Return the wall clock in microseconds since the epoch."""
        return time.time_ns() // 1_000


class ManualClock:
    """A clock that moves only when told to: for tests and simulations."""

    def __init__(self, now_us: int) -> None:
        """Stand at `now_us`."""
        self._now_us = now_us

    def now_us(self) -> int:
        """Return the instant the clock was set to."""
        return self._now_us

    def advance(self, by_us: int) -> None:
        """Move by `by_us` microseconds; negative steps are allowed, as wall clocks take them too."""
        self._now_us += by_us
