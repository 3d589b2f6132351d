"""Times that a file writes as numbers counted from 1970: how many there are, and which of them lie in 1970.

They are gathered while a file is surveyed, over all of its values, for the note on a unit that may be mistaken.
"""

from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from psoup.engine.limits import SECOND_US, TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.pipeline.files.options import EpochUnit
from psoup.pipeline.files.times.forms import Epoch, microseconds

_YEAR_US: Final = 366 * 24 * 3_600 * SECOND_US


@dataclass(frozen=True, slots=True)
class CountedTimes:
    """The times of a column, read as numbers of `unit` since 1970. A time is early in 1970 or in the year before it."""

    unit: EpochUnit
    count: int = 0
    """Number of times."""
    early: int = 0
    """Number of early times."""
    least_us: int = 0
    """The first early time."""
    most_us: int = 0
    """The last early time."""
    misfits: bool = False
    """Whether a value is no such number, or its time lies outside the years 1 to 9999."""

    def plus(self, values: pa.Array) -> "CountedTimes":
        """Return the same with an array added, of numbers or of their texts. Cost: O(values)."""
        try:
            times = _times(values, self.unit).cast(pa.int64())
        except pa.ArrowInvalid:
            return replace(self, misfits=True)
        extremes = pc.min_max(times)
        least, most = extremes["min"].as_py(), extremes["max"].as_py()
        if least is None:
            return self
        outside = least < TIMESTAMP_US_MIN or most > TIMESTAMP_US_MAX
        added = CountedTimes(self.unit, len(times) - times.null_count, misfits=outside)
        if least <= _YEAR_US and most >= -_YEAR_US:
            near = pc.and_(pc.greater_equal(times, -_YEAR_US), pc.less_equal(times, _YEAR_US))
            early = pc.min_max(times.filter(near))
            if early["min"].is_valid:
                bounds = early["min"].as_py(), early["max"].as_py()
                added = replace(
                    added, early=pc.sum(near).as_py(), least_us=bounds[0], most_us=bounds[1]
                )
        return self.joined(added)

    def joined(self, other: "CountedTimes") -> "CountedTimes":
        """Return the times of both, which have one unit."""
        parts = [part for part in (self, other) if part.early]
        return CountedTimes(
            self.unit,
            self.count + other.count,
            self.early + other.early,
            min((part.least_us for part in parts), default=0),
            max((part.most_us for part in parts), default=0),
            self.misfits or other.misfits,
        )


def _times(values: pa.Array, unit: EpochUnit) -> pa.Array:
    if pa.types.is_string(values.type):
        return Epoch(unit).parse(values)
    return microseconds(values, unit)
