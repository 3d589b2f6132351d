"""The aggregates of one condition over one stream: partials of whole chunks, and the rows of all others."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.grouping import AggregatedGroups, Grouping, RowsToAggregate
from psoup.engine.aggregates.partial import (
    Partial,
    PartialRun,
    finished,
    merged,
    partial_of,
    run_of,
)
from psoup.engine.aggregates.partial_cache import (
    TOO_MANY_GROUPS,
    StreamPartials,
    TooManyGroups,
    partials_of,
)
from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import RowSpan
from psoup.engine.limits import CHUNK_GROUPS_MAX, CHUNK_ROWS, PARTIALS_CACHE_BYTES_MAX
from psoup.engine.tuples.value_type import value_type

Rows = NDArray[np.int64]

CHUNKS_AT_ONCE: Final = 64
"""Whose rows are read together: 262,144, some megabytes a column."""


class HitsToAggregate(Protocol):
    """The rows of a condition over one stream, as the aggregates of an invocation read them."""

    def hits(self, first_row: int, past_row: int) -> Rows:
        """Return the rows in `[first_row, past_row)` that satisfy the condition, ascending."""
        ...

    def dated(self, rows: Rows) -> Rows:
        """Return those of some rows that are dated inside of the window."""
        ...

    def read(self, rows: Rows) -> RowsToAggregate:
        """Return the columns of rows that the grouping reads."""
        ...


@value_type
class StreamAggregates:
    """What an invocation has found.

    Attributes:
        groups: the groups of the visible rows, with their aggregates.
        partials: to be kept for the invocations to come, once it is known that nothing was dropped meanwhile; what was
            given where nothing is new; None = there are none.
    """

    groups: AggregatedGroups
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
        whole_row: rows below it lie in whole chunks, which do not change.

    Cost: O(groups) for each segment, and for each chunk at the ends of spans; of chunks without partials, and of those
    that an end of the window cuts, that of reading and aggregating their rows.
    """
    if not grouping.mergeable or isinstance(known, TooManyGroups):
        return StreamAggregates(grouping.aggregated(_visible(spans, stream)), known)
    whole = [one for span in spans if (one := _whole_chunks(span, whole_row)) is not None]
    kept: StreamPartials | None = known
    parts: list[Partial] = []
    if whole:
        first, past = whole[0][0], whole[-1][1]
        try:
            make = _maker(grouping, stream)
            if known is None:
                kept = partials_of(make(first, past))
            else:
                lowest = -(-lowest_row // CHUNK_ROWS)
                kept = known.reaching(first, past, lowest=lowest, make=make)
        except _TooManyGroupsError:
            groups = grouping.aggregated(_visible(spans, stream))
            return StreamAggregates(groups, TOO_MANY_GROUPS)
        for begin, end in whole:
            parts += kept.of(begin, end)
    ragged = [part for span in spans for part in _ragged(span, whole_row)]
    if ragged or not parts:
        parts.append(partial_of(grouping, _visible(ragged, stream)))
    return StreamAggregates(finished(grouping, merged(parts)), kept)


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


def _visible(spans: Sequence[RowSpan], stream: HitsToAggregate) -> RowsToAggregate:
    """Return the visible rows of some spans."""
    found = [np.empty(0, dtype=np.int64)]
    for first_row, past_row, inside in spans:
        checkpoint()
        rows = stream.hits(first_row, past_row)
        found.append(rows if inside else stream.dated(rows))
    return stream.read(np.concatenate(found))


def _maker(grouping: Grouping, stream: HitsToAggregate) -> Callable[[int, int], PartialRun]:
    """Return what makes the partials of chunks of their hits, some chunks at once."""

    def make(first: int, past: int) -> PartialRun:
        made: PartialRun | None = None
        for begin in range(first, past, CHUNKS_AT_ONCE):
            checkpoint()
            end = min(begin + CHUNKS_AT_ONCE, past)
            rows = stream.hits(begin * CHUNK_ROWS, end * CHUNK_ROWS)
            edges = rows.searchsorted(np.arange(begin, end + 1) * CHUNK_ROWS)
            most = CHUNK_GROUPS_MAX * (end - begin)
            run = run_of(grouping, stream.read(rows), edges, begin, groups_max=most)
            if run is None:
                raise _TooManyGroupsError
            made = run if made is None else made.followed(run)
            if made.nbytes > PARTIALS_CACHE_BYTES_MAX:  # nor would they be kept
                raise _TooManyGroupsError
        assert made is not None, "there are chunks to make partials of"
        return made

    return make
