"""`memory://`: both contracts inside the process, nothing kept. Also the model other stores are compared with."""

from engine.clock import Clock
from storage.memory_log import MemoryLog
from storage.memory_results import MemoryResults
from storage.store import Durability, StoreHealth


class MemoryStore:
    """A store that lives as long as the process."""

    def __init__(self, clock: Clock) -> None:
        """Begin an empty history at the clock's present instant."""
        self._log = MemoryLog(clock)
        self._results = MemoryResults(clock.now_us, self._log)

    @property
    def log(self) -> MemoryLog:
        """The log."""
        return self._log

    @property
    def results(self) -> MemoryResults:
        """The Results Structure."""
        return self._results

    @property
    def durability(self) -> Durability:
        """MEMORY: nothing outlives the process."""
        return Durability.MEMORY

    def health(self) -> StoreHealth:
        """Return a healthy store without bounds of its own."""
        return StoreHealth()

    def reopen(self) -> None:
        """Do nothing: it cannot have been away."""

    def close(self) -> None:
        """Do nothing: the memory goes with the last reference."""
