"""The composite tuples of one position that differ from those of an earlier one, and when the clock changes them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import DatedRows, Tuples
from psoup.engine.errors import AnswerTooLargeError, PageExpiredError
from psoup.engine.invocation.answering import outputs
from psoup.engine.invocation.composite_hits import in_order
from psoup.engine.invocation.position.answer import PartPosition, Since
from psoup.engine.invocation.position.pinning import earliest, is_empty
from psoup.engine.invocation.position.spans import (
    entered_spans,
    forgotten_spans,
    former_span,
    last_us,
    other_span,
    shown_since_span,
    shown_until,
    upcoming_span,
)
from psoup.engine.invocation.several_streams.join_finding import JoinFinding
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.reading import Names
from psoup.engine.query.window import Window
from psoup.engine.tuples.batch import Column

Rows = NDArray[np.int64]


class JoinChanges(JoinFinding):
    """The composites of a snapshot's clause at a position, and what they were earlier: a `Finder`."""

    __slots__ = ()

    def numbers(self) -> tuple[int, int | None, int | None]:
        """Return how many composites are visible, when the clock brings the next one, and takes the next one.

        As they are not listed, it may take none at that instant: it is the first at which a tuple leaves.
        """
        sliding = [
            span if window.slides else None
            for span, window in zip(self._spans, self._windows, strict=True)
        ]
        return self.count(), self.enters_us(), self._first_us(sliding, leaving)

    def entered(self, since: Since, *, by_clock: bool) -> Rows:
        """Return the visible composites that were not visible at an earlier position, in the order of answers.

        Cost: the joins of the tuples that came since with all others; that of `visible` where some of them lie in whole
        chunks whose composites are kept.
        """
        whole = [stream.rows // CHUNK_ROWS * CHUNK_ROWS for stream in self._snapshot.streams]
        if self._snapshot.clause.join is not None and any(
            part.past_row < past_row for part, past_row in zip(since.parts, whole, strict=True)
        ):
            rows = self.visible()
            return rows[:, self.have_entered(rows, since)]
        ends = self._shown_until(since)
        fresh = [
            entered_spans(span, part, end_us, by_clock=by_clock)
            for span, part, end_us in zip(self._spans, since.parts, ends, strict=True)
        ]
        others = [
            other_span(span, part, end_us, by_clock=by_clock)
            for span, part, end_us in zip(self._spans, since.parts, ends, strict=True)
        ]
        return self._ordered(self._with_fresh(self._spans, fresh, others))

    def have_entered(self, rows: Rows, since: Since) -> NDArray[np.bool_]:
        """Return which of visible composites were not visible at an earlier position."""
        entered = np.zeros(rows.shape[1], dtype=np.bool_)
        ends = self._shown_until(since)
        for part, then, times, end_us in zip(
            rows, since.parts, self.times(rows), ends, strict=True
        ):
            entered |= (part >= then.past_row) | (times > end_us)
        return entered

    def counted(self, since: Since) -> tuple[Rows, int, int | None]:
        """Return what entered since, the number of all visible composites, and when the first of them leaves."""
        rows = self.visible()
        leaves_us = self.leaves(rows)
        first_us = None if leaves_us is None or not len(leaves_us) else int(leaves_us.min())
        return rows[:, self.have_entered(rows, since)], rows.shape[1], first_us

    def forgotten(self, since: Since) -> Rows | None:
        """Return the composites that retention has dropped since, and the windows would show; None = it is not known.

        Not known is it where segments are not held any more, and where there are too many to look at.
        """
        former = [
            former_span(self._snapshot, self._at, place, window, part)
            for place, (window, part) in enumerate(zip(self._windows, since.parts, strict=True))
        ]
        gone = [forgotten_spans(*pair) for pair in zip(former, self._spans, strict=True)]
        before = self._lowest_rows
        self._lowest_rows = [
            min(one, span.first_row) for one, span in zip(before, former, strict=True)
        ]
        try:
            return self._with_fresh(former, gone, self._spans)
        except (PageExpiredError, AnswerTooLargeError):
            self._lowest_rows = before
            return None

    def enters_us(self, since: Since | None = None) -> int | None:
        """Return the first instant at which the clock brings a composite that is not visible yet; None = at none.

        Where there are too many to look at, an earlier instant: that at which the first of the tuples enters.

        Args:
            since: only composites with a tuple that came after this position count.
        """
        try:
            rows, enters_us = self.coming()
        except AnswerTooLargeError:
            return self._first_us(self._upcoming(), Window.first_shown)
        if since is not None:
            enters_us = enters_us[self.arrived(rows, since)]
        return int(enters_us.min()) if len(enters_us) else None

    def coming(self) -> tuple[Rows, Rows]:
        """Return the composites that the clock brings though nothing arrives, and the instants at which they enter.

        Raises as `visible` does.
        """
        upcoming = self._upcoming()
        if not any(upcoming):
            return self.no_rows(), np.empty(0, dtype=np.int64)
        every = [
            shown if later is None else replace(shown, end_us=later.end_us)
            for shown, later in zip(self._spans, upcoming, strict=True)
        ]
        fresh = [[] if later is None else [later] for later in upcoming]
        rows = self._with_fresh(every, fresh, self._spans)
        enters_us, leaves_us = self._instants(rows)
        if leaves_us is None:
            return rows, enters_us
        comes = enters_us < leaves_us
        return rows[:, comes], enters_us[comes]

    def gone(self, since: Since, floors: Sequence[PartPosition]) -> Rows | None:
        """Return the composites visible since an earlier position, or to come then, that are neither; None = most are.

        Raises as `visible` does.
        """
        reached = [
            replace(span, end_us=last_us(stream, window, span))
            for stream, window, span in zip(
                self._snapshot.streams, self._windows, self._spans, strict=True
            )
        ]
        shown = [
            shown_since_span(span, window, (since.now_us, self._at.now_us), floor)
            for span, window, floor in zip(reached, self._windows, floors, strict=True)
        ]
        held = [span for span in shown if span is not None]
        if len(held) < len(shown):
            return None
        lost = [forgotten_spans(*pair) for pair in zip(held, reached, strict=True)]
        self._lowest_rows = [
            min(one, span.first_row) for one, span in zip(self._lowest_rows, held, strict=True)
        ]
        rows = self._with_fresh(held, lost, reached)
        enters_us, leaves_us = self._instants(rows)
        if leaves_us is None:
            return rows
        # Parts may have been visible one after the other, and never at once.
        return rows[:, (enters_us < leaves_us) & (leaves_us > since.now_us)]

    def _instants(self, rows: Rows) -> tuple[Rows, Rows | None]:
        """Return when composites enter, and when they leave; None = they never do."""
        times = self.times(rows)
        enters_us: Rows = np.maximum.reduce(
            [
                window.enters(of_source)
                for window, of_source in zip(self._windows, times, strict=True)
            ]
        )
        return enters_us, self.leaving(times)

    def arrived(self, rows: Rows, since: Since) -> NDArray[np.bool_]:
        """Return which of some composites have a part that came after an earlier position."""
        fresh: NDArray[np.bool_] = np.logical_or.reduce(
            [part >= then.past_row for part, then in zip(rows, since.parts, strict=True)]
        )
        return fresh

    def ids(self, rows: Rows) -> Rows:
        """Return the tuple ids of the parts of composites."""
        parts = [
            self._source.tuples(span.stream_id, (), part).tuple_ids
            for span, part in zip(self._spans, rows, strict=True)
        ]
        return np.array(parts)

    def values(self, rows: Rows) -> Sequence[Column]:
        """Return the select list computed for composites."""
        tuples = self.tuples(rows, self._reading.names)
        return [column for _, column in outputs(self._reading, tuples)]

    def tuples(self, rows: Rows, names: Names) -> Sequence[Tuples]:
        """Return the parts of composites, by source, with these columns of each."""
        return [
            self._source.tuples(span.stream_id, some, part)
            for span, some, part in zip(self._spans, names, rows, strict=True)
        ]

    def _upcoming(self) -> list[DatedRows | None]:
        """Return by source which tuples the windows will show though nothing arrives."""
        return [
            upcoming_span(stream, window, shown)
            for stream, window, shown in zip(
                self._snapshot.streams, self._windows, self._spans, strict=True
            )
        ]

    def _with_fresh(
        self,
        every: Sequence[DatedRows],
        fresh: Sequence[Sequence[DatedRows]],
        others: Sequence[DatedRows],
    ) -> Rows:
        """Return the composites that have a fresh part, in any order, each once.

        Let p be the last source of a composite whose part is fresh: it is found by the joins of the fresh spans of p,
        and by no others.

        Args:
            every: by source, the tuples that may be parts.
            fresh: by source, spans without a tuple in common.
            others: by source, those of `every` that are not fresh.
        """
        found = [self.no_rows()]
        for place, spans in enumerate(fresh):
            for span in spans:
                asked = (*every[:place], span, *others[place + 1 :])
                if not any(map(is_empty, asked)):
                    found.append(self._source.joining(self._plan, asked))
        return np.ascontiguousarray(np.concatenate(found, axis=1))

    def _ordered(self, rows: Rows) -> Rows:
        """Return composites in the order of answers."""
        order = in_order(np.minimum.reduce(self.times(rows)), rows)
        return rows if order is None else rows.take(order, axis=1)

    def _first_us(
        self, spans: Sequence[DatedRows | None], instant: Callable[[Window, int], int | None]
    ) -> int | None:
        """Return the first instant that the oldest tuples of spans, one of each source, have in their windows."""
        first_us: int | None = None
        for span, window in zip(spans, self._windows, strict=True):
            if span is not None:
                oldest_us = self._source.oldest(
                    span.stream_id,
                    floor_row=span.first_row,
                    floor_us=span.begin_us,
                    past_row=span.past_row,
                )
                first_us = earliest(
                    first_us, None if oldest_us is None else instant(window, oldest_us)
                )
        return first_us

    def _shown_until(self, since: Since) -> list[int]:
        """Return the last time that the window of each source showed at an earlier instant."""
        return [shown_until(window, since.now_us) for window in self._windows]


def leaving(window: Window, time_us: int) -> int | None:
    """Return the instant at which a tuple dated so leaves; None = it never does."""
    interval = window.interval(time_us)
    return None if interval is None else interval[1]
