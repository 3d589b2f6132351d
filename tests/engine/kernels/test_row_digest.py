"""Digests of rows beside a twin in plain numbers; other rows have other digests, and known ones stay what they are."""

import numpy as np
import pytest

from psoup.engine.kernels import row_digest
from psoup.engine.kernels.row_digest import LANES, begun, sum_up, take_texts, take_words
from tests.engine.kernels import twins

BITS = (1 << 64) - 1
MULTIPLIERS = (
    0x9E37_79B9_7F4A_7C15,
    0xD6E8_FEB8_6659_FD93,
    0xA076_1D64_78BD_642F,
    0xE703_7ED1_A0B4_28DB,
)
BEGINNINGS = (
    0x243F_6A88_85A3_08D3,
    0x1319_8A2E_0370_7344,
    0xA409_3822_299F_31D0,
    0x082E_FA98_EC4E_6C89,
)
NONE_NULL = np.zeros(0, dtype=np.bool_)


def step(lane: int, state: int, mark: int, word: int) -> int:
    """Take one word into one lane, in numbers without bounds."""
    mixed = ((state + mark & BITS) * MULTIPLIERS[lane] + word) & BITS
    mixed = (mixed ^ mixed >> 30) * 0xBF58_476D_1CE4_E5B9 & BITS
    mixed = (mixed ^ mixed >> 27) * 0x94D0_49BB_1331_11EB & BITS
    return mixed ^ mixed >> 31


def twin(lane: int, cells: tuple[int | bytes | None, ...]) -> int:
    """Return one lane of a row."""
    state = BEGINNINGS[lane]
    for cell in cells:
        if cell is None:
            state = step(lane, state, 2, 0)
        elif isinstance(cell, int):
            state = step(lane, state, 1, cell & BITS)
        else:
            state = step(lane, state, 1, len(cell))
            for first in range(0, len(cell), 8):
                state = step(lane, state, 0, int.from_bytes(cell[first : first + 8]))
    return state


def texts_of(cells: list[bytes | None]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (offsets, text, valid) of a column; under a NULL there is a text as well."""
    held = [b"under NULL" if cell is None else cell for cell in cells]
    offsets = np.cumsum([0, *map(len, held)], dtype=np.int32)
    text = np.frombuffer(b"".join(held), dtype=np.uint8)
    offsets.setflags(write=False)
    return offsets, text, np.array([cell is not None for cell in cells])


@pytest.mark.parametrize("compiled", [True, False])
def test_states_and_sums_are_those_of_the_twin(compiled):
    """Numbers, texts of every length up to three words, and NULLs; more rows than a sum of 64 bits holds."""
    form = (lambda kernel: kernel) if compiled else twins.plainly
    words_in, texts_in, summed = form(take_words), form(take_texts), form(sum_up)
    rng = np.random.default_rng(5)
    numbers = [None if n % 7 == 0 else int(rng.integers(-(2**63), 2**63)) for n in range(60)]
    texts = [None if n % 5 == 0 else rng.bytes(n % 25) for n in range(60)]
    states = begun(60)
    with np.errstate(over="ignore"):
        bits = np.array([0 if n is None else n & BITS for n in numbers], dtype=np.uint64)
        words_in(bits, np.array([n is not None for n in numbers]), states)
        texts_in(*texts_of(texts), states)
        words_in(bits, NONE_NULL, states)
        sums = np.zeros((LANES, 2), dtype=np.uint64)
        summed(states, sums)
    rows = [(n, text, n or 0) for n, text in zip(numbers, texts, strict=True)]
    expected = [[twin(lane, row) for lane in range(LANES)] for row in rows]
    assert expected == states.tolist()
    totals = [sum(lane) for lane in zip(*expected, strict=True)]
    assert totals == [rest + (passed << 64) for rest, passed in sums.tolist()]
    assert all(total > BITS for total in totals)


def test_other_rows_have_other_digests():
    """Of a million rows that differ little, no lane alone has an accident; nor do cells that are shifted."""
    states = begun(1_000_000)
    row = np.arange(1_000_000, dtype=np.uint64)
    take_words(row % np.uint64(1_000), NONE_NULL, states)
    take_words(row // np.uint64(1_000), NONE_NULL, states)
    for lane in range(LANES):
        ordered = np.sort(states[:, lane])
        assert (ordered[1:] != ordered[:-1]).all()
    left, right = begun(4), begun(4)
    take_texts(*texts_of([b"ab", b"", b"\0", None]), left)
    take_texts(*texts_of([b"c", b"abc", b"", b""]), left)
    take_texts(*texts_of([b"a", b"abc", b"", b""]), right)
    take_texts(*texts_of([b"bc", b"", b"\0", None]), right)
    assert not (left == right).any()


def test_known_rows_keep_their_digest():
    """Stores keep digests from one version of psoup to the next: these numbers stay."""
    states = begun(1)
    take_words(np.array([7], dtype=np.uint64), NONE_NULL, states)
    take_texts(*texts_of([b"ACME and more"]), states)
    known = [
        0x2680_B8C4_790C_13B9,
        0x71AA_BFFD_2B20_640B,
        0x6A84_BF0A_7E23_76E3,
        0x6F68_562B_C349_17EA,
    ]
    assert known == states[0].tolist()


def test_lanes_begin_and_multiply_differently():
    """Four hashes that were one would be 64 bits, not 256."""
    assert LANES == len(set(BEGINNINGS)) == len(set(MULTIPLIERS))
    assert list(BEGINNINGS) == row_digest.begun(1)[0].tolist()
