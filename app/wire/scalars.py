"""Durations, sizes and instants as text: what people write in bodies and parameters, and what is answered."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from psoup.engine import limits
from psoup.engine.query.time_literals import parse_instant
from psoup.engine.query.window import Bound

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_UNITS_US: Final = {
    "us": 1,
    "ms": 1_000,
    "s": limits.SECOND_US,
    "m": 60 * limits.SECOND_US,
    "h": 3_600 * limits.SECOND_US,
    "d": limits.DAY_US,
    "w": 7 * limits.DAY_US,
}
_PRINTED_UNITS: Final = ("d", "h", "m", "s", "ms", "us")
_SHORT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,6})?)(us|ms|s|m|h|d|w)")
_NUMBER = r"([0-9]{1,18}(?:\.[0-9]{1,6})?)"
_ISO = re.compile(
    rf"P(?!$)(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?=[0-9])(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?"
)
_SIZE = re.compile(r"([0-9]{1,15})\s?(B|kB|KB|KiB|MB|MiB|GB|GiB)")
_SIZE_UNITS: Final = {
    "B": 1,
    "kB": 1_000,
    "KB": 1_000,
    "KiB": limits.KIB,
    "MB": 1_000_000,
    "MiB": limits.MIB,
    "GB": 1_000_000_000,
    "GiB": limits.GIB,
}
_OFFSET = re.compile(r".*(?:[Zz]|[+-][0-9]{2}:[0-9]{2})")
DURATION_FORMS = "a duration: 250ms, 30s, 10m, 1h, 7d, or ISO 8601 such as PT1H30M"
SIZE_FORMS = "a size: a number of bytes, or 500kB, 64MiB, 2GiB"


def parse_duration(text: str) -> int | None:
    """Return the duration in whole microseconds; None where the text is none of DURATION_FORMS."""
    short = _SHORT.fullmatch(text)
    if short is not None:
        parts = [(short[1], short[2])]
    else:
        iso = _ISO.fullmatch(text)
        if iso is None:
            return None
        parts = list(zip(iso.groups(), ("w", "d", "h", "m", "s"), strict=True))
    us = sum((Decimal(n) * _UNITS_US[unit] for n, unit in parts if n is not None), Decimal(0))
    return int(us) if us == us.to_integral_value() and us < 2**63 else None


def format_duration(us: int) -> str:
    """Return the duration in the largest unit, up to days, that makes a whole number: `90m`."""
    if us == 0:
        return "0s"
    unit = next(unit for unit in _PRINTED_UNITS if us % _UNITS_US[unit] == 0)
    return f"{us // _UNITS_US[unit]}{unit}"


def parse_size(text: str) -> int | None:
    """Return the size in bytes; None where the text is none of SIZE_FORMS."""
    match = _SIZE.fullmatch(text)
    return None if match is None else int(match[1]) * _SIZE_UNITS[match[2]]


def parse_rfc3339(text: str) -> int | None:
    """Return the instant in microseconds since the epoch; None where the text is no RFC 3339 with an offset."""
    return parse_instant(text) if _OFFSET.fullmatch(text) else None


def format_instant(us: int | None) -> str | None:
    """Return RFC 3339 UTC with exactly six decimals; None for None.

    Only the years 1 to 9999 can be written: what lies outside is written as the first or last instant.
    """
    if us is None:
        return None
    us = min(max(us, limits.TIMESTAMP_US_MIN), limits.TIMESTAMP_US_MAX)
    instant = _EPOCH + timedelta(microseconds=us)
    return f"{instant.isoformat(timespec='microseconds')}Z"


def format_bound(bound: Bound | None) -> str | None:
    """Return one end of a window as it is declared: `now`, `now-10m`, or an instant."""
    if bound is None:
        return None
    if not bound.moving:
        return format_instant(bound.us)
    return "now" if bound.us == 0 else f"now-{format_duration(bound.us)}"
