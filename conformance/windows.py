"""Windows: which instants of NOW show a tuple. Times are whole microseconds."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

SECOND = 1_000_000
EVER = 1 << 62
"""Later than everything: a row that never leaves, a tuple that was never dropped."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(time_us: int) -> str:
    """Return an instant as answers print it."""
    return (EPOCH + timedelta(microseconds=time_us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Bound(NamedTuple):
    """One end of a window: a constant, or so far back from NOW. Both ends are inclusive."""

    moves: bool
    us: int

    def at(self, now: int) -> int:
        """Return the instant that this end is at."""
        return now - self.us if self.moves else self.us

    def sql(self) -> str:
        """Return the end as SQL writes it."""
        if not self.moves:
            return f"TIMESTAMP '{instant(self.us)[:19].replace('T', ' ')}'"
        return f"NOW - INTERVAL '{self.us // SECOND}' SECOND" if self.us else "NOW"


class Window(NamedTuple):
    """What of a stream a query shows; an end that is None is open."""

    begin: Bound | None = None
    end: Bound | None = None

    def shown(self, time: int) -> tuple[int, int] | None:
        """Return from when until when a tuple of this time is inside; None where it never is."""
        enters, leaves = time, EVER
        if self.begin is not None and self.begin.moves:
            leaves = time + self.begin.us + 1
        elif self.begin is not None and time < self.begin.us:
            return None
        if self.end is not None and self.end.moves:
            enters = time + self.end.us
        elif self.end is not None and time > self.end.us:
            return None
        return (enters, leaves) if enters < leaves else None

    def sql(self) -> str:
        """Return the window as SQL writes it; the empty text where it is open."""
        if self.begin is None or self.end is None:
            return ""
        return f" BEGIN ({self.begin.sql()}) END ({self.end.sql()})"


class Hops(NamedTuple):
    """The instants that NOW is rounded down to: whole multiples of `every_us` from `align_us` on, and before."""

    every_us: int
    align_us: int

    def last(self, time: int) -> int:
        """Return the last hop at or before an instant."""
        return time - (time - self.align_us) % self.every_us

    def next(self, time: int) -> int:
        """Return the first hop at or after an instant."""
        return EVER if time == EVER else time + (self.align_us - time) % self.every_us

    def sql(self) -> str:
        """Return them as SQL writes them."""
        align = instant(self.align_us)[:19].replace("T", " ")
        return f" EVERY INTERVAL '{self.every_us // SECOND}' SECOND ALIGN TIMESTAMP '{align}'"
