"""Which values of stored chunks lie in a clause's intervals: the scan that a fresh query is.

Minima and maxima of whole chunks are looked at first: a chunk that lies outside is cleared, one that lies
inside is left as it is, and neither is read.
"""

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bits import Words
from engine.kernels.compiled import compiled

FEW = 4
"""Up to this many intervals, comparing with each is faster than searching among them."""


@compiled
def within(
    values: NDArray[np.generic],
    lows: NDArray[np.generic],
    highs: NDArray[np.generic],
    least: NDArray[np.generic],
    most: NDArray[np.generic],
    words: Words,
) -> None:
    """Clear the bits of rows whose value lies in none of the closed intervals `[lows[j], highs[j]]`.

    Args:
        values: (n,) of an ordered dtype; row i has bit i. n is a multiple of the chunk's 4,096 but for the
            last chunk, whose bits past n are cleared.
        lows: (k,) ascending; the intervals are disjoint.
        highs: (k,) ascending.
        least: (ceil(n / 4096),) each chunk's smallest value.
        most: (ceil(n / 4096),) each chunk's largest value; above `least` or equal, or the other way round
            where they are not known.
        words: (64 ceil(n / 4096),) words; written.

    Cost: one pass over the values of chunks that are neither outside nor inside; O(log k) a value past
    FEW intervals.
    """
    flags = np.empty(4096, dtype=np.uint8)
    for chunk in range(len(words) // 64):
        bits = words[chunk * 64 : (chunk + 1) * 64]
        first = chunk * 4096
        part = values[first : first + 4096]
        if least[chunk] <= most[chunk] and len(part) == 4096:
            if len(lows) == 0 or most[chunk] < lows[0] or least[chunk] > highs[-1]:
                for word in range(64):
                    bits[word] = 0
                continue
            if len(lows) == 1 and lows[0] <= least[chunk] and most[chunk] <= highs[0]:
                continue
        if len(part) < 4096:
            for i in range(4096):
                flags[i] = 0
        _mark(part, lows, highs, flags)
        _and_flags(flags, bits)


@compiled
def _mark(
    part: NDArray[np.generic],
    lows: NDArray[np.generic],
    highs: NDArray[np.generic],
    flags: NDArray[np.uint8],
) -> None:
    if len(lows) == 1:
        low, high = lows[0], highs[0]
        for i in range(len(part)):
            flags[i] = (part[i] >= low) & (part[i] <= high)
    elif len(lows) <= 4:
        for i in range(len(part)):
            inside = False
            for j in range(len(lows)):
                inside |= (part[i] >= lows[j]) & (part[i] <= highs[j])
            flags[i] = inside
    else:
        for i in range(len(part)):
            at = np.searchsorted(lows, part[i], "right") - 1
            flags[i] = at >= 0 and part[i] <= highs[max(at, 0)]


@compiled
def _and_flags(flags: NDArray[np.uint8], words: Words) -> None:
    """Eight flags become eight bits by one multiplication: each byte's bit is carried to the top byte."""
    eights = flags.view(np.uint64)
    for word in range(len(words)):
        bits = np.uint64(0)
        for k in range(8):
            carried = eights[word * 8 + k] * np.uint64(0x0102_0408_1020_4080)
            bits |= (carried >> np.uint64(56)) << np.uint64(8 * k)
        words[word] &= bits
