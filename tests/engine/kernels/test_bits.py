"""Bits in words, each kernel against a twin that walks over single bits."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.kernels import bits
from tests.engine.kernels import twins

SHAPES = [0, 1, 63, 64, 65, 4_095, 4_096, 4_097]


def drawn(words, *, seed=1, density=2):
    rng = np.random.default_rng(seed)
    made = rng.integers(0, 2**64, size=words, dtype=np.uint64)
    for _ in range(density - 1):
        made &= rng.integers(0, 2**64, size=words, dtype=np.uint64)
    return made


@pytest.mark.parametrize("count", SHAPES)
def test_packed_flags_at_boundary_shapes_differential_are_read_bit_by_bit(count):
    """Flag i becomes bit i, and bits past the last flag are zero."""
    flags = np.random.default_rng(3).random(count) < 0.5
    words = bits.packed(flags)
    assert bits.words_of(count) == len(words)
    assert set(np.flatnonzero(flags).tolist()) == twins.bits_of(words)
    assert bits.LITTLE == words.dtype


@pytest.mark.parametrize("count", SHAPES)
def test_full_at_boundary_shapes_differential_has_the_first_bits(count):
    """The first bits are set and no other, with room behind them or without."""
    for words in (bits.words_of(count), bits.words_of(count) + 2):
        made = bits.full(count, words)
        assert (words, set(range(count))) == (len(made), twins.bits_of(made))


@given(st.integers(0, 5), st.integers(0, 2**32), st.sampled_from([1, 2, 4, 12]))
def test_positions_and_popcount_of_any_words_differential_agree_with_single_bits(
    count, seed, density
):
    """Bits are found where they are, ascending, and counted, in dense and in sparse words."""
    words = drawn(count, seed=seed, density=density)
    expected = sorted(twins.bits_of(words))
    assert expected == bits.positions(words).tolist()
    assert len(expected) == bits.popcount(words)
    found = np.empty(len(expected), dtype=np.int64)
    twins.plainly(bits._walk)(words, found)
    assert expected == found.tolist()
    assert len(expected) == twins.plainly(bits._count)(words)


@pytest.mark.parametrize("places", [(), (0,), (63,), (64,), (255,), (0, 63, 64, 127, 255)])
def test_positions_at_the_edges_of_words_differential_are_found(places):
    """The first and the last bit of a word are found, and none is found in no bits."""
    words = twins.words_from(set(places), 4)
    assert list(places) == bits.positions(words).tolist()


@given(st.sets(st.integers(0, 200)), st.integers(4, 6))
def test_mask_of_positions_is_read_back(positions, width):
    """A mask has exactly the bits it was made of."""
    mask = bits.mask_of(np.array(sorted(positions), dtype=np.int64), width)
    assert width == len(mask)
    assert positions == twins.bits_of(mask)
    assert sorted(positions) == bits.positions(mask).tolist()
