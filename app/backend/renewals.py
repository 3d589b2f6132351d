"""Renewals: a query with a time to live that is used lives on.

Who answers from a query notes that. Once a second the queries are renewed, together, of whose time a tenth has passed
since it began anew: so uses write next to nothing, in whichever process they are. What cannot be appended is tried
again a second later. A renewal that another process has made meanwhile is a duplicate.

Who waits for a query notes nothing while nothing changes. So queries that are waited for are read now and then: each
may have been given another time to live, or its first.
"""

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from psoup.engine import limits
from psoup.engine.errors import EngineError, NotFoundError
from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import Content, QueryId, Renew
from psoup.engine.results.contract import Snapshot
from psoup.engine.results.delta import QueryRecord
from psoup.engine.tuples.batch import Seq

RENEW_EVERY_S: Final = 1.0
"""Renewals gather for so long: a sixtieth of the shortest time to live."""
TOGETHER_MAX: Final = 10_000
"""Renewals of one turn; others wait for the next one. All queries there may be have their turn in half a minute."""
READ_TOGETHER: Final = 1_000
"""Queries that are read by one call."""
READ_WATCHED_EVERY: Final = 20
"""Turns after which queries that are waited for are read: a third of the shortest time to live."""

Append = Callable[[Sequence[Content]], Sequence[Appended | EngineError]]
Read = Callable[[Sequence[QueryId]], Sequence[Snapshot | None]]


class _Lifetime(NamedTuple):
    """What is known of a query: the operation that gave it its time to live, that time, and when it is over (µs)."""

    changed_seq: Seq
    ttl_us: int
    expires_us: int


@dataclass(frozen=True, slots=True)
class RenewalStatistics:
    """Counters: queries that are due now, and since the start those renewed, and those that were not."""

    due: int
    renewed: int
    refused: int


class Renewals:
    """Uses of queries with a time to live. Any thread may note; one at a time renews."""

    def __init__(self, append: Append, read: Read, now_us: Callable[[], int]) -> None:
        """Append by `append`, as `Log.append_many`; read by `read`, as `ResultsReader.snapshots`.

        `now_us` is the store's clock, and asks nobody.
        """
        self.watched: Callable[[], Collection[QueryId]] = tuple
        """Which queries are waited for, in the event loop: these are used all along."""
        self._append = append
        self._read = read
        self._now_us = now_us
        self._lock = threading.Lock()
        self._known: dict[QueryId, _Lifetime] = {}
        """Of queries that were noted lately, or are waited for."""
        self._due: dict[QueryId, None] = {}
        self._renewed = self._refused = 0

    def note(self, query: QueryRecord) -> None:
        """Note a use. Cost: nothing for a query that stands for ever."""
        lifetime = _lifetime_of(query)
        if lifetime is None:
            return
        with self._lock:
            self._learn(query.query_id, lifetime)
            self._mark(query.query_id)

    def read(self, query_ids: Sequence[QueryId]) -> None:
        """Learn when queries that are waited for are over. Blocks. Raises what `ResultsReader.snapshots` does."""
        for first in range(0, len(query_ids), READ_TOGETHER):
            snapshots = self._read(query_ids[first : first + READ_TOGETHER])
            with self._lock:
                for query in [one.query for one in snapshots if one is not None]:
                    lifetime = _lifetime_of(query)
                    if lifetime is not None:
                        self._learn(query.query_id, lifetime)

    def renew(self, watched: Collection[QueryId]) -> bool:
        """Renew what is due of the queries that were noted, and of those `watched` of which something is known. Blocks.

        Return whether something was appended.

        Raises:
            EngineError: what `Log.append_many` raises, and all are due still; what `ResultsReader.snapshots` does.
        """
        with self._lock:
            for query_id in self._known.keys() & watched:
                self._mark(query_id)
            due = list(itertools.islice(self._due, TOGETHER_MAX))
            kept = self._due.keys() | watched
            self._known = {one: known for one, known in self._known.items() if one in kept}
        if not due:
            return False
        try:
            outcomes = self._append([Renew(query_id) for query_id in due])
        except EngineError:
            with self._lock:
                self._refused += len(due)
            raise
        with self._lock:
            settled = [self._settle(*one) for one in zip(due, outcomes, strict=True)]
        repeated = [one for one, is_known in zip(due, settled, strict=True) if not is_known]
        self.read([one for one in repeated if one in watched])
        return True

    async def renew_often(self, wake: Callable[[], None]) -> None:
        """Renew what is due every RENEW_EVERY_S, for ever; `wake` tells the backend that something was appended."""
        for turn in itertools.count(1):
            await asyncio.sleep(RENEW_EVERY_S)
            watched = frozenset(self.watched())
            # What the store does not answer or take now is tried again in the next turn.
            with contextlib.suppress(EngineError):
                if turn % READ_WATCHED_EVERY == 0:
                    await asyncio.to_thread(self.read, list(watched))
                if await asyncio.to_thread(self.renew, watched):
                    wake()

    def statistics(self) -> RenewalStatistics:
        """Return counters."""
        with self._lock:
            return RenewalStatistics(len(self._due), self._renewed, self._refused)

    def check(self) -> None:
        """Raise AssertionError if a query is due of which nothing is known. For tests."""
        with self._lock:
            if not self._due.keys() <= self._known.keys():
                raise AssertionError("a query that is due was noted")

    def _learn(self, query_id: QueryId, told: _Lifetime) -> None:
        """Of two changes the later one counts; of two renewals, too, whichever was heard of first."""
        self._known[query_id] = max(told, self._known.get(query_id, told))

    def _mark(self, query_id: QueryId) -> None:
        """Take it that a query is due, where a part of its time has passed."""
        known = self._known[query_id]
        passed_us = self._now_us() + known.ttl_us - known.expires_us
        if passed_us * limits.QUERY_RENEWALS_PER_TTL >= known.ttl_us:
            self._due[query_id] = None

    def _settle(self, query_id: QueryId, outcome: Appended | EngineError) -> bool:
        """Take note of what became of a renewal; return whether it is known until when that is."""
        if isinstance(outcome, EngineError):
            self._refused += 1
            # Any other refusal, for want of room say, leaves it due.
            if isinstance(outcome, NotFoundError):
                del self._due[query_id], self._known[query_id]
            return True
        del self._due[query_id]
        if outcome.duplicate:  # another process has renewed it
            return False
        self._renewed += 1
        known = self._known[query_id]
        expires_us = max(known.expires_us, outcome.arrival_us + known.ttl_us)
        self._known[query_id] = known._replace(expires_us=expires_us)
        return True


def _lifetime_of(query: QueryRecord) -> _Lifetime | None:
    """Return the time to live of a query; None where it stands for ever."""
    if query.ttl_us is None or query.expires_us is None:
        return None
    return _Lifetime(query.changed_seq, query.ttl_us, query.expires_us)
