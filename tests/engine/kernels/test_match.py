"""Conjunctions of intervals over a chunk's rows, against sets of rows."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.kernels import hits, match
from psoup.engine.kernels.match import FEW, Clauses, Located
from tests.engine.kernels import twins
from tests.engine.kernels.written_hits import kept, room_for, taken

EVERY_ROW = set(range(4_096))
NAMES = 12
ROOMS = [(1, 1, 1, 1), (2, 2, 1, 3), (16, 8, 16, 16)]
"""Entries, lists, bitmaps, open clauses that there is room for at once."""


@dataclasses.dataclass
class World:
    """Attributes in order, and clauses over them.

    Attributes:
        orders: for each attribute the rows that hold a value, in order.
        null_rows: the others.
        in_order: whether single rows can be told by it.
        clauses: (name, open, factors); a factor is (attribute, ranges of places, takes NULL).
    """

    orders: list[list[int]]
    null_rows: list[set[int]]
    in_order: list[bool]
    clauses: list[tuple[int, bool, list[Any]]]

    def rows(self, factors):
        return twins.satisfying(factors, orders=self.orders, null_rows=self.null_rows)

    def arrays(self):
        """Return the clauses and where their bounds lie, each bound of each factor with a number of its own."""
        factors = [factor for _, _, own in self.clauses for factor in own]
        ranges = [(a, place) for a, spans, _ in factors for span in spans for place in span]
        numbers = np.arange(len(ranges), dtype=np.int32)
        bitmaps = [twins.words_from(set(self.orders[a][:place]), 64) for a, place in ranges]
        orders = np.full((len(self.orders), 4_096), -1, dtype=np.int32)
        for attribute, order in enumerate(self.orders):
            if self.in_order[attribute]:
                orders[attribute, : len(order)] = order
        return Clauses(
            names=ints(name for name, _, _ in self.clauses),
            open=flags(is_open for _, is_open, _ in self.clauses),
            factors=edges(len(own) for _, _, own in self.clauses),
            attributes=ints(attribute for attribute, _, _ in factors),
            nulls=flags(takes_null for _, _, takes_null in factors),
            intervals=edges(len(spans) for _, spans, _ in factors),
            lows=numbers[::2].copy(),
            highs=numbers[1::2].copy(),
        ), Located(
            places=ints(place for _, place in ranges),
            rows=numbers[::-1].copy(),
            bitmaps=np.array(bitmaps[::-1], dtype=np.uint64).reshape(-1, 64),
            orders=orders,
            in_order=flags(self.in_order),
            null_rows=np.array([twins.words_from(rows, 64) for rows in self.null_rows]),
        )


def ints(values):
    return np.array(list(values), dtype=np.int32)


def flags(values):
    return np.array(list(values), dtype=np.bool_)


def edges(sizes):
    return np.cumsum([0, *sizes]).astype(np.int32)


@st.composite
def worlds(draw):
    """Draw up to three attributes with NULLs among their values, and clauses of any factors over them.

    Often a factor has few rows, and one in order: whatever clauses are told apart by has to be met often.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    orders, null_rows = [], []
    for _ in range(draw(st.sampled_from([2, 3, 1]))):
        permuted = rng.permutation(4_096).tolist()
        count = draw(st.sampled_from([4_000, 4_096, 20, 1, 0]))
        orders.append(permuted[:count])
        null_rows.append(set(permuted[count:]))

    def factor(attribute):
        count = len(orders[attribute])
        place = st.integers(0, count) | st.sampled_from([0, count])
        size = st.sampled_from([FEW, 2, 300, 4_096, FEW + 1, 1, 0])
        several = draw(st.sampled_from([1, 1, 1, 2, 0]))
        spans = [(draw(place), draw(size)) for _ in range(several)]
        ranges = [(low, min(count, low + many)) for low, many in spans]
        return attribute, ranges, draw(st.sampled_from([False, False, True]))

    clauses = []
    for name in draw(st.permutations(range(NAMES)))[: draw(st.sampled_from([6, 4, 2, 1, 0]))]:
        asked = rng.permutation(len(orders))[: draw(st.sampled_from([2, 1, 3, 0]))].tolist()
        gone, is_open = (draw(st.sampled_from([False, False, False, True])) for _ in range(2))
        clauses.append((-1 if gone else name, is_open, [factor(at) for at in sorted(asked)]))
    in_order = [draw(st.sampled_from([True, True, False])) for _ in orders]
    return World(orders, null_rows, in_order, clauses)


def wanted_drawn():
    return st.lists(st.integers(0, 2), min_size=NAMES, max_size=NAMES)


def narrowest_of(clauses, located):
    least, fewest = np.full((2, len(clauses.names)), -7, dtype=np.int32)
    match.narrowest(clauses, located, least, fewest)
    return least, fewest


@given(worlds())
def test_narrowest_of_any_clauses_differential_is_counted(world):
    """The factor of one interval with the fewest rows; none where all take NULL or several intervals."""
    clauses, located = world.arrays()
    for mode in twins.modes(hits, match):
        least, fewest = narrowest_of(clauses, located)
        for at, (name, _, factors) in enumerate(world.clauses):
            count, place = twins.narrowest(factors)
            which = place if place < 0 else clauses.factors[at] + place
            assert (count if name >= 0 else 0, which) == (least[at], fewest[at]), mode


@given(worlds(), wanted_drawn(), st.sampled_from(ROOMS))
def test_match_of_any_clauses_differential_finds_what_sets_leave(world, wanted, room):
    """Clauses settled and open, gone, without factors, in however little room: each has its rows, once, in order."""
    clauses, located = world.arrays()
    settled, undecided = [], {}
    for name, is_open, factors in world.clauses:
        rows = world.rows(factors) if name >= 0 else set()
        if rows and is_open:
            undecided[name] = rows
        elif rows:
            settled.append((name, kept(sorted(rows), wanted[name])))
    for mode in twins.modes(hits, match):
        written = written_for(room)
        found, left, orders = matched(clauses, located, wanted, room, written)
        assert settled == found, mode
        assert undecided == left, mode
        in_order = [name for name, _, _ in world.clauses if name in undecided]
        assert in_order == orders, "open clauses come out in their order"


def matched(clauses, located, wanted, room, written):
    """Return what is written for each clause, the rows of open clauses, and these in the order they came out in."""
    least, fewest = narrowest_of(clauses, located)
    entries = []
    words = np.full((room[3], 64), 7, dtype=np.uint64)
    names = np.full(room[3], -9, dtype=np.int32)
    at, left, in_order = 0, {}, []
    while at < len(least):
        past, count = match.match_clauses(
            clauses, located, least, fewest, np.array(wanted, np.uint8), written, words, names, at
        )
        assert past > at or count == room[3], "with room, something is looked at"
        in_order += names[:count].tolist()
        for name, row in zip(names[:count].tolist(), words[:count], strict=True):
            assert name not in left
            left[name] = twins.bits_of(row)
        entries += taken(written)
        at = past
    return entries, left, in_order


def written_for(room):
    entries, lists, bitmaps, _ = room
    return room_for(entries=entries, lists=lists, bitmaps=bitmaps)


def one_attribute(clauses, *, nulls=frozenset(), in_order=True):
    """Return a world of one attribute, in which row i has the i-th smallest value."""
    rows = [row for row in range(4_096) if row not in nulls]
    return World([rows], [set(nulls)], [in_order], clauses)


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("count", [0, 1, FEW, FEW + 1, 4_096])
def test_match_on_both_sides_of_few_differential_finds_the_same(count, in_order):
    """Looked at one by one or 64 at a time, the rows of an interval are the rows of the interval."""
    world = one_attribute([(3, False, [(0, [(0, count)], False)])], in_order=in_order)
    clauses, located = world.arrays()
    for mode in twins.modes(hits, match):
        found, left, _ = matched(clauses, located, [2] * NAMES, ROOMS[0], written_for(ROOMS[0]))
        assert ([(3, ("list", list(range(count))))] if count else []) == found, mode
        assert {} == left


def test_match_of_a_clause_without_factors_finds_every_row():
    """What nobody asks about is satisfied by all, NULL or not; so is what takes NULL and every value."""
    whole = [(0, [(0, 4_000)], True)]
    world = one_attribute([(0, False, []), (1, True, []), (2, False, whole)], nulls=range(96))
    clauses, located = world.arrays()
    for mode in twins.modes(hits, match):
        found, left, _ = matched(clauses, located, [1] * NAMES, ROOMS[2], written_for(ROOMS[2]))
        every = ("bitmap", list(range(4_096)))
        assert [(0, every), (2, every)] == found, mode
        assert {1: EVERY_ROW} == left, mode


def test_match_few_lists_rows_ascending_whatever_their_values():
    """Candidates come in order of values, hits in order of rows."""
    backwards = list(range(4_095, -1, -1))
    factors = [(0, [(100, 110)], False)]
    world = World([backwards], [set()], [True], [(5, False, factors)])
    clauses, located = world.arrays()
    for mode in twins.modes(hits, match):
        found, _, _ = matched(clauses, located, [0] * NAMES, ROOMS[0], written_for(ROOMS[0]))
        assert [(5, ("list", list(range(3_986, 3_996))))] == found, mode


def test_match_few_looks_at_every_other_factor_of_a_clause():
    """A candidate has to lie in an interval of each other factor, or to be NULL where that is taken."""
    nulls = set(range(100, 104))
    rows = [row for row in range(4_096) if row not in nulls]
    few = (0, [(98, 106)], False)
    asked = [
        (0, False, [few, (1, [(0, 100), (105, 106)], False)]),
        (1, False, [few, (1, [(0, 99)], True)]),
        (2, False, [few, (1, [(200, 4_000)], False)]),
        (3, False, [few, (1, [], True)]),
    ]
    world = World([list(range(4_096)), rows], [set(), nulls], [True, False], asked)
    expected = {0: [98, 99], 1: [98, *range(100, 104)], 3: list(range(100, 104))}
    assert rows[105] not in range(98, 106), "places past the NULLs are those of later rows"
    clauses, located = world.arrays()
    for mode in twins.modes(hits, match):
        found, _, _ = matched(clauses, located, [0] * NAMES, ROOMS[0], written_for(ROOMS[0]))
        assert [(name, ("list", some)) for name, some in expected.items()] == found, mode
        for at, (_, _, factors) in enumerate(asked):
            offsets = np.full(13, 9_999, dtype=np.uint16)
            count = match.list_few(clauses, located, at, 2 * at, offsets)
            assert expected.get(at, []) == offsets[:count].tolist(), mode
            assert len(factors) == 2, "the first of two is the one with few rows"


def test_match_without_room_for_one_more_open_clause_stops_there():
    """What is left is handed over when the room for open clauses is full, and it goes on behind it."""
    factors = [(0, [(0, 20)], False)]
    world = one_attribute([(i, True, factors) for i in range(3)] + [(9, False, factors)])
    clauses, located = world.arrays()
    for mode in twins.modes(hits, match):
        least, fewest = narrowest_of(clauses, located)
        words, names = np.zeros((2, 64), dtype=np.uint64), np.zeros(2, dtype=np.int32)
        written, wanted = written_for(ROOMS[2]), np.zeros(NAMES, np.uint8)
        arguments = clauses, located, least, fewest, wanted, written, words, names
        assert (2, 2) == match.match_clauses(*arguments, 0), mode
        assert [0, 1] == names.tolist()
        assert (4, 1) == match.match_clauses(*arguments, 2), mode
        assert 2 == names[0]
        assert [(9, ("list", list(range(20))))] == taken(written), mode


@given(
    st.lists(st.tuples(st.integers(0, 4_096), st.integers(0, 4_096)).map(sorted), max_size=4),
    st.sets(st.integers(0, 4_095)),
    st.sets(st.integers(0, 4_095), max_size=3),
)
def test_and_union_of_any_intervals_differential_keeps_their_rows(ranges, before, let_in):
    """Rows of one interval or another stay, and those that are let in anyway; none is set."""
    _, located = one_attribute([(0, False, [(0, ranges, False)])]).arrays()
    expected = before & (let_in | {row for low, high in ranges for row in range(low, high)})
    numbers = np.arange(2 * len(ranges), dtype=np.int32)
    for mode in twins.modes(hits, match):
        own, extra = twins.words_from(before, 64), twins.words_from(let_in, 64)
        spans = numbers[::2].copy(), numbers[1::2].copy()
        match.and_union(own, located.bitmaps, located.rows, *spans, extra)
        assert expected == twins.bits_of(own), mode
        assert let_in == twins.bits_of(extra), "what lets rows in is as it was"
