"""What is computed of groups: the keys of GROUP BY and the aggregates, over rows that are read once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.aggregated import aggregated, has_small_states, state_of
from psoup.engine.aggregates.groups import Groups, grouped
from psoup.engine.aggregates.state import Aggregated, State
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.values.evaluate import Columns, evaluate
from psoup.engine.query.values.expression import AggregateCall, AggregateFunction, Expression
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]

_KEPT_AS: Final = {
    AggregateFunction.AVG: AggregateFunction.SUM,
    AggregateFunction.VAR_SAMP: AggregateFunction.VAR_POP,
    AggregateFunction.STDDEV_SAMP: AggregateFunction.VAR_POP,
    AggregateFunction.STDDEV_POP: AggregateFunction.VAR_POP,
    AggregateFunction.BOOL_AND: AggregateFunction.MIN,
    AggregateFunction.BOOL_OR: AggregateFunction.MAX,
}
"""Functions whose states are those of another one."""


@value_type
class RowsToAggregate:
    """n rows of a stream or of a join.

    Attributes:
        columns: the values of a column of FROM, n each.
        count: n.
        times: (n,) tuple times.
        tuple_ids: (n,), or (p, n) for rows of p sources.
    """

    columns: Columns
    count: int
    times: Integers
    tuple_ids: Integers


@value_type
class AggregatedGroups:
    """The groups of some rows, in order of their keys.

    Attributes:
        count: how many groups there are.
        keys: for each key its value of each group.
        results: for each aggregate its results.
    """

    count: int
    keys: tuple[Column, ...]
    results: tuple[Aggregated, ...]


class Grouping:
    """The keys and the aggregates of a shape. A value, made once for a query.

    Attributes:
        keys: over rows; () = one group.
        calls: the aggregates.
        states: the aggregates whose states are kept for the calls, each once.
        places: for each call which of these are its own.
        mergeable: whether all calls have states that take no more room than groups, to be kept and merged again.
        texts: what tells it from others: the canonical texts of keys and of states.
    """

    __slots__ = ("calls", "keys", "mergeable", "places", "states", "texts")

    def __init__(self, keys: Sequence[Expression], calls: Sequence[AggregateCall]) -> None:
        """Take the keys of GROUP BY and the aggregates of a query."""
        self.keys = tuple(keys)
        self.calls = tuple(calls)
        self.mergeable = all(has_small_states(call) for call in calls)
        numbers: dict[AggregateCall, int] = {}
        self.places = tuple(numbers.setdefault(_kept_as(call), len(numbers)) for call in calls)
        self.states = tuple(numbers)
        self.texts = (
            tuple([sql_expression(key) for key in self.keys]),
            tuple([sql_expression(state) for state in self.states]),
        )

    def groups(self, rows: RowsToAggregate) -> Groups:
        """Return the rows in groups of the keys."""
        keys = [evaluate(key, rows.columns, rows.count) for key in self.keys]
        return grouped(keys, rows.count)

    def aggregated(self, rows: RowsToAggregate) -> AggregatedGroups:
        """Return the aggregates of all groups of the rows. Cost: that of `grouped`, and of `aggregated` for each."""
        groups = self.groups(rows)
        results = []
        for call in self.calls:
            arguments, passes = read_by(call, rows)
            results.append(
                aggregated(
                    call,
                    arguments,
                    passes,
                    groups=groups,
                    times=rows.times,
                    tuple_ids=rows.tuple_ids,
                )
            )
        return AggregatedGroups(groups.count, groups.keys, tuple(results))

    def states_of(self, rows: RowsToAggregate, groups: Groups) -> tuple[State, ...]:
        """Return the states of the rows in groups."""
        found = []
        for call in self.states:
            arguments, passes = read_by(call, rows)
            found.append(
                state_of(
                    call,
                    arguments,
                    passes,
                    groups=groups,
                    times=rows.times,
                    tuple_ids=rows.tuple_ids,
                )
            )
        return tuple(found)


def _kept_as(call: AggregateCall) -> AggregateCall:
    """Return the aggregate whose states are the call's: SUM and AVG of one column have one."""
    function = _KEPT_AS.get(call.function)
    if function is None or call.distinct:
        return call
    kind = call.arguments[0].type
    if function is AggregateFunction.VAR_POP:
        kind = ColumnType.FLOAT64
    return replace(call, function=function, type=kind)


def read_by(
    call: AggregateCall, rows: RowsToAggregate
) -> tuple[list[Column], NDArray[np.bool_] | None]:
    """Return the arguments of a call, and the rows for which its FILTER is TRUE; None = all."""
    arguments = [evaluate(one, rows.columns, rows.count) for one in call.arguments]
    if call.filter is None:
        return arguments, None
    passes = evaluate(call.filter, rows.columns, rows.count)
    return arguments, passes.values if passes.valid is None else passes.values & passes.valid
