"""Where in a stream the tuples of a span of time may be: rows in runs, by the spans of segments and chunks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.scannable import CHUNKS
from psoup.engine.data.segment import Segment
from psoup.engine.data.source import RowSpan
from psoup.engine.errors import PageExpiredError
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.tuples.value_type import value_type

Instants = NDArray[np.int64]

MANY: Final = 32
"""Segments up to which looking at one after the other is faster."""


@value_type
class FullSegments:
    """The times of full segments that follow each other.

    Attributes:
        first: the number of the first segment.
        oldest_us, newest_us: (s,) the smallest and the largest time of each.
    """

    first: int
    oldest_us: Instants
    newest_us: Instants

    @staticmethod
    def of(numbers: Sequence[int], segments: Mapping[int, Segment]) -> "FullSegments":
        """Return the times of the segments of these numbers."""
        spans = np.array([segments[number].time_span for number in numbers], dtype=np.int64)
        oldest_us, newest_us = spans.reshape(-1, 2).T.copy()
        return FullSegments(numbers[0] if numbers else 0, oldest_us, newest_us)

    def inside_until(self, number: int, begin_us: int | None, end_us: int) -> int:
        """Return the first segment from `number` on that is none of these, or not dated inside as a whole.

        Cost: some nanoseconds a segment.
        """
        at = number - self.first
        if not 0 <= at < len(self.oldest_us):
            return number
        outside = self.newest_us[at:] > end_us
        if begin_us is not None:
            outside |= self.oldest_us[at:] < begin_us
        place = int(outside.argmax())
        return number + (place if outside[place] else len(outside))


NO_SEGMENTS: Final = FullSegments.of((), {})


def reach(
    segments: Mapping[int, Segment],
    first_row: int,
    past_row: int,
    begin_us: int | None,
    end_us: int,
    *,
    full: FullSegments = NO_SEGMENTS,
) -> list[RowSpan]:
    """Return the runs of rows among `[first_row, past_row)` that may be dated `[begin_us, end_us]`, ascending.

    Args:
        segments: those held, by number.
        first_row: the first row to look at.
        past_row: the row past the last one; above `first_row`.
        begin_us: the first instant; None = open.
        end_us: the last instant.
        full: the times of those that are full, as far as they are known: many of them are looked at together.

    Raises:
        PageExpiredError: a segment of these rows is not held any more.

    Cost: O(segments), some nanoseconds each of those that are full, and O(chunks) of those that an end of the span
    cuts.
    """
    found: list[RowSpan] = []
    inside_row: int | None = (
        None  # where segments begin that follow each other and lie inside as a whole
    )
    number, past_number = first_row // SEGMENT_ROWS, (past_row - 1) // SEGMENT_ROWS + 1
    while number < past_number:
        segment = segments.get(number)
        if segment is None:
            raise PageExpiredError
        oldest_us, newest_us = segment.time_span
        base = number * SEGMENT_ROWS
        number += 1
        if newest_us <= end_us and (begin_us is None or oldest_us >= begin_us):
            if inside_row is None:
                inside_row = max(first_row, base)
            if past_number - number > MANY:
                number = min(full.inside_until(number, begin_us, end_us), past_number)
            continue
        if inside_row is not None:
            _add(found, (inside_row, base, True))
            inside_row = None
        if oldest_us > end_us or (begin_us is not None and newest_us < begin_us):
            continue
        for first, past, inside in _chunk_runs(segment, begin_us, end_us):
            begin, end = base + first * CHUNK_ROWS, base + past * CHUNK_ROWS
            _add(found, (max(first_row, begin), min(past_row, end), inside))
    if inside_row is not None:
        _add(found, (inside_row, past_row, True))
    return found


def _chunk_runs(
    segment: Segment, begin_us: int | None, end_us: int
) -> Iterator[tuple[int, int, bool]]:
    """Yield runs of the chunks of a segment that a span of time reaches, and whether it holds them as a whole."""
    first, reached, held = 0, False, False
    for place, (oldest_us, newest_us) in enumerate(segment.chunk_spans()):
        there = oldest_us <= end_us and (begin_us is None or newest_us >= begin_us)
        inside = there and newest_us <= end_us and (begin_us is None or oldest_us >= begin_us)
        if there is not reached or inside is not held:
            if reached:
                yield first, place, held
            first, reached, held = place, there, inside
    if reached:
        yield first, CHUNKS, held


def _add(found: list[RowSpan], run: RowSpan) -> None:
    """Add a run, if there are rows in it, to the last one where it goes on with that."""
    first_row, past_row, inside = run
    if first_row >= past_row:
        return
    if found and found[-1][1:] == (first_row, inside):
        found[-1] = (found[-1][0], past_row, inside)
    else:
        found.append(run)
