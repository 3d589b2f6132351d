"""Looks at a store that may stand still: one at a time, in a thread of its own, however many ask.

Who watches over a service has to be answered also while its store does not: with what was last seen, and the word that
this is not the present.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, TypeVar

from psoup.engine import limits

Value = TypeVar("Value")

STORE_SLOW: Final = "store-slow"
"""The reason of `/readyz` where a look is late."""


@dataclass(frozen=True, slots=True)
class Seen(Generic[Value]):
    """What a look has seen, or where `is_late` the one before it, None = there was none."""

    value: Value | None
    is_late: bool


@dataclass(frozen=True, slots=True)
class LookStatistics:
    """Looks begun, and answers that were given before theirs had ended."""

    looks: int
    late: int


class StoreLook(Generic[Value]):
    """Looks, one after the other, and what the last has seen. Thread-safe.

    Invariant: at most one look is under way; a store that does not answer holds one thread up, not one for each asker.
    """

    def __init__(
        self,
        look: Callable[[], Value],
        *,
        wait_s: float = limits.STORE_LOOK_S,
        elapsed_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look by `look`, which may block and raise; nobody waits for it longer than `wait_s` from its begin."""
        self._look = look
        self._wait_s = wait_s
        self._elapsed_s = elapsed_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="psoup-look")
        self._lock = Lock()
        self._under_way: Future[Value] | None = None
        self._begun_s = 0.0
        self._value: Value | None = None
        self._looks = self._late = 0

    def seen(self) -> Seen[Value]:
        """Return what a look sees that ends in time, else what was seen last. Blocks.

        Raises what the look does.
        """
        with self._lock:
            look = self._under_way
            if look is None or look.done():
                look = self._under_way = self._thread.submit(self._look)
                self._begun_s = self._elapsed_s()
                self._looks += 1
            left_s = self._begun_s + self._wait_s - self._elapsed_s()
        ended, _ = wait((look,), max(left_s, 0.0))
        if not ended:
            self._late += 1
            return Seen(self._value, is_late=True)
        self._value = look.result()
        return Seen(self._value, is_late=False)

    def close(self) -> None:
        """Wait for the look under way. Blocks."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def statistics(self) -> LookStatistics:
        """Return counters."""
        return LookStatistics(self._looks, self._late)

    def check(self) -> None:
        """Raise AssertionError if there can be no such counters. For tests."""
        if self._under_way is not None and not self._looks:
            raise AssertionError("a look under way is counted")
