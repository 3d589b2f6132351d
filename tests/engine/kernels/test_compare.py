"""Ranks and rank tables against a twin that compares value by value."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from engine.kernels import bits, compare

SHAPES = [0, 1, 63, 64, 65, 4095, 4096, 4097]


def rank(value, constants):
    """Return the rank as its definition says it: gaps are even, constants odd."""
    below = sum(constant < value for constant in constants)
    return 2 * below + (value in constants)


@given(
    st.lists(st.integers(-20, 20)),
    st.sets(st.integers(-20, 20), max_size=30).map(sorted),
)
def test_ranks_of_integers_differential_follow_the_definition(values, constants):
    """Both ways to rank, few constants and many, follow the definition."""
    found = compare.ranks(np.array(values, np.int64), np.array(constants, np.int64))
    assert [rank(value, constants) for value in values] == found.tolist()


@pytest.mark.parametrize("count", [0, 1, compare.FEW, compare.FEW + 1, 500])
@pytest.mark.parametrize("rows", SHAPES)
def test_ranks_of_floats_at_boundary_shapes_differential_follow_the_definition(rows, count):
    """Ranks of floats, half of them equal to a constant, at every boundary of size."""
    rng = np.random.default_rng(5)
    constants = np.unique(rng.random(count))
    values = rng.random(rows)
    if count:
        values[::2] = rng.choice(constants, len(values[::2]))
    found = compare.ranks(values, constants)
    left = np.searchsorted(constants, values, "left")
    assert (left + np.searchsorted(constants, values, "right")).tolist() == found.tolist()
    assert np.int64 == found.dtype


@st.composite
def factors(draw):
    """Draw slots with disjoint intervals of ranks among c constants, some of them with NULL."""
    constants = draw(st.integers(0, 6))
    null = compare.null_rank(constants)
    slots = draw(st.lists(st.integers(0, 140), unique=True, max_size=6).map(sorted))
    wanted = {}
    for slot in slots:
        cuts = draw(st.lists(st.integers(0, null), unique=True, max_size=6).map(sorted))
        spans = list(zip(cuts[::2], cuts[1::2], strict=False))
        wanted[slot] = (spans, draw(st.booleans()))
    return constants, wanted


def arguments(wanted):
    spans = [(slot, *span) for slot, (listed, _) in wanted.items() for span in listed]
    table = np.array(spans, dtype=np.int64).reshape(-1, 3)
    return {
        "covered": bits.mask_of(np.array(list(wanted), dtype=np.int64), 3),
        "slots": table[:, 0],
        "first": table[:, 1],
        "past": table[:, 2],
        "null_slots": np.array([s for s, (_, null) in wanted.items() if null], dtype=np.int64),
    }


def satisfied(slot, value, *, wanted, null):
    """Return whether a value of this rank satisfies the slot: uncovered slots are always satisfied."""
    if slot not in wanted:
        return True
    spans, takes_null = wanted[slot]
    return takes_null if value == null else any(low <= value < high for low, high in spans)


@given(factors())
def test_rank_table_and_within_differential_agree_with_single_comparisons(drawn):
    """The table of bit rows and the comparison of ranks say the same, bit by bit, as the intervals do."""
    constants, wanted = drawn
    null = compare.null_rank(constants)
    everything = np.arange(null + 1)
    expected = [
        [satisfied(slot, value, wanted=wanted, null=null) for slot in range(192)]
        for value in everything.tolist()
    ]
    made = arguments(wanted)
    table = compare.rank_table(constants=constants, **made)
    assert expected == bits.unpack(table, 192).tolist()
    compared = compare.within(everything, null=null, **made)
    assert expected == bits.unpack(compared, 192).tolist()


@pytest.mark.parametrize("rows", SHAPES)
def test_within_at_boundary_shapes_differential_equals_the_table(rows, monkeypatch):
    """Comparing in steps changes nothing, wherever the steps end."""
    monkeypatch.setattr(compare, "COMPARED_CELLS_MAX", 64 * 192)
    wanted = {0: ([(0, 3)], False), 64: ([(1, 2), (4, 7)], True), 130: ([], False)}
    made = arguments(wanted)
    ranks = np.random.default_rng(7).integers(0, 8, rows)
    table = compare.rank_table(constants=3, **made)
    assert table[ranks].tolist() == compare.within(ranks, null=7, **made).tolist()
