"""One column of a segment as scans compare it, and tables of many of them, which a kernel takes in one call.

Whole numbers have codes by frame of reference: the distance from the least value of the segment, in one byte or
two where all distances fit. They stand beside the values, which readers of columns get as views; scans read an
eighth or a quarter of the memory. Texts are places among the segment's own, which always fit two bytes and are all
that is kept of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels import within
from psoup.engine.kernels.bits import Words, packed
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.tuples.batch import AscendingTexts
from psoup.engine.tuples.schema import ColumnType

CHUNKS: Final = SEGMENT_ROWS // CHUNK_ROWS
BYTE_CODES: Final = 1 << 8
SHORT_CODES: Final = 1 << 16

Spans = tuple[NDArray[Any], NDArray[Any]]

_RAW: Final = {ColumnType.FLOAT64: within.DOUBLES, ColumnType.BOOL: within.BYTES}
_INT64: Final = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Scannable:
    """One column of a segment.

    Attributes:
        values: (SEGMENT_ROWS,) contiguous, of the form's dtype.
        row: (WIDTH,) int64: form, address of `values` and the rest, as `within` reads them.
        nulls: (SEGMENT_ROWS / 64,) a bit a row, set = NULL; None = no NULL.
        texts: of strings: what `values` are the places of, ascending; else None.
    """

    values: NDArray[Any]
    row: NDArray[np.int64]
    nulls: Words | None
    texts: AscendingTexts | None = None

    @classmethod
    def raw(
        cls, kind: ColumnType, values: NDArray[Any], spans: Spans, nulls: Words | None
    ) -> "Scannable":
        """Return a column that is no text as it is stored; `spans` as `unknown_spans` gives them."""
        form = _RAW.get(kind, within.LONGS)
        return cls(values, _row(form, values, (0, 1), spans, nulls), nulls)

    @classmethod
    def places(
        cls, codes: NDArray[Any], spans: Spans, nulls: Words | None, texts: AscendingTexts
    ) -> "Scannable":
        """Return a column of texts, given as their places among `texts`: uint8 or uint16."""
        form = within.BYTES if codes.dtype == np.uint8 else within.SHORTS
        return cls(codes, _row(form, codes, (0, len(texts) - 1), spans, nulls), nulls, texts)

    def compact(self) -> "Scannable":
        """Return the same by codes where all values of a whole segment of int64 lie near enough, else itself.

        Cost: O(SEGMENT_ROWS).
        """
        if self.row[within.FORM] != within.LONGS:
            return self
        least, most = self.row[within.LEAST : within.MOST], self.row[within.MOST : within.WIDTH]
        base, top = int(least.min()), int(most.max())
        if top < base:  # no value, or NULLs alone
            base, top = 0, -1
        if top - base >= SHORT_CODES:
            return self
        small = top - base < BYTE_CODES
        codes = np.empty(SEGMENT_ROWS, dtype=np.uint8 if small else np.uint16)
        # Under NULL there may be anything, and codes of it wrap around.
        np.subtract(self.values, base, out=codes, casting="unsafe")
        form = within.BYTES if small else within.SHORTS
        return Scannable(
            codes, _row(form, codes, (base, top), (least, most), self.nulls), self.nulls
        )

    def check(self, values: NDArray[Any], valid: NDArray[np.bool_] | None, start: int) -> None:
        """Assert that codes stand for `values`, those from offset `start` on."""
        codes = self.values[start:]
        if self.row[within.FORM] <= within.SHORTS and values.dtype == np.int64:
            same = codes + self.row[within.BASE] == values
            assert (same if valid is None else same[valid[start:]]).all(), "codes are of the values"
        else:
            assert codes.dtype == values.dtype, "what has no codes is scanned as it is"


class ScanTable:
    """Segments that follow each other, as scans compare them. A value: adding or leaving out a segment makes another.

    Attributes:
        places: column -> its place in `rows`.
        rows: (segments, columns, WIDTH) int64, as `within` takes them.
        held: (segments, columns): what the addresses in `rows` lead to, alive as long as this is.
    """

    __slots__ = ("held", "places", "rows")

    def __init__(
        self,
        places: Mapping[str, int],
        rows: NDArray[np.int64],
        held: tuple[Sequence[Scannable], ...],
    ) -> None:
        """Take what the attributes are."""
        self.places = places
        self.rows = rows
        self.held = held

    @classmethod
    def empty(cls, names: Iterable[str]) -> "ScanTable":
        """Return the table of no segment."""
        places = {name: place for place, name in enumerate(names)}
        return cls(places, np.empty((0, len(places), within.WIDTH), dtype=np.int64), ())

    @classmethod
    def of(cls, names: Iterable[str], scannable: Callable[[str], Scannable]) -> "ScanTable":
        """Return the table of one segment, of which `scannable` gives a column."""
        places = {name: place for place, name in enumerate(names)}
        columns = [scannable(name) for name in places]
        rows = np.empty((1, len(columns), within.WIDTH), dtype=np.int64)
        for place, column in enumerate(columns):
            rows[0, place] = column.row
        return cls(places, rows, (columns,))

    def __len__(self) -> int:
        """Return the number of segments."""
        return len(self.held)

    def joined(self, later: "ScanTable") -> "ScanTable":
        """Return one table of both, which have the same columns. Cost: a copy of `rows`."""
        rows = np.concatenate((self.rows, later.rows))
        return ScanTable(self.places, rows, (*self.held, *later.held))

    def with_columns(
        self, names: Sequence[str], columns: Sequence[Sequence[Scannable]]
    ) -> "ScanTable":
        """Return the table with more columns: for each of its segments those of these names."""
        places = {**self.places, **{name: len(self.places) + i for i, name in enumerate(names)}}
        rows = np.empty((len(self), len(places), within.WIDTH), dtype=np.int64)
        rows[:, : len(self.places)] = self.rows
        for segment, added in enumerate(columns):
            for place, column in enumerate(added, start=len(self.places)):
                rows[segment, place] = column.row
        held = tuple([*own, *added] for own, added in zip(self.held, columns, strict=True))
        return ScanTable(places, rows, held)

    def part(self, segment: int, past: int) -> "ScanTable":
        """Return the table of the segments `[segment, past)`, without a copy."""
        return ScanTable(self.places, self.rows[segment:past], self.held[segment:past])

    def since(self, segment: int) -> "ScanTable":
        """Return the table without the first `segment` segments."""
        return ScanTable(self.places, self.rows[segment:].copy(), self.held[segment:])

    def texts(self, segment: int, place: int) -> AscendingTexts:
        """Return the texts of a column of strings in one of the segments, ascending."""
        texts = self.held[segment][place].texts
        assert texts is not None, "asked of strings alone"
        return texts


def unknown_spans(kind: ColumnType) -> Spans:
    """Return (least, most) for each chunk, the wrong way round: nothing is known of them. int64, or float64."""
    if kind is ColumnType.FLOAT64:
        return np.full(CHUNKS, np.inf), np.full(CHUNKS, -np.inf)
    return np.full(CHUNKS, _INT64.max), np.full(CHUNKS, _INT64.min)


def null_words(valid: NDArray[np.bool_], past: int) -> Words:
    """Return a bit a row of a segment, set = NULL; past `past` they are anything."""
    words = np.zeros(SEGMENT_ROWS // 64, dtype=np.uint64)
    some = packed(~valid[:past])
    words[: len(some)] = some
    return words


def _row(
    form: int, values: NDArray[Any], reach: tuple[int, int], spans: Spans, nulls: Words | None
) -> NDArray[np.int64]:
    """Return a row of a scan table; `reach` is the value of code 0, and the largest there is."""
    assert len(values) == SEGMENT_ROWS, "kernels read whole chunks"
    assert values.flags.c_contiguous
    row = np.empty(within.WIDTH, dtype=np.int64)
    row[within.FORM], row[within.VALUES] = form, _address(values)
    row[within.NULLS] = 0 if nulls is None else _address(nulls)
    row[within.BASE], row[within.TOP] = reach
    row[within.LEAST : within.MOST] = spans[0].view(np.int64)
    row[within.MOST : within.WIDTH] = spans[1].view(np.int64)
    return row


def _address(values: NDArray[Any]) -> int:
    """Return the address of an array. The caller keeps the array as long as the address."""
    return int(values.__array_interface__["data"][0])
