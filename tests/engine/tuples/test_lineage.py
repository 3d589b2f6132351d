"""Lineage and blocks against sets of pairs."""

import numpy as np
from hypothesis import given, strategies as st

from engine.kernels import bits
from engine.tuples.batch import Column
from engine.tuples.block import Block
from engine.tuples.lineage import FEW_SLOTS, Lineage
from engine.tuples.schema import ColumnType

SLOTS = 130

pairs = st.tuples(st.integers(1, 70), st.integers(0, 2**32), st.sampled_from([0.0, 0.01, 0.2, 0.9]))


def drawn(shape):
    tuples, seed, density = shape
    flags = np.random.default_rng(seed).random((tuples, SLOTS)) < density
    return Lineage(bits.pack(flags)), {(i, s) for i, s in zip(*np.nonzero(flags), strict=True)}


def pairs_of(lineage):
    return {(i, slot) for slot, rows in lineage.hits() for i in rows.tolist()}


@given(pairs)
def test_lineage_hits_of_any_bits_oracle_are_the_pairs(shape):
    """Every pair is found once, slots and rows ascending, however many slots have hits."""
    lineage, expected = drawn(shape)
    assert expected == pairs_of(lineage)
    slots = [slot for slot, _ in lineage.hits()]
    assert sorted(set(slots)) == slots
    assert all((np.diff(rows) > 0).all() and len(rows) for _, rows in lineage.hits())


@given(pairs)
def test_lineage_alive_and_take_of_any_bits_oracle_follow_the_pairs(shape):
    """A tuple is alive while a pair names it; taking rows renumbers pairs and loses none."""
    lineage, expected = drawn(shape)
    alive = {i for i, _ in expected}
    assert [i in alive for i in range(len(lineage))] == lineage.alive().tolist()
    rows = np.flatnonzero(lineage.alive())
    place = {row: i for i, row in enumerate(rows.tolist())}
    assert {(place[i], s) for i, s in expected} == pairs_of(lineage.take(rows))


def test_lineage_full_has_every_live_slot_for_every_tuple():
    """Before any factor, each tuple can satisfy each live clause and no other."""
    live = bits.mask_of(np.array([0, 3, 70]), 2)
    assert {(i, s) for i in range(4) for s in (0, 3, 70)} == pairs_of(Lineage.full(4, live))


def test_lineage_without_tuples_or_slots_has_no_hits():
    """Nothing comes out of an empty matrix."""
    assert set() == pairs_of(Lineage.full(0, bits.mask_of(np.array([1]), 1)))
    assert set() == pairs_of(Lineage(np.zeros((5, 0), dtype=np.uint64)))


def test_lineage_hits_agree_on_both_sides_of_the_transpose():
    """One slot more than is read singly changes how hits are found, not which."""
    for slots in (FEW_SLOTS, FEW_SLOTS + 1):
        flags = np.zeros((100, SLOTS), dtype=np.bool_)
        flags[::3, :slots] = True
        expected = {(i, s) for i in range(0, 100, 3) for s in range(slots)}
        assert expected == pairs_of(Lineage(bits.pack(flags)))


def test_block_keeps_row_numbers_and_values_while_it_shrinks():
    """Rows that nobody asks for leave; those left keep their numbers and their values."""
    column = Column(ColumnType.INT64, np.arange(100, 110))
    live = bits.mask_of(np.array([0, 1]), 1)
    block = Block(first_row=4_000, rows=10, columns=lambda _: column, live=live)
    assert 10 == block.keep_alive()
    assert column is block.column("a")
    for kept in ([1, 4, 7], [0, 2], [1]):
        mask = np.zeros(len(block), dtype=np.bool_)
        mask[kept] = True
        block.lineage.words[~mask] = 0
        assert len(kept) == block.keep_alive() == len(block)
    assert [107] == block.column("a").to_list()
    assert [4_007] == block.rows_at(np.array([0])).tolist()
