"""Units in which a sender may count an instant since the epoch, and their exact conversion to microseconds."""

from enum import StrEnum

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


def instant_of(count: int, unit: TimeUnit) -> int | None:
    """Return the instant in microseconds; None outside the years 1 to 9999, or between two microseconds."""
    us, rest = divmod(count * unit.us_of_one, unit.of_one_us)
    if rest or not limits.TIMESTAMP_US_MIN <= us <= limits.TIMESTAMP_US_MAX:
        return None
    return us
