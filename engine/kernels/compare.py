"""Values to ranks, and intervals of ranks to bits: what a grouped filter computes.

c sorted distinct constants cut a domain into 2 c + 1 ranks: rank 2 i is the gap below constant i, rank
2 i + 1 is constant i itself, rank 2 c lies above all of them. One row more, `null_rank(c)`, stands for
NULL. An interval of values is an interval `[first, past)` of ranks, whatever its ends: open, closed, none.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bits import LITTLE, WORD_BITS, Words, pack

FEW: Final = 8
"""Up to this many constants, comparing with each is faster than searching among them."""

COMPARED_CELLS_MAX: Final = 1 << 22
"""Cells (rows x intervals) compared at once: bounds the memory of `within`."""


def null_rank(constants: int) -> int:
    """Return the rank of NULL among `constants` constants."""
    return 2 * constants + 1


def ranks(values: NDArray[Any], constants: NDArray[Any]) -> NDArray[np.int64]:
    """Return each value's rank among `constants`.

    Args:
        values: (n,) of an ordered dtype without NaN.
        constants: (c,) of the same dtype, ascending, distinct.

    Returns:
        (n,) int64 in [0, 2 c].

    Cost: O(n log c).
    """
    if len(constants) <= FEW:
        found = np.zeros(len(values), dtype=np.int64)
        for constant in constants:
            found += values >= constant
            found += values > constant
        return found
    found = np.searchsorted(constants, values, side="left")
    # Past the last constant the clipped gather can only meet a smaller one.
    equal: NDArray[np.bool_] = constants.take(found, mode="clip") == values
    return np.add(2 * found, equal, dtype=np.int64)


def rank_table(
    *,
    constants: int,
    covered: Words,
    slots: NDArray[np.int64],
    first: NDArray[np.int64],
    past: NDArray[np.int64],
    null_slots: NDArray[np.int64],
) -> Words:
    """Return the bit row of every rank: which slots a value of that rank satisfies.

    Args:
        constants: c, the number of constants.
        covered: (w,) words, the slots that have intervals here, or an empty set of them. All other
            slots are set in every row: what is not asked cannot fail.
        slots: (k,) the slot of each interval.
        first: (k,) the first rank that satisfies it.
        past: (k,) the rank past the last one. The intervals of one slot are disjoint.
        null_slots: slots that NULL satisfies.

    Returns:
        (2 c + 2, w) words; the last row is that of NULL.

    Cost: O(c w + k): each interval toggles its slot at both ends, and one running XOR fills the rows.
    """
    null = null_rank(constants)
    table = np.zeros((null + 1, len(covered)), dtype=LITTLE)
    words = slots // WORD_BITS
    bits = np.uint64(1) << (slots % WORD_BITS).astype(np.uint64)
    np.bitwise_xor.at(table, (first, words), bits)
    np.bitwise_xor.at(table, (past, words), bits)  # past = null at most: overwritten below
    np.bitwise_xor.accumulate(table[:null], axis=0, out=table[:null])
    table[null] = 0
    null_bits = np.uint64(1) << (null_slots % WORD_BITS).astype(np.uint64)
    np.bitwise_or.at(table[null], null_slots // WORD_BITS, null_bits)
    table |= ~covered
    return table


def within(
    values: NDArray[np.int64],
    *,
    covered: Words,
    slots: NDArray[np.int64],
    first: NDArray[np.int64],
    past: NDArray[np.int64],
    null_slots: NDArray[np.int64],
    null: int,
) -> Words:
    """Return the same bit rows as `rank_table(...)[values]`, by comparing, without a table.

    Args:
        values: (n,) ranks.
        covered: as in `rank_table`.
        slots: (k,) ascending.
        first: (k,) as in `rank_table`.
        past: (k,) as in `rank_table`.
        null_slots: as in `rank_table`.
        null: the rank of NULL.

    Cost: O(n k), n w words of result.
    """
    out = np.empty((len(values), len(covered)), dtype=LITTLE)
    everything = len(covered) * WORD_BITS
    starts = np.flatnonzero(np.diff(slots, prepend=-1))
    step = max(1, COMPARED_CELLS_MAX // max(1, len(slots), everything))
    for begin in range(0, len(values), step):
        part = values[begin : begin + step, None]
        satisfied = np.zeros((len(part), everything), dtype=np.bool_)
        if len(slots):
            inside = (part >= first) & (part < past)
            satisfied[:, slots[starts]] = np.logical_or.reduceat(inside, starts, axis=1)
        satisfied[:, null_slots] |= part == null
        out[begin : begin + step] = pack(satisfied)
    out |= ~covered
    return out
