"""Tuples by row number, out of all segments of a stream at once: times, tuple ids, columns.

Columns of eight bytes a value that have no NULL are picked out by one call of a kernel, whatever segments the
rows lie in. Others are read segment by segment, and joined.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.segment import Segment
from psoup.engine.data.source import Tuples
from psoup.engine.errors import PageExpiredError
from psoup.engine.kernels.gather import NOWHERE, gather
from psoup.engine.limits import SEGMENT_ROWS
from psoup.engine.results.segment_hits import NO_ROWS
from psoup.engine.tuples.batch import DTYPES, Column
from psoup.engine.tuples.joined_columns import Places, joined
from psoup.engine.tuples.schema import ColumnType, StreamSchema

Rows = NDArray[np.int64]

_TIMES: Final = np.array([0])
_COLUMNS: Final = 2
"""Places among what lies in a segment: times, tuple ids, columns."""


class Gathering:
    """The segments that a stream holds at one moment, and where in memory they lie. A value."""

    __slots__ = ("_first_row", "_kinds", "_lies", "_none", "_places", "segments")

    def __init__(self, schema: StreamSchema, segments: Mapping[int, Segment]) -> None:
        """Take segments of a stream, ascending; there may be others between them. Cost: O(segments x columns)."""
        self.segments = segments
        self._first_row = min(segments, default=0) * SEGMENT_ROWS
        self._kinds = {column.name: column.type for column in schema.columns}
        self._none = {name: joined(kind, 0, ()) for name, kind in self._kinds.items()}
        plain = [name for name, kind in self._kinds.items() if DTYPES[kind].itemsize == 8]
        self._places = {name: _COLUMNS + place for place, name in enumerate(plain)}
        if schema.time is not None:
            self._places[schema.time] = 0
        nowhere = [(NOWHERE, 0, 0)] * (_COLUMNS + len(plain))
        held = map(segments.get, range(min(segments, default=0), max(segments, default=-1) + 1))
        lies = [nowhere if segment is None else segment.lies(plain) for segment in held]
        self._lies = np.array(lies, dtype=np.int64).reshape(-1, _COLUMNS + len(plain), 3)

    def times(self, rows: Rows) -> Rows:
        """Return the tuple times of `rows`. Raises PageExpiredError if one is not held."""
        if not len(rows):
            return NO_ROWS
        times: Rows = self._picked(_TIMES, rows)[0][0]
        return times

    def tuples(self, names: Sequence[str], rows: Rows) -> Tuples:
        """Return the tuples of `rows`, with the named columns. Raises PageExpiredError if one is not held.

        Cost: O(rows x names), and one look-up per distinct text used in each segment.
        """
        if not len(rows):
            return Tuples(NO_ROWS, NO_ROWS, {name: self._none[name] for name in names})
        places, kinds = self._places, self._kinds
        plain = [name for name in names if name in places]
        wanted = [0, 1, *(places[name] for name in plain if places[name])]
        found, touched = self._picked(np.array(wanted), rows)
        columns, row = dict[str, Column](), _COLUMNS
        for name in plain:
            kind, values = kinds[name], found[row] if places[name] else found[0]
            row += places[name] > 0  # a declared time is read already
            columns[name] = _plain(kind, values)
        nulls = {name for segment in touched for name in segment.with_nulls}
        others = [name for name in names if name in nulls or name not in places]
        if others:
            columns |= self._joined(others, rows)
        return Tuples(found[0], found[1], columns)

    def column(self, name: str, rows: Rows) -> Column:
        """Return the named column at `rows`. Raises PageExpiredError if one is not held. Cost: as `tuples`."""
        if not len(rows):
            return self._none[name]
        place = self._places.get(name)
        wanted = [] if place is None else [place]
        found, touched = self._picked(np.array(wanted, dtype=np.int64), rows)
        if place is None or any(name in segment.with_nulls for segment in touched):
            return self._joined((name,), rows)[name]
        return _plain(self._kinds[name], found[0])

    def tuples_between(self, names: Sequence[str], first_row: int, past_row: int) -> Tuples:
        """Return the tuples of rows of one segment, as views (`TupleSource.tuples_between`)."""
        number = first_row // SEGMENT_ROWS
        segment = self.segments.get(number)
        if segment is None:
            raise PageExpiredError
        some = slice(first_row - number * SEGMENT_ROWS, past_row - number * SEGMENT_ROWS)
        assert segment.start <= some.start < some.stop <= segment.past, "rows of one segment"
        columns = {name: segment.column(name, some) for name in names}
        return Tuples(segment.times[some], segment.tuple_ids[some], columns, segment.in_order)

    def _picked(self, places: NDArray[np.int64], rows: Rows) -> tuple[Rows, list[Segment]]:
        """Return (k, n) values of eight bytes, and the segments held that the rows lie among."""
        found = np.empty((len(places), len(rows)), dtype=np.int64)
        least, most = gather(self._lies, places, self._first_row, rows, found)
        if least > most:
            raise PageExpiredError
        numbers = range(least // SEGMENT_ROWS, most // SEGMENT_ROWS + 1)
        touched = [self.segments[number] for number in numbers if number in self.segments]
        assert touched[0].start <= least % SEGMENT_ROWS, "rows below the first were never held"
        assert most % SEGMENT_ROWS < touched[-1].past, "a row is written before anybody knows it"
        return found, touched

    def _joined(self, names: Sequence[str], rows: Rows) -> dict[str, Column]:
        """Return the named columns at `rows`, which are held, segment by segment."""
        parts: list[tuple[Places, dict[str, Column]]] = []
        for number, places in by_segment(rows):
            checkpoint()
            segment = self.segments[number]
            offsets = rows[places] - number * SEGMENT_ROWS
            parts.append((places, {name: segment.column(name, offsets) for name in names}))
        if len(parts) == 1:
            return parts[0][1]  # all of the values, in order
        return {
            name: joined(
                self._kinds[name], len(rows), [(places, columns[name]) for places, columns in parts]
            )
            for name in names
        }


def _plain(kind: ColumnType, values: Rows) -> Column:
    """Return a column without NULL of its values' eight bytes."""
    return Column(kind, values.view(np.float64) if kind is ColumnType.FLOAT64 else values)


def by_segment(rows: NDArray[np.int64]) -> Iterator[tuple[int, Places]]:
    """Yield each segment that some of `rows` lie in, and the places of these among them; there are rows.

    Cost: O(rows); rows that do not ascend are sorted by segment first.
    """
    numbers = rows // SEGMENT_ROWS
    edges = np.flatnonzero(np.diff(numbers)) + 1
    bounds = [0, *edges.tolist(), len(rows)]
    touched = numbers[bounds[:-1]]
    if len(set(touched.tolist())) == len(touched):  # each segment's rows stand together
        for number, begin, past in zip(touched.tolist(), bounds[:-1], bounds[1:], strict=True):
            yield number, slice(begin, past)
        return
    order = np.argsort(numbers, kind="stable")
    ends = np.flatnonzero(np.diff(numbers[order])) + 1
    for places in np.split(order, ends):
        yield int(numbers[places[0]]), places
