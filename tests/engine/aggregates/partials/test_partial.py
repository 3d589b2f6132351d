"""Partials: whatever rows are cut into, and in whatever order they are merged, the bits are those of the whole."""

import pickle
from sys import getsizeof

import numpy as np
import pytest

from psoup.engine.aggregates import grouping as grouping_module
from psoup.engine.aggregates.grouping import Grouping, RowsToAggregate
from psoup.engine.aggregates.partials.partial import (
    PartialRun,
    finished,
    merged,
    partial_of,
    run_of,
)
from psoup.engine.query.values.expression import (
    AggregateCall,
    AggregateFunction as Function,
    ColumnRef,
    Compare,
    CompareOp,
    Constant,
)
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType as Type
from tests.engine.aggregates.reference import bits, call_of, functions_of
from tests.engine.columns import chunk_values, column_of

COUNT = 240
KEYS = {"key": ColumnRef(0, "key", Type.STRING), "number": ColumnRef(0, "number", Type.INT64)}


def grouping_of(kind, *keys):
    """Return every aggregate of a type, some of DISTINCT values, one of them with a FILTER."""
    calls = [
        call_of(Function.COUNT, None),
        *(call_of(function, kind) for function in functions_of(kind)),
    ]
    passes = Compare(CompareOp.GE, ColumnRef(0, "number", Type.INT64), Constant(2, Type.INT64))
    last = calls[-1]
    calls.append(AggregateCall(last.function, last.arguments, False, passes, last.type))
    calls += [
        call_of(function, kind, distinct=True)
        for function in (Function.COUNT, Function.SUM, Function.AVG)
        if function is Function.COUNT or function in functions_of(kind)
    ]
    return Grouping([KEYS[key] for key in keys], calls)


def drawn(kind, seed):
    """Return the columns of COUNT rows, their times and tuple ids."""
    rng = np.random.default_rng(seed)
    columns = {
        name: chunk_values(kind, seed=seed + place, count=COUNT) for place, name in enumerate("xy")
    }
    if kind is Type.FLOAT64 and seed % 2:
        columns["x"] = rng.normal(size=COUNT).tolist()
    columns["key"] = chunk_values(Type.STRING, seed=seed + 2, count=COUNT, among=["b", "a", "cc"])
    columns["number"] = chunk_values(Type.INT64, seed=seed + 3, count=COUNT, among=range(4))
    kinds = {"x": kind, "y": kind, "key": Type.STRING, "number": Type.INT64}
    return kinds, columns, rng.integers(0, 9, COUNT), rng.permutation(COUNT)


def rows_of(world, places):
    """Return some rows, each column with a dictionary of its own."""
    kinds, columns, times, ids = world
    made = {
        name: column_of(kinds[name], [values[place] for place in places])
        for name, values in columns.items()
    }
    return RowsToAggregate(lambda ref: made[ref.name], len(places), times[places], ids[places])


def shown(groups):
    """Return groups so that they are equal iff their bits are."""
    keys = [key.to_list() for key in groups.keys]
    return (
        groups.count,
        keys,
        [(bits(one.column.to_list()), one.overflowed) for one in groups.results],
    )


@pytest.mark.parametrize("kind", list(Type))
@pytest.mark.parametrize("keys", [(), ("key",), ("key", "number")], ids=str)
def test_merged_differential_is_the_whole_however_rows_are_cut(kind, keys):
    """Pieces of any size, some of nothing, merged at once, one by one, and in any order."""
    grouping = grouping_of(kind, *keys)
    for seed in range(4):
        world = drawn(kind, seed * 7)
        rng = np.random.default_rng(seed)
        order = rng.permutation(COUNT) if seed else np.arange(COUNT)
        expected = shown(grouping.aggregated(rows_of(world, np.arange(COUNT))))
        cuts = np.sort(rng.integers(0, COUNT + 1, 6))
        parts = [partial_of(grouping, rows_of(world, some)) for some in np.split(order, cuts)]
        assert expected == shown(finished(grouping, merged(parts)))
        growing = parts[3]
        for part in (*parts[:3], *parts[4:]):
            growing = merged([part, growing])
        assert expected == shown(finished(grouping, growing))


@pytest.mark.parametrize("keys", [(), ("number",)], ids=str)
def test_runs_differential_are_the_partials_of_their_units(keys):
    """All units in one pass; runs that follow each other, without the first, and of four units together."""
    grouping = grouping_of(Type.FLOAT64, *keys)
    world = drawn(Type.FLOAT64, 1)
    units = np.sort(np.random.default_rng(3).integers(5, 17, COUNT))
    units[units == 9] = 10

    def run(first: int, past: int) -> PartialRun:
        some = np.flatnonzero((units >= first) & (units < past))
        edges = np.searchsorted(units[some], np.arange(first, past + 1))
        made = run_of(grouping, rows_of(world, some), edges, first, groups_max=COUNT)
        assert made is not None
        return made

    def expect(first: int, past: int):
        some = np.flatnonzero((units >= first) & (units < past))
        return shown(grouping.aggregated(rows_of(world, some)))

    def found(some: PartialRun, first: int, past: int):
        nothing = partial_of(grouping, rows_of(world, np.arange(0)))
        return shown(finished(grouping, merged([nothing, some.part(first, past)])))

    whole = run(5, 17)
    grown = run(5, 8).followed(run(8, 17))
    for some in (whole, grown):
        for first, past in ((5, 17), (6, 9), (9, 10), (7, 7), (16, 17)):
            assert expect(first, past) == found(some, first, past)
    assert expect(10, 12) == found(grown.since(8), 10, 12)
    coarse = whole.coarser(4)
    assert (2, 4) == (coarse.first, coarse.past)
    assert expect(8, 16) == found(coarse, 2, 4)
    assert expect(12, 16) == found(coarse, 3, 4)
    none = run(5, 7).coarser(4)
    assert none.first == none.past


def test_states_that_several_calls_share_are_kept_once():
    """SUM and AVG of one column have one sum, the variances one pair of moments; another FILTER has its own."""
    calls = [
        call_of(function, Type.FLOAT64)
        for function in (Function.AVG, Function.SUM, Function.VAR_SAMP, Function.STDDEV_POP)
    ]
    filtered = AggregateCall(
        Function.SUM, calls[0].arguments, False, Constant(True, Type.BOOL), Type.FLOAT64
    )
    grouping = Grouping([], [*calls, filtered])
    assert (0, 0, 1, 1, 2) == grouping.places
    assert 3 == len(grouping.states)


@pytest.mark.parametrize(
    ("function", "distinct", "expected"),
    [
        (Function.MEDIAN, False, False),
        (Function.QUANTILE_CONT, False, False),
        (Function.COUNT, True, False),
        (Function.SUM, True, False),
        (Function.MIN, True, True),
        (Function.SUM, False, True),
    ],
)
def test_partials_of_calls_that_need_every_value_are_not_kept(function, distinct, expected):
    """Quantiles and distinct values are computed anew; the least of distinct values is the least of all."""
    grouping = Grouping([], [call_of(function, Type.FLOAT64, distinct=distinct)])
    assert expected is grouping.mergeable


def test_partials_of_nothing_but_null_texts_are_merged_with_others():
    """A key, and an extreme, that is NULL in all rows of a chunk has no text there; others follow it."""
    key = KEYS["key"]
    grouping = Grouping([key], [call_of(Function.MAX, Type.STRING)])
    null, text = (column_of(Type.STRING, [value] * 2) for value in (None, "b"))
    times = np.arange(2)

    def part(own: Column):
        return partial_of(grouping, RowsToAggregate(lambda _: own, 2, times, times))

    parts = [part(null), part(text)]
    found = finished(grouping, merged(parts))
    assert [["b", None]] == [key.to_list() for key in found.keys]
    assert ["b", None] == found.results[0].column.to_list()


def test_partials_of_sums_that_lie_far_apart_are_merged_in_digits_for_both():
    """A layout that others have is taken where it reaches; where values lie lower, or higher, it is made wider."""
    grouping = Grouping(
        [], [call_of(Function.SUM, Type.FLOAT64), call_of(Function.MAX, Type.FLOAT64)]
    )
    times, values = np.arange(8), ([1.5, 2.5], [1.25, -3.0], [1e-200, 1e190], [-1e250, 1.0])

    def rows_with(some):
        own = column_of(Type.FLOAT64, some)
        return RowsToAggregate(lambda _: own, len(some), times[: len(some)], times)

    parts = [partial_of(grouping, rows_with(values[0]))]
    layout = parts[0].tallies.layout
    assert layout is partial_of(grouping, rows_with(values[1]), like=layout).tallies.layout
    for some in values[1:]:
        like = parts[-1].tallies.layout
        parts.append(partial_of(grouping, rows_with(some), like=like))
        assert parts[-1].tallies.layout.formats[0].width >= like.formats[0].width
    every = rows_with([value for some in values for value in some])
    expected = shown(grouping.aggregated(every))
    assert expected == shown(finished(grouping, merged(parts)))
    assert expected == shown(finished(grouping, merged(parts[::-1])))
    assert layout is pickle.loads(pickle.dumps(parts[0])).tallies.layout


@pytest.mark.parametrize("keys", [(), ("key",), ("key", "number")], ids=str)
def test_least_times_of_rows_in_order_are_those_of_the_first_rows(keys, monkeypatch):
    """Where times ascend no other row is looked at; FILTER, and rows of several units, change nothing."""
    monkeypatch.setattr(grouping_module, "_ROWS_FEW", COUNT // 2)
    when = ColumnRef(0, "when", Type.TIMESTAMP)
    passes = Compare(CompareOp.GE, ColumnRef(0, "number", Type.INT64), Constant(2, Type.INT64))
    calls = [
        AggregateCall(function, (when,), False, some, Type.TIMESTAMP)
        for function in (Function.MIN, Function.MAX)
        for some in (None, passes)
    ]
    grouping = Grouping([KEYS[key] for key in keys], calls)
    plain = rows_of(drawn(Type.INT64, 1), np.arange(COUNT))
    times = np.sort(plain.times)

    def columns(ref):
        return Column(Type.TIMESTAMP, times) if ref == when else plain.columns(ref)

    edges = np.array([0, 100, COUNT])
    expected, found = [
        run_of(
            grouping,
            RowsToAggregate(columns, COUNT, times, plain.tuple_ids, ascending),
            edges,
            0,
            groups_max=COUNT,
        )
        for ascending in (False, True)
    ]
    assert expected is not None
    assert found is not None
    words = expected.partial.tallies.rows
    assert words.tolist() == found.partial.tallies.rows.tolist()
    assert words[:, 0].sum() == COUNT


def test_nbytes_of_a_partial_counts_its_arrays():
    """Eight bytes for each count, digits of each sum, and texts."""
    grouping = Grouping(
        [KEYS["key"]], [call_of(Function.COUNT, None), call_of(Function.SUM, Type.INT64)]
    )
    part = partial_of(grouping, rows_of(drawn(Type.INT64, 1), np.arange(COUNT)))
    # Keys: codes, which are NULL, and texts; a count, and a count with four digits.
    assert 4 == part.count
    texts = part.keys[0].dictionary
    assert texts is not None
    assert 4 * (4 + 1 + 8 + 8 + 4 * 8) + sum(8 + getsizeof(text) for text in texts) == part.nbytes
