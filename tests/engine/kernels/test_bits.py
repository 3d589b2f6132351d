"""Bits in words, each kernel against a twin that walks over single bits."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from engine.kernels import bits

SHAPES = [0, 1, 63, 64, 65, 4095, 4096, 4097]


def bits_of(words):
    """Return the naive reading: bit i of a row is bit i % 64 of word i // 64."""
    return [[bit == "1" for word in row.tolist() for bit in f"{word:064b}"[::-1]] for row in words]


def matrix(rows, words, *, seed=1, density=2):
    rng = np.random.default_rng(seed)
    made = rng.integers(0, 2**64, size=(rows, words), dtype=np.uint64)
    for _ in range(density - 1):
        made &= rng.integers(0, 2**64, size=(rows, words), dtype=np.uint64)
    return made


small = st.tuples(st.integers(0, 70), st.integers(1, 3), st.integers(0, 2**32))


@given(small)
def test_unpack_of_any_words_differential_reads_every_bit(shape):
    """Unpacking gives each bit where little order puts it."""
    rows, words, seed = shape
    made = matrix(rows, words, seed=seed)
    assert bits_of(made) == bits.unpack(made, words * 64).tolist()


@pytest.mark.parametrize("columns", [0, 1, 7, 8, 63, 64, 65, 130])
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_pack_of_any_flags_differential_is_undone_by_unpack(rows, columns):
    """Packing and unpacking are each other's inverse, and padding bits are zero."""
    flags = np.random.default_rng(3).random((rows, columns)) < 0.5
    packed = bits.pack(flags)
    assert (rows, bits.words_of(columns)) == packed.shape
    assert flags.tolist() == bits.unpack(packed, columns).tolist()
    assert int(flags.sum()) == bits.popcount(packed)


@settings(max_examples=25)
@given(small)
def test_transpose_of_any_matrix_differential_swaps_rows_and_bits(shape):
    """Bit j of row i becomes bit i of row j, and padding stays zero."""
    rows, words, seed = shape
    made = matrix(rows, words, seed=seed)
    turned = bits_of(bits.transpose(made))
    expected = [[row[j] for row in bits_of(made)] for j in range(words * 64)]
    padding = [False] * (bits.words_of(rows) * 64 - rows)
    assert [line + padding for line in expected] == turned


@pytest.mark.parametrize("rows", SHAPES)
@pytest.mark.parametrize("words", [1, 2, 64])
def test_transpose_at_boundary_shapes_differential_agrees_with_unpacked(rows, words):
    """The log-step transpose agrees with transposing unpacked bits, at every boundary of a word."""
    made = matrix(rows, words)
    plain = np.zeros((words * 64, bits.words_of(rows) * 64), dtype=np.bool_)
    plain[:, :rows] = bits.unpack(made, words * 64).T
    assert np.array_equal(bits.pack(plain), bits.transpose(made))


@pytest.mark.parametrize("width", [0, 1, 3])
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65])
@pytest.mark.parametrize("density", [1, 4, 12])
def test_positions_by_row_of_any_density_differential_finds_every_set_bit(rows, width, density):
    """Set bits are found row by row, ascending, in dense and in sparse rows."""
    made = matrix(rows, width, density=density)
    found, edges = bits.positions_by_row(made)
    expected = [[i for i, bit in enumerate(row) if bit] for row in bits_of(made)]
    assert expected == [found[edges[i] : edges[i + 1]].tolist() for i in range(rows)]


@given(small)
def test_rows_and_columns_of_any_matrix_differential_are_read_singly(shape):
    """Reading one column, one row, and which rows have anything, agrees with the bits."""
    rows, words, seed = shape
    made = matrix(rows, words, seed=seed, density=5)
    plain = bits_of(made)
    assert [any(row) for row in plain] == bits.any_row(made).tolist()
    for position in (0, 31, words * 64 - 1):
        expected = [i for i, row in enumerate(plain) if row[position]]
        assert expected == bits.column(made, position).tolist()
    for row, line in zip(made[:3], plain, strict=False):
        assert [i for i, bit in enumerate(line) if bit] == bits.positions(row).tolist()


@given(st.sets(st.integers(0, 200)), st.integers(4, 6))
def test_mask_of_positions_is_read_back(positions, width):
    """A mask has exactly the bits it was made of."""
    mask = bits.mask_of(np.array(sorted(positions), dtype=np.int64), width)
    assert width == len(mask)
    assert sorted(positions) == bits.positions(mask).tolist()


def test_narrow_gathered_of_a_narrower_table_leaves_the_words_past_it():
    """Words past the table's width are not asked about, so they pass."""
    words = np.full((3, 2), 7, dtype=np.uint64)
    table = np.array([[1], [6]], dtype=np.uint64)
    bits.narrow_gathered(words, table, np.array([1, 0, 1]))
    assert [[6, 7], [1, 7], [6, 7]] == words.tolist()
