"""Wrong keys by address: whoever sends too many waits before another one is looked at.

While an address is over the limit its keys are not compared at all, the right one as little as a wrong one: the answer
would tell which it was. So clients behind one address share its limit.

Addresses of IPv6 are counted by their /64, which one client has as a whole. The table is bounded: the address longest
without a wrong key is forgotten first. Processes that answer for one service share the limit, one each at least.
"""

import ipaddress
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from psoup.app.errors import RateLimitedError
from psoup.app.http.edge import Scope
from psoup.app.settings import Settings
from psoup.engine import limits

_CLIENT_PREFIX: Final = 64
"""Bits of an IPv6 address that tell one client's network from another's."""
_NAME_LENGTH_MAX: Final = 64
"""Of what stands in X-Forwarded-For and is no address: the table is bounded in bytes as well."""
_FORWARDED: Final = b"x-forwarded-for"


@dataclass(frozen=True, slots=True)
class GuessStatistics:
    """Counters of wrong keys."""

    addresses: int
    failed: int
    refused: int


class Guesses:
    """The wrong keys of the last minute, by address. For the event loop's thread alone."""

    def __init__(
        self, *, processes: int = 1, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with none; `monotonic_s` is the clock by which they age, `processes` share the limit."""
        self._most = max(1, limits.AUTHENTICATION_FAILURES_MAX // processes)
        self._monotonic_s = monotonic_s
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        """When the last wrong keys of each address came, the oldest first; the address longest without one first."""
        self._failed = 0
        self._refused = 0

    def refuse_over(self, address: str) -> None:
        """Refuse a key from an address that has sent too many wrong ones.

        Raises:
            RateLimitedError: says when the next one is looked at.
        """
        failures = self._failures.get(counted_address(address))
        if failures is None or len(failures) < self._most:
            return
        wait_s = failures[0] + limits.AUTHENTICATION_FAILURES_S - self._monotonic_s()
        if wait_s > 0:
            self._refused += 1
            raise RateLimitedError(
                "Too many wrong keys came from this address: no key from it is looked at until Retry-After has passed.",
                retry_after_s=math.ceil(wait_s),
            )

    def failed(self, address: str) -> None:
        """Count a wrong key."""
        self._failed += 1
        name = counted_address(address)
        self._failures.setdefault(name, deque(maxlen=self._most)).append(self._monotonic_s())
        self._failures.move_to_end(name)
        if len(self._failures) > limits.AUTHENTICATION_ADDRESSES_MAX:
            self._failures.popitem(last=False)

    def statistics(self) -> GuessStatistics:
        """Return counters."""
        return GuessStatistics(len(self._failures), self._failed, self._refused)

    def check(self) -> None:
        """Raise AssertionError if there are too many addresses, or instants of one out of order. For tests."""
        if len(self._failures) > limits.AUTHENTICATION_ADDRESSES_MAX:
            raise AssertionError(f"{len(self._failures)} addresses")
        for address, failures in self._failures.items():
            if not failures or list(failures) != sorted(failures):
                raise AssertionError(f"wrong keys of {address}: {failures}")


def client_address(settings: Settings) -> Callable[[Scope], str]:
    """Return what finds the address of the client that a request is from.

    Behind a proxy that is the last one in X-Forwarded-For, the one that the proxy has put there: those before it are
    the client's own word. Where it has put none, all clients have the proxy's address.
    """
    return _forwarded if settings.behind_proxy else _peer


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _forwarded(scope: Scope) -> str:
    for name, value in reversed(scope["headers"]):
        if name == _FORWARDED:
            last: str = value.decode("latin-1").rpartition(",")[2].strip()
            return _without_port(last) or _peer(scope)
    return _peer(scope)


def _without_port(forwarded: str) -> str:
    """Return the address alone: some proxies add the client's port, which is another one each time."""
    if forwarded.startswith("["):
        return forwarded[1:].partition("]")[0]
    return forwarded.partition(":")[0] if forwarded.count(":") == 1 else forwarded


def counted_address(address: str) -> str:
    """Return under which name an address is counted: one client of IPv6 has a whole network of them."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:_NAME_LENGTH_MAX]
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _CLIENT_PREFIX), strict=False))
