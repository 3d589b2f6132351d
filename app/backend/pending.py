"""Queries that are registered and not applied yet: described from their registration until they are live.

The Results Structure knows a query once it is applied. Before that, those who registered it ask for it
all the same. Nothing of this outlives the process: the log has every registration. An API worker looks there
for those that were made through other workers, where the results do not know a handle.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from psoup.app.backend.applied import AppliedPosition
from psoup.engine import limits
from psoup.engine.errors import QueryFillingError
from psoup.engine.log.operation import QueryId
from psoup.engine.tuples.batch import Seq

FILLING: Final = "filling"


@dataclass(frozen=True, slots=True)
class FillingQuery:
    """One committed registration.

    Attributes:
        query_id: its handle.
        seq: the position that will make it visible.
        streams: names of the streams it reads.
        labels: as registered.
        description: what the registration was answered; its state is `filling`.
    """

    query_id: QueryId
    seq: Seq
    streams: frozenset[str]
    labels: Mapping[str, str]
    description: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FillingStatistics:
    """How many queries are being filled, as far as this process has registered them."""

    queries: int


class Filling:
    """Registrations by handle until they are applied. Used in the event loop alone.

    Invariant: what is held is applied later than the last look, and of the history that is gone on with. Each
    registration is put in line once and taken out once, so that holding many costs the next one nothing.
    """

    def __init__(self, applied: AppliedPosition) -> None:
        """Watch `applied`."""
        self._applied = applied
        self._history = applied.mark().history
        self._held: dict[QueryId, FillingQuery] = {}
        self._line: list[tuple[Seq, QueryId]] = []
        """A heap of what is held. Appends end in almost, not quite, the order of their positions."""

    def note(self, query: FillingQuery) -> None:
        """Remember a registration that was committed and is not applied. Cost: O(log held).

        One more than there can be queries is not remembered.
        """
        self._forget_applied()
        if len(self._line) < limits.QUERIES_COUNT_MAX:
            self._held[query.query_id] = query
            heapq.heappush(self._line, (query.seq, query.query_id))

    def find(self, query_id: QueryId) -> FillingQuery | None:
        """Return the query while it is being filled; None for every other."""
        self._forget_history()
        held = self._held.get(query_id)
        return held if held is not None and held.seq > self._applied.seq else None

    def queries(self) -> Sequence[FillingQuery]:
        """Return all that are being filled, in the order of their registration."""
        self._forget_applied()
        return sorted(self._held.values(), key=lambda one: one.seq)

    async def wait(self, query_id: QueryId, *, timeout_s: float) -> None:
        """Wait until the query is visible; one that is not being filled is not waited for.

        Raises:
            QueryFillingError: its old data are not applied within `timeout_s` seconds.
        """
        held = self.find(query_id)
        if held is not None:
            await self.wait_for(held.seq, timeout_s=timeout_s)

    async def wait_for(self, seq: Seq, *, timeout_s: float) -> None:
        """Wait until the registration at `seq` is applied.

        Raises:
            QueryFillingError: it is not within `timeout_s` seconds.
        """
        if not await self._applied.wait(seq, timeout_s=timeout_s):
            raise QueryFillingError(
                "The query is registered, and its old data are not applied yet. Invoke it again soon."
            )

    def statistics(self) -> FillingStatistics:
        """Return counters."""
        self._forget_applied()
        return FillingStatistics(len(self._held))

    def check(self) -> None:
        """Raise AssertionError if more is remembered than there can be queries, or for ever. For tests."""
        if len(self._line) > limits.QUERIES_COUNT_MAX:
            raise AssertionError(f"{len(self._line)} queries being filled")
        if not {(query.seq, one) for one, query in self._held.items()} <= set(self._line):
            raise AssertionError("a query that is being filled is in line to be forgotten")

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
