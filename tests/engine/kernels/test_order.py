"""Values in order and bitmaps of the smallest rows, against counting one by one."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.kernels import order
from tests.engine.kernels import twins

INT_EDGES = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1]
FLOAT_EDGES = [-np.inf, -1.7976931348623157e308, -1.0, -0.0, 0.0, 5e-324, 1.0, 1e308, np.inf]
COUNTS = [0, 1, 63, 64, 65, 4_095, 4_096]
SPANS = {
    "counted": order.COUNTED_SPAN_MAX,
    "by radix": order.RADIX_SPAN_MAX,
    "by radix, just": order.COUNTED_SPAN_MAX + 1,
    "compared": order.RADIX_SPAN_MAX + 1,
    "of everything": 2**64 - 1,
    "of one": 0,
}


@st.composite
def values_drawn(draw, *, max_size=40):
    """Draw whole numbers of a span that is put in order in one way or the other, anywhere."""
    span = SPANS[draw(st.sampled_from(sorted(SPANS)))]
    least = draw(st.sampled_from([-(2**63), -7, 0, 2**63 - 1 - span, 2**40]))
    least = max(-(2**63), min(least, 2**63 - 1 - span))
    inside = st.integers(0, span) | st.sampled_from([0, span])
    drawn = draw(st.lists(inside, max_size=max_size))
    return [least + value for value in drawn]


def integers(values):
    return np.array(values, dtype=np.int64)


def modes(*modules):
    """Yield twice: with kernels compiled, and with all of them as plain Python."""
    yield "compiled"
    with twins.all_plain(order, *modules):
        yield "plain"


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


@given(values_drawn(), st.booleans(), st.integers(0, 2**32))
def test_ascending_of_any_values_differential_is_sorted(values, named, seed):
    """Whatever the span, rows come in order of values, and a narrow span is counted."""
    rows = np.random.default_rng(seed).permutation(4_096)[: len(values)].astype(np.int32)
    at = dict(zip(rows.tolist() if named else range(len(values)), values, strict=True))
    for mode in modes():
        found = order.ascending(integers(values), rows if named else None)
        assert sorted(values) == found.values.tolist(), mode
        assert sorted(at) == sorted(found.rows.tolist()), mode
        assert found.values.tolist() == [at[row] for row in found.rows.tolist()], mode
        assert np.int32 == found.rows.dtype == found.begins.dtype
        if not values:
            assert (0, 0) == (found.least, len(found.begins))
            continue
        assert min(values) == found.least
        span = max(values) - min(values)
        if span > order.COUNTED_SPAN_MAX:
            assert 0 == len(found.begins)
        else:
            every = range(found.least, found.least + span + 2)
            assert twins.places_below(values, every) == found.begins.tolist()


@pytest.mark.parametrize("name", SPANS)
def test_ascending_of_a_whole_chunk_differential_is_sorted(name):
    """4,096 values, many of them equal, with both ends of the span among them."""
    span = SPANS[name]
    picked = np.random.default_rng(3).random(4_096)
    least = -(2**63) if span > 2**63 else -5
    values = [least + min(span, int(share * (span + 1))) for share in picked.tolist()]
    values[7], values[9] = least, least + span
    for mode in modes():
        found = order.ascending(integers(values))
        assert sorted(values) == found.values.tolist(), mode
        assert [values[row] for row in found.rows.tolist()] == found.values.tolist(), mode
        assert list(range(4_096)) == sorted(found.rows.tolist()), mode


@given(values_drawn(), st.data(), st.booleans())
def test_places_of_any_bounds_differential_are_counted(values, data, up_to):
    """Below, and below or equal, however they are found: extremes, equal ones, none at all."""
    near = [value + step for value in values for step in (-1, 0, 1)]
    possible = [value for value in [*near, *INT_EDGES] if -(2**63) <= value < 2**63]
    bounds = sorted(data.draw(st.lists(st.sampled_from(possible), max_size=12)))
    twin = twins.places_up_to if up_to else twins.places_below
    expected = [*twin(values, bounds), -7, -7]
    for mode in modes():
        found = np.full(len(bounds) + 2, -7, dtype=np.int32)
        order.places(order.ascending(integers(values)), integers(bounds), up_to=up_to, found=found)
        assert expected == found.tolist(), mode


@pytest.mark.parametrize("up_to", [False, True])
@pytest.mark.parametrize(
    ("step", "bounds"), [(1, 30), (1_000, 30), (1_000, 3), (2**40, 300), (2**40, 37), (2**40, 38)]
)
def test_places_among_many_values_differential_are_counted(step, bounds, up_to):
    """Counted, walked and searched say the same of the same values, on both sides of each limit."""
    values = [i // 3 * step for i in range(300)]
    asked = [(i * 200 // bounds - 50) * step + i % 3 - 1 for i in range(bounds)]
    expected = (twins.places_up_to if up_to else twins.places_below)(values, sorted(asked))
    for mode in modes():
        found = np.zeros(bounds, dtype=np.int32)
        ordered = order.ascending(integers(values[::-1]))
        order.places(ordered, integers(sorted(asked)), up_to=up_to, found=found)
        assert expected == found.tolist(), mode


def test_places_of_a_few_bounds_are_searched_for(monkeypatch):
    """The values are not walked past for fewer bounds than one in eight; with as many they are."""
    walked = []

    def walk(values, bounds, found, *, up_to):
        walked.append(len(bounds))

    monkeypatch.setattr(order, "_walk", walk)
    ordered = order.ascending(integers([i * 2**40 for i in range(80)]))
    for count in (9, 10):
        bounds = integers(range(count))
        order.places(ordered, bounds, up_to=True, found=np.zeros(count, dtype=np.int32))
    assert [10] == walked


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
    for mode in modes():
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
    for mode in modes():
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
    found = order.sorted_places(np.array(keys, dtype=np.int64)).tolist()
    assert sorted(range(len(keys)), key=keys.__getitem__) == found
