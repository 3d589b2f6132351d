"""Every aggregate of every type, beside fractions: drawn columns, extremes, empty groups, any order of rows."""

import math
import statistics
from typing import Any

import numpy as np
import pytest

from psoup.engine.aggregates.aggregated import GROUPS_AT_ONCE, aggregated
from psoup.engine.aggregates.groups import Groups, Members, grouped
from psoup.engine.query.values.expression import AggregateFunction as Function
from psoup.engine.tuples.schema import ColumnType as Type
from tests.engine.aggregates.reference import (
    aggregate,
    bits,
    call_of,
    functions_of,
    shuffled,
)
from tests.engine.columns import FLOAT_MAX, chunk_values, column_of

CALLS = [
    (kind, function, distinct)
    for kind in Type
    for function in functions_of(kind)
    for distinct in (False, True)
    if not distinct or function in (Function.COUNT, Function.SUM, Function.AVG, Function.MEDIAN)
]
WIDE = [
    [1e16, 1.0, -1e16],
    [FLOAT_MAX, FLOAT_MAX, -FLOAT_MAX],
    [FLOAT_MAX, -FLOAT_MAX, 5e-324],
    [FLOAT_MAX, 2.0**969],
    [FLOAT_MAX, 2.0**970],
    [5e-324, 5e-324, -1e-320, 2.2250738585072014e-308],
    [-0.0, -0.0],
    [-5e-324, 0.0, 0.0],
    [0.1] * 10,
    [2.0**53, 1.0, 1e-30],
    [1e-300, 1e300, -1e300, 1e-310],
    [2.0**1023, 2.0**1023, -(2.0**1023), 3.0],
]


def drawn(kind, seed, count=60, groups=4):
    """Return keys, values to aggregate, values to choose by, times, tuple ids, and which rows pass."""
    rng = np.random.default_rng(seed)
    among = None
    if kind is Type.TIMESTAMP:
        among = [0, 1, 2, -1, -2, 10**15, 10**15 + 1, -(10**15)]
    xs = chunk_values(kind, seed=seed, count=count, among=among)
    if kind is Type.FLOAT64 and seed % 3 == 0:
        xs = [
            None if x is None else float(y) for x, y in zip(xs, rng.normal(size=count), strict=True)
        ]
    keys = chunk_values(Type.INT64, seed=seed + 1, count=count, among=range(groups))
    ys = chunk_values(kind, seed=seed + 2, count=count, among=among)
    times = rng.integers(-2, 3, count)
    return keys, xs, ys, times, rng.permutation(count) + 1, rng.random(count) < 0.7


def compute(call, kind, world, places, *, filtered, ungrouped=False):
    """Return the results for the rows of a world in an order."""
    keys, xs, ys, times, ids, passes = world
    columns = [column_of(kind, [values[place] for place in places]) for values in (xs, ys)]
    own = [] if ungrouped else [column_of(Type.INT64, [keys[place] for place in places])]
    groups = grouped(own, len(places))
    return aggregated(
        call,
        columns[: len(call.arguments)],
        passes[places] if filtered else None,
        groups=groups,
        times=times[places],
        tuple_ids=ids[places],
    )


@pytest.mark.parametrize(("kind", "function", "distinct"), CALLS)
def test_aggregated_differential_is_that_of_fractions_in_any_order(kind, function, distinct):
    """Values with NULLs and extremes, with and without FILTER, grouped and as one group: equal bits."""
    for seed in range(6):
        world = drawn(kind, seed)
        call = call_of(function, kind, distinct=distinct, share=seed / 5)
        filtered, ungrouped = bool(seed % 2), seed % 3 == 2
        keys, xs, ys, times, ids, passes = world
        rows: dict[Any, list[Any]] = {None: []} if ungrouped else {}
        for place, key in enumerate(keys):
            own = rows.setdefault(None if ungrouped else key, [])
            if passes[place] or not filtered:
                own.append((xs[place], ys[place], int(times[place]), int(ids[place])))
        order = sorted(rows, key=lambda key: (key is None, key))
        expected = [aggregate(call, rows[key]) for key in order]
        for turn in range(3):
            places = np.arange(len(keys)) if not turn else shuffled(len(keys), turn)
            found = compute(call, kind, world, places, filtered=filtered, ungrouped=ungrouped)
            assert bits([value for value, _ in expected]) == bits(found.column.to_list())
            assert any(overflowed for _, overflowed in expected) == found.overflowed
            assert call.type is found.column.type


@pytest.mark.parametrize(("kind", "function", "distinct"), CALLS)
def test_aggregated_of_no_rows_is_null_and_counts_zero(kind, function, distinct):
    """One group of nothing has a row of NULL; no group has none."""
    call = call_of(function, kind, distinct=distinct)
    none = np.empty(0, dtype=np.int64)
    columns = [column_of(kind, [])] * len(call.arguments)
    for keys, rows in (([], 1), ([column_of(Type.STRING, [])], 0)):
        groups = grouped(keys, 0)
        found = aggregated(call, columns, None, groups=groups, times=none, tuple_ids=none)
        expected = 0 if function is Function.COUNT else None
        assert [expected] * rows == found.column.to_list()
        assert not found.overflowed


@pytest.mark.parametrize("function", functions_of(Type.INT64))
def test_aggregated_of_values_that_are_all_null_is_null(function):
    """Rows without a value are as no rows, but for COUNT(*) and for FIRST and LAST, which give the NULL."""
    call = call_of(function, Type.INT64)
    columns = [column_of(Type.INT64, [None, None])] * len(call.arguments)
    two = np.arange(2)
    found = aggregated(call, columns, None, groups=grouped([], 2), times=two, tuple_ids=two)
    assert [0 if function is Function.COUNT else None] == found.column.to_list()


def test_count_of_all_counts_rows_that_pass():
    """COUNT(*) has no argument; groups without such rows have 0."""
    groups = grouped([column_of(Type.STRING, ["b", "a", "b", None])], 4)
    passes = np.array([True, False, True, True])
    ids = np.arange(4)
    call = call_of(Function.COUNT, None)
    found = aggregated(call, [], passes, groups=groups, times=ids, tuple_ids=ids)
    assert [0, 2, 1] == found.column.to_list()


@pytest.mark.parametrize("values", WIDE, ids=str)
@pytest.mark.parametrize("function", [Function.SUM, Function.AVG, Function.VAR_SAMP])
def test_sums_of_cancelling_extremes_are_exact(values, function):
    """What fsum gives where it gives something; NULL and a warning past the largest float64."""
    call = call_of(function, Type.FLOAT64)
    ids = np.arange(len(values))
    expected = aggregate(call, [(value, None, 0, 0) for value in values])
    if function is Function.SUM and expected[0] is not None and max(map(abs, values)) < 1e307:
        assert expected[0] == math.fsum(values)
    for turn in range(3):
        column = column_of(Type.FLOAT64, values).take(shuffled(len(values), turn))
        found = aggregated(
            call, [column], None, groups=grouped([], len(values)), times=ids, tuple_ids=ids
        )
        assert bits([expected[0]]) == bits(found.column.to_list())
        assert expected[1] == found.overflowed


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e200, 1e-290])
@pytest.mark.parametrize("groups", [1, 7, 5_000])
def test_sums_of_many_rows_are_those_of_fsum(groups, scale):
    """Folds of close exponents, grouped or not, in any order: the bits of fsum, and of statistics."""
    rng = np.random.default_rng(groups)
    values = rng.normal(size=20_000) * scale
    keys = rng.integers(0, groups, len(values))
    columns = [column_of(Type.FLOAT64, values.tolist())]
    ids = np.arange(len(values))
    rows = grouped([column_of(Type.INT64, keys.tolist())], len(values))
    for function, exact in (
        (Function.SUM, math.fsum),
        (Function.VAR_POP, statistics.pvariance),
    ):
        if function is Function.VAR_POP and (groups > 7 or scale == 1e200):
            continue
        call = call_of(function, Type.FLOAT64)
        found = aggregated(call, columns, None, groups=rows, times=ids, tuple_ids=ids)
        expected = [exact(values[keys == key].tolist()) for key in np.unique(keys)]
        assert bits(expected) == bits(found.column.to_list())


@pytest.mark.parametrize("function", [Function.SUM, Function.COUNT, Function.MIN, Function.FIRST])
def test_a_hundred_thousand_groups_are_those_of_as_many_rows(function):
    """More groups than sums are kept of at once, in an order that is not theirs."""
    count = GROUPS_AT_ONCE + 40_000
    keys = shuffled(count, 1)
    column = column_of(Type.FLOAT64, (keys * 0.1).tolist())
    groups = grouped([column_of(Type.INT64, keys.tolist())], count)
    ids = np.arange(count)
    call = call_of(function, Type.FLOAT64)
    found = aggregated(call, [column], None, groups=groups, times=ids, tuple_ids=ids)
    expected = np.ones(count) if function is Function.COUNT else np.arange(count) * 0.1
    assert np.array_equal(expected, found.column.values)


def test_ids_of_several_sources_break_ties_one_after_the_other():
    """A row of a join is known by a tuple id of each source, in FROM order."""
    ids = np.array([[5, 5, 4], [2, 1, 9]])
    column = column_of(Type.STRING, ["late", "middle", "early"])
    times = np.zeros(3, dtype=np.int64)
    for function, expected in ((Function.FIRST, "early"), (Function.LAST, "late")):
        call = call_of(function, Type.STRING)
        found = aggregated(call, [column], None, groups=grouped([], 3), times=times, tuple_ids=ids)
        assert [expected] == found.column.to_list()


def test_sum_of_whole_numbers_past_int64_on_the_way_is_exact():
    """What leaves int64 and comes back is whole; what stays outside is NULL, and the answer says so."""
    call = call_of(Function.SUM, Type.INT64)
    most, least = 2**63 - 1, -(2**63)
    for values, expected in (
        ([most, most, least, least], -2),
        ([most, 1], None),
        ([least, -1], None),
        ([least], least),
        ([most], most),
        ([most] * 9 + [least] * 9, -9),
    ):
        column, ids = column_of(Type.INT64, values), np.arange(len(values))
        found = aggregated(
            call, [column], None, groups=grouped([], len(values)), times=ids, tuple_ids=ids
        )
        assert ([expected], expected is None) == (found.column.to_list(), found.overflowed)


def test_groups_whose_rows_follow_each_other_are_aggregated_alike():
    """Runs of rows are read run by run: with and without their edges the bits are the same."""
    world = drawn(Type.FLOAT64, 3, count=300, groups=5)
    order = np.argsort([9 if key is None else key for key in world[0]], kind="stable")
    for function in functions_of(Type.FLOAT64):
        call = call_of(function, Type.FLOAT64)
        columns = [
            column_of(Type.FLOAT64, [values[place] for place in order]) for values in world[1:3]
        ]
        groups = grouped([column_of(Type.INT64, [world[0][place] for place in order])], len(order))
        assert groups.members.edges is not None
        for passes in (None, world[5]):
            found = [
                aggregated(
                    call,
                    columns[: len(call.arguments)],
                    passes,
                    groups=rows,
                    times=world[3],
                    tuple_ids=world[4],
                )
                for rows in (
                    groups,
                    Groups(groups.keys, Members(None, groups.labels, groups.count)),
                )
            ]
            assert bits(found[0].column.to_list()) == bits(found[1].column.to_list())
