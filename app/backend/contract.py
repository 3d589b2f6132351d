"""What stands behind the routes: the engine in this process, or what follows one in another process.

Routes ask it, and never which of the two it is.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from psoup.app.backend.at_hand import AtHand
from psoup.app.figures.engine import Figures
from psoup.engine.data.source import TupleSource
from psoup.engine.engine import CachedTuplesStatistics
from psoup.engine.log.operation import Operation, QueryId
from psoup.engine.results.contract import Gen, ResultsReader
from psoup.engine.store.condition import DISK_FULL


class Phase(StrEnum):
    """Where a backend stands. Its values are reasons of `/readyz`."""

    STANDBY = "standby"
    """Another engine writes to the store; this one waits."""
    RECOVERING = "recovering"
    LIVE = "live"
    STORE_DOWN = "store-down"
    DISK_FULL = DISK_FULL
    """The store is down, and cannot be started before there is space on its disk."""
    FAILED = "integrity"
    FENCED = "fenced"
    """Another engine has taken over while this one was held up: it ends."""
    STOPPED = "stopped"


class Backend(Protocol):
    """`FoldLoop`, which folds, or `Follower`, which reads what another process has folded. Thread-safe."""

    @property
    def phase(self) -> Phase:
        """Return where it stands."""
        ...

    @property
    def is_current(self) -> bool:
        """Return whether what it shows without its store is all that was ever told to be applied."""
        ...

    @property
    def grace_s(self) -> float:
        """Return how long a start waits for it to become live."""
        ...

    @property
    def reads_at_once(self) -> bool:
        """Return whether `results` are in this process's memory. Else reading them blocks, and may fail."""
        ...

    @property
    def results(self) -> ResultsReader:
        """Return the results at the applied position."""
        ...

    @property
    def source(self) -> TupleSource:
        """Return the tuples that invocations show."""
        ...

    @property
    def hit_bytes(self) -> int:
        """Return the bytes that the engine's hits take: `figures().footprint.hits`, and nothing built around it."""
        ...

    def start(self) -> None:
        """Start its thread."""
        ...

    def wait_recovered(self, timeout_s: float) -> bool:
        """Return whether it became live, or never will, within `timeout_s`. Blocks."""
        ...

    @property
    def at_hand(self) -> AtHand | None:
        """Return what takes operations that this process has appended; None = it applies none."""
        ...

    def wake(self, *, at_hand: bool = False, lone: bool = False) -> None:
        """Tell it that something was appended.

        Args:
            at_hand: all of it is at hand, so that the log need not be read.
            lone: the caller has nothing else to do: what takes as little as to wake another thread is applied in this.
        """
        ...

    def stop(self) -> None:
        """End its thread and wait for it. Blocks; twice does nothing."""
        ...

    def pending(self, query_id: QueryId) -> Operation | None:
        """Return the registration of a query that is committed and not applied, from the log; None for every other.

        Also None where this process takes all registrations: `PendingQueries` remembers those. May block, and raise
        what the store does.
        """
        ...

    def pending_all(self) -> Sequence[Operation]:
        """Return all such registrations, ascending by seq; none where `pending` returns None. May block likewise."""
        ...

    def confirm(self, gen: Gen) -> None:
        """Raise RecoveringError if tuples of an answer of `gen` may have been read from a later generation.

        To be asked when all of the answer has been read. Asks nobody.
        """
        ...

    def waiting_bytes(self) -> int | None:
        """Return the bytes of bodies committed and not applied; None where the engine is in this process.

        May block, and raise what the store does.
        """
        ...

    def tuples_cache(self) -> CachedTuplesStatistics | None:
        """Return counters of tuples that are read from the log and kept; None where the engine is in this process."""
        ...

    def figures(self) -> Figures:
        """Return the engine's figures, at most some seconds old."""
        ...

    def check(self) -> None:
        """Raise AssertionError if an invariant is broken. For tests, while nothing runs."""
        ...
