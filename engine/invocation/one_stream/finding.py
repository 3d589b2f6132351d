"""The hits of one invocation: counted or listed by spans of rows, found once for each clause and whole chunk.

What is kept of a clause's hits is read, the rest evaluated (`matching.py`). Either is remembered by whole
chunks, in a cache of bounded size: they do not change. By `none` nothing is, and all is evaluated each time.
"""

import numpy as np
from numpy.typing import NDArray

from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import TupleSource
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.one_stream.matching import matching_rows
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.results.contract import ResultsReader, Snapshot
from psoup.engine.results.segment_hits import NO_ROWS, SegmentHits, hits_of

Rows = NDArray[np.int64]


class Finding:
    """The hits of a snapshot's clause. Used by one thread, once.

    `looked` tells whether anything was read or evaluated for it: then somebody has to see to it that nothing
    was dropped meanwhile, before `remember` is called.
    """

    __slots__ = (
        "_cache",
        "_clause",
        "_grown",
        "_known",
        "_results",
        "_snapshot",
        "_source",
        "looked",
        "whole_row",
    )

    def __init__(
        self,
        results: ResultsReader,
        source: TupleSource,
        snapshot: Snapshot,
        clause: StandingQueryClause,
        cache: InvocationCache,
    ) -> None:
        """Begin with what is remembered of `clause`, the snapshot's."""
        self._results = results
        self._source = source
        self._snapshot = snapshot
        self._clause = clause
        self._cache = cache
        self._known = cache.hits(snapshot)
        self._grown: dict[int, SegmentHits] | None = None
        """The same with what this invocation has found; others read what was there before."""
        whole = snapshot.clause.materialize is not Materialize.NONE
        self.whole_row = snapshot.streams[0].rows // CHUNK_ROWS * CHUNK_ROWS if whole else 0
        """Rows below it lie in whole chunks, whose hits are remembered; 0 where nothing is to be."""
        self.looked = False

    def count(self, first_row: int, past_row: int) -> tuple[int, int | None, int | None]:
        """Return how many hits lie in `[first_row, past_row)`, the first and the last of them; None = there is none.

        Raises as `matching_rows` does. Cost: O(segments); a scan of the chunk that is still open, and of all
        where nothing is remembered.
        """
        total, oldest_row, newest_row, row = 0, None, None, first_row
        last: tuple[SegmentHits, int] | None = (
            None  # where the last hit is, of a segment that has some
        )
        while row < past_row:
            past = self._piece(row, past_row)
            if row < self.whole_row:
                hits = self._hits(row, past)
                begin, end = hits.below(row), hits.below(past)
                count = end - begin
                if count:
                    oldest_row = hits.row(begin) if oldest_row is None else oldest_row
                    last = hits, end - 1
            else:
                found = self._evaluated(row, past)
                count = len(found)
                if count:
                    oldest_row = found.item(0) if oldest_row is None else oldest_row
                    newest_row = found.item(-1)
            total += count
            row = past
        if newest_row is None and last is not None:  # evaluated rows lie behind those of segments
            newest_row = last[0].row(last[1])
        return total, oldest_row, newest_row

    def rows(self, first_row: int, past_row: int) -> list[Rows]:
        """Return the hits in `[first_row, past_row)`, ascending, in parts. Raises as `matching_rows` does."""
        found, row = [], first_row
        while row < past_row:
            past = self._piece(row, past_row)
            if row < self.whole_row:
                hits = self._hits(row, past)
                found.append(hits.rows(hits.below(row), hits.below(past)))
            else:
                found.append(self._evaluated(row, past))
            row = past
        return found

    def remember(self) -> None:
        """Keep what was found for the invocations to come."""
        if self._grown is not None:
            self._cache.remember(self._snapshot, self._grown)

    def _piece(self, row: int, past_row: int) -> int:
        """Return where the rows that are answered alike and together with `row` end."""
        if row >= self.whole_row:
            return past_row
        return min((row // SEGMENT_ROWS + 1) * SEGMENT_ROWS, self.whole_row, past_row)

    def _hits(self, row: int, past: int) -> SegmentHits:
        """Return the hits of a segment with those of the whole chunks that `[row, past)` lies in."""
        number = row // SEGMENT_ROWS
        first, end = row // CHUNK_ROWS, -(-past // CHUNK_ROWS)
        known = self._known.get(number)
        if known is not None and known.first_chunk <= first and end <= known.past_chunk:
            return known
        if known is None:
            rows = self._evaluated(first * CHUNK_ROWS, end * CHUNK_ROWS)
        else:
            first, end = min(first, known.first_chunk), max(end, known.past_chunk)
            rows = np.concatenate(
                (
                    self._evaluated(first * CHUNK_ROWS, known.first_chunk * CHUNK_ROWS),
                    known.rows(0, known.ends[-1]),
                    self._evaluated(known.past_chunk * CHUNK_ROWS, end * CHUNK_ROWS),
                )
            )
        hits = hits_of(rows, first, end)
        if self._grown is None:
            lowest = self._snapshot.streams[0].dropped_row // SEGMENT_ROWS
            self._grown = {held: one for held, one in self._known.items() if held >= lowest}
            self._known = self._grown
        self._grown[number] = hits
        return hits

    def _evaluated(self, first_row: int, past_row: int) -> Rows:
        if first_row == past_row:
            return NO_ROWS
        checkpoint()
        self.looked = True
        return matching_rows(
            self._results,
            self._source,
            self._snapshot,
            self._clause,
            chunks=range(first_row // CHUNK_ROWS, -(-past_row // CHUNK_ROWS)),
            floor_row=first_row,
            past_row=past_row,
        )
