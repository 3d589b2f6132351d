"""Data SteM: the tuples of one stream, in segments.

Appends go to the last segment, eviction takes whole segments from the front; tables of segments are replaced,
never changed, so a reader keeps what it began with.
Source: Chandrasekaran & Franklin 2002, 2.3 (Data SteM), by columns instead of trees.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from psoup.engine.data.held_segments import HeldSegments, add_columns, scan_table
from psoup.engine.data.join_keys import SideKey
from psoup.engine.data.key_index import KeyIndex, KeyIndexes
from psoup.engine.data.reach import NO_SEGMENTS, FullSegments, reach
from psoup.engine.data.scannable import ScanTable
from psoup.engine.data.segment import Segment
from psoup.engine.data.source import DatedRows, RowSpan
from psoup.engine.errors import PageExpiredError
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.tuples.batch import Batch
from psoup.engine.tuples.chunk import Chunk
from psoup.engine.tuples.schema import StreamSchema


@dataclass(frozen=True, slots=True)
class DataSteMStatistics:
    """Counters of one stream: segments and rows held, bytes of their arrays."""

    segments: int
    rows: int
    nbytes: int


class DataSteM(HeldSegments):
    """The tuples of one stream from row `first_row` on. `past_row` is the next row's number."""

    def __init__(
        self,
        schema: StreamSchema,
        *,
        first_row: int = 0,
        guard: AbstractContextManager[object] | None = None,
    ) -> None:
        """Begin empty; the first row built gets the number `first_row`. Threads that share it have the lock `guard`."""
        names = [column.name for column in schema.columns]
        first = first_row // SEGMENT_ROWS
        super().__init__(schema, {}, (range(first, first), ScanTable.empty(names)))
        self.first_row = first_row
        self.past_row = first_row
        self.key_indexes = KeyIndexes(guard)
        self._full: tuple[Sequence[int], FullSegments] = ((), NO_SEGMENTS)
        """Numbers of full segments, and the times of these."""

    def build(self, batch: Batch) -> int:
        """Append the batch's rows; return the row number of the first. Cost: O(values)."""
        first_row = self.past_row
        done, count = 0, len(batch)
        while done < count:
            number, offset = divmod(self.past_row, SEGMENT_ROWS)
            segment = self.segments.get(number)
            if segment is None:
                before = self.segments.get(number - 1)
                segment = Segment(self.schema, start=offset, before=before)
                self.segments = {**self.segments, number: segment}
            past = min(count, done + SEGMENT_ROWS - offset)
            segment.append(batch, done, past)
            if segment.past == SEGMENT_ROWS:
                table = self.sealed[1]
                table = table.joined(scan_table(table.places, segment))
                self.sealed = range(number + 1 - len(table), number + 1), table
            self.past_row += past - done
            done = past
        return first_row

    def add_columns(self, schema: StreamSchema) -> None:
        """Hold what `schema` adds behind the columns there are: NULL in all rows. Cost: O(segments)."""
        added = schema.columns[len(self.schema.columns) :]
        sealed = add_columns(self.segments, self.sealed, added)
        # In this order: whoever sees the schema finds its columns, and whoever sees these segments the schema.
        self.schema, self.sealed = schema, sealed
        self.segments = dict(self.segments)

    def chunk(self, number: int) -> Chunk:
        """Return a whole chunk of rows that are held."""
        segment_number, place = divmod(number, SEGMENT_ROWS // CHUNK_ROWS)
        segment = self.segments[segment_number]
        rows = slice(place * CHUNK_ROWS, (place + 1) * CHUNK_ROWS)
        assert segment.start <= rows.start < rows.stop <= segment.past, "a whole chunk is held"
        return Chunk(number * CHUNK_ROWS, lambda name: segment.column(name, rows))

    def evict(self, below_row: int) -> None:
        """Forget the segments that lie wholly below `below_row`; no row of another is forgotten."""
        self.segments = {
            number: segment
            for number, segment in self.segments.items()
            if (number + 1) * SEGMENT_ROWS > below_row
        }
        self._gathering = None  # it holds what goes
        self.key_indexes.forget(below_row // SEGMENT_ROWS * SEGMENT_ROWS)
        self.first_row = max(self.first_row, below_row // SEGMENT_ROWS * SEGMENT_ROWS)
        numbers, table = self.sealed
        gone = bisect_left(numbers, below_row // SEGMENT_ROWS)
        self.sealed = numbers[gone:], table.since(gone)

    def reach(self, span: DatedRows) -> Sequence[RowSpan]:
        """Return the runs of the span's rows that may be dated in it (`reach`)."""
        return self.reach_between(span.first_row, span.past_row, span.begin_us, span.end_us)

    def reach_between(
        self, first_row: int, past_row: int, begin_us: int | None, end_us: int
    ) -> Sequence[RowSpan]:
        """Return the runs of the rows `[first_row, past_row)` that may be dated `[begin_us, end_us]` (`reach`)."""
        numbers, segments, (known, full) = self.sealed[0], self.segments, self._full
        if known is not numbers:
            # Of a table of before they could be gone; whoever reads their rows then finds that out.
            full = FullSegments.of([one for one in numbers if one in segments], segments)
            self._full = numbers, full
        return reach(segments, first_row, past_row, begin_us, end_us, full=full)

    def indexed(self, key: SideKey, first_row: int, past_row: int) -> Iterator[KeyIndex]:
        """Yield key indexes that have the rows `[first_row, past_row)`, all in whole chunks (`KeyIndexes.over`).

        Raises PageExpiredError if one of these rows is not held any more.
        """
        segments = self.segments
        if first_row < past_row and first_row // SEGMENT_ROWS not in segments:
            raise PageExpiredError
        return self.key_indexes.over(key, segments, first_row, past_row)

    def statistics(self) -> DataSteMStatistics:
        """Return counters."""
        held = self.segments.values()
        return DataSteMStatistics(
            segments=len(held),
            rows=sum(segment.past - segment.start for segment in held),
            nbytes=sum(segment.nbytes for segment in held) + self.key_indexes.nbytes,
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
