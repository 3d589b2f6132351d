"""Data SteM: the tuples of one stream, in segments. And all Data SteMs together, as a `TupleSource`.

Appends go to the last segment, eviction takes whole segments from the front; tables of segments are replaced,
never changed, so a reader keeps what it began with.
Source: Chandrasekaran & Franklin 2002, 2.3 (Data SteM), by columns instead of trees.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.errors import PageExpiredError
from engine.kernels.bits import Words, positions
from engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from engine.query.clause import StandingQueryClause
from engine.stems.clause_scan import scan
from engine.stems.segment import Segment
from engine.tuples.batch import DTYPES, Column, TupleBatch
from engine.tuples.chunk import Chunk
from engine.tuples.schema import ColumnType, StreamId, StreamSchema

Part = TypeVar("Part")
Places = slice | NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DataSteMStatistics:
    """Counters of one stream: segments and rows held, bytes of their arrays."""

    segments: int
    rows: int
    nbytes: int


class DataSteM:
    """The tuples of one stream from row `first_row` on. `past_row` is the next row's number."""

    def __init__(self, schema: StreamSchema, *, first_row: int = 0) -> None:
        """Begin empty; the first row built gets the number `first_row`."""
        self.schema = schema
        self.first_row = first_row
        self.past_row = first_row
        self.segments: Mapping[int, Segment] = {}

    def build(self, batch: TupleBatch) -> int:
        """Append the batch's rows; return the row number of the first. Cost: O(values)."""
        first_row = self.past_row
        ids = batch.first_tuple_id + np.arange(len(batch), dtype=np.int64)
        done = 0
        while done < len(batch):
            number, offset = divmod(self.past_row, SEGMENT_ROWS)
            segment = self.segments.get(number)
            if segment is None:
                segment = Segment(self.schema, start=offset)
                self.segments = {**self.segments, number: segment}
            some = slice(done, min(len(batch), done + SEGMENT_ROWS - offset))
            segment.write(
                {
                    schema.name: column.part(some)
                    for schema, column in zip(batch.schema.columns, batch.columns, strict=True)
                },
                tuple_ids=ids[some],
                times=batch.times_us[some],
            )
            self.past_row += some.stop - some.start
            done = some.stop
        return first_row

    def chunk(self, number: int) -> Chunk:
        """Return a whole chunk of rows that are held."""
        segment_number, place = divmod(number, SEGMENT_ROWS // CHUNK_ROWS)
        segment = self.segments[segment_number]
        rows = slice(place * CHUNK_ROWS, (place + 1) * CHUNK_ROWS)
        assert segment.start <= rows.start < rows.stop <= segment.past, "a whole chunk is held"
        return Chunk(number * CHUNK_ROWS, lambda name: segment.column(name, rows))

    def probe(
        self, clause: StandingQueryClause, first_row: int, past_row: int
    ) -> Iterator[tuple[int, Words]]:
        """Yield which of the rows `[first_row, past_row)` that are held satisfy the clause, by segment.

        Returns:
            The number of the first chunk that the words are about, and words as `clause_scan.scan` returns.
        """
        for base, segment in self.based():
            first = max(segment.start, first_row - base)
            past = min(segment.past, past_row - base)
            if first < past:
                yield (base + first) // CHUNK_ROWS, scan(clause, segment, first, past)

    def evict(self, below_row: int) -> None:
        """Forget the segments that lie wholly below `below_row`; no row of another is forgotten."""
        self.segments = {
            number: segment
            for number, segment in self.segments.items()
            if (number + 1) * SEGMENT_ROWS > below_row
        }
        self.first_row = max(self.first_row, below_row // SEGMENT_ROWS * SEGMENT_ROWS)

    def times(self, first_row: int, past_row: int) -> NDArray[np.int64]:
        """Return the tuple times of held rows `[first_row, past_row)`."""
        parts = [
            segment.times[max(0, first_row - base) : min(SEGMENT_ROWS, past_row - base)]
            for base, segment in self.based()
            if base < past_row and first_row < base + SEGMENT_ROWS
        ]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def gather(
        self, rows: NDArray[np.int64], read: Callable[[Segment, NDArray[np.int64]], Part]
    ) -> list[tuple[Places, Part]]:
        """Return (places in `rows`, what `read` gives for their offsets) for each segment touched.

        Raises:
            PageExpiredError: a row's segment is not held any more.
        """
        found = []
        for number, places in by_segment(rows):
            segment = self.segments.get(number)
            if segment is None:
                raise PageExpiredError
            offsets = rows[places] - number * SEGMENT_ROWS
            assert segment.start <= offsets.min(), "rows below the first were never held"
            assert offsets.max() < segment.past, "a row is written before anybody knows its number"
            found.append((places, read(segment, offsets)))
        return found

    def statistics(self) -> DataSteMStatistics:
        """Return counters."""
        held = self.segments.values()
        return DataSteMStatistics(
            segments=len(held),
            rows=sum(segment.past - segment.start for segment in held),
            nbytes=sum(segment.nbytes for segment in held),
        )

    def check(self) -> None:
        """Assert that the segments held are consecutive, full but for the ends, and in order."""
        numbers = list(self.segments)
        if numbers:
            assert list(range(numbers[0], numbers[-1] + 1)) == numbers, "segments are consecutive"
            first, last = self.segments[numbers[0]], self.segments[numbers[-1]]
            assert self.first_row == numbers[0] * SEGMENT_ROWS + first.start
            assert self.past_row == numbers[-1] * SEGMENT_ROWS + last.past
        for number, segment in self.segments.items():
            segment.check()
            assert number == numbers[0] or segment.start == 0, "only the first may begin later"
            assert number == numbers[-1] or segment.past == SEGMENT_ROWS, "only the last has room"

    def based(self) -> Iterator[tuple[int, Segment]]:
        """Yield each segment held with the number of its first row."""
        for number, segment in self.segments.items():
            yield number * SEGMENT_ROWS, segment


class StoredTuples:
    """The Data SteMs of all streams: the `TupleSource` of the process that folds."""

    def __init__(self) -> None:
        """Begin without streams."""
        self._stems: Mapping[StreamId, DataSteM] = {}

    def __getitem__(self, stream_id: StreamId) -> DataSteM:
        """Return the Data SteM of a stream that is held."""
        return self._stems[stream_id]

    def hold(self, stream_id: StreamId, stem: DataSteM) -> None:
        """Hold one more stream."""
        self._stems = {**self._stems, stream_id: stem}

    def release(self, stream_id: StreamId) -> None:
        """Hold a stream no longer; readers at work keep what they have."""
        self._stems = {held: stem for held, stem in self._stems.items() if held != stream_id}

    def segments(
        self, stream_id: StreamId, *, begin_us: int | None, end_us: int | None, past_row: int
    ) -> Sequence[int]:
        """Return the numbers of held segments below `past_row` that may hold tuples of this span."""
        stem = self._stems.get(stream_id)
        if stem is None:
            return ()
        found = []
        for number, segment in stem.segments.items():
            oldest, newest = segment.time_span
            outside = (begin_us is not None and newest < begin_us) or (
                end_us is not None and oldest > end_us
            )
            if number * SEGMENT_ROWS < past_row and not outside:
                found.append(number)
        return found

    def oldest(
        self, stream_id: StreamId, *, floor_row: int, floor_us: int | None, past_row: int
    ) -> int | None:
        """Return the smallest time among rows `[floor_row, past_row)` dated `floor_us` or later.

        Cost: O(segments), and O(rows) of those that a floor or the end cuts.
        """
        stem = self._stems.get(stream_id)
        found = [
            segment.oldest(floor_row - base, past_row - base, floor_us)
            for base, segment in (stem.based() if stem is not None else ())
        ]
        return min((time_us for time_us in found if time_us is not None), default=None)

    def matching(
        self, stream_id: StreamId, clause: StandingQueryClause, first_row: int, past_row: int
    ) -> NDArray[np.int64]:
        """Return the rows among `[first_row, past_row)` that satisfy the clause, ascending.

        Raises PageExpiredError if one of these rows is not held any more.
        """
        stem = self._stem(stream_id)
        found = []
        for number in range(first_row // SEGMENT_ROWS, -(-past_row // SEGMENT_ROWS)):
            segment = stem.segments.get(number)
            if segment is None:
                raise PageExpiredError
            base = number * SEGMENT_ROWS
            first = max(segment.start, first_row - base)
            past = min(SEGMENT_ROWS, past_row - base)
            if first < past:
                words = scan(clause, segment, first, past)
                found.append(positions(words) + (base + first // CHUNK_ROWS * CHUNK_ROWS))
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def times(self, stream_id: StreamId, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tuple times of `rows`. Raises PageExpiredError if one is not held any more."""
        return self._integers(stream_id, rows, lambda segment, offsets: segment.times[offsets])

    def tuple_ids(self, stream_id: StreamId, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tuple ids of `rows`. Raises PageExpiredError if one is not held any more."""
        return self._integers(stream_id, rows, lambda segment, offsets: segment.tuple_ids[offsets])

    def columns(
        self, stream_id: StreamId, names: Sequence[str], rows: NDArray[np.int64]
    ) -> dict[str, Column]:
        """Return the named columns at `rows`. Raises PageExpiredError if one is not held any more."""
        stem = self._stem(stream_id)
        parts = stem.gather(
            rows,
            lambda segment, offsets: {name: segment.column(name, offsets) for name in names},
        )
        kinds = {column.name: column.type for column in stem.schema.columns}
        return {
            name: joined(
                kinds[name], len(rows), [(places, columns[name]) for places, columns in parts]
            )
            for name in names
        }

    def _stem(self, stream_id: StreamId) -> DataSteM:
        stem = self._stems.get(stream_id)
        if stem is None:
            raise PageExpiredError
        return stem

    def _integers(
        self,
        stream_id: StreamId,
        rows: NDArray[np.int64],
        read: Callable[[Segment, NDArray[np.int64]], NDArray[np.int64]],
    ) -> NDArray[np.int64]:
        out = np.empty(len(rows), dtype=np.int64)
        for places, part in self._stem(stream_id).gather(rows, read):
            out[places] = part
        return out


def by_segment(rows: NDArray[np.int64]) -> Iterator[tuple[int, Places]]:
    """Yield each segment that some of `rows` lie in, and the places of these among them.

    Cost: O(rows); rows that do not ascend are sorted by segment first.
    """
    if not len(rows):
        return
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


def joined(kind: ColumnType, count: int, parts: Sequence[tuple[Places, Column]]) -> Column:
    """Return one column of `count` values from parts with their places; dictionaries are united.

    Cost: O(count) and one look-up per distinct text used in each part.
    """
    if len(parts) == 1:
        return parts[0][1]  # the rows of one segment are all of them, in order
    values = np.zeros(count, dtype=DTYPES[kind])
    valid: NDArray[np.bool_] | None = None
    codes: dict[str, int] = {}
    for places, column in parts:
        if column.dictionary is None:
            values[places] = column.values
        else:
            used, inverse = np.unique(column.values, return_inverse=True)
            texts = [column.dictionary[code] for code in used.tolist()]
            own = [codes.setdefault(text, len(codes)) for text in texts]
            values[places] = np.array(own, dtype=np.int32)[inverse]
        if column.valid is not None:
            valid = np.ones(count, dtype=np.bool_) if valid is None else valid
            valid[places] = column.valid
    dictionary = (tuple(codes) or ("",)) if kind is ColumnType.STRING else None
    return Column(kind, values, valid, dictionary)
