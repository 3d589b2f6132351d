"""A bound on the log lines that clients cause each second, from one address and from all; the rest are counted."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from psoup.engine import limits

_WINDOW_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Lines left out since the last `take_left_out`, and the address that most of them were about."""

    lines: int
    most_from: str


@dataclass(frozen=True, slots=True)
class BudgetStatistics:
    """Lines left out since the start, and addresses with lines in the current second."""

    left_out: int
    addresses: int


class LineBudget:
    """The lines of the current second. For one thread. Invariant: no count is above its limit.

    Memory is bounded: it keeps no more addresses, with lines and without, than lines are written in a second.
    """

    def __init__(
        self,
        *,
        per_address: int = limits.REQUEST_LINES_PER_ADDRESS_MAX,
        in_all: int = limits.REQUEST_LINES_MAX,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with the whole budget. `monotonic_s` is the clock."""
        self._per_address, self._in_all = per_address, in_all
        self._monotonic_s = monotonic_s
        self._ends_s = float("-inf")
        self._lines: dict[str, int] = {}
        self._left_out: dict[str, int] = {}
        self._used = self._pending = self._total = 0

    def take(self, address: str) -> bool:
        """Return whether a line about `address` may be written now, and count it."""
        now_s = self._monotonic_s()
        if now_s >= self._ends_s:
            self._ends_s, self._used = now_s + _WINDOW_S, 0
            self._lines.clear()
        used = self._lines.get(address, 0)
        if used < self._per_address and self._used < self._in_all:
            self._lines[address] = used + 1
            self._used += 1
            return True
        self._pending += 1
        self._total += 1
        if address in self._left_out or len(self._left_out) < self._in_all:
            self._left_out[address] = self._left_out.get(address, 0) + 1
        return False

    def take_left_out(self) -> LeftOut | None:
        """Return the lines left out since the last call, None where there are none, and count anew."""
        if not self._pending:
            return None
        left_out = LeftOut(self._pending, max(self._left_out, key=self._left_out.__getitem__))
        self._pending = 0
        self._left_out.clear()
        return left_out

    def statistics(self) -> BudgetStatistics:
        """Return counters."""
        return BudgetStatistics(self._total, len(self._lines))

    def check(self) -> None:
        """Raise AssertionError if a count is above its limit, or sums differ. For tests."""
        counts, left_out = self._lines.values(), self._left_out.values()
        over = self._used > self._in_all or max(counts, default=0) > self._per_address
        wrong = (
            sum(counts) != self._used
            or sum(left_out) > self._pending
            or self._pending > self._total
        )
        if over or wrong or len(left_out) > self._in_all:
            raise AssertionError(f"{self._lines}, left out {self._pending}: {self._left_out}")
