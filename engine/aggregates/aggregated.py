"""One aggregate of rows in groups: which of the rooms computes it, and of which rows."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.extremes import LARGEST, LEAST, extremes_of
from psoup.engine.aggregates.groups import Groups, Members, grouped, in_order, members
from psoup.engine.aggregates.moments import COUNTED, SPREAD, SUMMED, moments_of
from psoup.engine.aggregates.picks import BACKWARDS, BY_TIME, BY_VALUE, picks_of
from psoup.engine.aggregates.quantiles import quantiles
from psoup.engine.aggregates.state import Aggregated, State
from psoup.engine.checkpoint import checkpoint
from psoup.engine.query.values.expression import AggregateCall, AggregateFunction, Constant
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.joined_columns import stacked
from psoup.engine.tuples.schema import ColumnType

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_QUANTILES: Final = frozenset({AggregateFunction.MEDIAN, AggregateFunction.QUANTILE_CONT})
_ONCE: Final = COUNTED | SUMMED | SPREAD | _QUANTILES
"""Functions whose results depend on how often a value occurs."""
GROUPS_AT_ONCE: Final = 65_536
"""Whose sums are kept: 35 MB where exponents are as far apart as they can be, for variances five times that."""


def has_states(call: AggregateCall) -> bool:
    """Return whether states of the call can be merged: all but DISTINCT values and quantiles, which need each value."""
    return call.function not in _QUANTILES and not (call.distinct and call.function in _ONCE)


def aggregated(
    call: AggregateCall,
    arguments: Sequence[Column],
    passes: Flags | None,
    *,
    groups: Groups,
    times: Integers,
    tuple_ids: Integers,
) -> Aggregated:
    """Return one aggregate of n rows in g groups. It depends on the rows, not on their order.

    NULLs are left out, but for FIRST and LAST, which give the value of one row whatever it is. A group without values
    has COUNT 0 and NULL else. Results outside of their type are NULL, and the answer says so. A zero is 0.0, but for
    FIRST, LAST, ARG_MIN and ARG_MAX, which give a value as its row has it.

    Args:
        call: the aggregate; its expressions are not read, but for the share of QUANTILE_CONT.
        arguments: the values of its arguments, n each. A constant share may be left out.
        passes: (n,) rows for which FILTER is TRUE; None = all.
        groups: the rows in groups.
        times: (n,) tuple times.
        tuple_ids: (n,), or (p, n) for rows of p sources.

    Cost: O(n); `moments_of`, `extremes_of`, `picks_of` and `quantiles` say how much.
    """
    checkpoint()
    arguments, rows = _read(call, arguments, passes, groups)
    if call.function in _QUANTILES:
        return quantiles(arguments[0], _share(call), rows, call.type)
    if call.function in SUMMED | SPREAD and rows.count > GROUPS_AT_ONCE:
        return _in_pieces(call, arguments[0], rows)
    return _state(call, arguments, rows, times, tuple_ids).finished(call)


def state_of(
    call: AggregateCall,
    arguments: Sequence[Column],
    passes: Flags | None,
    *,
    groups: Groups,
    times: Integers,
    tuple_ids: Integers,
) -> State:
    """Return the states from which `aggregated` takes its results, for a call that has some (`has_states`).

    Arguments and cost as there.
    """
    assert has_states(call), "a result that depends on each value has no state"
    arguments, rows = _read(call, arguments, passes, groups)
    return _state(call, arguments, rows, times, tuple_ids)


def _read(
    call: AggregateCall, arguments: Sequence[Column], passes: Flags | None, groups: Groups
) -> tuple[Sequence[Column], Members]:
    """Return the values that the call reads, and their rows; for DISTINCT each value of a group once."""
    columns = arguments[:1] if call.function in _QUANTILES else arguments
    taken = passes
    if call.function not in BY_TIME:
        for valid in (column.valid for column in columns):
            if valid is not None:
                taken = valid if taken is None else taken & valid
    rows = members(groups, taken)
    if rows.rows is not None:
        columns = [column.take(rows.rows) for column in columns]
    if call.distinct and call.function in _ONCE:
        values = Column(columns[0].type, columns[0].values, None, columns[0].dictionary)
        labels = Column(ColumnType.INT64, rows.labels)
        pairs = grouped([labels, values], len(rows))
        columns = [pairs.keys[1]]
        rows = Members(None, pairs.keys[0].values, rows.count)
    return columns, rows


def _state(
    call: AggregateCall,
    columns: Sequence[Column],
    rows: Members,
    times: Integers,
    tuple_ids: Integers,
) -> State:
    """Return the states of the values of some rows; times and tuple ids are those of all rows."""
    function = call.function
    if function in LEAST | LARGEST:
        return extremes_of(columns[0], rows, least=function in LEAST)
    if function in BY_TIME | BY_VALUE:
        when = np.vstack((rows.of(times), rows.of(tuple_ids)))
        by = columns[1] if function in BY_VALUE else None
        return picks_of(columns[0], by, when, rows, backwards=function in BACKWARDS)
    return moments_of(function, _numbers(columns[0]) if columns else None, rows)


def _numbers(column: Column) -> NDArray[Any]:
    """Return the values that sums are made of; a boolean counts 0 or 1."""
    return column.values.astype(np.int64) if column.type is ColumnType.BOOL else column.values


def _share(call: AggregateCall) -> float:
    """Return which quantile is asked for."""
    if call.function is AggregateFunction.MEDIAN:
        return 0.5
    share = call.arguments[1]
    assert isinstance(share, Constant), "the binder takes constant shares"
    assert isinstance(share.value, int | float), "that are numbers"
    return float(share.value)


def _in_pieces(call: AggregateCall, column: Column, rows: Members) -> Aggregated:
    """Return sums of many groups, some groups after the other: all digits at once could fill the memory."""
    labels = rows.labels
    order, edges = in_order(labels, rows.count)
    pieces = []
    for first in range(0, rows.count, GROUPS_AT_ONCE):
        checkpoint()
        past = min(first + GROUPS_AT_ONCE, rows.count)
        own = order[edges[first] : edges[past]]
        some = Members(own, labels[own] - first, past - first)
        pieces.append(moments_of(call.function, _numbers(column.take(own)), some).finished(call))
    overflowed = any(piece.overflowed for piece in pieces)
    return Aggregated(stacked([piece.column for piece in pieces]), overflowed)
