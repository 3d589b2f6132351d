"""One JSON value of a column's type, read from the bytes of a body where it is written plainly.

Every reader returns where the value ends, or -1: written in a way that is rarer than its cost here (an integer past 64
bits), or not what the column takes. Which of the two is for others to find out. Texts end in
PADDING zero bytes, which belong to no value: so none of the readers asks where the end is.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from psoup.engine.kernels.addresses import byte, put, put_byte, put_float, word
from psoup.engine.kernels.compiled import compiled

Memory = Any
"""An address as `addresses` makes them: of the body's bytes, where it is called `text`."""
PADDING: Final = 64
"""Longer than any token that is compared as a whole, not byte by byte."""
INT64, FLOAT64, BOOL, STRING, TIMESTAMP = range(5)
NULL, PRESENT, LITERAL = range(3)
"""What a cell holds: nothing; its value, or the span of its text; the span of a literal that Python code reads."""
SPAN_BITS: Final = 16
"""A span is `begin << SPAN_BITS | length`."""

_QUOTE, _BACKSLASH, _SPACE = ord('"'), ord("\\"), ord(" ")
_TAB, _RETURN = ord("\t"), ord("\r")
_PLUS, _MINUS, _POINT, _ZERO, _COLON = ord("+"), ord("-"), ord("."), ord("0"), ord(":")
_LOWER_E, _UPPER_E = ord("e"), ord("E")
_N, _U, _L, _T, _R, _E, _F, _A, _S = b"nultrefas"
_UPPER_T, _UPPER_Z, _LOWER_Z = ord("T"), ord("Z"), ord("z")
_DIGITS_EXACT: Final = 18
"""So many digits fit 64 bits whatever they are."""
_TENTH: Final = (2**63 - 1) // 10
_FULL: Final = 10**17
"""A number this large takes no digit more: it is past every bound that it is compared with."""
_POWERS = 10.0 ** np.arange(23)
"""The powers of ten that a float64 holds exactly."""
_EXACT: Final = 2**53
"""Up to here a float64 holds every integer."""
_ESCAPE_BYTES: Final = 6
"""The longest way to write a byte of a text: one of ASCII by its code point."""
_SECOND_US: Final = 1_000_000
_DAY_US: Final = 86_400 * _SECOND_US
_NO_DAY: Final = 10**9
"""Past all days, and no reason for an overflow."""
_MONTH_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


class Bounds(NamedTuple):
    """What a value may be: characters of a number, bytes of a text, the first and the last microsecond."""

    number_length: int
    text_bytes: int
    earliest_us: int
    latest_us: int


class Cells(NamedTuple):
    """Where values go: (k,) arrays in the hands of a caller, their addresses among kernels.

    Attributes:
        values: int64: integers, microseconds, 0 or 1, spans.
        floats: float64: the same memory, as the floats that it holds.
        states: uint8: NULL, PRESENT or LITERAL.
    """

    values: Any
    floats: Any
    states: Any


@compiled
def blank(text: Memory, at: int, newline: int) -> int:
    """Return the first place from `at` on that is no white space; `newline` is one more byte that is."""
    while (
        byte(text, at) == _SPACE
        or byte(text, at) == newline
        or byte(text, at) == _RETURN
        or byte(text, at) == _TAB
    ):
        at += 1
    return at


@compiled
def value(text: Memory, at: int, kind: int, bounds: Bounds, cells: Cells, place: int) -> int:
    """Read the value of a column of type `kind` that begins at `at` into cell `place`; return where it ends, or -1."""
    if kind == INT64:
        return integer(text, at, cells, place)
    if kind == FLOAT64:
        return decimal(text, at, bounds, cells, place)
    if kind == STRING:
        return string(text, at, bounds, cells, place)
    if kind == BOOL:
        return boolean(text, at, cells, place)
    if byte(text, at) == _QUOTE:
        return instant(text, at, bounds, cells, place)
    past = integer(text, at, cells, place)
    return past if bounds.earliest_us <= word(cells.values, place) <= bounds.latest_us else -1


@compiled
def null(text: Memory, at: int) -> int:
    """Return where the `null` that begins at `at` ends, or -1."""
    found = (
        byte(text, at) == _N
        and byte(text, at + 1) == _U
        and byte(text, at + 2) == _L
        and byte(text, at + 3) == _L
    )
    return at + 4 if found else -1


@compiled
def boolean(text: Memory, at: int, cells: Cells, place: int) -> int:
    """Read `true` or `false`."""
    put_byte(cells.states, place, PRESENT)
    if byte(text, at) == _T:
        put(cells.values, place, 1)
        found = byte(text, at + 1) == _R and byte(text, at + 2) == _U and byte(text, at + 3) == _E
        return at + 4 if found else -1
    found = byte(text, at) == _F and byte(text, at + 1) == _A and byte(text, at + 2) == _L
    found = found and byte(text, at + 3) == _S and byte(text, at + 4) == _E
    return at + 5 if found else -1


@compiled
def _digit(text: Memory, at: int) -> int:
    """Return the digit at `at`; below 0 or above 9 where there is none."""
    return byte(text, at) - _ZERO


@compiled
def integer(text: Memory, at: int, cells: Cells, place: int) -> int:
    """Read an integer of up to 19 digits in 64 bits; -2^63 alone is left to others."""
    first = at + 1 if byte(text, at) == _MINUS else at
    past, found = first, 0
    digit = _digit(text, past)
    while 0 <= digit <= 9 and past < first + _DIGITS_EXACT:
        found = found * 10 + digit
        past += 1
        digit = _digit(text, past)
    if 0 <= digit <= 9:
        if found > _TENTH or (found == _TENTH and digit > 7):
            return -1
        found = found * 10 + digit
        past += 1
    if past == first or (byte(text, first) == _ZERO and past > first + 1):
        return -1
    put_byte(cells.states, place, PRESENT)
    put(cells.values, place, found if first == at else -found)
    return past


@compiled
def _digits(text: Memory, at: int, found: int) -> tuple[int, int]:
    """Return where the digits from `at` on end, and `found` with them behind it, as far as _FULL."""
    digit = _digit(text, at)
    while 0 <= digit <= 9:
        if found < _FULL:
            found = found * 10 + digit
        at += 1
        digit = _digit(text, at)
    return at, found


@compiled
def decimal(text: Memory, at: int, bounds: Bounds, cells: Cells, place: int) -> int:
    """Read a number for a float64 column: an integer only as far as those are exact.

    A float is read here where one operation on exact numbers gives it; else its span is told. That it is the nearest
    one then follows from the rounding of that operation (W. D. Clinger, PLDI 1990).
    """
    first = at + 1 if byte(text, at) == _MINUS else at
    past, found = _digits(text, first, 0)
    if past == first or (byte(text, first) == _ZERO and past > first + 1):
        return -1
    whole, scale = past, 0
    if byte(text, past) == _POINT:
        past, found = _digits(text, whole + 1, found)
        scale = whole + 1 - past
        if scale == 0:
            return -1
    if byte(text, past) == _LOWER_E or byte(text, past) == _UPPER_E:
        past, power = _exponent(text, past + 1)
        scale += power
    if past < 0 or past - at > bounds.number_length or (past == whole and found > _EXACT):
        return -1
    if found > _EXACT or not -23 < scale < 23:
        put_byte(cells.states, place, LITERAL)
        put(cells.values, place, at << SPAN_BITS | (past - at))
        return past
    size = found * _POWERS[scale] if scale >= 0 else found / _POWERS[-scale]
    put_byte(cells.states, place, PRESENT)
    if first > at:
        size = 0.0 - size if past == whole else -size  # an integer has one zero
    put_float(cells.floats, place, size)
    return past


@compiled
def _exponent(text: Memory, at: int) -> tuple[int, int]:
    """Return where the exponent that begins at `at`, behind its letter, ends, or -1; and what it is."""
    first = at + 1 if byte(text, at) == _MINUS or byte(text, at) == _PLUS else at
    past, power = _digits(text, first, 0)
    if past == first:
        return -1, 0
    return past, -power if byte(text, at) == _MINUS else power


@compiled
def string(text: Memory, at: int, bounds: Bounds, cells: Cells, place: int) -> int:
    """Find a text, and keep its span; whether it is UTF-8, and what its escapes are, is not looked at."""
    if byte(text, at) != _QUOTE:
        return -1
    past, state = at + 1, PRESENT
    while byte(text, past) != _QUOTE:
        if byte(text, past) == _BACKSLASH:
            state = LITERAL
            past += 1  # it may be a quote that is escaped
        if byte(text, past) < _SPACE:
            return -1
        past += 1
    length = past - at - 1
    if length > (bounds.text_bytes if state == PRESENT else _ESCAPE_BYTES * bounds.text_bytes):
        return -1
    put_byte(cells.states, place, state)
    put(cells.values, place, (at + 1) << SPAN_BITS | length)
    return past + 1


@compiled
def _pair(text: Memory, at: int) -> int:
    """Return the number of the two digits at `at`; less than -1000 where they are none."""
    tens, ones = _digit(text, at), _digit(text, at + 1)
    return tens * 10 + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else -100_000


@compiled
def _day(text: Memory, at: int) -> int:
    """Return the day of the date at `at`, YYYY-MM-DD, counted from 1970-01-01; past all days where there is none.

    Source: H. Hinnant, chrono-Compatible Low-Level Date Algorithms, days_from_civil.
    """
    year = _pair(text, at) * 100 + _pair(text, at + 2)
    month, day = _pair(text, at + 5), _pair(text, at + 8)
    if (
        byte(text, at + 4) != _MINUS
        or byte(text, at + 7) != _MINUS
        or year < 1
        or not 1 <= month <= 12
    ):
        return _NO_DAY
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _MONTH_DAYS[month] + (1 if leap else 0):
        return _NO_DAY
    if month <= 2:
        year -= 1
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + of_year - 719_468


@compiled
def _clock(text: Memory, at: int) -> int:
    """Return the second of a day of the time at `at`, hh:mm:ss; below 0 where there is none."""
    hour, minute, second = _pair(text, at), _pair(text, at + 3), _pair(text, at + 6)
    if (
        byte(text, at + 2) != _COLON
        or byte(text, at + 5) != _COLON
        or hour > 23
        or minute > 59
        or second > 59
    ):
        return -1
    return hour * 3_600 + minute * 60 + second


@compiled
def _zone(text: Memory, at: int) -> tuple[int, int]:
    """Return where the offset from UTC at `at` ends, or -1, and its seconds."""
    sign = byte(text, at)
    if sign in (_UPPER_Z, _LOWER_Z):
        return at + 1, 0
    hour, minute = _pair(text, at + 1), _pair(text, at + 4)
    if sign not in (_PLUS, _MINUS) or byte(text, at + 3) != _COLON or hour > 23 or minute > 59:
        return -1, 0
    seconds = hour * 3_600 + minute * 60
    if seconds < 0:
        return -1, 0
    return at + 6, -seconds if sign == _MINUS else seconds


@compiled
def instant(text: Memory, at: int, bounds: Bounds, cells: Cells, place: int) -> int:
    """Read an RFC 3339 text with an offset and at most six decimals, of the years 1 to 9999."""
    day, second = _day(text, at + 1), _clock(text, at + 12)
    between = byte(text, at + 11)
    if between not in (_UPPER_T, _T, _SPACE):
        return -1
    if day == _NO_DAY or second < 0:
        return -1
    past, fraction = at + 20, 0
    if byte(text, past) == _POINT:
        first = past + 1
        past, fraction = _digits(text, first, fraction)
        if not 1 <= past - first <= 6:
            return -1
        for _ in range(first + 6 - past):
            fraction *= 10
    past, offset = _zone(text, past)
    us = day * _DAY_US + (second - offset) * _SECOND_US + fraction
    if past < 0 or byte(text, past) != _QUOTE or not bounds.earliest_us <= us <= bounds.latest_us:
        return -1
    put_byte(cells.states, place, PRESENT)
    put(cells.values, place, us)
    return past + 1
