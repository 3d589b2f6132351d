"""Lineage against sets of rows by slot."""

import numpy as np
from hypothesis import given, settings, strategies as st

from engine.kernels.bits import CHUNK_WORDS, LITTLE
from engine.limits import CHUNK_ROWS
from engine.tuples.lineage import Lineage
from tests.engine.kernels import twins


def sets_of(lineage):
    """Return the rows of each slot; none where it is not alive."""
    return [
        twins.bits_of(row) if lives else set()
        for row, lives in zip(lineage.words, lineage.alive.tolist(), strict=True)
    ]


def test_lineage_full_has_every_row_for_every_live_slot():
    """Before any factor, each row can satisfy each live clause and no other."""
    live = np.array([True, False, True])
    lineage = Lineage.full(5, live)
    everything = set(range(CHUNK_ROWS))
    assert [everything, set(), everything] == sets_of(lineage)
    assert (5, 3, 2) == (lineage.first_slot, len(lineage), lineage.slots_alive)
    lineage.alive[:] = False
    assert [True, False, True] == live.tolist(), "what slots are in use is not written"


def test_lineage_full_in_a_buffer_shows_nothing_of_what_was_there():
    """A buffer used again, for fewer slots, is full again."""
    buffer = np.zeros((4, CHUNK_WORDS), dtype=LITTLE)
    lineage = Lineage.full(0, np.ones(3, dtype=np.bool_), buffer)
    assert np.shares_memory(buffer, lineage.words)
    assert [CHUNK_ROWS] * 3 == [len(rows) for rows in sets_of(lineage)]
    assert not buffer[3].any(), "rows past the slots are nobody's"


def test_lineage_without_slots_has_nothing():
    """An empty tile is a tile."""
    lineage = Lineage.full(0, np.zeros(0, dtype=np.bool_))
    assert (0, 0, []) == (len(lineage), lineage.slots_alive, sets_of(lineage))


@settings(max_examples=30)
@given(
    st.integers(0, 2**32),
    st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.001, 0.5]),
)
def test_lineage_keep_and_asked_of_any_slots_oracle_follow_sets(seed, steps, share):
    """Rows are only ever lost, by the slots named alone; what some still ask for is their union."""
    rng = np.random.default_rng(seed)
    lineage = Lineage.full(100, np.array([True, True, False, True]))
    expected = sets_of(lineage)
    for named in steps:
        alive = [slot for slot in sorted(named) if lineage.alive[slot]]
        if not alive:
            continue
        slots = np.array(alive, dtype=np.int64) + 100
        assert set().union(*(expected[slot] for slot in alive)) == twins.bits_of(
            lineage.asked(slots)
        )
        rows = set(np.flatnonzero(rng.random(CHUNK_ROWS) < share).tolist())
        lineage.keep(slots, twins.words_from(rows, CHUNK_WORDS))
        for slot in alive:
            expected[slot] = expected[slot] & rows
        assert expected == sets_of(lineage)
        assert [bool(rows) for rows in expected] == lineage.alive.tolist()
