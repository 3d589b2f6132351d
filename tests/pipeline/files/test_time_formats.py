"""Formats of times as of strptime: columns at once, against Python's own strptime one by one."""

import re
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st

from psoup.client.errors import DefinitionError
from psoup.pipeline.files.option_texts import time_formats_of, time_of
from psoup.pipeline.files.times.formats import TimeFormat

FORMATS = [
    "%Y-%m-%d %H:%M:%S.%f",
    "%d/%m/%Y %H:%M",
    "%m/%d/%y %I:%M:%S %p",
    "%Y%m%d%H%M%S",
    "%d %b %Y %H:%M:%S %z",
    "%A, %d %B %Y",
    "%Y-%j",
    "[%d/%b/%Y:%H:%M:%S %z] 100%%",
]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SPAN = (EPOCH.replace(tzinfo=None), datetime.fromisoformat("2068-12-31T12:59:59.999999"))
"""Years of which strptime and POSIX tell two digits alike; from 1970 on, so that strftime writes four."""


def instants(text, values, *, clock=False):
    parsed = TimeFormat(text, clock=clock).parse(pa.array(values, pa.string()))
    return parsed.cast(pa.int64()).to_pylist()


@given(
    st.lists(st.datetimes(*SPAN), min_size=1, max_size=20),
    st.sampled_from(FORMATS),
    st.sampled_from(["+0000", "-0330", "+1400"]),
)
@example([*SPAN], FORMATS[2], "+0000")
def test_time_format_differential_reads_as_strptime(days, text, zone):
    """Whatever Python writes in a format is read as Python reads it, to the microsecond."""
    written = [day.strftime(text.replace("%z", zone)) for day in days]
    expected = []
    for value in written:
        read = datetime.strptime(value, text)  # noqa: DTZ007 - UTC where the text has no zone
        utc = read if read.tzinfo else read.replace(tzinfo=UTC)
        expected.append((utc - EPOCH) // timedelta(microseconds=1))
    assert [*expected, None] == instants(text, [*written, None])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("%d/%m/%Y", "31/04/2024"),
        ("%d/%m/%Y", "29/02/2023"),
        ("%d/%m/%Y", "1/13/2023"),
        ("%d/%m/%Y", "0/1/2023"),
        ("%d/%m/%Y", "1/1/2023 "),
        ("%d/%m/%Y", "1/1/23"),
        ("%Y-%j", "2023-366"),
        ("%Y-%m-%d %H:%M", "2023-01-01 24:00"),
        ("%Y-%m-%d %I:%M %p", "2023-01-01 13:00 PM"),
        ("%Y-%m-%d %H:%M:%S", "2023-01-01 10:00:60"),
        ("%Y%m%d", "2023111"),
        ("%d %b %Y", "1 Foo 2023"),
        ("%Y", "0000"),
    ],
)
def test_time_format_value_that_is_no_time_is_refused(text, value):
    """Days that are not, clocks past their end, anything left over."""
    with pytest.raises(pa.ArrowInvalid):
        instants(text, [value])


def test_time_format_composites_stand_for_their_parts():
    """%F, %T, %R and %D as strftime writes them; blanks may be several."""
    assert instants("%Y-%m-%d %H:%M:%S", ["2024-02-29 01:02:03"]) == instants(
        "%F %T", ["2024-02-29   01:02:03"]
    )
    assert instants("%m/%d/%y %H:%M", ["02/29/24 01:02"]) == instants("%D %R", ["02/29/24 01:02"])


@pytest.mark.parametrize("text", ["", "%H:%M", "%Y %Y", "%Q %Y", "%Y %", "%F %Y"])
def test_time_format_that_cannot_be_is_refused(text):
    """No year, a directive twice or unknown: said before a file is opened."""
    with pytest.raises(
        DefinitionError, match=re.escape(repr(text)) if "%F" not in text else "twice"
    ):
        TimeFormat(text)


@pytest.mark.parametrize(
    ("value", "full"),
    [
        ("3/14/2025", "%m/%d/%Y"),
        ("3/14/2025 1:20", "%m/%d/%Y %H:%M"),
        ("3/14/2025T01:20:30.5Z", "%m/%d/%YT%H:%M:%S.%f%z"),
        ("3/14/2025 1:20:30 PM +02:00", "%m/%d/%Y %I:%M:%S %p %z"),
    ],
)
def test_full_text_of_a_recognised_date_reads_the_value_alike(value, full):
    """The format that a note names can be passed: it reads the same instant."""
    recognised = TimeFormat("%m/%d/%Y", clock=True)
    assert full == recognised.full_text(value)
    assert instants("%m/%d/%Y", [value], clock=True) == instants(full, [value])


def test_options_of_times_as_they_are_written():
    """A joined time has a name, its own or `ts`; a format belongs to the time column or to one it names."""
    assert ("date", ()) == time_of("date")
    assert ("ts", ("year", "month")) == time_of("year+month")
    assert ("at", ("day", "clock")) == time_of("at=day + clock")
    formats = time_formats_of(["%Y=%m", "b=%Y", "c=ms"], time="a")
    assert (("a", "%Y=%m"), ("b", "%Y"), ("c", "ms")) == formats
    for texts, time in [(["%Y"], None), (["%Y", "%y"], "a"), (["b=%H"], "a")]:
        with pytest.raises(DefinitionError):
            time_formats_of(texts, time=time)
    with pytest.raises(DefinitionError):
        time_of("year+")
