"""Units that clients share, slots or bytes: bounded in all, and for each client by its share.

A client is an address, or a key where there are keys. No single client can take all units.
"""

from dataclasses import dataclass
from typing import Final

SHARE_PERCENT: Final = 75
"""Of all units, for one client. Generous: behind a proxy, and on loopback, all clients come from one address."""


@dataclass(frozen=True, slots=True)
class ShareStatistics:
    """Units taken now, the most that were ever taken, and how often `take` was refused."""

    taken: int
    highest: int
    refused: int


class Shares:
    """Units taken by clients. Invariant: never more than `most` in all, nor more than its share by one client.

    Used in the event loop alone.
    """

    def __init__(self, most: int) -> None:
        """Begin with nothing taken."""
        self._most = most
        self._each = max(1, most * SHARE_PERCENT // 100)
        self._by_client: dict[str, int] = {}
        self._taken = self._highest = self._refused = 0

    @property
    def taken(self) -> int:
        """Return how many units are taken now."""
        return self._taken

    @property
    def is_full(self) -> bool:
        """Return whether all units are taken: nobody may take one, whoever it is."""
        return self._taken >= self._most

    def has_room(self, client: str, count: int = 1) -> bool:
        """Return whether `client` may take `count` units."""
        mine = self._by_client.get(client, 0)
        return self._taken + count <= self._most and mine + count <= self._each

    def take(self, client: str, count: int = 1) -> bool:
        """Take `count` units for `client` and return True; return False and take none where they are not free."""
        mine, taken = self._by_client.get(client, 0) + count, self._taken + count
        if taken > self._most or mine > self._each:
            self._refused += 1
            return False
        self._by_client[client] = mine
        self._taken = taken
        self._highest = max(self._highest, taken)
        return True

    def release(self, client: str, count: int = 1) -> None:
        """Release units that `client` has taken."""
        self._taken -= count
        left = self._by_client[client] - count
        if left:
            self._by_client[client] = left
        else:
            del self._by_client[client]

    def statistics(self) -> ShareStatistics:
        """Return counters."""
        return ShareStatistics(self._taken, self._highest, self._refused)

    def check(self) -> None:
        """Raise AssertionError if more is taken than may be, or a client is forgotten. For tests."""
        each = list(self._by_client.values())
        if sum(each) != self._taken or not 0 <= self._taken <= self._most:
            raise AssertionError(f"{self.statistics()} of {self._most}, {self._by_client}")
        if each and not 0 < min(each) <= max(each) <= self._each:
            raise AssertionError(f"at most {self._each} each: {self._by_client}")
