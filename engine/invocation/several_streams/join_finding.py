"""The composite tuples of one position: those kept by chunks, and those found when they are asked for.

visible(composite) <=> it satisfies the clause, and each part is retained, dated up to NOW, and inside the
window of its source at NOW.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import DatedRows, PartneredRows, Tuples, TupleSource
from psoup.engine.errors import AnswerTooLargeError, PageExpiredError, QuerySuspendedError
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.composite_hits import CompositeHits, grown, in_order, no_hits
from psoup.engine.invocation.position.answer import PagePosition
from psoup.engine.invocation.position.pinning import is_empty, span_of
from psoup.engine.invocation.several_streams.composite_dates import Dates
from psoup.engine.limits import CHUNK_ROWS, JOIN_ANSWER_ROWS_MAX
from psoup.engine.query.reading import Reading
from psoup.engine.query.window import Window
from psoup.engine.results.contract import ResultsReader, Snapshot

Rows = NDArray[np.int64]
Found = TypeVar("Found")


class JoinFinding:
    """The composites of a snapshot's clause at a position. Used by one thread, once.

    Whoever has them from here sees to it that nothing was dropped meanwhile: `settle`.
    """

    __slots__ = (
        "_at",
        "_cache",
        "_dates",
        "_grown",
        "_lowest_rows",
        "_plan",
        "_reading",
        "_results",
        "_snapshot",
        "_source",
        "_spans",
        "_windows",
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
        windows: Sequence[Window],
    ) -> None:
        """Bind each source's window to the position's instant; `reading` is of the snapshot's clause."""
        self._results = results
        self._source = source
        self._snapshot = snapshot
        self._reading, self._plan = reading, reading.plan
        self._cache = cache
        self._at = at
        self._windows = windows
        self._spans = [span_of(snapshot, at, place, window) for place, window in enumerate(windows)]
        """What may be part of a composite at the position, by source."""
        self._dates = Dates(self._spans)
        self._grown: CompositeHits | None = None
        self._lowest_rows = [span.first_row for span in self._spans]
        """The smallest row of each source that was looked at."""

    def count(self) -> int:
        """Return how many composites are visible. Raises as `rows` does.

        Cost: that of `rows` without their order; those that are not kept are made only where their number is not
        to be had without.
        """
        kept = len(self._kept()[1])
        return kept + sum(self._source.joining_count(self._plan, spans) for spans in self._asked())

    def visible(self) -> Rows:
        """Return the visible composites in the order of answers: (n, m) rows.

        Raises:
            PageExpiredError: a row that is needed is not held any more.
            AnswerTooLargeError: too many are not kept, or it takes too long to find them.

        Cost: O(pages) and a look-up in each that was not seen before, O(m), and the joins of what is not kept.
        """
        hits, places = self._kept()
        earliest, rows = hits.earliest[places], hits.rows.take(places, axis=1)
        found = [self._source.joining(self._plan, spans) for spans in self._asked()]
        count = sum(part.shape[1] for part in found)
        if count > JOIN_ANSWER_ROWS_MAX:
            raise AnswerTooLargeError(
                f"The answer has {count:,} rows that are found when it is asked for, more than "
                f"{JOIN_ANSWER_ROWS_MAX:,}: narrow the window, or the conditions.",
                limit=JOIN_ANSWER_ROWS_MAX,
            )
        if not count:
            return rows
        fresh = np.ascontiguousarray(np.concatenate(found, axis=1))
        earliest = np.concatenate([earliest, np.minimum.reduce(self.times(fresh))])
        rows = np.concatenate([rows, fresh], axis=1)
        order = in_order(earliest, rows)
        return rows if order is None else rows.take(order, axis=1)

    def partnered(self, source: int | None) -> PartneredRows | None:
        """Return the visible composites as rows of one source with their partners, none of them made.

        None where the join does not allow it, and where fewer composites are kept than rows would have to be looked at.

        Args:
            source: whose rows; None = any source's.

        Raises as `visible` does, but for the number of composites.

        Cost: a look at pages that were not seen before; that of finding the partners of all rows in the windows.
        """
        if any(map(is_empty, self._spans)) or self._keeps_few():
            return None
        return self._source.partnered(self._plan, self._spans, source)

    def part(self, source: int, rows: Rows, names: Sequence[str]) -> Tuples:
        """Return the tuples of rows of one source, with these columns."""
        return self._source.tuples(self._spans[source].stream_id, names, rows)

    def leaves_of(self, source: int, times: Rows) -> Rows | None:
        """Return the instants at which tuples of one source leave its window; None = they never do."""
        return self._windows[source].leaves(times)

    def no_rows(self) -> Rows:
        """Return none: (n, 0)."""
        return np.empty((len(self._spans), 0), dtype=np.int64)

    def leaves(self, rows: Rows) -> Rows | None:
        """Return the instants at which composites leave; None = they never do."""
        return self.leaving(self.times(rows))

    def times(self, rows: Rows) -> list[Rows]:
        """Return the times of the parts of composites, by source."""
        return [
            self._source.times(span.stream_id, part)
            for span, part in zip(self._spans, rows, strict=True)
        ]

    def settled(self, look: Callable[[], Found]) -> Found:
        """Return what `look` finds here, and remember what was read.

        Raises:
            NotFoundError: the query has been removed.
            QuerySuspendedError: the clause ran over a bound meanwhile, and its composites are gone.
            PageExpiredError: segments that this position retains have been dropped while it was looked for, or the
                query has another clause.
        """
        found = look()
        self._settle()
        return found

    def _settle(self) -> None:
        """Remember what was read; refuse it if part of it may have been dropped while it was looked for."""
        at, before, cut = self._at, self._snapshot.cut, self._results.cut()
        if (cut.gen, cut.seq) != (before.gen, before.seq):
            later = self._results.snapshot(self._snapshot.query.query_id)
            if later.cut.gen != at.gen or later.clause.clause_id != self._snapshot.clause.clause_id:
                raise PageExpiredError
            refuse_suspended(later)
            if any(
                stream.dropped_row > lowest_row
                # Composites left of a LEFT JOIN are of the first streams alone.
                for stream, lowest_row in zip(later.streams, self._lowest_rows, strict=False)
            ):
                raise PageExpiredError
        if self._grown is not None:
            self._cache.remember_composites(self._snapshot, self._grown)

    def leaving(self, times: Sequence[Rows]) -> Rows | None:
        """Return when composites whose parts are dated so leave; None = they never do."""
        leaving = [
            window.leaves(of_source) for window, of_source in zip(self._windows, times, strict=True)
        ]
        some = [leaves_us for leaves_us in leaving if leaves_us is not None]
        earliest: Rows | None = np.minimum.reduce(some) if some else None
        return earliest

    def _asked(self) -> Iterator[Sequence[DatedRows]]:
        """Yield the spans of each join that finds what is not kept; together they find it once.

        Nothing kept: all spans as they are. Else what is not kept has an open part, one at or past the whole chunks
        of its stream. Let p be the last source of a composite whose part is open: it is found by the p-th join, of
        the open rows of p with all rows of the sources before it and the whole chunks of those behind it, and by
        no other: an earlier p has the open part among its whole chunks, a later one has none.
        """
        every = self._spans
        if self._snapshot.clause.join is None:
            if not any(map(is_empty, every)):
                yield every
            return
        whole = self._whole()
        for place, span in enumerate(every):
            fresh = replace(span, first_row=max(span.first_row, whole[place].past_row))
            spans = (*every[:place], fresh, *whole[place + 1 :])
            if not any(map(is_empty, spans)):
                yield spans

    def _whole(self) -> list[DatedRows]:
        """Return the spans without the chunks that were open at the snapshot: those of kept composites."""
        return [
            replace(span, past_row=min(stream.rows // CHUNK_ROWS * CHUNK_ROWS, span.past_row))
            for span, stream in zip(self._spans, self._snapshot.streams, strict=True)
        ]

    def _keeps_few(self) -> bool:
        """Return whether composites are kept, and are fewer than the rows in the windows."""
        if self._snapshot.clause.join is None:
            return False
        reached = self._dates.reached(self._hits())
        rows = 0
        for span in self._spans:
            runs = self._source.reach(
                span.stream_id, span.first_row, span.past_row, span.begin_us, span.end_us
            )
            rows += sum(past - first for first, past, _ in runs)
        few: bool = reached.stop - reached.start < rows
        return few

    def _kept(self) -> tuple[CompositeHits, Rows]:
        """Return composites that are kept, and the places of the visible ones among them, in order."""
        nothing = no_hits(len(self._spans)), np.empty(0, dtype=np.int64)
        if self._snapshot.clause.join is None:
            return nothing
        whole = self._whole()
        if any(map(is_empty, whole)):
            return nothing
        hits, dates = self._hits(), self._dates
        some = dates.reached(hits)
        rows = hits.rows[:, some]
        shown = dates.shown(hits.earliest[some], hits.latest[some])
        for span, part in zip(whole, rows, strict=True):
            shown &= part >= span.first_row
            shown &= part < span.past_row
        places = np.flatnonzero(shown)
        for source in dates.unlike:
            span = whole[source]
            assert span.begin_us is not None, "an open span ends at NOW, and is none narrower"
            times = self._source.times(span.stream_id, rows[source, places])
            places = places[(times >= span.begin_us) & (times <= span.end_us)]
        return hits, places + some.start

    def _hits(self) -> CompositeHits:
        """Return the clause's composites in all pages that the windows reach, and maybe in others."""
        record, streams = self._snapshot.clause, self._snapshot.streams
        if self._grown is not None:
            return self._grown
        known = self._cache.composites(self._snapshot) or no_hits(len(streams))
        pages, dates, seen = self._results.composites(record), self._dates, known.seen
        fresh = [page for page in pages if page.bounds not in seen and dates.reach(page.bounds)]
        if not fresh:
            return known
        held = frozenset(page.bounds for page in pages)
        self._grown = grown(
            replace(known, seen=seen & held),
            fresh,
            record.clause_id,
            dropped_rows=[stream.dropped_row for stream in streams],
        )
        return self._grown


def refuse_suspended(snapshot: Snapshot) -> None:
    """Raise QuerySuspendedError where the snapshot's clause ran over a bound of joins."""
    join = snapshot.clause.join
    if join is not None and join.suspended is not None:
        raise QuerySuspendedError(
            "The query found more than a join may, and is answered no more. Register it anew with a factor that ties "
            "its streams more closely, such as a band of time, or with materialize none, which looks for what the "
            "window shows when it is asked.",
            since_seq=join.suspended.since_seq,
            reason=join.suspended.reason,
        )
