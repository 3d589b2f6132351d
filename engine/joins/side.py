"""One source of a join: which of its rows may be taken, and what clauses they can still satisfy.

A fresh chunk and a fresh query come to the same: rows that may be taken, each with its lineage. Where one clause asks,
its rows are found once by a scan, and lineage is not needed. Where a group does, rows meet all its clauses at once
when they are candidates, through the same index that whole chunks meet, and carry one bit for each.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.contract import ReadableSteM
from psoup.engine.data.join_keys import SideKey
from psoup.engine.data.key_index import (
    KeyCounts,
    KeyIndex,
    KeyLookup,
    key_counts_of,
    keyed,
    together,
)
from psoup.engine.data.source import DatedRows
from psoup.engine.kernels.bits import Words, mask_of, popcount, positions
from psoup.engine.kernels.join import alive
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.tuples.batch import Column

Rows = NDArray[np.int64]

NO_ROWS: Rows = np.empty(0, dtype=np.int64)

DIRECT_ROWS_MAX = 2 * CHUNK_ROWS
"""Rows so few are all candidates: to put them in order is cheaper than to look them up."""
DIRECT_SHARE = 8
"""But not where so many times as few rows ask for partners: most of a group's rows would meet its clauses in vain."""

Lookup = Callable[[], KeyLookup]
"""What rows of another source ask for, worked out when it is needed."""


class Taken:
    """Rows of one source on their way through a join, their columns read when they are needed.

    Attributes:
        rows: (k,) row numbers, each once.
        words: (k, w) lineage; None = one clause asks, and is satisfied by each.
    """

    __slots__ = ("_columns", "_stem", "rows", "words")

    def __init__(self, stem: ReadableSteM, rows: Rows, words: Words | None) -> None:
        """Take rows that are held."""
        self._stem = stem
        self._columns: dict[str, Column] = {}
        self.rows = rows
        self.words = words

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def column(self, ref: ColumnRef) -> Column:
        """Return the column's values at the rows. Raises PageExpiredError if one is not held any more."""
        found = self._columns.get(ref.name)
        if found is None:
            found = self._columns[ref.name] = self._stem.gathering.column(ref.name, self.rows)
        return found

    def take(self, places: Rows) -> "Taken":
        """Return the rows at these places, with what was read of them."""
        words = None if self.words is None else self.words[places]
        made = Taken(self._stem, self.rows[places], words)
        made._columns = {name: column.take(places) for name, column in self._columns.items()}
        return made


class Side(Protocol):
    """What a join may take of one source."""

    @property
    def weight(self) -> int:
        """Return about how many rows there are to take."""
        ...

    def all(self) -> Taken:
        """Return all rows that some clause can still be satisfied by."""
        ...

    def candidates(self, key: SideKey, asking: int, lookup: Lookup) -> Taken:
        """Return the rows that match what `asking` rows look up and that some clause can still be satisfied by.

        Maybe others beside.
        """
        ...


class ClauseSide:
    """The rows of one source that satisfy one clause, within a span of rows and of time."""

    __slots__ = ("_base", "_clause", "_marked", "_runs", "_span", "_stem", "weight")

    def __init__(self, stem: ReadableSteM, clause: StandingQueryClause, span: DatedRows) -> None:
        """Find these rows. Without conditions on the source, where all rows are dated in the span, nothing is scanned.

        Args:
            stem: the source's.
            clause: over that source alone.
            span: the rows that may be taken, and the times.

        Raises PageExpiredError if rows of the span are not held any more.
        Cost: a scan of the chunks that may be dated in the span.
        """
        self._stem = stem
        self._clause = clause
        self._span = span
        self._base = span.first_row // CHUNK_ROWS * CHUNK_ROWS
        self._runs = stem.reach(span) if span.first_row < span.past_row else ()
        self._marked: Words | None = None
        if self._is_plain:
            self.weight = sum(past - first for first, past, _ in self._runs)
        else:
            self.weight = popcount(self._words)

    @property
    def _is_plain(self) -> bool:
        """Return whether every row of the runs may be taken."""
        return not self._clause.factors and all(inside for _, _, inside in self._runs)

    @property
    def _words(self) -> Words:
        """Return which rows may be taken, bit 0 the first of the chunk in which the span begins."""
        if self._marked is None:
            span = self._span
            past = -(-max(span.past_row, self._base) // CHUNK_ROWS) * CHUNK_ROWS
            self._marked = np.zeros((past - self._base) // 64, dtype=np.uint64)
            for first, past, inside in self._runs:
                self._mark(self._marked, first, past, inside=inside)
        return self._marked

    def _mark(self, marked: Words, first: int, past: int, *, inside: bool) -> None:
        """Mark the rows of one run that satisfy the clause and are dated in the span."""
        first_chunk, words, _ = self._stem.probe(self._clause, first, past)
        begin = (first_chunk * CHUNK_ROWS - self._base) // 64
        if not inside:
            rows = positions(words) + first_chunk * CHUNK_ROWS
            times = self._stem.gathering.times(rows)
            dated = times <= self._span.end_us
            if self._span.begin_us is not None:
                dated &= times >= self._span.begin_us
            words = mask_of(rows[dated] - first_chunk * CHUNK_ROWS, len(words))
        marked[begin : begin + len(words)] |= words  # runs may share a chunk

    def all(self) -> Taken:
        """Return all of them, ascending."""
        if self._is_plain:
            parts = [np.arange(first, past) for first, past, _ in self._runs]
            return Taken(self._stem, np.concatenate(parts) if parts else NO_ROWS, None)
        return Taken(self._stem, positions(self._words) + self._base, None)

    def candidates(self, key: SideKey, asking: int, lookup: Lookup) -> Taken:
        """Return those that may match the lookup (`Side.candidates`)."""
        if not key.asks or self.weight <= DIRECT_ROWS_MAX:
            return self.all()
        asked = lookup()
        if self.weight <= 2 * len(asked):
            return self.all()
        span = self._span
        whole = self._stem.past_row // CHUNK_ROWS * CHUNK_ROWS
        parts: list[Rows] = []
        for index in self._stem.indexed(key, span.first_row, min(span.past_row, whole)):
            if self._takes_all(index, whole):
                parts.append(index.candidates(asked))
            elif self._any(index):
                rows = index.candidates(asked)
                # Where its segment has filled since, the rows past `whole` are among the open ones below.
                if index.past_row > whole:
                    rows = rows[rows < whole]
                parts.append(self._among(rows))
        if span.past_row > whole:
            open_rows = np.arange(max(whole, span.first_row), span.past_row)
            parts.append(self._among(open_rows))
        return Taken(self._stem, np.concatenate(parts) if parts else NO_ROWS, None)

    def key_counts(self, key: SideKey) -> KeyCounts:
        """Return how often each value of a key of one whole number occurs among all rows; NULL is left out.

        Of whole runs as their indexes have it.
        """
        if not self._is_plain:
            return _key_counts(self.all(), key)
        found: list[KeyCounts] = []
        for first, past, _ in self._runs:
            row = first
            whole = min(past, self._stem.past_row // CHUNK_ROWS * CHUNK_ROWS)
            for index in self._stem.indexed(key, first, whole):
                if row <= index.first_row and index.past_row <= past:
                    if row < index.first_row:
                        found.append(_key_counts(self._rows(row, index.first_row), key))
                    found.append(index.key_counts)
                    row = index.past_row
            if row < past:
                found.append(_key_counts(self._rows(row, past), key))
        return together([one for one in found if len(one.keys)])

    def _rows(self, first: int, past: int) -> Taken:
        return Taken(self._stem, np.arange(first, past), None)

    def _takes_all(self, index: KeyIndex, whole: int) -> bool:
        """Return whether every row that an index covers may be taken, and lies below `whole`."""
        return self._is_plain and any(
            first <= index.first_row and index.past_row <= min(past, whole)
            for first, past, _ in self._runs
        )

    def _any(self, index: KeyIndex) -> bool:
        """Return whether some row that an index covers may be taken."""
        first, past = max(index.first_row - self._base, 0), index.past_row - self._base
        return bool(self._words[first // 64 : -(-past // 64)].any())

    def _among(self, rows: Rows) -> Rows:
        """Return those of the rows that may be taken."""
        span = self._span
        rows = rows[(rows >= span.first_row) & (rows < span.past_row)]
        places = rows - self._base
        bits = self._words[places >> 6] >> (places & 63).astype(np.uint64)
        taken: Rows = rows[(bits & np.uint64(1)).astype(np.bool_)]
        return taken


Admission = Callable[[Rows], Words | None]
"""From (k,) rows of a source to (k, w) bits: which clauses each can still satisfy; None = all rows all of them."""


class GroupSide:
    """The rows of one source in a span, whose lineage a group's clauses decide when they become candidates."""

    __slots__ = ("_admission", "_alive", "_first_row", "_past_row", "_stem")

    def __init__(
        self,
        stem: ReadableSteM,
        admission: Admission,
        alive: Words,
        first_row: int,
        past_row: int,
    ) -> None:
        """Take the rows `[first_row, past_row)`, all in whole chunks; `alive` has the bits of their clauses."""
        self._stem = stem
        self._admission = admission
        self._alive = alive
        self._first_row = first_row
        self._past_row = past_row

    @property
    def weight(self) -> int:
        """Return the number of rows."""
        return max(0, self._past_row - self._first_row)

    def all(self) -> Taken:
        """Return the rows that some clause can be satisfied by."""
        return self._admitted(np.arange(self._first_row, self._past_row))

    def candidates(self, key: SideKey, asking: int, lookup: Lookup) -> Taken:
        """Return those that may match the lookup (`Side.candidates`)."""
        if not key.asks or self.weight <= min(DIRECT_ROWS_MAX, DIRECT_SHARE * asking):
            return self.all()
        asked = lookup()
        parts: list[Rows] = []
        for index in self._stem.indexed(key, self._first_row, self._past_row):
            rows = index.candidates(asked)
            if index.first_row < self._first_row or index.past_row > self._past_row:
                rows = rows[(rows >= self._first_row) & (rows < self._past_row)]
            parts.append(rows)
        return self._admitted(np.concatenate(parts) if parts else NO_ROWS)

    def _admitted(self, rows: Rows) -> Taken:
        """Return the rows that some clause can still be satisfied by. In slices: most rows may drop out."""
        taken, lineage = [rows[:0]], [np.empty((0, len(self._alive)), dtype=np.uint64)]
        for begin in range(0, len(rows), SEGMENT_ROWS):
            some = rows[begin : begin + SEGMENT_ROWS]
            words = self._admission(some)
            if words is None:
                taken.append(some)
                lineage.append(np.tile(self._alive, (len(some), 1)))
                continue
            # Of many rows that meet clauses few may have a bit: these alone are looked at again.
            places = alive_places(words)
            words = words[places] & self._alive
            left = alive_places(words)
            if len(left) < len(words):
                places, words = places[left], words[left]
            taken.append(some[places])
            lineage.append(words)
        if len(taken) == 2:
            return Taken(self._stem, taken[1], lineage[1])
        return Taken(self._stem, np.concatenate(taken), np.concatenate(lineage))


def alive_places(words: Words) -> Rows:
    """Return the places of the rows that have a bit left in their (n, w) lineage."""
    places = np.empty(len(words), dtype=np.int64)
    return places[: alive(words, places)]


def _key_counts(taken: Taken, key: SideKey) -> KeyCounts:
    if not len(taken):
        return KeyCounts(NO_ROWS, NO_ROWS)
    _, equal, band = keyed(key, taken.column, len(taken))
    return key_counts_of(equal if len(equal) else band)


def lightest(sides: Sequence[Side]) -> int:
    """Return the number of the side with the fewest rows to take; of equal ones the first."""
    return min(range(len(sides)), key=lambda source: sides[source].weight)
