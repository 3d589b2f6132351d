"""Kernels of joins, compiled and plain, beside looking at every place."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.kernels import join, slot_lists
from tests.engine.kernels import twins
from tests.engine.kernels.twins import integers

ENDS = [-(2**63), -(2**63) + 1, 2**63 - 2, 2**63 - 1]
KEYS = st.integers(-4, 4) | st.sampled_from(ENDS)
CHUNK = twins.CHUNK


def spans(low, high):
    return list(zip(low.tolist(), high.tolist(), strict=True))


def words_drawn(rng, count, width, share=0.5):
    """Return (count, width) words, and the slots that each row has."""
    flags = rng.random((count, width * 64)) < share
    words = np.packbits(flags, axis=1, bitorder="little").view(np.uint64)
    return np.ascontiguousarray(words), [set(np.flatnonzero(row).tolist()) for row in flags]


@given(st.lists(KEYS, max_size=30), st.lists(KEYS, max_size=12), st.booleans())
def test_find_equal_of_any_values_differential_is_where_they_stand(keys, wanted, in_order):
    """Ascending or not, there or not, at the ends of what is held: the span, and how long all are."""
    keys = sorted(keys)
    wanted = sorted(wanted) if in_order else wanted
    expected = [twins.span_equal(keys, value) for value in wanted]
    for mode in twins.modes(join):
        low, high = np.full((2, len(wanted)), 77)
        total = join.find_equal(integers(keys), integers(wanted), low, high)
        assert sum(past - begin for begin, past in expected) == total, mode
        found = spans(low, high)
        for (begin, past), own in zip(expected, found, strict=True):
            assert own == (begin, past), mode
        values = keys[-1] - keys[0] + 1 if keys else 0
        if 0 < values < 1_000:
            low, high = np.full((2, len(wanted)), 77)
            begins = np.zeros(values + 1, dtype=np.int64)
            assert total == join.find_listed(integers(keys), integers(wanted), begins, low, high)
            listed = spans(low, high)
            assert [list(range(*own)) for own in found] == [list(range(*own)) for own in listed]


@given(
    st.lists(st.lists(KEYS, max_size=8).map(sorted), max_size=5),
    st.lists(st.tuples(st.integers(0, 4), KEYS, KEYS), max_size=8),
)
def test_find_within_of_any_spans_differential_keeps_what_lies_between(runs, asked):
    """Spans of ascending runs are narrowed to what a band has of each; an empty band has nothing."""
    keys = [key for run in runs for key in run]
    edges = np.cumsum([0, *map(len, runs)]).tolist()
    asked = [(min(run, len(runs)), least, most) for run, least, most in asked]
    begins = [(edges[run], edges[min(run + 1, len(runs))]) for run, _, _ in asked]
    expected = [
        twins.span_within(keys, least, most, *begin)
        for (_, least, most), begin in zip(asked, begins, strict=True)
    ]
    for mode in twins.modes(join):
        low, high = (integers([begin[i] for begin in begins]) for i in (0, 1))
        least, most = (integers([one[i] for one in asked]) for i in (1, 2))
        total = join.find_within(integers(keys), least, most, low, high)
        assert sum(map(len, expected)) == total, mode
        assert expected == [list(range(*own)) for own in spans(low, high)], mode


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 1_000])
def test_find_equal_far_behind_is_found_by_doubling_steps(count):
    """However far the next key is from the last: each of 1,000 keys among their neighbours."""
    keys = np.repeat(np.arange(count) * 2, 3)
    wanted = np.concatenate([np.arange(-1, 2 * count + 1, 7), np.arange(2 * count, -2, -3)])
    low, high = np.empty((2, len(wanted)), dtype=np.int64)
    total = join.find_equal(keys, wanted, low, high)
    assert np.array_equal(np.searchsorted(keys, wanted, "left"), low)
    assert np.array_equal(np.searchsorted(keys, wanted, "right"), high)
    assert int((high - low).sum()) == total


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=9))
def test_covered_by_any_spans_differential_are_places_in_some(drawn):
    """Spans may overlap, touch, be equal, empty or turned around."""
    expected = sorted(set().union(*(range(low, high) for low, high in drawn)))
    for mode in twins.modes(join):
        found = np.full(20, -1)
        low, high = integers([one[0] for one in drawn]), integers([one[1] for one in drawn])
        past = join.covered(low, high, 20, found)
        assert expected == found[:past].tolist(), mode


@given(
    st.lists(
        st.tuples(st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted), st.integers(0, 9)),
        max_size=9,
    )
)
def test_cover_counts_of_any_spans_differential_are_how_often_they_hold_a_place(drawn):
    """Spans that overlap or are empty, each counted several times."""
    expected = [
        sum(times for (low, high), times in drawn if low <= place < high) for place in range(10)
    ]
    for mode in twins.modes(join):
        counts = np.zeros(11, dtype=np.int64)
        low, high = (integers([one[0][end] for one in drawn]) for end in (0, 1))
        join.cover_counts(low, high, integers([one[1] for one in drawn]), counts)
        assert [*expected, 0] == counts.tolist(), mode


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted), max_size=9),
    st.integers(1, 3),
    st.integers(0, 2**32),
)
def test_paired_of_any_spans_differential_are_all_pairs_in_order(drawn, width, seed):
    """Without lineage all of them; with it those that share a slot, and what they share."""
    rng = np.random.default_rng(seed)
    left_words, left_slots = words_drawn(rng, len(drawn), width, 0.01)
    right_words, right_slots = words_drawn(rng, 9, width, 0.01)
    pairs = twins.pairs_of(drawn)
    shared = [left_slots[i] & right_slots[place] for i, place in pairs]
    for mode in twins.modes(join):
        low, high = integers([one[0] for one in drawn]), integers([one[1] for one in drawn])
        left, right = np.empty((2, len(pairs)), dtype=np.int64)
        join.paired(low, high, left, right)
        assert pairs == spans(left, right), mode
        named = np.arange(9) * 7
        join.paired_rows(low, high, named[: len(drawn)] + 1, named, left, right)
        assert [(7 * i + 1, 7 * place) for i, place in pairs] == spans(left, right), mode
        words = np.full((len(pairs), width), 2**64 - 1, dtype=np.uint64)
        count = join.paired_alive(low, high, left_words, right_words, left, right, words)
        alive = [(pair, some) for pair, some in zip(pairs, shared, strict=True) if some]
        assert [pair for pair, _ in alive] == spans(left, right)[:count], mode
        assert [some for _, some in alive] == twins.lineage_of(words[:count]), mode


@given(st.lists(st.integers(0, 129), unique=True, max_size=5), st.integers(0, 2**32))
def test_mark_of_any_lists_and_bitmaps_differential_sets_bits_of_rows_that_are_there(slots, seed):
    """What was set stays; rows past the last are nobody's, in lists and in bitmaps alike."""
    rng = np.random.default_rng(seed)
    count, width = int(rng.integers(1, 70)), 3
    rows = [rng.permutation(CHUNK)[: rng.integers(0, 200)] for _ in slots]
    rows = [np.append(own, rng.integers(0, count)) for own in rows]
    before, held = words_drawn(rng, count, width, 0.02)
    expected = [set(one) for one in held]
    for slot, own in zip(slots, rows, strict=True):
        for row in own[own < count].tolist():
            expected[row].add(slot)
    numbers = integers(slots)
    past = np.cumsum([0, *map(len, rows)])
    offsets = np.concatenate([np.empty(0, dtype=np.uint16), *rows]).astype(np.uint16)
    bitmaps = np.zeros((64 * width, 64), dtype=np.uint64)
    for slot, own in zip(slots, rows, strict=True):
        bitmaps[slot] = twins.words_from(set(own.tolist()), 64)
    for mode in twins.modes(join):
        words = before.copy()
        join.mark_lists(numbers, past[:-1], past[1:], offsets, words)
        assert expected == twins.lineage_of(words), mode
        words = before.copy()
        join.mark_bitmaps(bitmaps, words)
        assert expected == twins.lineage_of(words), mode


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_bitmaps_of_and_count_slots_and_list_rows_differential_turn_lineage_over(count, width):
    """Every slot gets its rows, as a bitmap and as a list; each row weighs what it is told."""
    rng = np.random.default_rng(count * 10 + width)
    words, held = words_drawn(rng, count, width, 0.1)
    slots = range(width * 64)
    expected = [set[int]() for _ in slots]
    for row, own in enumerate(held):
        for slot in own:
            expected[slot].add(row)
    weights = rng.integers(0, 1_000, count)
    weighed = [sum(weights[row] for row in rows) for rows in expected]
    for mode in twins.modes(join):
        found = np.zeros((width * 64, 64), dtype=np.uint64)
        join.bitmaps_of(words, found)
        assert expected == twins.lineage_of(found), mode
        sums = np.full(width * 64, 5)
        join.count_slots(words, weights, sums)
        assert [5 + weight for weight in weighed] == sums.tolist(), mode
    lengths = np.array([len(rows) for rows in expected])
    for mode in twins.modes(slot_lists):
        past = np.cumsum(lengths) - lengths
        offsets = np.empty(lengths.sum(), dtype=np.uint16)
        slot_lists.list_rows(words, past, offsets)
        listed = np.split(offsets, past[:-1])
        assert [sorted(rows) for rows in expected] == [own.tolist() for own in listed], mode


def test_bitmaps_of_a_whole_chunk_have_its_last_row():
    """Row 4,095 is the last bit of the last word."""
    words = np.zeros((CHUNK, 1), dtype=np.uint64)
    words[-1] = words[0] = 1 << 63
    for mode in twins.modes(join):
        found = np.zeros((64, 64), dtype=np.uint64)
        join.bitmaps_of(words, found)
        assert [set()] * 63 + [{0, CHUNK - 1}] == twins.lineage_of(found), mode


@pytest.mark.parametrize("width", [1, 2, 3])
def test_alive_differential_are_the_rows_with_some_bit(width):
    """In whichever word it is; of no rows none."""
    words, held = words_drawn(np.random.default_rng(width), 300, width, 0.004)
    expected = [row for row, slots in enumerate(held) if slots]
    assert 0 < len(expected) < 300, "some have none"
    for mode in twins.modes(join):
        places = np.empty(300, dtype=np.int64)
        assert expected == places[: join.alive(words, places)].tolist(), mode
        assert 0 == join.alive(words[:0], places), mode


def test_digests_tell_texts_apart_and_are_the_same_everywhere():
    """Of many texts no two agree, and what is compiled gives the numbers that Python gives."""
    texts = ["", "a", "b", "aa", "é", *(f"key-{i}" for i in range(200))]
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(one) for one in encoded])
    every = []
    for _ in twins.modes(join):
        found = np.empty(len(texts), dtype=np.int64)
        with np.errstate(over="ignore"):
            join.digests(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends, found)
        assert len(texts) == len(set(found.tolist()))
        every.append(found.tolist())
    assert all(one == every[0] for one in every)
