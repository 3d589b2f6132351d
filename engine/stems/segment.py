"""A segment: 65,536 consecutive rows of one stream, in arrays made once and written from the left.

Rows are written before anybody is told of them and never change afterwards, so readers on other threads need
no lock: whoever knows a row number may read that row. Strings are codes into a dictionary of the segment's
own, which goes when the segment goes; codes of a batch are translated per distinct text, not per row.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from engine.tuples.batch import DTYPES, Column
from engine.tuples.schema import ColumnType, StreamSchema

CHUNKS = SEGMENT_ROWS // CHUNK_ROWS
INT64 = np.iinfo(np.int64)


class _StoredColumn:
    """One column of a segment. `valid` appears with the first NULL."""

    __slots__ = ("_codes", "dictionary", "kind", "valid", "values")

    def __init__(self, kind: ColumnType) -> None:
        self.kind = kind
        self.values: NDArray[Any] = np.empty(SEGMENT_ROWS, dtype=DTYPES[kind])
        self.valid: NDArray[np.bool_] | None = None
        self.dictionary: list[str] = []
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

    def read(self, where: slice | NDArray[np.int64]) -> Column:
        """Return the values at the offsets `where`: a view for a slice, a copy for positions."""
        valid = None if self.valid is None else self.valid[where]
        dictionary = self.dictionary if self.kind is ColumnType.STRING else None
        return Column(self.kind, self.values[where], valid, dictionary)

    def seal(self) -> None:
        """Forget what only writing needs: the codes by text."""
        self._codes = {}

    def _translated(self, codes: NDArray[Any], texts: Sequence[str]) -> NDArray[np.int32]:
        used = np.zeros(len(texts), dtype=np.bool_)
        used[codes] = True
        own = np.zeros(len(texts), dtype=np.int32)
        for code in np.flatnonzero(used).tolist():
            text = texts[code]
            known = self._codes.get(text)
            if known is None:
                known = len(self.dictionary)
                self.dictionary.append(text)
                self._codes[text] = known
            own[code] = known
        translated: NDArray[np.int32] = own[codes]
        return translated


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
        self.past = past
        if past == SEGMENT_ROWS:
            for stored in self._columns.values():
                stored.seal()

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
            if column.kind is ColumnType.STRING and self.past > self.start:
                codes = column.values[self.start : self.past]
                assert 0 <= codes.min() <= codes.max() < len(column.dictionary), "a code has a text"
                assert len(set(column.dictionary)) == len(column.dictionary), "each text once"
        ids = self.tuple_ids[self.start : self.past]
        assert (np.diff(ids) > 0).all(), "tuple ids ascend with rows"
