"""The part of a `Backend` that concerns other processes, where the engine is in this one: they are not asked."""

from collections.abc import Sequence
from typing import Final

from psoup.engine.engine import CachedTuplesStatistics
from psoup.engine.log.operation import Operation, QueryId
from psoup.engine.results.contract import Gen

RECOVERY_GRACE_S: Final = 5.0
"""Most services have recovered by then, and so are ready when they listen."""


class InProcess:
    """Base of a `Backend` whose engine is in this process. It holds nothing."""

    grace_s: float = RECOVERY_GRACE_S
    reads_at_once: bool = True

    def pending(self, query_id: QueryId) -> Operation | None:
        """Return None: this process takes all registrations itself."""
        return None

    def pending_all(self) -> Sequence[Operation]:
        """Return none: this process takes all registrations itself."""
        return ()

    def confirm(self, gen: Gen) -> None:
        """Do nothing: an engine folds one generation from its start to its end."""

    def waiting_bytes(self) -> int | None:
        """Return None: the store is not asked for it."""
        return None

    def tuples_cache(self) -> CachedTuplesStatistics | None:
        """Return None: tuples are the engine's."""
        return None
