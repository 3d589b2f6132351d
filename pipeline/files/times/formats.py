"""strptime formats: one regular expression splits a whole column, and numpy computes the instants.

RE2 evaluates the expression, so the cost is linear in the text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psoup.client.errors import DefinitionError
from psoup.pipeline.files.times.forms import UTC_MICROSECONDS

Numbers = NDArray[np.int64]

_COMPOSITES: Final = {"%T": "%H:%M:%S", "%R": "%H:%M", "%D": "%m/%d/%y", "%F": "%Y-%m-%d"}
_SYNONYMS: Final = {"e": "d", "k": "H", "l": "I", "B": "b", "h": "b", "A": "a"}
_WIDTHS: Final = {"Y": 4, "y": 2, "m": 2, "d": 2, "H": 2, "I": 2, "M": 2, "S": 2, "j": 3}
_WORDS: Final = {
    "f": r"\d{1,9}",
    "b": "[A-Za-z]{3,9}",
    "a": "[A-Za-z]{3,9}",
    "p": r"[AaPp]\.?[Mm]\.?",
    "z": r"Z|z|UTC|GMT|[+-]\d\d:?\d\d",
}
_CLOCK: Final = (
    r"(?:(?:T|\s+|,\s*|:)(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,](?P<f>\d{1,9}))?)?"
    r"(?:\s?(?P<p>[AaPp]\.?[Mm]\.?))?(?:\s?(?P<z>Z|z|UTC|GMT|[+-]\d\d:?\d\d))?)?"
)
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_CENTURY_PIVOT: Final = 69
"""Two-digit years from here on are in the 1900s, as in POSIX."""
_SECOND_US: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """A strptime format.

    With `clock`, a time of day of any precision, AM or PM, and a zone may follow: this recognises dates if no format is
    given.
    """

    text: str
    clock: bool = False

    def __post_init__(self) -> None:
        """Check the format.

        Raises:
            DefinitionError: a directive is unknown or repeated, or the year is missing.
        """
        _expression(self.text)

    def parse(self, array: pa.Array) -> pa.Array:
        """Return the timestamps.

        Raises:
            pa.ArrowInvalid: a value has another format, or there is no such day or time of day.
        """
        parts = pc.extract_regex(array, self._pattern())
        if parts.null_count != array.null_count:
            msg = f"a value is not written as {self.text}"
            raise pa.ArrowInvalid(msg)
        fields = {name.name: parts.field(name.name) for name in parts.type}
        instants, right = _instants(fields, len(array))
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        if not np.all(right | ~valid):
            msg = "there is no such day or time of day"
            raise pa.ArrowInvalid(msg)
        return pa.array(instants, pa.int64(), mask=~valid).cast(UTC_MICROSECONDS)

    def full_text(self, value: str) -> str:
        """Return the format with the directives of the time of day in `value`, as the user has to pass it."""
        found = re.match(self._pattern(), value) if self.clock else None
        if found is None or not found["H"]:
            return self.text
        between = value[found.start("H") - 1]
        clock = ("%I" if found["p"] else "%H") + ":%M"
        if found["S"]:
            clock += ":%S"
        if found["f"]:
            clock += value[found.start("f") - 1] + "%f"
        for directive in "pz":
            if found[directive]:
                blank = " " if value[found.start(directive) - 1] == " " else ""
                clock += f"{blank}%{directive}"
        return f"{self.text}{between}{clock}"

    def _pattern(self) -> str:
        return f"^{_expression(self.text)}{_CLOCK if self.clock else ''}$"


def _expression(text: str) -> str:
    """Return the regular expression of a format, one named group for each directive."""
    for composite, spelt in _COMPOSITES.items():
        text = text.replace(composite, spelt)
    pieces = re.findall(r"%.|%|\s+|[^%\s]", text)
    written, used = [], set()
    for index, piece in enumerate(pieces):
        if piece == "%%":
            written.append("%")
        elif piece.isspace():
            written.append(r"\s+")
        elif not piece.startswith("%"):
            written.append(re.escape(piece))
        else:
            name = _SYNONYMS.get(piece[1:], piece[1:])
            if name not in _WIDTHS and name not in _WORDS:
                known = " ".join(f"%{directive}" for directive in (*_WIDTHS, *_WORDS))
                raise DefinitionError(
                    f"The time format {text!r} has {piece!r}: expected one of {known}."
                )
            if name in used:
                raise DefinitionError(f"The time format {text!r} has %{name} twice.")
            used.add(name)
            written.append(f"(?P<{name}>{_digits(name, pieces, index)})")
    if not used & {"Y", "y"}:
        raise DefinitionError(
            f"The time format {text!r} has no year: expected %Y among strptime's directives."
        )
    return "".join(written)


def _digits(name: str, pieces: list[str], index: int) -> str:
    """Return the expression of a directive, of fixed width if another directive is adjacent."""
    if name in _WORDS:
        return _WORDS[name]
    most = _WIDTHS[name]
    beside = (*pieces[max(index - 1, 0) : index], *pieces[index + 1 : index + 2])
    fixed = name in "Yy" or any(piece[0] == "%" and piece != "%%" for piece in beside)
    return rf"\d{{{most}}}" if fixed else rf"\d{{1,{most}}}"


def _instants(fields: Mapping[str, pa.Array], count: int) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return microseconds since 1970, and which rows name a day and a time of day that exist."""

    def numbers(name: str, default: int) -> Numbers:
        return _numbers(fields[name], default) if name in fields else np.full(count, default)

    def words(name: str, meaning: Callable[[str], int]) -> Numbers:
        return _meanings(fields[name], meaning) if name in fields else np.zeros(count, np.int64)

    year = numbers("Y", 1970)
    if "y" in fields:
        short = numbers("y", 70)
        year = short + np.where(short >= _CENTURY_PIVOT, 1900, 2000)
    month = words("b", _month) if "b" in fields else numbers("m", 1)
    right = (year >= 1) & (month >= 1) & (month <= 12)
    months = (year - 1970) * 12 + np.clip(month, 1, 12) - 1
    first_day, next_first = _first_days(months), _first_days(months + 1)
    if "j" in fields:
        day, first_day = numbers("j", 1), _first_days((year - 1970) * 12)
        next_first = _first_days((year - 1969) * 12)
    else:
        day = numbers("d", 1)
    right &= (day >= 1) & (day <= next_first - first_day)
    hour = numbers("I" if "I" in fields else "H", 0)
    half = words("p", lambda text: {"a": 1, "p": 2}.get(text[:1].lower(), 0))
    right &= np.where(half > 0, (hour >= 1) & (hour <= 12), hour <= 23)
    hour = np.where(half > 0, hour % 12 + 12 * (half == 2), hour)
    minute, second = numbers("M", 0), numbers("S", 0)
    right &= (minute <= 59) & (second <= 59)
    minutes = ((first_day + day - 1) * 24 + hour) * 60 + minute - words("z", _offset)
    return (minutes * 60 + second) * _SECOND_US + _fraction(fields, count), right


def _first_days(months: Numbers) -> Numbers:
    """Return the first day of months counted from January 1970, in days since 1970."""
    return months.astype("M8[M]").astype("M8[D]").astype(np.int64)


def _numbers(texts: pa.Array, default: int) -> Numbers:
    """Return digits as integers; `default` for empty texts."""
    given = pc.if_else(pc.equal(texts, ""), str(default), texts)
    found: Numbers = given.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found


def _meanings(texts: pa.Array, meaning: Callable[[str], int]) -> Numbers:
    """Return the meaning of each text, computed once for each distinct text."""
    distinct: Any = texts.dictionary_encode()
    each = np.array([meaning(text) for text in distinct.dictionary.to_pylist()], np.int64)
    found: Numbers = each[distinct.indices.to_numpy(zero_copy_only=False)]
    return found


def _month(name: str) -> int:
    short = name[:3].lower()
    return _MONTHS.index(short) + 1 if short in _MONTHS else 0


def _offset(zone: str) -> int:
    """Return how many minutes a zone is ahead of UTC."""
    if zone[:1] not in {"+", "-"}:
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return -minutes if zone.startswith("-") else minutes


def _fraction(fields: Mapping[str, pa.Array], count: int) -> Numbers:
    if "f" not in fields:
        return np.zeros(count, np.int64)
    six = pc.utf8_slice_codeunits(pc.utf8_rpad(fields["f"], 6, "0"), 0, 6)
    found: Numbers = six.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found
