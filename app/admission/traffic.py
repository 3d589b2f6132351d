"""One bound on the bytes that wait in all connections of a process: requests sent ahead, answers not taken.

Bodies that the application reads have a bound of their own (`app/http/bodies.py`).
"""

from dataclasses import dataclass

from psoup.app.admission.shares import Shares
from psoup.engine import limits


@dataclass(frozen=True, slots=True)
class TrafficStatistics:
    """Bytes that wait now; answers and requests refused for want of room, and connections closed as stalled."""

    unparsed_bytes: int
    unsent_bytes: int
    refused: int
    stalled: int


class Traffic:
    """Bytes that wait in the connections of one process. Used in the event loop alone.

    Attributes:
        unparsed: bytes that clients have sent ahead of their turn.
        unsent: bytes of answers that clients have not taken.
    """

    def __init__(
        self,
        *,
        unparsed_bytes_max: int = limits.REQUESTS_UNPARSED_BYTES_MAX,
        unsent_bytes_max: int = limits.ANSWERS_UNSENT_BYTES_MAX,
    ) -> None:
        """Begin with no bytes."""
        self.unparsed = Shares(unparsed_bytes_max)
        self.unsent = Shares(unsent_bytes_max)
        self._stalled = 0

    def stall(self) -> None:
        """Count a connection that was closed because its client read no answer."""
        self._stalled += 1

    def statistics(self) -> TrafficStatistics:
        """Return counters."""
        unparsed, unsent = self.unparsed.statistics(), self.unsent.statistics()
        refused = unparsed.refused + unsent.refused
        return TrafficStatistics(unparsed.taken, unsent.taken, refused, self._stalled)

    def check(self) -> None:
        """Raise AssertionError if a counter cannot be. For tests."""
        self.unparsed.check()
        self.unsent.check()
