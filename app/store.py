"""What the service needs of a store. `storage.open_store` returns one; only the wiring knows which."""

from typing import Protocol

from engine.log.contract import Log
from engine.results.contract import ResultsStructure


class StoreHealth(Protocol):
    """How a store is. `reasons` are those of `/readyz`; none = it is ready."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Among `store-down`, `recovering`, `memory-high`, `config-drift`."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Memory the store uses for data; 0 where it does not say."""
        ...

    @property
    def memory_max_bytes(self) -> int | None:
        """The most it may use; None = no bound."""
        ...


class Store(Protocol):
    """The Log and the Results Structure over one set of data. Thread-safe."""

    @property
    def log(self) -> Log:
        """The one total order of operations."""
        ...

    @property
    def results(self) -> ResultsStructure:
        """What the engine publishes."""
        ...

    @property
    def durability(self) -> str:
        """`fsync`, `everysec` or `memory`: what a committed operation survives."""
        ...

    def health(self) -> StoreHealth:
        """Return how the store is; never raises."""
        ...

    def reopen(self) -> None:
        """Make the store usable again after it was away; else does nothing."""
        ...

    def close(self) -> None:
        """Let go of everything. Twice is harmless."""
        ...
