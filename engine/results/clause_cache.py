"""What a worker keeps between invocations: bound clauses, their hits, orders of answers being paged through."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.limits import CUT_CACHE_BYTES_MAX, HITS_CACHE_BYTES_MAX, QUERIES_COUNT_MAX
from engine.log.operation import QueryId
from engine.query.binder import Bind, bind
from engine.query.clause import StandingQueryClause
from engine.query.expression import column_refs
from engine.results.answer import PagePosition
from engine.results.contract import Gen, Snapshot
from engine.results.hits import ClauseId
from engine.results.recent import ENTRY_BYTES, Recent, RecentStatistics
from engine.results.segment_hits import SegmentHits
from engine.tuples.value_type import value_type

NO_HITS: Final[Mapping[int, SegmentHits]] = {}


@value_type
class Order:
    """An answer in order: what its pages are cut from.

    Attributes:
        rows: the row numbers shown.
        oldest_row: the smallest row number among those shown, of equal rows too.
        last: for DISTINCT, for each row shown the latest of those equal to it.
    """

    rows: NDArray[np.int64]
    oldest_row: int
    last: NDArray[np.int64] | None = None

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays and of an entry for them."""
        return ENTRY_BYTES + self.rows.nbytes + (0 if self.last is None else self.last.nbytes)


@value_type
class Reading:
    """A clause, and the columns that its select list reads, ascending by name."""

    clause: StandingQueryClause
    names: tuple[str, ...]


class ClauseCache:
    """What a worker keeps between invocations: bound clauses, their hits, and the orders of answers in progress.

    Everything in it can be made again from what is published.
    """

    def __init__(
        self,
        *,
        order_bytes_max: int = CUT_CACHE_BYTES_MAX,
        hits_bytes_max: int = HITS_CACHE_BYTES_MAX,
        bind: Bind = bind,
        make_lock: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Begin empty; orders take `order_bytes_max` at most, all together, hits `hits_bytes_max`.

        `bind` reads clauses.
        Where threads share it, `make_lock` makes their locks.
        """
        self._bind = bind
        self._clauses: Recent[tuple[Gen, ClauseId], Reading] = Recent(
            QUERIES_COUNT_MAX, make_lock()
        )
        self._hits: Recent[tuple[Gen, ClauseId], Mapping[int, SegmentHits]] = Recent(
            hits_bytes_max, make_lock()
        )
        self.orders: Recent[tuple[QueryId, PagePosition], Order] = Recent(
            order_bytes_max, make_lock()
        )

    def clause(self, snapshot: Snapshot) -> StandingQueryClause:
        """Return the snapshot's clause, bound against the declarations it stands for."""
        return self.reading(snapshot).clause

    def reading(self, snapshot: Snapshot) -> Reading:
        """Return the snapshot's clause, bound, and what it reads."""
        key = (snapshot.cut.gen, snapshot.clause.clause_id)
        found = self._clauses.get(key)
        if found is None:
            streams = {one.schema.name: (one.stream_id, one.schema) for one in snapshot.streams}
            clause = self._bind(snapshot.clause.text, streams).clause
            names = {ref.name for one in clause.outputs for ref in column_refs(one.expression)}
            found = Reading(clause, tuple(sorted(names)))
            self._clauses.put(key, found)
        return found

    def hits(self, snapshot: Snapshot) -> Mapping[int, SegmentHits]:
        """Return what is known of the hits of the snapshot's clause, by segment."""
        return self._hits.get((snapshot.cut.gen, snapshot.clause.clause_id)) or NO_HITS

    def remember(self, snapshot: Snapshot, hits: Mapping[int, SegmentHits]) -> None:
        """Keep the hits of the snapshot's clause, in place of what was known. They are not written any more."""
        key = (snapshot.cut.gen, snapshot.clause.clause_id)
        self._hits.put(key, hits, size=sum(one.nbytes for one in hits.values()))

    def statistics(self) -> tuple[RecentStatistics, RecentStatistics]:
        """Return what is held: clauses by number, orders by bytes."""
        return self._clauses.statistics(), self.orders.statistics()

    def check(self) -> None:
        """Assert that all bounds are kept."""
        self._clauses.check()
        self._hits.check()
        self.orders.check()
