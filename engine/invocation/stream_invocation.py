"""One query over one stream at one position, being answered: counted, or a page of its rows.

    visible(row) <=> the row is a hit, retained, dated up to NOW, and inside [BEGIN, END] at NOW.
What is read belongs to one snapshot; what was dropped while it was read is noticed, and refused.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import RowSpan, TupleSource
from psoup.engine.errors import NotFoundError, OverloadedError, PageExpiredError
from psoup.engine.invocation.answer import Answer, PagePosition, Request
from psoup.engine.invocation.answering import answer_at, outputs
from psoup.engine.invocation.cache import InvocationCache, Order
from psoup.engine.invocation.distinct import first_and_last
from psoup.engine.invocation.finding import Finding
from psoup.engine.kernels.gather import ascends
from psoup.engine.results.contract import ResultsReader, Snapshot
from psoup.engine.results.segment_hits import NO_ROWS

Rows = NDArray[np.int64]
Found = TypeVar("Found")


class Invocation:
    """One query over one stream at one position, being answered. Used by one thread, once."""

    __slots__ = (
        "_at",
        "_begin_us",
        "_cache",
        "_end_us",
        "_results",
        "_snapshot",
        "_source",
        "_stream_id",
        "_window",
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
        """Bind the window to the position's instant."""
        self._results = results
        self._source = source
        self._snapshot = snapshot
        self._cache = cache
        self._at = at
        self._stream_id = snapshot.streams[0].stream_id
        self._window = snapshot.query.window
        self._begin_us, self._end_us = self._window.bind(at.now_us)
        self.reading = cache.reading(snapshot)

    def counted(self) -> Answer:
        """Return the answer without its rows. Raises as `invoke` does; not for DISTINCT.

        Cost: O(segments), and O(hits) of the chunks that an end of the window cuts.
        """
        total, oldest_row = self._settled(self._number)
        oldest_row = self._at.parts[0].past_row if oldest_row is None else oldest_row
        at = self._at.behind(self._at.offset, (oldest_row,))
        leaves_us = NO_ROWS if self._window.slides else None
        return answer_at(
            self._snapshot,
            at,
            total,
            window_us=(self._begin_us, self._end_us),
            tuple_ids=NO_ROWS,
            columns=(),
            leaves_us=leaves_us,
            following=None,
        )

    def page(self, request: Request) -> Answer:
        """Return the rows of one page, with everything that is the same on all pages of the answer.

        Raises as `invoke` does. Cost: O(segments + hits), O(page) while the order is cached.
        """
        at, limit = self._at, 0 if request.count_only else request.limit
        order = self._kept_order()
        if order is None:
            rows = self._shown()
            if len(rows) <= limit and not at.offset and not self.reading.clause.distinct:
                return self._whole_page(rows)
            order = self._order(rows, request.limit)
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
        return answer_at(
            self._snapshot,
            at.behind(at.offset, order.oldest_rows),
            len(order.rows),
            window_us=(self._begin_us, self._end_us),
            tuple_ids=tuples.tuple_ids,
            columns=() if request.count_only else outputs(self.reading, (tuples,)),
            leaves_us=leaves_us,
            following=following,
        )

    def _whole_page(self, rows: Rows) -> Answer:
        """Return the answer of these rows, which ascend, on one page."""
        tuples = self._source.tuples(self._stream_id, self.reading.names[0], rows)
        if not ascends(tuples.times):
            ordered = np.argsort(
                tuples.times, kind="stable"
            )  # rows ascend, and so do their tuple ids
            tuples = tuples.take(ordered)
        oldest_row = rows.item(0) if len(rows) else self._at.parts[0].past_row
        return answer_at(
            self._snapshot,
            self._at.behind(0, (oldest_row,)),
            len(rows),
            window_us=(self._begin_us, self._end_us),
            tuple_ids=tuples.tuple_ids,
            columns=outputs(self.reading, (tuples,)),
            leaves_us=self._window.leaves(tuples.times),
            following=None,
        )

    def _kept_order(self) -> Order | None:
        """Return the order of the answer's rows where an earlier page has left it."""
        return self._cache.order(self._snapshot.query.query_id, self._at)

    def _order(self, rows: Rows, limit: int) -> Order:
        """Return the answer's rows, which ascend, in order; kept where there are pages before or behind."""
        oldest_rows = (int(rows[0]) if len(rows) else self._at.parts[0].past_row,)
        times = self._source.times(self._stream_id, rows)
        if not ascends(times):
            rows = rows[np.argsort(times, kind="stable")]
        order = Order(rows, oldest_rows)
        if self.reading.clause.distinct:
            tuples = self._source.tuples(self._stream_id, self.reading.names[0], rows)
            values = [column for _, column in outputs(self.reading, (tuples,))]
            first, last = first_and_last(values, len(rows))
            order = Order(rows[first], oldest_rows, rows[last])
        if self._at.offset or len(order.rows) > limit:
            self._cache.keep_order(self._snapshot.query.query_id, self._at, order)
        return order

    def _shown(self) -> Rows:
        """Return the rows of the answer, ascending."""
        found = self._settled(self._rows)
        if len(found) == 1:
            return found[0]
        return np.concatenate(found) if found else NO_ROWS

    def _rows(self, finding: Finding) -> list[Rows]:
        """Return the rows of the answer, run by run."""
        found: list[Rows] = []
        for first_row, past_row, inside in self._runs():
            parts = finding.rows(first_row, past_row)
            found += parts if inside else self._dated(parts)
        return found

    def _number(self, finding: Finding) -> tuple[int, int | None]:
        """Return the number of the answer's rows and the oldest one; None = there is none."""
        total, oldest_row = 0, None
        for first_row, past_row, inside in self._runs():
            if inside:
                count, first = finding.count(first_row, past_row)
            else:
                parts = self._dated(finding.rows(first_row, past_row))
                count = sum(map(len, parts))
                first = next((int(part[0]) for part in parts if len(part)), None)
            total += count
            oldest_row = first if oldest_row is None else oldest_row
        return total, oldest_row

    def _runs(self) -> Sequence[RowSpan]:
        """Return where the rows of the answer lie. Raises PageExpiredError if they are not all held any more."""
        at, begin_us, end_us = self._at, self._begin_us, self._end_us
        first_row, part = at.first_row(0), at.parts[0]
        if first_row >= part.past_row:
            return ()
        if begin_us is None or (part.floor_us is not None and part.floor_us > begin_us):
            begin_us = part.floor_us
        if end_us is None or end_us > at.now_us:
            end_us = at.now_us  # nothing dated later is ever shown
        return self._source.reach(self._stream_id, first_row, part.past_row, begin_us, end_us)

    def _dated(self, parts: Sequence[Rows]) -> list[Rows]:
        """Return those of the rows that are dated as the window and retention have it, part by part."""
        found = []
        for rows in parts:
            times = self._source.times(self._stream_id, rows)
            inside = self._window.visible(times, self._at.now_us)
            floor_us = self._at.parts[0].floor_us
            if floor_us is not None:
                inside &= times >= floor_us
            found.append(rows[inside])
        return found

    def _settled(self, look: Callable[[Finding], Found]) -> Found:
        """Return what `look` finds among the hits of the clause, and remember those, also where a checkpoint ends it.

        Whoever asks again for what took too long so goes on from there. No context manager: it would take
        longer than a count.
        """
        finding = Finding(
            self._results, self._source, self._snapshot, self.reading.clause, self._cache
        )
        try:
            found = look(finding)
        except OverloadedError:
            with suppress(NotFoundError, PageExpiredError):
                self._settle(finding)
            raise
        self._settle(finding)
        return found

    def _settle(self, finding: Finding) -> None:
        """Remember what was found; refuse it if part of it may have been dropped while it was looked for.

        Raises:
            NotFoundError: the query has been removed.
            PageExpiredError: segments that this position retains have been dropped.
        """
        if not finding.looked:
            return
        at, before, cut = self._at, self._snapshot.cut, self._results.cut()
        if (cut.gen, cut.seq) != (before.gen, before.seq):
            later = self._results.snapshot(self._snapshot.query.query_id)
            if later.cut.gen != at.gen or later.streams[0].dropped_row > at.first_row(0):
                raise PageExpiredError
        finding.remember()
