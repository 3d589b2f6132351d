"""Units in which a sender may count an instant since the epoch, and their exact conversion to microseconds."""

from enum import StrEnum
from typing import Final

from psoup.engine import limits


class TimeUnit(StrEnum):
    """The four units, by their name on the wire."""

    S = "s"
    MS = "ms"
    US = "us"
    NS = "ns"

    @property
    def spoken(self) -> str:
        """The unit in full, in the plural."""
        return _SPOKEN[self]

    @property
    def us_of_one(self) -> int:
        """How many microseconds one is; 1 where it is shorter."""
        return {TimeUnit.S: limits.SECOND_US, TimeUnit.MS: 1_000}.get(self, 1)

    @property
    def of_one_us(self) -> int:
        """How many of it a microsecond is; 1 where it is longer."""
        return 1_000 if self is TimeUnit.NS else 1


_SPOKEN = {
    TimeUnit.S: "seconds",
    TimeUnit.MS: "milliseconds",
    TimeUnit.US: "microseconds",
    TimeUnit.NS: "nanoseconds that make whole microseconds",
}


_THIS_CENTURY_S: Final = (946_684_800, 4_102_444_800)
"""Seconds since the epoch from 2000 to 2100: what senders of the present count."""


COARSE_COUNTS: Final = range(_THIS_CENTURY_S[0], 1_000 * _THIS_CENTURY_S[1] + 1)
"""All counts of seconds or milliseconds that are of this century, and others between them."""


def likely_unit(least: int, most: int) -> TimeUnit | None:
    """Return the unit in which counts from `least` to `most` are all of this century; None: in none."""
    begin_s, end_s = _THIS_CENTURY_S
    counts = {TimeUnit.S: 1, TimeUnit.MS: 10**3, TimeUnit.US: 10**6, TimeUnit.NS: 10**9}
    return next(
        (
            u
            for u, of_one_s in counts.items()
            if begin_s * of_one_s <= least <= most <= end_s * of_one_s
        ),
        None,
    )


def instant_of(count: int, unit: TimeUnit) -> int | None:
    """Return the instant in microseconds; None outside the years 1 to 9999, or between two microseconds."""
    us, rest = divmod(count * unit.us_of_one, unit.of_one_us)
    if rest or not limits.TIMESTAMP_US_MIN <= us <= limits.TIMESTAMP_US_MAX:
        return None
    return us
