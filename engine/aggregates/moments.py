"""COUNT, SUM, AVG and the variances: how many values there are, their exact sum, and that of their squares."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates import exact_sums
from psoup.engine.aggregates.exact_sums import ExactSums
from psoup.engine.aggregates.groups import Members
from psoup.engine.aggregates.state import Aggregated
from psoup.engine.kernels.exact_sums import add_counts
from psoup.engine.query.values.expression import AggregateCall, AggregateFunction
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_SAMPLE: Final = (AggregateFunction.VAR_SAMP, AggregateFunction.STDDEV_SAMP)
_ROOT: Final = (AggregateFunction.STDDEV_SAMP, AggregateFunction.STDDEV_POP)
COUNTED: Final = frozenset({AggregateFunction.COUNT})
SUMMED: Final = frozenset({AggregateFunction.SUM, AggregateFunction.AVG})
SPREAD: Final = frozenset({AggregateFunction.VAR_POP, AggregateFunction.STDDEV_POP, *_SAMPLE})


@value_type
class Moments:
    """Of the values of g groups.

    Attributes:
        counts: (g,) how many there are.
        sums: their sums; None where they are not asked for.
        squares: the sums of their squares, likewise.
        whole: whether the values are whole numbers.
    """

    counts: Integers
    sums: ExactSums | None = None
    squares: ExactSums | None = None
    whole: bool = True

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays."""
        powers = [one for one in (self.sums, self.squares) if one is not None]
        return self.counts.nbytes + sum(one.digits.nbytes for one in powers)

    @classmethod
    def stacked(cls, states: Sequence["Moments"]) -> "Moments":
        """Return the groups of some states, one below the other."""
        if len(states) == 1:
            return states[0]
        sums = [one.sums for one in states if one.sums is not None]
        squares = [one.squares for one in states if one.squares is not None]
        made = exact_sums.stacked(sums) if sums else None
        return Moments(
            np.concatenate([one.counts for one in states]),
            made,
            None if made is None or not squares else exact_sums.stacked(squares),
            states[0].whole,
        )

    def part(self, some: slice) -> "Moments":
        """Return the groups of a slice, as a view."""
        sums = None if self.sums is None else self.sums.part(some)
        squares = None if self.squares is None else self.squares.part(some)
        return Moments(self.counts[some], sums, squares, self.whole)

    def take(self, places: Integers) -> "Moments":
        """Return the groups at these places."""
        sums = None if self.sums is None else self.sums.take(places)
        squares = None if self.squares is None else self.squares.take(places)
        return Moments(self.counts[places], sums, squares, self.whole)

    @classmethod
    def merged(
        cls, states: Sequence["Moments"], labels: Sequence[Integers], count: int
    ) -> "Moments":
        """Return `count` groups, made of those with equal labels."""
        counts = np.zeros(count, dtype=np.int64)
        for one, own in zip(states, labels, strict=True):
            add_counts(one.counts, own, counts)
        sums = [one.sums for one in states if one.sums is not None]
        squares = [one.squares for one in states if one.squares is not None]
        return Moments(
            counts,
            exact_sums.merged(sums, labels, count) if sums else None,
            exact_sums.merged(squares, labels, count) if squares else None,
            states[0].whole,
        )

    def finished(self, call: AggregateCall) -> Aggregated:
        """Return the results. NULL without values; AVG is the sum divided by the count, STDDEV the root of VAR.

        SUM, and AVG of whole numbers, are rounded once, and VAR is; results outside of their type are NULL.
        """
        function, held = call.function, self.counts > 0
        if function is AggregateFunction.COUNT:
            return Aggregated(Column(ColumnType.INT64, self.counts))
        assert self.sums is not None, "sums are kept for all others"
        if function is AggregateFunction.SUM and self.whole:
            totals, fits = self.sums.whole_numbers()
            return _result(ColumnType.INT64, totals, held, fits)
        if function in SPREAD:
            held = self.counts > (function in _SAMPLE)
            found = self._variances(sample=function in _SAMPLE)
            if function in _ROOT:
                found = np.sqrt(found)
        elif function is AggregateFunction.AVG and self.whole:
            found = self.sums.rounded(np.maximum(self.counts, 1))
        else:
            found = self.sums.rounded()
            if function is AggregateFunction.AVG:
                found /= np.maximum(self.counts, 1)
                found += 0.0  # a quotient too small for a float is no -0.0
        lost = np.isnan(found)
        if not np.count_nonzero(lost):
            return _result(ColumnType.FLOAT64, found, held, None)
        found[lost] = 0.0
        return _result(ColumnType.FLOAT64, found, held, ~lost)

    def _variances(self, *, sample: bool) -> Floats:
        """Return the variances, each rounded once; anything where there are too few values."""
        assert self.sums is not None, "sums are kept"
        assert self.squares is not None, "and squares"
        times_squared = self.sums.spread(self.squares, self.counts)
        return times_squared.rounded(np.maximum(self.counts * (self.counts - sample), 1))


def moments_of(
    function: AggregateFunction,
    values: NDArray[Any] | None,
    members: Members,
    weights: Integers | None = None,
) -> Moments:
    """Return what a function of this room needs of each group's values.

    Args:
        function: COUNT, SUM, AVG or a variance.
        values: (m,) of the members, numbers; None for COUNT.
        members: rows that have a value.
        weights: (m,) how often each row counts, not for variances; None = once.

    Cost: 1 ns a row to count, and that of `sums_of`, of `weighted_sums_of` or of `sums_and_squares_of`.
    """
    counts = counts_of(members, weights)
    if function in COUNTED or values is None:
        return Moments(counts)
    whole = values.dtype != np.float64
    if weights is not None:
        assert function in SUMMED, "variances are of rows that count once"
        return Moments(counts, exact_sums.weighted_sums_of(values, weights, members), None, whole)
    if function in SUMMED:
        return Moments(counts, exact_sums.sums_of(values, members), None, whole)
    return Moments(counts, *exact_sums.sums_and_squares_of(values, members), whole)


def counts_of(members: Members, weights: Integers | None) -> Integers:
    """Return how many rows each group has, each as often as its weight says; None = once. Cost: 1 ns a row."""
    if weights is None:
        return members.counts
    counts = np.zeros(members.count, dtype=np.int64)
    add_counts(weights, members.labels, counts)
    return counts


def _result(
    kind: ColumnType,
    values: NDArray[Any],
    held: NDArray[np.bool_],
    fits: NDArray[np.bool_] | None,
) -> Aggregated:
    """Return values, which are NULL where there are none and where they do not fit; None = all do."""
    valid = held if fits is None else held & fits
    if np.count_nonzero(valid) == len(valid):  # a third of what `all` takes where there are few
        return Aggregated(Column(kind, values))
    overflowed = fits is not None and bool((held & ~fits).any())
    return Aggregated(Column(kind, values, valid), overflowed)
