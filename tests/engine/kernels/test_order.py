"""Values in order and bitmaps of the smallest rows, against counting one by one."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from psoup.engine.kernels import order
from tests.engine.kernels import twins
from tests.engine.kernels.twins import integers

INT_EDGES = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1]
FLOAT_EDGES = [-np.inf, -1.7976931348623157e308, -1.0, -0.0, 0.0, 5e-324, 1.0, 1e308, np.inf]
COUNTS = [0, 1, 63, 64, 65, 4_095, 4_096]


@given(
    st.lists(st.floats(allow_nan=False) | st.sampled_from(FLOAT_EDGES), max_size=20),
)
def test_sortable_of_any_floats_differential_is_ordered_as_they_are(values):
    """Each pair compares as its whole numbers do: subnormal, infinite, both zeros."""
    keys = order.sortable(np.array(values, dtype=np.float64))
    assert np.int64 == keys.dtype
    assert len(values) == len(keys)
    for one, key in zip(values, keys.tolist(), strict=True):
        for other, other_key in zip(values, keys.tolist(), strict=True):
            assert (one < other, one == other) == (key < other_key, key == other_key)


def test_sortable_of_the_edges_ascends_and_has_one_zero():
    """What ascends still does; -0.0 and 0.0 are one number; what was given is as it was."""
    edges = np.array(FLOAT_EDGES)
    keys = order.sortable(edges).tolist()
    assert sorted(keys) == keys
    assert len(FLOAT_EDGES) - 1 == len(set(keys))
    assert np.signbit(edges[3]), "-0.0 is still there"


@settings(max_examples=20)
@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(INT_EDGES) | st.integers(-3, 3), unique=True, max_size=9),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_rank_among_any_edges_differential_is_counted(seed, edges, nulls):
    """A row's cell grows by the edges not above its value, and an edge counts the rows below; NULL has neither."""
    rng = np.random.default_rng(seed)
    values = rng.choice(integers([*INT_EDGES, *range(-4, 5)]), 4_096)
    null_rows = set(np.flatnonzero(rng.random(4_096) < nulls).tolist())
    told = [value for row, value in enumerate(values.tolist()) if row not in null_rows]
    below = [*twins.places_below(told, sorted(edges)), len(told)]
    cells = [
        7 if row in null_rows else 7 + sum(edge <= value for edge in edges)
        for row, value in enumerate(values.tolist())
    ]
    for mode in twins.modes(order):
        found, counts = np.full(4_096, 7, dtype=np.int32), np.full(len(edges) + 1, -7, np.int32)
        words = twins.words_from(null_rows, 64)
        order.rank(values, words, integers(sorted(edges)), found, counts)
        assert cells == found.tolist(), mode
        assert below == counts.tolist(), mode


@given(
    st.sampled_from(COUNTS),
    st.integers(0, 2**32),
    st.lists(st.lists(st.integers(0, 4_096), max_size=8), max_size=3),
    st.integers(0, 3),
)
def test_prefixes_of_any_places_differential_are_the_first_rows(count, seed, asked, first):
    """Each place that anybody asks for has the bitmap of so many rows in order; each bitmap is there once."""
    ranked = np.random.default_rng(seed).permutation(4_096)[:count].astype(np.int32)
    places = [np.array([min(p, count) for p in some], dtype=np.int32) for some in asked]
    distinct = sorted({place for some in places for place in some.tolist()})
    for mode in twins.modes(order):
        numbers = np.zeros(count + 1, dtype=np.int32)
        for some in places:
            order.mark(some, numbers)
        assert len(distinct) == order.number(numbers), mode
        told = {place: n for place, n in enumerate(numbers.tolist()) if n}
        assert {place: n for n, place in enumerate(distinct, 1)} == told, mode
        bitmaps = np.full((len(distinct) + 1, 64), 7, dtype=np.uint64)
        order.prefixes(ranked, numbers, bitmaps)
        assert [7] * 64 == bitmaps[-1].tolist(), "what nobody asked for is not written"
        for some in places:
            rows = np.empty(len(some), dtype=np.int32)
            order.rows_of(some, numbers, first, rows)
            for place, row in zip(some.tolist(), rows.tolist(), strict=True):
                expected = set(ranked[:place].tolist())
                assert expected == twins.bits_of(bitmaps[row - first]), mode


@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(INT_EDGES), max_size=4),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.booleans(),
)
def test_compare_with_any_bounds_differential_finds_the_rows_below(seed, bounds, nulls, up_to):
    """Below, and below or equal, in any order of bounds; NULL is below nothing whatever its value."""
    rng = np.random.default_rng(seed)
    values = rng.choice(integers(INT_EDGES), 4_096)
    null_rows = set(np.flatnonzero(rng.random(4_096) < nulls).tolist())
    of_value = {value: set(np.flatnonzero(values == value).tolist()) for value in INT_EDGES}
    expected = []
    for bound in bounds:
        below = [value for value in INT_EDGES if value < bound or (up_to and value == bound)]
        expected.append(set().union(*(of_value[value] for value in below)) - null_rows)
    for mode in twins.modes(order):
        bitmaps = np.full((len(bounds) + 1, 64), 7, dtype=np.uint64)
        places = np.full(len(bounds) + 1, -7, dtype=np.int32)
        words = twins.words_from(null_rows, 64)
        order.compare(values, words, integers(bounds), bitmaps, places, up_to=up_to)
        assert expected == [twins.bits_of(row) for row in bitmaps[:-1]], mode
        assert [*(len(rows) for rows in expected), -7] == places.tolist(), mode
        assert [7] * 64 == bitmaps[-1].tolist(), "bitmaps of nobody's bounds stay as they were"


@given(st.lists(st.integers(-3, 3) | st.sampled_from([*INT_EDGES, 2**62, -(2**62)]), max_size=40))
def test_sorted_places_of_any_keys_oracle_is_stable(keys):
    """However far keys lie apart, whether key and place fit one number or not, equal ones stay as they came."""
    for mode in twins.modes(order):
        found = order.sorted_places(np.array(keys, dtype=np.int64)).tolist()
        assert sorted(range(len(keys)), key=keys.__getitem__) == found, mode


@pytest.mark.parametrize("span", [2, 2**11, 2**11 + 1, 2**22, 2**40, 2**60])
def test_sorted_places_of_many_keys_oracle_is_stable(span):
    """Keys of one digit and of several, many of them equal, the smallest below zero."""
    keys = np.random.default_rng(5).integers(0, 700, 1_000) * (span // 700 or 1) % span - span // 2
    found = order.sorted_places(keys)
    assert np.argsort(keys, kind="stable").tolist() == found.tolist()
