"""Values of rows to Arrow columns: a fast way for whole columns, and a judge of one value for when it fails.

Both ways accept the same: int64 exactly, an integer for float64 only up to 2^53, timestamps as RFC 3339
text with an offset or as integer microseconds, text without NUL. `fast_column` may fail only where
`judge` finds a value at fault.
"""

import math
import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psoup.app.wire.rows.errors import (
    INVALID_TEXT,
    MISSING,
    OUT_OF_RANGE,
    TOO_LONG,
    TYPE_MISMATCH,
)
from psoup.app.wire.scalars import parse_rfc3339
from psoup.engine import limits
from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.instants import instants_of
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.engine.tuples.time_unit import TimeUnit, instant_of

RFC3339 = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?([Zz]|[+-][0-9]{2}:[0-5][0-9])$"
_USUAL = b"0000-00-00T00:00:00.000000Z"
_LOWEST = np.frombuffer(_USUAL, np.uint8)
_SPAN = np.array([9 if byte == ord("0") else 0 for byte in _USUAL], np.uint8)
_RFC3339 = re.compile(RFC3339)
_RFC3339_LONG = re.compile(RFC3339.replace("{1,6}", "+"))
_INT64 = (-(2**63), 2**63 - 1)
_NONE = type(None)
_FEW_VALUES = 16
"""So many are judged one by one sooner than Arrow's functions are called: 10 microseconds each."""


def fast_column(column: ColumnSchema, values: Sequence[object]) -> pa.Array | None:
    """Return the values as the column's Arrow array; None = at least one of them does not fit.

    Cost: a few passes in C; no work per value in Python but for mixed types, and for few values.
    """
    if len(values) <= _FEW_VALUES:
        return _few_values(column, values)
    kinds = set(map(type, values))
    if _NONE in kinds:
        if not column.nullable:
            return None
        kinds.discard(_NONE)
    try:
        if column.unit is not None:
            return _timestamps(values, kinds, column.unit)
        return _BUILDERS[column.type](values, kinds)
    except (OverflowError, pa.ArrowInvalid):
        return None


def _few_values(column: ColumnSchema, values: Sequence[object]) -> pa.Array | None:
    if any(judge(column, value) is not None for value in values):
        return None
    if column.type is ColumnType.TIMESTAMP:
        unit = column.unit or TimeUnit.US
        values = [
            parse_rfc3339(value) if isinstance(value, str) else _instant(value, unit)
            for value in values
        ]
    return pa.array(values, ARROW_TYPES[column.type])


def judge(column: ColumnSchema, value: object) -> str | None:
    """Return the row code of what is wrong with one value; None = it fits."""
    if value is None:
        return None if column.nullable else MISSING
    if column.unit is not None and type(value) is int:
        return OUT_OF_RANGE if instant_of(value, column.unit) is None else None
    return _JUDGES[column.type](value)


def timestamps_from_texts(texts: pa.Array) -> pa.Array | None:
    """Return RFC 3339 texts as int64 microseconds, NULL for NULL; None = one of them is not."""
    if not (_are_usual_instants(texts) or _are_instants(texts)):
        return None
    # Arrow reads upper-case letters alone; RFC 3339 allows both.
    upper = pc.ascii_upper(texts)
    try:
        us = upper.cast(ARROW_TYPES[ColumnType.TIMESTAMP]).cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    return us if timestamps_in_range(us) else None


def timestamps_in_range(us: pa.Array) -> bool:
    """Return whether all instants (int64 microseconds) lie within the years 1 to 9999."""
    # Under NULL stands what does not count.
    values = (us.fill_null(0) if us.null_count else us).to_numpy()
    if not len(values):
        return True
    return bool(values.min() >= limits.TIMESTAMP_US_MIN and values.max() <= limits.TIMESTAMP_US_MAX)


def texts_fit(texts: pa.Array) -> bool:
    """Return whether no text holds NUL or is longer than STRING_BYTES_MAX."""
    offsets, data = text_buffers(texts)
    # What a NULL may have bytes of does not count: it is looked at where it would.
    if b"\0" not in data and np.diff(offsets).max(initial=0) <= limits.STRING_BYTES_MAX:
        return True
    longest = pc.max(pc.binary_length(texts)).as_py()
    if longest is not None and longest > limits.STRING_BYTES_MAX:
        return False
    return not pc.any(pc.match_substring(texts, "\0"), min_count=0).as_py()


def text_buffers(texts: pa.Array) -> tuple[NDArray[np.int32], bytes]:
    """Return where the texts of an array begin and end, (n + 1,) int32, and the bytes of all of them."""
    _, offsets, data = texts.buffers()
    if not len(texts) or data is None:
        return np.zeros(len(texts) + 1, np.int32), b""
    count = texts.offset + len(texts) + 1
    places = np.frombuffer(offsets, np.int32, count)[texts.offset :]
    return places, data[int(places[0]) : int(places[-1])].to_pybytes()


def judge_text(text: str) -> str | None:
    """Return what is wrong with a text, by its row code."""
    if "\0" in text:
        return INVALID_TEXT
    return TOO_LONG if len(text.encode()) > limits.STRING_BYTES_MAX else None


def judge_timestamp_text(text: str) -> str | None:
    """Return what is wrong with a timestamp's text: not one at all, or not an instant of the calendar."""
    # Of those in URLs, which are read with less care, some have no seconds.
    if _RFC3339.fullmatch(text) and parse_rfc3339(text) is not None:
        return None
    return OUT_OF_RANGE if _RFC3339_LONG.match(text) and _decimals(text) <= 6 else TYPE_MISMATCH


def _are_instants(texts: pa.Array) -> bool:
    """Return whether all texts are written as RFC 3339 has it, none in the year 0: Arrow knows that one."""
    matched = pc.and_not(
        pc.match_substring_regex(texts, RFC3339), pc.starts_with(texts, pattern="0000")
    )
    return bool(pc.all(matched, min_count=0).as_py())


def _are_usual_instants(texts: pa.Array) -> bool:
    """Return whether all texts are like 2026-11-21T10:05:00.000000Z, none of them NULL.

    What most senders write is told by the range of each of its bytes, at a quarter of RFC3339's cost.
    """
    offsets, data = text_buffers(texts)
    if texts.null_count or not (np.diff(offsets) == len(_USUAL)).all():
        return False
    rows = np.frombuffer(data, np.uint8).reshape(-1, len(_USUAL))
    # Unsigned: a byte below the lowest is far above the highest.
    return bool((rows - _LOWEST <= _SPAN).all())


def _decimals(text: str) -> int:
    _, _, fraction = text.partition(".")
    return len(re.split(r"[Zz+-]", fraction)[0])


def _ints(values: Sequence[object], kinds: set[type]) -> pa.Array | None:
    return pa.array(values, pa.int64()) if kinds <= {int} else None


def _floats(values: Sequence[object], kinds: set[type]) -> pa.Array | None:
    if not kinds <= {float, int}:
        return None
    if int in kinds:
        exact = limits.FLOAT64_EXACT_INT_MAX
        if any(type(v) is int and not -exact <= v <= exact for v in values):
            return None
    return pa.array(values, pa.float64())


def _bools(values: Sequence[object], kinds: set[type]) -> pa.Array | None:
    return pa.array(values, pa.bool_()) if kinds <= {bool} else None


def _strings(values: Sequence[object], kinds: set[type]) -> pa.Array | None:
    if not kinds <= {str}:
        return None
    texts = pa.array(values, pa.string())
    return texts if texts_fit(texts) else None


def _instant(value: object, unit: TimeUnit) -> int | None:
    return instant_of(value, unit) if isinstance(value, int) else None


def _timestamps(
    values: Sequence[object], kinds: set[type], unit: TimeUnit = TimeUnit.US
) -> pa.Array | None:
    if not kinds <= {int, str}:
        return None
    if kinds == {str}:
        us = timestamps_from_texts(pa.array(values, pa.string()))
    elif len(kinds) < 2:
        us = instants_of(pa.array(values, pa.int64()), unit)
    else:
        ints = [v if type(v) is int else None for v in values]
        us = instants_of(pa.array(ints, pa.int64()), unit)
        texts = [v if type(v) is str else None for v in values]
        others = timestamps_from_texts(pa.array(texts, pa.string()))
        us = None if us is None or others is None else pc.coalesce(us, others)
    return None if us is None else us.cast(ARROW_TYPES[ColumnType.TIMESTAMP])


_BUILDERS = {
    ColumnType.INT64: _ints,
    ColumnType.FLOAT64: _floats,
    ColumnType.BOOL: _bools,
    ColumnType.STRING: _strings,
    ColumnType.TIMESTAMP: _timestamps,
}


def _judge_int(value: object) -> str | None:
    if type(value) is not int:
        return TYPE_MISMATCH
    return None if _INT64[0] <= value <= _INT64[1] else OUT_OF_RANGE


def _judge_float(value: object) -> str | None:
    if type(value) is int:
        return None if abs(value) <= limits.FLOAT64_EXACT_INT_MAX else OUT_OF_RANGE
    if type(value) is not float:
        return TYPE_MISMATCH
    return None if math.isfinite(value) else OUT_OF_RANGE


def _judge_bool(value: object) -> str | None:
    return None if type(value) is bool else TYPE_MISMATCH


def _judge_string(value: object) -> str | None:
    return judge_text(value) if type(value) is str else TYPE_MISMATCH


def _judge_timestamp(value: object) -> str | None:
    if type(value) is str:
        return judge_timestamp_text(value)
    if type(value) is not int:
        return TYPE_MISMATCH
    in_range = limits.TIMESTAMP_US_MIN <= value <= limits.TIMESTAMP_US_MAX
    return None if in_range else OUT_OF_RANGE


_JUDGES = {
    ColumnType.INT64: _judge_int,
    ColumnType.FLOAT64: _judge_float,
    ColumnType.BOOL: _judge_bool,
    ColumnType.STRING: _judge_string,
    ColumnType.TIMESTAMP: _judge_timestamp,
}
