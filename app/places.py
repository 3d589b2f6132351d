"""Places for requests: so many are worked on at once by one process, and the others are told so at once.

Where more is asked for than can be answered, turning away is most of the work, and what it takes is missing for
answers. So it is decided where a request's head has been read (`app/protocol.py`), by a comparison, in front of
routing, keys and bodies.
"""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlaceStatistics:
    """How many are taken now, and how many requests found none since the start."""

    taken: int
    turned_away: int


class Places:
    """Counts the requests of one application. Only its event loop calls this."""

    def __init__(self, most: int, *, free: Collection[str] = ()) -> None:
        """Hold `most` places; requests for the paths `free` need none, such as health's."""
        self._most = most
        self._free = frozenset(one.encode() for one in free)
        self._taken = self._turned_away = 0

    def take(self) -> None:
        """Count a request that is worked on from now on."""
        self._taken += 1

    def leave(self) -> None:
        """Count one that was."""
        self._taken -= 1

    def turn_away(self, path: bytes) -> bool:
        """Return whether there is no place for a request for `path`, and count it if so."""
        if self._taken < self._most or path in self._free:
            return False
        self._turned_away += 1
        return True

    def statistics(self) -> PlaceStatistics:
        """Return counters."""
        return PlaceStatistics(self._taken, self._turned_away)

    def check(self) -> None:
        """Raise AssertionError if a counter cannot be. For tests."""
        if self._taken < 0:
            raise AssertionError(f"counters of places: {self.statistics()}")
