"""Joins of tuples by key: spans of an index that keys fall into, pairs made of spans, lineage by row.

An index is the rows of one side in order of a key: first of what has to be equal, then, among equals, of what has
to lie in a band. Whatever a row of the other side asks for is one span of it, found by searching; a span's length
is the number of partners, known before a single pair is made.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import Words
from psoup.engine.kernels.compiled import compiled, inlined, lowest, without_lowest

Integers = NDArray[np.int64]
Places = NDArray[np.int64]


@inlined
def _reached(keys: Any, value: int, first: int, past: int) -> int:
    """Return the first place in `[first, past)` whose key is `value` or more; doubling steps from `first`."""
    step = 1
    low, high = first, first
    while high < past and keys[high] < value:
        low = high + 1
        high += step
        step *= 2
    high = min(high, past)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _passed(keys: Any, value: int, first: int, past: int) -> int:
    """Return the first place in `[first, past)` whose key is more than `value`; doubling steps from `first`."""
    step = 1
    low, high = first, first
    while high < past and keys[high] <= value:
        low = high + 1
        high += step
        step *= 2
    high = min(high, past)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def find_equal(keys: Integers, wanted: Integers, low: Places, high: Places) -> int:
    """Write the span of `keys` that equals each value; return how many places all spans have.

    Args:
        keys: (n,) ascending.
        wanted: (k,) any order; fastest where they ascend.
        low: (k,) written, where each span begins.
        high: (k,) written, where it ends; equal to `low` where there is none.

    Cost: O(k log n), O(k + n) at most where `wanted` ascends.
    """
    total, at = 0, 0
    for i in range(len(wanted)):
        value = wanted[i]
        if i and value < wanted[i - 1]:
            at = 0
        begin = _reached(keys, value, at, len(keys))
        past = _passed(keys, value, begin, len(keys))
        at = begin
        low[i], high[i] = begin, past
        total += past - begin
    return total


@compiled
def find_listed(keys: Integers, wanted: Integers, begins: Places, low: Places, high: Places) -> int:
    """Do as `find_equal` for keys that span little: where those of each value begin is listed first.

    Args:
        keys: (n,) ascending, n at least 1.
        wanted: (k,) any order.
        begins: (s + 1,) zeros, s how many values there are from the least key to the largest; written.
        low: (k,) written, where each span begins.
        high: (k,) written, where it ends; equal to `low` where there is none.

    Cost: O(k + n + s), 2 ns each.
    """
    least = keys[0]
    for key in keys:
        begins[key - least + 1] += 1
    for value in range(1, len(begins)):
        begins[value] += begins[value - 1]
    total = 0
    for i in range(len(wanted)):
        value = wanted[i]
        if least <= value <= keys[-1]:
            low[i], high[i] = begins[value - least], begins[value - least + 1]
            total += high[i] - low[i]
        else:
            low[i] = high[i] = 0
    return total


@compiled
def find_within(keys: Integers, least: Integers, most: Integers, low: Places, high: Places) -> int:
    """Narrow spans, within each of which `keys` ascend, to the keys in `[least, most]`; return their places.

    Args:
        keys: (n,).
        least: (k,) inclusive.
        most: (k,) inclusive.
        low: (k,) where the spans begin; narrowed in place.
        high: (k,) where they end; narrowed in place.

    Cost: O(k log n).
    """
    total = 0
    for i in range(len(least)):
        begin, past = low[i], high[i]
        if begin < past:
            begin = _reached(keys, least[i], begin, past)
            past = _passed(keys, most[i], begin, past)
            low[i], high[i] = begin, past
            total += past - begin
    return total


@compiled
def covered(low: Places, high: Places, count: int, found: Places) -> int:
    """Write the places that lie in some span, ascending; return how many.

    Args:
        low: (k,) where spans of `[0, count)` begin, which may overlap.
        high: (k,) where they end.
        count: number of places.
        found: (count,) written from the left.

    Cost: O(k + count).
    """
    edges = np.zeros(count + 1, dtype=np.int32)
    for i in range(len(low)):
        if low[i] < high[i]:
            edges[low[i]] += 1
            edges[high[i]] -= 1
    depth, past = 0, 0
    for place in range(count):
        depth += edges[place]
        if depth > 0:
            found[past] = place
            past += 1
    return past


@compiled
def cover_counts(low: Places, high: Places, times: Integers, counts: Integers) -> None:
    """Count for each place how often spans hold it.

    Args:
        low: (k,) where spans of `[0, n)` begin, which may overlap.
        high: (k,) where they end.
        times: (k,) how often each span counts.
        counts: (n + 1,) zeros; written, the last one 0.

    Cost: O(k + n).
    """
    for i in range(len(low)):
        counts[low[i]] += times[i]
        counts[high[i]] -= times[i]
    for place in range(1, len(counts)):
        counts[place] += counts[place - 1]


@compiled
def paired(low: Places, high: Places, left: Places, right: Places) -> None:
    """Write the pairs that spans amount to: the span's own place, and each place in it.

    Args:
        low: (k,) where spans begin.
        high: (k,) where they end.
        left: (t,) written, t the places of all spans.
        right: (t,) written.
    """
    past = 0
    for i in range(len(low)):
        for place in range(low[i], high[i]):
            left[past], right[past] = i, place
            past += 1


@compiled
def paired_rows(
    low: Places, high: Places, left_rows: Places, right_rows: Places, left: Places, right: Places
) -> None:
    """Write the rows of the pairs that spans amount to.

    Args:
        low: (k,) where spans begin.
        high: (k,) where they end.
        left_rows: (k,) the row that each span belongs to.
        right_rows: (n,) the rows that the spans are of.
        left: (t,) written, t the places of all spans.
        right: (t,) written.
    """
    past = 0
    for i in range(len(low)):
        row = left_rows[i]
        for place in range(low[i], high[i]):
            left[past], right[past] = row, right_rows[place]
            past += 1


@compiled
def paired_alive(
    low: Places,
    high: Places,
    left_words: Words,
    right_words: Words,
    left: Places,
    right: Places,
    words: Words,
) -> int:
    """Write the pairs that some clause can still be satisfied by, with their lineage; return how many.

    Args:
        low: (k,) where spans of the n rows of the right side begin.
        high: (k,) where they end.
        left_words: (k, w) lineage of the rows that the spans belong to.
        right_words: (n, w) lineage of those in the spans.
        left: (t,) written from the left, t the places of all spans.
        right: (t,) likewise.
        words: (t, w) written: the AND of both.
    """
    past, width = 0, left_words.shape[1]
    for i in range(len(low)):
        for place in range(low[i], high[i]):
            some = left_words[i, 0] & right_words[place, 0]
            words[past, 0] = some
            for k in range(1, width):
                both = left_words[i, k] & right_words[place, k]
                words[past, k] = both
                some |= both
            left[past], right[past] = i, place
            past += some != 0
    return past


@compiled
def mark_lists(
    slots: NDArray[np.int64],
    begins: Places,
    pasts: Places,
    offsets: NDArray[np.uint16],
    words: Words,
) -> None:
    """Set the bits of slots at the rows that lists name; rows past the end of `words` are nobody's.

    Args:
        slots: (h,) one for each list.
        begins: (h,) where each list begins in `offsets`.
        pasts: (h,) where it ends.
        offsets: rows.
        words: (n, w) lineage by row, bit of a slot; changed.
    """
    for i in range(len(slots)):
        word, bit = slots[i] >> 6, np.uint64(1) << np.uint64(slots[i] & 63)
        for at in range(begins[i], pasts[i]):
            row = offsets[at]
            if row < len(words):
                words[row, word] |= bit


@inlined
def _turn(square: Any) -> None:
    """Turn 64 words of 64 bits over, in place: by swapping halves, quarters, and so on (Hacker's Delight, 7-3)."""
    width, mask = 32, np.uint64(0x0000_0000_FFFF_FFFF)
    while width:
        at = 0
        while at < 64:
            low, high = square[at], square[at + width]
            swapped = ((low >> np.uint64(width)) ^ high) & mask
            square[at] = low ^ (swapped << np.uint64(width))
            square[at + width] = high ^ swapped
            at = (at + width + 1) & ~width
        width //= 2
        mask ^= mask << np.uint64(width)


@compiled
def mark_bitmaps(bitmaps: Words, words: Words) -> None:
    """Set the bits of slots at the rows that their bitmaps name; rows past the end of `words` are nobody's.

    Args:
        bitmaps: (64 w, CHUNK_WORDS), one for each slot.
        words: (n, w) lineage by row; changed.

    Cost: some 200 instructions for every 4,096 bits.
    """
    square = np.empty(64, dtype=np.uint64)
    for word in range(words.shape[1]):
        for block in range((len(words) + 63) // 64):
            some = np.uint64(0)
            for slot in range(64):
                square[slot] = bitmaps[64 * word + slot, block]
                some |= square[slot]
            if some == 0:
                continue
            _turn(square)
            for row in range(64 * block, min(64 * block + 64, len(words))):
                words[row, word] |= square[row - 64 * block]


@compiled
def bitmaps_of(words: Words, bitmaps: Words) -> None:
    """Turn lineage by row over: write for each slot the rows whose bit is set.

    Args:
        words: (n, w), n at most 4,096.
        bitmaps: (64 w, CHUNK_WORDS) zeros; written.

    Cost: some 200 instructions for every 4,096 bits.
    """
    square = np.empty(64, dtype=np.uint64)
    for word in range(words.shape[1]):
        for block in range((len(words) + 63) // 64):
            for row in range(64):
                at = 64 * block + row
                square[row] = words[at, word] if at < len(words) else np.uint64(0)
            _turn(square)
            for slot in range(64):
                bitmaps[64 * word + slot, block] = square[slot]


@compiled
def alive(words: Words, places: Places) -> int:
    """Write the places of the rows that have some bit; return how many.

    Args:
        words: (n, w) lineage by row.
        places: (n,) written from the left.
    """
    past = 0
    for row in range(len(words)):
        some = words[row, 0]
        for word in range(1, words.shape[1]):
            some |= words[row, word]
        places[past] = row
        past += some != 0
    return past


@compiled
def digests(text: NDArray[np.uint8], ends: Places, found: Integers) -> None:
    """Write 64 bits for each of some texts that stand behind one another: FNV-1a, mixed at the end (splitmix64).

    Equal for equal texts; of others rarely. Whoever uses them compares the texts themselves.

    Args:
        text: (b,) the bytes of all.
        ends: (n,) where each ends.
        found: (n,) written.

    Cost: O(b).
    """
    begin = 0
    for i in range(len(ends)):
        mixed = np.uint64(0xCBF2_9CE4_8422_2325)
        for at in range(begin, ends[i]):
            mixed = (mixed ^ np.uint64(text[at])) * np.uint64(0x0000_0100_0000_01B3)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
        found[i] = np.int64(mixed ^ (mixed >> np.uint64(31)))
        begin = ends[i]


@compiled
def count_slots(words: Words, weights: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Add the weight of each row to all slots whose bit it has.

    Args:
        words: (n, w).
        weights: (n,).
        counts: (64 w,) added to.
    """
    for row in range(len(words)):
        for word in range(words.shape[1]):
            left = words[row, word]
            while left:
                counts[word * 64 + lowest(left)] += weights[row]
                left = without_lowest(left)
