"""Places for requests: so many are worked on at once by one process, and the others are told so at once.

Where more is asked for than can be answered, turning away is most of the work, and what it takes is missing for
answers. So it is decided where a request's head has been read (`app/protocol.py`), by a comparison, in front of
routing, keys and bodies; and once more where the request begins, for those that stood behind another one in a pipeline.
"""

from collections.abc import Collection
from dataclasses import dataclass

from engine.errors import OverloadedError


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
        self._free = frozenset(free)
        self._taken = self._expected = self._turned_away = 0

    def expect(self, path: str) -> bool:
        """Return whether there is a place for a request whose head is there, and keep it until `end_turn`.

        A turn of the event loop reads hundreds of heads before the first of their requests is begun.
        """
        if path in self._free:
            return True
        if self._taken + self._expected >= self._most:
            self._turned_away += 1
            return False
        self._expected += 1
        return True

    def end_turn(self) -> None:
        """Keep no place for requests that were expected: they are begun from now on, or never."""
        self._expected = 0

    def enter(self, path: str) -> None:
        """Take a place for a request that begins. Raises OverloadedError where there is none."""
        if path in self._free:
            return
        if self._taken >= self._most:
            self._turned_away += 1
            raise no_place()
        self._taken += 1

    def leave(self, path: str) -> None:
        """Give the place back."""
        if path not in self._free:
            self._taken -= 1

    def statistics(self) -> PlaceStatistics:
        """Return counters."""
        return PlaceStatistics(self._taken, self._turned_away)

    def check(self) -> None:
        """Raise AssertionError if a counter cannot be. For tests."""
        if not 0 <= self._taken <= self._most or not 0 <= self._expected <= self._most:
            raise AssertionError(f"{self._expected} expected, {self.statistics()}")


def no_place() -> OverloadedError:
    """Return what a request is told that finds no place."""
    return OverloadedError(
        "As many requests as the service holds are being worked on.", reason="requests-in-flight"
    )
