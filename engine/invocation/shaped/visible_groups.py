"""The groups of the visible rows: of one stream through partials of its chunks, else row by row."""

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.grouping import AggregatedGroups, Grouping, RowsToAggregate
from psoup.engine.aggregates.partials.partial_cache import TooManyGroups
from psoup.engine.aggregates.partials.stream_partials import StreamPartials
from psoup.engine.invocation.changes import RowsToShape
from psoup.engine.invocation.one_stream.stream_aggregates import aggregates_of
from psoup.engine.invocation.one_stream.stream_finding import StreamFinding
from psoup.engine.invocation.shaped.extent import Extent, extent_of
from psoup.engine.invocation.shaped.grouping import (
    NEVER_US,
    Instants,
    first_to_leave,
    rows_to_aggregate,
)
from psoup.engine.query.reading import Names
from psoup.engine.query.window import Window
from psoup.engine.tuples.value_type import value_type

Rows = NDArray[np.int64]
Partials = StreamPartials | TooManyGroups


@value_type
class VisibleGroups:
    """The groups of the visible rows.

    Attributes:
        groups: in order of their keys, with their aggregates.
        leaves_us: (g,) when the first row of each leaves, NEVER_US where it has none; None = rows never leave.
        extent: which rows are visible.
        partials: what of their chunks is to be kept; None = nothing new.
    """

    groups: AggregatedGroups
    leaves_us: Instants | None
    extent: Extent
    partials: Partials | None = None


class StreamRows:
    """The rows of a condition over one stream, as its aggregates read them."""

    __slots__ = ("_finding", "_names", "dated", "every", "hits", "narrowed")

    def __init__(self, finding: StreamFinding, names: Names) -> None:
        """Take what finds them, and the columns that the grouping reads."""
        self._finding = finding
        self._names = names
        self.hits = finding.hits
        self.dated = finding.dated
        self.every = finding.every
        self.narrowed = finding.narrowed

    def read(self, rows: Rows) -> RowsToAggregate:
        """Return the columns of rows."""
        parts = self._finding.tuples(rows, self._names)
        return rows_to_aggregate(parts, parts[0].times)

    def read_between(self, first_row: int, past_row: int) -> RowsToAggregate:
        """Return the columns of rows that follow each other."""
        tuples = self._finding.tuples_between(first_row, past_row, self._names)
        return rows_to_aggregate((tuples,), tuples.times)


def groups_of_stream(
    finding: StreamFinding,
    grouping: Grouping,
    names: Names,
    *,
    window: Window,
    known: Partials | None,
    lowest_row: int,
) -> VisibleGroups:
    """Return the groups of the visible rows of a stream.

    Args:
        finding: finds them.
        grouping: what is computed of them.
        names: the columns that it reads.
        window: of the query.
        known: partials that an earlier invocation has left.
        lowest_row: rows below it have been dropped.

    Cost: that of `aggregates_of`.
    """
    found = aggregates_of(
        finding.spans(),
        grouping,
        StreamRows(finding, names),
        known=known,
        lowest_row=lowest_row,
        whole_row=finding.whole_row,
    )
    rows = found.extent
    extent = Extent(rows.count, (rows.oldest_row,), (rows.newest_row,)) if rows.count else Extent(0)
    leaves_us = window.leaves(first_to_leave(found.groups)) if window.slides else None
    if leaves_us is not None:
        np.minimum(leaves_us, NEVER_US, out=leaves_us)
    made = None if found.partials is known else found.partials
    return VisibleGroups(found.groups, leaves_us, extent, made)


def groups_of_rows(shown: RowsToShape, grouping: Grouping, names: Names) -> VisibleGroups:
    """Return the groups of the visible rows of any query. Cost: that of all these rows and of their aggregates."""
    rows = shown.visible()
    parts, leaves_us = shown.tuples(rows, names), shown.leaves(rows)
    leaves = parts[0].times if leaves_us is None else leaves_us
    groups = grouping.aggregated(rows_to_aggregate(parts, leaves))
    return VisibleGroups(
        groups,
        None if leaves_us is None else first_to_leave(groups),
        extent_of(rows),
    )
