"""Arrays of text to arrays of the five types, strictly: a value that does not fit is found and named.

NULL stays NULL. Whitespace around numbers, booleans and timestamps is not part of them.
"""

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from engine.limits import STRING_BYTES_MAX, TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from engine.tuples.arrow import ARROW_TYPES
from engine.tuples.schema import ColumnType
from pipeline.files.options import EpochUnit

UTC_MICROSECONDS: Final = ARROW_TYPES[ColumnType.TIMESTAMP]
_ZONED: Final = r"(Z|z|[+-]\d\d:?\d\d)$"
_NUMERAL: Final = r"^[+-]?\d+(\.\d*)?$"


class Misfit(Exception):  # noqa: N818 - a place, turned into an error by whoever knows the line
    """The value at `index` of an array does not fit; `reason` says why, `hint` what to pass."""

    def __init__(self, index: int, reason: str, hint: str = "") -> None:
        """Keep the place."""
        super().__init__(index, reason, hint)
        self.index = index
        self.reason = reason
        self.hint = hint


def text_as(array: pa.Array, kind: ColumnType, epoch: EpochUnit | None) -> pa.Array:
    """Return an array of text as one of type `kind`.

    Raises:
        Misfit: the first value that does not fit.
    """
    if kind is ColumnType.STRING:
        return checked_text(array)
    trimmed = trimmed_or_null(array)
    match kind:
        case ColumnType.INT64:
            return _cast(trimmed, lambda a: a.cast(pa.int64()), "expected an integer (int64)")
        case ColumnType.FLOAT64:
            floats = _cast(trimmed, lambda a: a.cast(pa.float64()), "expected a number (float64)")
            return finite(floats)
        case ColumnType.BOOL:
            return _cast(trimmed, lambda a: a.cast(pa.bool_()), "expected true or false (bool)")
        case ColumnType.TIMESTAMP:
            return _timestamps(trimmed, epoch)


def trimmed_or_null(array: pa.Array) -> pa.Array:
    """Return text without the whitespace around it; what is empty then is NULL.

    Only for columns that are not text: there a quoted empty cell can mean nothing else.
    """
    trimmed = pc.utf8_trim_whitespace(array)
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


def checked_text(array: pa.Array) -> pa.Array:
    """Return text as it is, having refused what no stream takes: NUL, and more than 8 KiB."""
    longest = pc.max(pc.binary_length(array)).as_py() or 0
    if longest > STRING_BYTES_MAX:
        index = _first(pc.greater(pc.binary_length(array), STRING_BYTES_MAX))
        raise Misfit(
            index, f"a string has at most {STRING_BYTES_MAX} bytes, this one has {longest}"
        )
    with_nul = pc.match_substring(array, "\x00")
    if pc.any(with_nul).as_py():
        raise Misfit(_first(with_nul), "text must not contain the character NUL")
    return array


def finite(floats: pa.Array) -> pa.Array:
    """Return floats as they are, having refused NaN and infinities."""
    unbounded = pc.invert(pc.is_finite(floats))
    if pc.any(unbounded).as_py():
        raise Misfit(
            _first(unbounded),
            "a number has to be finite",
            "Pass --null TOKEN to read that token as NULL (--null nan in Parquet).",
        )
    return floats


def microseconds(numbers: pa.Array, epoch: EpochUnit) -> pa.Array:
    """Return numbers counted in `epoch` units as timestamps, rounded to the microsecond.

    Integer nanoseconds are cut off there instead.

    Raises:
        pa.ArrowInvalid: one of them is not a number that 64 bits of microseconds hold.
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


def dated(times: pa.Array) -> pa.Array:
    """Return timestamps as they are, having refused years that RFC 3339 cannot write."""
    instants = times.cast(pa.int64())
    outside = pc.or_(pc.less(instants, TIMESTAMP_US_MIN), pc.greater(instants, TIMESTAMP_US_MAX))
    if pc.any(outside).as_py():
        raise Misfit(_first(outside), "a timestamp lies in the years 1 to 9999")
    return times


def is_timestamp_text(array: pa.Array) -> bool:
    """Return whether every value is an ISO 8601 date or date-time."""
    try:
        parse_timestamps(array)
    except pa.ArrowInvalid:
        return False
    return True


def parse_timestamps(array: pa.Array) -> pa.Array:
    """Return ISO 8601 dates and date-times; without a zone they are UTC.

    Digits below the microsecond are cut off.
    """
    zoned = pc.match_substring_regex(array, _ZONED)
    try:
        return _parse_zones(array, zoned)
    except pa.ArrowInvalid:
        cut = pc.replace_substring_regex(array, r"(\.\d{6})\d+", r"\1")
        return _parse_zones(cut, zoned)


def _parse_zones(array: pa.Array, zoned: pa.Array) -> pa.Array:
    nothing = pa.scalar(None, pa.string())
    naive = pc.if_else(zoned, nothing, array).cast(pa.timestamp("us"))
    aware = pc.if_else(zoned, array, nothing).cast(UTC_MICROSECONDS)
    return pc.coalesce(aware, naive.cast(pa.int64()).cast(UTC_MICROSECONDS))


def _timestamps(array: pa.Array, epoch: EpochUnit | None) -> pa.Array:
    if epoch is None:
        hint = ""
        try:
            return _cast(
                array, parse_timestamps, "expected an ISO 8601 date or date-time (timestamp)"
            )
        except Misfit as misfit:
            value = array[misfit.index]
            if pc.match_substring_regex(value, _NUMERAL).as_py():
                hint = "Where it counts from 1970, pass --epoch s|ms|us|ns."
            raise Misfit(misfit.index, misfit.reason, hint) from None
    whole = pc.all(pc.match_substring_regex(array, r"^[+-]?\d+$")).as_py()
    number = pa.int64() if whole else pa.float64()
    expected = f"expected a number of {epoch} since 1970 (timestamp)"
    return dated(_cast(array, lambda part: microseconds(part.cast(number), epoch), expected))


def _cast(array: pa.Array, convert: Callable[[pa.Array], pa.Array], expected: str) -> pa.Array:
    """Return `convert(array)`, or raise Misfit at the first value that does not convert."""
    try:
        return convert(array)
    except pa.ArrowInvalid:
        pass
    first, past = 0, len(array)
    while past - first > 1:
        middle = (first + past) // 2
        try:
            convert(array.slice(first, middle - first))
        except pa.ArrowInvalid:
            past = middle
        else:
            first = middle
    raise Misfit(first, expected)


def _first(mask: pa.Array) -> int:
    return int(pc.index(mask, pa.scalar(value=True)).as_py())
