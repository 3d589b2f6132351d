"""What stands left of a LEFT JOIN: tuples of one source, or composites of several, with partners or without."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psoup.engine.invocation.shaped.grouping import NEVER_US
from psoup.engine.invocation.shaped.visible_rows.row_windows import DatedSource
from psoup.engine.invocation.shaped.visible_rows.windowed_rows import WindowedRows
from psoup.engine.query.clause import StandingQueryClause

Rows = NDArray[np.int64]


class LeftRows(Protocol):
    """The rows left of a LEFT JOIN at a position: (p, n) of the parts, p sources."""

    def visible(self) -> Rows:
        """Return the visible rows, each once, in any order."""
        ...

    def coming(self) -> tuple[Rows, Rows]:
        """Return the rows that the clock brings though nothing arrives, and the instants at which they enter."""
        ...

    def leaves(self, rows: Rows) -> Rows | None:
        """Return the instants at which rows leave; None = they never do."""
        ...


class LeftTuples:
    """The tuples of one source, where it stands alone left of a LEFT JOIN."""

    __slots__ = ("_clause", "_dated", "_windowed")

    def __init__(
        self, dated: DatedSource, clause: StandingQueryClause, windowed: WindowedRows | None
    ) -> None:
        """Take the first source, what is asked of it alone, and the row windows where there are some."""
        self._dated = dated
        self._clause = clause
        self._windowed = windowed

    def visible(self) -> Rows:
        """Return the visible tuples. Raises PageExpiredError if one is not held any more. Cost: O(visible)."""
        rows, _ = self._dated.rows_of(self._dated.shown, self._clause)
        return rows[np.newaxis, self._until(rows) > -NEVER_US]

    def coming(self) -> tuple[Rows, Rows]:
        """Return the tuples that the clock brings though nothing arrives, and the instants at which they enter."""
        upcoming = self._dated.upcoming
        if upcoming is None:
            return np.empty((1, 0), dtype=np.int64), np.empty(0, dtype=np.int64)
        rows, times = self._dated.rows_of(upcoming, self._clause)
        shown = self._until(rows) > -NEVER_US
        return rows[np.newaxis, shown], self._dated.window.enters(times[shown])

    def leaves(self, rows: Rows) -> Rows | None:
        """Return the instants at which tuples leave; None = they never do."""
        dated, (tuples,) = self._dated, rows
        until_us = self._until(tuples)
        if dated.window.slides:
            leaves_us = dated.window.leaves(dated.source.times(dated.shown.stream_id, tuples))
            assert leaves_us is not None, "a window that slides lets tuples go"
            return np.minimum(leaves_us, until_us)
        return None if (until_us == NEVER_US).all() else until_us

    def _until(self, rows: Rows) -> Rows:
        """Return until when the row window of the source shows tuples; -NEVER_US = it does not."""
        if self._windowed is None:
            return np.full(len(rows), NEVER_US, dtype=np.int64)
        return self._windowed.until(0, rows)
