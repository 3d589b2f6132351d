"""Counts, exact sums and extremes of groups: those of all aggregates together, as one row of whole numbers a group.

Of each aggregate a row has how many values there are; of a sum also its digits, of MIN and MAX a whole number in the
order of the values. Rows are merged by adding up most of their words and comparing the others, whatever they mean, so
any number of aggregates costs one call of a kernel. What is shown is computed as from the states that stand alone.
"""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import functools
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.exact_sums import ExactSums, SumFormat, add_values, format_of
from psoup.engine.aggregates.extremes import LARGEST, LARGEST_WORD, LEAST, keep_least
from psoup.engine.aggregates.groups import Members
from psoup.engine.aggregates.moments import COUNTED, SUMMED, Moments
from psoup.engine.aggregates.occurrences import numbers_of
from psoup.engine.aggregates.ordinals import column_of
from psoup.engine.aggregates.state import Aggregated
from psoup.engine.kernels.digits import DIGIT_BITS, carry_all, merge_rows
from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]

_LAYOUTS_MAX: Final = 1_024
"""That are remembered: some for each grouping, a kilobyte each."""


class Kind(Enum):
    """What is tallied of an aggregate."""

    COUNT = "count"
    SUM = "sum"
    LEAST = "least"
    LARGEST = "largest"


def kind_of(call: AggregateCall) -> Kind | None:
    """Return what is tallied of an aggregate; None = its states stand alone: texts, variances, whole rows, all values.

    BOOL_AND is the least, BOOL_OR the largest.
    """
    function = call.function
    if function in LEAST | LARGEST:
        if call.arguments[0].type is ColumnType.STRING:
            return None
        return Kind.LEAST if function in LEAST else Kind.LARGEST
    if call.distinct or function not in COUNTED | SUMMED:
        return None
    return Kind.COUNT if function in COUNTED else Kind.SUM


Formats = tuple[SumFormat, ...]
"""Of the sum of each aggregate; NO_SUM where it has none."""
NO_SUM: Final = SumFormat(0, 0)


class Layout:
    """Where in a row the words of aggregates lie. A value: there is one for equal kinds and formats (`layout_of`).

    Attributes:
        kinds: of each aggregate what is tallied.
        formats: of each the format of its sum.
        counts: for each the place of its count; the digits of a sum follow it.
        extremes: for each the place of its extreme, behind all that is added up.
        added: words that are added up when rows are merged; of the others the least is kept.
        numbers: (m, 2) where the digits of each sum begin, and end.
        nothing: (w,) a row of no values.
    """

    __slots__ = ("added", "counts", "extremes", "formats", "kinds", "nothing", "numbers")

    def __init__(self, kinds: tuple[Kind, ...], formats: Formats) -> None:
        """Put the words of the aggregates one behind the other, extremes behind all others."""
        self.kinds = kinds
        self.formats = formats
        ends = np.cumsum([0, *(1 + width for _, width in formats)]).tolist()
        self.counts: tuple[int, ...] = tuple(ends[:-1])
        self.added: int = ends[-1]
        some = [kind in (Kind.LEAST, Kind.LARGEST) for kind in kinds]
        self.extremes = tuple([self.added + sum(some[:place]) for place in range(len(kinds))])
        sums = [
            (first + 1, first + 1 + width)
            for first, (_, width) in zip(self.counts, formats, strict=True)
            if width
        ]
        self.numbers = np.array(sums, dtype=np.int64).reshape(-1, 2)
        self.nothing = np.zeros(self.added + sum(some), dtype=np.int64)
        self.nothing[self.added :] = LARGEST_WORD

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy of it is written."""
        return layout_of, (self.kinds, self.formats)

    def rows(self, count: int) -> Integers:
        """Return (count, w) rows of no values."""
        made = np.empty((count, len(self.nothing)), dtype=np.int64)
        made[:] = self.nothing
        return made

    def digits(self, place: int) -> slice:
        """Return where the digits of an aggregate's sum lie."""
        first = self.counts[place] + 1
        return slice(first, first + self.formats[place].width)


@functools.lru_cache(maxsize=_LAYOUTS_MAX)
def layout_of(kinds: tuple[Kind, ...], formats: Formats) -> Layout:
    """Return the layout of aggregates of these kinds, with sums of these formats."""
    return Layout(kinds, formats)


@value_type
class Tallies:
    """The tallies of g groups.

    Attributes:
        layout: what the words of a row are.
        rows: (g, w); digits are carried.
    """

    layout: Layout
    rows: Integers

    @property
    def nbytes(self) -> int:
        """Return the bytes of the rows."""
        return self.rows.nbytes

    def part(self, some: slice) -> "Tallies":
        """Return the groups of a slice, as a view."""
        return Tallies(self.layout, self.rows[some])

    def take(self, places: Integers) -> "Tallies":
        """Return the groups at these places."""
        return Tallies(self.layout, self.rows[places])

    def finished(self, place: int, call: AggregateCall) -> Aggregated:
        """Return the results of a call, of the aggregate at a place: the one that is tallied for it."""
        layout, rows = self.layout, self.rows
        counts, kind = rows[:, layout.counts[place]].copy(), layout.kinds[place]
        if kind is Kind.COUNT:
            return Aggregated(Column(ColumnType.INT64, counts))
        of = call.arguments[0].type
        if kind is Kind.SUM:
            digits = np.ascontiguousarray(rows[:, layout.digits(place)])
            sums = ExactSums(layout.formats[place].unit, digits)
            return Moments(counts, sums, None, of is not ColumnType.FLOAT64).finished(call)
        keys, held = rows[:, layout.extremes[place]], counts > 0
        if kind is Kind.LARGEST:
            keys = ~keys
        if np.count_nonzero(held) == len(held):
            return Aggregated(column_of(of, keys, None, None))
        return Aggregated(column_of(of, np.where(held, keys, 0), None, held))


def tallies_of(
    kinds: tuple[Kind, ...],
    read: Sequence[tuple[Column | None, Members]],
    count: int,
    like: Layout | None = None,
) -> Tallies:
    """Return the tallies of values in groups.

    Args:
        kinds: of the aggregates.
        read: for each its values, none of them NULL, and the rows they belong to; a count needs no values.
        count: of groups.
        like: a layout that others have, with which these are to be merged: used where it is large enough.

    Cost: that of `add_values`, or of `keep_least`, for each.
    """
    values = [None if column is None else numbers_of(column) for column, _ in read]
    layout = like or layout_of(kinds, _formats(kinds, values))
    rows = layout.rows(count)
    for place, (kind, own, (_, members)) in enumerate(zip(kinds, values, read, strict=True)):
        rows[:, layout.counts[place]] = members.counts
        if kind is Kind.COUNT or own is None:
            continue
        if kind is not Kind.SUM:
            keep_least(own, members, rows, layout.extremes[place], least=kind is Kind.LEAST)
        elif not add_values(own, members, layout.formats[place].unit, rows, layout.digits(place)):
            wider = _union((layout.formats, _formats(kinds, values)))
            return tallies_of(kinds, read, count, layout_of(kinds, wider))
    carry_all(rows, layout.numbers)
    return Tallies(layout, rows)


def stacked(tallies: Sequence[Tallies]) -> Tallies:
    """Return the groups of some tallies, one at least, one below the other."""
    layout = _common(tallies)
    return Tallies(layout, np.concatenate([_in_layout(one, layout) for one in tallies]))


def merged(tallies: Sequence[Tallies], labels: Sequence[Integers], count: int) -> Tallies:
    """Return `count` groups, made of those with equal labels. Cost: 0.5 ns a word."""
    layout = _common(tallies)
    found = layout.rows(count)
    for one, own in zip(tallies, labels, strict=True):
        merge_rows(_in_layout(one, layout), own, layout.added, found)
    carry_all(found, layout.numbers)
    return Tallies(layout, found)


def _formats(kinds: tuple[Kind, ...], values: Sequence[NDArray[Any] | None]) -> Formats:
    """Return the formats of the sums of values."""
    return tuple(
        [
            format_of(own) if kind is Kind.SUM and own is not None else NO_SUM
            for kind, own in zip(kinds, values, strict=True)
        ]
    )


def _union(formats: Sequence[Formats]) -> Formats:
    """Return formats that hold the sums of all."""
    found = []
    for every in zip(*formats, strict=True):
        unit = min(unit for unit, _ in every)
        width = max(width + (own - unit) // DIGIT_BITS for own, width in every)
        found.append(SumFormat(unit, width))
    return tuple(found)


def _common(tallies: Sequence[Tallies]) -> Layout:
    """Return a layout that has room for all."""
    layout = tallies[0].layout
    if all(one.layout is layout for one in tallies):
        return layout
    return layout_of(layout.kinds, _union([one.layout.formats for one in tallies]))


def _in_layout(tallies: Tallies, layout: Layout) -> Integers:
    """Return rows as another layout has them, which has room for them."""
    own, rows = tallies.layout, tallies.rows
    if own is layout:
        return rows
    found = layout.rows(len(rows))
    for place, (unit, width) in enumerate(own.formats):
        found[:, layout.counts[place]] = rows[:, own.counts[place]]
        if width:
            first = layout.digits(place).start + (unit - layout.formats[place].unit) // DIGIT_BITS
            found[:, first : first + width] = rows[:, own.digits(place)]
    found[:, layout.added :] = rows[:, own.added :]
    carry_all(found, layout.numbers)  # a digit that was a last one, with the sign, is none any more
    return found
