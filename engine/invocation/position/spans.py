"""Which tuples of a source an answer will show, shows for the first time, or has lost: spans of rows and times.

The visible tuples of a source are one span (`span_of`). Rows, floors and NOW only grow, so the difference to an earlier
position is two spans at most, whatever the kind of window.
"""

from dataclasses import replace

from psoup.engine.data.source import DatedRows
from psoup.engine.invocation.position.answer import PagePosition, PartPosition
from psoup.engine.invocation.position.pinning import dated_span, is_empty
from psoup.engine.query.window import Window
from psoup.engine.results.contract import Snapshot
from psoup.engine.results.delta import StreamRecord


def upcoming_span(stream: StreamRecord, window: Window, shown: DatedRows) -> DatedRows | None:
    """Return which tuples of a source the window will show though nothing arrives; None = there are none.

    Args:
        stream: the source.
        window: its window.
        shown: what is visible of it now.

    Cost: O(1), which nearly always tells that there are none: nothing is dated later than the window ends.
    """
    newest_us = stream.high_water_us
    if newest_us is None or newest_us <= shown.end_us:
        return None
    newest_us = last_us(stream, window, shown)
    first_us = shown.end_us + 1
    if shown.begin_us is not None:
        first_us = max(first_us, shown.begin_us)
    upcoming = replace(shown, begin_us=first_us, end_us=newest_us)
    return None if is_empty(upcoming) else upcoming


def last_us(stream: StreamRecord, window: Window, shown: DatedRows) -> int:
    """Return the last time that the window shows of a source, now or though nothing arrives. Arguments as above."""
    newest_us = shown.end_us if stream.high_water_us is None else stream.high_water_us
    if window.end is not None and not window.end.moving:
        newest_us = min(newest_us, window.end.us)
    return max(newest_us, shown.end_us)


def entered_spans(
    shown: DatedRows, part: PartPosition, shown_us: int, *, by_clock: bool = True
) -> list[DatedRows]:
    """Return the tuples of a span by which a row has entered since an earlier position.

    Args:
        shown: what is visible now.
        part: the stream at the earlier position.
        shown_us: the last time that the window showed at the earlier instant.
        by_clock: whether those are among them that were there and that the clock has brought. False: it is known to
            have brought no row.
    """
    fresh = replace(shown, first_row=max(shown.first_row, part.past_row))
    spans = [fresh]
    if by_clock:
        begin_us = shown_us + 1 if shown.begin_us is None else max(shown_us + 1, shown.begin_us)
        past_row = min(shown.past_row, part.past_row)
        spans.append(replace(shown, past_row=past_row, begin_us=begin_us))
    return [span for span in spans if not is_empty(span)]


def other_span(
    shown: DatedRows, part: PartPosition, shown_us: int, *, by_clock: bool = True
) -> DatedRows:
    """Return the tuples of a span that are in none of its `entered_spans`. Arguments as there."""
    past_row = min(shown.past_row, part.past_row)
    end_us = min(shown.end_us, shown_us) if by_clock else shown.end_us
    return replace(shown, past_row=past_row, end_us=end_us)


def former_span(
    snapshot: Snapshot, at: PagePosition, place: int, window: Window, part: PartPosition
) -> DatedRows:
    """Return what would be visible if retention's floors still stood where they did at an earlier position."""
    then = PartPosition(at.parts[place].past_row, part.floor_row, part.floor_us)
    stream_id = snapshot.streams[place].stream_id
    return dated_span(stream_id, window, at.now_us, then, part.floor_row)


def shown_since_span(
    shown: DatedRows, window: Window, instants: tuple[int, int], floor: PartPosition
) -> DatedRows | None:
    """Return what was visible of a source at some instant of two or between; None = the window has left all behind.

    Args:
        shown: what is visible of it at the later instant, of all rows there are; may reach further, up to `last_us`.
        window: its window.
        instants: an earlier one and a later one.
        floor: retention's floors above which tuples are looked for.
    """
    since_us, now_us = instants
    begin_us, _ = window.bind(now_us)
    if window.slides and begin_us is not None and begin_us > shown_until(window, since_us):
        return None
    then = PartPosition(shown.past_row, floor.floor_row, floor.floor_us)
    earlier = dated_span(shown.stream_id, window, since_us, then, floor.floor_row)
    return replace(earlier, end_us=shown.end_us)


def forgotten_spans(former: DatedRows, shown: DatedRows) -> list[DatedRows]:
    """Return what retention has taken out of a span: `shown` is what it has left."""
    spans = [replace(former, past_row=min(former.past_row, shown.first_row))]
    if shown.begin_us is not None:
        first_row = max(former.first_row, shown.first_row)
        spans.append(
            replace(former, first_row=first_row, end_us=min(former.end_us, shown.begin_us - 1))
        )
    return [span for span in spans if not is_empty(span)]


def shown_until(window: Window, now_us: int) -> int:
    """Return the last time that the window shows: nothing dated later than NOW is ever shown."""
    _, end_us = window.bind(now_us)
    return now_us if end_us is None or end_us > now_us else end_us
