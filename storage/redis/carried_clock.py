"""The server's clock between its answers: what it last said, carried on by this process's own."""

import threading
import time


class CarriedClock:
    """Any thread may tell it what an answer said, and read it; it never goes back."""

    def __init__(self, now_us: int) -> None:
        """Begin with what the server has just said."""
        self._lock = threading.Lock()
        self._told_us = now_us
        self._ahead_us = now_us - _elapsed_us()

    def saw(self, now_us: int) -> None:
        """Take over what an answer that has just come says, be it later or earlier."""
        with self._lock:
            self._ahead_us = now_us - _elapsed_us()

    def behind_us(self) -> int:
        """Return how long the clock has to go to the latest it had reached; 0 = it was not set back."""
        with self._lock:
            return max(0, self._told_us - self._ahead_us - _elapsed_us())

    def now_us(self) -> int:
        """Return the server's clock in µs since 1970; where it was set back, the latest it had reached."""
        with self._lock:
            self._told_us = max(self._told_us, self._ahead_us + _elapsed_us())
            return self._told_us


def _elapsed_us() -> int:
    return time.monotonic_ns() // 1_000
