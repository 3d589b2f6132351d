"""A column of a segment: an array that is written from the left, and what scans read of it once it is full.

Strings are codes into a dictionary of the column's own; codes of a batch are translated per distinct text, not per
row. A full column is sealed: its texts are put in order, so that codes compare as texts do, and whole numbers that lie
near each other get compact codes beside them.
"""

import functools
import itertools
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
from psoup.engine.tuples.batch import DTYPES, AscendingTexts, Column, null_column
from psoup.engine.tuples.schema import ColumnType


@dataclass(frozen=True, slots=True)
class _Coded:
    """Dictionary and codes of a string column: one value, replaced as a whole, so that readers never mix two.

    Attributes:
        texts: code -> text; grows at its end while the segment does. Once sealed, those of the segment before where
            both have the same: rows of both then have one dictionary.
        codes: (SEGMENT_ROWS,) int32, uint8 or uint16 once `sealed`.
        scan: how codes are scanned, once sealed: texts ascend, so that codes compare as they do.
    """

    texts: Sequence[str]
    codes: NDArray[Any]
    scan: Scannable | None = None


class StoredColumn:
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
        "_texts",
        "kind",
        "valid",
        "values",
    )

    def __init__(self, kind: ColumnType) -> None:
        """Begin without values."""
        self.kind = kind
        self.values: NDArray[Any] = np.empty(SEGMENT_ROWS, dtype=DTYPES[kind])
        self.valid: NDArray[np.bool_] | None = None
        self._least, self._most = unknown_spans(kind)
        self._scan: Scannable | None = None
        self._texts: list[str] = []
        """In order of arrival, until sealed: the list that is written, which readers get by `_coded` alone."""
        self._coded = _Coded(self._texts, self.values)
        self._ranked: tuple[AscendingTexts, NDArray[Any]] = (
            AscendingTexts(),
            np.zeros(1, dtype=np.uint16),
        )
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

    def code(self, text: str) -> int:
        """Return the code of the text of a lone tuple; `_codes_of` is for the texts of a batch in columns.

        A text gets one if it has none yet: before any row is written that has it.
        """
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self._texts)
            self._texts.append(text)
        return code

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
        # Of the texts that go with these codes: the column may have been sealed since.
        ordered, places = self._in_order(coded.texts)
        # Under NULL, and only there, a code may be that of a text which is not among these yet.
        codes = places.take(coded.codes, mode="clip")
        return Scannable.places(codes, unknown_spans(self.kind), nulls, ordered)

    def lies(self) -> tuple[int, int, int]:
        """Return form, address and base of the values: of compact codes, once there are any."""
        scan = self._scan
        if scan is not None and scan.values is not self.values:
            form = BYTES if scan.values.dtype == np.uint8 else SHORTS
            return form, address_of(scan.values), int(scan.row[within.BASE])
        return LONGS, address_of(self.values), 0

    @property
    def texts(self) -> AscendingTexts | None:
        """Return the texts of a column that is sealed; None for other columns."""
        texts = self._coded.texts
        return texts if isinstance(texts, AscendingTexts) else None

    def seal(self, start: int, before: AscendingTexts | None = None) -> None:
        """Make what scans read of the whole segment, whose rows begin at offset `start`.

        Texts are put in order, and what only writing needs is forgotten: the codes by text. Texts that are those of the
        segment `before` are shared with it.
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
        if ordered == before:
            ordered = before
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
        self.values, self._codes, self._ranked, self._texts = (
            codes,
            {},
            (AscendingTexts(), places[:0]),
            [],
        )

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
            assert self._coded.scan is None or sorted(texts) == list(texts), (
                "sealed texts are in order"
            )
        if self._scan is not None:
            self._scan.check(self.values[start:past], self.valid, start)

    def _in_order(self, texts: Sequence[str]) -> tuple[AscendingTexts, NDArray[Any]]:
        """Return texts, in order of arrival, in order, and the place of each code among them."""
        known = self._ranked
        count = len(texts)  # more may be appended meanwhile, for rows that are not asked about
        if len(known[0]) < count:
            by_text = sorted(range(count), key=texts.__getitem__)
            places = np.zeros(count, dtype=np.uint16)
            places[by_text] = np.arange(count)
            known = AscendingTexts([texts[i] for i in by_text]), places
            if texts is self._texts:  # else it is sealed, and nobody will ask again
                self._ranked = known
        return known

    def _codes_of(self, wanted: Sequence[str]) -> NDArray[np.int32]:
        """Return the codes of the texts of a batch in columns, which are distinct; those that have none get one.

        Cost: a look-up each, and one more of new ones that stand among others.
        """
        known, first = self._codes, len(self._texts)
        found = np.fromiter(map(known.setdefault, wanted, itertools.count(first)), np.int32)
        new = len(known) - first
        if not new:
            return found
        fresh = wanted
        if new < len(wanted):  # some had a code: those of the others are to leave no gaps
            places = np.flatnonzero(found >= first)
            assert len(places) == new, "a dictionary has no text twice"
            fresh = [wanted[i] for i in places.tolist()]
            found[places] = np.arange(first, first + new)
            known.update(zip(fresh, range(first, first + new), strict=True))
        self._texts.extend(fresh)  # before any row is written that has their codes
        return found

    def _translated(self, codes: NDArray[Any], texts: Sequence[str]) -> NDArray[np.int32]:
        used = np.zeros(len(texts), dtype=np.bool_)
        used[codes] = True
        places = np.flatnonzero(used)
        wanted = texts if len(places) == len(texts) else [texts[i] for i in places.tolist()]
        own = np.zeros(len(texts), dtype=np.int32)
        own[places] = self._codes_of(wanted)
        translated: NDArray[np.int32] = own[codes]
        return translated


def null_stored(kind: ColumnType, first: int, past: int) -> StoredColumn:
    """Return a column of a segment whose rows `[first, past)` are NULL. A full one is made once, for all segments."""
    if past == SEGMENT_ROWS:
        return _sealed_nulls(kind)
    stored = StoredColumn(kind)
    if first < past:
        stored.write(first, past, null_column(kind, past - first))
    return stored


@functools.cache
def _sealed_nulls(kind: ColumnType) -> StoredColumn:
    """Return a sealed column of NULLs alone, which is never written."""
    stored = StoredColumn(kind)
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


def address_of(array: NDArray[Any]) -> int:
    """Return the address of an array. The caller keeps the array as long as the address."""
    return int(array.__array_interface__["data"][0])
