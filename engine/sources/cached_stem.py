"""The tuples of one stream in a process that does not fold: the segments that answers needed, read from the log.

Rows never change, so a segment once read stays right. It is dropped to make room, and read again. Readers of held
segments take no lock. A thread that needs more segments takes the stream's lock, and makes the next view.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from contextlib import AbstractContextManager
from itertools import repeat
from typing import Final

import numpy as np

from psoup.engine.data.gathering import Gathering
from psoup.engine.data.held_segments import HeldSegments, Sealed, add_columns, scan_table
from psoup.engine.data.join_keys import SideKey
from psoup.engine.data.key_index import KeyIndex, KeyIndexes
from psoup.engine.data.scannable import ScanTable
from psoup.engine.data.segment import Segment
from psoup.engine.data.source import DatedRows, RowSpan
from psoup.engine.errors import NotFoundError, PageExpiredError
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.contract import Log
from psoup.engine.results.contract import ResultsReader, StreamBatches
from psoup.engine.sources.batch_index import (
    FIRST_ROW,
    FIRST_TUPLE_ID,
    PAST_ROW,
    SEQ,
    BatchIndex,
)
from psoup.engine.sources.logged_batch import logged_batch
from psoup.engine.tuples.batch import Batch, TupleId
from psoup.engine.tuples.batch_reader import BatchReader
from psoup.engine.tuples.schema import ColumnType, StreamSchema

MakeLock = Callable[[], AbstractContextManager[object]]

_Held = tuple[Mapping[int, Segment], Sealed, Gathering | None]
"""Segments, the full ones among them, and the reader of their rows if there is one."""

TEXT_BYTES: Final = 57
"""Bytes of a text besides its characters: the object, and its place in a list."""


class CachedView(HeldSegments):
    """The held segments of one stream at one moment. A value, except for the segment that still grows.

    Attributes:
        index: the known batches. A reader of the view needs no row past the last of them.
        names: of the stream's columns.
    """

    def __init__(
        self,
        schema: StreamSchema,
        index: BatchIndex,
        key_indexes: KeyIndexes,
        held: _Held,
    ) -> None:
        """Take the held segments."""
        super().__init__(schema, *held)
        self.index = index
        self.key_indexes = key_indexes
        self.names = frozenset(column.name for column in schema.columns)
        self._joined: Mapping[int, Segment] = {}

    @property
    def past_row(self) -> int:
        """Return the row past the last known."""
        return self.index.past_row

    def joined(self, index: BatchIndex, numbers: Iterable[int]) -> "CachedView":
        """Return the view for a join that knows these batches and has rows of these segments alone."""
        held = self.segments, self.sealed, self.gathering
        made = CachedView(self.schema, index, self.key_indexes, held)
        made._joined = {number: self.segments[number] for number in numbers}
        return made

    def has(self, number: int) -> bool:
        """Return whether all rows of a segment that are known are there."""
        segment = self.segments.get(number)
        if segment is None:
            return False
        return segment.past >= min(SEGMENT_ROWS, self.index.past_row - number * SEGMENT_ROWS)

    def reach(self, span: DatedRows) -> Sequence[RowSpan]:
        """Return the spans of the rows that may be dated in the span of time (`BatchIndex.reach`)."""
        return self.index.reach(span.first_row, span.past_row, span.begin_us, span.end_us)

    def indexed(self, key: SideKey, first_row: int, past_row: int) -> Iterator[KeyIndex]:
        """Yield key indexes of the rows `[first_row, past_row)`, all in whole chunks, that the join has."""
        return self.key_indexes.over(key, self._joined, first_row, past_row)


class CachedSteM:
    """The segments of one stream that answers needed.

    Attributes:
        view: the held segments; replaced, never changed.
        rows_loaded: how many rows were read out of the log.
        is_gone: the stream was dropped, or another generation of the log has begun: nothing more is read.
    """

    def __init__(
        self,
        results: ResultsReader,
        log: Log,
        found: StreamBatches,
        *,
        make_lock: MakeLock,
        ticks: Iterator[int],
    ) -> None:
        """Begin without segments.

        Args:
            results: published results.
            log: has the bodies.
            found: the stream, and all its batches.
            make_lock: makes the locks that threads share it by.
            ticks: numbers that rise: what was used last has the largest.
        """
        self._results = results
        self._log = log
        self._stream_id = found.stream.stream_id
        self._known_to = found.applied
        """Seq up to which batches are indexed; may lie past the last batch of a quiet stream."""
        schema = self._schema = found.stream.schema
        self._reader = BatchReader(schema)
        self._loading = make_lock()
        self._ticks = ticks
        self._used: dict[int, int] = {}
        self._sizes: dict[int, int] = {}
        self._texts: dict[int, dict[str, int]] = {}
        """By segment and column, how many texts are counted."""
        self.rows_loaded = 0
        self.is_gone = False
        names = [column.name for column in schema.columns]
        index = BatchIndex(found.stream.dropped_row).grown(found.stream, found.batches)
        nothing: _Held = {}, ((), ScanTable.empty(names)), None
        self.view = CachedView(schema, index, KeyIndexes(make_lock()), nothing)

    def learn(self, names: AbstractSet[str]) -> None:
        """See to it that columns of these names are held: some may have been added since the stream was looked at.

        Raises PageExpiredError if the stream is not in force any more. Cost: O(names) where they are held.
        """
        if not names <= self.view.names:
            with self._loading:
                self._look()

    def known(self, past_row: int) -> BatchIndex:
        """Return the batches, those with all rows below `past_row` at least.

        Raises PageExpiredError if the stream is not in force any more, or has had another history.
        """
        index = self.view.index
        if index.past_row < past_row:
            with self._loading:
                index = self._grown(past_row)
        return index

    def held(self, numbers: Iterable[int], past_row: int) -> CachedView | None:
        """Return a view that has these segments, with all their rows below `past_row`; None if some are not held.

        Takes no lock.
        """
        view = self.view
        if view.index.past_row < past_row:
            return None
        tick = next(self._ticks)
        for number in numbers:
            if not view.has(number):
                return None
            self._used[number] = tick
        return view

    def load(self, numbers: Iterable[int], past_row: int) -> CachedView:
        """Return a view that has these segments, with all rows below `past_row` that they have.

        Raises PageExpiredError if some of their rows are not held any more, or belong to another generation of the log.
        Cost: reading and decoding the missing batches, writing their rows, and one look at the position.
        """
        with self._loading:
            index = self._grown(past_row)
            wanted = [number for number in sorted(set(numbers)) if not self.view.has(number)]
            if any(
                number * SEGMENT_ROWS < index.dropped_row or number * SEGMENT_ROWS >= index.past_row
                for number in wanted
            ):
                raise PageExpiredError
            segments = dict(self.view.segments)
            fresh = dict[int, Segment]()
            for number in wanted:
                before = fresh.get(number - 1) or segments.get(number - 1)
                fresh[number] = segments.get(number) or Segment(
                    self._schema, start=0, before=before
                )
            self._read(index, fresh)
            self._results.cut()  # whose answer tells of another history, in which entries may be others
            if self.is_gone:
                raise PageExpiredError
            segments |= fresh
            for number, segment in fresh.items():
                self._sizes[number] = segment.nbytes + self._text_bytes(number, segment)
                chunk = number * SEGMENT_ROWS // CHUNK_ROWS
                index.narrow(chunk, segment.chunk_spans())
            tick = next(self._ticks)
            self._used.update(zip(numbers, repeat(tick)))
            self._replace(index, segments)
            return self.view

    def let_go(self, numbers: Sequence[int]) -> None:
        """Forget segments, and the key indexes of their rows; readers at work keep what they have."""
        with self._loading:
            view = self.view
            self._replace(
                view.index, {n: one for n, one in view.segments.items() if n not in numbers}
            )

    def forget_stray_indexes(self) -> None:
        """Drop the key indexes that joins over segments made which had been let go meanwhile."""
        view = self.view
        view.key_indexes.retain(view.segments)

    def by_age(self) -> list[tuple[int, int, int]]:
        """Return (when it was used, number, size) of each segment held."""
        return [(self._used.get(n, 0), n, self._sizes.get(n, 0)) for n in self.view.segments]

    @property
    def nbytes(self) -> int:
        """Return the bytes of segments, their texts, key indexes and the batch index."""
        own = sum(list(self._sizes.values()))
        return own + self.view.key_indexes.nbytes + self.view.index.nbytes

    def check(self) -> None:
        """Assert that segments are as batches say, counted, and full but for the last."""
        view = self.view
        view.index.check()
        numbers = list(view.segments)
        assert sorted(numbers) == numbers
        assert view.segments.keys() == self._sizes.keys(), "segments are counted"
        for number, segment in view.segments.items():
            segment.check()
            assert number * SEGMENT_ROWS >= view.index.dropped_row
            assert number == numbers[-1] or segment.past == SEGMENT_ROWS, "only the last has room"
        full = [n for n, one in view.segments.items() if one.past == SEGMENT_ROWS]
        assert full == list(view.sealed[0]), "full segments are scanned together"
        assert len(full) == len(view.sealed[1])

    def _grown(self, past_row: int) -> BatchIndex:
        """Return the batches known, after asking for more where these rows are not among them; under the lock."""
        index = self.view.index
        if index.past_row < past_row:
            index = self._look()
            if index.past_row < past_row:
                raise PageExpiredError
        return index

    def _look(self) -> BatchIndex:
        """Learn of batches and columns that have come, and return the batches; under the lock.

        Raises PageExpiredError if the stream is not in force any more, or has had another history.
        """
        try:
            found = self._results.batches(self._stream_id, self._known_to)
        except NotFoundError:
            raise PageExpiredError from None
        self._add_columns(found.stream.schema)
        view = self.view
        index = view.index.grown(found.stream, found.batches)
        self._known_to = found.applied
        last = (index.past_row - 1) // SEGMENT_ROWS
        self._replace(
            index,
            {
                number: one
                for number, one in view.segments.items()
                if number * SEGMENT_ROWS >= index.dropped_row
                and (number == last or one.past == SEGMENT_ROWS)
            },
        )
        return index

    def _add_columns(self, schema: StreamSchema) -> None:
        """Hold the columns that were added. All rows read so far came before them, so they are NULL there."""
        view = self.view
        added = schema.columns[len(self._schema.columns) :]
        if not added:
            return
        sealed = add_columns(view.segments, view.sealed, added)
        self._schema, self._reader = schema, BatchReader(schema)
        for number, segment in view.segments.items():
            self._sizes[number] = segment.nbytes + self._text_bytes(number, segment)
        held = dict(view.segments), sealed, None
        self.view = CachedView(schema, view.index, view.key_indexes, held)

    def _replace(self, index: BatchIndex, segments: Mapping[int, Segment]) -> None:
        """Make the next view; parts that stay the same are reused."""
        view = self.view
        gone = view.segments.keys() - segments.keys()
        if gone:
            view.key_indexes.retain(segments)
        for number in gone:
            for noted in (self._sizes, self._used, self._texts):
                noted.pop(number, None)
        gathering = None
        if segments.keys() == view.segments.keys():
            segments, gathering = view.segments, view.gathering
        else:
            segments = dict(sorted(segments.items()))
        sealed = view.sealed
        full = [number for number, one in segments.items() if one.past == SEGMENT_ROWS]
        if full != list(sealed[0]):
            sealed = full, _table(sealed, segments, full)
        held = segments, sealed, gathering
        self.view = CachedView(self._schema, index, view.key_indexes, held)

    def _read(self, index: BatchIndex, segments: Mapping[int, Segment]) -> None:
        """Write the rows of segments, as far as they are known and not written; each batch is read once."""
        places: dict[int, None] = {}
        for number, segment in segments.items():
            base = number * SEGMENT_ROWS
            past = min(base + SEGMENT_ROWS, index.past_row)
            places |= dict.fromkeys(index.overlapping(base + segment.past, past))
        batches = index.batches[:, list(places)]
        try:
            for noted, operation in zip(
                batches.T.tolist(), self._log.read_at(batches[SEQ].tolist()), strict=True
            ):
                rows = noted[PAST_ROW] - noted[FIRST_ROW]
                batch = logged_batch(
                    self._reader,
                    operation,
                    stream_id=self._stream_id,
                    first_tuple_id=TupleId(noted[FIRST_TUPLE_ID]),
                    rows=rows,
                )
                self._write(batch, noted[FIRST_ROW], segments)
        except KeyError:
            raise PageExpiredError from None

    def _write(self, batch: Batch, first_row: int, segments: Mapping[int, Segment]) -> None:
        """Append to each of the segments the rows of a batch that come next in it."""
        past_row = first_row + len(batch)
        for number in range(first_row // SEGMENT_ROWS, (past_row - 1) // SEGMENT_ROWS + 1):
            segment = segments.get(number)
            if segment is None:
                continue
            base = number * SEGMENT_ROWS
            row, past = base + segment.past, min(base + SEGMENT_ROWS, past_row)
            if row < past:
                segment.append(batch, row - first_row, past - first_row)
                self.rows_loaded += past - row

    def _text_bytes(self, number: int, segment: Segment) -> int:
        """Return the bytes of a segment's texts. Cost: O(texts that were not counted before)."""
        counted = self._texts.setdefault(number, {})
        total = counted.get("", 0)
        for column in self._schema.columns:
            if column.type is ColumnType.STRING:
                texts = segment.column(column.name, slice(0, 0)).dictionary or ()
                before = counted.get(column.name, 0)
                fresh = texts[before:] if before else texts
                total += sum(map(len, fresh)) + TEXT_BYTES * len(fresh)
                counted[column.name] = len(texts)
        counted[""] = total
        return total


def _table(sealed: Sealed, segments: Mapping[int, Segment], full: Sequence[int]) -> ScanTable:
    """Return full segments as scans read them; those that were known are not made again."""
    known = {number: place for place, number in enumerate(sealed[0])}
    names = sealed[1].places
    parts = []
    for number in full:
        place = known.get(number)
        if place is None:
            parts.append(scan_table(names, segments[number]))
        else:
            parts.append(sealed[1].part(place, place + 1))
    rows = np.concatenate([np.empty_like(sealed[1].rows[:0]), *(part.rows for part in parts)])
    return ScanTable(names, rows, tuple(part.held[0] for part in parts))
