"""Bytes on their way between clients and the service, of all connections of one process: bounded together.

Bodies have a memory of their own (`app/http/bodies.py`): they are what the application asked for. Here are counted the
bytes that clients send before anybody asks, and the answers that they do not take.
"""

from dataclasses import dataclass

from psoup.app.admission.shares import Shares
from psoup.engine import limits


@dataclass(frozen=True, slots=True)
class TrafficStatistics:
    """Bytes that wait now, answers and requests for which there was no room, and connections given up."""

    unparsed_bytes: int
    unsent_bytes: int
    refused: int
    stalled: int


class Traffic:
    """What waits in the connections of one process. Used in the event loop alone.

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
        """Begin with nothing on its way."""
        self.unparsed = Shares(unparsed_bytes_max)
        self.unsent = Shares(unsent_bytes_max)
        self._stalled = 0

    def stall(self) -> None:
        """Count a connection that was given up because its client took nothing."""
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
