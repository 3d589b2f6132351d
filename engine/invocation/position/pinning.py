"""Which position an invocation is answered from, and at which instant: what stays the same on all its pages.

At a position the visible tuples of a source are one span: the rows that retention has left, dated inside the window and
up to NOW.
"""

from collections.abc import Iterable

from psoup.engine.data.source import DatedRows
from psoup.engine.errors import NotYetVisibleError, NowOutOfRangeError, PageExpiredError
from psoup.engine.invocation.position.answer import PagePosition, PartPosition, Request
from psoup.engine.invocation.position.continuing import continues
from psoup.engine.limits import TIMESTAMP_US_MIN
from psoup.engine.query.window import Window, windows_of
from psoup.engine.results.contract import Snapshot
from psoup.engine.results.delta import StreamRecord
from psoup.engine.tuples.schema import ClockKind, StreamId


def pinned(snapshot: Snapshot, request: Request) -> PagePosition | None:
    """Return the position to answer from; None where there is no NOW yet and none was asked for.

    Raises:
        NotYetVisibleError: `min_seq` or the page's own position is not applied yet.
        NowOutOfRangeError: `now_us` lies after NOW, or before what retention has kept.
        PageExpiredError: the page belongs to another history, or to another definition of the query, or its tuples are
            not held any more.
    """
    cut, streams, position = snapshot.cut, snapshot.streams, request.position
    if position is not None or request.min_seq is not None:
        check_reached(snapshot, request)
    if position is not None:
        if position.seq < snapshot.query.defined_seq:
            raise PageExpiredError(
                "The query has been replaced since this page was handed out. Invoke it again."
            )
        if any(
            oldest_row < stream.dropped_row
            for oldest_row, stream in zip(position.oldest_rows, streams, strict=True)
        ):
            raise PageExpiredError
        return position
    now_us = instant(snapshot, request.now_us)
    if now_us is None:
        return None
    since = request.since if request.now_us is None else None
    if since is not None and not continues(snapshot, now_us, since):
        since = None
    return PagePosition(
        cut.gen,
        cut.seq,
        now_us,
        tuple([PartPosition(one.rows, one.floor_row, one.floor_us) for one in streams]),
        complete_from(snapshot, now_us),
        (0,) * len(streams),
        0,
        since,
    )


def check_reached(snapshot: Snapshot, request: Request) -> None:
    """Raise unless the positions that the request needs are of this history and applied."""
    cut, position = snapshot.cut, request.position
    if position is not None and position.gen != cut.gen:
        raise PageExpiredError(
            "This page belongs to a history that is gone. Invoke the query again."
        )
    needed = max(request.min_seq or 0, 0 if position is None else position.seq)
    if needed > cut.seq:
        raise NotYetVisibleError(
            f"Position {needed} is not applied yet, {cut.seq} is. Try again shortly.",
            applied=cut.seq,
        )


def instant(snapshot: Snapshot, asked_us: int | None) -> int | None:
    """Return the instant to answer for: NOW, or the one asked for; None = there is no NOW yet.

    Either is rounded down to the last hop of the query's window. A hop before every instant that can be written shows
    nothing: there is no NOW yet.

    Raises:
        NowOutOfRangeError: `asked_us` lies after NOW, or before what retention has kept.
    """
    newest_us, window = newest(snapshot), snapshot.query.window
    if asked_us is not None and asked_us != newest_us:
        _check_kept(snapshot, asked_us, newest_us)
    now_us = newest_us if asked_us is None else asked_us
    if window.hops is None or now_us is None:
        return now_us
    now_us = window.rounded(now_us)
    return None if now_us < TIMESTAMP_US_MIN else now_us


def _check_kept(snapshot: Snapshot, asked_us: int, newest_us: int | None) -> None:
    """Raise unless a query can be answered at an instant, not rounded: NOW is `newest_us`."""
    oldest_us = oldest(snapshot)
    if newest_us is not None and asked_us > newest_us:
        raise NowOutOfRangeError(
            "now= lies after the query's NOW: ask for an instant up to `newest`.",
            oldest=oldest_us,
            newest=newest_us,
        )
    if oldest_us is not None and asked_us < oldest_us:
        raise NowOutOfRangeError(
            "now= lies before what retention has kept: ask for an instant from `oldest` on.",
            oldest=oldest_us,
            newest=newest_us,
        )


def oldest(snapshot: Snapshot) -> int | None:
    """Return the first instant that may be asked for; None = retention has dropped nothing."""
    oldest_us, newest_us = (
        latest(one.complete_from_us for one in snapshot.streams),
        newest(snapshot),
    )
    if oldest_us is None:
        return None
    window = snapshot.query.window
    oldest_us = window.at_hop(oldest_us)
    if newest_us is None:
        return oldest_us
    return min(oldest_us, window.rounded(newest_us))  # whatever was forgotten, NOW can be asked for


def newest(snapshot: Snapshot) -> int | None:
    """Return NOW: the server's clock, or the largest tuple time seen; None before the first tuple.

    Streams of unlike clocks are in no query.
    """
    streams = snapshot.streams
    if streams[0].schema.clock is ClockKind.SERVER:
        return snapshot.cut.server_now_us
    if len(streams) == 1:
        return streams[0].high_water_us
    return latest(one.high_water_us for one in streams)


def span_of(snapshot: Snapshot, at: PagePosition, place: int, window: Window) -> DatedRows:
    """Return which tuples of a source may be part of a row of the answer at a position."""
    stream_id = snapshot.streams[place].stream_id
    return dated_span(stream_id, window, at.now_us, at.parts[place], at.first_row(place))


def dated_span(
    stream_id: StreamId, window: Window, now_us: int, part: PartPosition, first_row: int
) -> DatedRows:
    """Return the tuples of a stream that a window shows, of rows from `first_row` on and above the floor of `part`."""
    begin_us, end_us = window.bind(now_us)
    if begin_us is None or (part.floor_us is not None and part.floor_us > begin_us):
        begin_us = part.floor_us
    if end_us is None or end_us > now_us:
        end_us = now_us  # nothing dated later is ever shown
    return DatedRows(stream_id, first_row, part.past_row, begin_us, end_us)


def is_empty(span: DatedRows) -> bool:
    """Return whether no tuple can lie in it."""
    if span.first_row >= span.past_row:
        return True
    return span.begin_us is not None and span.begin_us > span.end_us


def complete_from(snapshot: Snapshot, now_us: int) -> int | None:
    """Return the time from which an answer is complete; None if the windows of all its streams are retained."""
    streams, query = snapshot.streams, snapshot.query
    if len(streams) == 1:
        return stream_complete_from(streams[0], query.window, now_us)
    windows = windows_of(query.window, query.ranges, len(streams))
    return latest(
        stream_complete_from(stream, window, now_us)
        for stream, window in zip(streams, windows, strict=True)
    )


def has_forgotten(stream: StreamRecord) -> bool:
    """Return whether retention has dropped tuples of a stream, or will not take some that are late."""
    return stream.forgotten_us is not None or stream.floor_us is not None


def stream_complete_from(stream: StreamRecord, window: Window, now_us: int) -> int | None:
    """Return the time from which a stream's part of an answer is complete; None if its window is retained."""
    if not has_forgotten(stream):
        return None
    from_us = stream.complete_from_us
    begin_us, _ = window.bind(now_us)
    inside = from_us is not None and begin_us is not None and begin_us >= from_us
    return None if inside else from_us


def earliest(first: int | None, second: int | None) -> int | None:
    """Return the smaller of two instants; None = never."""
    if first is None or second is None:
        return second if first is None else first
    return min(first, second)


def latest(instants: Iterable[int | None]) -> int | None:
    """Return the largest of the instants that there are."""
    return max((one for one in instants if one is not None), default=None)
