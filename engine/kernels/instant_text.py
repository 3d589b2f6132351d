"""Instants as JSON texts of one width: RFC 3339 UTC with exactly six decimals, `"2026-11-21T10:05:00.123456Z"`."""

from typing import Final

from psoup.engine.kernels.addresses import byte, eight, put_byte, put_eight, word
from psoup.engine.kernels.compiled import compiled, inlined
from psoup.engine.kernels.json_values import Memory

WIDTH: Final = 29
"""Bytes of a text with its quotes."""
_DAY_US: Final = 86_400_000_000
_ERA_DAYS: Final = 146_097
"""Days of 400 years, after which dates come again."""
_ERA_DAY: Final = 719_468
"""1970-01-01, counted from 0000-03-01: years that begin in March end with the day that leap years have more."""
_QUOTE, _COMMA, _OPEN, _ZERO = ord('"'), ord(","), ord("["), ord("0")
_DASH, _T, _COLON, _POINT, _Z = ord("-"), ord("T"), ord(":"), ord("."), ord("Z")


@inlined
def _two(out: Memory, at: int, number: int) -> None:
    """Write a number of two digits."""
    small = number & 0x7F  # not negative: division is one multiplication then
    ten = small // 10
    put_byte(out, at, _ZERO + ten)
    put_byte(out, at + 1, _ZERO + small - 10 * ten)


@compiled
def _date(day: int, out: Memory, at: int) -> None:
    """Write the date of a day since 1970, and the T behind it. After Howard Hinnant's `civil_from_days`."""
    since = day + _ERA_DAY
    era = since // _ERA_DAYS
    of_era = (since - era * _ERA_DAYS) & 0x7FFFFFFF
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    from_march = (5 * of_year + 2) // 153
    month = from_march + 3 if from_march < 10 else from_march - 9
    year = (year + 400 * era + (1 if month <= 2 else 0)) & 0x3FFF
    _two(out, at, year // 100)
    _two(out, at + 2, year % 100)
    put_byte(out, at + 4, _DASH)
    _two(out, at + 5, month)
    put_byte(out, at + 7, _DASH)
    _two(out, at + 8, of_year - (153 * from_march + 2) // 5 + 1)
    put_byte(out, at + 10, _T)


@compiled
def write_instants(us: Memory, count: int, out: Memory) -> None:
    """Write `[`, and each instant's text with a comma behind it.

    Args:
        us: address of (count,) int64, microseconds since 1970. Of the years 1 to 9999; of what lies
            under a NULL ASCII of the same width is written, and no quote within it.
        count: of instants.
        out: address of `1 + 30 * count` bytes, written.

    Cost: about 20 ns an instant, and less where it is of the day of the one before.
    """
    put_byte(out, 0, _OPEN)
    before = 1 << 62
    for row in range(count):
        at = (WIDTH + 1) * row + 2
        day = word(us, row) // _DAY_US
        rest = (word(us, row) - day * _DAY_US) & 0x7FFFFFFFFFFFF
        put_byte(out, at - 1, _QUOTE)
        if day == before:
            put_eight(out, at, eight(out, at - WIDTH - 1))
            put_byte(out, at + 8, byte(out, at - WIDTH + 7))
            put_byte(out, at + 9, byte(out, at - WIDTH + 8))
            put_byte(out, at + 10, _T)
        else:
            _date(day, out, at)
            before = day
        second = rest // 1_000_000
        micro = rest - 1_000_000 * second
        minute = second // 60
        hour = minute // 60
        _two(out, at + 11, hour)
        put_byte(out, at + 13, _COLON)
        _two(out, at + 14, minute - 60 * hour)
        put_byte(out, at + 16, _COLON)
        _two(out, at + 17, second - 60 * minute)
        put_byte(out, at + 19, _POINT)
        fourth = micro // 100
        _two(out, at + 20, fourth // 100)
        _two(out, at + 22, fourth % 100)
        _two(out, at + 24, micro - 100 * fourth)
        put_byte(out, at + 26, _Z)
        put_byte(out, at + 27, _QUOTE)
        put_byte(out, at + 28, _COMMA)
