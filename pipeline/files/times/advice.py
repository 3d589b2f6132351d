"""The option to pass if a value of a timestamp column is no time as it is read."""

import re
from typing import Final

import pyarrow as pa

from psoup.engine.tuples.time_unit import likely_unit
from psoup.pipeline.files.times.formats import TimeFormat
from psoup.pipeline.files.times.forms import Epoch, TimeForm

_NUMERAL: Final = re.compile(r"[+-]?\d+(\.\d*)?")
_SHORT_YEARS: Final = tuple(
    TimeFormat(text, clock=True)
    for text in (
        *("%m/%d/%y", "%d/%m/%y", "%y-%m-%d", "%m-%d-%y", "%d-%m-%y", "%d.%m.%y"),
        *("%d-%b-%y", "%d %b %y", "%b %d, %y"),
    )
)
"""Dates with two digits for the year. They are named, never guessed: 03/04/05 has six meanings."""


def time_advice(value: str, form: TimeForm) -> str:
    """Return the option that reads `value`, which `form` does not."""
    value = value.strip()
    if _NUMERAL.fullmatch(value):
        return _epoch_advice(value, form)
    if isinstance(form, TimeFormat) and _ends_a_day(value, form):
        return "An hour is 0 to 23. If 24 is the midnight that ends the day, write it as hour 0 of the next day."
    short = [one.full_text(value) for one in _SHORT_YEARS if _reads(one, value)]
    if short:
        ways = " or ".join(f"'{text}'" for text in short)
        return f"It looks like {ways}. Two digits of a year are not guessed: pass --time-format {ways}."
    return "If times have another format, pass it by --time-format, as of strptime."


def _epoch_advice(value: str, form: TimeForm) -> str:
    count = int(float(value))
    unit = likely_unit(count, count)
    if unit is None or (isinstance(form, Epoch) and form.unit.value == unit.value):
        return "If it counts from 1970, pass --epoch s|ms|us|ns."
    return f"It looks like {unit.spoken.split()[0]} since 1970: pass --epoch {unit}."


def _ends_a_day(value: str, form: TimeFormat) -> bool:
    """Return whether the value is a time but for its hour, 24."""
    return any(
        _reads(form, f"{value[: hour.start()]}0{value[hour.end() :]}")
        for hour in re.finditer(r"\b24\b", value)
    ) and not _reads(form, value)


def _reads(form: TimeForm, value: str) -> bool:
    try:
        form.parse(pa.array([value]))
    except pa.ArrowInvalid:
        return False
    return True
