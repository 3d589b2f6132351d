"""The formats of times that fit a column: all possible ones, until a value decides.

01/02/1965 is two dates. Both formats stay possible until the column has a value that only one of them can read. A
column without such a value is never read by a guess.
"""

import re
from collections.abc import Iterable
from datetime import date
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from psoup.pipeline.files.times.formats import TimeFormat
from psoup.pipeline.files.times.forms import ISO, TimeForm

COMPACT: Final = TimeFormat("%Y%m%d")
"""20180101 is an integer as well, so the format is no candidate; `is_compact` tries it on integers."""
_DATES: Final = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%m-%d-%Y",
    "%d-%m-%Y",
    "%d.%m.%Y",
    "%d-%b-%Y",
    "%d/%b/%Y",
    "%d %b %Y",
    "%b %d, %Y",
    "%b %d %Y",
    "%a, %d %b %Y",
)
_PARTS: Final = ("%Y", "%m", "%d", "%H", "%M", "%S")
CANDIDATES: Final[tuple[TimeForm, ...]] = (ISO, *(TimeFormat(text, clock=True) for text in _DATES))
"""In order of preference. Dates with month names or dots have one order; those with slashes or dashes have two."""
_COMPACT_MIN, _COMPACT_MAX = 19_000_101, 20_991_231
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DATE_WORDS: Final = frozenset(
    "date datum datetime day dt time timestamp ts ymd yyyymmdd".split()  # noqa: SIM905 - one line of words
)


def joined_candidates(parts: int) -> tuple[TimeForm, ...]:
    """Return the formats of `parts` columns joined by blanks: numbers from the year down, or dates and clocks."""
    numbers: tuple[TimeForm, ...] = ()
    if 0 < parts <= len(_PARTS):
        numbers = (TimeFormat(" ".join(_PARTS[:parts])),)
    return (*numbers, *CANDIDATES)


def forms_of(array: pa.Array, among: Iterable[TimeForm]) -> tuple[TimeForm, ...]:
    """Return those of `among` that read every value of an array of text, in their order.

    Cost: O(values) for each form that reads the first value.
    """
    first = array.drop_null()[:1]
    return tuple(form for form in among if _reads(form, first) and _reads(form, array))


def is_compact(integers: pa.Array) -> bool:
    """Return whether all integers, written as text, are dates like 20180101 of the years 1900 to 2099."""
    extremes = pc.min_max(integers.cast(pa.int64()))
    if extremes["min"].as_py() < _COMPACT_MIN or extremes["max"].as_py() > _COMPACT_MAX:
        return False
    return _reads(COMPACT, integers)


def is_compact_day(value: int) -> bool:
    """Return whether one integer is a date like 20180101."""
    if not _COMPACT_MIN <= value <= _COMPACT_MAX:
        return False
    try:
        date(value // 10_000, value // 100 % 100, value % 100)
    except ValueError:
        return False
    return True


def is_date_name(column: str) -> bool:
    """Return whether a column's name says that it holds dates: `date`, `order_date`, `OrderDate`, `ymd`."""
    return any(word.lower() in _DATE_WORDS for word in _WORD.findall(column))


def _reads(form: TimeForm, array: pa.Array) -> bool:
    try:
        form.parse(array)
    except pa.ArrowInvalid:
        return False
    return True
