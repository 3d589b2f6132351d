"""MEDIAN and QUANTILE_CONT: the value at a place in the order of a group's values, or between two of them."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.groups import Members, in_order
from psoup.engine.aggregates.ordinals import Ordinals, column_of, ordinals
from psoup.engine.aggregates.state import Aggregated
from psoup.engine.checkpoint import checkpoint
from psoup.engine.kernels.grouping import sort_runs
from psoup.engine.query.values.expression import AggregateCall, AggregateFunction, Constant
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

QUANTILES: Final = frozenset({AggregateFunction.MEDIAN, AggregateFunction.QUANTILE_CONT})
_SHORT_RUN_MAX: Final = 1_024
"""Rows of a group that a kernel sorts. More are sorted by NumPy, whose sorting takes few steps of any values."""


def quantiles(column: Column, share: float, members: Members, kind: ColumnType) -> Aggregated:
    """Return the quantile of each group's values; NULL where it has none.

    With n values in order, `share * (n - 1)` is a place among them, counted from 0. Between two places of numbers the
    result is interpolated: `low * (1 - d) + high * d`, never outside of both; of timestamps to the nearest microsecond,
    half away from 1970. Of booleans and strings it is the value at the place `ceil(share * n) - 1`.

    Args:
        column: (m,) the values of the members; none is NULL.
        share: in [0, 1].
        members: the rows they belong to.
        kind: the type of the results.

    Cost: O(m log m): 10 to 60 ns a value.
    """
    known = ordinals(Column(column.type, column.values, None, column.dictionary))
    if members.edges is None:
        rows, edges = in_order(members.labels, members.count)
        keys = known.keys[rows]
    else:
        keys, edges = known.keys.copy(), members.edges
    _sort(keys, edges)
    if not len(keys):
        keys = np.zeros(1, dtype=np.int64)
    begins = np.minimum(edges[:-1], len(keys) - 1)
    return _at(
        lambda places: keys[begins + places],
        np.diff(edges),
        share,
        known=Ordinals(keys, known.texts),
        given=column.type,
        kind=kind,
    )


def quantiles_of_counted(
    column: Column, counts: Integers, edges: Integers, share: float, kind: ColumnType
) -> Aggregated:
    """Return the same of values that occur several times.

    Args:
        column: (m,) the values of each group, ascending, one group after the other; none is NULL.
        counts: (m,) how often each occurs, at least once.
        edges: (g + 1,) where the values of each group begin, and the last ones end.
        share: in [0, 1].
        kind: the type of the results.

    Cost: O(m), and a search for each group.
    """
    known = ordinals(Column(column.type, column.values, None, column.dictionary))
    keys = known.keys if len(known.keys) else np.zeros(1, dtype=np.int64)
    ends = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    begins = ends[edges[:-1]]

    def look_up(places: Integers) -> Integers:
        found = np.searchsorted(ends[1:], begins + places, side="right")
        at: Integers = keys[np.minimum(found, len(keys) - 1)]
        return at

    lengths = ends[edges[1:]] - begins
    return _at(
        look_up,
        lengths,
        share,
        known=Ordinals(keys, known.texts),
        given=column.type,
        kind=kind,
    )


def share_of(call: AggregateCall) -> float:
    """Return which quantile is asked for."""
    if call.function is AggregateFunction.MEDIAN:
        return 0.5
    share = call.arguments[1]
    assert isinstance(share, Constant), "the binder takes constant shares"
    assert isinstance(share.value, int | float), "that are numbers"
    return float(share.value)


def _at(
    look_up: Callable[[Integers], Integers],
    lengths: Integers,
    share: float,
    *,
    known: Ordinals,
    given: ColumnType,
    kind: ColumnType,
) -> Aggregated:
    """Return the quantile of groups of so many values; `look_up` returns the keys at a place of each group."""
    held = lengths > 0
    places = share * np.maximum(lengths - 1, 0)
    floor = np.floor(places)
    distance = places - floor
    if kind in (ColumnType.BOOL, ColumnType.STRING):
        floor = np.maximum(np.ceil(share * lengths) - 1, 0)
    low = look_up(floor.astype(np.int64))
    high = look_up(np.where(held, np.ceil(places), 0).astype(np.int64))
    valid = None if held.all() else held
    if kind is ColumnType.TIMESTAMP:
        return Aggregated(
            Column(kind, np.where(held, _between_instants(low, high, distance), 0), valid)
        )
    if kind is not ColumnType.FLOAT64:
        return Aggregated(column_of(kind, np.where(held, low, 0), known.texts, valid))
    lows, highs = (_numbers(given, one) for one in (low, high))
    found = np.clip(lows * (1.0 - distance) + highs * distance, lows, highs) + 0.0
    return Aggregated(Column(kind, np.where(held, found, 0.0), valid))


def _sort(keys: Integers, edges: Integers) -> None:
    """Sort the keys of each group."""
    sort_runs(keys, edges, _SHORT_RUN_MAX)
    for group in np.flatnonzero(np.diff(edges) > _SHORT_RUN_MAX).tolist():
        checkpoint()
        keys[edges[group] : edges[group + 1]].sort()


def _numbers(kind: ColumnType, keys: Integers) -> Floats:
    """Return the values of keys of whole numbers or floats as float64."""
    if kind is ColumnType.FLOAT64:
        return column_of(kind, keys, None, None).values
    return keys.astype(np.float64)


def _between_instants(low: Integers, high: Integers, distance: Floats) -> Integers:
    """Return the instants at a distance in [0, 1) from `low` to `high`, rounded half away from 1970."""
    past = (high - low) * distance
    whole = np.floor(past)
    found = low + whole.astype(np.int64)
    rest = past - whole
    up = (rest > 0.5) | ((rest == 0.5) & (found >= 0))
    nearest: Integers = found + up
    return nearest
