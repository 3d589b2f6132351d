"""Data SteM: the tuples of one stream, in segments. And all Data SteMs together, as a `TupleSource`.

Appends go to the last segment, eviction takes whole segments from the front; tables of segments are replaced,
never changed, so a reader keeps what it began with.
Source: Chandrasekaran & Franklin 2002, 2.3 (Data SteM), by columns instead of trees.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import PageExpiredError
from engine.kernels.bits import CHUNK_WORDS, LITTLE, Words, positions
from engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from engine.query.clause import StandingQueryClause
from engine.results.source import Run, Tuples
from engine.stems.clause_scan import compared, scan
from engine.stems.gathering import Gathering
from engine.stems.reach import reach
from engine.stems.scannable import ScanTable
from engine.stems.segment import Segment
from engine.tuples.batch import TupleBatch
from engine.tuples.chunk import Chunk
from engine.tuples.schema import StreamId, StreamSchema


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
        self._gathering: Gathering | None = None
        names = [column.name for column in schema.columns]
        self._sealed = first_row // SEGMENT_ROWS, ScanTable.empty(names)
        """Number of the first held segment, and the full ones as scans read them; replaced as a whole."""

    def build(self, batch: TupleBatch) -> int:
        """Append the batch's rows; return the row number of the first. Cost: O(values)."""
        first_row = self.past_row
        done, count = 0, len(batch)
        while done < count:
            number, offset = divmod(self.past_row, SEGMENT_ROWS)
            segment = self.segments.get(number)
            if segment is None:
                segment = Segment(self.schema, start=offset)
                self.segments = {**self.segments, number: segment}
            past = min(count, done + SEGMENT_ROWS - offset)
            columns, times = batch.columns, batch.times_us
            if past - done < count:
                some = slice(done, past)
                columns = tuple(column.part(some) for column in columns)
                times = times[some]
            segment.write(columns, first_tuple_id=batch.first_tuple_id + done, times=times)
            if segment.past == SEGMENT_ROWS:
                first, table = self._sealed
                self._sealed = first, table.joined(self._table(table.places, segment))
            self.past_row += past - done
            done = past
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
    ) -> tuple[int, Words, NDArray[np.int32]]:
        """Return which of the rows `[first_row, past_row)` satisfy the clause.

        Returns:
            The number of the first chunk that the rest is about: that of `first_row`. (CHUNK_WORDS x chunks,)
            words, bit 0 of word 0 its first row. (chunks,) how many bits of each chunk are set.

        Raises:
            PageExpiredError: one of these rows is not held any more.

        Cost: as `scan` says: one call for all full segments, and one for that which still grows.
        """
        segments = self.segments
        first_number, sealed = self._sealed
        first_chunk = first_row // CHUNK_ROWS
        chunks = -(-past_row // CHUNK_ROWS) - first_chunk if first_row < past_row else 0
        words = np.empty(chunks * CHUNK_WORDS, dtype=LITTLE)
        counts = np.empty(chunks, dtype=np.int32)

        def scanned(table: ScanTable, number: int, row: int) -> int:
            """Scan rows from `row` on in a table that begins with segment `number`; return the row behind."""
            base = number * SEGMENT_ROWS
            past = min(past_row, base + len(table) * SEGMENT_ROWS)
            begin, end = row // CHUNK_ROWS - first_chunk, -(-past // CHUNK_ROWS) - first_chunk
            scan(
                clause,
                table,
                row - base,
                past - base,
                words=words[begin * CHUNK_WORDS : end * CHUNK_WORDS],
                counts=counts[begin:end],
                read=lambda segment, name, where: segments[number + segment].column(name, where),
            )
            return past

        row = first_row
        if chunks and row // SEGMENT_ROWS not in segments:
            raise PageExpiredError
        if chunks and first_number <= row // SEGMENT_ROWS < first_number + len(sealed):
            row = scanned(sealed, first_number, row)
        while row < past_row:
            number = row // SEGMENT_ROWS
            row = scanned(self._table(compared(clause), segments[number]), number, row)
        return first_chunk, words, counts

    def evict(self, below_row: int) -> None:
        """Forget the segments that lie wholly below `below_row`; no row of another is forgotten."""
        self.segments = {
            number: segment
            for number, segment in self.segments.items()
            if (number + 1) * SEGMENT_ROWS > below_row
        }
        self._gathering = None  # it holds what goes
        self.first_row = max(self.first_row, below_row // SEGMENT_ROWS * SEGMENT_ROWS)
        first, table = self._sealed
        gone = max(0, below_row // SEGMENT_ROWS - first)
        self._sealed = first + gone, table.since(gone)

    @property
    def gathering(self) -> Gathering:
        """Return what reads tuples by row number. Cost: O(1) but for the first time after a segment came or went."""
        known = self._gathering
        if known is None or known.segments is not self.segments:
            known = self._gathering = Gathering(self.schema, self.segments)
        return known

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

    def _table(self, names: Iterable[str], segment: Segment) -> ScanTable:
        past = segment.past
        return ScanTable.of(names, lambda name: segment.scannable(name, past))

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

    def reach(
        self,
        stream_id: StreamId,
        first_row: int,
        past_row: int,
        begin_us: int | None,
        end_us: int,
    ) -> Sequence[Run]:
        """Return the runs of rows that may be dated `[begin_us, end_us]` (`reach`)."""
        return reach(self._stem(stream_id).segments, first_row, past_row, begin_us, end_us)

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
        first_chunk, words, _ = self._stem(stream_id).probe(clause, first_row, past_row)
        return positions(words) + first_chunk * CHUNK_ROWS

    def times(self, stream_id: StreamId, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tuple times of `rows`. Raises PageExpiredError if one is not held any more."""
        return self._stem(stream_id).gathering.times(rows)

    def tuples(self, stream_id: StreamId, names: Sequence[str], rows: NDArray[np.int64]) -> Tuples:
        """Return the tuples of `rows`. Raises PageExpiredError if one is not held any more."""
        return self._stem(stream_id).gathering.tuples(names, rows)

    def _stem(self, stream_id: StreamId) -> DataSteM:
        stem = self._stems.get(stream_id)
        if stem is None:
            raise PageExpiredError
        return stem
