"""One clause's hits out of match blocks: found in all blocks of a segment, and written as rows, in two calls."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.addresses import byte, int32, short, word
from psoup.engine.kernels.compiled import compiled, lowest

IDS, FORMS, COUNTS, PLACES, OFFSETS, BITMAPS, LENGTH = range(7)
"""Columns of a table of blocks: where their arrays lie, and how many clauses are in them; 0 = no block."""
WIDTH = 7


@compiled
def locate(blocks: NDArray[Any], clause_id: int, found: NDArray[np.int64]) -> int:
    """Find a clause in blocks; return how many hits of it they keep.

    Args:
        blocks: (c, WIDTH) int64, a block each. Whoever calls keeps their arrays alive.
        clause_id: the clause.
        found: (c, 3), written: form, number of hits, kept or not, and place; no hits where it is not there.

    Cost: O(c log clauses).
    """
    total = 0
    for chunk in range(len(blocks)):
        ids, length = blocks[chunk, 0], blocks[chunk, 6]
        low, high = 0, length
        while low < high:
            middle = (low + high) >> 1
            if word(ids, middle) < clause_id:
                low = middle + 1
            else:
                high = middle
        found[chunk, 1] = 0
        if low < length and word(ids, low) == clause_id:
            found[chunk, 0] = byte(blocks[chunk, 1], low)
            found[chunk, 1] = int32(blocks[chunk, 2], low)
            found[chunk, 2] = int32(blocks[chunk, 3], low)
            if found[chunk, 0] < 2:
                total += found[chunk, 1]
    return total


@compiled
def write_rows(
    blocks: NDArray[Any], found: NDArray[np.int64], first_row: int, rows: NDArray[np.int64]
) -> None:
    """Write the rows of the hits that blocks keep, ascending.

    Args:
        blocks: (c, WIDTH) as `locate` takes them, of chunks of 4,096 rows that follow each other.
        found: (c, 3) as `locate` wrote it.
        first_row: the first row of the first chunk.
        rows: (n,) written; as many as `locate` returned.

    Cost: O(c + n), and 64 words a bitmap.
    """
    at = 0
    for chunk in range(len(blocks)):
        form, count, place = found[chunk]
        base = first_row + chunk * 4096
        if form == 0:
            offsets = blocks[chunk, 4]
            for one in range(place, place + count):
                rows[at] = base + short(offsets, one)
                at += 1
        elif form == 1 and count > 0:
            bitmaps = blocks[chunk, 5]
            for of_chunk in range(64):
                bits = np.uint64(word(bitmaps, place * 64 + of_chunk))
                while bits:
                    rows[at] = base + of_chunk * 64 + lowest(bits)
                    at += 1
                    bits &= bits - np.uint64(1)
