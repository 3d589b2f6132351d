"""Which connections are let in: so many in all, so many from one address; a few more are told why not."""

import resource
from collections import Counter
from dataclasses import dataclass
from typing import Final

from app.errors import RateLimitedError
from app.settings import Settings, is_loopback
from engine import limits
from engine.errors import EngineError, OverloadedError

_TOLD_MAX: Final = limits.FILES_RESERVED // 4
"""Connections past the most that there may be, which are told so."""


@dataclass(frozen=True, slots=True)
class AdmissionStatistics:
    """Connections that are counted by address, and those past the most that are told so and about to end."""

    by_address: int
    told: int


class Admission:
    """Counts the connections of one process. Used in the event loop alone.

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
        self._told: set[object] = set()

    def tell(self, connection: object) -> EngineError | None:
        """Return what a connection is told that is one too many, until `forget`; None where a crowd of them is."""
        if len(self._told) >= _TOLD_MAX:
            return None
        self._told.add(connection)
        return OverloadedError(
            "As many connections are open as the service holds.", reason="connections"
        )

    def enter(self, address: str) -> EngineError | None:
        """Count a connection until `leave`; return what it is told if its address has too many, else None."""
        if not self._counts(address):
            return None
        self._by_address[address] += 1
        if self._by_address[address] <= self._per_address:
            return None
        return RateLimitedError(
            "Too many connections are open from this address: use the ones there are."
        )

    def forget(self, connection: object) -> None:
        """End a connection that was one too many."""
        self._told.discard(connection)

    def leave(self, address: str) -> None:
        """Count no more a connection that has entered."""
        if self._counts(address):
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def statistics(self) -> AdmissionStatistics:
        """Return counters."""
        return AdmissionStatistics(self._by_address.total(), len(self._told))

    def check(self) -> None:
        """Raise AssertionError if a counter cannot be. For tests."""
        if len(self._told) > _TOLD_MAX or any(count <= 0 for count in self._by_address.values()):
            raise AssertionError(f"{self.statistics()}, {self._by_address}")

    def _counts(self, address: str) -> bool:
        return bool(address) and (self._count_loopback or not is_loopback(address))
