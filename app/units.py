"""Sizes, durations and numbers as people read them. Programs are given them raw."""

from collections.abc import Sequence
from typing import Final

from psoup.engine.limits import GIB, KIB, MIB

_SIZES: Final = ((1_024 * GIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))
_DURATIONS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


def spoken_size(nbytes: float) -> str:
    """Return a number of bytes in the largest binary unit that it fills: `1.7 MiB`, `512 B`."""
    scaled = _scaled(nbytes, _SIZES)
    return f"{_short(nbytes)} B" if scaled is None else scaled


def spoken_seconds(seconds: float) -> str:
    """Return a duration in the largest unit that it fills: `3 min`, `1.5 h`, `0.25 s`."""
    whole = _scaled(seconds, _DURATIONS)
    return f"{_short(seconds)} s" if whole is None else whole


def spoken_number(number: float) -> str:
    """Return a number with separators of thousands, and no more decimals than tell it apart: `1,703`, `28.8`."""
    return f"{number:,}" if isinstance(number, int) else _short(number)


def _scaled(number: float, units: Sequence[tuple[int, str]]) -> str | None:
    """Return the number in the first unit that it fills; None = it fills none."""
    for size, name in units:
        if abs(number) >= size:
            return f"{_short(number / size)} {name}"
    return None


def _short(number: float) -> str:
    """Return three significant digits of a small number, the whole of a large one."""
    if abs(number) >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.3g}"
