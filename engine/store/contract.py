"""What psoup's processes need of a store: the one that folds, and those that only append and read.

`storage/opening.py` returns them.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from psoup.engine.log.contract import Log
from psoup.engine.log.operation import Operation, QueryId
from psoup.engine.results.contract import Gen, Position, ResultsReader, ResultsStructure
from psoup.engine.store.archive_answers import Histories
from psoup.engine.store.condition import StoreCondition
from psoup.engine.tuples.batch import Seq


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
        reasons: among `store-down`, `recovering`, `no-engine` (none writes to it), `memory-high`. What only the engine
            looks at is in its `StoreCondition`.
        memory_bytes: memory the store uses for data; 0 where it does not say.
        memory_max_bytes: the most it may use, None = no bound.
    """

    reasons: tuple[str, ...] = ()
    memory_bytes: int = 0
    memory_max_bytes: int | None = None


class Store(Protocol):
    """The Log and the Results Structure over one set of data, for the process that folds. Thread-safe."""

    @property
    def log(self) -> Log:
        """The one total order of operations."""
        ...

    @property
    def results(self) -> ResultsStructure:
        """What the engine publishes."""
        ...

    @property
    def histories(self) -> Histories:
        """Answers that are computed from archives: beside the log, transient."""
        ...

    @property
    def durability(self) -> Durability:
        """What a committed operation survives."""
        ...

    @property
    def is_private(self) -> bool:
        """Whether no other engine can ever have it."""
        ...

    def health(self) -> StoreHealth:
        """Return how the store is; never raises."""
        ...

    def look(self) -> StoreCondition:
        """Look at what the store does not tell by itself, and hold up appends where it is not as it should be.

        For one thread, once it is taken over. Raises what the store does.
        """
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
        """Return where the store stands. Raises what the store does where it cannot say."""
        ...

    def wait_appended(self, after: Seq, timeout_s: float) -> bool:
        """Return once the log goes beyond a position, or after so many seconds; False at once where it cannot tell."""
        ...

    def tell(self, figures: bytes) -> None:
        """Let API workers know the engine's figures, in place of what was told before."""
        ...

    def reopen(self) -> None:
        """Make the store usable again after it was away; else does nothing."""
        ...

    def close(self) -> None:
        """Let go of everything. Twice is harmless."""
        ...


class WorkerStore(Protocol):
    """What one of many API workers does with a store: append, read, look how far the engine is. Thread-safe.

    It need not be there, or be opened by an engine, when the worker starts: calls raise until it is.
    """

    @property
    def log(self) -> Log:
        """The log. Workers append to it and read it; they never trim."""
        ...

    @property
    def results(self) -> ResultsReader:
        """What the engine has published."""
        ...

    @property
    def histories(self) -> Histories:
        """Answers that are computed from archives: beside the log, transient."""
        ...

    @property
    def durability(self) -> Durability:
        """The level the engine has found; EVERYSEC, the lower one, while that is not known."""
        ...

    @property
    def page_key(self) -> bytes:
        """The secret that page tokens are signed with. Raises where the store does not answer."""
        ...

    def confirm(self, gen: Gen) -> None:
        """Raise RecoveringError if another history than `gen` has been seen to begin. Asks nobody."""
        ...

    def position(self) -> Position:
        """Return where the store stands. Raises RecoveringError or StoreUnavailableError where nobody can say."""
        ...

    def wait(self, timeout_s: float) -> None:
        """Return once something was published, or after `timeout_s` seconds, or where it cannot be told."""
        ...

    def told(self) -> bytes | None:
        """Return the engine's figures, None = it has told none."""
        ...

    def registration(self, query_id: QueryId) -> Operation | None:
        """Return the registration of a query that is committed and not yet applied; None for every other."""
        ...

    def registrations(self) -> list[Operation]:
        """Return all registrations that are committed, not yet applied and not removed since, ascending by seq."""
        ...

    def health(self) -> StoreHealth:
        """Return how the store is; never raises."""
        ...

    def close(self) -> None:
        """Let go of everything. Twice is harmless."""
        ...
