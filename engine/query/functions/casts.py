"""CAST: from a value of one type to one of another. What has none is NULL, where DuckDB raises."""

import decimal
import math
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from psoup.engine.query.functions.distinct import computed
from psoup.engine.query.functions.valid import narrowed
from psoup.engine.query.time_literals import format_instant, parse_instant
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

_INT64, _FLOAT64, _BOOL = ColumnType.INT64, ColumnType.FLOAT64, ColumnType.BOOL
_STRING, _TIMESTAMP = ColumnType.STRING, ColumnType.TIMESTAMP
_INT64_DIGITS_MAX = 19
_INT64_PAST = 2.0**63
_SPACES = " \t\n\v\f\r"
_DIGITS = r"[0-9](?:_?[0-9])*"
_NUMBER = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?[0-9]+)?")
_TRUE = frozenset({"true", "t", "yes", "y", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "0"})


def cast(columns: Sequence[Column], kind: ColumnType) -> Column:
    """Return the values of the one argument as type `kind`; NULL where they have none. `CASTS` has the pair."""
    (x,) = columns
    return CASTS[x.type, kind](x)


def _to_double(x: Column) -> Column:
    return Column(_FLOAT64, x.values.astype(np.float64), x.valid)


def _to_whole(x: Column) -> Column:
    """Return numbers rounded to whole ones, halves to the even one."""
    if x.type is _BOOL:
        return Column(_INT64, x.values.astype(np.int64), x.valid)
    nearest = np.rint(x.values)
    fits = (nearest >= -_INT64_PAST) & (nearest < _INT64_PAST)
    values = np.where(fits, nearest, 0.0).astype(np.int64)
    return Column(_INT64, values, narrowed(x.valid, fits))


def _to_flag(x: Column) -> Column:
    return Column(_BOOL, x.values != 0, x.valid)


def _by_value(kind: ColumnType, function: Callable[..., object]) -> Callable[[Column], Column]:
    return lambda x: computed((x,), kind, function)


def whole_of(text: str) -> int | None:
    """Return the BIGINT that a text names, a fraction rounded, halves away from zero."""
    stripped = text.strip(_SPACES)
    if not _NUMBER.fullmatch(stripped):
        return None
    try:
        number = decimal.Decimal(stripped)
    except decimal.InvalidOperation:  # an exponent of more digits than any
        return None
    if not number or number.adjusted() < -1:
        return 0
    if number.adjusted() >= _INT64_DIGITS_MAX:
        return None
    whole = int(number.to_integral_value(decimal.ROUND_HALF_UP))
    return whole if -(2**63) <= whole < 2**63 else None


def double_of(text: str) -> float | None:
    """Return the DOUBLE that a text names."""
    stripped = text.strip(_SPACES)
    if not _NUMBER.fullmatch(stripped):
        return None
    number = float(stripped)
    return number if math.isfinite(number) else None


def flag_of(text: str) -> bool | None:
    """Return the BOOLEAN that a text names, in any case."""
    name = text.lower()
    return True if name in _TRUE else False if name in _FALSE else None


def instant_text(us: int) -> str:
    """Return an instant as text, without zeros at the end of a fraction."""
    text = format_instant(us)
    return text.rstrip("0") if "." in text else text


CASTS: Mapping[tuple[ColumnType, ColumnType], Callable[[Column], Column]] = {
    (_INT64, _FLOAT64): _to_double,
    (_BOOL, _FLOAT64): _to_double,
    (_FLOAT64, _INT64): _to_whole,
    (_BOOL, _INT64): _to_whole,
    (_INT64, _BOOL): _to_flag,
    (_FLOAT64, _BOOL): _to_flag,
    (_INT64, _STRING): _by_value(_STRING, str),
    (_FLOAT64, _STRING): _by_value(_STRING, repr),
    (_BOOL, _STRING): _by_value(_STRING, lambda flag: "true" if flag else "false"),
    (_TIMESTAMP, _STRING): _by_value(_STRING, instant_text),
    (_STRING, _INT64): _by_value(_INT64, whole_of),
    (_STRING, _FLOAT64): _by_value(_FLOAT64, double_of),
    (_STRING, _BOOL): _by_value(_BOOL, flag_of),
    (_STRING, _TIMESTAMP): _by_value(_TIMESTAMP, parse_instant),
}
"""Every cast there is, by the types from and to."""
