"""The held segments of one stream, all or some: rows by number, and rows that satisfy a clause.

The process that folds and API workers both read segments through it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.clause_scan import compared, scan
from psoup.engine.data.gathering import Gathering
from psoup.engine.data.scannable import ScanTable
from psoup.engine.data.segment import Segment
from psoup.engine.errors import PageExpiredError
from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE, Words
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.tuples.schema import ColumnSchema, StreamSchema

Sealed = tuple[Sequence[int], ScanTable]
"""Numbers of full segments, ascending, and these as scans read them."""


class HeldSegments:
    """Segments by number. Tables of them are replaced, never changed, so a reader keeps what it began with.

    Attributes:
        schema: the stream's.
        segments: by number, ascending.
        sealed: those that are full.
    """

    def __init__(
        self,
        schema: StreamSchema,
        segments: Mapping[int, Segment],
        sealed: Sealed,
        gathering: Gathering | None = None,
    ) -> None:
        """Take segments, those among them that are full, and what reads their rows if it is known."""
        self.schema = schema
        self.segments = segments
        self.sealed = sealed
        self._gathering = gathering

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
        first_number, sealed = self._sealed_from(row // SEGMENT_ROWS, -(-past_row // SEGMENT_ROWS))
        if chunks and first_number <= row // SEGMENT_ROWS < first_number + len(sealed):
            row = scanned(sealed, first_number, row)
        while row < past_row:
            number = row // SEGMENT_ROWS
            row = scanned(scan_table(compared(clause), segments[number]), number, row)
        return first_chunk, words, counts

    @property
    def gathering(self) -> Gathering:
        """Return the reader of tuples by row number. Cost: O(1), except the first time after a segment came or went."""
        known, segments = self._gathering, self.segments
        if known is None or known.segments is not segments:
            # Segments are looked at before the schema: `add_columns` replaces them after it.
            known = self._gathering = Gathering(self.schema, segments)
        return known

    def _sealed_from(self, number: int, past_number: int) -> tuple[int, ScanTable]:
        """Return full segments that follow each other, as scans read them, and the number of the first.

        All of the segments `[number, past_number)` that are full, if they are held, and maybe others beside.
        """
        numbers, table = self.sealed
        if not numbers or numbers[-1] - numbers[0] < len(numbers):
            return numbers[0] if numbers else number, table
        place, past = bisect_left(numbers, number), bisect_left(numbers, past_number)
        return number, table.part(place, past)


def add_columns(
    segments: Mapping[int, Segment], sealed: Sealed, added: Sequence[ColumnSchema]
) -> Sealed:
    """Add columns to all segments, NULL in their rows, and return those that are full as scans then read them."""
    for segment in segments.values():
        segment.add_columns(added)
    names = [column.name for column in added]
    numbers, table = sealed
    columns = [
        [segments[number].scannable(name, SEGMENT_ROWS) for name in names] for number in numbers
    ]
    return numbers, table.with_columns(names, columns)


def scan_table(names: Iterable[str], segment: Segment) -> ScanTable:
    """Return one segment as scans read it."""
    past = segment.past
    return ScanTable.of(names, lambda name: segment.scannable(name, past))
