"""Wrong keys by address: after too many of them an address has to wait until its next key is compared.

While an address is over the limit none of its keys are compared, not even the right one: the answer would reveal which
it was. So clients behind one address share its limit.

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
"""Texts in X-Forwarded-For that are no address are cut to it, so that the table is bounded in bytes too."""
_FORWARDED: Final = b"x-forwarded-for"


@dataclass(frozen=True, slots=True)
class GuessStatistics:
    """Counters of wrong keys."""

    addresses: int
    failed: int
    refused: int


class Guesses:
    """The wrong keys of the last minute, by address. Used in the event loop alone."""

    def __init__(
        self, *, processes: int = 1, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with none. `monotonic_s` is the clock; `processes` share the limit."""
        self._most = max(1, limits.AUTHENTICATION_FAILURES_MAX // processes)
        self._monotonic_s = monotonic_s
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        """When the last wrong keys of each address came, the oldest first; the address longest without one first."""
        self._failed = 0
        self._refused = 0

    def refuse_over(self, address: str) -> None:
        """Refuse a key from an address that has sent too many wrong ones.

        Raises:
            RateLimitedError: it says when the next key will be compared.
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
    """Return a function from a request's scope to its client's address.

    Behind a proxy it is the last address in X-Forwarded-For, which the proxy has added: the client may have written
    those before it. Where the proxy adds none, all clients have the proxy's address.
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
    """Return the address without the client's port, which some proxies add and which changes each time."""
    if forwarded.startswith("["):
        return forwarded[1:].partition("]")[0]
    return forwarded.partition(":")[0] if forwarded.count(":") == 1 else forwarded


def counted_address(address: str) -> str:
    """Return the name that an address is counted by: of IPv6 its network, all of which one client has."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:_NAME_LENGTH_MAX]
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _CLIENT_PREFIX), strict=False))
