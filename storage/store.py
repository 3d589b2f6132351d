"""A store: the Log and the Results Structure over one set of data, and what is known of its health."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from engine import limits
from engine.log.contract import Log
from engine.results.contract import Position, ResultsStructure
from engine.tuples.batch import Seq


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
        reasons: among `store-down`, `recovering`, `no-engine` (none writes to it), `memory-high`, `config-drift`
            (it is set to keep less than `durability` says).
        memory_bytes: memory the store uses for data; 0 where it does not say.
        memory_max_bytes: the most it may use, None = no bound.
    """

    reasons: tuple[str, ...] = ()
    memory_bytes: int = 0
    memory_max_bytes: int | None = None


def memory_is_high(used: int, most: int) -> bool:
    """Return whether `used` bytes of a store's memory are near its bound, 0 = it has none."""
    return bool(most) and used * 100 > most * limits.STORE_MEMORY_HIGH_PERCENT


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

    @property
    def page_key(self) -> bytes:
        """The secret that page tokens are signed with: one for all processes of the store."""
        ...

    def take_over(self) -> float:
        """Become the one writer; return 0.0, or the seconds after which to try again: another engine has it.

        Nothing but `health` and `close` may be asked before. Twice is harmless.
        """
        ...

    def renew(self) -> None:
        """Say that the writer is alive. Raises FencedError where another one has taken over."""
        ...

    def position(self) -> Position:
        """Return where the store stands, all of one instant."""
        ...

    def wait_appended(self, after: Seq, timeout_s: float) -> bool:
        """Return once the log goes beyond a position, or after so many seconds; False at once where it cannot tell."""
        ...

    def tell(self, figures: bytes) -> None:
        """Let API workers know the engine's figures, in place of what was told before."""
        ...

    def reopen(self) -> None:
        """Make the store usable again after its server has died or restarted; else does nothing.

        Call it after StoreUnavailableError or RecoveringError, again until it returns. Everything this
        process has been told is committed or applied is then known to be there.

        Raises:
            StoreUnavailableError: still no answer.
            FencedError: another engine has taken over meanwhile.
            StoreUnsuitableError: it came back empty, or as another one.
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
