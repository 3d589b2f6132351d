"""Where the batches of one stream lie, and how they are dated: known before their tuples are read from the log.

Times are known by batch and, merged, by chunk. Small batches date their chunk exactly, a large one all of its chunks
alike, until its tuples were read.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import RowSpan
from psoup.engine.errors import PageExpiredError
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.results.delta import BatchRecord, StreamRecord

Integers = NDArray[np.int64]

FIRST_ROW: Final = 0
PAST_ROW: Final = 1
SEQ: Final = 2
FIRST_TUPLE_ID: Final = 3
OLDEST_US: Final = 4
NEWEST_US: Final = 5
"""Rows of the array of batches."""

_INT64: Final = np.iinfo(np.int64)
_UNDATED: Final = (int(_INT64.max), int(_INT64.min))
"""The span of no tuple: the wrong way round."""


class BatchIndex:
    """The batches held of one stream, up to one of them.

    A value, except that the time spans of chunks get narrower once their tuples were read. `grown` makes the next
    index in the arrays of this one: call it on the latest index only, from one thread at a time.

    Attributes:
        dropped_row: rows below are not held.
        past_row: the row past the last one known.
        batches: (6, n) int64: first row, row past the last, seq, first tuple id, smallest and largest time.
    """

    __slots__ = (
        "_batches",
        "_first_chunk",
        "_open_us",
        "_past",
        "_spans",
        "batches",
        "dropped_row",
        "past_row",
    )

    def __init__(self, dropped_row: int) -> None:
        """Begin without batches, of a stream that is held from a row on."""
        self.dropped_row = self.past_row = dropped_row
        self._batches: Integers = np.empty((6, 0), dtype=np.int64)
        self._past = 0
        self.batches = self._batches
        self._first_chunk = dropped_row // CHUNK_ROWS
        self._spans: Integers = np.empty((2, 0), dtype=np.int64)
        """By whole chunk from `_first_chunk` on the smallest and the largest time."""
        self._open_us = _UNDATED
        """The same of the chunk that is not whole."""

    def grown(self, stream: StreamRecord, batches: Sequence[BatchRecord]) -> "BatchIndex":
        """Return the index with the batches that follow, without those that are not held any more.

        Raises PageExpiredError if they do not follow: the stream has had another history.
        Cost: O(batches that follow), at times a copy of all.
        """
        before = self
        if self.past_row < stream.dropped_row:
            before = BatchIndex(stream.dropped_row)
        made = BatchIndex(stream.dropped_row)
        made.past_row = before.past_row
        made._batches, made._past = before._batches, before._past
        made._spans, made._first_chunk = before._spans, before._first_chunk
        made._open_us = before._open_us
        fresh = [one for one in batches if one.past_row > made.past_row]
        if fresh:
            if fresh[0].first_row > made.past_row:
                raise PageExpiredError
            made._add(fresh)
        first = int(np.searchsorted(made._known(PAST_ROW), stream.dropped_row, side="right"))
        if first > made._past // 2:  # more is gone than left
            made._batches, made._past = (
                made._batches[:, first : made._past].copy(),
                made._past - first,
            )
            first = 0
        made.batches = made._batches[:, first : made._past]
        dropped = stream.dropped_row // CHUNK_ROWS - made._first_chunk
        known = made.past_row // CHUNK_ROWS - made._first_chunk
        if dropped > known // 2:
            made._spans, made._first_chunk = (
                made._spans[:, dropped:known].copy(),
                made._first_chunk + dropped,
            )
        return made

    def overlapping(self, first_row: int, past_row: int) -> range:
        """Return the places of the batches that have some of the rows `[first_row, past_row)`. Cost: O(log n)."""
        begin = int(np.searchsorted(self.batches[PAST_ROW], first_row, side="right"))
        return range(
            begin, max(begin, int(np.searchsorted(self.batches[FIRST_ROW], past_row, side="left")))
        )

    def reach(
        self, first_row: int, past_row: int, begin_us: int | None, end_us: int
    ) -> list[RowSpan]:
        """Return the spans of rows that may be dated in a span of time (`reach`), by the times known so far.

        Raises PageExpiredError if some of the rows are not held, or not known.
        Cost: O(chunks of these rows), some nanoseconds each.
        """
        if first_row < self.dropped_row or past_row > self.past_row:
            raise PageExpiredError
        first, past = first_row // CHUNK_ROWS, (past_row - 1) // CHUNK_ROWS + 1
        oldest, newest = self._spans_of(first, past)
        there, inside = oldest <= end_us, newest <= end_us
        if begin_us is not None:
            there &= newest >= begin_us
            inside &= oldest >= begin_us
        state = there.astype(np.int8) + inside  # inside is there as well
        edges = [0, *(np.flatnonzero(np.diff(state)) + 1).tolist(), past - first]
        found: list[RowSpan] = []
        for begin, end in itertools.pairwise(edges):
            if state[begin]:
                run_first, run_past = (first + begin) * CHUNK_ROWS, (first + end) * CHUNK_ROWS
                found.append(
                    (max(first_row, run_first), min(past_row, run_past), bool(state[begin] == 2))
                )
        return found

    def oldest(
        self, floor_row: int, floor_us: int | None, past_row: int
    ) -> tuple[int | None, list[tuple[int, int]]]:
        """Return the smallest known time among rows `[floor_row, past_row)` dated `floor_us` or later.

        Returns:
            The smallest time in batches that neither floors nor the end cut; None if there are none. And the
            segments of batches that are cut: (no time asked for is smaller than this, number), ascending.

        Cost: O(batches), some nanoseconds each.
        """
        places = self.overlapping(floor_row, past_row)
        some = self.batches[:, places.start : places.stop]
        oldest, newest = some[OLDEST_US], some[NEWEST_US]
        whole = (some[FIRST_ROW] >= floor_row) & (some[PAST_ROW] <= past_row)
        cut = ~whole
        if floor_us is not None:
            whole &= oldest >= floor_us
            cut = ~whole & (newest >= floor_us)
        best = int(oldest[whole].min()) if whole.any() else None
        rest = some[:, cut]
        first, past = floor_row // SEGMENT_ROWS, (past_row - 1) // SEGMENT_ROWS + 1
        least_us, _ = _by_unit(rest, SEGMENT_ROWS, first, past)
        if floor_us is not None:
            least_us[least_us < floor_us] = floor_us
        known = [(least, first + i) for i, least in enumerate(least_us.tolist())]
        return best, sorted(one for one in known if one[0] != _UNDATED[0])

    def narrow(self, first_chunk: int, spans: Sequence[tuple[int, int]]) -> None:
        """Note how whole chunks that follow each other are dated, now that they have been read.

        No tuple of theirs is dated outside the spans, and none of these is wider than what was known.
        """
        begin = first_chunk - self._first_chunk
        whole = self.past_row // CHUNK_ROWS - first_chunk
        known = np.array(spans[:whole], dtype=np.int64).reshape(-1, 2).T
        self._spans[:, begin : begin + known.shape[1]] = known

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays."""
        return self._batches.nbytes + self._spans.nbytes

    def check(self) -> None:
        """Assert that batches follow each other, and that chunks are dated as they are, at the widest."""
        first, past = self.batches[FIRST_ROW], self.batches[PAST_ROW]
        assert (first < past).all(), "a batch has rows"
        assert (past[:-1] == first[1:]).all(), "batches follow each other"
        assert (np.diff(self.batches[SEQ]) > 0).all(), "in the order of the log"
        assert not len(first) or first[0] <= self.dropped_row < past[0], "all that is held, no more"
        assert self.past_row == (past[-1] if len(past) else self.dropped_row)
        chunks = self.dropped_row // CHUNK_ROWS, -(-self.past_row // CHUNK_ROWS)
        known = _by_unit(self.batches, CHUNK_ROWS, *chunks)
        oldest, newest = self._spans_of(*chunks)
        # Of the first batch rows below may be known to have been dated otherwise.
        assert (known[0] <= oldest).all(), "no chunk is dated wider than its batches"
        assert (known[1] >= newest).all(), "no chunk is dated wider than its batches"

    def _known(self, what: int) -> Integers:
        known: Integers = self._batches[what, : self._past]
        return known

    def _add(self, fresh: Sequence[BatchRecord]) -> None:
        """Add batches that have rows behind those known; rows of the first that are not held do not count."""
        table = np.array(
            [
                (b.first_row, b.past_row, b.seq, b.first_tuple_id, b.oldest_us, b.newest_us)
                for b in fresh
            ],
            dtype=np.int64,
        ).T
        self._batches = _appended(self._batches, self._past, table)
        self._past += len(fresh)
        first, past = self.past_row // CHUNK_ROWS, -(-fresh[-1].past_row // CHUNK_ROWS)
        spans = _by_unit(table, CHUNK_ROWS, first, past)
        spans[0, 0] = min(spans[0, 0], self._open_us[0])
        spans[1, 0] = max(spans[1, 0], self._open_us[1])
        whole = fresh[-1].past_row // CHUNK_ROWS - first
        self._spans = _appended(self._spans, first - self._first_chunk, spans[:, :whole])
        self._open_us = _UNDATED
        if whole < past - first:
            self._open_us = int(spans[0, whole]), int(spans[1, whole])
        self.past_row = fresh[-1].past_row

    def _spans_of(self, first: int, past: int) -> tuple[Integers, Integers]:
        """Return the smallest and the largest times of the chunks `[first, past)`."""
        whole = self.past_row // CHUNK_ROWS
        begin = first - self._first_chunk
        spans = self._spans[:, begin : min(past, whole) - self._first_chunk]
        if past > whole:
            spans = np.append(spans, [[self._open_us[0]], [self._open_us[1]]], axis=1)
        return spans[0], spans[1]


def segments_of(runs: Sequence[RowSpan]) -> Iterator[int]:
    """Yield the numbers of the segments that runs of rows lie in; one may come twice."""
    for first_row, past_row, _ in runs:
        yield from range(first_row // SEGMENT_ROWS, (past_row - 1) // SEGMENT_ROWS + 1)


def _appended(known: Integers, past: int, fresh: Integers) -> Integers:
    """Return an array whose columns from `past` on are these: the same where there is room, else one twice as long."""
    count = past + fresh.shape[1]
    if count > known.shape[1]:
        longer = np.empty((len(known), max(count, 2 * past)), dtype=np.int64)
        longer[:, :past] = known[:, :past]
        known = longer
    known[:, past:count] = fresh
    return known


def _by_unit(batches: Integers, unit: int, first: int, past: int) -> Integers:
    """Return (2, past - first) smallest and largest times by chunk or segment, `[first, past)` of `unit` rows each.

    A batch counts for each that some row of it may lie in. Cost: O(batches), and O(units) of those with many rows.
    """
    spans = np.empty((2, past - first), dtype=np.int64)
    spans[0], spans[1] = _UNDATED
    begins = np.maximum(batches[FIRST_ROW] // unit - first, 0)
    ends = np.minimum((batches[PAST_ROW] - 1) // unit - first, past - first - 1)
    for places in (begins, ends):
        np.minimum.at(spans[0], places, batches[OLDEST_US])
        np.maximum.at(spans[1], places, batches[NEWEST_US])
    for long in np.flatnonzero(ends - begins > 1).tolist():
        between = slice(begins[long] + 1, ends[long])
        np.minimum(spans[0, between], batches[OLDEST_US, long], out=spans[0, between])
        np.maximum(spans[1, between], batches[NEWEST_US, long], out=spans[1, between])
    return spans
