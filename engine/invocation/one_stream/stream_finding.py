"""The rows of one query over one stream at a position: counted, listed, and those that differ from an earlier one.

    visible(row) <=> the row is a hit, retained, dated up to NOW, and inside [BEGIN, END] at NOW.
What is read belongs to one snapshot; what was dropped while it was read is noticed, and refused.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import DatedRows, RowSpan, Tuples, TupleSource
from psoup.engine.errors import NotFoundError, OverloadedError, PageExpiredError
from psoup.engine.invocation.answering import outputs
from psoup.engine.invocation.cache import FirstDated, InvocationCache
from psoup.engine.invocation.one_stream.dated_hits import DatedHits, joined
from psoup.engine.invocation.one_stream.finding import Finding
from psoup.engine.invocation.position.answer import PagePosition, PartPosition, Since
from psoup.engine.invocation.position.pinning import span_of
from psoup.engine.invocation.position.spans import (
    entered_spans,
    forgotten_spans,
    former_span,
    last_us,
    shown_since_span,
    shown_until,
    upcoming_span,
)
from psoup.engine.kernels.gather import ascends
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS, TIMESTAMP_US_MAX
from psoup.engine.query.reading import Names, Reading
from psoup.engine.results.contract import ResultsReader, Snapshot
from psoup.engine.results.segment_hits import NO_ROWS
from psoup.engine.tuples.batch import Column

Rows = NDArray[np.int64]
Found = TypeVar("Found")


class Numbers(NamedTuple):
    """What is told of the visible rows without listing them.

    Attributes:
        total: how many there are.
        oldest_row, newest_row: the smallest and the largest of their numbers.
        enters_us, leaves_us: when the clock brings the next one, and takes the next one; None = never.
    """

    total: int
    oldest_row: int | None
    newest_row: int | None
    enters_us: int | None
    leaves_us: int | None


class StreamFinding:
    """The rows of a snapshot's query at a position. Used by one thread, once.

    Whoever has them from here sees to it that nothing was dropped meanwhile: `settled`.
    """

    __slots__ = (
        "_at",
        "_cache",
        "_hits",
        "_reading",
        "_results",
        "_shown",
        "_snapshot",
        "_source",
        "_window",
    )

    def __init__(
        self,
        results: ResultsReader,
        source: TupleSource,
        snapshot: Snapshot,
        reading: Reading,
        cache: InvocationCache,
        *,
        at: PagePosition,
    ) -> None:
        """Bind the window to the position's instant; `reading` is of the snapshot's clause."""
        self._results = results
        self._source = source
        self._snapshot = snapshot
        self._reading = reading
        self._at = at
        self._cache = cache
        self._window = snapshot.query.window
        self._shown = span_of(snapshot, at, 0, self._window)
        hits = Finding(results, source, snapshot, reading.clause, cache)
        self._hits = DatedHits(source, hits, at.first_row(0))

    def settled(self, look: Callable[[], Found]) -> Found:
        """Return what `look` finds here, and remember the hits that were read, also where a checkpoint ends it.

        Whoever asks again for what took too long so goes on from there. No context manager: it would take
        longer than a count.

        Raises:
            NotFoundError: the query has been removed.
            PageExpiredError: segments that this position retains have been dropped, or the query has another clause.
        """
        try:
            found = look()
        except OverloadedError:
            with suppress(NotFoundError, PageExpiredError):
                self._settle()
            raise
        self._settle()
        return found

    def rows(self) -> Rows:
        """Return the visible rows, ascending."""
        return joined(self._hits.rows(self._shown))

    def listed(self) -> tuple[Rows, int | None]:
        """Return the visible rows, ascending, and when the clock brings the next one."""
        return self.rows(), self.enters_us()

    def visible(self) -> Rows:
        """Return the visible rows, in the order of answers."""
        return self._ordered(self.rows())

    def no_rows(self) -> Rows:
        """Return none."""
        return NO_ROWS

    @property
    def every(self) -> bool:
        """Return whether all rows satisfy the condition."""
        return not self._reading.clause.factors

    @property
    def whole_row(self) -> int:
        """Return below which row chunks are whole, and what is found in them may be remembered."""
        return self._hits.finding.whole_row

    def spans(self) -> Sequence[RowSpan]:
        """Return where visible rows lie. Raises PageExpiredError if they are not all held any more."""
        return self._hits.reach(self._shown)

    def sealed_chunks(self) -> range:
        """Return the whole chunks from the first one that the window shows to the last one that it shows, or will.

        Raises as `spans`.
        """
        end, shown = self._window.end, self._shown
        if end is None or end.moving:
            shown = replace(shown, end_us=TIMESTAMP_US_MAX)
        spans = self._hits.reach(shown)
        if not spans:
            return range(0)
        past_row = min(spans[-1][1], self.whole_row)
        return range(-(-spans[0][0] // CHUNK_ROWS), past_row // CHUNK_ROWS)

    def hits(self, first_row: int, past_row: int) -> Rows:
        """Return the hits in `[first_row, past_row)`, ascending."""
        return joined(self._hits.finding.rows(first_row, past_row))

    def dated(self, rows: Rows) -> Rows:
        """Return those of some rows that are dated inside of the window."""
        ((found, _, dated),) = self._hits.dated([rows], self._shown)
        return found[dated]

    def narrowed(self, span: RowSpan) -> RowSpan:
        """Return the rows of a span of one segment that are dated inside of the window; the span if times descend."""
        first_row, past_row, _ = span
        shown = self._shown
        tuples = self._source.tuples_between(shown.stream_id, (), first_row, past_row)
        times = tuples.times
        if not tuples.ascending and not ascends(times):
            return span
        begin = 0 if shown.begin_us is None else int(times.searchsorted(shown.begin_us))
        past = int(times.searchsorted(shown.end_us, side="right"))
        return first_row + begin, first_row + max(begin, past), True

    def numbers(self) -> Numbers:
        """Return how many rows are visible, and when the clock changes that.

        Cost: O(segments), and O(hits) of the chunks that an end of the window cuts.
        """
        total, oldest_row, newest_row = 0, None, None
        for first_row, past_row, inside in self._hits.reach(self._shown):
            if inside:
                count, oldest, newest = self._hits.finding.count(first_row, past_row)
            else:
                count, oldest, newest = 0, None, None
                parts = self._hits.finding.rows(first_row, past_row)
                for part, _, dated in self._hits.dated(parts, self._shown):
                    rows = part[dated]
                    if len(rows):
                        oldest = rows.item(0) if oldest is None else oldest
                        newest = rows.item(-1)
                        count += len(rows)
            total += count
            oldest_row = oldest if oldest_row is None else oldest_row
            newest_row = newest_row if newest is None else newest
        return Numbers(total, oldest_row, newest_row, self.enters_us(), self._leaves_us(oldest_row))

    def _leaves_us(self, oldest_row: int | None) -> int | None:
        """Return when the clock takes the first of the visible rows; None = it takes none.

        Args:
            oldest_row: the smallest of their numbers; None = there are none.

        Cost: O(1) where nothing came since the last call for this query; else that of `_least_us`, in rows that came.
        """
        if oldest_row is None or not self._window.slides:
            return None
        shown, known = self._shown, self._cache.first_dated(self._snapshot)
        if known is None or not known.is_first_in(shown):
            least_us = self._hits.least_us(replace(shown, first_row=oldest_row))
            assert least_us is not None, "a visible row has a time"
            self._remember_first_dated(least_us)
        elif known.past_row == shown.past_row:
            least_us = known.time_us
        else:
            fresh = replace(shown, first_row=known.past_row, end_us=known.time_us - 1)
            earlier_us = self._hits.least_us(fresh)
            least_us = known.time_us if earlier_us is None else earlier_us
            self._remember_first_dated(least_us)
        interval = self._window.interval(least_us)
        return None if interval is None else interval[1]

    def _remember_first_dated(self, time_us: int) -> None:
        shown = self._shown
        found = FirstDated(shown.first_row, shown.past_row, shown.end_us, time_us)
        self._cache.remember_first_dated(self._snapshot, found)

    def entered(self, since: Since, *, by_clock: bool) -> Rows:
        """Return the visible rows that were not visible at an earlier position, in the order of answers.

        Cost: O(segments) and O(hits) in the rows that came since; where `by_clock`, in the chunks that the end of the
        window has passed as well.
        """
        shown_us = shown_until(self._window, since.now_us)
        spans = entered_spans(self._shown, since.parts[0], shown_us, by_clock=by_clock)
        rows = joined([part for span in spans for part in self._hits.rows(span)])
        return self._ordered(np.sort(rows) if len(spans) > 1 else rows)

    def have_entered(self, rows: Rows, since: Since) -> NDArray[np.bool_]:
        """Return which of visible rows were not visible at an earlier position."""
        shown_us = shown_until(self._window, since.now_us)
        late = self._source.times(self._shown.stream_id, rows) > shown_us
        return (rows >= since.parts[0].past_row) | late

    def counted(self, since: Since) -> tuple[Rows, int, int | None]:
        """Return what entered since, the number of all visible rows, and when the first of them leaves."""
        numbers = self.numbers()
        return self.entered(since, by_clock=True), numbers.total, numbers.leaves_us

    def forgotten(self, since: Since) -> Rows | None:
        """Return the rows that retention has dropped since, and the window would show; None = it is not known.

        Not known is it where segments are not held any more.
        """
        part = since.parts[0]
        if (
            part.floor_row < self._snapshot.streams[0].dropped_row
        ):  # a source may hold them longer than their hits
            return None
        former = former_span(self._snapshot, self._at, 0, self._window, part)
        try:
            spans = forgotten_spans(former, self._shown)
            return joined([rows for span in spans for rows in self._hits.rows(span)])
        except PageExpiredError:
            self._hits.lowest_row = self._at.first_row(0)
            return None

    def enters_us(self, since: Since | None = None) -> int | None:
        """Return the first instant at which the clock brings a row that is not visible yet; None = at none.

        Args:
            since: only rows that came after this position count.
        """
        stream = self._snapshot.streams[0]
        if stream.high_water_us is None or stream.high_water_us <= self._shown.end_us:
            return None
        span = upcoming_span(stream, self._window, self._shown)
        if span is not None and since is not None:
            span = replace(span, first_row=max(span.first_row, since.parts[0].past_row))
        if span is not None and self._window.skips:
            _, enters_us = self._coming_in(span)
            return int(enters_us.min()) if len(enters_us) else None
        least_us = None if span is None else self._hits.least_us(span)
        return None if least_us is None else self._window.first_shown(least_us)

    def coming(self) -> tuple[Rows, Rows]:
        """Return the rows that the clock brings though nothing arrives, and the instants at which they enter."""
        span = upcoming_span(self._snapshot.streams[0], self._window, self._shown)
        return (NO_ROWS, NO_ROWS) if span is None else self._coming_in(span)

    def _coming_in(self, span: DatedRows) -> tuple[Rows, Rows]:
        """Return the rows of a span that the window will show, and the instants at which they enter."""
        rows = joined(self._hits.rows(span))
        enters_us, leaves_us = self._instants(rows)
        if leaves_us is None or not self._window.skips:
            return rows, enters_us
        shows = enters_us < leaves_us
        return rows[shows], enters_us[shows]

    def _instants(self, rows: Rows) -> tuple[Rows, Rows | None]:
        """Return when rows enter, and when they leave; None = they never do."""
        times = self._source.times(self._shown.stream_id, rows)
        return self._window.enters(times), self._window.leaves(times)

    def gone(self, since: Since, floors: Sequence[PartPosition]) -> Rows | None:
        """Return the rows that were visible since an earlier position, or to come, and are neither; None = most are.

        Raises as `visible` does. Cost: O(segments) and O(hits) of the chunks that BEGIN has passed.
        """
        end_us = last_us(self._snapshot.streams[0], self._window, self._shown)
        reached = replace(self._shown, end_us=end_us)
        shown = shown_since_span(reached, self._window, (since.now_us, self._at.now_us), floors[0])
        if shown is None:
            return None
        spans = forgotten_spans(shown, reached)
        rows = joined([rows for span in spans for rows in self._hits.rows(span)])
        if not self._window.skips:
            return rows
        enters_us, leaves_us = self._instants(rows)
        assert leaves_us is not None, "a window that skips tuples slides"
        return rows[(enters_us < leaves_us) & (leaves_us > since.now_us)]

    def arrived(self, rows: Rows, since: Since) -> NDArray[np.bool_]:
        """Return which of some rows became matches after an earlier position."""
        fresh: NDArray[np.bool_] = rows >= since.parts[0].past_row
        return fresh

    def leaves(self, rows: Rows) -> Rows | None:
        """Return the instants at which rows leave; None = they never do."""
        if not self._window.slides:
            return None
        return self._window.leaves(self._source.times(self._shown.stream_id, rows))

    def ids(self, rows: Rows) -> Rows:
        """Return the tuple ids of rows."""
        return self._source.tuples(self._shown.stream_id, (), rows).tuple_ids

    def values(self, rows: Rows) -> Sequence[Column]:
        """Return the select list computed for rows."""
        tuples = self.tuples(rows, self._reading.names)
        return [column for _, column in outputs(self._reading, tuples)]

    def tuples(self, rows: Rows, names: Names) -> Sequence[Tuples]:
        """Return the tuples of rows, with these columns: one, of the only source."""
        return (self._source.tuples(self._shown.stream_id, names[0], rows),)

    def tuples_between(self, first_row: int, past_row: int, names: Names) -> Tuples:
        """Return the tuples of the rows `[first_row, past_row)`, one at least, with these columns."""
        self._hits.finding.looked = True
        stream_id, number = self._shown.stream_id, first_row // SEGMENT_ROWS
        if past_row <= (number + 1) * SEGMENT_ROWS:
            return self._source.tuples_between(stream_id, names[0], first_row, past_row)
        return self._source.tuples(stream_id, names[0], np.arange(first_row, past_row))

    def _ordered(self, rows: Rows) -> Rows:
        """Return rows, which ascend, in the order of answers: of their times, and of their numbers where equal."""
        times = self._source.times(self._shown.stream_id, rows)
        return rows if ascends(times) else rows[np.argsort(times, kind="stable")]

    def _settle(self) -> None:
        """Remember what was found; refuse it if part of it may have been dropped while it was looked for."""
        if not self._hits.finding.looked:
            return
        at, before, cut = self._at, self._snapshot.cut, self._results.cut()
        if (cut.gen, cut.seq) != (before.gen, before.seq):
            later = self._results.snapshot(self._snapshot.query.query_id)
            if later.cut.gen != at.gen or later.clause.clause_id != self._snapshot.clause.clause_id:
                raise PageExpiredError
            if later.streams[0].dropped_row > self._hits.lowest_row:
                raise PageExpiredError
        self._hits.finding.remember()
