"""What stands behind the routes: the engine in this process, or what follows one in another process."""

from enum import StrEnum
from typing import Protocol

from psoup.app.figures.engine import Figures
from psoup.engine.data.source import TupleSource
from psoup.engine.results.contract import ResultsReader
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
    def results(self) -> ResultsReader:
        """Return the results at the applied position."""
        ...

    @property
    def source(self) -> TupleSource:
        """Return the tuples that invocations show."""
        ...

    def start(self) -> None:
        """Start its thread."""
        ...

    def wait_recovered(self, timeout_s: float) -> bool:
        """Return whether it became live, or never will, within `timeout_s`. Blocks."""
        ...

    def wake(self) -> None:
        """Tell it that something was appended."""
        ...

    def stop(self) -> None:
        """End its thread and wait for it. Blocks; twice does nothing."""
        ...

    def figures(self) -> Figures:
        """Return the engine's figures, at most some seconds old."""
        ...

    def check(self) -> None:
        """Raise AssertionError if an invariant is broken. For tests, while nothing runs."""
        ...
