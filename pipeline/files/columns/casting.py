"""Casts arrays of text to arrays of the five types, and finds the first value that does not fit.

NULL stays NULL. Whitespace around numbers, booleans and timestamps is ignored.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from psoup.engine.limits import STRING_BYTES_MAX, TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.files.columns.markers import without_markers
from psoup.pipeline.files.columns.readings import Reading
from psoup.pipeline.files.times.advice import time_advice
from psoup.pipeline.files.times.forms import TimeForm


class Misfit(Exception):  # noqa: N818 - a position, which a reader turns into an error with a line
    """The value at `index` of an array does not fit; `reason` says why, `hint` which option helps."""

    def __init__(self, index: int, reason: str, hint: str = "") -> None:
        """Keep index, reason and hint."""
        super().__init__(index, reason, hint)
        self.index = index
        self.reason = reason
        self.hint = hint


def text_as(array: pa.Array, kind: ColumnType, reading: Reading) -> pa.Array:
    """Return an array of text cast to type `kind`; unless that is text, words for NULL are NULL.

    Raises:
        Misfit: the first value that does not fit.
    """
    if kind is ColumnType.STRING:
        return checked_text(array)
    given = without_markers(trimmed_or_null(array))
    match kind:
        case ColumnType.INT64:
            return _cast(given, _integers, "expected an integer (int64)")
        case ColumnType.FLOAT64:
            return _floats(given, decimal_comma=reading.decimal_comma)
        case ColumnType.BOOL:
            return _cast(given, _truths, "expected true or false (bool)")
        case ColumnType.TIMESTAMP:
            return _timestamps(given, reading.form)


def numerals(array: pa.Array, *, decimal_comma: bool) -> pa.Array:
    """Return texts of numbers with a decimal point instead of a decimal comma.

    Raises:
        pa.ArrowInvalid: with `decimal_comma`, a number has a point.
    """
    if not decimal_comma:
        return array
    if pc.any(pc.match_substring(array, ".")).as_py():
        msg = "a number has a point"
        raise pa.ArrowInvalid(msg)
    return pc.replace_substring(array, ",", ".")


def trimmed_or_null(array: pa.Array) -> pa.Array:
    """Return text without surrounding whitespace; empty text becomes NULL.

    Only for columns that are not text, in which a quoted empty cell can only mean NULL.
    """
    trimmed = pc.utf8_trim_whitespace(array)
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


def checked_text(array: pa.Array) -> pa.Array:
    """Return the texts unchanged. Raises Misfit for NUL, and for more than STRING_BYTES_MAX."""
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


def checked_floats(floats: pa.Array) -> pa.Array:
    """Return the floats unchanged. Raises Misfit for NaN and infinities."""
    unbounded = pc.invert(pc.is_finite(floats))
    if pc.any(unbounded).as_py():
        raise Misfit(
            _first(unbounded),
            "a number has to be finite",
            "Pass --null TOKEN to read that token as NULL (--null nan in Parquet).",
        )
    return floats


def checked_times(times: pa.Array) -> pa.Array:
    """Return the timestamps unchanged. Raises Misfit for years that RFC 3339 cannot write."""
    instants = times.cast(pa.int64())
    outside = pc.or_(pc.less(instants, TIMESTAMP_US_MIN), pc.greater(instants, TIMESTAMP_US_MAX))
    if pc.any(outside).as_py():
        raise Misfit(_first(outside), "a timestamp lies in the years 1 to 9999")
    return times


def _integers(array: pa.Array) -> pa.Array:
    """Return integers; 17850.0 counts as one."""
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid:
        return pc.replace_substring_regex(array, r"\.0+$", "").cast(pa.int64())


def _floats(array: pa.Array, *, decimal_comma: bool) -> pa.Array:
    written = "2,5" if decimal_comma else "float64"
    return checked_floats(
        _cast(
            array,
            lambda part: numerals(part, decimal_comma=decimal_comma).cast(pa.float64()),
            f"expected a number ({written})",
        )
    )


def _truths(array: pa.Array) -> pa.Array:
    """Return booleans; T and F count as such."""
    try:
        return array.cast(pa.bool_())
    except pa.ArrowInvalid:
        spelt = pc.replace_substring_regex(array, "^[tT]$", "true")
        return pc.replace_substring_regex(spelt, "^[fF]$", "false").cast(pa.bool_())


def _timestamps(array: pa.Array, form: TimeForm) -> pa.Array:
    try:
        return checked_times(_cast(array, form.parse, f"expected {form.text} (timestamp)"))
    except Misfit as misfit:
        hint = time_advice(array[misfit.index].as_py(), form)
        raise Misfit(misfit.index, misfit.reason, hint) from None


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
