"""The hits of one clause in many chunks: the form that each chunk's hits are kept in, and the lists."""

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import Words
from psoup.engine.kernels.compiled import uncounted
from psoup.engine.kernels.hits import write_list


@uncounted
def place(
    counts: NDArray[np.int32],
    list_max: int,
    forms: tuple[int, int],
    found: NDArray[np.uint8],
    places: NDArray[np.int32],
) -> tuple[int, int]:
    """Say how the hits of each chunk are kept, and where.

    Args:
        counts: (c,) hits of each chunk.
        list_max: up to so many are a list.
        forms: that of a list, and that of more.
        found: (c,) written: the form, that of a list where there are no hits.
        places: (c,) written: where the list begins, or the number of those before that are no list.

    Returns:
        How many hits are in lists, and how many chunks with hits are no list.
    """
    listed, others = 0, 0
    for chunk in range(len(counts)):
        count = counts[chunk]
        if count > list_max:
            found[chunk], places[chunk] = forms[1], others
            others += 1
        else:
            found[chunk], places[chunk] = forms[0], listed
            listed += count
    return listed, others


@uncounted
def write_lists(
    words: Words, counts: NDArray[np.int32], list_max: int, found: NDArray[np.uint16]
) -> None:
    """Write the places of the bits of each chunk that is a list, ascending, one behind the other.

    Args:
        words: (64 c,).
        counts: (c,) bits of each chunk.
        list_max: up to so many are a list.
        found: (hits in lists + SLACK,) written.

    Cost: O(64 c + hits).
    """
    at = 0
    for chunk in range(len(counts)):
        if 0 < counts[chunk] <= list_max:
            write_list(words[chunk * 64 : (chunk + 1) * 64], counts[chunk], found, at)
            at += counts[chunk]
