"""A store: the Log and the Results Structure over one set of data, and what is known of its health."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from engine.log.contract import Log
from engine.results.contract import ResultsStructure


class Durability(StrEnum):
    """What a committed operation survives; shown with every answer.

    MEMORY: nothing beyond the process. EVERYSEC: the death of any process, but for the last second.
    FSYNC: power failure.
    """

    MEMORY = "memory"
    EVERYSEC = "everysec"
    FSYNC = "fsync"


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """How a store is. `reasons` are those of `/readyz`, none = it is ready.

    Attributes:
        reasons: among `store-down`, `recovering`, `memory-high`, `config-drift` (it is set to keep less
            than `durability` says).
        memory_bytes: memory the store uses for data; 0 where it does not say.
        memory_max_bytes: the most it may use, None = no bound.
    """

    reasons: tuple[str, ...] = ()
    memory_bytes: int = 0
    memory_max_bytes: int | None = None


class Store(Protocol):
    """The two contracts of the engine over one set of data. Thread-safe."""

    @property
    def log(self) -> Log:
        """The one total order of operations."""
        ...

    @property
    def results(self) -> ResultsStructure:
        """What the engine publishes."""
        ...

    @property
    def durability(self) -> Durability:
        """The level at which an append has committed when it returns."""
        ...

    def health(self) -> StoreHealth:
        """Return how the store is. Never raises an error of the store: an absent one is a reason."""
        ...

    def reopen(self) -> None:
        """Make the store usable again after its server has died or restarted; else does nothing.

        Call it after StoreUnavailableError or RecoveringError, again until it returns. Everything this
        process has been told is committed or applied is then known to be there.

        Raises:
            StoreUnavailableError: still no answer.
            IntegrityError: it came back without something it had acknowledged. Stop; the next start
                begins a new generation.
        """
        ...

    def close(self) -> None:
        """Let go of the store; an embedded server is stopped. Twice is harmless.

        Raises:
            StoreUnavailableError: the embedded server does not end.
        """
        ...
