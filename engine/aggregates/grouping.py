"""What is computed of groups: the keys of GROUP BY and the aggregates, over rows that are read once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.aggregated import (
    aggregated,
    has_small_states,
    state_of,
    values_read,
)
from psoup.engine.aggregates.groups import Groups, Members, first_values, grouped
from psoup.engine.aggregates.state import Aggregated, State
from psoup.engine.aggregates.tallies import Kind, Layout, Tallies, kind_of, tallies_of
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.values.evaluate import Columns, evaluate
from psoup.engine.query.values.expression import (
    AggregateCall,
    AggregateFunction,
    ColumnRef,
    Expression,
)
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
_ROWS_FEW: Final = 4_096
"""Rows whose least values are found as fast as the first row of each group."""


@value_type
class RowsToAggregate:
    """n rows of a stream or of a join.

    Attributes:
        columns: the values of a column of FROM, n each.
        count: n.
        times: (n,) tuple times.
        tuple_ids: (n,), or (p, n) for rows of p sources.
        ascending: whether times are known to ascend.
    """

    columns: Columns
    count: int
    times: Integers
    tuple_ids: Integers
    ascending: bool = False


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
        kinds: of the states that are tallied.
        texts: what tells it from others: the canonical texts of keys and of states.
    """

    __slots__ = (
        "_alone",
        "_kept",
        "_plain",
        "_tallied",
        "calls",
        "keys",
        "kinds",
        "mergeable",
        "places",
        "states",
        "texts",
    )

    def __init__(self, keys: Sequence[Expression], calls: Sequence[AggregateCall]) -> None:
        """Take the keys of GROUP BY and the aggregates of a query."""
        self.keys = tuple(keys)
        self.calls = tuple(calls)
        self.mergeable = all(has_small_states(call) for call in calls)
        numbers: dict[AggregateCall, int] = {}
        self.places = tuple(numbers.setdefault(_kept_as(call), len(numbers)) for call in calls)
        self.states = tuple(numbers)
        kinds = [kind_of(state) for state in self.states]
        self.kinds = tuple([kind for kind in kinds if kind is not None])
        pairs = tuple(zip(self.states, kinds, strict=True))
        self._tallied = tuple([state for state, kind in pairs if kind is not None])
        self._plain = tuple([_is_plain(state) for state in self._tallied])
        self._alone = tuple([state for state, kind in pairs if kind is None])
        self._kept = tuple([self._kept_at(self.states[place]) for place in self.places])
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

    def _kept_at(self, state: AggregateCall) -> tuple[bool, int]:
        """Return whether a state is tallied, and its place among those that are, or that are not."""
        is_tallied = state in self._tallied
        return is_tallied, (self._tallied if is_tallied else self._alone).index(state)

    def tallies_of(
        self, rows: RowsToAggregate, groups: Groups, like: Layout | None = None
    ) -> Tallies:
        """Return the tallies of the rows in groups; `like` as in `tallies.tallies_of`."""
        read: list[tuple[Column | None, Members]] = []
        for call, kind, is_plain in zip(self._tallied, self.kinds, self._plain, strict=True):
            column, members = _plain_values(call, rows, groups) if is_plain else (None, None)
            if members is None:
                arguments, passes = read_by(call, rows)
                columns, members = values_read(call, arguments, passes, groups)
                column = columns[0] if columns else None
            if (
                kind is Kind.LEAST
                and rows.ascending
                and rows.count > _ROWS_FEW
                and column is not None
                and column.values is rows.times
                and members.counts.all()
            ):
                column, members = first_values(column, members)
            read.append((column, members))
        return tallies_of(self.kinds, read, groups.count, like)

    def results(self, tallies: Tallies, states: Sequence[State]) -> tuple[Aggregated, ...]:
        """Return the results of all calls: of tallies, and of the states of `states_of`."""
        return tuple(
            [
                tallies.finished(place, call) if is_tallied else states[place].finished(call)
                for call, (is_tallied, place) in zip(self.calls, self._kept, strict=True)
            ]
        )

    def states_of(self, rows: RowsToAggregate, groups: Groups) -> tuple[State, ...]:
        """Return the states of the rows in groups that are not tallied."""
        found = []
        for call in self._alone:
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


def _is_plain(call: AggregateCall) -> bool:
    """Return whether a call reads a column as it is, or none, and all rows of it."""
    leaves = [isinstance(one, ColumnRef) for one in call.arguments]
    return call.filter is None and len(leaves) < 2 and all(leaves)


def _plain_values(
    call: AggregateCall, rows: RowsToAggregate, groups: Groups
) -> tuple[Column | None, Members | None]:
    """Return the values that a plain call reads, and their rows: all there are; None = some values are NULL."""
    if not call.arguments:
        return None, groups.members
    column = rows.columns(call.arguments[0])
    return column, groups.members if column.valid is None else None


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
    arguments = [
        rows.columns(one) if isinstance(one, ColumnRef) else evaluate(one, rows.columns, rows.count)
        for one in call.arguments
    ]
    if call.filter is None:
        return arguments, None
    passes = evaluate(call.filter, rows.columns, rows.count)
    return arguments, passes.values if passes.valid is None else passes.values & passes.valid
