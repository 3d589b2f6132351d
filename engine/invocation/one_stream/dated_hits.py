"""The hits of a clause over one stream that are dated in a span: listed, and the least of their times."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import DatedRows, RowSpan, TupleSource
from psoup.engine.invocation.one_stream.finding import Finding
from psoup.engine.invocation.position.pinning import earliest, is_empty
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.segment_hits import NO_ROWS

Rows = NDArray[np.int64]


class DatedHits:
    """The hits of a clause, by the times of their tuples. Used by one thread, once.

    Attributes:
        finding: finds hits by row.
        lowest_row: the smallest row that was looked at.
    """

    __slots__ = ("_source", "finding", "lowest_row")

    def __init__(self, source: TupleSource, finding: Finding, lowest_row: int) -> None:
        """Look nowhere yet. `lowest_row` is the smallest row that will be looked at in any case."""
        self._source = source
        self.finding = finding
        self.lowest_row = lowest_row

    def least_us(self, span: DatedRows) -> int | None:
        """Return the smallest time of the hits in a span; None = there is none.

        Cost: O(chunks) up to the first one that has hits; its hits, where tuples arrive about in the order of their
        times.
        """
        least_us: int | None = None
        rest: DatedRows | None = span
        while rest is not None:
            rest = self._rest_below(rest)
            if rest is not None:
                least_us = rest.end_us + 1
        return least_us

    def _rest_below(self, span: DatedRows) -> DatedRows | None:
        """Return where hits of a span may lie that are dated before its first ones; None = it has no hits.

        These are the hits of one chunk: others may only lie behind it.
        """
        for first_row, past_row, _ in self.reach(span):
            for begin, past in _by_chunk(first_row, past_row):
                least_us: int | None = None
                for _, times, dated in self.dated(self.finding.rows(begin, past), span):
                    if dated.any():
                        least_us = earliest(least_us, int(times[dated].min()))
                if least_us is not None:
                    begin_us = span.begin_us
                    return DatedRows(span.stream_id, past, span.past_row, begin_us, least_us - 1)
        return None

    def rows(self, span: DatedRows) -> list[Rows]:
        """Return the hits in a span, ascending, in parts."""
        found: list[Rows] = []
        for first_row, past_row, inside in self.reach(span):
            parts = self.finding.rows(first_row, past_row)
            found += (
                parts if inside else [rows[dated] for rows, _, dated in self.dated(parts, span)]
            )
        return found

    def reach(self, span: DatedRows) -> Sequence[RowSpan]:
        """Return where the rows of a span lie. Raises PageExpiredError if they are not all held any more."""
        if is_empty(span):
            return ()
        self.lowest_row = min(self.lowest_row, span.first_row)
        return self._source.reach(
            span.stream_id, span.first_row, span.past_row, span.begin_us, span.end_us
        )

    def dated(
        self, parts: list[Rows], span: DatedRows
    ) -> Iterator[tuple[Rows, Rows, NDArray[np.bool_]]]:
        """Yield rows, their times, and which of them are dated as the span has it, part by part."""
        for rows in parts:
            times = self._source.times(span.stream_id, rows)
            inside = times <= span.end_us
            if span.begin_us is not None:
                inside &= times >= span.begin_us
            yield rows, times, inside


def _by_chunk(first_row: int, past_row: int) -> Iterator[tuple[int, int]]:
    """Yield the rows `[first_row, past_row)` chunk by chunk."""
    while first_row < past_row:
        past = min((first_row // CHUNK_ROWS + 1) * CHUNK_ROWS, past_row)
        yield first_row, past
        first_row = past


def joined(parts: list[Rows]) -> Rows:
    """Return the rows of all parts."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else NO_ROWS
