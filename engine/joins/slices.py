"""Spans cut into pieces: what is made of the places in them at once is bounded."""

from collections.abc import Iterator

import numpy as np

from psoup.engine.kernels.join import Places


def sliced(
    low: Places, high: Places, lengths: Places, size: int
) -> Iterator[tuple[Places | slice, Places, Places]]:
    """Yield the spans in pieces of at most `size` places: which they are, and where each begins and ends.

    A span that is longer is cut; spans without a place are left out.
    """
    some = np.flatnonzero(lengths)
    if not len(some):
        return
    low, high, lengths = low[some], high[some], lengths[some]
    if int(lengths.max()) > size:
        pieces = -(-lengths // size)
        number = np.arange(int(pieces.sum())) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        some, high = np.repeat(some, pieces), np.repeat(high, pieces)
        low = np.repeat(low, pieces) + number * size
        high = np.minimum(high, low + size)
        lengths = high - low
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(some):
        before = int(ends[begin - 1]) if begin else 0
        past = max(begin + 1, int(np.searchsorted(ends, before + size, side="right")))
        yield some[begin:past], low[begin:past], high[begin:past]
        begin = past
