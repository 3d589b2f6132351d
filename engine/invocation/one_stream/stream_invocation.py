"""One query over one stream at one position, being answered: counted, or a page of its rows.

visible(row) <=> the row is a hit, retained, dated up to NOW, and inside [BEGIN, END] at NOW.
"""

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import TupleSource
from psoup.engine.invocation.answering import AnsweredQuery, full_whole, outputs
from psoup.engine.invocation.cache import InvocationCache, Order
from psoup.engine.invocation.changes import first_of
from psoup.engine.invocation.distinct import first_and_last
from psoup.engine.invocation.one_stream.stream_finding import StreamFinding
from psoup.engine.invocation.position.answer import Answer, PagePosition, Request
from psoup.engine.invocation.row_digest import digests
from psoup.engine.kernels.gather import ascends
from psoup.engine.query.reading import Reading
from psoup.engine.results.contract import ResultsReader, Snapshot
from psoup.engine.results.segment_hits import NO_ROWS

Rows = NDArray[np.int64]


class Invocation(AnsweredQuery):
    """One query over one stream at one position, being answered. Used by one thread, once."""

    __slots__ = ("_stream_id", "_window")

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
        """Bind the window to the position's instant; `reading` is of the snapshot's query."""
        super().__init__(results, source, snapshot, cache, reading=reading, at=at)
        self._stream_id = snapshot.streams[0].stream_id
        self._window = snapshot.query.window

    def counted(self, request: Request) -> Answer:
        """Return the answer without its rows. Raises as `invoke` does; not for DISTINCT.

        Cost: O(segments), and O(hits) of the chunks that an end of the window cuts.
        """
        finding, order = self._finding(), None
        if self._at.since is not None:
            order = self._changed(finding, request.limit)
        if order is None:
            numbers = finding.settled(finding.numbers)
            oldest_rows = self._oldest_rows(numbers.oldest_row, numbers.enters_us)
            leaves_us = numbers.leaves_us
            whole = full_whole(
                self._at,
                numbers.total,
                (numbers.newest_row,),
                numbers.enters_us,
                leaves_us,
                first_us=leaves_us,
            )
            order = Order(NO_ROWS, oldest_rows, whole)
        return self._answer(
            order,
            tuple_ids=NO_ROWS,
            columns=(),
            leaves_us=NO_ROWS if self._window.slides else None,
            request=request,
        )

    def page(self, request: Request) -> Answer:
        """Return the rows of one page, with everything that is the same on all pages of the answer.

        Raises as `invoke` does. Cost: O(segments + hits), O(page) while the order is cached.
        """
        limit = 0 if request.count_only else request.limit
        order = self._kept_order()
        if order is None and self._at.since is not None:
            order = self._changed_order(request.limit)
        if order is None:
            finding = self._finding()
            rows, enters_us = finding.settled(finding.listed)
            if len(rows) <= limit and not self._at.offset and not self.reading.shape.distinct:
                return self._whole_page(rows, enters_us, request)
            order = self._order(rows, enters_us, request.limit)
        at = self._at
        past = min(len(order.rows), at.offset + limit)
        rows = order.rows[at.offset : past]
        leaves_us = None
        if self._window.slides:
            leaving = rows if order.last is None else order.last[at.offset : past]
            leaves_us = self._window.leaves(self._source.times(self._stream_id, leaving))
        following: PagePosition | None = None
        if past < len(order.rows) and not request.count_only:
            following = at.behind(past, order.oldest_rows)
        tuples = self._source.tuples(self._stream_id, self.reading.names[0], rows)
        columns = outputs(self.reading, (tuples,))
        distinct = self.reading.shape.distinct
        return self._answer(
            order,
            tuple_ids=tuples.tuple_ids,
            columns=() if request.count_only else columns,
            leaves_us=leaves_us,
            request=request,
            following=following,
            row_ids=digests([column for _, column in columns]) if distinct else None,
        )

    def _whole_page(self, rows: Rows, enters_us: int | None, request: Request) -> Answer:
        """Return the answer of these rows, which ascend, on one page."""
        tuples = self._source.tuples(self._stream_id, self.reading.names[0], rows)
        if not ascends(tuples.times):
            ordered = np.argsort(
                tuples.times, kind="stable"
            )  # rows ascend, and so do their tuple ids
            tuples = tuples.take(ordered)
        leaves_us = self._window.leaves(tuples.times)
        oldest_row = newest_row = first_us = None
        if len(rows):
            oldest_row, newest_row = rows.item(0), rows.item(-1)
            first_us = None if leaves_us is None else leaves_us.item(0)
        whole = full_whole(
            self._at, len(rows), (newest_row,), enters_us, first_us, first_us=first_us
        )
        return self._answer(
            Order(rows, self._oldest_rows(oldest_row, enters_us), whole),
            tuple_ids=tuples.tuple_ids,
            columns=outputs(self.reading, (tuples,)),
            leaves_us=leaves_us,
            request=request,
        )

    def _kept_order(self) -> Order | None:
        """Return the order of the answer's rows where an earlier page has left it."""
        return self._cache.order(self._snapshot.query.query_id, self._at)

    def _changed_order(self, limit: int) -> Order | None:
        """Return the rows that have changed, in order; None where the answer is a full one, as from now on it is."""
        order = self._changed(self._finding(), limit)
        if order is not None:
            self._keep(order, limit)
        return order

    def _order(self, rows: Rows, enters_us: int | None, limit: int) -> Order:
        """Return the answer's rows, which ascend, in order; kept where there are pages before or behind."""
        oldest_row, newest_row = (rows.item(0), rows.item(-1)) if len(rows) else (None, None)
        times = self._source.times(self._stream_id, rows)
        if not ascends(times):
            ordered = np.argsort(times, kind="stable")
            rows, times = rows[ordered], times[ordered]
        last: Rows | None = None
        first_us = leaves_us = first_of(self._window.leaves(times[:1]))
        if self.reading.shape.distinct:
            tuples = self._source.tuples(self._stream_id, self.reading.names[0], rows)
            values = [column for _, column in outputs(self.reading, (tuples,))]
            first, last_places = first_and_last(values, len(rows))
            rows, last = rows[first], rows[last_places]
            leaves_us = first_of(self._window.leaves(times[last_places]))
        whole = full_whole(
            self._at, len(rows), (newest_row,), enters_us, leaves_us, first_us=first_us
        )
        order = Order(rows, self._oldest_rows(oldest_row, enters_us), whole, last)
        self._keep(order, limit)
        return order

    def _keep(self, order: Order, limit: int) -> None:
        """Keep the order of an answer in pages for those to come."""
        if self._at.offset or len(order.rows) > limit:
            self._cache.keep_order(self._snapshot.query.query_id, self._at, order)

    def _finding(self) -> StreamFinding:
        return StreamFinding(
            self._results,
            self._source,
            self._snapshot,
            self.reading,
            self._cache,
            at=self._at,
        )

    def _oldest_rows(self, oldest_row: int | None, enters_us: int | None) -> tuple[int, ...]:
        """Return from which row on pages need the stream: rows that are to come may be older than those shown."""
        if enters_us is not None:
            return (self._at.first_row(0),)
        return (self._at.parts[0].past_row if oldest_row is None else oldest_row,)
