"""What many ask for at once is computed once: those who come while it is being computed get the same result."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class FlightStatistics:
    """Results that are being computed, and since the start how many were, and for how many requests."""

    under_way: int
    computed: int
    asked: int


class SingleFlight(Generic[Result]):
    """Computations by key, as long as they are under way. Used in one event loop."""

    def __init__(self) -> None:
        """Begin with none."""
        self._flights: dict[Hashable, asyncio.Future[Result]] = {}
        self._computed = self._asked = 0

    async def get(self, key: Hashable, compute: Callable[[], Awaitable[Result]]) -> Result:
        """Return what `compute` returns, or what another call under this key is about to; raise likewise.

        A computation goes on where the caller that began it is cancelled: others may wait for it.
        """
        self._asked += 1
        flight = self._flights.get(key)
        if flight is None:
            flight = asyncio.ensure_future(compute())
            self._computed += 1
            self._flights[key] = flight
            flight.add_done_callback(lambda _: self._land(key))
        return await asyncio.shield(flight)

    def statistics(self) -> FlightStatistics:
        """Return counters."""
        return FlightStatistics(len(self._flights), self._computed, self._asked)

    def check(self) -> None:
        """Raise AssertionError if a result is kept that is there. For tests."""
        if any(flight.done() for flight in self._flights.values()):
            raise AssertionError(f"kept: {list(self._flights)}")

    def _land(self, key: Hashable) -> None:
        flight = self._flights.pop(key)
        if not flight.cancelled():
            flight.exception()  # whoever asked has been told, or is gone
