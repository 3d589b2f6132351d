"""Columns of counts to columns of instants: what `time_unit.instant_of` does of one value, of many at once."""

import numpy as np
import pyarrow as pa

from psoup.engine import limits
from psoup.engine.tuples.time_unit import TimeUnit


def instants_of(counts: pa.Array, unit: TimeUnit) -> pa.Array | None:
    """Return int64 counts of `unit` as int64 microseconds, NULL for NULL; None as `instant_of` for one of them."""
    # Under NULL stands what does not count.
    values = (counts.fill_null(0) if counts.null_count else counts).to_numpy()
    factor, divisor = unit.us_of_one, unit.of_one_us
    # Of nanoseconds the range is wider than int64: none of them is outside it.
    least, most = (
        limits.TIMESTAMP_US_MIN // factor * divisor,
        limits.TIMESTAMP_US_MAX // factor * divisor,
    )
    if len(values) and not least <= int(values.min()) <= int(values.max()) <= most:
        return None
    if divisor > 1 and (values % divisor).any():
        return None
    if factor == divisor:
        return counts
    us = values * factor // divisor
    missing = np.asarray(counts.is_null()) if counts.null_count else None
    return pa.array(us, pa.int64(), mask=missing)
