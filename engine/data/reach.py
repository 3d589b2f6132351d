"""Where in a stream the tuples of a span of time may be: rows in runs, by the spans of segments and chunks."""

from collections.abc import Mapping

from psoup.engine.data.segment import Segment
from psoup.engine.data.source import RowSpan
from psoup.engine.errors import PageExpiredError
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS


def reach(
    segments: Mapping[int, Segment],
    first_row: int,
    past_row: int,
    begin_us: int | None,
    end_us: int,
) -> list[RowSpan]:
    """Return the runs of rows among `[first_row, past_row)` that may be dated `[begin_us, end_us]`, ascending.

    Args:
        segments: those held, by number.
        first_row: the first row to look at.
        past_row: the row past the last one; above `first_row`.
        begin_us: the first instant; None = open.
        end_us: the last instant.

    Raises:
        PageExpiredError: a segment of these rows is not held any more.

    Cost: O(segments), and O(chunks) of those that an end of the span cuts.
    """
    found: list[RowSpan] = []
    inside_row: int | None = (
        None  # where segments begin that follow each other and lie inside as a whole
    )
    for number in range(first_row // SEGMENT_ROWS, (past_row - 1) // SEGMENT_ROWS + 1):
        segment = segments.get(number)
        if segment is None:
            raise PageExpiredError
        oldest_us, newest_us = segment.time_span
        base = number * SEGMENT_ROWS
        if newest_us <= end_us and (begin_us is None or oldest_us >= begin_us):
            if inside_row is None:
                inside_row = max(first_row, base)
            continue
        if inside_row is not None:
            _add(found, (inside_row, base, True))
            inside_row = None
        if oldest_us > end_us or (begin_us is not None and newest_us < begin_us):
            continue
        for place, (oldest_us, newest_us) in enumerate(segment.chunk_spans()):
            if oldest_us > end_us or (begin_us is not None and newest_us < begin_us):
                continue
            chunk = base + place * CHUNK_ROWS
            inside = newest_us <= end_us and (begin_us is None or oldest_us >= begin_us)
            _add(found, (max(first_row, chunk), min(past_row, chunk + CHUNK_ROWS), inside))
    if inside_row is not None:
        _add(found, (inside_row, past_row, True))
    return found


def _add(found: list[RowSpan], run: RowSpan) -> None:
    """Add a run, if there are rows in it, to the last one where it goes on with that."""
    first_row, past_row, inside = run
    if first_row >= past_row:
        return
    if found and found[-1][1:] == (first_row, inside):
        found[-1] = (found[-1][0], past_row, inside)
    else:
        found.append(run)
