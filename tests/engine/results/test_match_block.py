"""Match blocks against sets of rows by clause."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.kernels import hits
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import EMPTY, Form, Harvest, Keeping, with_room
from psoup.engine.results.page import LIST_ROWS_MAX
from tests.engine.results.blocks import block_of, lineage_of, plain, plain_page, rows_drawn

COUNTS = [None, 0, 1, 2, LIST_ROWS_MAX, LIST_ROWS_MAX + 1, CHUNK_ROWS]


def form_of(count, keeping):
    """Return the form that hits are kept in, as the words of `Keeping` say it."""
    if count <= LIST_ROWS_MAX or keeping is Keeping.LISTS:
        return "list"
    return "bitmap" if keeping is Keeping.SMALLER else "unkept"


def expected_of(slots):
    """Return what a block has to say of (clause, rows, keeping), in order of clauses."""
    found = {}
    for clause_id, rows, keeping in sorted(slots, key=lambda slot: slot[0]):
        if rows:
            form = form_of(len(rows), keeping)
            found[clause_id] = "unkept" if form == "unkept" else (form, sorted(rows))
    return found


@st.composite
def slots_drawn(draw, *, ids=range(1, 12)):
    """Draw slots: each a clause, its rows (None = nobody's slot), what is kept."""
    chosen = draw(st.lists(st.sampled_from(list(ids)), unique=True, max_size=6))
    slots = []
    for clause_id in chosen:
        count = draw(st.sampled_from(COUNTS))
        rows = None if count is None else rows_drawn(clause_id * 31 + count, count)
        slots.append((clause_id, rows, draw(st.sampled_from(list(Keeping)))))
    return slots


def add(harvest, slots, named=None):
    """Add the slots, by number `named`, as one lineage; its bits are then those of the next one."""
    named = range(len(slots)) if named is None else named
    lineage = lineage_of([rows for _, rows, _ in slots], named)
    wanted = np.zeros(max(named, default=0) + 1, dtype=np.uint8)
    wanted[list(named)] = [keeping for _, _, keeping in slots]
    harvest.add(lineage, wanted)
    lineage.words[:] = 0


def ids_of(slots):
    """Return the clause of each slot, nobody in those that are not alive."""
    return np.array([-1 if rows is None else i for i, rows, _ in slots], dtype=np.int64)


def harvest_of(slots):
    harvest = Harvest()
    add(harvest, slots)
    block = harvest.block(ids_of(slots))
    block.check()
    return block


@given(slots_drawn())
def test_harvest_of_any_lineage_oracle_has_the_hits_of_each_clause(slots):
    """Clauses in any order of slots come out ascending, each in its form; those without hits do not."""
    block = harvest_of(slots)
    expected = expected_of(slots)
    assert expected == plain(block)
    assert list(expected) == block.clause_ids.tolist()
    assert [len(rows) for i, rows, _ in sorted(slots, key=lambda s: s[0]) if rows] == (
        block.counts.tolist()
    )
    for clause_id in range(13):
        page = block.page(ClauseId(clause_id))
        assert expected.get(clause_id) == (None if page is None else plain_page(page))
    arrays = [getattr(block, field.name) for field in dataclasses.fields(block)]
    assert sum(array.nbytes for array in arrays) == block.nbytes


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 3), min_size=11, max_size=11), slots_drawn()), max_size=3
    )
)
def test_harvest_of_any_lineages_oracle_gives_one_block_a_chunk(chunks):
    """Whatever lineage a clause was in, the block is that of one; the next chunk changes no block."""
    harvest, blocks = Harvest(), []
    for places, slots in chunks:
        for tile in range(4):
            named = [i for i, slot in enumerate(slots) if places[slot[0] - 1] == tile]
            add(harvest, [slots[i] for i in named], named)
        blocks.append(harvest.block(ids_of(slots)))
    for (_, slots), block in zip(chunks, blocks, strict=True):
        block.check()
        assert expected_of(slots) == plain(block)


def test_harvest_of_nothing_is_the_empty_block():
    """Without a tile there are no hits, and the block without hits has none for anybody."""
    assert {} == plain(Harvest().block(np.empty(0, dtype=np.int64)))
    EMPTY.check()
    assert ({}, 0, None) == (plain(EMPTY), len(EMPTY), EMPTY.page(ClauseId(1)))


def test_harvest_that_is_cleared_shows_nothing_of_what_was_added():
    """What was added when something broke off is in no block, and room is there as before."""
    harvest = Harvest()
    add(harvest, [(i, rows_drawn(i, 300), Keeping.SMALLER) for i in range(20)])
    harvest.clear()
    slots = [(7, {1, 4_095}, Keeping.SPARSE)]
    add(harvest, slots)
    assert expected_of(slots) == plain(harvest.block(ids_of(slots)))


@pytest.mark.parametrize(
    ("count", "keeping", "clauses"),
    [(1, Keeping.SPARSE, 40), (CHUNK_ROWS, Keeping.LISTS, 5), (300, Keeping.SMALLER, 40)],
)
def test_harvest_of_more_than_there_is_room_for_oracle_has_it_all(count, keeping, clauses):
    """Entries, lists and bitmaps that outgrow what they begin with are all there, and room is for one more."""
    slots = [(i, rows_drawn(i, count), keeping) for i in range(clauses)]
    harvest = Harvest()
    add(harvest, slots)
    past = harvest._written.past.tolist()
    room = harvest.room()
    assert past == room.past.tolist(), "making room writes nothing"
    assert len(room.names) > past[0]
    assert len(room.offsets) >= past[1] + hits.ROOM
    assert len(room.bitmaps) > past[2]
    assert expected_of(slots) == plain(harvest.block(ids_of(slots)))


@pytest.mark.parametrize("length", [0, 1, 3, 4, 7, 100])
def test_with_room_keeps_what_there_is(length):
    """Long enough it is the same array; else it grows at least twofold and keeps its values."""
    array = np.arange(6, dtype=np.uint16).reshape(3, 2)
    made = with_room(array, length)
    assert (made is array) == (length <= 3)
    assert array.tolist() == made[:3].tolist()
    assert len(made) >= (length if length <= 3 else max(length, 6))
    assert (array.dtype, 2) == (made.dtype, made.shape[1])


@given(slots_drawn(), st.integers(0, 7), st.integers(0, 7))
def test_among_any_places_oracle_is_the_block_of_those_clauses(slots, first, past):
    """A part of a block has the hits of its clauses, and carries nothing of the others."""
    block = harvest_of(slots)
    part = block.among(slice(first, past))
    part.check()
    chosen = list(plain(block).items())[first:past]
    assert dict(chosen) == plain(part)
    listed = sum(len(page[1]) for _, page in chosen if page[0] == "list")
    maps = sum(page[0] == "bitmap" for _, page in chosen)
    assert (listed, maps) == (len(part.offsets), len(part.bitmaps))
    assert plain(block) == dict(expected_of(slots)), "the block itself is as it was"


@pytest.mark.parametrize(
    "damage",
    [
        {"clause_ids": np.array([2, 1])},
        {"clause_ids": np.array([1, 1])},
        {"counts": np.array([1, 0], np.int32)},
        {"counts": np.array([1, 3], np.int32)},
        {"offsets": np.array([5, 9, 9], np.uint16), "counts": np.array([1, 2], np.int32)},
    ],
)
def test_check_of_a_damaged_block_fails(damage):
    """Ids, counts, lists that are not what they are said to be are noticed."""
    block = block_of({1: {5}, 2: {6, 9}})
    block.check()
    with pytest.raises(AssertionError):
        dataclasses.replace(block, **damage).check()


def test_forms_are_numbers_that_stores_keep():
    """What is written stays readable: the numbers of forms are part of the layout."""
    assert [0, 1, 2] == [Form.LIST, Form.BITMAP, Form.UNKEPT]
