"""Aggregates of rows that stand in an order, of which each group has those in its spans, overlapping or not.

They are those of the partners in a join: no row is looked at once for each span that holds it.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.exact_sums import sums_of_spans
from psoup.engine.aggregates.extremes import LARGEST, LEAST, Extremes, extremes_of
from psoup.engine.aggregates.groups import Members, in_order
from psoup.engine.aggregates.moments import COUNTED, SUMMED, Moments, counts_of
from psoup.engine.aggregates.occurrences import numbers_of
from psoup.engine.aggregates.ordinals import column_of, ordinals
from psoup.engine.aggregates.state import State
from psoup.engine.checkpoint import checkpoint
from psoup.engine.kernels.extremes import least_of_spans
from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_OF_EACH_VALUE: Final = COUNTED | SUMMED
"""Functions whose results depend on how often a value occurs."""


@value_type
class Spans:
    """k spans of rows in an order, each of one of g groups.

    Attributes:
        low, high: (k,) the places that each holds, `[low, high)`.
        weights: (k,) how often each counts, in `[1, 2^31)`.
        labels: (k,) the group of each.
        count: g.
    """

    low: Integers
    high: Integers
    weights: Integers
    labels: Integers
    count: int

    def among(self, taken: Flags) -> "Spans":
        """Return the spans of the places that are taken alone, without those that hold none."""
        before = np.zeros(len(taken) + 1, dtype=np.int64)
        np.cumsum(taken, out=before[1:])
        low, high = before[self.low], before[self.high]
        some = np.flatnonzero(low < high)
        if len(some) == len(low):
            return Spans(low, high, self.weights, self.labels, self.count)
        return Spans(low[some], high[some], self.weights[some], self.labels[some], self.count)


def can_be_spanned(call: AggregateCall) -> bool:
    """Return whether the call can be computed of spans: all that count, add or compare values."""
    function = call.function
    return function in LEAST | LARGEST or (function in _OF_EACH_VALUE and not call.distinct)


def state_of_spans(
    call: AggregateCall, arguments: Sequence[Column], passes: Flags | None, spans: Spans
) -> State:
    """Return the states from which the results of the call can be taken, of the rows in the spans of each group.

    Args:
        call: one that `can_be_spanned`; its expressions are not read.
        arguments: the values of its arguments, n each, in the order of the places.
        passes: (n,) rows for which FILTER is TRUE; None = all.
        spans: none is empty.

    Cost: O(n + k) to count, and that of `sums_of_spans` or of `least_of_spans`.
    """
    checkpoint()
    taken = passes
    for valid in (column.valid for column in arguments):
        if valid is not None:
            taken = valid if taken is None else taken & valid
    if taken is not None and not taken.all():
        spans, places = spans.among(taken), np.flatnonzero(taken)
        arguments = [column.take(places) for column in arguments]
    if call.function in LEAST | LARGEST:
        return _extremes(arguments[0], spans, least=call.function in LEAST)
    members = Members(None, spans.labels, spans.count)
    counts = counts_of(members, (spans.high - spans.low) * spans.weights)
    if call.function in COUNTED:
        return Moments(counts)
    values = numbers_of(arguments[0])
    sums = sums_of_spans(values, (spans.low, spans.high), spans.weights, members)
    return Moments(counts, sums, None, values.dtype != np.float64)


def _extremes(column: Column, spans: Spans, *, least: bool) -> Extremes:
    """Return the least or the largest value in the spans of each group."""
    known = ordinals(Column(column.type, column.values, None, column.dictionary))
    keys = known.keys if least else ~known.keys
    # Spans of one key are equal, and follow each other where they are ordered.
    order, _ = in_order(spans.low, len(keys))
    low, high, labels = spans.low[order], spans.high[order], spans.labels[order]
    found, tree = np.empty(len(low), dtype=np.int64), np.empty(2 * len(keys), dtype=np.int64)
    least_of_spans(keys, low, high, tree, found)
    best = column_of(column.type, found if least else ~found, known.texts, None)
    return extremes_of(best, Members(None, labels, spans.count), least=least)
