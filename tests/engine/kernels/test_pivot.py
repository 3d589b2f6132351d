"""Clauses found by value, against looking at each of them."""

import itertools

import numba
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from psoup.engine.kernels import hits, pivot
from psoup.engine.kernels.bits import CHUNK_WORDS
from psoup.engine.kernels.order import RADIX_BITS
from tests.engine.kernels import twins
from tests.engine.kernels.written_hits import kept, plain_written, written

CHUNK = 4_096
EDGE = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1]


def compiled_or_plain(patch, plain):
    """Let the kernels of the module, and those that they call, run as Python where `plain`."""
    if plain:
        for name, value in vars(pivot).copy().items():
            if hasattr(value, "py_func"):
                patch.setattr(pivot, name, twins.plainly(value))
        for name in ("write_entry", "write_list"):
            patch.setattr(hits, name, twins.plainly(getattr(hits, name)))


@pytest.mark.parametrize("plain", [False, True])
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_find_of_any_values_differential_is_a_dictionary(plain, data):
    """Every value is found where it stands among the distinct ones; others, and NULL, are nowhere."""
    pool = data.draw(st.lists(st.one_of(st.sampled_from(EDGE), st.integers(-50, 50)), max_size=40))
    known = list(dict.fromkeys(pool))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    asked = np.array([*known, *EDGE, 7, 8, 9], dtype=np.int64)
    values = asked[rng.integers(0, len(asked), CHUNK)]
    nulls = set(rng.integers(0, CHUNK, 30).tolist())
    found = np.full(CHUNK, 5, dtype=np.int32)
    with pytest.MonkeyPatch.context() as patch:
        compiled_or_plain(patch, plain)
        table = pivot.table_of(np.array(known, dtype=np.int64))
        unsettled = np.full((2, CHUNK), 5, dtype=np.int32)
        pivot.find(values, twins.words_from(nulls, CHUNK_WORDS), table, found, unsettled)
    where = {value: place for place, value in enumerate(known)}
    expected = [
        pivot.NOWHERE if row in nulls else where.get(value, pivot.NOWHERE)
        for row, value in enumerate(values.tolist())
    ]
    assert expected == found.tolist()


def longest_run(values):
    """Return how many places of the values' table are taken in a row, at most."""
    taken = pivot.table_of(values).places != pivot.NOWHERE
    return max(map(len, "".join("+" if one else " " for one in taken).split()))


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("stride", [1, 7, 4_096, 832_040, 2**20, 2**40, 10**15, 701_408_733])
def test_table_of_values_at_any_stride_has_them_apart(stride, plain, monkeypatch):
    """Ids counted in steps, of 2^n or of a Fibonacci number too: no search passes many of the others."""
    compiled_or_plain(monkeypatch, plain)
    values = np.arange(-2_048, 2_048) * stride
    assert longest_run(values) < 128


def test_table_of_values_that_no_spread_tells_apart_has_them_all(monkeypatch):
    """Then they lie side by side, and are found."""
    monkeypatch.setattr(pivot, "_SPREADS", pivot._SPREADS[:1])
    values = np.arange(4_096) * 832_040
    assert longest_run(values) > 2_048
    found = np.empty(CHUNK, dtype=np.int32)
    no_nulls = np.zeros(CHUNK_WORDS, dtype=np.uint64)
    unsettled = np.empty((2, CHUNK), dtype=np.int32)
    pivot.find(values, no_nulls, pivot.table_of(values), found, unsettled)
    assert list(range(CHUNK)) == found.tolist()


@pytest.mark.parametrize("shift", [1, 40, 63])
def test_hashed_compiled_differential_agrees_with_the_plain_one(shift):
    """The highest bits of a product, of negative numbers too, alike in Python and compiled anew."""
    compiled = numba.njit(lambda value, *how: pivot.hashed(value, *how))  # noqa: PLW0108 - numba compiles the lambda
    for value, spread in itertools.product([*EDGE, 12_345], pivot._SPREADS):
        at = pivot.hashed(np.int64(value), spread, shift)
        assert at == compiled(np.int64(value), spread, shift)
        assert 0 <= at < 2 ** (64 - shift)


def rows_by_place(found, past):
    """Return the rows that `by_place` puts in order."""
    either = np.empty((2, CHUNK), dtype=np.int32)
    digits = np.empty(1 << RADIX_BITS, dtype=np.int32)
    ordered, count = pivot.by_place(found, past, either, digits)
    return either[ordered, :count]


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("past", [0, 1, 2_047, 2_048, 2_049, 2**22 + 5])
def test_by_place_differential_is_a_stable_sort_of_those_found(past, plain, monkeypatch):
    """Places of one digit, of two and of three, and none at all; rows of one place as they came."""
    compiled_or_plain(monkeypatch, plain)
    found = np.random.default_rng(past).integers(-1, past, CHUNK).astype(np.int32)
    rows = [row for row in range(CHUNK) if found[row] != pivot.NOWHERE]
    expected = sorted(rows, key=found.tolist().__getitem__)
    assert expected == rows_by_place(found, past).tolist()


@st.composite
def pivoted_drawn(draw):
    """Draw for each of some values its clauses: a name or GONE, and ranges by attribute."""
    names = iter(draw(st.permutations(range(40))))
    ranges = st.lists(
        st.tuples(st.integers(0, 2), st.integers(-3, 3), st.integers(-3, 3)), max_size=3
    )
    return [
        [
            (next(names) if draw(st.integers(0, 5)) else -1, draw(ranges))
            for _ in range(draw(st.integers(0, 3)))
        ]
        for _ in range(draw(st.integers(0, 8)))
    ]


def as_arrays(by_value):
    """Return drawn clauses as the kernels read them."""
    clauses = [clause for own in by_value for clause in own]
    edges = np.cumsum([0, *(len(own) for own in by_value)]).astype(np.int32)
    begins = np.cumsum([0, *(len(ranges) for _, ranges in clauses)])
    rows = np.array([[name, 0] for name, _ in clauses] + [[0, 0]], dtype=np.int32)
    rows[:, 1] = begins
    flat = [one for _, ranges in clauses for one in ranges]
    return pivot.Pivoted(edges, rows, np.array(flat, dtype=np.int64).reshape(-1, 3))


@pytest.mark.parametrize("plain", [False, True])
@settings(max_examples=20, deadline=None)
@given(pivoted_drawn(), st.integers(0, 2**16), st.booleans())
def test_match_candidates_differential_finds_what_single_comparisons_find(
    plain, by_value, seed, popular
):
    """Each clause of a value that occurs has the rows that satisfy its ranges, in the form that is wanted."""
    rng = np.random.default_rng(seed)
    highest = min(1, len(by_value)) if popular else len(by_value)
    found = rng.integers(-1, max(0, highest), CHUNK).astype(np.int32)
    values = rng.integers(-3, 4, (3, CHUNK))
    nulls = [set(rng.integers(0, CHUNK, 200).tolist()) for _ in range(3)]
    null_rows = np.array([twins.words_from(rows, CHUNK_WORDS) for rows in nulls])
    wanted = rng.integers(0, 3, 40).astype(np.uint8)
    table = as_arrays(by_value)
    out = written(clauses=40)
    with pytest.MonkeyPatch.context() as patch:
        compiled_or_plain(patch, plain)
        asking = rows_by_place(found, len(by_value))
        few = np.empty((3, 1), dtype=np.int32)
        count = pivot.candidates(asking, found, table.edges, *few)
        clauses, firsts, pasts = asked = np.empty((3, count), dtype=np.int32)
        assert count == pivot.candidates(asking, found, table.edges, *asked)
        at, rounds = 0, 0
        while at < count:
            at = pivot.match_candidates(
                table, clauses, firsts, pasts, asking, values, null_rows, wanted, out, at
            )
            rounds += 1
    assert rounds <= 1, "there was room"
    expected = {}
    for place, own in enumerate(by_value):
        for name, ranges in own:
            rows = [
                row
                for row in np.flatnonzero(found == place).tolist()
                if all(
                    low <= values[a, row] <= high and row not in nulls[a] for a, low, high in ranges
                )
            ]
            if name >= 0 and rows:
                expected[name] = kept(rows, int(wanted[name]))
    assert expected == plain_written(out)


@pytest.mark.parametrize("plain", [False, True])
def test_match_candidates_stops_where_there_is_no_room_and_goes_on(plain, monkeypatch):
    """One clause fits; the second comes when there is room again."""
    compiled_or_plain(monkeypatch, plain)
    by_value: list[list[tuple[int, list[tuple[int, int, int]]]]] = [[(0, []), (1, [])]]
    table = as_arrays(by_value)
    found = np.full(CHUNK, pivot.NOWHERE, dtype=np.int32)
    found[[3, 9]] = 0
    rows = rows_by_place(found, 1)
    clauses, firsts, pasts = asked = np.empty((3, 2), dtype=np.int32)
    assert pivot.candidates(rows, found, table.edges, *asked) == 2
    values = np.zeros((1, CHUNK), dtype=np.int64)
    null_rows = np.zeros((1, CHUNK_WORDS), dtype=np.uint64)
    wanted = np.zeros(2, dtype=np.uint8)
    out = written(clauses=1)

    def go(first):
        return pivot.match_candidates(
            table, clauses, firsts, pasts, rows, values, null_rows, wanted, out, first
        )

    assert go(0) == 1
    assert {0: ("list", [3, 9])} == plain_written(out)
    out.past[:] = 0
    assert go(1) == 2
    assert {1: ("list", [3, 9])} == plain_written(out)
    assert hits.LIST == out.forms[0]
