"""Hits as lists and bitmaps, against sets of rows."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.kernels import hits
from tests.engine.kernels import twins
from tests.engine.kernels.written_hits import kept, room_for, taken

EDGES = [
    (),
    (0,),
    (4_095,),
    (0, 63, 64, 4_095),
    range(4),
    range(5),
    range(60, 70),
    range(hits.FEW_BITS_MAX),
    range(hits.FEW_BITS_MAX + 1),
    range(4_096 - hits.FEW_BITS_MAX - 1, 4_096),
    range(hits.MANY_BITS_MIN - 1),
    range(4_096 - hits.MANY_BITS_MIN, 4_096),
    sorted({*range(0, 4_096, 64), *range(100, 104), *range(170, 175)}),
    sorted({*range(0, 4_096, 32), *range(100, 104), *range(170, 175)}),
    range(4_096),
]
"""Both ends of a chunk; both sides of what is few and of what is many; as many bits of a word as are written at once,
and more."""


def drawn(seed, count):
    """Return `count` rows of a chunk."""
    return set(np.random.default_rng(seed).permutation(4_096)[:count].tolist())


@pytest.mark.parametrize("rows", EDGES)
@pytest.mark.parametrize("begin", [0, 3])
def test_write_list_of_any_bits_differential_finds_each(rows, begin):
    """Few bits and many are listed, ascending, from where they begin; what was there before stays."""
    words = twins.words_from(set(rows), 64)
    for kernel in (hits.write_list, twins.plainly(hits.write_list)):
        found = np.full(begin + hits.ROOM, 9_999, dtype=np.uint16)
        kernel(words, len(rows), found, begin)
        assert [9_999] * begin == found[:begin].tolist()
        assert list(rows) == found[begin : begin + len(rows)].tolist()


@given(st.integers(0, 2**32), st.integers(0, 4_096) | st.integers(80, 180))
def test_write_list_of_any_rows_differential_is_sorted(seed, count):
    """Rows anywhere in the chunk come out ascending, each once."""
    rows = drawn(seed, count)
    words = twins.words_from(rows, 64)
    for kernel in (hits.write_list, twins.plainly(hits.write_list)):
        found = np.empty(hits.ROOM, dtype=np.uint16)
        kernel(words, count, found, 0)
        assert sorted(rows) == found[:count].tolist()


@given(st.lists(st.integers(0, 4_095), unique=True, max_size=12))
def test_insert_one_by_one_differential_is_sorted(rows):
    """Rows in any order make an ascending list, and nothing behind it is written."""
    for kernel in (hits.insert, twins.plainly(hits.insert)):
        found = np.full(len(rows) + 1, 9_999, dtype=np.uint16)
        for count, row in enumerate(rows):
            kernel(row, found, count)
            assert sorted(rows[: count + 1]) == found[: count + 1].tolist()
        assert 9_999 == found[-1]


@st.composite
def lineages(draw):
    """Draw slots with rows or without, alive or not, of each something wanted."""
    counts = draw(
        st.lists(
            st.sampled_from([0, 1, 5, 97, hits.LIST_ROWS_MAX, hits.LIST_ROWS_MAX + 1, 4_096]),
            max_size=6,
        )
    )
    names = draw(st.permutations(range(8)))[: len(counts)]
    rows = [drawn(100 * i + count, count) for i, count in enumerate(counts)]
    alive = [draw(st.integers(0, 4)) > 0 for _ in counts]
    return rows, alive, names, draw(st.lists(st.integers(0, 2), min_size=8, max_size=8))


@given(lineages(), st.sampled_from([(1, 1, 1), (2, 2, 1), (16, 8, 16)]), st.integers(0, 3))
def test_write_all_of_any_lineages_differential_writes_what_sets_say(world, room, first):
    """However little room there is, every clause with a row left comes out once, in its form, in order."""
    rows, alive, names, wanted = world
    expected = [
        (name, kept(sorted(some), wanted[name]))
        for some, lives, name in list(zip(rows, alive, names, strict=True))[first:]
        if lives and some
    ]
    words = np.array([twins.words_from(some, 64) for some in rows], np.uint64).reshape(-1, 64)
    arguments = words, np.array(alive, dtype=np.bool_), np.array(names, dtype=np.int32)
    entries, lists, bitmaps = room
    for kernel in (hits.write_all, twins.plainly(hits.write_all)):
        with twins.all_plain(*([hits] if kernel is not hits.write_all else [])):
            written = room_for(entries=entries, lists=lists, bitmaps=bitmaps)
            found, at = [], min(first, len(rows))
            while at < len(rows):
                past = kernel(*arguments, np.array(wanted, dtype=np.uint8), written, at)
                assert at < past <= len(rows), "with room for one at least, something is written"
                found += taken(written)
                at = past
            assert expected == found


@pytest.mark.parametrize("wanted", [hits.SPARSE, hits.SMALLER, hits.LISTS])
@pytest.mark.parametrize("count", [0, 1, hits.LIST_ROWS_MAX, hits.LIST_ROWS_MAX + 1, 4_096])
def test_write_listed_differential_writes_what_write_would(count, wanted):
    """Rows that are listed already are kept in the form that their bits would be kept in."""
    rows = drawn(count, count)
    with twins.all_plain(hits):
        listed, other = (room_for(entries=1, lists=1, bitmaps=1) for _ in range(2))
        listed.offsets[:count] = sorted(rows)
        hits.write_listed(5, count, np.full(6, wanted, dtype=np.uint8), *listed)
        hits.write(twins.words_from(rows, 64), 5, wanted, *other)
    expected = [(5, kept(sorted(rows), wanted))] if rows else []
    assert expected == taken(listed) == taken(other)


@pytest.mark.parametrize(
    ("past", "expected"),
    [
        ((0, 0, 0), True),
        ((1, hits.ROOM, 1), True),
        ((2, 0, 0), False),
        ((0, hits.ROOM + 1, 0), False),
        ((0, 0, 2), False),
    ],
)
def test_has_room_needs_a_place_of_each_kind(past, expected):
    """An entry, a list of every row and a bitmap, whatever the clause's hits turn out to be."""
    written = room_for(entries=2, lists=2, bitmaps=2)
    written.past[:] = past
    members = written.names, written.offsets, written.bitmaps, written.past
    assert expected is twins.plainly(hits.has_room)(*members)


def test_write_all_at_the_end_of_its_room_writes_nothing_past_it():
    """Every row of a chunk in the last list that there is room for: the arrays behind are as they were."""
    for kernel in (hits.write_all, twins.plainly(hits.write_all)):
        buffer = np.full(2 * hits.ROOM, 9_999, dtype=np.uint16)
        written = room_for(entries=1, lists=0, bitmaps=1)._replace(offsets=buffer[: hits.ROOM])
        words = np.full((1, 64), 2**64 - 1, dtype=np.uint64)
        names, wanted = np.zeros(1, np.int32), np.full(1, hits.LISTS, np.uint8)
        with twins.all_plain(*([hits] if kernel is not hits.write_all else [])):
            assert 1 == kernel(words, np.ones(1, dtype=np.bool_), names, wanted, written, 0)
        assert [9_999] * hits.ROOM == buffer[hits.ROOM :].tolist()
        assert [(0, ("list", list(range(4_096))))] == taken(written)
