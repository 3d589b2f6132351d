"""What a worker keeps between invocations: bound clauses, their hits, orders of answers being paged through."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.invocation.answer import PagePosition
from psoup.engine.invocation.composite_hits import CompositeHits
from psoup.engine.limits import CUT_CACHE_BYTES_MAX, HITS_CACHE_BYTES_MAX, QUERIES_COUNT_MAX
from psoup.engine.log.operation import QueryId
from psoup.engine.query.bind.binder import Bind, bind
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.values.expression import column_refs
from psoup.engine.recent import ENTRY_BYTES, Recent, RecentStatistics
from psoup.engine.results.contract import Gen, Snapshot
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.segment_hits import SegmentHits
from psoup.engine.tuples.value_type import value_type

NO_HITS: Final[Mapping[int, SegmentHits]] = {}


@value_type
class Order:
    """An answer in order: what its pages are cut from.

    Attributes:
        rows: (m,) the row numbers shown; (p, m) those of the parts, in FROM order, of a join of p streams.
        oldest_rows: for each stream the smallest row number among those shown, of equal rows too.
        last: as `rows`; for DISTINCT, for each row shown the one equal to it that leaves last.
    """

    rows: NDArray[np.int64]
    oldest_rows: tuple[int, ...]
    last: NDArray[np.int64] | None = None

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays and of an entry for them."""
        return ENTRY_BYTES + self.rows.nbytes + (0 if self.last is None else self.last.nbytes)


@value_type
class Reading:
    """A clause, and for each of its streams the columns that its select list reads, ascending by name."""

    clause: StandingQueryClause
    names: tuple[tuple[str, ...], ...]


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
        self._hits: Recent[tuple[Gen, ClauseId], Mapping[int, SegmentHits] | CompositeHits] = (
            Recent(hits_bytes_max, make_lock())
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
            names: list[set[str]] = [set() for _ in snapshot.streams]
            for output in clause.outputs:
                for ref in column_refs(output.expression):
                    names[ref.source].add(ref.name)
            found = Reading(clause, tuple(tuple(sorted(some)) for some in names))
            self._clauses.put(key, found)
        return found

    def hits(self, snapshot: Snapshot) -> Mapping[int, SegmentHits]:
        """Return what is known of the hits of the snapshot's clause, by segment."""
        found = self._hits.get((snapshot.cut.gen, snapshot.clause.clause_id))
        return NO_HITS if found is None or isinstance(found, CompositeHits) else found

    def remember(self, snapshot: Snapshot, hits: Mapping[int, SegmentHits]) -> None:
        """Keep the hits of the snapshot's clause, in place of what was known. They are not written any more."""
        key = (snapshot.cut.gen, snapshot.clause.clause_id)
        self._hits.put(key, hits, size=sum(one.nbytes for one in hits.values()))

    def composites(self, snapshot: Snapshot) -> CompositeHits | None:
        """Return what is known of the composites of the snapshot's clause, over several streams."""
        found = self._hits.get((snapshot.cut.gen, snapshot.clause.clause_id))
        return found if isinstance(found, CompositeHits) else None

    def remember_composites(self, snapshot: Snapshot, hits: CompositeHits) -> None:
        """Keep the composites of the snapshot's clause, in place of what was known."""
        self._hits.put((snapshot.cut.gen, snapshot.clause.clause_id), hits, size=hits.nbytes)

    def order(self, query_id: QueryId, at: PagePosition) -> Order | None:
        """Return the order of the answer that a page belongs to, where an earlier page has left it."""
        return self.orders.get((query_id, at.whole())) if self.orders else None

    def keep_order(self, query_id: QueryId, at: PagePosition, order: Order) -> None:
        """Keep the order of the answer that a page belongs to, for the pages to come."""
        self.orders.put((query_id, at.whole()), order, size=order.nbytes)

    def statistics(self) -> tuple[RecentStatistics, RecentStatistics]:
        """Return what is held: clauses by number, orders by bytes."""
        return self._clauses.statistics(), self.orders.statistics()

    def check(self) -> None:
        """Assert that all bounds are kept."""
        self._clauses.check()
        self._hits.check()
        self.orders.check()
