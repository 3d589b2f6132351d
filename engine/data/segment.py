"""A segment: 65,536 consecutive rows of one stream, in arrays made once and written from the left.

Rows are written before their numbers are handed out, and never change afterwards. So readers on other threads need
no lock: a thread that has a row number may read that row. Strings are codes into a dictionary of the segment's
own, which goes when the segment goes; codes of a batch are translated per distinct text, not per row. A full
segment is sealed: its texts are put in order, so that codes compare as texts do, and whole numbers that lie
near each other get compact codes beside them, which is what scans read.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.scannable import BYTE_CODES, CHUNKS, Scannable, null_words, unknown_spans
from psoup.engine.kernels import within
from psoup.engine.kernels.gather import BYTES, LONGS, SHORTS
from psoup.engine.kernels.span import least_most
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.tuples.batch import DTYPES, Batch, Column, LoneTuple, null_column
from psoup.engine.tuples.schema import ColumnSchema, ColumnType, StreamSchema

INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True)
class _Coded:
    """Dictionary and codes of a string column: one value, replaced as a whole, so that readers never mix two.

    Attributes:
        texts: code -> text; grows at its end while the segment does.
        codes: (SEGMENT_ROWS,) int32, uint8 or uint16 once `sealed`.
        scan: how codes are scanned, once sealed: texts ascend, so that codes compare as they do.
    """

    texts: list[str]
    codes: NDArray[Any]
    scan: Scannable | None = None


class _StoredColumn:
    """One column of a segment. `valid` appears with the first NULL.

    A string column holds codes in order of arrival while it grows. Sealed, its codes are places in the
    ascending dictionary, so that intervals of texts are intervals of codes; as 65,536 rows have no more texts
    than that, two bytes are enough.
    """

    __slots__ = (
        "_coded",
        "_codes",
        "_least",
        "_most",
        "_ranked",
        "_scan",
        "kind",
        "valid",
        "values",
    )

    def __init__(self, kind: ColumnType) -> None:
        self.kind = kind
        self.values: NDArray[Any] = np.empty(SEGMENT_ROWS, dtype=DTYPES[kind])
        self.valid: NDArray[np.bool_] | None = None
        self._least, self._most = unknown_spans(kind)
        self._scan: Scannable | None = None
        self._coded = _Coded([], self.values)
        self._ranked: tuple[list[str], NDArray[Any]] = ([], np.zeros(1, dtype=np.uint16))
        """Texts in order and the place of each code among them, as far as they were asked for."""
        self._codes: dict[str, int] = {}

    def write(self, first: int, past: int, column: Column) -> None:
        """Write the column's values to the offsets `[first, past)`."""
        if column.dictionary is None:
            self.values[first:past] = column.values
        else:
            self.values[first:past] = self._translated(column.values, column.dictionary)
        if column.valid is not None:
            if self.valid is None:
                self.valid = np.ones(SEGMENT_ROWS, dtype=np.bool_)
            self.valid[first:past] = column.valid

    def close(self, chunk: int) -> None:
        """Note the smallest and largest value of a chunk that is whole now; codes in order of arrival say nothing."""
        if self.kind is not ColumnType.STRING:
            some = slice(chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS)
            span = _span(self.values, self.valid, some)
            if span is not None:
                self._least[chunk], self._most[chunk] = span

    def read(self, where: slice | NDArray[np.int64]) -> Column:
        """Return the values at the offsets `where`: a copy for positions, a view for a slice of most columns."""
        valid = None if self.valid is None else self.valid[where]
        if self.kind is not ColumnType.STRING:
            return Column(self.kind, self.values[where], valid)
        coded = self._coded
        codes = coded.codes[where].astype(np.int32, copy=False)
        return Column(self.kind, codes, valid, coded.texts)

    def scannable(self, past: int) -> Scannable:
        """Return what a scan reads of the rows below offset `past`.

        Cost: O(1) once sealed. Before, O(rows) where there are NULLs or texts, and O(d log d) whenever the
        d texts have become more.
        """
        coded = self._coded
        known = coded.scan if self.kind is ColumnType.STRING else self._scan
        if known is not None:
            return known
        nulls = None if self.valid is None else null_words(self.valid, past)
        if self.kind is not ColumnType.STRING:
            return Scannable.raw(self.kind, self.values, (self._least, self._most), nulls)
        ordered, places = self._in_order(coded.texts)
        # Under NULL, and only there, a code may be that of a text which is not among these yet.
        codes = places.take(coded.codes, mode="clip")
        return Scannable.places(codes, unknown_spans(self.kind), nulls, ordered)

    def lies(self) -> tuple[int, int, int]:
        """Return form, address and base of the values: of compact codes, once there are any."""
        scan = self._scan
        if scan is not None and scan.values is not self.values:
            form = BYTES if scan.values.dtype == np.uint8 else SHORTS
            return form, _address(scan.values), int(scan.row[within.BASE])
        return LONGS, _address(self.values), 0

    def seal(self, start: int) -> None:
        """Make what scans read of the whole segment, whose rows begin at offset `start`.

        Texts are put in order, and what only writing needs is forgotten: the codes by text.
        """
        nulls = None if self.valid is None else null_words(self.valid, SEGMENT_ROWS)
        if self.kind is not ColumnType.STRING:
            first = start // CHUNK_ROWS
            if start > first * CHUNK_ROWS:
                span = _span(self.values, self.valid, slice(start, (first + 1) * CHUNK_ROWS))
                if span is not None:
                    self._least[first], self._most[first] = span
            raw = Scannable.raw(self.kind, self.values, (self._least, self._most), nulls)
            self._scan = raw.compact()
            return
        ordered, places = self._in_order(self._coded.texts)
        narrow = np.uint8 if len(ordered) <= BYTE_CODES else np.uint16
        codes = places.astype(narrow).take(self._coded.codes, mode="clip")
        # New ones: readers at work compare places among fewer texts, of which these say nothing.
        least, most = unknown_spans(self.kind)
        for chunk in range(start // CHUNK_ROWS, CHUNKS):
            some = slice(max(start, chunk * CHUNK_ROWS), (chunk + 1) * CHUNK_ROWS)
            span = _span(codes, self.valid, some)
            if span is not None:
                least[chunk], most[chunk] = span
        scan = Scannable.places(codes, (least, most), nulls, ordered)
        self._coded = _Coded(ordered, codes, scan)
        self.values, self._codes, self._ranked = codes, {}, ([], places[:0])

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays, compact codes too; texts are not counted."""
        compact = self._scan is not None and self._scan.values is not self.values
        return self.values.nbytes + (self._scan.values.nbytes if self._scan and compact else 0)

    def check(self, start: int, past: int) -> None:
        """Assert that every code at offsets `[start, past)` has a text, and each text is there once."""
        if self.kind is ColumnType.STRING and past > start:
            texts, codes = self._coded.texts, self._coded.codes
            assert 0 <= codes[start:past].min() <= codes[start:past].max() < max(1, len(texts))
            assert len(set(texts)) == len(texts), "each text once"
            assert self._coded.scan is None or sorted(texts) == texts, "sealed texts are in order"
        if self._scan is not None:
            self._scan.check(self.values[start:past], self.valid, start)

    def _in_order(self, texts: list[str]) -> tuple[list[str], NDArray[Any]]:
        known = self._ranked
        count = len(texts)  # more may be appended meanwhile, for rows that are not asked about
        if len(known[0]) < count:
            by_text = sorted(range(count), key=texts.__getitem__)
            places = np.zeros(count, dtype=np.uint16)
            places[by_text] = np.arange(count)
            known = self._ranked = ([texts[i] for i in by_text], places)
        return known

    def _translated(self, codes: NDArray[Any], texts: Sequence[str]) -> NDArray[np.int32]:
        used = np.zeros(len(texts), dtype=np.bool_)
        used[codes] = True
        places = np.flatnonzero(used)
        wanted = texts if len(places) == len(texts) else [texts[i] for i in places.tolist()]
        known, dictionary = self._codes, self._coded.texts
        for text in wanted:
            if text not in known:
                known[text] = len(dictionary)
                dictionary.append(text)  # before any row is written that has its code
        own = np.zeros(len(texts), dtype=np.int32)
        own[places] = [known[text] for text in wanted]
        translated: NDArray[np.int32] = own[codes]
        return translated


def _null_stored(kind: ColumnType, first: int, past: int) -> _StoredColumn:
    """Return a column of a segment whose rows `[first, past)` are NULL. A full one is made once, for all segments."""
    if past == SEGMENT_ROWS:
        return _sealed_nulls(kind)
    stored = _StoredColumn(kind)
    if first < past:
        stored.write(first, past, null_column(kind, past - first))
    return stored


@functools.cache
def _sealed_nulls(kind: ColumnType) -> _StoredColumn:
    """Return a sealed column of NULLs alone, which is never written."""
    stored = _StoredColumn(kind)
    stored.write(0, SEGMENT_ROWS, null_column(kind, SEGMENT_ROWS))
    stored.seal(0)
    return stored


def _span(
    values: NDArray[Any], valid: NDArray[np.bool_] | None, some: slice
) -> tuple[Any, Any] | None:
    """Return the smallest and the largest of some values; None where all are NULL."""
    held = values[some] if valid is None else values[some][valid[some]]
    if not len(held):
        return None
    return least_most(held) if held.dtype.itemsize == 8 else (held.min(), held.max())


def _address(array: NDArray[Any]) -> int:
    """Return the address of an array. The caller keeps the array as long as the address."""
    return int(array.__array_interface__["data"][0])


class Segment:
    """Columns of up to SEGMENT_ROWS rows, by offset from the segment's first row.

    `times` and `tuple_ids` are meaningless outside the offsets `[start, past)`.
    """

    __slots__ = (
        "_cells",
        "_columns",
        "_dated",
        "_times_max",
        "_times_min",
        "past",
        "start",
        "time_span",
        "times",
        "tuple_ids",
    )

    def __init__(self, schema: StreamSchema, *, start: int) -> None:
        """Begin empty; the first row will be written at offset `start`."""
        self._columns = {column.name: _StoredColumn(column.type) for column in schema.columns}
        self._dated = schema.time is not None
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
        self._cells = [memoryview(array) for array in (*arrays, self.tuple_ids, self.times)]
        """The arrays as single values are written: several times as fast as into slices."""
        self.start = start
        self.past = start

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
        if count == 1:  # texts may come one by one as well
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
            for stored in self._columns.values():
                stored.seal(self.start)

    def _append_lone(self, lone: LoneTuple) -> None:
        """Append a tuple that ends no chunk. Cost: O(columns)."""
        at, time_us = self.past, lone.time_us
        words = (*lone.values, lone.first_tuple_id, time_us)
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
        added = {c.name: _null_stored(c.type, self.start, self.past) for c in columns}
        self._columns = {**self._columns, **added}

    def scannable(self, name: str, past: int) -> Scannable:
        """Return what a scan reads of the named column's rows below offset `past`."""
        return self._columns[name].scannable(past)

    def column(self, name: str, where: slice | NDArray[np.int64]) -> Column:
        """Return the named column at the offsets `where`."""
        return self._columns[name].read(where)

    @property
    def with_nulls(self) -> list[str]:
        """Return the names of the columns that a NULL has been written to."""
        return [name for name, stored in self._columns.items() if stored.valid is not None]

    def lies(self, names: Sequence[str]) -> list[tuple[int, int, int]]:
        """Return how and where times, tuple ids and the named columns lie, as `gather` reads them.

        Not for columns of less than eight bytes a value. None is moved while the segment is there.
        """
        own = [(LONGS, _address(array), 0) for array in (self.times, self.tuple_ids)]
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
