"""The connections of a process are bounded, in all and from one address; a few beyond the bounds are told so."""

import resource
from collections import Counter
from dataclasses import dataclass
from typing import Final

from psoup.app.errors import RateLimitedError
from psoup.app.hosts import is_loopback
from psoup.app.settings import Settings
from psoup.engine import limits
from psoup.engine.errors import EngineError, OverloadedError

_REFUSED_MAX: Final = limits.FILES_RESERVED // 4
"""Connections beyond `ConnectionAdmission.most` that get an answer; those beyond them are cut off."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One open connection, as it is counted.

    Attributes:
        address: of its client.
        is_extra: it is beyond the bound, and only open to be refused.
        refusal: the answer to its requests; None = it is served.
    """

    address: str
    is_extra: bool = False
    refusal: EngineError | None = None


@dataclass(frozen=True, slots=True)
class ConnectionStatistics:
    """Open connections, those of them that are counted by address, and those open only to be refused."""

    open: int
    by_address: int
    extra: int


class ConnectionAdmission:
    """Counts the connections of one process from their accept on. Used in the event loop alone.

    Attributes:
        most: connections that are served at once; more are refused.
    """

    def __init__(self, settings: Settings, *, count_loopback: bool) -> None:
        """Allow what `settings` and the system's limit of open files allow.

        `count_loopback` = local connections are counted by address as well.
        """
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.most = settings.connections
        if files != resource.RLIM_INFINITY:
            self.most = max(1, min(self.most, files - limits.FILES_RESERVED))
        self._per_address = settings.connections_per_address
        self._count_loopback = count_loopback
        self._by_address: Counter[str] = Counter()
        self._open = self._extra = 0

    def enter(self, address: str) -> Entry | None:
        """Count a connection from `address` until `leave`, and return its entry.

        None = enough connections are being refused already: this one is cut off, and is not counted.
        """
        if self._open >= self.most:
            if self._extra >= _REFUSED_MAX:
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
        """Count no more a connection that `enter` has counted."""
        if entry.is_extra:
            self._extra -= 1
            return
        self._open -= 1
        if self._counts(entry.address):
            self._by_address[entry.address] -= 1
            if not self._by_address[entry.address]:
                del self._by_address[entry.address]

    def statistics(self) -> ConnectionStatistics:
        """Return counters."""
        return ConnectionStatistics(self._open, self._by_address.total(), self._extra)

    def check(self) -> None:
        """Raise AssertionError if a counter cannot be. For tests."""
        numbers = self.statistics()
        fits = 0 <= numbers.by_address <= numbers.open <= self.most
        if (
            not fits
            or not 0 <= numbers.extra <= _REFUSED_MAX
            or any(count <= 0 for count in self._by_address.values())
        ):
            raise AssertionError(f"{numbers} of {self.most}, {self._by_address}")

    def _counts(self, address: str) -> bool:
        return bool(address) and (self._count_loopback or not is_loopback(address))
