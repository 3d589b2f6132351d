"""Key indexes of a Data SteM: rows in whole chunks of a stream, in order of a join key, made at their first use.

One index for each full segment, and for each whole chunk of the segment that still grows: what they cover never
changes, so an index is a value and readers need no lock. A stream's tuples are shared by all joins, and so are these:
the second group that looks a stream up by the same expressions finds what the first has made.
Source: Madden et al., SIGMOD 2002 (CACQ), 3.2: one SteM for each source and join attribute serves all queries.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.join_keys import SideKey, band_values, index_keys
from psoup.engine.data.segment import Segment
from psoup.engine.kernels.gather import ascends
from psoup.engine.kernels.join import (
    Integers,
    Places,
    covered,
    find_equal,
    find_listed,
    find_within,
    paired_rows,
)
from psoup.engine.kernels.order import sorted_places
from psoup.engine.kernels.span import least_most
from psoup.engine.limits import CHUNK_ROWS, JOIN_INDEX_BYTES_MAX, SEGMENT_ROWS
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.tuples.batch import Column

NO_KEYS: Integers = np.empty(0, dtype=np.int64)
COUNTED_SPAN_MAX: Final = 2**16
"""Keys of up to this span are counted in an array."""
LISTED_VALUES_MAX: Final = 4
"""Values that keys span, by the number of keys and of values looked up: for fewer it pays to list where each begins."""

Lookup = Callable[[ColumnRef], Column]
_At = tuple[SideKey, int, int]
"""Key, first row, row past the last."""


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """Keys that distinct rows of one side look up in an index of the other.

    Attributes:
        equal: (k,) keys to be equal, ascending; empty where nothing has to be.
        least, most: (k,) the span of the band, both inclusive; empty where there is none.
    """

    equal: Integers
    least: Integers
    most: Integers

    def __len__(self) -> int:
        """Return the number of keys."""
        return max(len(self.equal), len(self.least))


class KeyCounts(NamedTuple):
    """How often each key occurs.

    Attributes:
        keys: (d,) int64, ascending, each once.
        counts: (d,) int64.
    """

    keys: Integers
    counts: Integers


class KeyIndex:
    """Rows in order of a key; those with NULL in it are left out. A value.

    Attributes:
        first_row, past_row: what it covers.
        rows: (n,) int64 row numbers.
        equal: (n,) ascending; empty where nothing has to be equal.
        band: (n,) ascending among those of one `equal`; empty where there is no band.
    """

    __slots__ = ("_key_counts", "band", "equal", "first_row", "past_row", "rows")

    def __init__(
        self, span: tuple[int, int], rows: NDArray[np.int64], equal: Integers, band: Integers
    ) -> None:
        """Take rows of a span in order of their keys."""
        self.first_row, self.past_row = span
        self.rows = rows
        self.equal = equal
        self.band = band
        self._key_counts: KeyCounts | None = None

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays."""
        return self.rows.nbytes + self.equal.nbytes + self.band.nbytes

    @property
    def key_counts(self) -> KeyCounts:
        """Return how often each key occurs, of an index of one key. Cost: a pass, once."""
        if self._key_counts is None:
            self._key_counts = key_counts_in_order(self.equal if len(self.equal) else self.band)
        return self._key_counts

    def candidates(self, lookup: KeyLookup) -> NDArray[np.int64]:
        """Return the rows that match some key of the lookup, each once, in no order.

        Cost: O(k log n + rows found), O(k + n) where spans may overlap.
        """
        low, high, total = spans(self.equal, self.band, lookup)
        if not total:
            return NO_KEYS
        if len(lookup.least):
            found = np.empty(len(self.rows), dtype=np.int64)
            return self.rows[found[: covered(low, high, len(self.rows), found)]]
        found = np.empty(total, dtype=np.int64)
        paired_rows(low, high, low, self.rows, np.empty(total, dtype=np.int64), found)
        return found


def spans(equal: Integers, band: Integers, lookup: KeyLookup) -> tuple[Places, Places, int]:
    """Return the span of matching places of each key of the lookup, in an order by key, and the number of places."""
    count = len(lookup)
    low, high = np.zeros(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    if len(lookup.equal):
        total = _find_equal(equal, lookup.equal, low, high)
    else:
        high[:] = max(len(equal), len(band))
        total = int(high.sum())
    if len(lookup.least) and total:
        total = find_within(band, lookup.least, lookup.most, low, high)
    return low, high, total


def _find_equal(keys: Integers, wanted: Integers, low: Places, high: Places) -> int:
    """Write the span of keys, which ascend, that equals each value; return how many places all spans have."""
    values = int(keys[-1]) - int(keys[0]) + 1 if len(keys) else 0
    if 0 < values <= LISTED_VALUES_MAX * min(len(keys), len(wanted)):
        return find_listed(keys, wanted, np.zeros(values + 1, dtype=np.int64), low, high)
    return find_equal(keys, wanted, low, high)


def ordered(equal: Integers, band: Integers) -> tuple[NDArray[np.int64], Integers, Integers]:
    """Return the places of (n,) rows in order of their keys, and both keys so ordered; equal rows as they came."""
    if not len(equal) or not len(band):
        keys = band if not len(equal) else equal
        if ascends(keys):  # as candidates of one index do
            return np.arange(len(keys)), equal, band
        order = sorted_places(keys)
        return order, equal[order] if len(equal) else equal, band[order] if len(band) else band
    order = sorted_places(band)
    order = order[sorted_places(equal[order])]
    return order, equal[order], band[order]


def distinct(keys: Integers) -> Integers:
    """Return the distinct ones of (n,) keys, ascending. Cost: that of `key_counts_of`."""
    return key_counts_of(keys).keys


def first_places(keys: Integers) -> NDArray[np.int64]:
    """Return where each distinct one of (n,) keys begins, which ascend; n is at least 1."""
    first = np.empty(len(keys), dtype=np.bool_)
    first[0] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return np.flatnonzero(first)


def key_counts_in_order(keys: Integers) -> KeyCounts:
    """Return how often each of (n,) keys occurs, which ascend."""
    if not len(keys):
        return KeyCounts(keys, keys)
    first = first_places(keys)
    return KeyCounts(keys[first], np.diff(first, append=len(keys)))


def key_counts_of(keys: Integers) -> KeyCounts:
    """Return how often each of (n,) keys occurs. Cost: O(n) where they span little, else a sort."""
    if not len(keys):
        return KeyCounts(keys, keys)
    least, most = least_most(keys)
    if most - least > COUNTED_SPAN_MAX:
        return key_counts_in_order(np.sort(keys))
    counts = np.bincount(keys - least)
    held = np.flatnonzero(counts)
    return KeyCounts(held + least, counts[held])


def together(parts: Sequence[KeyCounts]) -> KeyCounts:
    """Return the counts of several parts together."""
    if len(parts) == 1:
        return parts[0]
    keys = np.concatenate([one.keys for one in parts] or [NO_KEYS])
    if not len(keys):
        return KeyCounts(keys, keys)
    least, most = least_most(keys)
    if most - least <= COUNTED_SPAN_MAX:
        sums = np.zeros(most - least + 1, dtype=np.int64)
        for one in parts:
            sums[one.keys - least] += one.counts  # each key once
        held = np.flatnonzero(sums)
        return KeyCounts(held + least, sums[held])
    order = sorted_places(keys)
    keys, counts = keys[order], np.concatenate([one.counts for one in parts])[order]
    first = first_places(keys)
    return KeyCounts(keys[first], np.add.reduceat(counts, first))


def make_index(key: SideKey, first_row: int, columns: Lookup, count: int) -> KeyIndex:
    """Return the index of `count` rows that follow each other. Cost: a sort, and one pass for each expression."""
    places, equal, band = keyed(key, columns, count)
    order, equal, band = ordered(equal, band)
    span = first_row, first_row + count
    return KeyIndex(span, places[order] + first_row, equal, band)


def keyed(
    key: SideKey, columns: Lookup, count: int
) -> tuple[NDArray[np.int64], Integers, Integers]:
    """Return the places of rows without NULL in the key, and their index keys and band values."""
    values, places, band = key_columns(key, columns, count)
    return (
        places,
        index_keys(values, key.doubles) if values else NO_KEYS,
        NO_KEYS if band is None else band_values(band, double=key.band_double),
    )


def key_columns(
    key: SideKey, columns: Lookup, count: int
) -> tuple[list[Column], NDArray[np.int64], Column | None]:
    """Return values to be equal, and to lie in a band, of the rows without NULL among them; and their places."""
    values = [evaluate(one, columns, count) for one in key.equal]
    band = None if key.band is None else evaluate(key.band, columns, count)
    places = held(values if band is None else [*values, band], count)
    if len(places) < count:
        values = [column.take(places) for column in values]
        band = None if band is None else band.take(places)
    return values, places, band


def held(columns: list[Column], count: int) -> NDArray[np.int64]:
    """Return the places at which none of the columns is NULL, ascending."""
    valid: NDArray[np.bool_] | None = None
    for column in columns:
        if column.valid is not None:
            valid = column.valid if valid is None else valid & column.valid
    return np.arange(count) if valid is None else np.flatnonzero(valid)


class KeyIndexes:
    """The key indexes of one stream that were used.

    Any thread may use them. Two threads that need the same index at once both make it, and one is kept.
    """

    def __init__(self, guard: AbstractContextManager[object] | None = None) -> None:
        """Begin without any. Where threads share it, `guard` is their lock."""
        self._made: dict[_At, KeyIndex] = {}
        self._changing = nullcontext() if guard is None else guard
        self.nbytes = 0
        """Size of all kept indexes."""

    def over(
        self, key: SideKey, segments: Mapping[int, Segment], first_row: int, past_row: int
    ) -> Iterator[KeyIndex]:
        """Yield indexes that together have all rows `[first_row, past_row)`, whole chunks, and maybe others beside.

        Args:
            key: what to order by.
            segments: those held, by number. Rows of others are left out.
            first_row: the first of the rows.
            past_row: the row past the last.

        Cost: that of making the indexes that are used for the first time.
        """
        row, growing = first_row, -1
        while row < past_row:
            number = row // SEGMENT_ROWS
            segment, base = segments.get(number), number * SEGMENT_ROWS
            if segment is None:
                row = base + SEGMENT_ROWS
                continue
            if number != growing and segment.past == SEGMENT_ROWS:
                begin, past = base + segment.start, base + SEGMENT_ROWS
            else:
                growing = number  # to its end, though it may be full by then: each row once
                begin = max(row // CHUNK_ROWS * CHUNK_ROWS, base + segment.start)
                past = (begin // CHUNK_ROWS + 1) * CHUNK_ROWS
            checkpoint()
            yield self._index(key, segment, begin, past)
            row = past

    def forget(self, below_row: int) -> None:
        """Drop the indexes of rows below a row. Cost: O(indexes)."""
        with self._changing:
            for at in [at for at in self._made if at[1] < below_row]:
                self._drop(at)

    def retain(self, segments: Container[int]) -> None:
        """Drop the indexes of rows that lie in no segment of these numbers. Cost: O(indexes)."""
        with self._changing:
            for at in [at for at in self._made if at[1] // SEGMENT_ROWS not in segments]:
                self._drop(at)

    def __len__(self) -> int:
        """Return the number of indexes kept."""
        return len(self._made)

    def _index(self, key: SideKey, segment: Segment, begin: int, past: int) -> KeyIndex:
        at = key, begin, past
        known = self._made.get(at)
        if known is not None:
            return known
        some = slice(begin % SEGMENT_ROWS, (past - 1) % SEGMENT_ROWS + 1)
        made = make_index(key, begin, lambda ref: segment.column(ref.name, some), past - begin)
        with self._changing:
            self._keep(at, made)
        return made

    def _keep(self, at: _At, made: KeyIndex) -> None:
        """Keep an index. Thousands of keys may have one: the cost does not hang on how many there are."""
        key, begin, past = at
        if past % SEGMENT_ROWS == 0 and past - begin > CHUNK_ROWS:
            # Those of its chunks, from when it still grew, are of no use any more.
            while begin < past:
                end = (begin // CHUNK_ROWS + 1) * CHUNK_ROWS
                self._drop((key, begin, end))
                begin = end
        self._drop(at)  # another thread was faster
        while self._made and self.nbytes + made.nbytes > JOIN_INDEX_BYTES_MAX:
            # Every other one: a join that needs more indexes than there is room for finds some of them the next time.
            for other in list(self._made)[::2]:
                self._drop(other)
        self._made[at] = made
        self.nbytes += made.nbytes

    def _drop(self, at: _At) -> None:
        """Drop an index, if it is kept."""
        gone = self._made.pop(at, None)
        if gone is not None:
            self.nbytes -= gone.nbytes
