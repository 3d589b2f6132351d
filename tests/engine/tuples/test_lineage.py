"""Lineage against sets of rows by slot."""

import numpy as np
from hypothesis import given, strategies as st

from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE, full
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.tuples.lineage import Lineage
from tests.engine.kernels import twins

SLOTS = np.array([3, 7, 100, 5_000], dtype=np.int32)


def sets_of(lineage):
    """Return the rows of each slot; none where it is not alive."""
    return [
        twins.bits_of(row) if lives else set()
        for row, lives in zip(lineage.words, lineage.alive.tolist(), strict=True)
    ]


def everything(slots, alive=None):
    """Return the lineage of slots that every row can still satisfy."""
    words = np.empty((len(slots), CHUNK_WORDS), dtype=LITTLE)
    words[:] = full(CHUNK_ROWS, CHUNK_WORDS)
    return Lineage(slots, words, alive)


def test_lineage_without_a_word_about_it_is_alive():
    """Slots are alive unless it is said that they are not; they keep the order that they are given in."""
    assert [True] * 4 == everything(SLOTS).alive.tolist()
    alive = np.array([True, False, False, True])
    lineage = everything(SLOTS, alive)
    assert [CHUNK_ROWS, 0, 0, CHUNK_ROWS] == [len(rows) for rows in sets_of(lineage)]
    assert (4, [3, 7, 100, 5_000]) == (len(lineage), lineage.slots.tolist())


def test_lineage_without_slots_has_nothing():
    """An empty lineage is a lineage."""
    lineage = everything(SLOTS[:0])
    assert (0, [], []) == (len(lineage), lineage.alive.tolist(), sets_of(lineage))


def test_lineage_narrows_the_arrays_that_it_was_given():
    """Nothing is copied: a lineage over a buffer that is used again is narrowed there."""
    words = np.full((4, CHUNK_WORDS), 2**64 - 1, dtype=LITTLE)
    lineage = Lineage(SLOTS[:3], words[:3])
    lineage.keep(np.array([1]), twins.words_from({5}, CHUNK_WORDS))
    assert {5} == twins.bits_of(words[1])
    assert [CHUNK_ROWS] * 3 == [len(twins.bits_of(words[i])) for i in (0, 2, 3)]


@given(
    st.integers(0, 2**32),
    st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.001, 0.5]),
)
def test_lineage_keep_and_live_rows_of_any_places_oracle_follow_sets(seed, steps, share):
    """Rows are only ever lost, by the slots named alone; what some still ask for is their union."""
    rng = np.random.default_rng(seed)
    lineage = everything(SLOTS, np.array([True, True, False, True]))
    expected = sets_of(lineage)
    for named in steps:
        alive = [place for place in sorted(named) if lineage.alive[place]]
        if not alive:
            continue
        places = np.array(alive, dtype=np.int64)
        assert set().union(*(expected[place] for place in alive)) == twins.bits_of(
            lineage.live_rows(places)
        )
        rows = set(np.flatnonzero(rng.random(CHUNK_ROWS) < share).tolist())
        lineage.keep(places, twins.words_from(rows, CHUNK_WORDS))
        for place in alive:
            expected[place] = expected[place] & rows
        assert expected == sets_of(lineage)
        assert [bool(rows) for rows in expected] == lineage.alive.tolist()
