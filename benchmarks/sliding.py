"""The published structures for aggregates of a sliding window, as bare kernels: count, sum, min and max.

Each keeps one window of a fixed number of values, takes the values in order, lets the oldest one go for each, and
answers from what it has kept. Rings of values and aggregates are arrays, a window's own places and sums are rows of
others, so that thousands of windows lie side by side. Nothing is around them: no log, no query, no late value, no NULL.

- Two-Stacks Lite (Tangwongsan, Hirzel, Schneider: In-order sliding-window aggregation in worst-case constant time, VLDB
  Journal 2021): aggregates to the end of the older part, and of the newer part one. Three steps a value, at times all.
- DABA Lite (the same): as much, spread over all values; never more than a few steps.
- FlatFAT (Tangwongsan and others: General incremental sliding-window aggregation, VLDB 2015): a binary tree of partial
  aggregates in an array, of which a value changes one leaf and its ancestors.
- SlickDeque (Shein, Chrysanthis, Labrinidis: SlickDeque, EDBT 2018): a running sum that values are added to and
  subtracted from, and of candidates for the least and the largest two queues in order.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Kind(IntEnum):
    """A structure: the branch of the kernels that is its own."""

    TWO_STACKS = 0
    DABA = 1
    FLAT_FAT = 2
    SLICK_DEQUE = 3


TWO_STACKS, DABA, FLAT_FAT, SLICK_DEQUE = map(int, Kind)
SUM, LEAST, LARGEST, VALUES = 0, 1, 2, 3
"""What is aggregated, and how much that is. The count is the number of values that a window holds."""
FRONT, LEFT, RIGHT, AGED, BACK, END = 0, 1, 2, 3, 4, 5
"""Places in a ring, which only grow: DABA's F, L, R, A, B, E; Two-Stacks has F, B and E."""
LEAST_FROM, LEAST_TO, LARGEST_FROM, LARGEST_TO = 1, 2, 3, 4
"""Those of SlickDeque beside FRONT and END: its queues of candidates."""
PLACES = 6


class Windows:
    """Windows of one kind and length, one for each condition; empty, until values have been slid through them.

    Attributes:
        rings: (m, c, 3) partial aggregates, or values.
        candidates: (m, 2, c) places of the values that may become the least, and the largest.
        places: (m, 6) of each window.
        sums: (m, 2, 3) aggregates that stand for more than one place: of DABA's middle, and of the newest values.
    """

    def __init__(self, kind: Kind, count: int, length: int) -> None:
        """Make `count` windows of `length` values each."""
        self.kind, self.length = kind, length
        room = 1 << (length + 1).bit_length()  # one value comes before the oldest one goes
        tree = kind is Kind.FLAT_FAT
        assert not tree or length & (length - 1) == 0, "a tree is as wide as its window"
        self.rings = np.empty((count, 2 * length if tree else room, VALUES))
        self.rings[:] = nothing()
        self.candidates = np.zeros((count, 2, room if kind is Kind.SLICK_DEQUE else 1), np.int64)
        self.places = np.zeros((count, PLACES), np.int64)
        self.sums = np.empty((count, 2, VALUES))
        self.sums[:] = nothing()

    def slide(self, conditions: Integers, values: Floats, found: Floats) -> None:
        """Take values in order, each into the window of its condition.

        Args:
            conditions: of the values.
            values: n of them.
            found: (k, 4) is written: count, sum, least and largest of the window that each n / k-th value came into.
        """
        every = len(values) // len(found) if len(found) else len(values) + 1
        state = (self.rings, self.candidates, self.places, self.sums)
        slide(int(self.kind), self.length, *state, conditions, values, every, found)

    def answers(self) -> Floats:
        """Return (m, 4) count, sum, least and largest of each window."""
        found = np.empty((len(self.places), 1 + VALUES))
        state = (self.rings, self.candidates, self.places, self.sums)
        ask_all(int(self.kind), *state, found)
        return found


def nothing() -> Floats:
    """Return the aggregates of no values."""
    return np.array([0.0, np.inf, -np.inf])


def inlined(function: Kernel) -> Kernel:
    """Return the function compiled, and kept on disk until this file changes; `py_func` is the plain one.

    References to arrays are not counted, as in the engine's kernels: they took nine tenths of the time.
    """
    njit: Any = numba.njit
    return cast("Kernel", njit(cache=True, _nrt=False, forceinline=True)(function))


@inlined
def join(into: Floats, one: Floats, other: Floats) -> None:
    """Write the aggregates of two."""
    into[SUM] = one[SUM] + other[SUM]
    into[LEAST] = min(one[LEAST], other[LEAST])
    into[LARGEST] = max(one[LARGEST], other[LARGEST])


@inlined
def copy(into: Floats, one: Floats) -> None:
    """Write the same aggregates."""
    into[SUM], into[LEAST], into[LARGEST] = one[SUM], one[LEAST], one[LARGEST]


@inlined
def clear(into: Floats) -> None:
    """Write the aggregates of no values."""
    into[SUM], into[LEAST], into[LARGEST] = 0.0, np.inf, -np.inf


@inlined
def append(ring: Floats, places: Integers, sums: Floats, value: float) -> None:
    """Put a value behind the newest one, and into the sums of the newest part."""
    newest, back = ring[places[END] & (len(ring) - 1)], sums[1]
    newest[SUM], newest[LEAST], newest[LARGEST] = value, value, value
    join(back, back, newest)
    places[END] += 1


@inlined
def evict_two_stacks(ring: Floats, places: Integers, sums: Floats) -> None:
    """Let the oldest value go: if the older part is empty, the newer one becomes it."""
    mask = len(ring) - 1
    if places[FRONT] == places[BACK]:
        for place in range(places[END] - 2, places[FRONT] - 1, -1):
            join(ring[place & mask], ring[place & mask], ring[(place + 1) & mask])
        places[BACK] = places[END]
        clear(sums[1])
    places[FRONT] += 1


@inlined
def settle_daba(ring: Floats, places: Integers, sums: Floats) -> None:
    """Go one step on in turning the newer part into an older one: `fixup` of the paper."""
    mask = len(ring) - 1
    if places[FRONT] == places[BACK]:
        places[LEFT : BACK + 1] = places[END]
        clear(sums[0])
        clear(sums[1])
        return
    if places[LEFT] == places[BACK]:
        places[LEFT] = places[FRONT]
        places[AGED] = places[BACK] = places[END]
        copy(sums[0], sums[1])
        clear(sums[1])
    if places[LEFT] == places[RIGHT]:
        for place in range(LEFT, AGED + 1):
            places[place] += 1
        return
    left, aged = ring[places[LEFT] & mask], ring[(places[AGED] - 1) & mask]
    join(left, left, sums[0])
    places[LEFT] += 1
    if places[AGED] != places[BACK]:
        join(aged, aged, ring[places[AGED] & mask])
    places[AGED] -= 1


@inlined
def change_leaf(ring: Floats, places: Integers, length: int, value: float) -> None:
    """Put a value where the oldest one was, and all that lies above it anew."""
    node = length + places[END] % length
    ring[node, SUM], ring[node, LEAST], ring[node, LARGEST] = value, value, value
    while node > 1:
        node >>= 1
        join(ring[node], ring[2 * node], ring[2 * node + 1])
    places[END] += 1


@inlined
def keep_candidate(
    ring: Floats, queue: Integers, places: Integers, ends: int, sign: float, oldest: int
) -> None:
    """Put the newest value behind those candidates that it does not replace; one that is too old goes."""
    mask = len(ring) - 1
    newest = places[END]
    first, past = places[ends], places[ends + 1]
    value = sign * ring[newest & mask, SUM]
    while past > first and sign * ring[queue[(past - 1) & mask] & mask, SUM] >= value:
        past -= 1
    queue[past & mask] = newest
    if queue[first & mask] < oldest:
        first += 1
    places[ends], places[ends + 1] = first, past + 1


@inlined
def slide_deque(
    ring: Floats, candidates: Integers, places: Integers, sums: Floats, length: int, value: float
) -> None:
    """Add the newest value, subtract the oldest one, and keep what can still become least or largest."""
    mask = len(ring) - 1
    ring[places[END] & mask, SUM] = value
    oldest = places[FRONT]
    sums[0, SUM] += value
    if places[END] - oldest == length:
        sums[0, SUM] -= ring[oldest & mask, SUM]
        oldest += 1
    keep_candidate(ring, candidates[0], places, LEAST_FROM, 1.0, oldest)
    keep_candidate(ring, candidates[1], places, LARGEST_FROM, -1.0, oldest)
    places[END] += 1
    places[FRONT] = oldest


@inlined
def ask(
    kind: int,
    ring: Floats,
    candidates: Integers,
    places: Integers,
    sums: Floats,
    found: Floats,
) -> None:
    """Write count, sum, least and largest of a window: O(1)."""
    mask = len(ring) - 1
    found[0] = places[END] - places[FRONT]
    if kind == FLAT_FAT:
        copy(found[1:], ring[1])
    elif kind == SLICK_DEQUE:
        found[1] = sums[0, SUM]
        found[2] = ring[candidates[0, places[LEAST_FROM] & mask] & mask, SUM]
        found[3] = ring[candidates[1, places[LARGEST_FROM] & mask] & mask, SUM]
    else:
        copy(found[1:], sums[1])
        if places[FRONT] != places[BACK]:
            join(found[1:], ring[places[FRONT] & mask], sums[1])


@inlined
def slide(
    kind: int,
    length: int,
    rings: Floats,
    candidates: Integers,
    places: Integers,
    sums: Floats,
    conditions: Integers,
    values: Floats,
    every: int,
    found: Floats,
) -> None:
    """Slide windows over values, and ask them: O(1) a value, O(log length) for a tree."""
    for number in range(len(values)):
        one, value = conditions[number], values[number]
        ring, own, several = rings[one], places[one], sums[one]
        if kind == TWO_STACKS:
            append(ring, own, several, value)
            if own[END] - own[FRONT] > length:
                evict_two_stacks(ring, own, several)
        elif kind == DABA:
            append(ring, own, several, value)
            settle_daba(ring, own, several)
            if own[END] - own[FRONT] > length:
                own[FRONT] += 1
                settle_daba(ring, own, several)
        elif kind == FLAT_FAT:
            change_leaf(ring, own, length, value)
            if own[END] - own[FRONT] > length:
                own[FRONT] += 1
        else:
            slide_deque(ring, candidates[one], own, several, length, value)
        if (number + 1) % every == 0:
            asked = found[(number + 1) // every - 1]
            ask(kind, ring, candidates[one], own, several, asked)


@inlined
def ask_all(
    kind: int, rings: Floats, candidates: Integers, places: Integers, sums: Floats, found: Floats
) -> None:
    """Ask all windows: O(1) each."""
    for one in range(len(places)):
        ask(kind, rings[one], candidates[one], places[one], sums[one], found[one])
