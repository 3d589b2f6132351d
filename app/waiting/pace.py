"""How busy the service is, as far as those who wait are concerned: they give way first, and come back later."""

import time
from collections.abc import Callable
from typing import Final

POLL_AFTER_MS: Final = 5_000
"""What a client that does not wait leaves between two requests, where the service has nothing else to do."""
LATER_FACTOR: Final = 6
"""A client that could not wait comes back so many times later than one that does not want to, at least."""
BUSY_S: Final = 5.0
"""So long after a request was turned away nobody is let in to wait."""

_STEPS: Final = 1_000


class Pace:
    """Whether clients may wait, and when they are to come back. Used in the event loop alone."""

    def __init__(
        self, *, below: Callable[[int], int], elapsed_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin at leisure.

        Args:
            below: returns a number at random, from 0, below the one given.
            elapsed_s: a clock that only goes forward.
        """
        self._elapsed_s = elapsed_s
        self._below = below
        self._busy_until_s: float | None = None

    @property
    def is_busy(self) -> bool:
        """Return whether a request was turned away within BUSY_S."""
        return self._busy_until_s is not None and self._elapsed_s() < self._busy_until_s

    def note_busy(self) -> None:
        """Note that a request was turned away."""
        self._busy_until_s = self._elapsed_s() + BUSY_S

    def spread_s(self, seconds: float) -> float:
        """Return about `seconds`, up to a tenth more or less: so that what began together does not end together."""
        return seconds * (0.9 + self._below(_STEPS) / (5 * _STEPS))

    def poll_after_ms(self) -> int:
        """Return in how many milliseconds a client that does not wait is to ask again."""
        return self.later_ms() if self.is_busy else POLL_AFTER_MS

    def later_ms(self) -> int:
        """Return the same of a client that could not wait: spread, so that they do not come back together."""
        return LATER_FACTOR * POLL_AFTER_MS + self._below(POLL_AFTER_MS)
