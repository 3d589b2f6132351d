"""The aggregates of one condition over one stream: partials of whole chunks, and the rows of all others."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.aggregated import GROUPS_AT_ONCE
from psoup.engine.aggregates.grouping import AggregatedGroups, Grouping, RowsToAggregate
from psoup.engine.aggregates.groups import placed
from psoup.engine.aggregates.partials.chunk_rows import (
    ChunkRows,
    RowExtent,
    all_rows,
    chunk_rows,
    extent_of,
    united,
)
from psoup.engine.aggregates.partials.group_table import GroupTable
from psoup.engine.aggregates.partials.made_units import Chunks, MadeUnits, TooManyGroupsError
from psoup.engine.aggregates.partials.partial import Partial, finished, partial_of, run_of
from psoup.engine.aggregates.partials.partial_cache import TOO_MANY_GROUPS, TooManyGroups
from psoup.engine.aggregates.partials.stream_partials import StreamPartials, nothing_known
from psoup.engine.aggregates.tallies import Layout
from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import RowSpan, by_segment
from psoup.engine.limits import (
    CHUNK_GROUPS_MAX,
    CHUNK_ROWS,
    PARTIALS_CACHE_BYTES_MAX,
    SEGMENT_GROUPS_MAX,
    SEGMENT_ROWS,
)
from psoup.engine.results.segment_hits import NO_ROWS
from psoup.engine.tuples.value_type import value_type

Rows = NDArray[np.int64]


class HitsToAggregate(Protocol):
    """The rows of a condition over one stream, as the aggregates of an invocation read them."""

    @property
    def every(self) -> bool:
        """Return whether all rows satisfy the condition."""
        ...

    def hits(self, first_row: int, past_row: int) -> Rows:
        """Return the rows in `[first_row, past_row)` that satisfy the condition, ascending."""
        ...

    def dated(self, rows: Rows) -> Rows:
        """Return those of some rows that are dated inside of the window."""
        ...

    def narrowed(self, span: RowSpan) -> RowSpan:
        """Return the rows of a span of one segment that are dated inside of the window, or the span as it is.

        They are a span where tuples came in the order of their times. There may be none.
        """
        ...

    def read(self, rows: Rows) -> RowsToAggregate:
        """Return the columns of rows that the grouping reads."""
        ...

    def read_between(self, first_row: int, past_row: int) -> RowsToAggregate:
        """Return the same of the rows `[first_row, past_row)`, one at least: as they lie, if in one segment."""
        ...


@value_type
class StreamAggregates:
    """What an invocation has found.

    Attributes:
        groups: the groups of the visible rows, with their aggregates.
        extent: which rows are visible.
        partials: to be kept for the invocations to come, once it is known that nothing was dropped meanwhile; what was
            given where nothing is new; None = there are none.
    """

    groups: AggregatedGroups
    extent: RowExtent
    partials: StreamPartials | TooManyGroups | None


def aggregates_of(
    spans: Sequence[RowSpan],
    grouping: Grouping,
    stream: HitsToAggregate,
    *,
    known: StreamPartials | TooManyGroups | None,
    lowest_row: int,
    whole_row: int,
) -> StreamAggregates:
    """Return the aggregates of the visible rows of a condition over one stream.

    Rows of whole chunks that lie in the window as a whole are never read again once their partials are kept: the same
    bits come out whatever is kept.

    Args:
        spans: where visible rows lie, ascending, and whether all of them are dated inside of the window.
        grouping: keys and aggregates.
        stream: the rows of the condition.
        known: partials that an earlier invocation has left, under the same condition and grouping.
        lowest_row: rows below it have been dropped.
        whole_row: rows below it lie in whole chunks, which do not change, and whose partials are kept.

    Cost: O(groups) for each segment, and for each chunk at the ends of spans; of segments and chunks without partials,
    and of chunks that an end of the window cuts, that of reading and aggregating their rows.
    """
    if not grouping.mergeable or isinstance(known, TooManyGroups):
        return _of_rows(spans, grouping, stream, known)
    unit = 1 if known is None else known.unit
    whole = [_whole_chunks(span, whole_row, unit) for span in spans]
    chunks = [one for one in whole if one is not None]
    if not chunks:
        return _of_rows(spans, grouping, stream, known)
    kept = _reaching(chunks, grouping, stream, known, lowest_row)
    if isinstance(kept, TooManyGroups):
        return _of_rows(spans, grouping, stream, kept)
    if kept.unit != unit:  # chunks turned out to have too many groups
        return aggregates_of(
            spans, grouping, stream, known=kept, lowest_row=lowest_row, whole_row=whole_row
        )
    parts: list[Partial] = []
    extents: list[RowExtent] = []
    for first, past in chunks:
        parts += kept.of(first, past)
        extents.append(kept.extent(first, past))
    table = kept.table
    ragged = [part for span, own in zip(spans, whole, strict=True) for part in _ragged(span, own)]
    for rows, extent in _read(ragged, stream):
        table, groups = table.grouped(grouping, rows)
        if groups.count > GROUPS_AT_ONCE:
            return _of_rows(spans, grouping, stream, kept)
        parts.append(partial_of(grouping, rows, groups, parts[0].tallies.layout))
        extents.append(extent)
    return StreamAggregates(finished(grouping, table.merged(parts)), united(extents), kept)


def sealed_partials(
    chunks: range,
    grouping: Grouping,
    stream: HitsToAggregate,
    *,
    known: StreamPartials | TooManyGroups | None,
    lowest_row: int,
) -> StreamPartials | TooManyGroups:
    """Return partials of some whole chunks, of each of them, with those that are known.

    Where they have too many groups, none of chunks: these are made of segments, by the next call.

    Args:
        chunks: that follow each other, one at least; whole segments, if what is known is not `divided`.
        grouping: keys and aggregates, which can be merged.
        stream: the rows of the condition.
        known: partials that there are already.
        lowest_row: rows below it have been dropped.

    Cost: that of reading and aggregating the rows of chunks without partials.
    """
    if isinstance(known, TooManyGroups):
        return known
    span = chunks.start, chunks.stop
    return _reaching([span], grouping, stream, known, lowest_row, every_chunk=True)


def _of_rows(
    spans: Sequence[RowSpan],
    grouping: Grouping,
    stream: HitsToAggregate,
    partials: StreamPartials | TooManyGroups | None,
) -> StreamAggregates:
    """Return the aggregates of all visible rows, read one by one, and partials as they are."""
    rows = _visible(spans, stream)
    groups = grouping.aggregated(stream.read(rows))
    return StreamAggregates(groups, extent_of(rows), partials)


def _reaching(
    chunks: Sequence[Chunks],
    grouping: Grouping,
    stream: HitsToAggregate,
    known: StreamPartials | None,
    lowest_row: int,
    *,
    every_chunk: bool = False,
) -> StreamPartials | TooManyGroups:
    """Return partials that reach whole chunks; of none, and not `divided`, where chunks have too many groups."""
    if known is None:
        known = nothing_known(GroupTable.of_kinds([key.type for key in grouping.keys]), 0)
    try:
        return known.reaching(
            chunks,
            lowest=-(-lowest_row // CHUNK_ROWS),
            make=_Making(grouping, stream),
            every_chunk=every_chunk,
        )
    except TooManyGroupsError as error:
        if error.of_chunks:
            return nothing_known(known.table.without_groups(), 0, divided=False)
        return TOO_MANY_GROUPS


def _whole_chunks(span: RowSpan, whole_row: int, unit: int) -> Chunks | None:
    """Return the whole chunks `[first, past)` of a span all of whose rows are visible; None = there is none.

    They are units of so many chunks.
    """
    first_row, past_row, inside = span
    rows = unit * CHUNK_ROWS
    first, past = -(-first_row // rows), min(past_row, whole_row) // rows
    return (first * unit, past * unit) if inside and first < past else None


def _ragged(span: RowSpan, whole: Chunks | None) -> list[RowSpan]:
    """Return what a span has beside its whole chunks."""
    if whole is None:
        return [span]
    first_row, past_row, inside = span
    begin, end = whole[0] * CHUNK_ROWS, whole[1] * CHUNK_ROWS
    sides = ((first_row, begin, inside), (end, past_row, inside))
    return [side for side in sides if side[0] < side[1]]


def _visible(spans: Sequence[RowSpan], stream: HitsToAggregate) -> Rows:
    """Return the visible rows of some spans."""
    found = []
    for first_row, past_row, inside in spans:
        checkpoint()
        rows = stream.hits(first_row, past_row)
        found.append(rows if inside else stream.dated(rows))
    return np.concatenate([NO_ROWS, *found])


def _read(
    spans: Sequence[RowSpan], stream: HitsToAggregate
) -> Iterator[tuple[RowsToAggregate, RowExtent]]:
    """Yield the visible rows of some spans, segment by segment: texts of two have no codes in common."""
    for _, cut in groupby(by_segment(spans), key=lambda span: span[0] // SEGMENT_ROWS):
        own = [span if span[2] else stream.narrowed(span) for span in cut]
        own = [span for span in own if span[0] < span[1]]
        if len(own) == 1 and stream.every and own[0][2]:
            first_row, past_row, _ = own[0]
            extent = RowExtent(past_row - first_row, first_row, past_row - 1)
            yield stream.read_between(first_row, past_row), extent
        elif own and len(rows := _visible(own, stream)):
            yield stream.read(rows), extent_of(rows)


class _Making:
    """Makes partials of the hits of a condition, those of a segment at once: they have one dictionary a column."""

    def __init__(self, grouping: Grouping, stream: HitsToAggregate) -> None:
        self._grouping = grouping
        self._stream = stream
        self._like: Layout | None = None
        """Of the partials that were made last: the next ones are to be merged with them."""
        self._taken = 0

    def chunks(self, first: int, past: int) -> MadeUnits:
        """Return the partials of the chunks `[first, past)` of one segment."""
        rows, chunks = _chunks(self._stream, first, past)
        groups_max = CHUNK_GROUPS_MAX * (past - first)
        made = self._made(rows, chunks, chunks.ends, first, groups_max)
        if made is None:
            raise TooManyGroupsError(of_chunks=True)
        return made

    def segment(self, first: int, past: int) -> MadeUnits:
        """Return the partial of the chunks `[first, past)` together, which are a segment."""
        rows, chunks = _chunks(self._stream, first, past)
        number, edges = first // (past - first), chunks.ends[[0, -1]]
        made = self._made(rows, chunks, edges, number, SEGMENT_GROUPS_MAX)
        if made is None:
            raise TooManyGroupsError
        return made

    def _made(
        self, rows: RowsToAggregate, chunks: ChunkRows, edges: Rows, first: int, groups_max: int
    ) -> MadeUnits | None:
        """Return the partials of units of rows, which `edges` cut; None where they have more groups than these."""
        checkpoint()
        groups = self._grouping.groups(rows)
        run = run_of(
            self._grouping,
            rows,
            edges,
            first,
            groups_max=groups_max,
            groups=placed(groups),
            like=self._like,
        )
        if run is None:
            return None
        self._like = run.partial.tallies.layout
        self._taken += run.nbytes + chunks.nbytes
        if self._taken > PARTIALS_CACHE_BYTES_MAX:  # nor would they be kept
            raise TooManyGroupsError
        return MadeUnits(groups, run, chunks)


def _chunks(stream: HitsToAggregate, first: int, past: int) -> tuple[RowsToAggregate, ChunkRows]:
    """Return the hits in the chunks `[first, past)` of a segment, and which rows of the stream they are."""
    if stream.every:
        rows = stream.read_between(first * CHUNK_ROWS, past * CHUNK_ROWS)
        return rows, all_rows(first, past, CHUNK_ROWS)
    hits = stream.hits(first * CHUNK_ROWS, past * CHUNK_ROWS)
    ends = hits.searchsorted(np.arange(first, past + 1) * CHUNK_ROWS)
    return stream.read(hits), chunk_rows(first, hits, ends)
