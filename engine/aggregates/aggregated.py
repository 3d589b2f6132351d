"""One aggregate of rows in groups: which of the rooms computes it, and of which rows."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.extremes import LARGEST, LEAST, extremes_of
from psoup.engine.aggregates.groups import Groups, Members, grouped, in_order, members
from psoup.engine.aggregates.moments import COUNTED, SPREAD, SUMMED, moments_of
from psoup.engine.aggregates.occurrences import numbers_of, occurrences_of
from psoup.engine.aggregates.picks import BACKWARDS, BY_TIME, BY_VALUE, picks_of
from psoup.engine.aggregates.quantiles import QUANTILES, quantiles, share_of
from psoup.engine.aggregates.state import Aggregated, State
from psoup.engine.checkpoint import checkpoint
from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.joined_columns import stacked
from psoup.engine.tuples.schema import ColumnType

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_ONCE: Final = COUNTED | SUMMED | SPREAD | QUANTILES
"""Functions whose results depend on how often a value occurs."""
GROUPS_AT_ONCE: Final = 65_536
"""Whose sums are kept: 35 MB where exponents are as far apart as they can be, for variances five times that."""


def has_small_states(call: AggregateCall) -> bool:
    """Return whether states of the call take no more room than groups: all but DISTINCT values and quantiles."""
    return call.function not in QUANTILES and not (call.distinct and call.function in _ONCE)


def can_be_weighted(call: AggregateCall) -> bool:
    """Return whether the call can be computed of rows that count several times.

    Not of the values of one row, which is chosen by more than its own values, and no variance.
    """
    if call.function in SPREAD:
        return call.distinct
    return call.function not in BY_TIME | BY_VALUE


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
    arguments, rows = values_read(call, arguments, passes, groups)
    if call.function in QUANTILES:
        return quantiles(arguments[0], share_of(call), rows, call.type)
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
    weights: Integers | None = None,
) -> State:
    """Return the states from which the results of `aggregated` can be taken. Arguments and cost as there.

    Where a result depends on each value, they hold each value of a group. `weights` (n,) say how often each row counts,
    once at least, of a call that `can_be_weighted`; None = once.
    """
    arguments, rows = values_read(call, arguments, passes, groups)
    if weights is not None:
        weights = None if call.distinct else rows.of(weights)
    if not has_small_states(call):
        return occurrences_of(arguments[0], rows, weights)
    return _state(call, arguments, rows, times, tuple_ids, weights=weights)


def values_read(
    call: AggregateCall, arguments: Sequence[Column], passes: Flags | None, groups: Groups
) -> tuple[Sequence[Column], Members]:
    """Return the values that the call reads, and their rows; for DISTINCT each value of a group once.

    Arguments as in `aggregated`.
    """
    columns = arguments[:1] if call.function in QUANTILES else arguments
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
    *,
    weights: Integers | None = None,
) -> State:
    """Return the states of the values of some rows; times and tuple ids are those of all rows."""
    function = call.function
    if function in LEAST | LARGEST:
        return extremes_of(columns[0], rows, least=function in LEAST)
    if function in BY_TIME | BY_VALUE:
        when = np.vstack((rows.of(times), rows.of(tuple_ids)))
        by = columns[1] if function in BY_VALUE else None
        return picks_of(columns[0], by, when, rows, backwards=function in BACKWARDS)
    return moments_of(function, numbers_of(columns[0]) if columns else None, rows, weights)


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
        pieces.append(moments_of(call.function, numbers_of(column.take(own)), some).finished(call))
    overflowed = any(piece.overflowed for piece in pieces)
    return Aggregated(stacked([piece.column for piece in pieces]), overflowed)
