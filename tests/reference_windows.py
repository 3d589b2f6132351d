"""Windows by their definition: what a window shows when the clock says so, and when that changes.

Nothing of `Window` is asked but its ends and its hops.
"""

from psoup.engine.query.window import Window

Span = tuple[int | None, int | None]
"""First and last instant, both inclusive; None = open."""


def rounded(window: Window, now_us: int) -> int:
    """Return the instant that NOW is when the clock says `now_us`: the last one of ALIGN + k * EVERY."""
    if window.hops is None:
        return now_us
    passed = (now_us - window.hops.align_us) // window.hops.every_us
    return window.hops.align_us + passed * window.hops.every_us


def first_rounded(window: Window, instant_us: int) -> int:
    """Return the first instant that NOW is at or after an instant."""
    if window.hops is None:
        return instant_us
    before_us = rounded(window, instant_us)
    return before_us if before_us == instant_us else before_us + window.hops.every_us


def bounds(window: Window, now_us: int) -> Span:
    """Return BEGIN and END as instants, both inclusive, where NOW is `now_us`; (None, None) without a window."""
    if window.begin is None or window.end is None:
        return None, None
    begin_us = now_us - window.begin.us if window.begin.moving else window.begin.us
    end_us = now_us - window.end.us if window.end.moving else window.end.us
    return begin_us, end_us


def interval(window: Window, time_us: int) -> tuple[int, int | None] | None:
    """Return from when until before when the clock shows a tuple dated so (None = for ever); None = it never does."""
    if window.begin is None or window.end is None:
        return time_us, None
    enters_us, leaves_us = time_us, None
    if window.begin.moving:
        leaves_us = first_rounded(window, time_us + window.begin.us + 1)
    elif time_us < window.begin.us:
        return None
    if window.end.moving:
        enters_us = time_us + window.end.us
    elif time_us > window.end.us:
        return None
    enters_us = first_rounded(window, enters_us)
    return None if leaves_us == enters_us else (enters_us, leaves_us)
