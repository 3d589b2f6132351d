"""Functions of instants: parts of the calendar, beginnings of units and buckets.

The calendar is Gregorian throughout, in UTC. A bucket that begins before the year 1 is NULL. Cost: some passes of
NumPy.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.limits import DAY_US, SECOND_US, TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.engine.query.functions.valid import all_valid, narrowed
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

Ints = NDArray[np.int64]

_MINUTE_US, _HOUR_US, _WEEK_US = 60 * SECOND_US, 3_600 * SECOND_US, 7 * DAY_US
_MONDAY_US = -3 * DAY_US
"""A Monday near the epoch: 1969-12-29."""
_ORIGIN_US = 10_959 * DAY_US
"""Where buckets are counted from: Monday, 2000-01-03."""
_MONTHS_OF_YEAR, _MONTHS_OF_QUARTER = 12, 3

_FIXED_US = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": SECOND_US,
    "minute": _MINUTE_US,
    "hour": _HOUR_US,
    "day": DAY_US,
    "week": _WEEK_US,
}
"""Units of one length."""
_MONTHS = {"month": 1, "quarter": _MONTHS_OF_QUARTER, "year": _MONTHS_OF_YEAR}
UNITS_US_MAX: Mapping[str, int] = _FIXED_US | {
    "month": 31 * DAY_US,
    "quarter": 92 * DAY_US,
    "year": 366 * DAY_US,
}
"""The units of DATE_TRUNC, and how long the longest one is."""


def truncated(columns: Sequence[Column], _: ColumnType) -> Column:
    """Return the beginning of the unit, a constant, that each instant lies in; weeks begin on Monday."""
    unit, instants = columns
    assert unit.dictionary is not None
    return Column(
        ColumnType.TIMESTAMP,
        _begun(unit.dictionary[0], _sound(instants)),
        instants.valid,
    )


def bucketed(columns: Sequence[Column], _: ColumnType) -> Column:
    """Return the beginning of the bucket that each instant lies in; buckets are as long as the first argument."""
    width, instants = columns
    at = _sound(instants)
    begun = at - np.mod(at - _ORIGIN_US, width.values)
    valid = narrowed(instants.valid, begun >= TIMESTAMP_US_MIN)
    return Column(ColumnType.TIMESTAMP, np.maximum(begun, TIMESTAMP_US_MIN), valid)


def part_of(columns: Sequence[Column], _: ColumnType) -> Column:
    """Return a part of each instant, a constant name says which."""
    part, instants = columns
    assert part.dictionary is not None
    return Column(
        ColumnType.INT64, PARTS[part.dictionary[0]](_sound(instants)), all_valid((instants,))
    )


def epoch(columns: Sequence[Column], _: ColumnType) -> Column:
    """Return the seconds since 1970 as DOUBLE."""
    (instants,) = columns
    return Column(ColumnType.FLOAT64, _sound(instants) / float(SECOND_US), instants.valid)


def _sound(instants: Column) -> Ints:
    """Return the microseconds; under NULL, where anything may lie, those of some instant."""
    found: Ints = np.clip(instants.values, TIMESTAMP_US_MIN, TIMESTAMP_US_MAX)
    return found


def _begun(unit: str, at: Ints) -> Ints:
    months = _MONTHS.get(unit)
    if months is not None:
        ordinal = _months(at)
        return _month_us(ordinal - np.mod(ordinal, months))
    origin = _MONDAY_US if unit == "week" else 0
    return at - np.mod(at - origin, _FIXED_US[unit])


def _months(at: Ints) -> Ints:
    """Return the months from January 1970 on."""
    return at.astype("M8[us]").astype("M8[M]").astype(np.int64)


def _month_us(months: Ints) -> Ints:
    return months.astype("M8[M]").astype("M8[us]").astype(np.int64)


def _days(at: Ints) -> Ints:
    return np.floor_divide(at, DAY_US)


def _weekday(at: Ints) -> Ints:
    """Return 0 for Monday to 6 for Sunday."""
    return np.mod(_days(at) + 3, 7)


def _thursday(at: Ints) -> Ints:
    """Return an instant on the Thursday of the same week: the year of which it is a week."""
    return at + (3 - _weekday(at)) * DAY_US


def _year(at: Ints) -> Ints:
    return np.floor_divide(_months(at), _MONTHS_OF_YEAR) + 1970


def _day_of(unit: str) -> Callable[[Ints], Ints]:
    """Return the function that counts the days from the beginning of a unit, the first as 1."""
    return lambda at: _days(at) - _days(_begun(unit, at)) + 1


def _within(whole_us: int, part_us: int) -> Callable[[Ints], Ints]:
    """Return the function that counts parts of one length since the beginning of a longer one."""
    return lambda at: np.floor_divide(np.mod(at, whole_us), part_us)


PARTS: Mapping[str, Callable[[Ints], Ints]] = {
    "microsecond": _within(_MINUTE_US, 1),
    "millisecond": _within(_MINUTE_US, 1_000),
    "second": _within(_MINUTE_US, SECOND_US),
    "minute": _within(_HOUR_US, _MINUTE_US),
    "hour": _within(DAY_US, _HOUR_US),
    "day": _day_of("month"),
    "dow": lambda at: np.mod(_weekday(at) + 1, 7),
    "isodow": lambda at: _weekday(at) + 1,
    "doy": _day_of("year"),
    "week": lambda at: np.floor_divide(_day_of("year")(_thursday(at)) - 1, 7) + 1,
    "month": lambda at: np.mod(_months(at), _MONTHS_OF_YEAR) + 1,
    "quarter": lambda at: np.floor_divide(np.mod(_months(at), _MONTHS_OF_YEAR), 3) + 1,
    "year": _year,
    "isoyear": lambda at: _year(_thursday(at)),
}
"""The parts of DATE_PART and EXTRACT that are whole numbers."""
