"""The groups of a join whose composites are not made: each row counts as often as it has partners.

Where each key and each aggregate reads one source, a group follows from the rows of the source that the keys read and
from the spans of their partners. Each row is part of as many composites as its spans have places, multiplied; for MIN
and MAX it is enough that there is one. Of another source a group has the rows in the spans of its own. Without GROUP BY
all sources are alike: a row counts as often as spans hold it. The first row of any source to leave is the first change.
Sums are exact, so all of it has the bits that composites give.
Source: eager aggregation, Yan and Larson, VLDB 1995; factorised aggregates, Bakibayev and others, VLDB 2013.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.aggregated import GROUPS_AT_ONCE, can_be_weighted
from psoup.engine.aggregates.grouping import AggregatedGroups, Grouping, RowsToAggregate
from psoup.engine.aggregates.groups import grouped, in_order
from psoup.engine.aggregates.spanned import Spans, can_be_spanned
from psoup.engine.aggregates.state import Aggregated, State
from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import PartneredRows
from psoup.engine.invocation.several_streams.join_finding import JoinFinding
from psoup.engine.invocation.shaped.extent import Extent
from psoup.engine.invocation.shaped.grouping import Instants, first_to_leave
from psoup.engine.invocation.shaped.partnered_rows import SpannedRows, WeightedRows
from psoup.engine.invocation.shaped.visible_groups import VisibleGroups
from psoup.engine.kernels.join import cover_counts
from psoup.engine.query.join_shape import JoinShape
from psoup.engine.query.reading import Names, Reading
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.values.expression import (
    ColumnRef,
    Expression,
    column_refs,
    sources_of,
    with_children,
)
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.joined_columns import stacked
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]

_COMPOSITES_MAX: Final = 2**61
"""What counts of composites add up to in 64 bits."""
_WEIGHT_MAX: Final = 2**31 - 1
"""In how many composites a row may be, for digits of sums to be multiplied in 64 bits."""


@value_type
class _Division:
    """What reads which source.

    Attributes:
        source: that of the keys; None = there are none.
        keys: over that source.
        sources: for each state of the grouping the one that it is of; None = it reads no column.
    """

    source: int | None
    keys: tuple[Expression, ...]
    sources: tuple[int | None, ...]


@value_type
class _Sides:
    """The rows of each source that are part of composites.

    Attributes:
        own: of the source whose rows are in groups.
        others: by source.
    """

    own: WeightedRows
    others: Mapping[int, WeightedRows | SpannedRows]

    def of(self, source: int | None) -> WeightedRows | SpannedRows:
        """Return the rows of a source; None = it makes no difference of which."""
        return self.own if source is None else self.others.get(source, self.own)

    def pieces(self) -> Iterator["_Sides"]:
        """Yield some groups after the others: the sums of all at once could fill the memory."""
        groups = self.own.groups
        if groups.count <= GROUPS_AT_ONCE:
            yield self
            return
        order, edges = in_order(groups.labels, groups.count)
        for first in range(0, groups.count, GROUPS_AT_ONCE):
            past = min(first + GROUPS_AT_ONCE, groups.count)
            places = order[edges[first] : edges[past]]
            others = {one: side.piece(places, first, past) for one, side in self.others.items()}
            yield _Sides(self.own.piece(places, first, past), others)


def groups_of_partners(
    finding: JoinFinding, grouping: Grouping, reading: Reading
) -> VisibleGroups | None:
    """Return the groups of the visible rows of a join; None where composites have to be made, or it is cheaper.

    Raises as `JoinFinding.visible` does, but for the number of composites.

    Cost: that of finding the partners of all rows in the windows, and of `state_of` and `state_of_spans` of these.
    """
    division = _divided(grouping, reading.plan.shape)
    if division is None:
        return None
    found = finding.partnered(division.source)
    if found is None:
        return None
    weights = _weights(found)
    if weights is None:
        return None
    rows = _PartneredRows(finding, reading.group_names, division.keys)
    sides, extent = rows.sides(found, weights)
    results, leaves_us = _aggregated(grouping, division, sides, rows.sliding)
    groups = sides.own.groups
    return VisibleGroups(AggregatedGroups(groups.count, groups.keys, results), leaves_us, extent)


def _divided(grouping: Grouping, shape: JoinShape) -> _Division | None:
    """Return which source each key and aggregate reads; None where they cannot be computed of single sources."""
    keys = _of_one_source(grouping.keys, shape)
    of_keys = _sources_of(keys)
    if len(of_keys) != min(len(keys), 1):
        return None
    source = next(iter(of_keys), None)
    sources: list[int | None] = []
    for call in grouping.states:
        of_call = _sources_of([*call.arguments, *(() if call.filter is None else (call.filter,))])
        if len(of_call) > 1:
            return None
        own = next(iter(of_call), None)
        is_weighted = source is None or own in (None, source)
        if not (can_be_weighted(call) if is_weighted else can_be_spanned(call)):
            return None
        sources.append(own)
    return _Division(source, keys, tuple(sources))


def _sources_of(expressions: Iterable[Expression]) -> frozenset[int]:
    return frozenset[int]().union(*map(sources_of, expressions))


def _of_one_source(keys: Sequence[Expression], shape: JoinShape) -> tuple[Expression, ...]:
    """Return keys that read one source where columns of others equal its own in all composites."""
    if len(_sources_of(keys)) > 1:
        for source in range(shape.count):
            changed = tuple([_instead(key, _equals(shape, source)) for key in keys])
            if _sources_of(changed) == {source}:
                return changed
    return tuple(keys)


def _equals(shape: JoinShape, source: int) -> dict[Expression, Expression]:
    """Return for columns of other sources the column of one that they equal, and whose type they have.

    Not of DOUBLEs: of -0.0 and 0.0, which are equal, a CAST makes two texts.
    """
    ties = [shape.tie((source, other)) for other in range(shape.count)]
    return {
        its: own
        for tie in ties
        for own, its in tie.equal
        if isinstance(own, ColumnRef)
        and isinstance(its, ColumnRef)
        and own.type is its.type is not ColumnType.FLOAT64
    }


def _instead(expression: Expression, equals: dict[Expression, Expression]) -> Expression:
    found = equals.get(expression)
    return found or with_children(expression, lambda child: _instead(child, equals))


def _weights(found: PartneredRows) -> Integers | None:
    """Return in how many composites each row is; None where they are too many to be counted."""
    weights, total = np.ones(len(found.rows), dtype=np.int64), np.ones(len(found.rows))
    for partners in found.partners:
        if partners is not None:
            weights *= partners.high - partners.low
            total *= partners.high - partners.low
    if total.sum() > _COMPOSITES_MAX or (total > _WEIGHT_MAX).any():
        return None
    return weights


class _PartneredRows:
    """Reads the rows of each source that are part of composites.

    Attributes:
        sliding: the sources whose rows leave their windows, of those that were read.
    """

    __slots__ = ("_finding", "_keys", "_names", "sliding")

    def __init__(self, finding: JoinFinding, names: Names, keys: Sequence[Expression]) -> None:
        """Take the columns that aggregates read of each source, and the keys over one."""
        self._finding = finding
        self._names = names
        self._keys = keys
        self.sliding = list[int]()

    def sides(self, found: PartneredRows, weights: Integers) -> tuple[_Sides, Extent]:
        """Return the rows of each source, and the extent of the composites."""
        own = self._read(found.source, found.rows)
        groups = grouped([evaluate(key, own.columns, own.count) for key in self._keys], own.count)
        others = dict[int, WeightedRows | SpannedRows]()
        extents = {found.source: found.rows}
        for source, partners in enumerate(found.partners):
            if partners is None:
                continue
            low, high = partners.low, partners.high
            spans = Spans(low, high, weights // (high - low), groups.labels, groups.count)
            counts = np.zeros(len(partners.rows) + 1, dtype=np.int64)
            cover_counts(low, high, spans.weights, counts)
            held = counts[:-1] > 0
            rows = extents[source] = partners.rows[held]
            read = self._read(source, rows)
            if self._keys:
                others[source] = SpannedRows(read, spans.among(held))
            else:
                others[source] = WeightedRows(read, counts[:-1][held], grouped((), len(rows)))
        extent = _extent(int(weights.sum()), [extents[one] for one in sorted(extents)])
        return _Sides(WeightedRows(own, weights, groups), others), extent

    def _read(self, source: int, rows: Integers) -> RowsToAggregate:
        """Return rows of a source with the columns that are read of it, and when they leave its window."""
        keys = [ref for key in self._keys for ref in column_refs(key) if ref.source == source]
        names = sorted({*self._names[source], *(ref.name for ref in keys)})
        part = self._finding.part(source, rows, names)
        leaves_us = self._finding.leaves_of(source, part.times)
        if leaves_us is not None:
            self.sliding.append(source)

        def column(ref: ColumnRef) -> Column:
            if not ref.name and leaves_us is not None:  # of FIRST_TO_LEAVE
                return Column(ColumnType.TIMESTAMP, leaves_us)
            return part.columns[ref.name]

        return RowsToAggregate(column, len(rows), part.times, part.tuple_ids)


def _extent(count: int, rows: Sequence[Integers]) -> Extent:
    """Return the extent of so many composites of rows of each source."""
    if not count:
        return Extent(0)
    return Extent(
        count, tuple([int(one.min()) for one in rows]), tuple([int(one.max()) for one in rows])
    )


def _aggregated(
    grouping: Grouping, division: _Division, sides: _Sides, sliding: Sequence[int]
) -> tuple[tuple[Aggregated, ...], Instants | None]:
    """Return the aggregates of all groups, and when the first row of each leaves; None = rows never do.

    Args:
        grouping: the calls; the last one is of the row that leaves first.
        division: which source each state is of.
        sides: the rows of each source.
        sliding: the sources whose rows leave.
    """
    results, leaves = list[list[Aggregated]](), list[Instants]()
    for some in sides.pieces():
        checkpoint()
        states = dict[int, State]()
        for place, of in enumerate(division.sources[:-1]):
            states[place] = some.of(of).state(grouping.states[place])
        calls = zip(grouping.calls[:-1], grouping.places, strict=False)
        results.append([states[place].finished(call) for call, place in calls])
        last = grouping.calls[-1]
        first = [some.of(one).state(last).finished(last) for one in sliding]
        if first:
            count = some.own.groups.count
            of_each = [first_to_leave(AggregatedGroups(count, (), (one,))) for one in first]
            leaves.append(np.minimum.reduce(of_each))
    leaves_us = np.concatenate(leaves) if leaves else None
    return tuple(map(_one_below_the_other, zip(*results, strict=True))), leaves_us


def _one_below_the_other(pieces: Sequence[Aggregated]) -> Aggregated:
    if len(pieces) == 1:
        return pieces[0]
    columns = stacked([piece.column for piece in pieces])
    return Aggregated(columns, any(piece.overflowed for piece in pieces))
