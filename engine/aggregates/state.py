"""What an aggregate makes of rows: states of groups, to which states of other rows can be added; then the results."""

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]


@value_type
class Aggregated:
    """The results of one aggregate.

    Attributes:
        column: one value for each group.
        overflowed: whether a group has NULL because its result lies outside of the result's type.
    """

    column: Column
    overflowed: bool = False


class State(Protocol):
    """States of g groups. A value: what is made of the same rows, however they are cut, finishes to the same bits."""

    def __len__(self) -> int:
        """Return g."""
        ...

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays and of texts."""
        ...

    @classmethod
    def stacked(cls, states: Sequence[Self]) -> Self:
        """Return the groups of some states, one at least, one below the other. Cost: O(their sizes)."""
        ...

    def part(self, some: slice) -> Self:
        """Return the groups of a slice, as a view."""
        ...

    def take(self, places: Integers) -> Self:
        """Return the groups at these places, in that order; one may be there more than once."""
        ...

    @classmethod
    def merged(cls, states: Sequence[Self], labels: Sequence[Integers], count: int) -> Self:
        """Return `count` groups, made of those of some states.

        Args:
            states: one at least.
            labels: for each of them (g,) to which group each of its own belongs.
            count: of groups; one at least belongs to each.

        Cost: O(groups of all); numbers are added up where they lie.
        """
        ...

    def finished(self, call: AggregateCall) -> Aggregated:
        """Return the results of the call that the states were made for."""
        ...
