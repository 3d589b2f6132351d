"""Clauses by the one value of an attribute that each asks for: a chunk's values find them, nobody else is looked at.

Of 100,000 clauses over 100,000 values a chunk of 4,096 rows finds some 4,000; the others cost nothing.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from psoup.engine.kernels.bits import Words
from psoup.engine.kernels.compiled import prefetch, uncounted
from psoup.engine.kernels.hits import Written, has_room, write_listed
from psoup.engine.kernels.order import RADIX_BITS, RADIX_MASK, Integers

NOWHERE: Final = -1
_SPREADS: Final = tuple(
    np.uint64(odd) for odd in (0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93, 0xA076_1D64_78BD_642F)
)
"""2^64 over the golden ratio: products with it differ in their highest bits, of numbers in a row best of all, but not
of those at the stride of a Fibonacci number. Then one of the others, which have no such pattern, is taken."""
_STEPS: Final = 4
"""So many places a value are passed before the next is taken; half a place is what to expect."""
_BITS: Final = 0xFFFF_FFFF_FFFF_FFFF
ROW_MASK: Final = 4_095
FIND_AHEAD: Final = 32
MATCH_AHEAD: Final = 24
"""So many steps ahead a loop says what it will read, of memory that is not in the cache."""


class Table(NamedTuple):
    """Where each of some distinct values is among them, by its hash.

    Attributes:
        values: (2^s,) whole numbers; in places without one, whatever there is.
        places: (2^s,) int32, NOWHERE where there is none. At least half of them.
        spread: what values are multiplied with.
        shift: 64 - s.
    """

    values: Integers
    places: NDArray[np.int32]
    spread: np.uint64
    shift: int


class Pivoted(NamedTuple):
    """Clauses by value; value i has the clauses `[edges[i], edges[i + 1])`.

    Attributes:
        edges: (v + 1,) int32.
        clauses: (c + 1, 2) int32: which clause, below 0 = it is not there any more; and where its other
            factors begin, which end where the next clause's begin.
        ranges: (f, 3): for each of these the number of its attribute, and where its only interval begins and
            ends, both inside. NULL does not satisfy it.

    What is looked at together lies together: a chunk's candidates are far from each other.
    """

    edges: NDArray[np.int32]
    clauses: NDArray[np.int32]
    ranges: Integers


def table_of(values: Integers) -> Table:
    """Return where each of (v,) distinct values is. Cost: O(v), unless no spread tells them apart."""
    bits = max(1, (2 * len(values) - 1).bit_length())
    known = np.zeros(1 << bits, dtype=np.int64)
    places = np.full(1 << bits, NOWHERE, dtype=np.int32)
    for spread in _SPREADS[:-1]:
        made = Table(known, places, spread, 64 - bits)
        if _enter(values, made, _STEPS * len(places)):
            return made
        places.fill(NOWHERE)
    made = Table(known, places, _SPREADS[-1], 64 - bits)
    _enter(values, made, len(values) * len(places))
    return made


def hashed(value: Any, spread: Any, shift: Any) -> Any:
    """Return where the search for a whole number begins: the highest 64 - `shift` bits of a product."""
    return (int(value) & _BITS) * int(spread) % 2**64 >> shift


@overload(hashed, strict=False)
def _compile_hashed(value: Any, spread: Any, shift: Any) -> Any:
    del value, spread, shift  # of their types there are one each
    return lambda value, spread, shift: np.int64((np.uint64(value) * spread) >> np.uint64(shift))


@uncounted
def _enter(values: Integers, table: Table, most: int) -> bool:
    """Write the values into the table; return whether it was done before more than `most` places were passed."""
    known, places, spread, shift = table
    last = len(places) - 1
    passed = 0
    for place in range(len(values)):
        at = hashed(values[place], spread, shift)
        while places[at] != NOWHERE:
            at = (at + 1) & last
            passed += 1
        if passed > most:
            return False
        known[at] = values[place]
        places[at] = place
    return True


@uncounted
def find(
    values: Integers,
    null_rows: Words,
    table: Table,
    found: NDArray[np.int32],
    unsettled: NDArray[np.int32],
) -> None:
    """Write where each value is.

    Args:
        values: (4096,) by row.
        null_rows: (64,) words, rows that hold NULL, which is nowhere.
        table: of distinct values.
        found: (4096,) written; NOWHERE for values that are not in the table.
        unsettled: (2, 4096) written: room for rows, and the places that they have been looked for at.

    Cost: O(4096), a few places each. All rows are looked for at their next place in turn: no step waits for the
        memory of the one before it, nor depends on a branch that could be foretold wrongly.
    """
    known, places, spread, shift = table
    last = len(places) - 1
    rows, tried = unsettled
    count = 0
    for row in range(len(values)):
        ahead = hashed(values[(row + FIND_AHEAD) & ROW_MASK], spread, shift)
        prefetch(known, ahead)
        prefetch(places, ahead)
        at = hashed(values[row], spread, shift)
        null = (null_rows[row >> 6] >> np.uint64(row & 63)) & np.uint64(1)
        place = NOWHERE if null else places[at]
        found[row] = place
        rows[count], tried[count] = row, at
        count += (place != NOWHERE) & (known[at] != values[row])
    while count:
        left = 0
        for i in range(count):
            row, at = rows[i], (tried[i] + 1) & last
            place = places[at]
            found[row] = place
            rows[left], tried[left] = row, at
            left += (place != NOWHERE) & (known[at] != values[row])
        count = left


@uncounted
def by_place(
    found: NDArray[np.int32], past: int, rows: NDArray[np.int32], counts: NDArray[np.int32]
) -> tuple[int, int]:
    """Write the rows whose value was found by its place, and those of one place ascending.

    Args:
        found: (4096,) by row, where its value is.
        past: all places lie below it.
        rows: (2, 4096) written.
        counts: (2^RADIX_BITS,) written.

    Returns:
        Which of the two `rows` are so ordered, and how many of them there are.

    Cost: O(4096) for each RADIX_BITS bits of `past`: digit by digit, the lowest first.
    """
    count = 0
    for row in range(len(found)):
        rows[0, count] = row
        count += found[row] != NOWHERE
    ordered = shift = 0
    while past >> shift:
        counts[:] = 0
        for i in range(count):
            counts[(found[rows[ordered, i]] >> shift) & RADIX_MASK] += 1
        begin = 0
        for digit in range(len(counts)):
            begin, counts[digit] = begin + counts[digit], begin
        for i in range(count):
            row = rows[ordered, i]
            digit = (found[row] >> shift) & RADIX_MASK
            rows[1 - ordered, counts[digit]] = row
            counts[digit] += 1
        ordered = 1 - ordered
        shift += RADIX_BITS
    return ordered, count


@uncounted
def candidates(
    rows: NDArray[np.int32],
    found: NDArray[np.int32],
    edges: NDArray[np.int32],
    clauses: NDArray[np.int32],
    firsts: NDArray[np.int32],
    pasts: NDArray[np.int32],
) -> int:
    """Write the clauses that ask for a value that was found, and the rows that each has to look at.

    Args:
        rows: (n,) in the order that `by_place` writes.
        found: (4096,) by row, where its value is.
        edges: (v + 1,) as in `Pivoted`.
        clauses: (m,) written as far as there is room: which clauses.
        firsts: (m,) written: where among the rows those of its value begin.
        pasts: (m,) written: where they end.

    Returns:
        How many there are; more than m = there was no room, call again with more.
    """
    count = first = 0
    for past in range(1, len(rows) + 1):
        place = found[rows[past - 1]]
        if past < len(rows) and found[rows[past]] == place:
            continue
        for clause in range(edges[place], edges[place + 1]):
            if count < len(clauses):
                clauses[count], firsts[count], pasts[count] = clause, first, past
            count += 1
        first = past
    return count


@uncounted
def match_candidates(
    pivoted: Pivoted,
    clauses: NDArray[np.int32],
    firsts: NDArray[np.int32],
    pasts: NDArray[np.int32],
    rows: NDArray[np.int32],
    values: Integers,
    null_rows: Words,
    wanted: NDArray[np.uint8],
    written: Written,
    first: int,
) -> int:
    """Write the hits of candidates from number `first` on, while there is room.

    Args:
        pivoted: the clauses.
        clauses: (m,) the candidates.
        firsts: (m,) where the rows of each begin.
        pasts: (m,) where they end.
        rows: (n,) as given to `candidates`.
        values: (a, 4096) by attribute and row.
        null_rows: (a, 64) words, for each attribute the rows that hold NULL.
        wanted: by name: `hits.SPARSE`, `SMALLER` or `LISTS`.
        written: written.
        first: the first candidate to look at.

    Returns:
        The first candidate that there was no room for, or m.
    """
    standing, ranges = pivoted.clauses, pivoted.ranges
    names, forms, counts, places, offsets, bitmaps, past = written
    for at in range(first, len(clauses)):
        if not has_room(names, offsets, bitmaps, past):
            return at
        if at + 2 * MATCH_AHEAD < len(clauses):
            prefetch(standing, clauses[at + 2 * MATCH_AHEAD])
            prefetch(ranges, standing[clauses[at + MATCH_AHEAD], 1])
        clause, count = clauses[at], 0
        name, begin, end = standing[clause, 0], standing[clause, 1], standing[clause + 1, 1]
        if name < 0:
            continue
        for i in range(firsts[at], pasts[at]):
            row = rows[i]
            inside = True
            for factor in range(begin, end):
                attribute = ranges[factor, 0]
                value = values[attribute, row]
                null = (null_rows[attribute, row >> 6] >> np.uint64(row & 63)) & np.uint64(1)
                inside &= (ranges[factor, 1] <= value) & (value <= ranges[factor, 2]) & (null == 0)
            offsets[past[1] + count] = row
            count += inside
        write_listed(name, count, wanted, names, forms, counts, places, offsets, bitmaps, past)
    return len(clauses)
