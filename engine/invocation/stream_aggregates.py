"""The aggregates of one condition over one stream: partials of whole chunks, and the rows of all others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.aggregated import GROUPS_AT_ONCE
from psoup.engine.aggregates.chunk_rows import (
    ChunkRows,
    RowExtent,
    all_rows,
    chunk_rows,
    extent_of,
    united,
)
from psoup.engine.aggregates.group_table import GroupTable
from psoup.engine.aggregates.grouping import AggregatedGroups, Grouping, RowsToAggregate
from psoup.engine.aggregates.groups import Groups, placed
from psoup.engine.aggregates.partial import (
    Partial,
    PartialRun,
    finished,
    partial_of,
    run_of,
)
from psoup.engine.aggregates.partial_cache import (
    TOO_MANY_GROUPS,
    ChunkRun,
    Runs,
    StreamPartials,
    TooManyGroups,
    partials_of,
)
from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import RowSpan, by_segment
from psoup.engine.limits import CHUNK_GROUPS_MAX, CHUNK_ROWS, PARTIALS_CACHE_BYTES_MAX, SEGMENT_ROWS
from psoup.engine.results.segment_hits import NO_ROWS
from psoup.engine.tuples.value_type import value_type

Rows = NDArray[np.int64]

CHUNKS_AT_ONCE: Final = SEGMENT_ROWS // CHUNK_ROWS
"""Whose rows are read together: those of a segment, which has one dictionary a column, half a megabyte a column."""


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


class _TooManyGroupsError(Exception):
    """Partials of these chunks are not worth keeping."""


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

    Cost: O(groups) for each segment, and for each chunk at the ends of spans; of chunks without partials, and of those
    that an end of the window cuts, that of reading and aggregating their rows.
    """
    whole = [one for span in spans if (one := _whole_chunks(span, whole_row)) is not None]
    if not whole or not grouping.mergeable or isinstance(known, TooManyGroups):
        return _of_rows(spans, grouping, stream, known)
    try:
        kept = _reaching(whole, grouping, stream, known, lowest_row)
    except _TooManyGroupsError:
        return _of_rows(spans, grouping, stream, TOO_MANY_GROUPS)
    parts: list[Partial] = []
    extents: list[RowExtent] = []
    for first, past in whole:
        parts += kept.of(first, past)
        extents.append(kept.extent(first, past))
    table = kept.table
    for rows, extent in _read(
        [part for span in spans for part in _ragged(span, whole_row)], stream
    ):
        table, groups = table.grouped(grouping, rows)
        if groups.count > GROUPS_AT_ONCE:
            return _of_rows(spans, grouping, stream, kept)
        parts.append(partial_of(grouping, rows, groups, parts[0].tallies.layout))
        extents.append(extent)
    return StreamAggregates(finished(grouping, table.merged(parts)), united(extents), kept)


def sealed_partials(
    first: int,
    past: int,
    grouping: Grouping,
    stream: HitsToAggregate,
    *,
    known: StreamPartials | TooManyGroups | None,
    lowest_row: int,
) -> StreamPartials | TooManyGroups:
    """Return partials of the whole chunks `[first, past)` with those that are known; what is known where nothing lacks.

    Args:
        first: the first chunk.
        past: the one behind the last.
        grouping: keys and aggregates, which can be merged.
        stream: the rows of the condition.
        known: partials that there are already.
        lowest_row: rows below it have been dropped.

    Cost: that of reading and aggregating the rows of chunks without partials.
    """
    if isinstance(known, TooManyGroups):
        return known
    try:
        return _reaching([(first, past)], grouping, stream, known, lowest_row)
    except _TooManyGroupsError:
        return TOO_MANY_GROUPS


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
    whole: Sequence[tuple[int, int]],
    grouping: Grouping,
    stream: HitsToAggregate,
    known: StreamPartials | None,
    lowest_row: int,
) -> StreamPartials:
    """Return partials of all whole chunks. Raises _TooManyGroupsError."""
    first, past = whole[0][0], whole[-1][1]
    make = _maker(grouping, stream)
    if known is None:
        table = GroupTable.of_kinds([key.type for key in grouping.keys])
        return partials_of(*make(first, past, table))
    return known.reaching(first, past, lowest=-(-lowest_row // CHUNK_ROWS), make=make)


def _whole_chunks(span: RowSpan, whole_row: int) -> tuple[int, int] | None:
    """Return the whole chunks `[first, past)` of a span all of whose rows are visible; None = there is none."""
    first_row, past_row, inside = span
    first, past = -(-first_row // CHUNK_ROWS), min(past_row, whole_row) // CHUNK_ROWS
    return (first, past) if inside and first < past else None


def _ragged(span: RowSpan, whole_row: int) -> list[RowSpan]:
    """Return what a span has beside its whole chunks."""
    whole = _whole_chunks(span, whole_row)
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


def _maker(grouping: Grouping, stream: HitsToAggregate) -> Runs:
    """Return what makes the partials of chunks of their hits, some chunks at once."""

    def make(first: int, past: int, table: GroupTable) -> tuple[GroupTable, ChunkRun]:
        pieces: list[tuple[Groups, PartialRun]] = []
        read: list[ChunkRows] = []
        taken, like = 0, None
        cuts = range(first - first % CHUNKS_AT_ONCE + CHUNKS_AT_ONCE, past, CHUNKS_AT_ONCE)
        for begin, end in pairwise((first, *cuts, past)):
            checkpoint()
            rows, chunks = _chunks(stream, begin, end)
            most, groups = CHUNK_GROUPS_MAX * (end - begin), grouping.groups(rows)
            own = placed(groups)
            run = run_of(grouping, rows, chunks.ends, begin, groups_max=most, groups=own, like=like)
            if run is None:
                raise _TooManyGroupsError
            like = run.partial.tallies.layout
            pieces.append((groups, run))
            read.append(chunks)
            taken += run.nbytes + chunks.nbytes
            if taken > PARTIALS_CACHE_BYTES_MAX:  # nor would they be kept
                raise _TooManyGroupsError
        table, partials = table.numbered([(groups, run.partial) for groups, run in pieces])
        runs = [
            replace(run, partial=partial)
            for (_, run), partial in zip(pieces, partials, strict=True)
        ]
        every = ChunkRun(runs[0].followed(*runs[1:]), read[0].followed(*read[1:]))
        if every.nbytes + table.nbytes > PARTIALS_CACHE_BYTES_MAX:
            raise _TooManyGroupsError
        return table, every

    return make


def _chunks(stream: HitsToAggregate, first: int, past: int) -> tuple[RowsToAggregate, ChunkRows]:
    """Return the hits in the chunks `[first, past)` of a segment, and which rows of the stream they are."""
    if stream.every:
        rows = stream.read_between(first * CHUNK_ROWS, past * CHUNK_ROWS)
        return rows, all_rows(first, past, CHUNK_ROWS)
    hits = stream.hits(first * CHUNK_ROWS, past * CHUNK_ROWS)
    ends = hits.searchsorted(np.arange(first, past + 1) * CHUNK_ROWS)
    return stream.read(hits), chunk_rows(first, hits, ends)
