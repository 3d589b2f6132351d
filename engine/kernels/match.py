"""Conjunctions of intervals over a chunk's rows. The hottest loops there are.

Each clause is routed through its own factors, the one with the fewest rows in this chunk first. If that has none
the clause is done; if it has a few, only these are looked at; else the rows of all are ANDed, 4,096 at a time.

Members of tuples are taken out before loops: each use of one inside is counted as a reference.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import ALL, Words
from psoup.engine.kernels.compiled import inlined, uncounted
from psoup.engine.kernels.hits import LIST, Written, has_room, insert, write, write_entry
from psoup.engine.kernels.rows import and_between, between, count_of

FEW: Final = 12
"""Up to so many candidates are looked at one by one: dearer each than a word of 64, cheaper than 64 words."""
NONE: Final = np.uint64(0)
NO_ROWS: Final = np.zeros(64, dtype=np.uint64)


class Clauses(NamedTuple):
    """Clauses that are conjunctions of factors; a factor is a union of intervals over one attribute.

    Attributes:
        names: (c,) int32, which clause; below 0 = it is not there any more.
        open: (c,) bool: has other factors as well, so it is not decided here.
        factors: (c + 1,) int32: clause i has the factors `[factors[i], factors[i + 1])`.
        attributes: (f,) int32, the attribute of each factor, by number.
        nulls: (f,) bool, whether NULL satisfies it.
        intervals: (f + 1,) int32: factor j has the intervals `[intervals[j], intervals[j + 1])`.
        lows: (k,) int32, the number of the bound where each interval begins.
        highs: (k,) int32, the number of the bound where it ends.
    """

    names: NDArray[np.int32]
    open: NDArray[np.bool_]
    factors: NDArray[np.int32]
    attributes: NDArray[np.int32]
    nulls: NDArray[np.bool_]
    intervals: NDArray[np.int32]
    lows: NDArray[np.int32]
    highs: NDArray[np.int32]


class Located(NamedTuple):
    """Where the bounds of clauses lie in a chunk.

    Attributes:
        places: (b,) int32, how many rows lie below each bound.
        rows: (b,) int32, which of `bitmaps` holds these.
        bitmaps: (u, 64) words: rows below bounds.
        orders: (a, 4096) int32, for each attribute the rows in ascending order of its values.
        in_order: (a,) bool, whether that is so; where it is not, single rows cannot be told.
        null_rows: (a, 64) words, for each attribute the rows that hold NULL.
    """

    places: NDArray[np.int32]
    rows: NDArray[np.int32]
    bitmaps: Words
    orders: NDArray[np.int32]
    in_order: NDArray[np.bool_]
    null_rows: Words


@uncounted
def narrowest(
    clauses: Clauses, located: Located, least: NDArray[np.int32], fewest: NDArray[np.int32]
) -> None:
    """Write for each clause the fewest rows that a factor of one interval has, and which factor it is.

    Args:
        clauses: whose factors are bounded by what is located.
        located: in the chunk.
        least: (c,) written; 4,097 where there is no such factor, 0 for clauses that are gone.
        fewest: (c,) written.
    """
    names, _, factors, _, nulls, intervals, lows, highs = clauses
    places = located.places
    for at in range(len(names)):
        found, which = 4_097, -1
        for factor in range(factors[at], factors[at + 1]):
            interval = intervals[factor]
            several = intervals[factor + 1] - interval
            if several <= 1 and not nulls[factor]:
                count = 0
                if several:
                    count = places[highs[interval]] - places[lows[interval]]
                if count < found:
                    found, which = count, factor
        least[at] = found if names[at] >= 0 else 0
        fewest[at] = which


@uncounted
def match_clauses(
    clauses: Clauses,
    located: Located,
    least: NDArray[np.int32],
    fewest: NDArray[np.int32],
    wanted: NDArray[np.uint8],
    written: Written,
    left: Words,
    left_names: NDArray[np.int32],
    first: int,
) -> tuple[int, int]:
    """Write the hits of clauses, and what open ones can still be satisfied by, while there is room.

    Args:
        clauses: whose factors are bounded by what is located.
        located: in the chunk.
        least: (c,) as `narrowest` writes them.
        fewest: (c,) the same.
        wanted: by name: `hits.SPARSE`, `SMALLER` or `LISTS`.
        written: written, in the order of the clauses.
        left: (r, 64) words, at least one; written: the rows of open clauses, and behind them anything.
        left_names: (r,) written: which clauses these are.
        first: the first clause to look at.

    Returns:
        The first clause that there was no room for, or their number; and how many open clauses have rows left.

    Cost: O(64 intervals) words; of a clause with a factor of FEW rows at most a look at each of these.
    """
    names, is_open, attributes = clauses.names, clauses.open, clauses.attributes
    w_names, forms, counts, places, offsets, w_bitmaps, w_past = written
    in_order, undecided = located.in_order, 0
    for at in range(first, len(names)):
        if least[at] == 0:
            continue
        if undecided == len(left) or not has_room(w_names, offsets, w_bitmaps, w_past):
            return at, undecided
        name = names[at]
        if least[at] <= FEW and not is_open[at] and in_order[attributes[fewest[at]]]:
            count = list_few(clauses, located, at, fewest[at], offsets[w_past[1] :])
            if count:
                write_entry(name, LIST, count, w_past[1], w_names, forms, counts, places, w_past)
                w_past[1] += count
            continue
        own = left[undecided]
        write_rows(clauses, located, at, own)
        if not is_open[at]:
            write(
                own, name, wanted[name], w_names, forms, counts, places, offsets, w_bitmaps, w_past
            )
        elif count_of(own):
            left_names[undecided] = name
            undecided += 1
    return len(names), undecided


@inlined
def write_rows(clauses: Clauses, located: Located, at: int, own: Words) -> None:
    """Write the rows that satisfy clause number `at` into (64,) words."""
    _, _, factors, attributes, nulls, intervals, lows, highs = clauses
    rows, bitmaps, null_rows = located.rows, located.bitmaps, located.null_rows
    first, past_factor = factors[at], factors[at + 1]
    if first < past_factor and is_plain(intervals, nulls, first):
        between(own, bitmaps, rows[lows[intervals[first]]], rows[highs[intervals[first]]])
        first += 1
    else:
        own[:] = ALL
    for factor in range(first, past_factor):
        begin, past = intervals[factor], intervals[factor + 1]
        if is_plain(intervals, nulls, factor):
            and_between(own, bitmaps, rows[lows[begin]], rows[highs[begin]])
        else:
            null_row = null_rows[attributes[factor]] if nulls[factor] else NO_ROWS
            and_union(own, bitmaps, rows, lows[begin:past], highs[begin:past], null_row)


@inlined
def list_few(
    clauses: Clauses, located: Located, at: int, fewest: int, offsets: NDArray[np.uint16]
) -> int:
    """List the rows that satisfy a clause, of those of its factor `fewest`, one interval; return how many they are."""
    _, _, factors, attributes, nulls, intervals, lows, highs = clauses
    places, rows, bitmaps, orders, _, null_rows = located
    one, count = intervals[fewest], 0
    for place in range(places[lows[one]], places[highs[one]]):
        row = orders[attributes[fewest], place]
        word, bits = row >> 6, ALL
        for factor in range(factors[at], factors[at + 1]):
            inside = null_rows[attributes[factor], word] if nulls[factor] else NONE
            for interval in range(intervals[factor], intervals[factor + 1]):
                upper, lower = rows[highs[interval]], rows[lows[interval]]
                inside |= bitmaps[upper, word] ^ bitmaps[lower, word]
            bits &= inside
        if (bits >> np.uint64(row & 63)) & np.uint64(1):
            insert(row, offsets, count)
            count += 1
    return count


@inlined
def is_plain(intervals: NDArray[np.int32], nulls: NDArray[np.bool_], factor: int) -> bool:
    """Return whether a factor is one interval, which NULL does not satisfy; members of `Clauses`."""
    return bool(intervals[factor + 1] - intervals[factor] == 1 and not nulls[factor])


@uncounted
def and_union(
    own: Words,
    bitmaps: Words,
    rows: NDArray[np.int32],
    lows: NDArray[np.int32],
    highs: NDArray[np.int32],
    null_row: Words,
) -> None:
    """Clear the rows that lie in none of some intervals and are not in `null_row` either."""
    for word in range(64):
        inside = null_row[word]
        for interval in range(len(lows)):
            upper, lower = rows[highs[interval]], rows[lows[interval]]
            inside |= bitmaps[upper, word] ^ bitmaps[lower, word]
        own[word] &= inside
