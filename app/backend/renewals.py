"""Renewals: a query with a time to live that is used lives on.

Who answers from a query notes that. Once a second the queries are renewed, together, of whose time a tenth has passed
since it began anew: so uses write next to nothing, in whichever process they are. What cannot be appended is left to
the next use. A renewal that another process has made meanwhile is a duplicate.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import Content, QueryId, Renew
from psoup.engine.results.delta import QueryRecord

RENEW_EVERY_S: Final = 1.0
"""Renewals gather for so long: a sixtieth of the shortest time to live."""
TOGETHER_MAX: Final = 1_000
"""Renewals of one turn; others wait for the next one."""

Append = Callable[[Sequence[Content]], Sequence[Appended | EngineError]]


@dataclass(frozen=True, slots=True)
class RenewalStatistics:
    """Counters: queries that are due now, and since the start those renewed, and those that were not."""

    due: int
    renewed: int
    refused: int


class Renewals:
    """Uses of queries with a time to live. Any thread may note; one at a time renews."""

    def __init__(self, append: Append, now_us: Callable[[], int]) -> None:
        """Append by `append`, as `Log.append_many`; `now_us` is the store's clock, and asks nobody."""
        self.watched: Callable[[], Collection[QueryId]] = tuple
        """Which queries are waited for, in the event loop: these are used all along."""
        self._append = append
        self._now_us = now_us
        self._lock = threading.Lock()
        self._ends: dict[QueryId, tuple[int, int]] = {}
        """Of queries that were noted lately, or are waited for: time to live, and when it is over (µs)."""
        self._due: dict[QueryId, None] = {}
        self._renewed = self._refused = 0

    def note(self, query: QueryRecord) -> None:
        """Note a use. Cost: nothing for a query that stands for ever."""
        if query.ttl_us is None or query.expires_us is None:
            return
        with self._lock:
            _, known_us = self._ends.get(query.query_id, (0, 0))
            self._ends[query.query_id] = query.ttl_us, max(known_us, query.expires_us)
            self._mark(query.query_id)

    def renew(self, watched: Collection[QueryId]) -> bool:
        """Renew what is due of the queries that were noted, and of those `watched` that once were. Blocks.

        Return whether something was appended.

        Raises:
            EngineError: what `Log.append_many` raises; nothing is tried again before its next use.
        """
        with self._lock:
            for query_id in self._ends.keys() & watched:
                self._mark(query_id)
            due = list(self._due)[:TOGETHER_MAX]
            for query_id in due:
                del self._due[query_id]
            kept = self._due.keys() | watched
            self._ends = {one: ends for one, ends in self._ends.items() if one in kept}
        if not due:
            return False
        try:
            outcomes = self._append([Renew(query_id) for query_id in due])
        except EngineError:
            self._refused += len(due)
            raise
        with self._lock:
            for query_id, outcome in zip(due, outcomes, strict=True):
                self._settle(query_id, outcome)
        return True

    async def renew_often(self, wake: Callable[[], None]) -> None:
        """Renew what is due every RENEW_EVERY_S, for ever; `wake` tells the backend that something was appended."""
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            watched = frozenset(self.watched())
            # What the log does not take now is noted again by the next use.
            with contextlib.suppress(EngineError):
                if await asyncio.to_thread(self.renew, watched):
                    wake()

    def statistics(self) -> RenewalStatistics:
        """Return counters."""
        with self._lock:
            return RenewalStatistics(len(self._due), self._renewed, self._refused)

    def check(self) -> None:
        """Raise AssertionError if a query is due of which nothing is known. For tests."""
        with self._lock:
            if not self._due.keys() <= self._ends.keys():
                raise AssertionError("a query that is due was noted")

    def _mark(self, query_id: QueryId) -> None:
        """Take it that a query is due, where a part of its time has passed."""
        ttl_us, expires_us = self._ends[query_id]
        passed_us = self._now_us() + ttl_us - expires_us
        if passed_us * limits.QUERY_RENEWALS_PER_TTL >= ttl_us:
            self._due[query_id] = None

    def _settle(self, query_id: QueryId, outcome: Appended | EngineError) -> None:
        """Take note of what became of a renewal."""
        if isinstance(outcome, EngineError):  # it has gone, or the log is full
            self._refused += 1
            return
        self._renewed += not outcome.duplicate
        if query_id in self._ends and not outcome.duplicate:
            ttl_us, expires_us = self._ends[query_id]
            self._ends[query_id] = ttl_us, max(expires_us, outcome.arrival_us + ttl_us)
