"""The rows of a query with a LEFT JOIN: the pairs of an inner join, and the tuples of its first source without any.

A row is a pair of row numbers, the second NO_PART where a tuple stands alone. A tuple of the first source stands alone
at the instants at which it is visible and no pair of it is:
    alone(a) = [in(a), out(a)) less the union of [in(p), out(p)) of its pairs p
Pairs and tuples are found before WHERE is applied to either.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import Tuples, TupleSource
from psoup.engine.invocation.answer import NO_PART
from psoup.engine.invocation.answering import outputs
from psoup.engine.invocation.changes import RowsToShape, first_of
from psoup.engine.invocation.composite_hits import in_order
from psoup.engine.invocation.shaped.grouping import NEVER_US, columns_of
from psoup.engine.invocation.shaped.row_windows import DatedSource
from psoup.engine.query.reading import Names, Reading
from psoup.engine.query.values.evaluate import truth
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import StreamId

Rows = NDArray[np.int64]
Until = Callable[[Rows], Rows]
"""From rows of the first source to until when its row window shows them; -NEVER_US for those that it does not."""


class LeftJoinedRows:
    """The rows of a query with a LEFT JOIN at a position. Used by one thread, once."""

    __slots__ = (
        "_coming",
        "_lefts",
        "_pairs",
        "_reading",
        "_right_id",
        "_source",
        "_until",
        "_visible",
    )

    def __init__(
        self,
        source: TupleSource,
        reading: Reading,
        *,
        pairs: RowsToShape,
        lefts: DatedSource,
        right_id: StreamId,
        until: Until | None,
    ) -> None:
        """Read nothing yet.

        Args:
            source: where tuples are held.
            reading: of the query.
            pairs: the rows of the inner join that its condition stands for, as row windows leave them.
            lefts: the first source at the position.
            right_id: the stream of the second source.
            until: of the first source's row window; None = it has none.
        """
        self._source = source
        self._reading = reading
        self._pairs = pairs
        self._lefts = lefts
        self._right_id = right_id
        self._until = until
        self._visible: Rows | None = None
        self._coming: tuple[Rows, Rows] | None = None

    def no_rows(self) -> Rows:
        """Return none."""
        return self._pairs.no_rows()

    def visible(self) -> Rows:
        """Return the visible rows, in the order of answers.

        Raises as the pairs do; PageExpiredError if a row of the first source is not held any more. Cost: that of the
        pairs, and O(visible) of the first source.
        """
        pairs = self._visible_pairs()
        rows = np.concatenate(
            [pairs, _alone(np.setdiff1d(self._visible_lefts(), pairs[0]))], axis=1
        )
        rows = rows[:, self._passes(rows)]
        times = [tuples.times for tuples in self.tuples(rows, ((), ()))]
        order = in_order(np.minimum(*times), rows)
        return rows if order is None else rows.take(order, axis=1)

    def enters_us(self) -> int | None:
        """Return the first instant at which the clock brings a row that is not visible yet; None = at none."""
        return first_of(self.coming()[1])

    def coming(self) -> tuple[Rows, Rows]:
        """Return the rows that the clock brings though nothing arrives, and the instants at which they enter.

        Of a tuple that will stand alone several times, the first.
        """
        pairs, enters_us = self._coming_pairs()
        lefts, ends_us = self._parting()
        alone = ends_us < self._left_leaves(lefts)
        rows = np.concatenate([pairs, _alone(lefts[alone])], axis=1)
        enters_us = np.concatenate([enters_us, ends_us[alone]])
        passing = self._passes(rows)
        return rows[:, passing], enters_us[passing]

    def leaves(self, rows: Rows) -> Rows | None:
        """Return the instants at which rows leave; None = they never do. One that stands alone does with a partner."""
        alone = rows[1] == NO_PART
        leaves_us = np.full(rows.shape[1], NEVER_US, dtype=np.int64)
        of_pairs = self._pairs.leaves(rows[:, ~alone])
        if of_pairs is not None:
            leaves_us[~alone] = of_pairs
        lefts = rows[0, alone]
        until_us = self._left_leaves(lefts)
        pairs, enters_us = self._coming_pairs()
        ordered = np.argsort(lefts)
        places, found = _places(lefts[ordered], pairs[0])
        np.minimum.at(until_us, ordered[places], enters_us[found])
        leaves_us[alone] = until_us
        return None if (leaves_us == NEVER_US).all() else leaves_us

    def ids(self, rows: Rows) -> Rows:
        """Return the tuple ids of rows, shaped as they are; NO_PART for none."""
        return np.array([tuples.tuple_ids for tuples in self.tuples(rows, ((), ()))])

    def values(self, rows: Rows) -> Sequence[Column]:
        """Return the select list computed for rows."""
        found = outputs(self._reading, self.tuples(rows, self._reading.names))
        return [column for _, column in found]

    def tuples(self, rows: Rows, names: Names) -> Sequence[Tuples]:
        """Return the tuples of rows, by source, with these columns of each; NULL, and later than all, for none."""
        left, right = rows
        held = right != NO_PART
        lefts = self._source.tuples(self._lefts.shown.stream_id, names[0], left)
        rights = self._source.tuples(self._right_id, names[1], right[held])
        return lefts, rights if held.all() else _spread(rights, held)

    def _visible_pairs(self) -> Rows:
        """Return the visible pairs, whatever WHERE says of them; found once."""
        if self._visible is None:
            self._visible = self._pairs.visible()
        return self._visible

    def _coming_pairs(self) -> tuple[Rows, Rows]:
        """Return the pairs that the clock brings, and when, whatever WHERE says of them; found once."""
        if self._coming is None:
            self._coming = self._pairs.coming()
        return self._coming

    def _visible_lefts(self) -> Rows:
        """Return the visible tuples of the first source, ascending."""
        rows, _ = self._lefts.rows_of(self._lefts.shown, self._reading.left_clause)
        return rows if self._until is None else rows[self._until(rows) > -NEVER_US]

    def _left_leaves(self, lefts: Rows) -> Rows:
        """Return until when tuples of the first source are visible, alone or not; -NEVER_US = they never are."""
        lefts_of = self._lefts
        leaves_us = np.full(len(lefts), NEVER_US, dtype=np.int64)
        if lefts_of.window.slides:
            found = lefts_of.window.leaves(self._source.times(lefts_of.shown.stream_id, lefts))
            assert found is not None, "a window that slides lets tuples go"
            leaves_us = found
        return leaves_us if self._until is None else np.minimum(leaves_us, self._until(lefts))

    def _parting(self) -> tuple[Rows, Rows]:
        """Return tuples of the first source that have partners now, or will enter, and when the last partner leaves.

        That is the end of the time in which one partner follows another; for those to enter without one, when they do.
        """
        pairs = self._visible_pairs()
        leaves_us = self._pairs.leaves(pairs)
        if leaves_us is None and self._lefts.upcoming is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        matched, labels = np.unique(pairs[0], return_inverse=True)
        ends_us = np.full(
            len(matched), NEVER_US if leaves_us is None else -NEVER_US, dtype=np.int64
        )
        if leaves_us is not None:
            np.maximum.at(ends_us, labels, leaves_us)
        lefts = matched
        if self._lefts.upcoming is not None:
            later, times = self._lefts.rows_of(self._lefts.upcoming, self._reading.left_clause)
            lefts = np.concatenate([lefts, later])
            ends_us = np.concatenate([ends_us, self._lefts.window.enters(times)])
            order = np.argsort(lefts)
            lefts, ends_us = lefts[order], ends_us[order]
        self._follow(lefts, ends_us)
        return lefts, ends_us

    def _follow(self, lefts: Rows, ends_us: Rows) -> None:
        """Move the ends of tuples, which ascend, behind those of the coming pairs that follow without a gap."""
        pairs, enters_us = self._coming_pairs()
        if not pairs.shape[1]:
            return
        places, found = _places(lefts, pairs[0])
        enters_us = enters_us[found]
        leaves_us = self._pairs.leaves(pairs[:, found])
        if leaves_us is None:
            leaves_us = np.full(len(found), NEVER_US, dtype=np.int64)
        while (follows := (enters_us <= ends_us[places]) & (leaves_us > ends_us[places])).any():
            np.maximum.at(ends_us, places[follows], leaves_us[follows])

    def _passes(self, rows: Rows) -> NDArray[np.bool_]:
        """Return for which rows what WHERE asks after the join is TRUE."""
        left_join, count = self._reading.shape.left_join, rows.shape[1]
        assert left_join is not None, "the query has a LEFT JOIN"
        if left_join.rest is None:
            return np.ones(count, dtype=np.bool_)
        return truth(left_join.rest, columns_of(self.tuples(rows, self._reading.left_names)), count)


def _alone(lefts: Rows) -> Rows:
    """Return tuples of the first source as rows that stand alone."""
    return np.stack([lefts, np.full(len(lefts), NO_PART, dtype=np.int64)])


def _places(ascending: Rows, rows: Rows) -> tuple[Rows, Rows]:
    """Return the places in ascending rows of those rows that are among them, and the places of these."""
    if not len(ascending):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    places = np.minimum(ascending.searchsorted(rows), len(ascending) - 1)
    found = np.flatnonzero(ascending[places] == rows)
    return places[found], found


def _spread(tuples: Tuples, held: NDArray[np.bool_]) -> Tuples:
    """Return tuples at the places that are `held`, and none at the others: NULL, without id, later than all."""
    times = np.full(len(held), NEVER_US, dtype=np.int64)
    tuple_ids = np.full(len(held), NO_PART, dtype=np.int64)
    times[held], tuple_ids[held] = tuples.times, tuples.tuple_ids
    columns = {}
    for name, column in tuples.columns.items():
        values = np.zeros(len(held), dtype=column.values.dtype)
        valid = held.copy()
        values[held] = column.values
        if column.valid is not None:
            valid[held] = column.valid
        columns[name] = Column(column.type, values, valid, column.dictionary or None)
    return Tuples(times, tuple_ids, columns)
