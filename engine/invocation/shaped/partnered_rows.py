"""The rows of one source that are part of a join's composites, in groups, and what is aggregated of them.

Either the groups are of the rows themselves, and each row counts as often as it is part of a composite; or they are of
the rows of another source, and each group has the rows in the spans of its own.
"""

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.aggregated import state_of
from psoup.engine.aggregates.grouping import RowsToAggregate, read_by
from psoup.engine.aggregates.groups import Groups, Members
from psoup.engine.aggregates.spanned import Spans, state_of_spans
from psoup.engine.aggregates.state import State
from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]


@value_type
class WeightedRows:
    """Rows in groups, each of which counts several times.

    Attributes:
        rows: of one source.
        weights: in how many composites each of them is.
        groups: the rows in groups.
    """

    rows: RowsToAggregate
    weights: Integers
    groups: Groups

    def state(self, call: AggregateCall) -> State:
        """Return the states of a call over the source (`state_of`)."""
        arguments, passes = read_by(call, self.rows)
        return state_of(
            call,
            arguments,
            passes,
            groups=self.groups,
            times=self.rows.times,
            tuple_ids=self.rows.tuple_ids,
            weights=self.weights,
        )

    def piece(self, places: Integers, first: int, past: int) -> "WeightedRows":
        """Return the groups `[first, past)`, which have the rows at these places."""
        rows, groups = self.rows, self.groups
        taken = RowsToAggregate(
            lambda ref: rows.columns(ref).take(places),
            len(places),
            rows.times[places],
            rows.tuple_ids[places],
        )
        keys = tuple([key.part(slice(first, past)) for key in groups.keys])
        members = Members(None, groups.labels[places] - first, past - first)
        return WeightedRows(taken, self.weights[places], Groups(keys, members))


@value_type
class SpannedRows:
    """Rows of which each group has several spans.

    Attributes:
        rows: of one source, in an order of the join key.
        spans: of the partners of each row that is in a group.
    """

    rows: RowsToAggregate
    spans: Spans

    def state(self, call: AggregateCall) -> State:
        """Return the states of a call over the source (`state_of_spans`)."""
        arguments, passes = read_by(call, self.rows)
        return state_of_spans(call, arguments, passes, self.spans)

    def piece(self, places: Integers, first: int, past: int) -> "SpannedRows":
        """Return the groups `[first, past)`, which have the spans at these places."""
        spans = self.spans
        some = Spans(
            spans.low[places],
            spans.high[places],
            spans.weights[places],
            spans.labels[places] - first,
            past - first,
        )
        return SpannedRows(self.rows, some)
