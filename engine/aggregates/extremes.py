"""MIN and MAX of any type; BOOL_AND is MIN and BOOL_OR is MAX of booleans."""

from collections.abc import Sequence
from sys import getsizeof
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.groups import Members
from psoup.engine.aggregates.ordinals import column_of, ordinals
from psoup.engine.aggregates.state import Aggregated
from psoup.engine.kernels.extremes import FLOATS, WHOLE, least_of_groups, least_of_runs
from psoup.engine.query.values.expression import AggregateCall, AggregateFunction
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.joined_columns import stacked
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]

LEAST: Final = frozenset({AggregateFunction.MIN, AggregateFunction.BOOL_AND})
LARGEST: Final = frozenset({AggregateFunction.MAX, AggregateFunction.BOOL_OR})
LARGEST_WORD: Final = 2**63 - 1


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

    @classmethod
    def merged(
        cls, states: Sequence["Extremes"], labels: Sequence[Integers], count: int
    ) -> "Extremes":
        """Return `count` groups, made of those with equal labels."""
        column, every = stacked([one.column for one in states]), np.concatenate(labels)
        if column.valid is not None:
            held = np.flatnonzero(column.valid)
            column, every = column.take(held), every[held]
        return extremes_of(column, Members(None, every, count), least=states[0].least)

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

    Cost: that of `keep_least`; for strings also that of `ordinals`.
    """
    values, texts = column.values, None
    if column.type is not ColumnType.FLOAT64:
        known = ordinals(Column(column.type, values, None, column.dictionary))
        values, texts = known.keys, known.texts
    found, some = np.full((members.count, 1), LARGEST_WORD, dtype=np.int64), members.counts > 0
    keep_least(values, members, found, 0, least=least)
    keys, held = found[:, 0] if least else ~found[:, 0], None if some.all() else some
    if held is not None:
        keys = np.where(held, keys, 0)
    return Extremes(column_of(column.type, keys, texts, held), least)


def keep_least(
    values: NDArray[Any], members: Members, rows: Integers, place: int, *, least: bool
) -> None:
    """Write for each group the least of whole numbers in the order of its values, or in the other order.

    Those of float64 are as `sortable` has them; in the other order bits are the other way round.

    Args:
        values: (m,) int64 or finite float64, of the members.
        members: the rows they belong to.
        rows: (g, w), written at `place`, where LARGEST_WORD stands. It stays where a group has no values.
        place: in a row.
        least: whether the order is that of the values.

    Cost: 0.1 ns a value where groups follow each other, 1 ns else.
    """
    words, turned = values.view(np.int64), FLOATS if values.dtype == np.float64 else WHOLE
    flip = 0 if least else -1
    if members.edges is not None:
        least_of_runs(words, members.edges, rows, place, turned, flip)
    else:
        least_of_groups(words, members.codes, rows, place, turned, flip)


def column_bytes(column: Column) -> int:
    """Return the bytes of a column's arrays, and of the texts of its dictionary, which it may be the last to hold."""
    valid = 0 if column.valid is None else column.valid.nbytes
    texts = column.dictionary or ()
    return column.values.nbytes + valid + 8 * len(texts) + sum(map(getsizeof, texts))
