"""The groups of one stream at many instants, out of one pass over its rows.

The rows that any of the windows shows are sorted by time, so each window shows a run of them. The ends of all runs
cut the rows into panes, at most two for each instant. The states of the groups of a pane are made once; a point merges
those of its panes, of 32 panes together where these lie in it as a whole. All points are merged at once: their number
is one more key. Nothing is subtracted, so the bits are those of an invocation at the instant.
Source: panes of Li et al. 2005, "No pane, no gain"; here for instants that are apart by any length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.grouping import Grouping, RowsToAggregate
from psoup.engine.aggregates.groups import grouped
from psoup.engine.aggregates.partials.partial import (
    Partial,
    PartialRun,
    finished,
    merged_states,
    partial_of,
    run_of,
    together,
)
from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import Tuples, TupleSource, by_segment
from psoup.engine.errors import AnswerTooLargeError
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.one_stream.stream_finding import StreamFinding
from psoup.engine.invocation.position.answer import PagePosition
from psoup.engine.invocation.position.pinning import complete_from, has_forgotten
from psoup.engine.invocation.position.series_points import Point
from psoup.engine.invocation.shaped.grouping import (
    ComputedGroups,
    columns_of,
    computed_groups,
    in_answer_order,
)
from psoup.engine.kernels.gather import ascends
from psoup.engine.query.reading import Reading
from psoup.engine.query.shape import Shape
from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.results.contract import ResultsReader, Snapshot
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

Integers = NDArray[np.int64]
Rows = NDArray[np.int64]

COARSER: Final = 32
"""Panes that are merged ahead."""
GROUPS_AT_ONCE: Final = 1 << 20
"""Groups of panes that are merged at once, for as many points as have them: some 100 MB of states at most."""
_ALWAYS_US: Final = -(2**62)
"""Where a window without BEGIN begins."""
_NEVER_US: Final = 2**62
"""Where one without END ends."""


def in_one_pass(reading: Reading, sources: int) -> bool:
    """Return whether the points of a query can be made out of one pass: of groups whose aggregates can be merged."""
    shape = reading.shape
    if sources > 1 or shape.keys is None or shape.looks_past_hits:
        return False
    return Grouping(shape.keys, shape.aggregates).mergeable


class SeriesGroups(StreamFinding):
    """The groups of a query over one stream at many instants. Used by one thread, once."""

    __slots__ = ("_bounds_us", "_grouping", "_instants_us", "_shape", "_shown_us")

    def __init__(
        self,
        results: ResultsReader,
        source: TupleSource,
        snapshot: Snapshot,
        reading: Reading,
        cache: InvocationCache,
        *,
        at: PagePosition,
        instants: Sequence[int],
    ) -> None:
        """Bind the window to each of the instants, one at least; `at` is of the last of them."""
        super().__init__(results, source, snapshot, reading, cache, at=at)
        shape, (part,) = reading.shape, at.parts
        assert shape.keys is not None
        self._shape: Shape = shape
        self._instants_us = instants
        self._grouping = Grouping(shape.keys, shape.aggregates)
        self._bounds_us = self._window.bind_each(instants)
        begins = [_ALWAYS_US if begin_us is None else begin_us for begin_us, _ in self._bounds_us]
        ends = [_NEVER_US if end_us is None else end_us for _, end_us in self._bounds_us]
        floor_us = _ALWAYS_US if part.floor_us is None else part.floor_us
        # Nothing dated later than its instant is ever shown.
        self._shown_us = np.array([np.maximum(begins, floor_us), np.minimum(ends, instants)])
        """(2, n) the times that each point shows, from the first to the last, both inclusive."""
        begin_us, end_us = int(self._shown_us[0].min()), int(self._shown_us[1].max())
        self._shown = replace(
            self._shown, begin_us=None if begin_us == _ALWAYS_US else begin_us, end_us=end_us
        )

    def points(self, *, rows_max: int) -> tuple[list[Point], tuple[AggregateCall, ...]]:
        """Return what the query answers at each instant, and the aggregates that have overflowed in some of them.

        Raises:
            AnswerTooLargeError: the points have more rows than `rows_max` together.
            PageExpiredError: rows that are needed are not held any more.

        Cost: that of reading and aggregating the rows that any of the windows shows, once; then O(groups of panes) for
        each point, about 5 ns for each state of them.
        """
        return self.settled(lambda: self._points(rows_max))

    def _points(self, rows_max: int) -> tuple[list[Point], tuple[AggregateCall, ...]]:
        pieces = self._pieces()
        starts = np.cumsum([0, *(len(one.times) for one in pieces)])
        first = _places(pieces, starts, self._shown_us[0], "left")
        past = np.maximum(first, _places(pieces, starts, self._shown_us[1], "right"))
        edges = np.unique(np.concatenate((starts, first, past)))
        panes = self._panes(pieces, starts, edges)
        states, ranges = self._states(panes, np.searchsorted(edges, (first, past)))
        points: list[Point] = []
        overflowed: dict[AggregateCall, None] = {}
        left = rows_max
        for some in _batches(ranges):
            checkpoint()
            found, places = self._merged(states, ranges[some.start : some.stop])
            overflowed |= dict.fromkeys(found.overflowed)
            numbers, counts = self._numbers(found, places, len(some))
            left -= len(numbers)
            if left < 0:
                raise series_too_large(rows_max)
            points += self._shown_points(some, found, numbers, counts)
        return points, tuple(overflowed)

    def _read_of(self, rows: Rows) -> Tuples:
        """Return rows with the columns that keys and aggregates read of them."""
        (tuples,) = self.tuples(rows, self._reading.group_names)
        return tuples

    def _pieces(self) -> list[Tuples]:
        """Return the visible rows in order of their times, in pieces that follow each other.

        Where all rows of the stream are visible in their order, they are read as they lie, segment by segment.
        """
        pieces: list[Tuples] = []
        for span in by_segment(self.spans()) if self.every else ():
            first_row, past_row, inside = span if span[2] else self.narrowed(span)
            if first_row == past_row:
                continue
            checkpoint()
            piece = self.tuples_between(first_row, past_row, self._reading.group_names)
            late = pieces and piece.times[0] < pieces[-1].times[-1]
            if not inside or late or not (piece.ascending or ascends(piece.times)):
                return [self._read_of(self.visible())]
            pieces.append(piece)
        return pieces or [self._read_of(self.visible())]

    def _panes(self, pieces: Sequence[Tuples], starts: Integers, edges: Integers) -> PartialRun:
        """Return the groups of panes; `edges` cut the rows of all pieces into them, and have the `starts` of pieces."""
        if len(edges) == 1:  # there are no rows
            edges = np.zeros(2, dtype=np.int64)
            starts = edges
        runs: list[PartialRun] = []
        for piece, reach in zip(pieces, pairwise(np.searchsorted(edges, starts)), strict=True):
            checkpoint()
            begin, end = reach if len(piece.times) else (0, 1)
            own, rows = edges[begin : end + 1], _rows_of(piece)
            groups_max = rows.count + len(own)
            like = runs[-1].partial.tallies.layout if runs else None
            run = run_of(
                self._grouping, rows, own - own[0], int(begin), groups_max=groups_max, like=like
            )
            assert run is not None, "each pane has as many groups as rows at most, or one"
            runs.append(run)
        return runs[0] if len(runs) == 1 else runs[0].followed(*runs[1:])

    def _states(self, panes: PartialRun, reach: Integers) -> tuple[Partial, Integers]:
        """Return the groups of panes, and (n, k, 2) which runs of them those of each point are.

        Args:
            panes: with their groups.
            reach: (2, n) the first pane of each point, and the one behind its last.
        """
        coarse = panes.coarser(COARSER)
        none = _rows_of(self._read_of(self.no_rows()))
        nothing = partial_of(self._grouping, none, like=panes.partial.tallies.layout)
        first, past = reach
        begin, end = -(-first // COARSER), np.minimum(past // COARSER, coarse.past)
        merged = begin < end
        begin, end = np.where(merged, (begin, end), 0)
        ahead, behind = np.where(merged, (begin * COARSER, end * COARSER), past)
        of_coarse = panes.partial.count + coarse.edges
        runs = [
            (panes.edges[first], panes.edges[ahead]),
            (of_coarse[begin], of_coarse[end]),
            (panes.edges[behind], panes.edges[past]),
        ]
        if not self._grouping.keys:  # one group, also of no rows
            last = np.full(len(first), panes.partial.count + coarse.partial.count)
            runs.append((last, last + 1))
        states = together([panes.partial, coarse.partial, nothing])
        return states, np.array(runs).transpose(2, 0, 1)

    def _merged(self, states: Partial, ranges: Integers) -> tuple[ComputedGroups, Integers]:
        """Return the groups of points, in order of these and of their keys, and the place of the point of each."""
        sizes = ranges[..., 1] - ranges[..., 0]
        behind = np.cumsum(sizes.ravel())
        places = np.repeat(ranges[..., 1].ravel() - behind, sizes.ravel())
        places += np.arange(len(places))
        some = states.take(places)
        points = np.repeat(np.arange(len(ranges)), sizes.sum(axis=1))
        groups = grouped((Column(ColumnType.INT64, points), *some.keys), some.count)
        points_of, *keys = groups.keys
        merged = merged_states([some], [groups.labels], tuple(keys), groups.count)
        found = finished(self._grouping, merged)
        return computed_groups(self._shape, found), points_of.values

    def _numbers(
        self, found: ComputedGroups, places: Integers, points: int
    ) -> tuple[Integers, Integers]:
        """Return the numbers of the groups that the points have, one point after the other, and how many each has."""
        shape, shown = self._shape, found.shown
        edges = np.searchsorted(places[shown], np.arange(points + 1))
        if not shape.order and not shape.distinct and shape.limit is None and not shape.offset:
            return shown, np.diff(edges)
        listed = [
            in_answer_order(shape, replace(found, shown=shown[begin:end]))
            for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        ]
        return np.concatenate(listed), np.array([len(one) for one in listed], dtype=np.int64)

    def _shown_points(
        self, some: range, found: ComputedGroups, numbers: Integers, counts: Integers
    ) -> Iterator[Point]:
        """Yield some of the points, given the numbers of their groups."""
        columns = [
            (output.name, found.computed(output.expression, numbers))
            for output in self._shape.outputs
        ]
        rows = [slice(*ends) for ends in pairwise([0, *np.cumsum(counts).tolist()])]
        cut = [[(name, column.part(own)) for own in rows] for name, column in columns]
        forgets = has_forgotten(self._snapshot.streams[0])
        for place, count, shown in zip(some, counts.tolist(), zip(*cut, strict=True), strict=True):
            now_us, (begin_us, end_us) = self._instants_us[place], self._bounds_us[place]
            complete_us = complete_from(self._snapshot, now_us) if forgets else None
            yield Point(now_us, begin_us, end_us, complete_us, count, shown)


def series_too_large(rows_max: int) -> AnswerTooLargeError:
    """Return the refusal of a series that has more rows than are answered."""
    return AnswerTooLargeError(
        f"The points of the series have more than {rows_max:,} rows together: ask for fewer points, or narrow the "
        "query by LIMIT or by its conditions.",
        limit=rows_max,
    )


def _places(
    pieces: Sequence[Tuples], starts: Integers, times_us: Integers, side: Literal["left", "right"]
) -> Integers:
    """Return where instants lie among the times of pieces, as `searchsorted` does; `starts` are those of the pieces."""
    lasts = [int(one.times[-1]) if len(one.times) else _ALWAYS_US for one in pieces]
    numbers = np.searchsorted(lasts, times_us, side=side)
    places = starts[numbers]
    for number in np.unique(numbers[numbers < len(pieces)]).tolist():
        some = np.flatnonzero(numbers == number)
        places[some] += np.searchsorted(pieces[number].times, times_us[some], side=side)
    return places


def _rows_of(tuples: Tuples) -> RowsToAggregate:
    times = tuples.times
    return RowsToAggregate(columns_of((tuples,)), len(times), times, tuples.tuple_ids)


def _batches(ranges: Integers) -> Iterator[range]:
    """Yield points one after the other: so many that they have GROUPS_AT_ONCE groups of panes, or one."""
    behind = np.cumsum((ranges[..., 1] - ranges[..., 0]).sum(axis=1))
    begin = 0
    while begin < len(behind):
        before = int(behind[begin - 1]) if begin else 0
        past = int(np.searchsorted(behind, before + GROUPS_AT_ONCE, side="right"))
        yield range(begin, max(past, begin + 1))
        begin = max(past, begin + 1)
