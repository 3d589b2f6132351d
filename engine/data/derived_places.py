"""Which stored texts a function has some values for: a condition on `LOWER(sym)` as spans of the places of texts.

A segment's texts ascend. The function is computed once for each of them, and the order of its values is kept with the
texts, for all clauses that ask for it. A set of its values is then a few spans of places, which are compared as those
of the column itself are.
"""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.limits import DERIVED_ORDERS_MAX
from psoup.engine.query.factor import DerivedFactor
from psoup.engine.query.values.derived import DerivedAttribute
from psoup.engine.query.values.factor_table import closed_intervals
from psoup.engine.query.values.value_set import ValueSet
from psoup.engine.tuples.batch import AscendingTexts
from psoup.engine.tuples.schema import ColumnType

SPANS_MAX: Final = 1_024
"""Spans of one factor in one segment; where there are more, the factor is evaluated for the rows that others leave."""
MARKED: Final = 128
"""Of so many values in order one is kept: the others are computed again where a bound lies among them."""
SEARCHED_MAX: Final = 16
"""Up to so many intervals are searched for so; for more, all values are computed again."""

Spans = list[tuple[int, int]]
"""First and last place of each, ascending, none next to another."""
Bisect = Callable[[Sequence[Any], Any], int]


class DerivedOrder:
    """The places of ascending texts in the order of a function's values for them; two bytes a text. A value."""

    __slots__ = ("_attribute", "_marks", "_nulls", "_order")

    def __init__(self, attribute: DerivedAttribute, texts: AscendingTexts) -> None:
        """Compute the function for each text. Cost: O(d log d) for d texts."""
        values = attribute.of_texts(texts)
        known = [place for place, value in enumerate(values) if value is not None]
        known.sort(key=values.__getitem__)
        self._attribute = attribute
        self._order = np.array(known, dtype=np.uint16)
        self._nulls = np.array([i for i, one in enumerate(values) if one is None], dtype=np.uint16)
        self._marks = [values[place] for place in known[::MARKED]]

    def spans(self, texts: AscendingTexts, values: ValueSet) -> Spans | None:
        """Return where the texts are for which the function lies in a set; None where these are too many spans.

        Cost: for each interval MARKED calls of the function, at most two for each text in all; a sort of what is found.
        """
        attribute, order = self._attribute, self._order
        ends = list(closed_intervals(attribute.type, values))
        marks, every = self._marks, MARKED
        if len(ends) > SEARCHED_MAX:
            marks, every = self._values(texts, 0, len(order)), 1

        def before(bound: Any, bisect: Bisect) -> int:  # noqa: ANN401 - a value of the function
            """Return how many values lie before a bound; or up to it, with `bisect_right`."""
            mark = bisect(marks, bound)
            if every == 1 or not mark:
                return mark
            begin = (mark - 1) * every
            return begin + bisect(self._values(texts, begin, begin + every), bound)

        found = [self._nulls] if values.null else []
        for low, high in ends:
            begin = before(low, bisect_left)
            if attribute.type is not ColumnType.STRING:
                past = before(high, bisect_right)
            else:
                past = len(order) if high is None else before(high, bisect_left)
            found.append(order[begin : max(begin, past)])
        return _spans(np.sort(np.concatenate(found or [order[:0]])).astype(np.int64))

    def _values(self, texts: AscendingTexts, begin: int, past: int) -> list[Any]:
        """Return values in order, from number `begin` on and before `past`."""
        return self._attribute.of_texts([texts[i] for i in self._order[begin:past].tolist()])


def spans_of(
    factor: DerivedFactor, texts_by_segment: Sequence[AscendingTexts], rows: int
) -> list[Spans] | None:
    """Return for each segment the places of the texts for which a factor is TRUE.

    Args:
        factor: over one column.
        texts_by_segment: those of the column.
        rows: how many rows are asked about.

    Returns:
        None where evaluating the factor for these rows is as fast: they are fewer than the texts that the function was
        not computed for yet, or there are too many spans.
    """
    attribute = factor.attribute
    shared = [list(run) for _, run in itertools.groupby(texts_by_segment, key=id)]
    if sum(len(run[0]) for run in shared if attribute not in run[0].orders) > rows:
        return None
    spans: list[Spans] = []
    for run in shared:
        own = _order_of(attribute, run[0]).spans(run[0], factor.values)
        if own is None:
            return None
        spans += [own] * len(run)
    return spans


def _order_of(attribute: DerivedAttribute, texts: AscendingTexts) -> DerivedOrder:
    """Return the order of texts by a function of them, which is kept with them."""
    known: DerivedOrder | None = texts.orders.get(attribute)
    if known is None:
        known = DerivedOrder(attribute, texts)
        latest = list(texts.orders.items())[1 - DERIVED_ORDERS_MAX :]
        texts.orders = {**dict(latest), attribute: known}
    return known


def _spans(places: NDArray[np.int64]) -> Spans | None:
    """Return ascending places as spans; None where these are too many."""
    if not len(places):
        return []
    ends = np.flatnonzero(np.diff(places) > 1)
    if len(ends) >= SPANS_MAX:
        return None
    firsts = places[np.concatenate(([0], ends + 1))]
    lasts = places[np.concatenate((ends, [len(places) - 1]))]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))
