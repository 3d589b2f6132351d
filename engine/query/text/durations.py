"""Lengths of time in a text: what INTERVAL holds, and what a parameter may give in its place."""

from psoup.engine.errors import SqlSyntaxError, UnsupportedSqlError
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.time_literals import spelled_unit, split_duration, unit_us, whole_us

_NUMBER_SHOWN_MAX = 20
UNIT_HINT = (
    "units are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY and WEEK: INTERVAL '6' HOUR"
)


def is_duration(text: str) -> bool:
    """Return whether a text is a number and a word, which no instant is: "6 hours"."""
    parts = split_duration(text)
    return parts is not None and all(parts)


def duration_us(text: str, span: Span) -> int:
    """Return the microseconds of a number and a unit, "6 hours"; refuse any other text, which stands at `span`."""
    number, unit = number_and_unit(text, span)
    if not unit:
        raise _no_duration(span)
    return length_us(number, unit, number_span=span, unit_span=span)


def number_and_unit(text: str, span: Span) -> tuple[str, str]:
    """Return the number and the unit of "6 hours", or of "6", which has none; refuse any other text."""
    parts = split_duration(text)
    if parts is None:
        raise _no_duration(span)
    return parts


def length_us(number: str, unit: str, *, number_span: Span, unit_span: Span) -> int:
    """Return the microseconds of so many units; refuse a unit that there is not, and parts of a microsecond."""
    length = unit_us(unit)
    if length is None:
        raise _unknown_unit(number, unit, unit_span)
    us = whole_us(number, length)
    if us is None:
        raise Refused(
            SqlSyntaxError,
            "An INTERVAL is a whole number of microseconds, of at most 64 bits.",
            number_span,
            UNIT_HINT,
            quoting=f"{number[:_NUMBER_SHOWN_MAX]!r} is no number of whole microseconds of at most 64 bits.",
        )
    return us


def _no_duration(span: Span) -> Refused:
    return Refused(UnsupportedSqlError, "An INTERVAL is one number and one unit.", span, UNIT_HINT)


def _unknown_unit(number: str, unit: str, span: Span) -> Refused:
    """Return the refusal of a unit that an INTERVAL does not have."""
    spelled = spelled_unit(unit)
    remedy, hint = UNIT_HINT, None
    if spelled is not None:
        hint = f"write the unit in full: INTERVAL '{number[:_NUMBER_SHOWN_MAX]}' {spelled}"
    elif unit.upper().removesuffix("S") in ("MONTH", "QUARTER", "YEAR"):
        remedy = "months and years are of no fixed length: write days, INTERVAL '30' DAY"
    return Refused(
        UnsupportedSqlError,
        "INTERVAL does not have this unit.",
        span,
        remedy,
        quoting=f"INTERVAL has no unit {unit[:20]!r}.",
        hint=hint,
    )
