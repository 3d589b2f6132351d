"""Stored values in intervals, against comparing one by one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from engine.kernels.bits import CHUNK_WORDS
from engine.kernels.within import FEW, _and_flags, _mark, within
from tests.engine.kernels import twins
from tests.engine.kernels.test_order import FLOAT_EDGES, INT_EDGES

KINDS: dict[str, tuple[Any, Any, list[Any]]] = {
    "int64": (np.int64, np.int64, INT_EDGES),
    "float64": (np.float64, np.float64, FLOAT_EDGES),
    "bool": (np.uint8, np.int64, [0, 1]),
    "text": (np.int32, np.int64, [0, 1, 2, 3, 4, 2**31 - 1]),
}


def ends_among(edges, chosen):
    """Return disjoint closed intervals whose ends are every other of the chosen edges."""
    cuts = sorted(chosen)
    return [(edges[a], edges[b]) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]


def spans_of(values, known):
    """Return each chunk's smallest and largest value, the wrong way round where it is not known."""
    least, most = [], []
    for first in range(0, len(values), twins.CHUNK):
        part = values[first : first + twins.CHUNK]
        told = known and len(part) == twins.CHUNK
        low, high = (part.min(), part.max()) if told else (1, 0)
        least.append(low)
        most.append(high)
    return np.array(least, values.dtype), np.array(most, values.dtype)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=40)
@given(data=st.data())
def test_within_of_any_intervals_differential_keeps_what_comparing_keeps(name, data):
    """Whole chunks and a part of one, minima known or not, no interval, one, a few and many."""
    dtype, end_dtype, edges = KINDS[name]
    count = data.draw(st.sampled_from([0, 1, 4_095, 4_096, 4_097, 8_192]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    values = rng.choice(np.array(edges, dtype), count)
    for first in range(0, count, twins.CHUNK):  # some chunks of few values, so that minima decide
        if data.draw(st.booleans()):
            few = data.draw(st.sampled_from([1, 2]))
            at = data.draw(st.integers(0, len(edges) - few))
            some = np.array(edges[at : at + few], dtype)
            values[first : first + twins.CHUNK] = np.resize(some, len(values[first:]))[
                : twins.CHUNK
            ]
    chosen = data.draw(st.lists(st.integers(0, len(edges) - 1), unique=True))
    intervals = ends_among(edges, chosen)
    lows = np.array([low for low, _ in intervals], dtype=end_dtype)
    highs = np.array([high for _, high in intervals], dtype=end_dtype)
    least, most = spans_of(values, data.draw(st.booleans()))
    words = rng.integers(0, 2**64, size=64 * len(least), dtype=np.uint64)
    expected = twins.within(values.tolist(), intervals, twins.bits_of(words))
    plain = words.copy()
    within(values, lows, highs, least, most, words)
    assert expected == twins.bits_of(words)
    twins.plainly(within)(values, lows, highs, least, most, plain)
    assert expected == twins.bits_of(plain)


@pytest.mark.parametrize("count", [0, 1, 2, FEW, FEW + 1, 9])
def test_mark_with_few_and_many_intervals_differential_flags_what_lies_inside(count):
    """Comparing with each and searching among them say the same on both sides of the bound."""
    values = np.arange(-2, 40, dtype=np.int64)
    intervals = [(4 * i, 4 * i + 1) for i in range(count)]
    lows = np.array([low for low, _ in intervals], dtype=np.int64)
    highs = np.array([high for _, high in intervals], dtype=np.int64)
    expected = [any(low <= value <= high for low, high in intervals) for value in values.tolist()]
    for kernel in (_mark, twins.plainly(_mark)):
        flags = np.full(len(values), 7, dtype=np.uint8)
        kernel(values, lows, highs, flags)
        assert expected == flags.tolist()


def test_within_of_empty_intervals_among_others_finds_the_others():
    """Intervals of texts that nobody has end before they begin, and are found by no place."""
    values = np.resize(np.arange(6, dtype=np.int32), 4_096)
    lows = np.array([0, 2, 2, 3, 5, 6], dtype=np.int64)
    highs = np.array([0, 1, 2, 2, 4, 5], dtype=np.int64)
    words = np.full(CHUNK_WORDS, 2**64 - 1, dtype=np.uint64)
    within(values, lows, highs, values[:1], values[5:6], words)
    assert set(np.flatnonzero(np.isin(values, [0, 2])).tolist()) == twins.bits_of(words)


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.01, 0.5, 1.0]))
@settings(max_examples=20)
def test_flags_become_bits_differential_one_by_one(seed, share):
    """Eight bytes become eight bits in their order, and bits that were clear stay clear."""
    rng = np.random.default_rng(seed)
    flags = (rng.random(4_096) < share).astype(np.uint8)
    words = rng.integers(0, 2**64, size=64, dtype=np.uint64)
    expected = twins.bits_of(words) & set(np.flatnonzero(flags).tolist())
    plain = words.copy()
    _and_flags(flags, words)
    assert expected == twins.bits_of(words)
    with np.errstate(over="ignore"):  # what wraps around compiled is a warning in Python
        twins.plainly(_and_flags)(flags, plain)
    assert expected == twins.bits_of(plain)
