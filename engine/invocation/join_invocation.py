"""One query over several streams at one position, being answered: counted, or a page of its rows.

A row is a composite tuple. Rows are in order of the earliest part's time, then of the parts' tuple ids in FROM
order. A row leaves when the first of its parts leaves the window of its source.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import Tuples, TupleSource
from psoup.engine.invocation.answer import Answer, PagePosition, Request
from psoup.engine.invocation.answering import answer_at, outputs
from psoup.engine.invocation.cache import InvocationCache, Order
from psoup.engine.invocation.distinct import groups_of
from psoup.engine.invocation.join_finding import JoinFinding, refuse_suspended
from psoup.engine.query.window import windows_of
from psoup.engine.results.contract import ResultsReader, Snapshot
from psoup.engine.tuples.batch import Column

Rows = NDArray[np.int64]


class JoinInvocation:
    """One query over several streams at one position, being answered. Used by one thread, once."""

    __slots__ = (
        "_at",
        "_cache",
        "_results",
        "_snapshot",
        "_source",
        "_window_us",
        "_windows",
        "reading",
    )

    def __init__(
        self,
        results: ResultsReader,
        source: TupleSource,
        snapshot: Snapshot,
        cache: InvocationCache,
        at: PagePosition,
    ) -> None:
        """Bind the windows to the position's instant.

        Raises:
            QuerySuspendedError: the clause ran over a bound.
        """
        refuse_suspended(snapshot)
        self._results = results
        self._source = source
        self._snapshot = snapshot
        self._cache = cache
        self._at = at
        query = snapshot.query
        self._windows = windows_of(query.window, query.ranges, len(snapshot.streams))
        self._window_us = query.window.bind(at.now_us)
        self.reading = cache.reading(snapshot)

    def counted(self) -> Answer:
        """Return the answer without its rows. Raises as `invoke` does; not for DISTINCT."""
        finding = self._finding()
        count = finding.count()
        finding.settle()
        sources = range(len(self._windows))
        return self._answer(
            self._at.behind(self._at.offset, tuple(map(self._at.first_row, sources))),
            count,
            tuple_ids=np.empty((len(sources), 0), dtype=np.int64),
            columns=(),
            leaves_us=self._leaves([np.empty(0, dtype=np.int64)] * len(sources)),
            following=None,
        )

    def page(self, request: Request) -> Answer:
        """Return the rows of one page, with everything that is the same on all pages of the answer.

        Raises as `invoke` does. Cost: that of `JoinFinding.rows`, O(page) while the order is cached.
        """
        at, limit = self._at, 0 if request.count_only else request.limit
        order = self._cache.order(self._snapshot.query.query_id, at)
        if order is None:
            order = self._order(request.limit)
        count = order.rows.shape[1]
        past = min(count, at.offset + limit)
        parts = self._tuples(order.rows[:, at.offset : past])
        if order.last is None:
            leaves_us = self._leaves([tuples.times for tuples in parts])
        else:
            leaves_us = self._leaves(self._times(order.last[:, at.offset : past]))
        following: PagePosition | None = None
        if past < count and not request.count_only:
            following = at.behind(past, order.oldest_rows)
        return self._answer(
            at.behind(at.offset, order.oldest_rows),
            count,
            tuple_ids=np.array([tuples.tuple_ids for tuples in parts]),
            columns=() if request.count_only else outputs(self.reading, parts),
            leaves_us=leaves_us,
            following=following,
        )

    def _order(self, limit: int) -> Order:
        """Return the answer's composites in order; kept where there are pages before or behind."""
        finding = self._finding()
        rows = finding.rows()
        finding.settle()
        oldest_rows = tuple(part.past_row for part in self._at.parts)
        if rows.shape[1]:
            oldest_rows = tuple(rows.min(axis=1).tolist())
        order = Order(rows, oldest_rows)
        if self.reading.clause.distinct:
            order = self._distinct(rows, oldest_rows)
        if self._at.offset or order.rows.shape[1] > limit:
            self._cache.keep_order(self._snapshot.query.query_id, self._at, order)
        return order

    def _distinct(self, rows: Rows, oldest_rows: tuple[int, ...]) -> Order:
        """Return the first of all that are equal in the select list, and the one of them that leaves last.

        Where sources have windows of their own that is not the last in order.
        """
        parts = self._tuples(rows)
        values: list[Column] = [column for _, column in outputs(self.reading, parts)]
        group, first = groups_of(values, rows.shape[1])
        leaves_us = self._leaves([tuples.times for tuples in parts])
        if leaves_us is None:
            return Order(rows.take(first, axis=1), oldest_rows)
        by_leaving = np.argsort(leaves_us, kind="stable")
        last = np.zeros(len(first), dtype=np.int64)
        np.maximum.at(last, group[by_leaving], np.arange(len(group)))
        return Order(rows.take(first, axis=1), oldest_rows, rows.take(by_leaving[last], axis=1))

    def _finding(self) -> JoinFinding:
        return JoinFinding(
            self._results,
            self._source,
            self._snapshot,
            self.reading.plan,
            self._cache,
            at=self._at,
            windows=self._windows,
        )

    def _tuples(self, rows: Rows) -> list[Tuples]:
        """Return the parts of composites, with the columns that the select list reads of each."""
        streams, names = self._snapshot.streams, self.reading.names
        return [
            self._source.tuples(stream.stream_id, some, part)
            for stream, some, part in zip(streams, names, rows, strict=True)
        ]

    def _times(self, rows: Rows) -> list[Rows]:
        """Return the times of the parts of composites, by source."""
        return [
            self._source.times(stream.stream_id, part)
            for stream, part in zip(self._snapshot.streams, rows, strict=True)
        ]

    def _leaves(self, times: Sequence[Rows]) -> Rows | None:
        """Return when composites whose parts are dated so leave; None = they never do."""
        leaving = [
            window.leaves(of_source) for window, of_source in zip(self._windows, times, strict=True)
        ]
        some = [leaves_us for leaves_us in leaving if leaves_us is not None]
        least: Rows | None = np.minimum.reduce(some) if some else None
        return least

    def _answer(
        self,
        at: PagePosition,
        count: int,
        *,
        tuple_ids: Rows,
        columns: tuple[tuple[str, Column], ...],
        leaves_us: Rows | None,
        following: PagePosition | None,
    ) -> Answer:
        return answer_at(
            self._snapshot,
            at,
            count,
            window_us=self._window_us,
            tuple_ids=tuple_ids,
            columns=columns,
            leaves_us=leaves_us,
            following=following,
        )
