"""LIKE of many texts at once: pieces of a pattern between `%`, found by Shift-And.

All positions of a piece are looked at together, one bit each (Baeza-Yates and Gonnet, 1992): bit j is set where the
piece's first j+1 characters end here. So a text costs one step for a character and 64 positions, whatever it holds.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import Words
from psoup.engine.kernels.compiled import inlined, uncounted

ASCII: Final = 128
NO_LEAD: Final = -1
_ONE: Final = np.uint64(1)
_LAST_BIT: Final = np.uint64(63)


class Needles(NamedTuple):
    """The pieces of a pattern as arrays, their characters in one line. Equal characters are of one class.

    Attributes:
        ends: (pieces,) int64, where each piece ends in the line; the first begins at 0.
        plain: (ASCII,) int64, the class of each ASCII character; 0 for those that the pattern does not have.
        others: ascending int32, the characters of the pattern beyond ASCII; their classes are the last ones.
        masks: (classes, words), bit j set where the line's j-th character is of the class, or stands for any one.
        leads: (pieces,) int64, the first character of each piece, NO_LEAD where it is any one, or there is none.
    """

    ends: NDArray[np.int64]
    plain: NDArray[np.int64]
    others: NDArray[np.int32]
    masks: Words
    leads: NDArray[np.int64]


@inlined
def _class_of(unit: Any, needles: Needles) -> int:
    """Return the class of a character."""
    if unit < ASCII:
        return int(needles.plain[unit])
    low, high = 0, len(needles.others)
    while low < high:
        middle = (low + high) >> 1
        if needles.others[middle] < unit:
            low = middle + 1
        else:
            high = middle
    if low < len(needles.others) and needles.others[low] == unit:
        return len(needles.masks) - len(needles.others) + low
    return 0


@uncounted
def stands(units: NDArray[Any], at: int, needles: Needles, begin: int, end: int) -> bool:
    """Return whether the pattern's characters `[begin, end)` stand in a text from `at` on."""
    for bit in range(begin, end):
        kind = _class_of(units[at + bit - begin], needles)
        if (needles.masks[kind, bit >> 6] >> np.uint64(bit & 63)) & _ONE == 0:
            return False
    return True


@inlined
def _begun(units: NDArray[Any], at: int, past: int, needles: Needles, piece: int) -> int:
    """Return the first place in `[at, past)` at which a piece may begin, `past` where there is none."""
    lead = needles.leads[piece]
    while lead != NO_LEAD and at < past and units[at] != lead:
        at += 1
    return at


@uncounted
def find_piece(
    units: NDArray[Any], at: int, past: int, needles: Needles, piece: int, state: Words
) -> int:
    """Return the place just behind the leftmost fit of a piece within `[at, past)` of the texts, -1 = there is none.

    `piece` is the number of one that is not empty, and not the first; `state` is written, one word for each of the
    pattern.
    """
    begin, end = needles.ends[piece - 1], needles.ends[piece]
    place = _begun(units, at, past, needles, piece)
    if end - begin == 1:
        return place + 1 if place < past else -1
    first, last = begin >> 6, (end - 1) >> 6
    start, goal = _ONE << np.uint64(begin & 63), _ONE << np.uint64((end - 1) & 63)
    for word in range(first, last + 1):
        state[word] = 0
    highest = first  # later words are zero
    while place < past:
        kind = _class_of(units[place], needles)
        place += 1
        entering, reach = start, min(highest + 1, last)
        highest = first
        for word in range(first, reach + 1):
            before = state[word]
            after = ((before << _ONE) | entering) & needles.masks[kind, word]
            entering = before >> _LAST_BIT
            state[word] = after
            if after != 0:
                highest = word
        if state[last] & goal:
            return place
        if highest == first and state[first] == 0:  # nothing has begun: on to where something may
            place = _begun(units, place, past, needles, piece)
    return -1


@uncounted
def match_like(
    units: NDArray[Any],
    edges: NDArray[np.int64],
    needles: Needles,
    state: Words,
    found: NDArray[np.bool_],
) -> None:
    """Tell which texts begin with the first piece, end with the last, and hold the others between these, in order.

    Args:
        units: characters of all texts, one after the other: uint8 where all are ASCII, else int32.
        edges: (texts + 1,), where texts begin and end in `units`.
        needles: a pattern of at least two pieces, some of which may be empty.
        state: (words of the pattern,), written.
        found: (texts,), written.

    Cost: about a nanosecond for a character and 64 positions of the piece looked for, of those that still may fit.
    """
    ends, pieces = needles.ends, len(needles.ends)
    foremost, rearmost = ends[0], ends[pieces - 2]
    for text in range(len(found)):
        at, past = edges[text] + foremost, edges[text + 1] - (ends[pieces - 1] - rearmost)
        fits = (
            at <= past
            and stands(units, at - foremost, needles, 0, foremost)
            and stands(units, past, needles, rearmost, ends[pieces - 1])
        )
        piece = 1
        while fits and piece < pieces - 1:
            if ends[piece - 1] < ends[piece]:
                at = find_piece(units, at, past, needles, piece, state)
                fits = at >= 0
            piece += 1
        found[text] = fits
