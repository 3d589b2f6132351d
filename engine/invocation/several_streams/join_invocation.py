"""One query over several streams at one position, being answered: counted, or a page of its rows.

A row is a composite tuple. Rows are in order of the earliest part's time, then of the parts' tuple ids in FROM
order. A row leaves when the first of its parts leaves the window of its source.
"""

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import Tuples, TupleSource
from psoup.engine.errors import AnswerTooLargeError
from psoup.engine.invocation.answering import AnsweredQuery, full_whole, outputs
from psoup.engine.invocation.cache import InvocationCache, Order
from psoup.engine.invocation.changes import first_of
from psoup.engine.invocation.distinct import groups_of, last_leaving
from psoup.engine.invocation.position.answer import Answer, PagePosition, Request
from psoup.engine.invocation.row_digest import digests
from psoup.engine.invocation.several_streams.join_changes import JoinChanges
from psoup.engine.invocation.several_streams.join_finding import refuse_suspended
from psoup.engine.query.reading import Reading
from psoup.engine.query.window import windows_of
from psoup.engine.results.contract import ResultsReader, Snapshot
from psoup.engine.tuples.batch import Column

Rows = NDArray[np.int64]


class JoinInvocation(AnsweredQuery):
    """One query over several streams at one position, being answered. Used by one thread, once."""

    __slots__ = ("_windows",)

    def __init__(
        self,
        results: ResultsReader,
        source: TupleSource,
        snapshot: Snapshot,
        cache: InvocationCache,
        *,
        reading: Reading,
        at: PagePosition,
    ) -> None:
        """Bind the windows to the position's instant; `reading` is of the snapshot's query.

        Raises:
            QuerySuspendedError: the clause ran over a bound.
        """
        refuse_suspended(snapshot)
        super().__init__(results, source, snapshot, cache, reading=reading, at=at)
        query = snapshot.query
        self._windows = windows_of(query.window, query.ranges, len(snapshot.streams))

    def counted(self, request: Request) -> Answer:
        """Return the answer without its rows. Raises as `invoke` does; not for DISTINCT."""
        finding, at, order = self._finding(), self._at, None
        if at.since is not None:
            try:
                order = self._changed(finding, request.limit)
            except AnswerTooLargeError:  # rows are too many to be listed, but not to be counted
                self._at = at.full()
        if order is None:
            count, enters_us, leaves_us = finding.settled(finding.numbers)
            past_rows = [part.past_row for part in at.parts]
            whole = full_whole(at, count, past_rows, enters_us, leaves_us, first_us=leaves_us)
            oldest_rows = tuple(map(at.first_row, range(len(self._windows))))
            order = Order(finding.no_rows(), oldest_rows, whole)
        return self._answer(
            order,
            tuple_ids=finding.no_rows(),
            columns=(),
            leaves_us=finding.leaves(finding.no_rows()),
            request=request,
        )

    def page(self, request: Request) -> Answer:
        """Return the rows of one page, with everything that is the same on all pages of the answer.

        Raises as `invoke` does. Cost: that of `JoinChanges.visible`, O(page) while the order is cached.
        """
        limit = 0 if request.count_only else request.limit
        finding = self._finding()
        order = self._cache.order(self._snapshot.query.query_id, self._at)
        if order is None:
            order = self._order(finding, request.limit)
            if self._at.offset or order.rows.shape[1] > request.limit:
                self._cache.keep_order(self._snapshot.query.query_id, self._at, order)
        at = self._at
        past = min(order.rows.shape[1], at.offset + limit)
        parts = self._tuples(order.rows[:, at.offset : past])
        if order.last is None:
            leaves_us = finding.leaving([tuples.times for tuples in parts])
        else:
            leaves_us = finding.leaves(order.last[:, at.offset : past])
        following: PagePosition | None = None
        if past < order.rows.shape[1] and not request.count_only:
            following = at.behind(past, order.oldest_rows)
        columns = outputs(self.reading, parts)
        distinct = self.reading.shape.distinct
        return self._answer(
            order,
            tuple_ids=np.array([tuples.tuple_ids for tuples in parts]),
            columns=() if request.count_only else columns,
            leaves_us=leaves_us,
            request=request,
            following=following,
            row_ids=digests([column for _, column in columns]) if distinct else None,
        )

    def _order(self, finding: JoinChanges, limit: int) -> Order:
        """Return the answer's composites in order: what has changed, or from now on the full answer."""
        if self._at.since is not None:
            order = self._changed(finding, limit)
            if order is not None:
                return order
        at, distinct = self._at, self.reading.shape.distinct
        rows, enters_us = finding.settled(lambda: (finding.visible(), finding.enters_us()))
        oldest_rows = newest_rows = tuple([part.past_row for part in at.parts])
        if rows.shape[1]:
            oldest_rows = tuple(rows.min(axis=1).tolist())
            newest_rows = tuple(rows.max(axis=1).tolist())
        last: Rows | None = None
        if (
            enters_us is not None
        ):  # composites that are to come may have older parts than those shown
            oldest_rows = tuple(map(at.first_row, range(len(self._windows))))
        if distinct:
            rows, last = self._distinct(finding, rows)
        first_us = leaves_us = first_of(finding.leaves(rows))
        if last is not None:
            leaves_us = first_of(finding.leaves(last))
        whole = full_whole(at, rows.shape[1], newest_rows, enters_us, leaves_us, first_us=first_us)
        return Order(rows, oldest_rows, whole, last)

    def _distinct(self, finding: JoinChanges, rows: Rows) -> tuple[Rows, Rows | None]:
        """Return the first of all that are equal in the select list, and the one of them that leaves last.

        Where sources have windows of their own that is not the last in order.
        """
        parts = self._tuples(rows)
        values: list[Column] = [column for _, column in outputs(self.reading, parts)]
        group, first = groups_of(values, rows.shape[1])
        leaves_us = finding.leaving([tuples.times for tuples in parts])
        if leaves_us is None:
            return rows.take(first, axis=1), None
        last = last_leaving(group, leaves_us, len(first))
        return rows.take(first, axis=1), rows.take(last, axis=1)

    def _finding(self) -> JoinChanges:
        return JoinChanges(
            self._results,
            self._source,
            self._snapshot,
            self.reading,
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
