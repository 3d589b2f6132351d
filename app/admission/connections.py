"""Which connections are let in: so many in all, so many from one address; a few more are told why not."""

import resource
from collections import Counter
from dataclasses import dataclass
from typing import Final

from psoup.app.errors import RateLimitedError
from psoup.app.settings import Settings, is_loopback
from psoup.engine import limits
from psoup.engine.errors import EngineError, OverloadedError

_TOLD_MAX: Final = limits.FILES_RESERVED // 4
"""Connections past the most that there may be, which are told so."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How one connection came in, until it leaves.

    Attributes:
        address: which it comes from.
        is_extra: it is past the most that there may be, and only told so.
        refusal: what it is told; None = it is served.
    """

    address: str
    is_extra: bool = False
    refusal: EngineError | None = None


@dataclass(frozen=True, slots=True)
class AdmissionStatistics:
    """Connections that are open, those of them counted by address, and those past the most that are told so."""

    open: int
    by_address: int
    extra: int


class Admission:
    """Counts the connections of one process, from when they are accepted. Used in the event loop alone.

    Attributes:
        most: open at once; more are refused.
    """

    def __init__(self, settings: Settings, *, count_loopback: bool) -> None:
        """Let in what `settings` allow, and the system; `count_loopback` counts local ones by address as well."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.most = settings.connections
        if files != resource.RLIM_INFINITY:
            self.most = max(1, min(self.most, files - limits.FILES_RESERVED))
        self._per_address = settings.connections_per_address
        self._count_loopback = count_loopback
        self._by_address: Counter[str] = Counter()
        self._open = self._extra = 0

    def enter(self, address: str) -> Entry | None:
        """Count a connection from `address` until `leave`, and return how it came in.

        None = a crowd past the most is being told so already: this connection is cut off, and was not counted.
        """
        if self._open >= self.most:
            if self._extra >= _TOLD_MAX:
                return None
            self._extra += 1
            full = OverloadedError(
                "As many connections are open as the service holds.", reason="connections"
            )
            return Entry(address, is_extra=True, refusal=full)
        self._open += 1
        if not self._counts(address):
            return Entry(address)
        self._by_address[address] += 1
        if self._by_address[address] <= self._per_address:
            return Entry(address)
        crowded = RateLimitedError(
            "Too many connections are open from this address: use the ones there are."
        )
        return Entry(address, refusal=crowded)

    def leave(self, entry: Entry) -> None:
        """Count a connection that has entered no more."""
        if entry.is_extra:
            self._extra -= 1
            return
        self._open -= 1
        if self._counts(entry.address):
            self._by_address[entry.address] -= 1
            if not self._by_address[entry.address]:
                del self._by_address[entry.address]

    def statistics(self) -> AdmissionStatistics:
        """Return counters."""
        return AdmissionStatistics(self._open, self._by_address.total(), self._extra)

    def check(self) -> None:
        """Raise AssertionError if a counter cannot be. For tests."""
        numbers = self.statistics()
        fits = 0 <= numbers.by_address <= numbers.open <= self.most
        if (
            not fits
            or not 0 <= numbers.extra <= _TOLD_MAX
            or any(count <= 0 for count in self._by_address.values())
        ):
            raise AssertionError(f"{numbers} of {self.most}, {self._by_address}")

    def _counts(self, address: str) -> bool:
        return bool(address) and (self._count_loopback or not is_loopback(address))
