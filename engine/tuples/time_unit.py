"""Units in which a sender may count an instant since the epoch, and their exact conversion to microseconds."""

from enum import StrEnum

import numpy as np
import pyarrow as pa

from engine import limits


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


_SPOKEN = {
    TimeUnit.S: "seconds",
    TimeUnit.MS: "milliseconds",
    TimeUnit.US: "microseconds",
    TimeUnit.NS: "nanoseconds that make whole microseconds",
}
_US_OF_ONE = {TimeUnit.S: limits.SECOND_US, TimeUnit.MS: 1_000, TimeUnit.US: 1, TimeUnit.NS: 1}
_OF_ONE_US = {TimeUnit.S: 1, TimeUnit.MS: 1, TimeUnit.US: 1, TimeUnit.NS: 1_000}


def instant_of(count: int, unit: TimeUnit) -> int | None:
    """Return the instant in microseconds; None outside the years 1 to 9999, or between two microseconds."""
    us, rest = divmod(count * _US_OF_ONE[unit], _OF_ONE_US[unit])
    if rest or not limits.TIMESTAMP_US_MIN <= us <= limits.TIMESTAMP_US_MAX:
        return None
    return us


def instants_of(counts: pa.Array, unit: TimeUnit) -> pa.Array | None:
    """Return int64 counts of `unit` as int64 microseconds, NULL for NULL; None as `instant_of` for one of them."""
    # Under NULL stands what does not count.
    values = (counts.fill_null(0) if counts.null_count else counts).to_numpy()
    factor, divisor = _US_OF_ONE[unit], _OF_ONE_US[unit]
    least, most = limits.TIMESTAMP_US_MIN // factor, limits.TIMESTAMP_US_MAX // factor
    if len(values) and divisor == 1 and not least <= values.min() <= values.max() <= most:
        return None
    if divisor > 1 and (values % divisor).any():
        return None
    if factor == divisor:
        return counts
    us = values * factor // divisor
    missing = np.asarray(counts.is_null()) if counts.null_count else None
    return pa.array(us, pa.int64(), mask=missing)
