"""What arrivals and the clock can still change: how long a cache need not ask again, and what wakes who waits."""

from psoup.engine.query.window import Window, WindowKind, windows_of
from psoup.engine.results.contract import Snapshot
from psoup.engine.results.delta import StreamRecord
from psoup.engine.tuples.schema import ClockKind


def arrivals_us(snapshot: Snapshot, now_us: int) -> int | None:
    """Return the first instant at which a tuple that is yet to arrive may be visible; None = at none.

    Tuples dated by their arrival are not dated before the last one: arrival times of the log never decrease. Those
    dated by a column may be late by any time, and visible at once. A row of a join has a new tuple in one stream at
    least, and is not visible before that is.
    """
    query, streams = snapshot.query, snapshot.streams
    windows = windows_of(query.window, query.ranges, len(streams))
    instants = [
        _first_us(stream, window, snapshot.cut.arrival_us, now_us)
        for stream, window in zip(streams, windows, strict=True)
    ]
    return min((one for one in instants if one is not None), default=None)


def ticks(snapshot: Snapshot) -> bool:
    """Return whether NOW of the query is the server's clock, which moves though nothing arrives."""
    return snapshot.streams[0].schema.clock is ClockKind.SERVER


def clock_brings(snapshot: Snapshot) -> bool:
    """Return whether the clock alone may show tuples that have arrived.

    Those are dated ahead, or END lies before NOW, or NOW before the clock, which has come past a hop.
    """
    if not ticks(snapshot):
        return False
    window = snapshot.query.window
    behind = window.kind is WindowKind.DELAYED or window.hops is not None
    return behind or any(stream.schema.time is not None for stream in snapshot.streams)


def _first_us(stream: StreamRecord, window: Window, arrival_us: int, now_us: int) -> int | None:
    """Return when the window of a stream shows the earliest tuple that may still arrive; None = it shows none."""
    if stream.schema.time is not None:
        return now_us
    return window.first_shown(arrival_us)
