"""The forms of times: ISO 8601, and numbers counted from 1970; strptime formats are in `formats`.

Each form reads a whole array of text. Text without a zone is UTC; digits below the microsecond are cut off.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.files.options import EpochUnit

UTC_MICROSECONDS: Final = ARROW_TYPES[ColumnType.TIMESTAMP]
_ZONED: Final = r"(Z|z|[+-]\d\d:?\d\d)$"
_WHOLE: Final = r"^[+-]?\d+$"


class TimeForm(Protocol):
    """A form in which times are written."""

    @property
    def text(self) -> str:
        """Return the form's name in messages."""
        ...

    def parse(self, array: pa.Array) -> pa.Array:
        """Return texts without surrounding blanks as UTC timestamps in microseconds.

        Raises:
            pa.ArrowInvalid: a value has another form.
        """
        ...


@dataclass(frozen=True, slots=True)
class Iso:
    """ISO 8601 dates and date-times."""

    text: str = "an ISO 8601 date or date-time"

    def parse(self, array: pa.Array) -> pa.Array:
        """Return the timestamps; a date alone is midnight."""
        zoned = pc.match_substring_regex(array, _ZONED)
        try:
            return _parse_zones(array, zoned)
        except pa.ArrowInvalid:
            cut = pc.replace_substring_regex(array, r"(\.\d{6})\d+", r"\1")
            return _parse_zones(cut, zoned)


ISO: Final = Iso()


@dataclass(frozen=True, slots=True)
class Epoch:
    """Numbers counted from 1970-01-01 UTC."""

    unit: EpochUnit

    @property
    def text(self) -> str:
        """Return the form's name in messages."""
        return f"a number of {self.unit} since 1970"

    def parse(self, array: pa.Array) -> pa.Array:
        """Return the timestamps, which are exact if all numbers are integers."""
        whole = pc.all(pc.match_substring_regex(array, _WHOLE)).as_py()
        return microseconds(array.cast(pa.int64() if whole else pa.float64()), self.unit)


def microseconds(numbers: pa.Array, epoch: EpochUnit) -> pa.Array:
    """Return numbers of `epoch` units as timestamps, rounded to the microsecond; integer nanoseconds are cut off.

    Raises:
        pa.ArrowInvalid: a number exceeds 64 bits of microseconds.
    """
    if pa.types.is_integer(numbers.type):
        whole = numbers.cast(pa.int64())
        if epoch is EpochUnit.NANOSECONDS:
            scaled = pc.divide(whole, 1_000)
        else:
            scaled = pc.multiply_checked(whole, int(epoch.microseconds))
    else:
        scaled = pc.round(pc.multiply(numbers.cast(pa.float64()), epoch.microseconds))
    return scaled.cast(pa.int64()).cast(UTC_MICROSECONDS)


def _parse_zones(array: pa.Array, zoned: pa.Array) -> pa.Array:
    nothing = pa.scalar(None, pa.string())
    naive = pc.if_else(zoned, nothing, array).cast(pa.timestamp("us"))
    aware = pc.if_else(zoned, array, nothing).cast(UTC_MICROSECONDS)
    return pc.coalesce(aware, naive.cast(pa.int64()).cast(UTC_MICROSECONDS))
