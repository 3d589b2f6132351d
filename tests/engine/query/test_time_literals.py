"""Instants and durations as text."""

import pytest
from hypothesis import given, strategies as st

from psoup.engine.limits import TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.engine.query.time_literals import (
    format_duration,
    format_instant,
    parse_instant,
    split_duration,
    spoken_duration,
    unit_us,
    whole_us,
)

HOUR_US = 3_600_000_000


@given(st.integers(TIMESTAMP_US_MIN, TIMESTAMP_US_MAX))
def test_instant_of_any_size_is_read_back_as_written(us):
    """The whole range of RFC 3339 survives, to the microsecond, before 1970 too."""
    assert us == parse_instant(format_instant(us))
    assert us == parse_instant(format_instant(us).replace(" ", "T") + "Z")


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("1970-01-01", 0),
        ("1970-01-01 00:01", 60_000_000),
        ("1970-01-01t00:00:00.5z", 500_000),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T23:30:00-00:30", 0),
        ("1969-12-31 23:59:59.999999", -1),
        ("0001-01-01T00:00:00+00:01", None),
        ("2014-02-29", None),
        ("2014-01-05 24:00:00", None),
        ("2016-12-31T23:59:60Z", None),
        ("2014-01-05 12:00:00.1234567", None),
        ("2014-01-05T12:00:00+2:00", None),
        ("2014-01-05T12:00:00+25:00", None),
        ("2014-01-05T12:00:00+01:60", None),
        ("2014-1-5", None),
        ("٢٠١٤-01-05", None),
        (" 2014-01-05", None),
        ("2014-01-05\n", None),
        ("", None),
    ],
)
def test_instant_in_any_spelling_is_exact_or_none(text, us):
    """Offsets are applied, a missing time of day is midnight, anything else is refused."""
    assert us == parse_instant(text)


@pytest.mark.parametrize(
    ("number", "unit", "us"),
    [
        ("6", "hours", 6 * HOUR_US),
        ("1.5", "HOUR", HOUR_US * 3 // 2),
        (".5", "Second", 500_000),
        ("-2", "days", -48 * HOUR_US),
        ("0.5", "microsecond", None),
        ("1e3", "second", None),
        ("1.2.3", "second", None),
        ("", "second", None),
        ("9" * 20, "week", None),
    ],
)
def test_duration_is_a_whole_number_of_microseconds_or_none(number, unit, us):
    """No rounding: what is not exact is refused."""
    length = unit_us(unit)
    assert length is not None
    assert us == whole_us(number, length)


def test_unit_is_known_in_singular_plural_and_any_case():
    """MONTH and YEAR have no fixed length and are no units."""
    assert unit_us("week") == unit_us("WEEKS") == 7 * 24 * HOUR_US
    assert [None] * 4 == [unit_us(unit) for unit in ("month", "year", "s", "")]


def test_duration_text_is_split_in_linear_time():
    """A number and a unit; hostile runs of spaces and digits end at once."""
    assert ("6", "hours") == split_duration(" 6 hours ")
    assert ("6", "") == split_duration("6")
    assert split_duration("1 day 2 hours") is None
    assert split_duration(" " * 60_000 + "!") is None
    assert split_duration("9" * 60_000 + "!") is None


def test_duration_is_printed_in_its_largest_unit():
    """Weeks are days; zero is days too."""
    assert "INTERVAL '90' MINUTE" == format_duration(HOUR_US * 3 // 2)
    assert "INTERVAL '14' DAY" == format_duration(14 * 24 * HOUR_US)
    assert "INTERVAL '1500001' MICROSECOND" == format_duration(1_500_001)
    assert ("1 hour", "2 hours") == (spoken_duration(HOUR_US), spoken_duration(2 * HOUR_US))
