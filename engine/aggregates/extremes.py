"""MIN and MAX of any type; BOOL_AND is MIN and BOOL_OR is MAX of booleans."""

from collections.abc import Sequence
from sys import getsizeof
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.groups import Members
from psoup.engine.aggregates.ordinals import column_of, ordinals
from psoup.engine.aggregates.state import Aggregated
from psoup.engine.kernels.extremes import extremes_of_runs, largest_of_groups, least_of_groups
from psoup.engine.query.values.expression import AggregateCall, AggregateFunction
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.joined_columns import stacked
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]

LEAST: Final = frozenset({AggregateFunction.MIN, AggregateFunction.BOOL_AND})
LARGEST: Final = frozenset({AggregateFunction.MAX, AggregateFunction.BOOL_OR})
_ENDS: Final = {
    np.dtype(np.int64): (int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)),
    np.dtype(np.float64): (-np.inf, np.inf),
}


@value_type
class Extremes:
    """The least or the largest value of each of g groups.

    Attributes:
        column: g values, NULL where a group has none.
        least: whether they are the least.
    """

    column: Column
    least: bool

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.column)

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays and of texts."""
        return column_bytes(self.column)

    @classmethod
    def stacked(cls, states: Sequence["Extremes"]) -> "Extremes":
        """Return the groups of some states, one below the other."""
        return Extremes(stacked([one.column for one in states]), states[0].least)

    def part(self, some: slice) -> "Extremes":
        """Return the groups of a slice, as a view."""
        return Extremes(self.column.part(some), self.least)

    def take(self, places: Integers) -> "Extremes":
        """Return the groups at these places."""
        return Extremes(self.column.take(places), self.least)

    def regrouped(self, labels: Integers, count: int) -> "Extremes":
        """Return `count` groups, made of those with equal labels."""
        column = self.column
        if column.valid is not None:
            held = np.flatnonzero(column.valid)
            column, labels = column.take(held), labels[held]
        return extremes_of(column, Members(None, labels, count), least=self.least)

    def finished(self, call: AggregateCall) -> Aggregated:
        """Return the results; a zero is 0.0."""
        del call
        return Aggregated(self.column)


def extremes_of(column: Column, members: Members, *, least: bool) -> Extremes:
    """Return the least or the largest of each group's values.

    Args:
        column: (m,) the values of the members; none is NULL.
        members: the rows they belong to.
        least: which of both.

    Cost: 0.5 ns a value where groups follow each other, 1.5 ns else; for strings also that of `ordinals`.
    """
    texts: Sequence[str] | None = None
    if column.type is ColumnType.FLOAT64:
        values: NDArray[Any] = column.values
    else:
        known = ordinals(Column(column.type, column.values, None, column.dictionary))
        values, texts = known.keys, known.texts
    lowest, highest = _ENDS[values.dtype]
    low = np.full(members.count, highest, dtype=values.dtype)
    high = np.full(members.count, lowest, dtype=values.dtype)
    found = low if least else high
    if members.edges is not None:
        extremes_of_runs(values, members.edges, low, high)
        held = members.edges[1:] > members.edges[:-1]
    else:
        (least_of_groups if least else largest_of_groups)(values, members.labels, found)
        held = np.zeros(members.count, dtype=np.bool_)
        held[members.labels] = True
    if column.type is ColumnType.FLOAT64:
        valid = None if held.all() else held
        found = found + 0.0 if valid is None else np.where(held, found, 0.0) + 0.0
        return Extremes(Column(column.type, found, valid), least)
    found = found if held.all() else np.where(held, found, 0)
    return Extremes(column_of(column.type, found, texts, held), least)


def column_bytes(column: Column) -> int:
    """Return the bytes of a column's arrays, and of the texts of its dictionary, which it may be the last to hold."""
    valid = 0 if column.valid is None else column.valid.nbytes
    texts = column.dictionary or ()
    return column.values.nbytes + valid + 8 * len(texts) + sum(map(getsizeof, texts))
