"""Which tuples of a source its row window shows, and until when.

Tuples enter a window in the order of their times, and BEGIN takes the oldest first. So a tuple is among the newest n of
its partition from when it enters until the n-th newer one of the partition does:
    shown(i) <=> in(i) <= now < min(out(i), in(i + n))       in order of (time, tuple id) within the partition
with `[in, out)` of the window of times (`query/window.py`). Nothing that leaves ever brings another one back.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.groups import grouped, in_order
from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import DatedRows, TupleSource
from psoup.engine.invocation.position.answer import PagePosition
from psoup.engine.invocation.position.pinning import is_empty, span_of
from psoup.engine.invocation.position.spans import upcoming_span
from psoup.engine.invocation.shaped.grouping import NEVER_US
from psoup.engine.kernels.gather import ascends
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.row_window import RowWindow
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.window import Window, windows_of
from psoup.engine.results.contract import Snapshot
from psoup.engine.results.segment_hits import NO_ROWS
from psoup.engine.tuples.value_type import value_type

Rows = NDArray[np.int64]

_GROWTH: Final = 4


@value_type
class ShownRows:
    """The tuples of a source that a row window shows, or will show though nothing arrives.

    Attributes:
        rows: (n,) their row numbers, ascending.
        until_us: (n,) when newer tuples take their place; NEVER_US = they never do.
    """

    rows: Rows
    until_us: Rows

    def until(self, rows: Rows) -> Rows:
        """Return until when some rows are shown, `-NEVER_US` for those that are not. Cost: a search for each."""
        if not len(self.rows):
            return np.full(len(rows), -NEVER_US, dtype=np.int64)
        places = np.minimum(self.rows.searchsorted(rows), len(self.rows) - 1)
        return np.where(self.rows[places] == rows, self.until_us[places], -NEVER_US)


@value_type
class DatedSource:
    """One source at a position: what its window of times shows of it, and what it will though nothing arrives."""

    source: TupleSource
    window: Window
    shown: DatedRows
    upcoming: DatedRows | None

    def rows_of(
        self, span: DatedRows, clause: StandingQueryClause | None = None
    ) -> tuple[Rows, Rows]:
        """Return the rows of a span, ascending, and their times; only those that satisfy `clause`, where it is given.

        Raises PageExpiredError if they are not all held any more. Cost: O(chunks), and O(rows) of those that the span
        reaches.
        """
        parts: list[tuple[Rows, Rows]] = [(NO_ROWS, NO_ROWS)]
        if is_empty(span):
            return parts[0]
        stream_id, begin_us, end_us = span.stream_id, span.begin_us, span.end_us
        for first_row, past_row, inside in self.source.reach(
            stream_id, span.first_row, span.past_row, begin_us, end_us
        ):
            checkpoint()
            if clause is None:
                rows = np.arange(first_row, past_row)
            else:
                rows = self.source.matching(stream_id, clause, first_row, past_row)
            times = self.source.times(stream_id, rows)
            if not inside:
                dated = times <= end_us
                if begin_us is not None:
                    dated &= times >= begin_us
                rows, times = rows[dated], times[dated]
            parts.append((rows, times))
        return np.concatenate([one for one, _ in parts]), np.concatenate([one for _, one in parts])


def dated_sources(
    source: TupleSource, snapshot: Snapshot, at: PagePosition
) -> tuple[DatedSource, ...]:
    """Return the sources of a query at a position."""
    query, streams = snapshot.query, snapshot.streams
    windows = windows_of(query.window, query.ranges, len(streams))
    spans = [span_of(snapshot, at, place, window) for place, window in enumerate(windows)]
    return tuple(
        [
            DatedSource(source, window, span, upcoming_span(stream, window, span))
            for stream, window, span in zip(streams, windows, spans, strict=True)
        ]
    )


def shown_rows(dated: DatedSource, row_window: RowWindow, names: tuple[str, ...]) -> ShownRows:
    """Return the rows of a source that its row window shows, or will show.

    Args:
        dated: the source.
        row_window: its row window.
        names: the columns that the keys of the row window read.

    Raises:
        PageExpiredError: a row that has to be looked at is not held any more.

    Cost: with partitions O(visible), about 30 ns a row and key, and a sort where times do not ascend. Without them O(n)
        of the newest n where tuples arrive about in the order of their times, O(visible) else.
    """
    if row_window.keys:
        rows, times = _in_time_order(*dated.rows_of(dated.shown))
    else:
        rows, times = _newest(dated, row_window.count)
    shown = len(rows)
    if dated.upcoming is not None:  # all of it is dated later than what is shown
        later, later_times = _in_time_order(*dated.rows_of(dated.upcoming))
        rows, times = np.concatenate([rows, later]), np.concatenate([times, later_times])
    followers = _followers(dated, row_window, names, rows)
    enters_us = dated.window.enters(times)
    until_us = np.where(followers < 0, NEVER_US, enters_us[followers])
    kept = (followers < 0) | ((followers >= shown) & (until_us > enters_us))
    rows, until_us = rows[kept], until_us[kept]
    order = np.argsort(rows)
    return ShownRows(rows[order], until_us[order])


def _newest(dated: DatedSource, count: int) -> tuple[Rows, Rows]:
    """Return the newest `count` rows that are shown, or all where there are fewer, in order; and their times."""
    span, reach = dated.shown, max(count, CHUNK_ROWS)
    while True:
        first_row = max(span.first_row, span.past_row - reach)
        rows, times = dated.rows_of(replace(span, first_row=first_row))
        if len(rows) >= count or first_row == span.first_row:
            break
        reach *= _GROWTH
    if first_row > span.first_row:
        # Of the rows before these only those dated later than the oldest of the newest so far are among the newest.
        oldest_us = int(np.partition(times, len(times) - count)[len(times) - count])
        begin_us = oldest_us + 1 if span.begin_us is None else max(span.begin_us, oldest_us + 1)
        earlier = dated.rows_of(replace(span, past_row=first_row, begin_us=begin_us))
        rows, times = (np.concatenate(parts) for parts in zip(earlier, (rows, times), strict=True))
    rows, times = _in_time_order(rows, times)
    return rows[-count:], times[-count:]


def _in_time_order(rows: Rows, times: Rows) -> tuple[Rows, Rows]:
    """Return rows, which ascend, and their times, in order of these; where they are equal, as they were."""
    if ascends(times):
        return rows, times
    order = np.argsort(times, kind="stable")
    return rows[order], times[order]


def _followers(
    dated: DatedSource, row_window: RowWindow, names: tuple[str, ...], rows: Rows
) -> Rows:
    """Return for each of some rows, in order of their times, the place of the one that takes its place; -1 = none."""
    ordered, past = np.arange(len(rows)), np.full(len(rows), len(rows))
    if row_window.keys:
        tuples = dated.source.tuples(dated.shown.stream_id, names, rows)
        keys = [
            evaluate(key, lambda ref: tuples.columns[ref.name], len(rows))
            for key in row_window.keys
        ]
        partitions = grouped(keys, len(rows))
        ordered, edges = in_order(partitions.labels, partitions.count)
        past = np.repeat(edges[1:], np.diff(edges))
    following = np.arange(len(rows)) + row_window.count
    has = following < past
    followers = np.full(len(rows), -1, dtype=np.int64)
    followers[ordered[has]] = ordered[following[has]]
    return followers
