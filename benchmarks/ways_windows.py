"""The ways of PSoup's figure 9 that psoup does not take, as compiled loops over one tuple at a time.

PSoup-P unshared: every tuple against every query. PSoup-C, shared: queries of a tuple come from one index,
and each query's list holds its window at any moment; what expires is found by looking at every list (scan),
or by asking which queries the expiring tuple had matched (event).
Source: Chandrasekaran & Franklin 2002, 5.2.3.
"""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.ways import Way, counts_answer
from benchmarks.workloads import ATTRIBUTES, Columns, Domain, Query, arrays_of

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
WORD_BITS = 64
ONE = np.uint64(1)
SHIFT = np.uint64(58)
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
PLACES = np.zeros(64, dtype=np.int64)
"""Where a word's only bit stands, by the six highest bits of its product with the De Bruijn number."""
for _bit in range(64):
    PLACES[((1 << _bit) * 0x03F79D71B4CB0A89 % 2**64) >> 58] = _bit


def unshared(
    values: NDArray[Any], lows: NDArray[Any], highs: NDArray[Any], used: Words, found: Words
) -> None:
    """Set the bit of each tuple in the row of each query that it satisfies.

    Args:
        values: (attributes, tuples).
        lows: (attributes, queries) the least value of each query, inclusive.
        highs: (attributes, queries) the largest.
        used: (queries,) bit a = the query names attribute a.
        found: (queries, tuples / 64), zero; written.
    """
    for row in range(values.shape[1]):
        for query in range(lows.shape[1]):
            names = used[query]
            hit = True
            for place in range(values.shape[0]):
                if names >> np.uint64(place) & np.uint64(1):
                    value = values[place, row]
                    if value < lows[place, query] or value > highs[place, query]:
                        hit = False
                        break
            if hit:
                found[query, row // 64] |= np.uint64(1) << np.uint64(row % 64)


def by_scan(
    codes: Integers, tables: tuple[Words, ...], lists: Integers, ends: Integers, window: int
) -> None:
    """Append each tuple to the lists of its queries; then let go of what is too old, list by list.

    Args:
        codes: (attributes, tuples) row of each attribute's table.
        tables: one (codes, queries / 64) per attribute: the queries that a code satisfies.
        lists: (queries, window + 1) rings of row numbers; written.
        ends: (queries, 2) heads and tails of the rings; written.
        window: tuples in it.
    """
    of_a, of_b, of_c, of_d = tables
    for row in range(codes.shape[1]):
        for word in range(of_a.shape[1]):
            hits = (
                of_a[codes[0, row], word]
                & of_b[codes[1, row], word]
                & of_c[codes[2, row], word]
                & of_d[codes[3, row], word]
            )
            while hits:
                lowest = hits & (~hits + ONE)
                hits ^= lowest
                query = word * 64 + PLACES[(lowest * DE_BRUIJN) >> SHIFT]
                lists[query, ends[query, 1] % lists.shape[1]] = row
                ends[query, 1] += 1
        for query in range(ends.shape[0]):
            head = ends[query, 0]
            if head < ends[query, 1] and lists[query, head % lists.shape[1]] <= row - window:
                ends[query, 0] += 1


def by_event(
    codes: Integers, tables: tuple[Words, ...], lists: Integers, ends: Integers, window: int
) -> None:
    """As `by_scan`; the expiring tuple is matched once more, and leaves the lists of its queries alone."""
    of_a, of_b, of_c, of_d = tables
    for row in range(codes.shape[1]):
        for old in (row - window, row):
            if old < 0:
                continue
            for word in range(of_a.shape[1]):
                hits = (
                    of_a[codes[0, old], word]
                    & of_b[codes[1, old], word]
                    & of_c[codes[2, old], word]
                    & of_d[codes[3, old], word]
                )
                while hits:
                    lowest = hits & (~hits + ONE)
                    hits ^= lowest
                    query = word * 64 + PLACES[(lowest * DE_BRUIJN) >> SHIFT]
                    if old == row:
                        lists[query, ends[query, 1] % lists.shape[1]] = row
                        ends[query, 1] += 1
                    else:
                        ends[query, 0] += 1


Kernel = Callable[..., None]


@functools.cache
def compiled(kernel: Kernel) -> Kernel:
    """Return the loop compiled, once. Needs numba."""
    import numba

    made: Kernel = numba.njit()(kernel)
    return made


class Unshared(Way):
    """PSoup-P, every query on its own."""

    def __init__(
        self,
        domain: Domain,
        queries: Sequence[Query],
        columns: Columns,
        kernel: Kernel,
        window: int,
    ) -> None:
        """Lay the queries out as arrays."""
        self._kernel = kernel
        self._window = window
        self._values = np.array([columns[name] for name in ATTRIBUTES])
        self._lows, self._highs = arrays_of(domain, queries)
        self._used = np.zeros(len(queries), dtype=np.uint64)
        for number, query in enumerate(queries):
            for name, _, _ in query.bounds:
                self._used[number] |= np.uint64(1 << ATTRIBUTES.index(name))

    def setup(self) -> Words:
        """Return empty results."""
        words = -(-self._values.shape[1] // WORD_BITS)
        return np.zeros((len(self._used), words), dtype=np.uint64)

    def run(self, state: Words) -> Words:
        """Match all tuples."""
        self._kernel(self._values, self._lows, self._highs, self._used, state)
        return state

    def answer(self, outcome: Words) -> bytes:
        """Return how many of the window's tuples each query has."""
        bits = np.unpackbits(outcome.view(np.uint8), axis=1, bitorder="little")
        rows = self._values.shape[1]
        return counts_answer(bits[:, max(0, rows - self._window) : rows].sum(axis=1))


class Lists(Way):
    """PSoup-C with a shared index: a list per query that holds its window at any moment."""

    def __init__(
        self,
        domain: Domain,
        queries: Sequence[Query],
        columns: Columns,
        kernel: Kernel,
        window: int,
    ) -> None:
        """Build the index: of each attribute the queries that each value between constants satisfies."""
        self._kernel = kernel
        self._window = window
        self._queries = len(queries)
        tables, codes = [], []
        for name, low, high in zip(ATTRIBUTES, *arrays_of(domain, queries), strict=True):
            values, code = np.unique(columns[name], return_inverse=True)
            inside = (low <= values[:, None]) & (values[:, None] <= high)
            wanted = -(-self._queries // WORD_BITS) * WORD_BITS
            padded = np.zeros((len(values), wanted), dtype=np.bool_)
            padded[:, : self._queries] = inside
            tables.append(np.packbits(padded, axis=1, bitorder="little").view(np.uint64))
            codes.append(code)
        self._tables, self._codes = tuple(tables), np.array(codes, dtype=np.int64)

    def setup(self) -> tuple[Integers, Integers]:
        """Return empty lists."""
        lists = np.zeros((self._queries, self._window + 1), dtype=np.int64)
        return lists, np.zeros((self._queries, 2), dtype=np.int64)

    def run(self, state: tuple[Integers, Integers]) -> Integers:
        """Match all tuples and keep the lists."""
        lists, ends = state
        with np.errstate(over="ignore"):  # the product is meant to wrap around
            self._kernel(self._codes, self._tables, lists, ends, self._window)
        return ends

    def answer(self, outcome: Integers) -> bytes:
        """Return the lengths of the lists."""
        return counts_answer(outcome[:, 1] - outcome[:, 0])
