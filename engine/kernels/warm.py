"""Kernels compiled, or loaded from where an earlier start has left them, before anybody waits for one."""

import numpy as np

from engine.kernels import bits, harvest, order
from engine.kernels.bits import CHUNK_WORDS, LITTLE
from engine.kernels.narrow import narrow
from engine.kernels.within import within

_SCANNED = (
    (np.int64, np.int64),
    (np.float64, np.float64),
    (np.uint8, np.int64),
    (np.int32, np.int64),
)
"""Values and ends of intervals as columns are scanned: whole numbers, DOUBLE, BOOLEAN, places of texts."""


def warm_up() -> int:
    """Call every kernel with every type of arguments it is used with; return how many that were.

    Cost: seconds where they have to be compiled, milliseconds each where they are loaded.
    """
    words = np.zeros(CHUNK_WORDS, dtype=LITTLE)
    lineage = np.zeros((1, CHUNK_WORDS), dtype=LITTLE)
    places = np.zeros(1, dtype=np.int32)
    flags = np.zeros(1, dtype=np.bool_)
    bits.positions(words)
    for values in (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.float64)):
        order.places_below(values, values)
        order.places_up_to(values, values)
    bitmaps, low, high = order.prefixes(places, places, places)
    edges = np.zeros(2, dtype=np.int32)
    narrow(lineage, flags, 0, places, edges, low, high, flags, bitmaps, words)
    harvest.counts(lineage, flags)
    harvest.write_offsets(lineage, np.zeros(0, dtype=np.int64), np.zeros(4, dtype=np.uint16), 0)
    for value, end in _SCANNED:
        ends = np.zeros(1, dtype=end)
        span = np.zeros(1, dtype=value)
        within(span, ends, ends, span, span, words)
    return 9 + len(_SCANNED)
