"""Narrowing a lineage by factors, against sets of rows."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from engine.kernels import harvest, order
from engine.kernels.narrow import narrow
from tests.engine.kernels import twins

FIRST_SLOT = 4_096


@st.composite
def worlds(draw):
    """Draw a lineage, values in order with NULLs among them, and factors over its slots."""
    slots = draw(st.sampled_from([0, 1, 2, 5]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    words = rng.integers(0, 2**64, size=(slots, 64), dtype=np.uint64)
    words[rng.random(slots) < 0.2] = 0
    alive = words.any(axis=1) & (rng.random(slots) < 0.9)
    count = draw(st.sampled_from([0, 1, 4_000, 4_096]))
    permuted = rng.permutation(4_096).astype(np.int32)
    place = st.integers(0, count) | st.sampled_from([0, count])
    asked = st.lists(st.integers(0, slots - 1), unique=True) if slots else st.just([])
    factors = []
    for row in sorted(draw(asked)):
        ranges = draw(st.lists(st.tuples(place, place).map(sorted), max_size=6))
        gone = draw(st.integers(0, 9)) == 0
        factors.append((-1 if gone else row, [tuple(r) for r in ranges], draw(st.booleans())))
    return words, alive, permuted[:count], set(permuted[count:].tolist()), factors


@settings(max_examples=60)
@given(worlds(), st.booleans())
def test_narrow_of_any_factors_differential_leaves_what_sets_leave(world, plain):
    """No slots, no factors, factors without intervals, one and many, NULL taken or not, slots gone."""
    words, alive, ranked, nulls, factors = world
    ranges = [span for _, spans, _ in factors for span in spans]
    low = np.array([low for low, _ in ranges], dtype=np.int32)
    high = np.array([high for _, high in ranges], dtype=np.int32)
    bitmaps, low_at, high_at = order.prefixes(ranked, low, high)
    before = [twins.bits_of(row) for row in words]
    taking = [(row if row < 0 or alive[row] else -1, s, n) for row, s, n in factors]
    expected = twins.narrowed(before, taking, order=ranked.tolist(), null_rows=nulls)
    (twins.plainly(narrow) if plain else narrow)(
        words,
        alive,
        FIRST_SLOT,
        np.array([row if row < 0 else FIRST_SLOT + row for row, _, _ in factors], np.int32),
        np.cumsum([0, *(len(spans) for _, spans, _ in factors)]).astype(np.int32),
        low_at,
        high_at,
        np.array([takes for _, _, takes in factors], dtype=np.bool_),
        bitmaps,
        twins.words_from(nulls, 64),
    )
    assert expected == [twins.bits_of(row) for row in words]
    for row, _, _ in taking:
        if row >= 0:
            assert bool(expected[row]) == alive[row]


@settings(max_examples=30)
@given(st.sampled_from([0, 1, 3, 7]), st.integers(0, 2**32), st.sampled_from([1, 3, 9]))
def test_counts_and_offsets_of_any_lineage_differential_are_those_of_sets(slots, seed, density):
    """What is left is counted and listed slot by slot, ascending; slots not alive have nothing."""
    rng = np.random.default_rng(seed)
    words = np.full((slots, 64), 2**64 - 1, dtype=np.uint64)
    for _ in range(density):
        words &= rng.integers(0, 2**64, size=(slots, 64), dtype=np.uint64)
    alive = rng.random(slots) < 0.8
    rows = [twins.bits_of(row) for row in words]
    expected = twins.counts(rows, alive.tolist())
    assert expected == harvest.counts(words, alive).tolist()
    assert expected == twins.plainly(harvest.counts)(words, alive).tolist()
    chosen = np.flatnonzero(alive)[::-1].astype(np.int64)
    listed = twins.offsets(rows, chosen.tolist())
    for kernel in (harvest.write_offsets, twins.plainly(harvest.write_offsets)):
        for begin in (0, 3):
            found = np.full(begin + len(listed) + harvest.SLACK, 9_999, dtype=np.uint16)
            kernel(words, chosen, found, begin)
            assert [9_999] * begin == found[:begin].tolist(), "what was there before stays"
            assert listed == found[begin : begin + len(listed)].tolist()


@pytest.mark.parametrize(
    "rows", [(), (0,), (4_095,), (0, 4_095), range(4), range(5), range(60, 70)]
)
def test_write_offsets_of_few_and_many_bits_of_a_word_finds_each(rows):
    """Both ends of a chunk, and as many bits of a word as are written at once, and one more."""
    words = twins.words_from(set(rows), 64)[None, :]
    for kernel in (harvest.write_offsets, twins.plainly(harvest.write_offsets)):
        found = np.zeros(len(rows) + harvest.SLACK, dtype=np.uint16)
        kernel(words, np.zeros(1, np.int64), found, 0)
        assert list(rows) == found[: len(rows)].tolist()
