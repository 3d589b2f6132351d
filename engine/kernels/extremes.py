"""The least and the largest value of each group, and the row of each group that stands first by several keys."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.compiled import compiled, inlined

Integers = NDArray[np.int64]


FLOATS: Final = 0x7FFF_FFFF_FFFF_FFFF
"""Bits that are the other way round in negative floats, so that all bits together are in the order of the values."""
WHOLE: Final = 0
"""The same of whole numbers."""
_MINUS_ZERO: Final = -1
"""The key of -0.0."""


@inlined
def _key(word: Any, turned: Any, flip: Any) -> Any:
    """Return a whole number in the order of the values, or the other way round where `flip` is -1."""
    return word ^ ((word >> 63) & turned) ^ flip


@compiled
def least_of_groups(
    words: Integers, labels: NDArray[Any], rows: Integers, place: int, turned: int, flip: int
) -> None:
    """Write the least key of the values of each group.

    Args:
        words: (n,) int64, or finite float64 given by their bits.
        labels: (n,) the group of each, int32 or int64.
        rows: (g, w), written at `place`, where the largest int64 stands; a group without values keeps it. Keys of
            floats are as `sortable` has them.
        place: in a row.
        turned: FLOATS or WHOLE.
        flip: 0, or -1 where the largest are looked for: keys then descend, their bits the other way round.

    Cost: 0.5 ns a value.
    """
    for row in range(len(words)):
        group, key = np.uint64(labels[row]), _key(words[row], turned, flip)
        least = rows[group, place]
        if key < least:  # seldom: mostly nothing is written
            rows[group, place] = key
    _without_minus_zero(rows, place, turned, flip)


@compiled
def least_of_runs(
    words: Integers, edges: Integers, rows: Integers, place: int, turned: int, flip: int
) -> None:
    """Do as `least_of_groups` where group i has the values `[edges[i], edges[i + 1])`. Cost: 0.1 ns a value."""
    for group in range(len(edges) - 1):
        part, least = words[edges[group] : edges[group + 1]], rows[group, place]
        for row in range(len(part)):  # from 0 on, so that it is a loop of vectors
            least = min(least, _key(part[row], turned, flip))
        rows[group, place] = least
    _without_minus_zero(rows, place, turned, flip)


@inlined
def _without_minus_zero(rows: Any, place: Any, turned: Any, flip: Any) -> Any:
    if turned:
        for group in range(len(rows)):
            if rows[group, place] ^ flip == _MINUS_ZERO:
                rows[group, place] = flip


@compiled
def least_of_spans(
    keys: Integers, low: Integers, high: Integers, tree: Integers, found: Integers
) -> None:
    """Write the least of the keys `[low[i], high[i])` for each span i, none of which is empty.

    Args:
        keys: (n,).
        low: (k,) where spans begin.
        high: (k,) where they end.
        tree: (2 n,) written: keys, and above each two of them the lesser.
        found: (k,) written.

    Cost: 2 ns a key, O(log n) for each span, nothing where it is that of the span before.
    """
    count = len(keys)
    tree[count:] = keys
    for node in range(count - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
    for span in range(len(low)):
        if span and low[span] == low[span - 1] and high[span] == high[span - 1]:
            found[span] = found[span - 1]
            continue
        least = keys[low[span]]
        begin, past = low[span] + count, high[span] + count
        while begin < past:
            if begin & 1:
                least = min(least, tree[begin])
                begin += 1
            if past & 1:
                past -= 1
                least = min(least, tree[past])
            begin >>= 1
            past >>= 1
        found[span] = least


@compiled
def first_rows(keys: Integers, labels: Integers, found: Integers) -> None:
    """Write the row of each group whose keys are the least, compared one after the other.

    Args:
        keys: (k, n); the least row number among rows that are equal in all.
        labels: (n,) the group of each row.
        found: (g,) filled with -1; a group without rows stays so.

    Cost: 3 ns a row.
    """
    for row in range(len(labels)):
        best = found[labels[row]]
        less = best < 0
        if not less:
            for key in range(len(keys)):
                if keys[key, row] != keys[key, best]:
                    less = keys[key, row] < keys[key, best]
                    break
        if less:
            found[labels[row]] = row
