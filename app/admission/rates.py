"""Rates of each key, by token buckets in this process. A service without keys has no rates.

API workers of one service divide a rate among them: each fills its buckets with its share. Each allows the whole
burst, since a batch goes to one worker.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from psoup.app.errors import RateLimitedError


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate of `per_s` units a second; `burst` units at once from a full bucket."""

    per_s: float
    burst: float


RATES: Final = {
    "ingest": Rate(50, 100),
    "rows": Rate(20_000, 200_000),
    "invoke": Rate(100, 200),
    "register": Rate(10, 50),
}
"""`rows` may burst to one full batch, or a full batch could never be sent."""


@dataclass(frozen=True, slots=True)
class RateStatistics:
    """Counters of the buckets."""

    buckets: int
    refused: int


class Rates:
    """One bucket for each key and kind of work: no more buckets than keys times RATES. Thread-safe."""

    def __init__(
        self, *, processes: int = 1, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with full buckets. `monotonic_s` is the clock; `processes` share each rate."""
        self._processes = processes
        self._monotonic_s = monotonic_s
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}
        self._lock = threading.Lock()
        self._refused = 0

    def take(self, key_id: str | None, kind: str, units: float = 1) -> None:
        """Take `units` from a key's bucket. Without a key, does nothing.

        Raises:
            RateLimitedError: the bucket has fewer; the error says when it will have enough.
        """
        if key_id is None:
            return
        rate, per_s = RATES[kind], RATES[kind].per_s / self._processes
        with self._lock:
            now = self._monotonic_s()
            level, since = self._buckets.get((key_id, kind), (rate.burst, now))
            level = min(rate.burst, level + (now - since) * per_s)
            enough = level >= units
            self._buckets[key_id, kind] = (level - units if enough else level, now)
            self._refused += not enough
        if not enough:
            wait_s = max(1, math.ceil((units - level) / per_s))
            raise RateLimitedError(
                f"The key is over its rate of {kind}.",
                retry_after_s=wait_s,
                rate={
                    "RateLimit-Policy": f'"{kind}";q={per_s:g};w=1',
                    "RateLimit": f'"{kind}";r={int(level)};t={wait_s}',
                },
            )

    def statistics(self) -> RateStatistics:
        """Return counters."""
        return RateStatistics(len(self._buckets), self._refused)

    def check(self) -> None:
        """Raise AssertionError if a bucket holds more than its burst, or less than nothing. For tests."""
        for (key_id, kind), (level, _) in self._buckets.items():
            if not 0 <= level <= RATES[kind].burst:
                raise AssertionError(f"bucket of {key_id}, {kind}: {level}")
