"""The rows of a query whose sources have row windows: its hits, of which those are left that all of these windows show.

Hits are those of the condition alone, shared with queries without row windows. Rows of all others are read as well,
for they take the places of hits.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import Tuples
from psoup.engine.invocation.answering import SettledFinder
from psoup.engine.invocation.changes import first_of
from psoup.engine.invocation.position.answer import PagePosition
from psoup.engine.invocation.shaped.grouping import NEVER_US
from psoup.engine.invocation.shaped.visible_rows.row_windows import (
    DatedSource,
    ShownRows,
    shown_rows,
)
from psoup.engine.query.reading import Names, Reading
from psoup.engine.tuples.batch import Column

Rows = NDArray[np.int64]
FinderAt = Callable[[PagePosition], SettledFinder]
"""From a position to its finder."""


class WindowedRows:
    """The rows of a query with row windows at a position. Used by one thread, once."""

    __slots__ = ("_at", "_dated", "_finder", "_finder_at", "_found", "_reading")

    def __init__(
        self,
        reading: Reading,
        *,
        at: PagePosition,
        dated: Sequence[DatedSource],
        finder_at: FinderAt,
    ) -> None:
        """Read nothing yet; `dated` are the sources of the query at the position."""
        self._at = at
        self._reading = reading
        self._finder_at = finder_at
        self._finder = finder_at(at)
        self._dated = dated
        self._found: list[ShownRows | None] | None = None

    def no_rows(self) -> Rows:
        """Return none."""
        return self._finder.no_rows()

    def visible(self) -> Rows:
        """Return the visible rows, in the order of answers.

        Raises as `shown_rows` and the finder do. Cost: that of both; hits before the oldest row that the row windows
        show are not looked at.
        """
        finder = self._narrowed()
        rows = finder.settled(finder.visible)
        return rows[..., self._until(rows) > -NEVER_US]

    def enters_us(self) -> int | None:
        """Return the first instant at which the clock brings a row that is not visible yet; None = at none."""
        return first_of(self.coming()[1])

    def coming(self) -> tuple[Rows, Rows]:
        """Return the rows that the clock brings though nothing arrives, and the instants at which they enter."""
        if not self._clock_moves():
            return self.no_rows(), np.empty(0, dtype=np.int64)
        finder = self._narrowed()
        rows, enters_us = finder.settled(finder.coming)
        comes = self._until(rows) > enters_us  # others take their places before they all are there
        return rows[..., comes], enters_us[comes]

    def leaves(self, rows: Rows) -> Rows | None:
        """Return the instants at which rows leave, be it that others take their places; None = they never do."""
        leaves_us = self._finder.leaves(rows)
        if not self._clock_moves():
            return leaves_us
        until_us = self._until(rows)
        if leaves_us is not None:
            return np.minimum(leaves_us, until_us)
        return None if (until_us == NEVER_US).all() else until_us

    def ids(self, rows: Rows) -> Rows:
        """Return the tuple ids of rows, shaped as they are."""
        return self._finder.ids(rows)

    def values(self, rows: Rows) -> Sequence[Column]:
        """Return the select list computed for rows."""
        return self._finder.values(rows)

    def tuples(self, rows: Rows, names: Names) -> Sequence[Tuples]:
        """Return the tuples of rows, by source, with these columns of each."""
        return self._finder.tuples(rows, names)

    def until(self, place: int, rows: Rows) -> Rows:
        """Return until when the row window of a source shows rows of it; -NEVER_US = it does not."""
        shown = self._shown()[place]
        return np.full(len(rows), NEVER_US, dtype=np.int64) if shown is None else shown.until(rows)

    def _clock_moves(self) -> bool:
        """Return whether a source has tuples that its window of times will show though nothing arrives."""
        return any(one.upcoming is not None for one in self._dated)

    def _shown(self) -> list[ShownRows | None]:
        """Return what the row window of each source shows, None where it has none; found once."""
        if self._found is None:
            parts = zip(
                self._dated,
                self._reading.shape.row_windows,
                self._reading.partition_names,
                strict=True,
            )
            self._found = [
                None if window is None else shown_rows(dated, window, names)
                for dated, window, names in parts
            ]
        return self._found

    def _until(self, rows: Rows) -> Rows:
        """Return until when the row windows show all parts of rows; -NEVER_US = they do not."""
        parts = rows.reshape(len(self._dated), -1)
        until_us = np.full(parts.shape[1], NEVER_US, dtype=np.int64)
        for shown, part in zip(self._shown(), parts, strict=True):
            if shown is not None:
                until_us = np.minimum(until_us, shown.until(part))
        return until_us

    def _narrowed(self) -> SettledFinder:
        """Return the finder of hits that begin where the row windows do."""
        at = self._at
        oldest_rows = [
            first_row if shown is None else int(shown.rows[0]) if len(shown.rows) else past_row
            for shown, first_row, past_row in zip(
                self._shown(), at.oldest_rows, [part.past_row for part in at.parts], strict=True
            )
        ]
        return self._finder_at(replace(at, oldest_rows=tuple(oldest_rows)))
