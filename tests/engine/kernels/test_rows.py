"""The words of a chunk as vectors: plain, compiled anew, and bit by bit."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from psoup.engine.kernels import rows
from tests.engine.kernels import twins


@pytest.fixture(scope="module")
def compiled():
    """Return the functions compiled anew, so that the instructions are made here and now."""

    def both(own, bitmaps, low, high):
        rows.and_between(own, bitmaps, low, high)

    def between(own, bitmaps, low, high):
        rows.between(own, bitmaps, low, high)

    def add_up(parts, bitmaps, block):
        rows.add_up(parts, bitmaps, block)

    def counts(words, others):
        return rows.count_of(words), rows.count_of(others), rows.with_bits(words)

    def write(words, bitmaps, place):
        rows.copy(words, bitmaps, place)

    return [numba.njit(function) for function in (both, counts, write, between, add_up)]


def drawn(seed, shape, density=1):
    rng = np.random.default_rng(seed)
    made = rng.integers(0, 2**64, size=shape, dtype=np.uint64)
    for _ in range(density - 1):
        made &= rng.integers(0, 2**64, size=shape, dtype=np.uint64)
    return made


@given(st.integers(0, 2**32), st.integers(0, 3), st.integers(0, 3))
def test_and_between_of_any_bitmaps_differential_keeps_what_is_in_the_one_alone(
    compiled, seed, low, high
):
    """What the higher bitmap has and the lower has not is kept, of what there was; nothing else is written."""
    bitmaps = np.bitwise_or.accumulate(drawn(seed, (4, 64), density=2))
    low, high = sorted((low, high))
    own = drawn(seed + 1, 64)
    between = twins.bits_of(bitmaps[high]) - twins.bits_of(bitmaps[low])
    expected = twins.bits_of(own) & between
    for function in (rows.and_between, compiled[0]):
        kept, given_maps = own.copy(), bitmaps.copy()
        function(kept, given_maps, low, high)
        assert expected == twins.bits_of(kept)
        assert (given_maps == bitmaps).all()
    for function in (rows.between, compiled[3]):
        kept = own.copy()
        function(kept, bitmaps, low, high)
        assert between == twins.bits_of(kept)


@given(st.integers(0, 2**32), st.integers(0, 4), st.integers(0, 7))
def test_add_up_of_any_parts_differential_is_the_union_of_the_first(compiled, seed, count, block):
    """Each bitmap gets eight words, the parts are zero afterwards but for those behind, and nothing else is written."""
    parts, bitmaps = drawn(seed, (5, 8), density=3), drawn(seed + 1, (count, 64))
    expected = bitmaps.copy()
    for number in range(count):
        expected[number, 8 * block : 8 * block + 8] = np.bitwise_or.reduce(parts[: number + 1])
    for function in (rows.add_up, compiled[4]):
        given_parts, found = parts.copy(), bitmaps.copy()
        function(given_parts, found, block)
        assert (found == expected).all()
        assert not given_parts[:count].any()
        assert (given_parts[count:] == parts[count:]).all()


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 6]))
def test_count_of_any_words_differential_is_their_number_of_bits(compiled, seed, density):
    """Every word counts, in dense and in sparse ones."""
    words = drawn(seed, 64, density)
    count, none = len(twins.bits_of(words)), np.zeros(64, dtype=np.uint64)
    assert count == rows.count_of(words)
    some = sum(1 << place for place, word in enumerate(words.tolist()) if word)
    assert some == rows.with_bits(words)
    assert (count, 0, some) == compiled[1](words, none)
    place = seed % 64
    words[place:] = 0
    assert some & ((1 << place) - 1) == compiled[1](words, none)[2]


@pytest.mark.parametrize("bits", [(), (0,), (4_095,), (511, 512), range(4_096)])
def test_count_of_edges_differential_is_their_number_of_bits(bits, compiled):
    """No bit, the first, the last, both sides of eight words, all."""
    words = twins.words_from(set(bits), 64)
    assert len(bits) == rows.count_of(words)
    assert (len(bits), 4_096 - len(bits)) == compiled[1](words, ~words)[:2]


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(0, 2))
def test_copy_of_any_words_writes_one_bitmap(compiled, seed, place):
    """The words are there, and the bitmaps beside are as they were; rows of a larger array will do."""
    words = drawn(seed, (3, 64))[1]
    before = drawn(seed + 1, (3, 64))
    for function in (rows.copy, compiled[2]):
        bitmaps = before.copy()
        function(words, bitmaps, place)
        assert words.tolist() == bitmaps[place].tolist()
        others = [i for i in range(3) if i != place]
        assert before[others].tolist() == bitmaps[others].tolist()
