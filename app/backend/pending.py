"""Queries that are registered and not applied yet, whichever process has taken them: the one place that knows them.

The Results Structure knows a query once it is applied. Before that, clients ask for it all the same. What this process
has registered it remembers, as it was answered; what others have registered the backend finds in the log. Nothing of
this outlives the process: the log has every registration.
"""

import heapq
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from psoup.app.backend.applied import AppliedPosition
from psoup.engine import limits
from psoup.engine.errors import QueryFillingError
from psoup.engine.log.operation import Operation, QueryId, Register
from psoup.engine.tuples.batch import Seq


@dataclass(frozen=True, slots=True)
class PendingQuery:
    """One committed registration that is not applied.

    Attributes:
        seq: the position that will make the query visible.
        content: as the log has it.
        description: what the registration was answered; None where another process has answered it.
    """

    seq: Seq
    content: Register
    description: Mapping[str, object] | None = None

    @property
    def query_id(self) -> QueryId:
        """Return the query's handle."""
        return self.content.query_id


@dataclass(frozen=True, slots=True)
class PendingStatistics:
    """How many of the queries that this process has registered are not applied."""

    queries: int


class PendingQueries:
    """Registrations by handle until they are applied. Any thread may ask; who awaits does so in the event loop.

    Invariant: what is held is applied later than the last look, and of the history that is gone on with. Each
    registration is put in line once and taken out once, so that holding many costs the next one nothing.
    """

    def __init__(
        self,
        applied: AppliedPosition,
        *,
        find: Callable[[QueryId], Operation | None],
        find_all: Callable[[], Sequence[Operation]],
    ) -> None:
        """Watch `applied`; `find` and `find_all` look for registrations of other processes, as a `Backend` does."""
        self._applied = applied
        self._find = find
        self._find_all = find_all
        self._lock = threading.Lock()
        self._history = applied.mark().history
        self._held: dict[QueryId, PendingQuery] = {}
        self._line: list[tuple[Seq, QueryId]] = []
        """A heap of what is held. Appends end in almost, not quite, the order of their positions."""

    def note(self, query: PendingQuery) -> None:
        """Remember a registration that was committed and is not applied. Cost: O(log held).

        One more than there can be queries is not remembered.
        """
        with self._lock:
            self._forget_applied()
            if len(self._line) < limits.QUERIES_COUNT_MAX:
                self._held[query.query_id] = query
                heapq.heappush(self._line, (query.seq, query.query_id))

    def held(self, query_id: QueryId) -> PendingQuery | None:
        """Return a query that this process has registered, until it is applied; None for every other. Asks nobody."""
        with self._lock:
            self._forget_history()
            held = self._held.get(query_id)
        return held if held is not None and held.seq > self._applied.seq else None

    def held_among(self, query_ids: Collection[QueryId]) -> list[QueryId]:
        """Return those of some queries that `held` knows. Asks nobody. Cost: O(1) where this process holds none."""
        with self._lock:
            self._forget_applied()
            return [one for one in query_ids if one in self._held] if self._held else []

    def find(self, query_id: QueryId) -> PendingQuery | None:
        """Return a query that is registered and not applied; None for every other.

        May block, and raise what the store does.
        """
        held = self.held(query_id)
        return _logged(self._find(query_id)) if held is None else held

    def all(self) -> Sequence[PendingQuery]:
        """Return all such queries, in the order of their registration. May block, and raise what the store does."""
        with self._lock:
            self._forget_applied()
            held = dict(self._held)
        logged = (_logged(operation) for operation in self._find_all())
        found = {one.query_id: one for one in logged if one is not None} | held
        return sorted(found.values(), key=lambda one: one.seq)

    async def wait(self, query_id: QueryId, *, timeout_s: float) -> None:
        """Wait until a query that this process has registered is applied; no other is waited for.

        Raises:
            QueryFillingError: it is not within `timeout_s` seconds.
        """
        held = self.held(query_id)
        if held is not None:
            await self.wait_for(held, timeout_s=timeout_s)

    async def wait_for(self, query: PendingQuery, *, timeout_s: float) -> None:
        """Wait until a query that was found is applied. Raises as `wait` does."""
        if not await self._applied.wait(query.seq, timeout_s=timeout_s):
            raise QueryFillingError(
                "The query is registered, and its old data are not applied yet. Invoke it again soon."
            )

    def statistics(self) -> PendingStatistics:
        """Return counters."""
        with self._lock:
            self._forget_applied()
            return PendingStatistics(len(self._held))

    def check(self) -> None:
        """Raise AssertionError if more is remembered than there can be queries, or for ever. For tests."""
        if len(self._line) > limits.QUERIES_COUNT_MAX:
            raise AssertionError(f"{len(self._line)} queries are pending")
        if not {(query.seq, one) for one, query in self._held.items()} <= set(self._line):
            raise AssertionError("a query that is pending is in line to be forgotten")

    def _forget_applied(self) -> None:
        """Forget those that are applied. Cost: O(log held) for each of them."""
        self._forget_history()
        applied = self._applied.seq
        while self._line and self._line[0][0] <= applied:
            seq, query_id = heapq.heappop(self._line)
            held = self._held.get(query_id)
            if held is not None and held.seq == seq:  # else it was noted again, at another position
                del self._held[query_id]

    def _forget_history(self) -> None:
        """Forget all of a history that has ended: what it had registered last may be lost."""
        history = self._applied.mark().history
        if history != self._history:
            self._history = history
            self._held.clear()
            self._line.clear()


def _logged(operation: Operation | None) -> PendingQuery | None:
    """Return a registration as the log has it; None for everything else."""
    if operation is None or not isinstance(operation.content, Register):
        return None
    return PendingQuery(operation.seq, operation.content)
