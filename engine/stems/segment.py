"""A segment: 65,536 consecutive rows of one stream, in arrays made once and written from the left.

Rows are written before anybody is told of them and never change afterwards, so readers on other threads need
no lock: whoever knows a row number may read that row. Strings are codes into a dictionary of the segment's
own, which goes when the segment goes; codes of a batch are translated per distinct text, not per row. A full
segment is sealed: its texts are put in order, so that codes compare as texts do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from engine.tuples.batch import DTYPES, Column
from engine.tuples.schema import ColumnType, StreamSchema

CHUNKS = SEGMENT_ROWS // CHUNK_ROWS
INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True)
class Scannable:
    """Consecutive whole chunks of one column, and what there is of the last one, as a scan reads them.

    Attributes:
        values: (n,) of an ordered dtype.
        least, most: smallest and largest value of each chunk, NULLs aside; the wrong way round where there
            is none or the chunk is not whole.
        valid: (n,) bool, False = NULL; None = no NULL.
        texts: for strings: the texts that `values` are the places of, ascending; else None.
    """

    values: NDArray[Any]
    least: NDArray[Any]
    most: NDArray[Any]
    valid: NDArray[np.bool_] | None
    texts: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class _Coded:
    """Dictionary and codes of a string column: one value, replaced as a whole, so that readers never mix two.

    Attributes:
        texts: code -> text; grows at its end while the segment does.
        codes: (SEGMENT_ROWS,) int32.
        least, most: of each chunk, once `sealed`.
        sealed: texts ascend, so that codes compare as they do.
    """

    texts: list[str]
    codes: NDArray[Any]
    least: NDArray[Any]
    most: NDArray[Any]
    sealed: bool = False


class _StoredColumn:
    """One column of a segment. `valid` appears with the first NULL.

    A string column holds codes in order of arrival while it grows. Sealed, its codes are places in the
    ascending dictionary, so that intervals of texts are intervals of codes.
    """

    __slots__ = ("_coded", "_codes", "_least", "_most", "_ranked", "kind", "valid", "values")

    def __init__(self, kind: ColumnType) -> None:
        self.kind = kind
        self.values: NDArray[Any] = np.empty(SEGMENT_ROWS, dtype=DTYPES[kind])
        self.valid: NDArray[np.bool_] | None = None
        self._least, self._most = _unknown_spans(self.values.dtype)
        self._coded = _Coded([], self.values, self._least, self._most)
        self._ranked: tuple[list[str], NDArray[Any]] = ([], np.zeros(1, dtype=np.int32))
        """Texts in order and the place of each code among them, as far as they were asked for."""
        self._codes: dict[str, int] = {}

    def write(self, first: int, column: Column) -> None:
        """Write the column's values from offset `first` on."""
        past = first + len(column)
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
            self._note_span(chunk, self.values, self._least, self._most)

    def read(self, where: slice | NDArray[np.int64]) -> Column:
        """Return the values at the offsets `where`: a view for a slice, a copy for positions."""
        valid = None if self.valid is None else self.valid[where]
        if self.kind is not ColumnType.STRING:
            return Column(self.kind, self.values[where], valid)
        coded = self._coded
        return Column(self.kind, coded.codes[where], valid, coded.texts)

    def scannable(self, first_chunk: int, past: int) -> Scannable:
        """Return the rows from the chunk `first_chunk` on, up to offset `past`.

        Cost: O(1), but for a string column that grows: O(rows), and O(d log d) whenever its d texts have
        become more.
        """
        rows = slice(first_chunk * CHUNK_ROWS, past)
        chunks = slice(first_chunk, -(-past // CHUNK_ROWS))
        valid = None if self.valid is None else self.valid[rows]
        if self.kind is not ColumnType.STRING:
            spans = self._least[chunks], self._most[chunks]
            return Scannable(self.values[rows], *spans, valid, None)
        coded = self._coded
        spans = coded.least[chunks], coded.most[chunks]
        if coded.sealed:
            return Scannable(coded.codes[rows], *spans, valid, coded.texts)
        ordered, places = self._in_order(coded.texts)
        # Under NULL, and only there, a code may be that of a text which is not among these yet.
        return Scannable(places.take(coded.codes[rows], mode="clip"), *spans, valid, ordered)

    def seal(self) -> None:
        """Put texts in order, and forget what only writing needs: the codes by text."""
        if self.kind is not ColumnType.STRING:
            return
        ordered, places = self._in_order(self._coded.texts)
        codes = places.take(self._coded.codes, mode="clip")
        # New ones: readers at work compare places among fewer texts, of which these say nothing.
        least, most = _unknown_spans(codes.dtype)
        for chunk in range(CHUNKS):
            self._note_span(chunk, codes, least, most)
        self._coded = _Coded(ordered, codes, least, most, sealed=True)
        self.values, self._codes, self._ranked = codes, {}, ([], places[:0])

    def check(self, start: int, past: int) -> None:
        """Assert that every code at offsets `[start, past)` has a text, and each text is there once."""
        if self.kind is ColumnType.STRING and past > start:
            texts, codes = self._coded.texts, self._coded.codes
            assert 0 <= codes[start:past].min() <= codes[start:past].max() < max(1, len(texts))
            assert len(set(texts)) == len(texts), "each text once"
            assert not self._coded.sealed or sorted(texts) == texts, "sealed texts are in order"

    def _note_span(
        self, chunk: int, values: NDArray[Any], least: NDArray[Any], most: NDArray[Any]
    ) -> None:
        some = slice(chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS)
        held = values[some] if self.valid is None else values[some][self.valid[some]]
        if len(held):
            least[chunk], most[chunk] = held.min(), held.max()

    def _in_order(self, texts: list[str]) -> tuple[list[str], NDArray[Any]]:
        known = self._ranked
        count = len(
            texts
        )  # more may be appended meanwhile; rows that have them are not asked about
        if len(known[0]) < count:
            by_text = sorted(range(count), key=texts.__getitem__)
            places = np.zeros(count, dtype=np.int32)
            places[by_text] = np.arange(count)
            known = self._ranked = ([texts[i] for i in by_text], places)
        return known

    def _translated(self, codes: NDArray[Any], texts: Sequence[str]) -> NDArray[np.int32]:
        used = np.zeros(len(texts), dtype=np.bool_)
        used[codes] = True
        own = np.zeros(len(texts), dtype=np.int32)
        dictionary = self._coded.texts
        for code in np.flatnonzero(used).tolist():
            text = texts[code]
            known = self._codes.get(text)
            if known is None:
                known = len(dictionary)
                dictionary.append(text)
                self._codes[text] = known
            own[code] = known
        translated: NDArray[np.int32] = own[codes]
        return translated


def _unknown_spans(dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (least, most) for each chunk, the wrong way round: nothing is known of them."""
    if dtype.kind == "b":
        ends: tuple[Any, Any] = (False, True)
    elif dtype.kind == "f":
        ends = (-np.inf, np.inf)
    else:
        ends = (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return np.full(CHUNKS, ends[1], dtype=dtype), np.full(CHUNKS, ends[0], dtype=dtype)


class Segment:
    """Columns of up to SEGMENT_ROWS rows, by offset from the segment's first row.

    `times` and `tuple_ids` are meaningless outside the offsets `[start, past)`.
    """

    __slots__ = (
        "_columns",
        "_dated",
        "_times_max",
        "_times_min",
        "past",
        "start",
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
        self._times_min = np.full(CHUNKS, INT64.max, dtype=np.int64)
        self._times_max = np.full(CHUNKS, INT64.min, dtype=np.int64)
        self.tuple_ids = np.empty(SEGMENT_ROWS, dtype=np.int64)
        self.start = start
        self.past = start

    @property
    def time_span(self) -> tuple[int, int]:
        """Smallest and largest tuple time of the rows written; the wrong way round for none."""
        return int(self._times_min.min()), int(self._times_max.max())

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

    def write(
        self, columns: dict[str, Column], *, tuple_ids: NDArray[np.int64], times: NDArray[np.int64]
    ) -> None:
        """Append rows, all of which fit. Cost: O(values), one look-up per distinct string."""
        first, past = self.past, self.past + len(times)
        assert past <= SEGMENT_ROWS, "a segment is never written past its end"
        for name, column in columns.items():
            self._columns[name].write(first, column)
        self.times[first:past] = times
        self.tuple_ids[first:past] = tuple_ids
        for chunk in range(first // CHUNK_ROWS, -(-past // CHUNK_ROWS)):
            part = self.times[max(first, chunk * CHUNK_ROWS) : min(past, (chunk + 1) * CHUNK_ROWS)]
            self._times_min[chunk] = min(self._times_min[chunk], part.min())
            self._times_max[chunk] = max(self._times_max[chunk], part.max())
            if past >= (chunk + 1) * CHUNK_ROWS and self.start <= chunk * CHUNK_ROWS:
                for stored in self._columns.values():
                    stored.close(chunk)
        self.past = past
        if past == SEGMENT_ROWS:
            for stored in self._columns.values():
                stored.seal()

    def scannable(self, name: str, first_chunk: int, past: int) -> Scannable:
        """Return the named column from the segment's chunk `first_chunk` on, up to offset `past`."""
        return self._columns[name].scannable(first_chunk, past)

    def column(self, name: str, where: slice | NDArray[np.int64]) -> Column:
        """Return the named column at the offsets `where`."""
        return self._columns[name].read(where)

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays, written or not; texts are not counted."""
        own = self.tuple_ids.nbytes + (0 if self._dated else self.times.nbytes)
        return own + sum(column.values.nbytes for column in self._columns.values())

    def check(self) -> None:
        """Assert that times lie in their chunks' spans and codes in their dictionaries."""
        assert 0 <= self.start <= self.past <= SEGMENT_ROWS
        for chunk in range(CHUNKS):
            first = max(self.start, chunk * CHUNK_ROWS)
            part = self.times[first : min(self.past, (chunk + 1) * CHUNK_ROWS)]
            if len(part):
                assert self._times_min[chunk] == part.min(), "the smallest time of a chunk"
                assert self._times_max[chunk] == part.max(), "the largest time of a chunk"
        for column in self._columns.values():
            column.check(self.start, self.past)
        ids = self.tuple_ids[self.start : self.past]
        assert (np.diff(ids) > 0).all(), "tuple ids ascend with rows"
