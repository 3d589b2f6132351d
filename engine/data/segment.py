"""A segment: 65,536 consecutive rows of one stream, in arrays made once and written from the left.

Rows are written before their numbers are handed out, and never change afterwards. So readers on other threads need
no lock: a thread that has a row number may read that row. What a column is while the segment grows and once it is full
is in `stored_column.py`; its dictionary goes when the segment goes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.scannable import CHUNKS, Scannable
from psoup.engine.data.stored_column import StoredColumn, address_of, null_stored
from psoup.engine.kernels.gather import LONGS, ascends
from psoup.engine.kernels.span import least_most
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.tuples.batch import AscendingTexts, Batch, Column, LoneTuple
from psoup.engine.tuples.schema import ColumnSchema, ColumnType, StreamSchema

INT64 = np.iinfo(np.int64)


class Segment:
    """Columns of up to SEGMENT_ROWS rows, by offset from the segment's first row.

    `times` and `tuple_ids` are meaningless outside the offsets `[start, past)`.
    """

    __slots__ = (
        "_before",
        "_cells",
        "_columns",
        "_dated",
        "_has_texts",
        "_times_max",
        "_times_min",
        "in_order",
        "past",
        "start",
        "time_span",
        "times",
        "tuple_ids",
    )

    def __init__(
        self, schema: StreamSchema, *, start: int, before: "Segment | None" = None
    ) -> None:
        """Begin empty; the first row will be written at offset `start`. `before` is the segment before, if held."""
        self._before: Mapping[str, AscendingTexts] = {} if before is None else before.texts
        """Texts of the segment before by column, until this one is full: not the segment, which may go before that."""
        self._columns = {column.name: StoredColumn(column.type) for column in schema.columns}
        self._dated = schema.time is not None
        self._has_texts = any(column.type is ColumnType.STRING for column in schema.columns)
        self.times: NDArray[np.int64] = (
            np.empty(SEGMENT_ROWS, dtype=np.int64)
            if schema.time is None
            else self._columns[schema.time].values  # a declared time is stored once
        )
        self._times_min = [int(INT64.max)] * CHUNKS
        self._times_max = [int(INT64.min)] * CHUNKS
        self.time_span = (int(INT64.max), int(INT64.min))
        """Of the rows written; the wrong way round for none."""
        self.tuple_ids = np.empty(SEGMENT_ROWS, dtype=np.int64)
        arrays = [stored.values for stored in self._columns.values()]
        self._cells: list[Any] = [array.data for array in (*arrays, self.tuple_ids, self.times)]
        """The arrays as single values are written, until it is full: several times as fast as into slices."""
        self.start = start
        self.past = start
        self.in_order = False
        """Whether it is full, and no time is smaller than the one before it."""

    def chunk_spans(self) -> list[tuple[int, int]]:
        """Return the same of each chunk."""
        return list(zip(self._times_min, self._times_max, strict=True))

    def oldest(self, first: int, past: int, floor_us: int | None) -> int | None:
        """Return the smallest time at offsets `[first, past)` that is `floor_us` or later, or None."""
        begin, end = max(first, self.start), min(past, self.past)
        oldest_us, newest_us = self.time_span
        if begin >= end or (floor_us is not None and newest_us < floor_us):
            return None
        whole = (begin, end) == (self.start, self.past)
        if whole and (floor_us is None or oldest_us >= floor_us):
            return oldest_us
        times = self.times[begin:end]
        if floor_us is not None:
            times = times[times >= floor_us]
        return int(times.min()) if len(times) else None

    def append(self, batch: Batch, first: int, past: int) -> None:
        """Append the rows `[first, past)` of a batch, all of which fit. Cost: O(values)."""
        if isinstance(batch, LoneTuple):
            if (self.past + 1) % CHUNK_ROWS:
                self._append_lone(batch)
                return
            batch = batch.whole()
        columns, times = batch.columns, batch.times_us
        if past - first < len(batch):
            some = slice(first, past)
            columns, times = tuple(column.part(some) for column in columns), times[some]
        self.write(columns, first_tuple_id=batch.first_tuple_id + first, times=times)

    def write(
        self, columns: Sequence[Column], *, first_tuple_id: int, times: NDArray[np.int64]
    ) -> None:
        """Append rows, all of which fit: columns in the schema's order, ids that follow each other.

        Cost: O(values), one look-up per distinct string.
        """
        count, first = len(times), self.past
        past = first + count
        assert past <= SEGMENT_ROWS, "a segment is never written past its end"
        for stored, column in zip(self._columns.values(), columns, strict=True):
            stored.write(first, past, column)
        if not self._dated:
            self.times[first:past] = times
        if count == 1:  # booleans and NULLs may come one by one as well
            self.tuple_ids[first] = first_tuple_id
            self._note_times(first // CHUNK_ROWS, times.item(0), times.item(0))
        else:
            self.tuple_ids[first:past] = np.arange(first_tuple_id, first_tuple_id + count)
            for chunk in range(first // CHUNK_ROWS, -(-past // CHUNK_ROWS)):
                begin, end = max(first, chunk * CHUNK_ROWS), min(past, (chunk + 1) * CHUNK_ROWS)
                self._note_times(chunk, *least_most(self.times[begin:end]))
        for chunk in range(first // CHUNK_ROWS, past // CHUNK_ROWS):
            if self.start <= chunk * CHUNK_ROWS:
                for stored in self._columns.values():
                    stored.close(chunk)
        self.past = past
        if past == SEGMENT_ROWS:
            self._seal()

    def _seal(self) -> None:
        """Make what scans and groups read of a full segment, and forget what only writing needs."""
        before, self._before = self._before, {}
        self._cells = []
        for name, stored in self._columns.items():
            stored.seal(self.start, before.get(name))
        self.in_order = ascends(self.times[self.start :])

    def _append_lone(self, lone: LoneTuple) -> None:
        """Append a tuple that ends no chunk. Cost: O(columns)."""
        at, time_us = self.past, lone.time_us
        values = lone.values
        if self._has_texts:
            stored = self._columns.values()
            values = [
                one.code(value) if isinstance(value, str) else value
                for one, value in zip(stored, values, strict=True)
            ]
        words = (*values, lone.first_tuple_id, time_us)
        for cells, word in zip(self._cells, words, strict=True):
            cells[at] = word
        self._note_times(at // CHUNK_ROWS, time_us, time_us)
        self.past = at + 1

    def _note_times(self, chunk: int, oldest_us: int, newest_us: int) -> None:
        """Widen the span of a chunk, and that of all rows, by that of rows written to the chunk."""
        if oldest_us < self._times_min[chunk]:  # noqa: PLR1730 (a call of min takes as long as the rest)
            self._times_min[chunk] = oldest_us
        if newest_us > self._times_max[chunk]:  # noqa: PLR1730
            self._times_max[chunk] = newest_us
        oldest, newest = self.time_span
        if oldest_us < oldest or newest_us > newest:
            self.time_span = min(oldest, oldest_us), max(newest, newest_us)

    def add_columns(self, columns: Sequence[ColumnSchema]) -> None:
        """Add columns behind the others, NULL in all rows written; readers at work see no change."""
        added = {c.name: null_stored(c.type, self.start, self.past) for c in columns}
        self._columns = {**self._columns, **added}

    def scannable(self, name: str, past: int) -> Scannable:
        """Return what a scan reads of the named column's rows below offset `past`."""
        return self._columns[name].scannable(past)

    def column(self, name: str, where: slice | NDArray[np.int64]) -> Column:
        """Return the named column at the offsets `where`."""
        return self._columns[name].read(where)

    @property
    def texts(self) -> Mapping[str, AscendingTexts]:
        """Return the texts of each sealed column of texts."""
        texts = {name: stored.texts for name, stored in self._columns.items()}
        return {name: some for name, some in texts.items() if some is not None}

    @property
    def with_nulls(self) -> list[str]:
        """Return the names of the columns that a NULL has been written to."""
        return [name for name, stored in self._columns.items() if stored.valid is not None]

    def lies(self, names: Sequence[str]) -> list[tuple[int, int, int]]:
        """Return how and where times, tuple ids and the named columns lie, as `gather` reads them.

        Not for columns of less than eight bytes a value. None is moved while the segment is there.
        """
        own = [(LONGS, address_of(array), 0) for array in (self.times, self.tuple_ids)]
        return own + [self._columns[name].lies() for name in names]

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays, written or not; texts are not counted."""
        own = self.tuple_ids.nbytes + (0 if self._dated else self.times.nbytes)
        return own + sum(column.nbytes for column in self._columns.values())

    def check(self) -> None:
        """Assert that times lie in their chunks' spans and codes in their dictionaries."""
        assert 0 <= self.start <= self.past <= SEGMENT_ROWS
        for chunk in range(CHUNKS):
            first = max(self.start, chunk * CHUNK_ROWS)
            part = self.times[first : min(self.past, (chunk + 1) * CHUNK_ROWS)]
            if len(part):
                assert self._times_min[chunk] == part.min(), "the smallest time of a chunk"
                assert self._times_max[chunk] == part.max(), "the largest time of a chunk"
        assert self.time_span == (min(self._times_min), max(self._times_max))
        for column in self._columns.values():
            column.check(self.start, self.past)
        ids = self.tuple_ids[self.start : self.past]
        assert (np.diff(ids) > 0).all(), "tuple ids ascend with rows"
