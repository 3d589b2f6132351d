"""The naive twin's functions: plain Python values, written from the table in docs/sql.md and decision record 0005.

Nothing here is fast, and nothing is shared with the engine's kernels: calendars are `datetime`, roundings are
fractions, texts are walked character by character.
"""

import datetime as dt
import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from psoup.engine.limits import STRING_BYTES_MAX, TIMESTAMP_US_MIN
from psoup.engine.query.values.expression import Call, Value
from psoup.engine.tuples.schema import ColumnType

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # UTC, without saying so
BUCKETS = dt.datetime(2000, 1, 3)  # noqa: DTZ001
MICROSECOND = dt.timedelta(microseconds=1)
LENIENT = frozenset({"CASE", "COALESCE", "CONCAT", "GREATEST", "LEAST"})
"""Functions of which an argument may be NULL and the value not."""


def called(call: Call, values: Sequence[Value | None]) -> Value | None:
    """Return what a function gives for these arguments; None = NULL."""
    if call.function not in LENIENT and any(value is None for value in values):
        return None
    if call.function == "CAST":
        (operand,) = call.arguments
        found = cast(values[0], operand.type, call.type)
    else:
        found = FUNCTIONS[call.function](*values)
    if isinstance(found, str):
        return found if len(found.encode()) <= STRING_BYTES_MAX else None
    if isinstance(found, float):
        return found if math.isfinite(found) else None
    if isinstance(found, int) and not INT64_MIN <= found <= INT64_MAX:
        return None
    return found


def case(*parts: Value | None) -> Value | None:
    """Return the result behind the first TRUE condition, else the last part."""
    for place in range(0, len(parts) - 1, 2):
        if parts[place] is True:
            return parts[place + 1]
    return parts[-1]


def coalesce(*values: Value | None) -> Value | None:
    """Return the first value that is not NULL."""
    return next((value for value in values if value is not None), None)


def greatest(*values: Any) -> Any:
    """Return the first of the largest values, NULLs aside."""
    return max([value for value in values if value is not None], default=None)


def least(*values: Any) -> Any:
    """Return the first of the smallest values, NULLs aside."""
    return min([value for value in values if value is not None], default=None)


# --- Numbers --------------------------------------------------------------------------------------


def half_away(exact: Fraction) -> int:
    """Return the nearest whole number, halves away from zero."""
    whole = math.floor(abs(exact) + Fraction(1, 2))
    return int(whole if exact >= 0 else -whole)


def rounded(x: float, digits: int | None = None) -> float:
    """Return ROUND(x, digits): of a DOUBLE in DOUBLEs, of a BIGINT exactly."""
    if isinstance(x, int):
        power = 10 ** -max(min(digits or 0, 0), -40)
        return half_away(Fraction(x, power)) * int(power)
    if digits is None:
        return math.copysign(half_away(Fraction(x)), x)
    power = float(f"1e{abs(digits)}") if abs(digits) < 400 else math.inf
    scaled = x / power if digits < 0 else x * power
    if not math.isfinite(scaled):
        return 0.0 if digits < 0 else x
    near = math.copysign(half_away(Fraction(scaled)), scaled)
    found = near * power if digits < 0 else near / power
    if math.isfinite(found):
        return found
    return 0.0 if digits < 0 else x


def safely(function: Callable[..., float]) -> Callable[..., float | None]:
    """Return the function with None where it has no value."""

    def total(*values: float) -> float | None:
        try:
            return function(*values)
        except (ValueError, OverflowError):
            return None

    return total


def sign(x: float) -> int:
    """Return -1, 0 or 1."""
    return (x > 0) - (x < 0)


def floor(x: float) -> float:
    """Return the largest whole number up to x, of x's type."""
    return x if isinstance(x, int) else math.copysign(float(math.floor(x)), x)


def ceil(x: float) -> float:
    """Return the smallest whole number from x on, of x's type."""
    return x if isinstance(x, int) else math.copysign(float(math.ceil(x)), x)


# --- Texts ----------------------------------------------------------------------------------------

SPACES = [chr(code) for code in (32, 160, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)]


def lower(text: str) -> str:
    """Return the small letter of each character."""
    return "".join("i" if one == "\u0130" else one.lower() for one in text)


def upper(text: str) -> str:
    """Return the capital of each character that has one of one character."""
    return "".join(map(capital, text))


@functools.cache
def capital(small: str) -> str:
    """Return the capital of one character, or itself."""
    if small == "\u00df":
        return "\u1e9e"
    return next((one for one in (small.upper(), small.title()) if len(one) == 1), small)


def ltrim(text: str, characters: Sequence[str] = SPACES) -> str:
    """Return the text without these characters at its beginning."""
    while text and text[0] in characters:
        text = text[1:]
    return text


def rtrim(text: str, characters: Sequence[str] = SPACES) -> str:
    """Return the text without these characters at its end."""
    while text and text[-1] in characters:
        text = text[:-1]
    return text


def trim(text: str, characters: Sequence[str] = SPACES) -> str:
    """Return the text without these characters at both ends."""
    return ltrim(rtrim(text, characters), characters)


def substring(text: str, start: int, count: int | None = None) -> str:
    """Return the characters whose places, counted from 1, lie in the span."""
    first = start if start >= 0 else len(text) + start + 1
    past = len(text) + 1 if count is None else first + count
    low, high = min(first, past), max(first, past)
    return "".join(one for place, one in enumerate(text, 1) if low <= place < high)


def left(text: str, count: int) -> str:
    """Return the first characters, or all but the last ones."""
    wanted = count if count >= 0 else len(text) + count
    return "".join(one for place, one in enumerate(text) if place < wanted)


def right(text: str, count: int) -> str:
    """Return the last characters, or all but the first ones."""
    return left(text[::-1], count)[::-1]


def replace(text: str, old: str, new: str) -> str:
    """Return the text with each `old` replaced, left to right."""
    if not old:
        return text
    found, at = [], 0
    while at < len(text):
        fits = text[at : at + len(old)] == old
        found.append(new if fits else text[at])
        at += len(old) if fits else 1
    return "".join(found)


def position(text: str, sought: str) -> int:
    """Return the first place, counted from 1, where the text stands; 0 = nowhere."""
    for at in range(len(text) - len(sought) + 1):
        if text[at : at + len(sought)] == sought:
            return at + 1
    return 0


# --- Times ----------------------------------------------------------------------------------------


def instant(us: int) -> dt.datetime:
    """Return microseconds since 1970 as an instant."""
    return EPOCH + us * MICROSECOND


def us_of(at: dt.datetime) -> int:
    """Return an instant as microseconds since 1970."""
    return (at - EPOCH) // MICROSECOND


def truncated(unit: str, us: int) -> int:
    """Return the beginning of the unit."""
    at = instant(us)
    day = dt.datetime.combine(at.date(), dt.time())
    return us_of(
        {
            "microsecond": at,
            "millisecond": at.replace(microsecond=at.microsecond // 1_000 * 1_000),
            "second": at.replace(microsecond=0),
            "minute": at.replace(second=0, microsecond=0),
            "hour": at.replace(minute=0, second=0, microsecond=0),
            "day": day,
            "week": day - dt.timedelta(days=day.weekday()),
            "month": day.replace(day=1),
            "quarter": day.replace(day=1, month=1 + (day.month - 1) // 3 * 3),
            "year": day.replace(day=1, month=1),
        }[unit]
    )


def part_of(part: str, us: int) -> int:
    """Return a part of the instant."""
    at = instant(us)
    return {
        "microsecond": at.second * 1_000_000 + at.microsecond,
        "millisecond": at.second * 1_000 + at.microsecond // 1_000,
        "second": at.second,
        "minute": at.minute,
        "hour": at.hour,
        "day": at.day,
        "dow": at.isoweekday() % 7,
        "isodow": at.isoweekday(),
        "doy": at.timetuple().tm_yday,
        "week": at.isocalendar().week,
        "month": at.month,
        "quarter": (at.month + 2) // 3,
        "year": at.year,
        "isoyear": at.isocalendar().year,
    }[part]


def bucketed(width: int, us: int) -> int | None:
    """Return the beginning of the bucket; None before the year 1."""
    origin = us_of(BUCKETS)
    found = origin + (us - origin) // width * width
    return found if found >= TIMESTAMP_US_MIN else None


# --- Casts ----------------------------------------------------------------------------------------

NUMBER = re.compile(r"([+-]?)(\d(?:_?\d)*)?(\.(\d(?:_?\d)*)?)?([eE]([+-]?\d+))?", re.ASCII)


def number_of(text: str) -> Fraction | None:
    """Return the number that a text names, exactly; of large exponents only the size is right."""
    match = NUMBER.fullmatch(text.strip(" \t\n\v\f\r"))
    if match is None or not (match[2] or match[4]):
        return None
    whole, fraction = (match[2] or "").replace("_", ""), (match[4] or "").replace("_", "")
    exponent = max(-20_000, min(20_000, int(match[6] or 0)))
    found = int(whole + fraction or 0) * Fraction(10) ** (exponent - len(fraction))
    return -found if match[1] == "-" else found


def cast(value: Any, source: ColumnType, target: ColumnType) -> Value | None:
    """Return a value of one type as one of another."""
    found: Value | None = CASTS[source, target](value)
    return found


def whole_of(text: str) -> int | None:
    """Return the nearest whole number to the one that a text names."""
    number = number_of(text)
    return None if number is None else half_away(number)


def double_of(text: str) -> float | None:
    """Return the DOUBLE nearest to the number that a text names."""
    return None if number_of(text) is None else float(text.strip(" \t\n\v\f\r"))


def flag_of(text: str) -> bool | None:
    """Return the truth that a text names."""
    flags = dict.fromkeys(["true", "t", "yes", "y", "1"], True)
    flags |= dict.fromkeys(["false", "f", "no", "n", "0"], False)
    return flags.get("".join(one.lower() if one.isascii() else one for one in text))


def instant_text(us: int) -> str:
    """Return an instant as text."""
    at = instant(us)
    fraction = f"{at.microsecond:06}".rstrip("0")
    shown = at.replace(microsecond=0).isoformat(" ")
    return f"{shown}.{fraction}" if fraction else shown


def instant_of(text: str) -> int | None:
    """Return the instant that a text names in one of the forms of a literal."""
    match = re.fullmatch(
        r"(\d{4}-\d\d-\d\d)([Tt ](\d\d:\d\d)(:\d\d)?(\.\d{1,6})?([Zz]|[+-]\d\d:[0-5]\d)?)?",
        text,
        re.ASCII,
    )
    if match is None or (match[5] and not (match[3])):
        return None
    offset = match[6] or "Z"
    fraction = (match[5] or ".0").ljust(7, "0")
    try:
        at = dt.datetime.fromisoformat(
            f"{match[1]} {match[3] or '00:00'}{match[4] or ':00'}{fraction}"
        )
        if offset in "Zz":
            return us_of(at)
        hours, minutes = int(offset[1:3]), int(offset[4:])
        if hours > 23:
            return None
        shift = dt.timedelta(hours=hours, minutes=minutes)
        return us_of(at - shift if offset[0] == "+" else at + shift)
    except (ValueError, OverflowError):
        return None


_INT64, _FLOAT64, _BOOL = ColumnType.INT64, ColumnType.FLOAT64, ColumnType.BOOL
_STRING, _TIMESTAMP = ColumnType.STRING, ColumnType.TIMESTAMP
CASTS: Mapping[tuple[ColumnType, ColumnType], Callable[[Any], Value | None]] = {
    (_STRING, _INT64): whole_of,
    (_STRING, _FLOAT64): double_of,
    (_STRING, _BOOL): flag_of,
    (_STRING, _TIMESTAMP): instant_of,
    (_FLOAT64, _INT64): lambda number: round(Fraction(number)),
    (_INT64, _FLOAT64): float,
    (_BOOL, _FLOAT64): float,
    (_BOOL, _INT64): int,
    (_INT64, _BOOL): lambda number: number != 0,
    (_FLOAT64, _BOOL): lambda number: number != 0,
    (_TIMESTAMP, _STRING): instant_text,
    (_BOOL, _STRING): lambda flag: str(flag).lower(),
    (_INT64, _STRING): str,
    (_FLOAT64, _STRING): str,
}

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "ABS": abs,
    "SIGN": sign,
    "ROUND": rounded,
    "FLOOR": floor,
    "CEIL": ceil,
    "SQRT": safely(math.sqrt),
    "POWER": safely(math.pow),
    "EXP": safely(math.exp),
    "LN": safely(math.log),
    "LOG10": safely(math.log10),
    "LOWER": lower,
    "UPPER": upper,
    "LENGTH": len,
    "TRIM": trim,
    "LTRIM": ltrim,
    "RTRIM": rtrim,
    "SUBSTRING": substring,
    "REPLACE": replace,
    "CONCAT": lambda *texts: "".join(text or "" for text in texts),
    "||": lambda *texts: "".join(texts),
    "LEFT": left,
    "RIGHT": right,
    "STARTS_WITH": lambda text, part: text[: len(part)] == part,
    "ENDS_WITH": lambda text, part: (
        text[len(text) - len(part) :] == part and len(part) <= len(text)
    ),
    "CONTAINS": lambda text, part: position(text, part) > 0,
    "STRPOS": position,
    "COALESCE": coalesce,
    "GREATEST": greatest,
    "LEAST": least,
    "CASE": case,
    "DATE_TRUNC": truncated,
    "DATE_PART": part_of,
    "TIME_BUCKET": bucketed,
    "EPOCH": lambda us: us / 1_000_000,
}
"""What each function is, but for CAST."""
