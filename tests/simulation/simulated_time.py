"""The clocks of a simulated run: one that only goes on, and the server's, which steps."""

from tests.strategies import EPOCH_US

TICK_S = 0.001
"""How long a call takes that nothing holds up."""


class SimulatedTime:
    """Seconds since the run's begin for everybody, and the wall clock of the server, which steps."""

    def __init__(self) -> None:
        self.elapsed_s = 0.0
        self._ahead_us = EPOCH_US

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.elapsed_s += seconds

    def step_us(self, by_us: int) -> None:
        """Set the server's wall clock, forward or back."""
        self._ahead_us += by_us

    def server_us(self) -> int:
        """Return the server's wall clock."""
        return self._ahead_us + round(self.elapsed_s * 1_000_000)

    def monotonic(self) -> float:
        """Return what the processes' own clocks show."""
        return self.elapsed_s

    def monotonic_ns(self) -> int:
        """Return the same in nanoseconds."""
        return round(self.elapsed_s * 1_000_000) * 1_000
