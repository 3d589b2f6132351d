"""The rows of a query with a LEFT JOIN: the composites of an inner join, and the rows left of it without a partner.

A row has a row number for each source, the last one NO_PART where it stands alone. A row of the left stands alone at
the instants at which it is visible and no composite of it is:
    alone(a) = [in(a), out(a)) less the union of [in(p), out(p)) of its composites p
Both are found before WHERE is applied to either.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import Tuples, TupleSource
from psoup.engine.invocation.answering import outputs
from psoup.engine.invocation.changes import RowsToShape, first_of
from psoup.engine.invocation.composite_hits import in_order
from psoup.engine.invocation.position.answer import NO_PART
from psoup.engine.invocation.shaped.grouping import NEVER_US, columns_of
from psoup.engine.invocation.shaped.visible_rows.left_rows import LeftRows
from psoup.engine.query.reading import Names, Reading
from psoup.engine.query.values.evaluate import truth
from psoup.engine.tuples.batch import Column

Rows = NDArray[np.int64]


class LeftJoinedRows:
    """The rows of a query with a LEFT JOIN at a position. Used by one thread, once."""

    __slots__ = ("_coming", "_lefts", "_pairs", "_reading", "_source", "_visible")

    def __init__(
        self, source: TupleSource, reading: Reading, *, pairs: RowsToShape, lefts: LeftRows
    ) -> None:
        """Read nothing yet.

        Args:
            source: where tuples are held.
            reading: of the query.
            pairs: the rows of the inner join that its condition stands for, as row windows leave them.
            lefts: the rows left of the LEFT JOIN, likewise.
        """
        self._source = source
        self._reading = reading
        self._pairs = pairs
        self._lefts = lefts
        self._visible: Rows | None = None
        self._coming: tuple[Rows, Rows] | None = None

    def no_rows(self) -> Rows:
        """Return none."""
        return self._pairs.no_rows()

    def visible(self) -> Rows:
        """Return the visible rows, in the order of answers.

        Raises as `pairs` and `lefts` do. Cost: that of both, and a sort of the pairs where the left is of several
        sources.
        """
        pairs, lefts = self._visible_pairs(), self._lefts.visible()
        of_lefts, of_pairs = _numbered(lefts, pairs[:-1])
        rows = np.concatenate([pairs, _alone(lefts[:, ~np.isin(of_lefts, of_pairs)])], axis=1)
        rows = rows[:, self._passes(rows)]
        times = [tuples.times for tuples in self.tuples(rows, ((),) * len(rows))]
        order = in_order(np.minimum.reduce(times), rows)
        return rows if order is None else rows.take(order, axis=1)

    def enters_us(self) -> int | None:
        """Return the first instant at which the clock brings a row that is not visible yet; None = at none."""
        return first_of(self.coming()[1])

    def coming(self) -> tuple[Rows, Rows]:
        """Return the rows that the clock brings though nothing arrives, and the instants at which they enter.

        Of a row that will stand alone several times, the first.
        """
        pairs, enters_us = self._coming_pairs()
        lefts, ends_us = self._parting()
        leaves_us = self._lefts.leaves(lefts)
        alone = ends_us < (NEVER_US if leaves_us is None else leaves_us)
        rows = np.concatenate([pairs, _alone(lefts[:, alone])], axis=1)
        enters_us = np.concatenate([enters_us, ends_us[alone]])
        passing = self._passes(rows)
        return rows[:, passing], enters_us[passing]

    def leaves(self, rows: Rows) -> Rows | None:
        """Return the instants at which rows leave; None = they never do. One that stands alone does with a partner."""
        alone = rows[-1] == NO_PART
        leaves_us = np.full(rows.shape[1], NEVER_US, dtype=np.int64)
        of_pairs = self._pairs.leaves(rows[:, ~alone])
        if of_pairs is not None:
            leaves_us[~alone] = of_pairs
        lefts = rows[:-1, alone]
        of_lefts = self._lefts.leaves(lefts)
        until_us = np.full(lefts.shape[1], NEVER_US, dtype=np.int64)
        if of_lefts is not None:
            until_us = np.minimum(until_us, of_lefts)
        pairs, enters_us = self._coming_pairs()
        places, found = _places(lefts, pairs[:-1])
        np.minimum.at(until_us, places, enters_us[found])
        leaves_us[alone] = until_us
        return None if (leaves_us == NEVER_US).all() else leaves_us

    def ids(self, rows: Rows) -> Rows:
        """Return the tuple ids of rows, shaped as they are; NO_PART for none."""
        return np.array([tuples.tuple_ids for tuples in self.tuples(rows, ((),) * len(rows))])

    def values(self, rows: Rows) -> Sequence[Column]:
        """Return the select list computed for rows."""
        found = outputs(self._reading, self.tuples(rows, self._reading.names))
        return [column for _, column in found]

    def tuples(self, rows: Rows, names: Names) -> Sequence[Tuples]:
        """Return the tuples of rows, by source, with these columns of each; NULL, and later than all, for none."""
        held = rows[-1] != NO_PART
        parts = [*rows[:-1], rows[-1, held]]
        sources = self._reading.clause.sources
        found = [
            self._source.tuples(source.stream_id, some, part)
            for source, some, part in zip(sources, names, parts, strict=True)
        ]
        return found if held.all() else [*found[:-1], _spread(found[-1], held)]

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

    def _parting(self) -> tuple[Rows, Rows]:
        """Return rows of the left that have partners now, or will enter, and when the last partner leaves.

        That is the end of the time in which one partner follows another; for those to enter without one, when they do.
        """
        pairs = self._visible_pairs()
        leaves_us = self._pairs.leaves(pairs)
        lefts, ends_us = self._lefts.coming()
        if leaves_us is not None:
            (labels,) = _numbered(pairs[:-1])
            _, first, matched = np.unique(labels, return_index=True, return_inverse=True)
            parted_us = np.full(len(first), -NEVER_US, dtype=np.int64)
            np.maximum.at(parted_us, matched, leaves_us)
            lefts = np.concatenate([pairs[:-1, first], lefts], axis=1)
            ends_us = np.concatenate([parted_us, ends_us])
        self._follow(lefts, ends_us)
        return lefts, ends_us

    def _follow(self, lefts: Rows, ends_us: Rows) -> None:
        """Move the ends of rows behind those of the coming pairs that follow without a gap."""
        pairs, enters_us = self._coming_pairs()
        if not pairs.shape[1]:
            return
        places, found = _places(lefts, pairs[:-1])
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
    """Return rows of the left as rows that stand alone."""
    return np.concatenate([lefts, np.full((1, lefts.shape[1]), NO_PART, dtype=np.int64)])


def _numbered(*parts: Rows) -> list[Rows]:
    """Return for each of several sets of rows numbers that are equal iff rows are. Cost: a sort, none of one source."""
    if len(parts[0]) == 1:
        return [rows[0] for rows in parts]
    _, numbers = np.unique(np.concatenate(parts, axis=1), axis=1, return_inverse=True)
    edges = np.cumsum([rows.shape[1] for rows in parts])[:-1]
    return np.split(numbers.reshape(-1), edges)


def _places(lefts: Rows, rows: Rows) -> tuple[Rows, Rows]:
    """Return the places among `lefts`, each of which is there once, of the rows that are there; and theirs."""
    of_lefts, of_rows = _numbered(lefts, rows)
    if not len(of_lefts):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    order = np.argsort(of_lefts)
    places = np.minimum(of_lefts[order].searchsorted(of_rows), len(order) - 1)
    found = np.flatnonzero(of_lefts[order][places] == of_rows)
    return order[places[found]], found


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
