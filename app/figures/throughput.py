"""Throughput over the last 10 and 60 seconds, from counters that are read once a second.

The counters only grow; a rate is the difference of two readings over the time between them. The time is an argument.
"""

import itertools
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SPANS_S: Final = (10, 60)
"""Rates are given over the last so many seconds."""
NOTE_EVERY_S: Final = 1.0
"""Readings are kept this far apart, so that the ring has one for each second of the longest span."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Counters since the start: tuples and operations folded, queries answered."""

    tuples: int
    operations: int
    invocations: int


@dataclass(frozen=True, slots=True)
class Throughput:
    """Rates over `seconds` seconds; all are 0 before any time has passed."""

    seconds: float
    tuples_per_s: float
    operations_per_s: float
    invocations_per_s: float


@dataclass(frozen=True, slots=True)
class RingStatistics:
    """How many readings are kept."""

    readings: int


class ThroughputRing:
    """Readings of the last minute, one a second, and one older. Thread-safe."""

    def __init__(self) -> None:
        """Begin without readings."""
        self._readings: deque[tuple[float, Progress]] = deque()
        self._lock = threading.Lock()

    def is_due(self, at_s: float) -> bool:
        """Return whether a reading at this time would be kept."""
        return not self._readings or at_s >= self._readings[-1][0] + NOTE_EVERY_S

    def note(self, at_s: float, progress: Progress) -> None:
        """Keep a reading, unless it comes within NOTE_EVERY_S of the last one. Cost: O(1), amortised."""
        with self._lock:
            if not self.is_due(at_s):
                return
            self._readings.append((at_s, progress))
            while len(self._readings) > 1 and self._readings[1][0] <= at_s - max(SPANS_S):
                self._readings.popleft()

    def rates(self, at_s: float, progress: Progress) -> Mapping[int, Throughput]:
        """Return the rates up to now, by span in seconds; a span is shorter where no reading is old enough.

        Args:
            at_s: now, on the clock of the readings.
            progress: the counters now.
        """
        with self._lock:
            readings = list(self._readings)
        return {span_s: _rate(readings, span_s, at_s, progress) for span_s in SPANS_S}

    def statistics(self) -> RingStatistics:
        """Return counters."""
        return RingStatistics(len(self._readings))

    def check(self) -> None:
        """Raise AssertionError if readings are out of order, too near, or more than are needed. For tests."""
        times = [at_s for at_s, _ in self._readings]
        # Sums, as in `is_due`: differences of them may be rounded to less than a second.
        if any(later < earlier + NOTE_EVERY_S for earlier, later in itertools.pairwise(times)):
            raise AssertionError(f"readings are a second apart at least: {times}")
        if len(times) > max(SPANS_S) / NOTE_EVERY_S + 2:
            raise AssertionError(f"{len(times)} readings")


def _rate(
    readings: list[tuple[float, Progress]], span_s: int, at_s: float, progress: Progress
) -> Throughput:
    """Return the rates since the newest reading at least `span_s` old, or since the oldest one."""
    old_enough = [reading for reading in readings if reading[0] <= at_s - span_s]
    since_s, before = (old_enough[-1:] or readings[:1] or [(at_s, progress)])[0]
    seconds = at_s - since_s
    if seconds <= 0:
        return Throughput(0.0, 0.0, 0.0, 0.0)
    steps = [before, *(step for noted_s, step in readings if noted_s > since_s), progress]
    return Throughput(
        seconds,
        _growth([step.tuples for step in steps]) / seconds,
        _growth([step.operations for step in steps]) / seconds,
        _growth([step.invocations for step in steps]) / seconds,
    )


def _growth(counts: list[int]) -> int:
    """Return the growth of a counter. A smaller value than before is a counter that began anew: of another engine."""
    return sum(
        later - earlier if later >= earlier else later
        for earlier, later in itertools.pairwise(counts)
    )
