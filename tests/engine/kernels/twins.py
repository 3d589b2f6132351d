"""Each kernel once more, slowly: single bits, single values, nothing packed and nothing shared.

Bits of words are sets of positions here, lineages lists of such sets.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

CHUNK = 4_096


def plainly(kernel: Any) -> Any:
    """Return the kernel as the Python function it was compiled from."""
    return kernel.py_func


def bits_of(words: Any) -> set[int]:
    """Return the positions set in (n,) words: bit i is bit i % 64 of word i // 64."""
    return {
        place * 64 + bit
        for place, word in enumerate(np.asarray(words).tolist())
        for bit in range(64)
        if word >> bit & 1
    }


def words_from(positions: set[int], words: int) -> Any:
    """Return `words` words with these bits set."""
    made = [0] * words
    for position in positions:
        made[position // 64] |= 1 << position % 64
    return np.array(made, dtype=np.uint64)


def places_below(ordered: Sequence[Any], bounds: Sequence[Any]) -> list[int]:
    """Return for each bound how many values are smaller."""
    return [sum(value < bound for value in ordered) for bound in bounds]


def places_up_to(ordered: Sequence[Any], bounds: Sequence[Any]) -> list[int]:
    """Return for each bound how many values are smaller or equal."""
    return [sum(value <= bound for value in ordered) for bound in bounds]


def narrowed(
    lineage: list[set[int]],
    factors: Sequence[tuple[int, Sequence[tuple[int, int]], bool]],
    *,
    order: Sequence[int],
    null_rows: set[int],
) -> list[set[int]]:
    """Return the lineage after factors (row of the lineage, ranges of places [low, high), takes NULL).

    A range whose end lies before its beginning is not asked for. A row below 0 is of nobody's factor.
    """
    left = [set(rows) for rows in lineage]
    for row, ranges, takes_null in factors:
        if row >= 0:
            satisfied = {order[place] for low, high in ranges for place in range(low, high)}
            left[row] &= satisfied | (null_rows if takes_null else set())
    return left


def within(values: Sequence[Any], intervals: Sequence[tuple[Any, Any]], bits: set[int]) -> set[int]:
    """Return the bits of values that lie in one of the closed intervals."""
    return {
        bit
        for bit in bits
        if bit < len(values) and any(low <= values[bit] <= high for low, high in intervals)
    }


def counts(lineage: Sequence[set[int]], alive: Sequence[bool]) -> list[int]:
    """Return how many bits each alive row has; 0 for others."""
    return [len(rows) if lives else 0 for rows, lives in zip(lineage, alive, strict=True)]


def offsets(lineage: Sequence[set[int]], slots: Sequence[int]) -> list[int]:
    """Return the bits of some rows, ascending in each."""
    return [bit for slot in slots for bit in sorted(lineage[slot])]


def gathered(
    held: Sequence[Sequence[Any]], columns: Sequence[int], first_row: int, rows: Sequence[int]
) -> list[list[int]]:
    """Return the values that columns of segments of 65,536 rows have at `rows`, column by column."""
    found = []
    for column in columns:
        places = [divmod(row - first_row, 65_536) for row in rows]
        found.append([int(held[segment][column][offset]) for segment, offset in places])
    return found
