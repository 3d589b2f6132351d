"""Instants and durations as text: TIMESTAMP and INTERVAL literals. Integer microseconds, UTC."""

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from psoup.engine.limits import DAY_US, SECOND_US, TIMESTAMP_US_MAX, TIMESTAMP_US_MIN

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.([0-9]{1,6}))?(?:([Zz])|([+-][0-9]{2}:[0-5][0-9]))?)?"
)
INSTANT_FORMS = "'2014-01-05', '2014-01-05 12:00:00' (UTC) or '2014-01-05T12:00:00.5+02:00'"

UNITS_US = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": SECOND_US,
    "MINUTE": 60 * SECOND_US,
    "HOUR": 3_600 * SECOND_US,
    "DAY": DAY_US,
    "WEEK": 7 * DAY_US,
}
_ABBREVIATIONS = {
    "US": "MICROSECOND",
    "MS": "MILLISECOND",
    "MSEC": "MILLISECOND",
    "S": "SECOND",
    "SEC": "SECOND",
    "M": "MINUTE",
    "MIN": "MINUTE",
    "H": "HOUR",
    "HR": "HOUR",
    "D": "DAY",
    "W": "WEEK",
}
_PRINTED_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
_DURATION = re.compile(r"([+-]?[0-9.]*)\s*([A-Za-z]*)")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})")


def parse_instant(text: str) -> int | None:
    """Return the instant in microseconds since the epoch; None where the text is none of INSTANT_FORMS.

    Without an offset the text is UTC; without a time of day it is midnight.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        return None
    date, clock, fraction, _, offset = match.groups()
    clock = clock or "00:00:00"
    clock = clock if len(clock) == len("00:00:00") else clock + ":00"
    try:
        whole = datetime.fromisoformat(f"{date}T{clock}+00:00")
        shift = datetime.fromisoformat(f"2000-01-01T00:00:00{offset or '+00:00'}").utcoffset()
    except ValueError:
        return None
    assert shift is not None
    us = (whole - _EPOCH - shift) // _MICROSECOND + int((fraction or "0").ljust(6, "0"))
    return us if TIMESTAMP_US_MIN <= us <= TIMESTAMP_US_MAX else None


def format_instant(us: int) -> str:
    """Return `YYYY-MM-DD HH:MM:SS[.ffffff]`, UTC: the text that `parse_instant` reads back."""
    seconds, fraction = divmod(us, SECOND_US)
    instant = _EPOCH + timedelta(seconds=seconds)
    text = instant.replace(tzinfo=None).isoformat(sep=" ")
    return f"{text}.{fraction:06d}" if fraction else text


def unit_us(unit: str) -> int | None:
    """Return a unit's length in microseconds, singular or plural, in any case; None if unknown."""
    name = unit.upper()
    return UNITS_US.get(name) or UNITS_US.get(name.removesuffix("S"))


def spelled_unit(text: str) -> str | None:
    """Return the unit that a text names in full or for short (`m` is MINUTE), as SQL spells it; None if none."""
    name = text.upper()
    if unit_us(name) is not None:
        return name if name in UNITS_US else name.removesuffix("S")
    return _ABBREVIATIONS.get(name) or _ABBREVIATIONS.get(name.removesuffix("S"))


def split_duration(text: str) -> tuple[str, str] | None:
    """Return (number, unit) of "6", "6 hours" or "-1.5h"; the unit may be empty. None where it is neither."""
    match = _DURATION.fullmatch(text.strip())
    return None if match is None else (match[1], match[2])


def whole_us(number: str, unit: int) -> int | None:
    """Return number times unit if it is a whole number of microseconds of at most 64 bits, else None."""
    if not _NUMBER.fullmatch(number):
        return None
    if number.isdigit():  # as most are, and an int takes a tenth of a Fraction's time
        us = int(number) * unit
    else:
        exact = Fraction(number) * unit
        if exact.denominator != 1:
            return None
        us = int(exact)
    return us if abs(us) < 2**63 else None


def format_duration(us: int) -> str:
    """Return `INTERVAL 'n' UNIT` in the largest unit, up to DAY, that makes n a whole number."""
    number, unit = _in_largest_unit(us)
    return f"INTERVAL '{number}' {unit}"


def spoken_duration(us: int) -> str:
    """Return "2 hours": the duration in words."""
    number, unit = _in_largest_unit(us)
    return f"{number} {unit.lower()}{'' if number == 1 else 's'}"


def _in_largest_unit(us: int) -> tuple[int, str]:
    unit = next(unit for unit in _PRINTED_UNITS if us % UNITS_US[unit] == 0)
    return us // UNITS_US[unit], unit
