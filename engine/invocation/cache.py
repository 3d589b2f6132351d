"""What a process keeps between invocations: hits of clauses, their partial aggregates, orders of answers in pages."""

from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.partials.partial_cache import PartialCache, PartialStatistics
from psoup.engine.data.source import DatedRows
from psoup.engine.invocation.composite_hits import CompositeHits
from psoup.engine.invocation.position.answer import PagePosition, RowIds
from psoup.engine.limits import (
    CUT_CACHE_BYTES_MAX,
    FIRST_DATED_CACHE_BYTES_MAX,
    HITS_CACHE_BYTES_MAX,
    PARTIALS_CACHE_BYTES_MAX,
)
from psoup.engine.log.operation import QueryId
from psoup.engine.query.bind.bound_queries import BoundQueries, Declared
from psoup.engine.query.bind.predicates import Predicates, written_predicates
from psoup.engine.query.reading import Reading
from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.recent import ENTRY_BYTES, Recent, RecentStatistics
from psoup.engine.results.contract import Gen, Snapshot
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.segment_hits import SegmentHits
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.value_type import value_type

NO_HITS: Final[Mapping[int, SegmentHits]] = {}


@value_type
class Whole:
    """What all pages of an answer, or the first and the last, say of the whole: as in `Answer`.

    `overflowed` are the aggregates that are NULL in a group because their value is none of their type; `content` is a
    digest of an answer that is sent whole or not at all.
    """

    count: int
    changes_us: int | None
    state: tuple[Hashable, ...]
    unchanged: bool = False
    removed: RowIds | None = None
    keep: RowIds | None = None
    overflowed: tuple[AggregateCall, ...] = ()
    content: bytes = b""


@value_type
class Order:
    """An answer in order: what its pages are cut from.

    Attributes:
        rows: (m,) the row numbers shown; (p, m) those of the parts, in FROM order, of a join of p streams.
        oldest_rows: for each stream the smallest row number that the pages need, or a smaller one: among those
            shown, and of equal rows too.
        whole: what the pages say of the whole answer.
        last: as `rows`; for DISTINCT, for each row shown the one equal to it that leaves last.
    """

    rows: NDArray[np.int64]
    oldest_rows: tuple[int, ...]
    whole: Whole
    last: NDArray[np.int64] | None = None

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays and of an entry for them."""
        whole = self.whole
        others = [one.nbytes for one in (self.last, whole.removed, whole.keep) if one is not None]
        return ENTRY_BYTES + self.rows.nbytes + sum(others)


@value_type
class FirstDated:
    """The smallest time of the visible hits of a query that slides, and in which span: `first_row` to `end_us` are its.

    The time is inside the span. Both ends of a query's window move together, and floors of retention only grow.
    """

    first_row: int
    past_row: int
    end_us: int
    time_us: int

    def is_first_in(self, span: DatedRows) -> bool:
        """Return whether no visible hit of the query in a span is dated earlier, but for rows that have come since."""
        if self.first_row != span.first_row or self.past_row > span.past_row:
            return False
        begin_us = span.begin_us
        return self.end_us <= span.end_us and (begin_us is None or begin_us <= self.time_us)


@value_type
class Table:
    """Groups of an answer in order: what its pages are cut from, where rows are groups.

    Attributes:
        columns: name and values of each output.
        ids: the values that a group is known by: of its keys, or of the outputs for DISTINCT.
        count: how many groups there are.
        leaves_us: (m,) the first instant at which the clock alone changes a group, NEVER_US where it never does.
        oldest_rows, whole: as in `Order`.
    """

    columns: tuple[tuple[str, Column], ...]
    ids: tuple[Column, ...]
    count: int
    leaves_us: NDArray[np.int64]
    oldest_rows: tuple[int, ...]
    whole: Whole

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays and of an entry for them; texts are others' and not counted."""
        columns = [*(column for _, column in self.columns), *self.ids]
        size = sum(
            one.values.nbytes + (0 if one.valid is None else one.valid.nbytes) for one in columns
        )
        removed = self.whole.removed
        return (
            ENTRY_BYTES + size + self.leaves_us.nbytes + (0 if removed is None else removed.nbytes)
        )


class InvocationCacheStatistics(NamedTuple):
    """What is held of hits, of orders, of first visible hits and of partial aggregates, in bytes."""

    hits: RecentStatistics
    orders: RecentStatistics
    first_dated: RecentStatistics
    partials: PartialStatistics


class InvocationCache:
    """Hits as invocations have found them, and the orders of answers in progress; bound queries are others' as well.

    Everything in it can be made again from what is published.

    Attributes:
        orders: what the pages of answers are cut from.
        partials: aggregates of the hits in whole chunks.
    """

    def __init__(
        self,
        bound: BoundQueries,
        *,
        order_bytes_max: int = CUT_CACHE_BYTES_MAX,
        hits_bytes_max: int = HITS_CACHE_BYTES_MAX,
        first_dated_bytes_max: int = FIRST_DATED_CACHE_BYTES_MAX,
        partials_bytes_max: int = PARTIALS_CACHE_BYTES_MAX,
        make_lock: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Begin without hits and orders.

        Args:
            bound: the queries that registrations have bound.
            order_bytes_max: bound of all orders together.
            hits_bytes_max: bound of all hits together.
            first_dated_bytes_max: bound of what is known of all queries' first visible hits.
            partials_bytes_max: bound of all partial aggregates together.
            make_lock: where threads share it, makes its locks.
        """
        self._bound = bound
        self._hits: Recent[tuple[Gen, ClauseId], Mapping[int, SegmentHits] | CompositeHits] = (
            Recent(hits_bytes_max, make_lock())
        )
        self.orders: Recent[tuple[QueryId, PagePosition], Order | Table] = Recent(
            order_bytes_max, make_lock()
        )
        self._first_dated: Recent[tuple[Gen, QueryId, int], FirstDated] = Recent(
            first_dated_bytes_max, make_lock()
        )
        self.partials = PartialCache(partials_bytes_max, make_lock)

    def reading(self, snapshot: Snapshot) -> Reading:
        """Return the clause of the snapshot's query, bound against the declarations it stands for."""
        return self._bound.reading(snapshot.query.canonical, _declared(snapshot))

    def predicates(self, snapshot: Snapshot) -> Predicates:
        """Return the predicates of the snapshot's query, one by one, for whoever describes its condition."""
        return self._bound.predicates(snapshot.query.canonical, _declared(snapshot))

    def written_predicates(self, snapshot: Snapshot) -> Predicates:
        """Return the predicates of the snapshot's query under the names that its author gives to the streams of a join.

        Under those of the canonical text where the registered text is not kept. Cost: that of binding it, where it is.
        """
        text, written = snapshot.query.text, None
        if text is not None and len(snapshot.streams) > 1:
            streams = {one.schema.name: (one.stream_id, one.schema) for one in snapshot.streams}
            written = written_predicates(text, streams)
        return self.predicates(snapshot) if written is None else written

    def hits(self, snapshot: Snapshot) -> Mapping[int, SegmentHits]:
        """Return what is known of the hits of the snapshot's clause, by segment."""
        found = self._hits.get((snapshot.cut.gen, snapshot.clause.clause_id))
        return NO_HITS if found is None or isinstance(found, CompositeHits) else found

    def remember(self, snapshot: Snapshot, hits: Mapping[int, SegmentHits]) -> None:
        """Keep the hits of the snapshot's clause, in place of what was known. They are not written any more."""
        key = (snapshot.cut.gen, snapshot.clause.clause_id)
        self._hits.put(key, hits, size=sum(one.nbytes for one in hits.values()))

    def first_dated(self, snapshot: Snapshot) -> FirstDated | None:
        """Return the smallest time of the visible hits of the snapshot's query, as it was last found."""
        query = snapshot.query
        return self._first_dated.get((snapshot.cut.gen, query.query_id, query.version))

    def remember_first_dated(self, snapshot: Snapshot, found: FirstDated) -> None:
        """Keep the smallest time of the visible hits of the snapshot's query, in place of what was known."""
        key = snapshot.cut.gen, snapshot.query.query_id, snapshot.query.version
        self._first_dated.put(key, found, size=ENTRY_BYTES)

    def composites(self, snapshot: Snapshot) -> CompositeHits | None:
        """Return what is known of the composites of the snapshot's clause, over several streams."""
        found = self._hits.get((snapshot.cut.gen, snapshot.clause.clause_id))
        return found if isinstance(found, CompositeHits) else None

    def remember_composites(self, snapshot: Snapshot, hits: CompositeHits) -> None:
        """Keep the composites of the snapshot's clause, in place of what was known."""
        self._hits.put((snapshot.cut.gen, snapshot.clause.clause_id), hits, size=hits.nbytes)

    def order(self, query_id: QueryId, at: PagePosition) -> Order | None:
        """Return the order of the answer that a page belongs to, where an earlier page has left it."""
        found = self.orders.get((query_id, at.whole())) if self.orders else None
        return found if isinstance(found, Order) else None

    def table(self, query_id: QueryId, at: PagePosition) -> Table | None:
        """Return the groups of the answer that a page belongs to, where an earlier page has left them."""
        found = self.orders.get((query_id, at.whole())) if self.orders else None
        return found if isinstance(found, Table) else None

    def keep_order(self, query_id: QueryId, at: PagePosition, order: Order | Table) -> None:
        """Keep what the pages of an answer are cut from, for the pages to come."""
        self.orders.put((query_id, at.whole()), order, size=order.nbytes)

    def statistics(self) -> InvocationCacheStatistics:
        """Return what is held, in bytes."""
        return InvocationCacheStatistics(
            self._hits.statistics(),
            self.orders.statistics(),
            self._first_dated.statistics(),
            self.partials.statistics(),
        )

    def check(self) -> None:
        """Assert that all bounds are kept."""
        self._first_dated.check()
        self._hits.check()
        self.partials.check()
        self.orders.check()


def _declared(snapshot: Snapshot) -> Declared:
    """Return the streams of a query as they are declared where it stands."""
    streams = snapshot.streams
    if len(streams) == 1:  # a count takes some ten microseconds: a comprehension would show
        return ((streams[0].stream_id, streams[0].schema),)
    return tuple([(stream.stream_id, stream.schema) for stream in streams])
