"""FIRST, LAST, ARG_MIN and ARG_MAX: a value out of one row of each group, that which stands first in a total order."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.extremes import column_bytes
from psoup.engine.aggregates.groups import Members
from psoup.engine.aggregates.ordinals import ordinals
from psoup.engine.aggregates.state import Aggregated
from psoup.engine.kernels.extremes import first_rows
from psoup.engine.query.values.expression import AggregateCall, AggregateFunction
from psoup.engine.tuples.batch import Column, null_column
from psoup.engine.tuples.joined_columns import stacked
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]

BY_TIME: Final = frozenset({AggregateFunction.FIRST, AggregateFunction.LAST})
BY_VALUE: Final = frozenset({AggregateFunction.ARG_MIN, AggregateFunction.ARG_MAX})
BACKWARDS: Final = frozenset({AggregateFunction.LAST, AggregateFunction.ARG_MAX})


@value_type
class Picks:
    """One row of each of g groups.

    Attributes:
        column: g values, as the rows hold them; NULL may be one.
        by: g values that the rows are chosen by; None where time chooses.
        backwards: whether the largest is chosen: the last row, or that of the largest value of `by`.
        when: (k, g) times and tuple ids of the rows.
        held: (g,) whether a group has a row.
    """

    column: Column
    by: Column | None
    backwards: bool
    when: Integers
    held: NDArray[np.bool_]

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.column)

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays and of texts."""
        by = 0 if self.by is None else column_bytes(self.by)
        return column_bytes(self.column) + by + self.when.nbytes + self.held.nbytes

    @classmethod
    def stacked(cls, states: Sequence["Picks"]) -> "Picks":
        """Return the groups of some states, one below the other."""
        by = [one.by for one in states if one.by is not None]
        return Picks(
            stacked([one.column for one in states]),
            stacked(by) if by else None,
            states[0].backwards,
            np.concatenate([one.when for one in states], axis=1),
            np.concatenate([one.held for one in states]),
        )

    def part(self, some: slice) -> "Picks":
        """Return the groups of a slice, as a view."""
        by = None if self.by is None else self.by.part(some)
        held = self.held[some]
        return Picks(self.column.part(some), by, self.backwards, self.when[:, some], held)

    def take(self, places: Integers) -> "Picks":
        """Return the groups at these places."""
        by = None if self.by is None else self.by.take(places)
        held = self.held[places]
        return Picks(self.column.take(places), by, self.backwards, self.when[:, places], held)

    @classmethod
    def merged(cls, states: Sequence["Picks"], labels: Sequence[Integers], count: int) -> "Picks":
        """Return `count` groups, made of those with equal labels."""
        every = cls.stacked(states)
        rows = np.flatnonzero(every.held)
        return picks_of(
            every.column.take(rows),
            None if every.by is None else every.by.take(rows),
            every.when[:, rows],
            Members(None, np.concatenate(labels)[rows], count),
            backwards=every.backwards,
        )

    def finished(self, call: AggregateCall) -> Aggregated:
        """Return the results: NULL where the group has no row, or the row has NULL."""
        del call
        column, valid = self.column, self.held
        if column.valid is not None:
            valid = valid & column.valid
        if valid.all():
            return Aggregated(Column(column.type, column.values, None, column.dictionary))
        # Under NULL stands what any row has there: in Arrow it would be seen.
        values = np.where(valid, column.values, column.values.dtype.type(0))
        return Aggregated(Column(column.type, values, valid, column.dictionary))


def picks_of(
    column: Column, by: Column | None, when: Integers, members: Members, *, backwards: bool
) -> Picks:
    """Return of each group the row that stands first.

    By time that is the earliest one, or backwards the latest; of equal times that of the least, or the largest, ids.
    By a value it is that of the least, or backwards the largest, and of equal ones the earliest.

    Args:
        column: (m,) the values of the members.
        by: (m,) what chooses among them, no NULL; None = the time.
        when: (k, m) their times, and tuple ids one source after the other.
        members: the rows they belong to.
        backwards: which end.

    Cost: 3 ns a row, and that of `ordinals`.
    """
    if not len(members):
        column, by = null_column(column.type, 1), None if by is None else null_column(by.type, 1)
        when = np.zeros((len(when), 1), dtype=np.int64)
    keys = when
    if by is not None:
        chosen = ordinals(Column(by.type, by.values, None, by.dictionary)).keys
        keys = np.vstack((~chosen if backwards else chosen, when))
    elif backwards:
        keys = ~when
    rows = np.full(members.count, -1, dtype=np.int64)
    first_rows(np.ascontiguousarray(keys), members.labels, rows)
    picked = None if by is None else by.take(rows)
    return Picks(column.take(rows), picked, backwards, when[:, rows], rows >= 0)
