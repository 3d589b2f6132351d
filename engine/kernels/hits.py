"""A lineage to hits: the rows that each clause matched, as a list or as a bitmap.

Hits are written one clause after the other into arrays that are used again for the next chunk.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import Words
from psoup.engine.kernels.compiled import inlined, lowest, ones, uncounted, without_lowest
from psoup.engine.kernels.rows import copy, count_of, with_bits

LIST: Final = 0
BITMAP: Final = 1
UNKEPT: Final = 2
"""Forms that the hits of a clause are written in."""

SPARSE: Final = 0
SMALLER: Final = 1
LISTS: Final = 2
"""How a clause's hits are kept: as lists if these are smaller, else not at all; in the smaller form; as lists."""

LIST_ROWS_MAX: Final = 256
"""Two bytes a row in a list, an eighth of a byte a row in a bitmap: equal at 1/16 of a chunk."""

FEW_BITS_MAX: Final = 96
"""Up to so many bits in 64 words, a word is looked at only if it has some."""

UNPLACED: Final = -1

MANY_BITS_MIN: Final = 160
"""Of so many bits in 64 words, many words have more than four."""

SLACK: Final = 6
"""Places behind a list that may be written over, and are never read."""

ROOM: Final = 4_096 + SLACK
"""Places that have to be there before a clause's hits are written."""


class Written(NamedTuple):
    """Hits as they are written: entry i is those of one clause.

    Attributes:
        names: (n,) int32, which clause.
        forms: (n,) uint8.
        counts: (n,) int32, how many hits, written or not.
        places: (n,) int32: where its list begins, or the number of its bitmap, or UNPLACED.
        offsets: (m,) uint16, the lists.
        bitmaps: (d, 64) words.
        past: (3,) int64: entries, places of lists and bitmaps that are written.
    """

    names: NDArray[np.int32]
    forms: NDArray[np.uint8]
    counts: NDArray[np.int32]
    places: NDArray[np.int32]
    offsets: NDArray[np.uint16]
    bitmaps: Words
    past: NDArray[np.int64]


@inlined
def has_room(
    names: NDArray[np.int32],
    offsets: NDArray[np.uint16],
    bitmaps: Words,
    past: NDArray[np.int64],
) -> bool:
    """Return whether one more clause's hits can be written, whatever they are; members of `Written`."""
    room = past[0] < len(names) and past[1] + ROOM <= len(offsets) and past[2] < len(bitmaps)
    return bool(room)


@inlined
def write(
    words: Words,
    name: int,
    wanted: int,
    names: NDArray[np.int32],
    forms: NDArray[np.uint8],
    counts: NDArray[np.int32],
    places: NDArray[np.int32],
    offsets: NDArray[np.uint16],
    bitmaps: Words,
    past: NDArray[np.int64],
) -> None:
    """Write the hits of one clause, if it has any, into the members of `Written`, which have room.

    `words` are its (64,) rows, `name` says which it is, `wanted` is SPARSE, SMALLER or LISTS.
    Cost: O(64 + hits listed).
    """
    count = count_of(words)
    if count:
        form, place = UNKEPT, UNPLACED
        if count <= LIST_ROWS_MAX or wanted == LISTS:
            form, place = LIST, past[1]
            write_list(words, count, offsets, place)
            past[1] += count
        elif wanted == SMALLER:
            form, place = BITMAP, past[2]
            copy(words, bitmaps, place)
            past[2] += 1
        write_entry(name, form, count, place, names, forms, counts, places, past)


@inlined
def write_listed(
    name: int,
    count: int,
    wanted: NDArray[np.uint8],
    names: NDArray[np.int32],
    forms: NDArray[np.uint8],
    counts: NDArray[np.int32],
    places: NDArray[np.int32],
    offsets: NDArray[np.uint16],
    bitmaps: Words,
    past: NDArray[np.int64],
) -> None:
    """Write the hits of one clause, if it has any, that are listed already where the next list goes; else as `write`.

    `wanted` is by name. Whether there are hits cannot be foretold: no branch depends on it.
    """
    if count <= LIST_ROWS_MAX or wanted[name] == LISTS:
        write_entry(name, LIST, count, past[1], names, forms, counts, places, past)
        past[0] -= count == 0
        past[1] += count
    else:
        form, place = UNKEPT, UNPLACED
        if wanted[name] == SMALLER:
            form, place = BITMAP, past[2]
            past[2] += 1
            bitmaps[place] = 0
            for row in offsets[past[1] : past[1] + count]:
                bitmaps[place, row >> 6] |= np.uint64(1) << np.uint64(row & 63)
        write_entry(name, form, count, place, names, forms, counts, places, past)


@inlined
def write_entry(
    name: int,
    form: int,
    count: int,
    place: int,
    names: NDArray[np.int32],
    forms: NDArray[np.uint8],
    counts: NDArray[np.int32],
    places: NDArray[np.int32],
    past: NDArray[np.int64],
) -> None:
    """Write that a clause has `count` hits, and where they are."""
    at = past[0]
    names[at] = name
    forms[at] = form
    counts[at] = count
    places[at] = place
    past[0] = at + 1


@uncounted
def insert(row: int, offsets: NDArray[np.uint16], count: int) -> None:
    """Write one more row into an ascending list of `count`. Cost: O(count)."""
    at = count
    while at > 0 and offsets[at - 1] > row:
        offsets[at] = offsets[at - 1]
        at -= 1
    offsets[at] = row


@inlined
def write_word(word: Any, place: int, few: int, offsets: NDArray[np.uint16], at: Any) -> None:
    """Write the places of the bits of word number `place` from `at` on: `few` without a test, then the rest."""
    beyond = at
    for _ in range(few):
        offsets[beyond] = (place * 64 + lowest(word)) & 0xFFFF
        beyond += np.uint64(1)
        word = without_lowest(word)
    while word:
        offsets[beyond] = place * 64 + lowest(word)
        beyond += np.uint64(1)
        word = without_lowest(word)


@uncounted
def write_list(words: Words, count: int, offsets: NDArray[np.uint16], begin: int) -> None:
    """Write the places of the bits of (64,) words, ascending, from `begin` on.

    Cost: of few bits, one step for each word that has some. Of many, some places of each word are written without a
        test, which is faster; the next word's places overwrite those of bits that were not set.
    """
    at = np.uint64(begin)
    if count <= FEW_BITS_MAX:
        some = with_bits(words)
        while some:
            place = lowest(some)
            some = without_lowest(some)
            write_word(words[place], place, 3, offsets, at)
            at += np.uint64(ones(words[place]))
    elif count < MANY_BITS_MIN:
        for place in range(64):
            write_word(words[place], place, 4, offsets, at)
            at += np.uint64(ones(words[place]))
    else:
        for place in range(64):
            write_word(words[place], place, SLACK, offsets, at)
            at += np.uint64(ones(words[place]))


@uncounted
def write_all(
    lineage: Words,
    alive: NDArray[np.bool_],
    names: NDArray[np.int32],
    wanted: NDArray[np.uint8],
    written: Written,
    first: int,
) -> int:
    """Write the hits of the lineages from number `first` on, while there is room.

    Args:
        lineage: (s, 64) words, one row of words a clause.
        alive: (s,) whether a clause has a bit left.
        names: (s,) which clauses they are.
        wanted: by name: SPARSE, SMALLER or LISTS.
        written: written.
        first: the first lineage to look at.

    Returns:
        The first that there was no room for, or s.
    """
    w_names, forms, counts, places, offsets, bitmaps, past = written
    for at in range(first, len(lineage)):
        if alive[at]:
            if not has_room(w_names, offsets, bitmaps, past):
                return at
            write(
                lineage[at],
                names[at],
                wanted[names[at]],
                w_names,
                forms,
                counts,
                places,
                offsets,
                bitmaps,
                past,
            )
    return len(lineage)
