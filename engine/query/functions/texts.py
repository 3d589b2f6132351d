"""Functions of texts, each of Python values. They count characters (code points), from 1.

Cost: linear in the texts. A search takes at most some 0.1 us for a character, whatever the texts hold.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from psoup.engine.limits import STRING_BYTES_MAX
from psoup.engine.query.functions.distinct import computed, used_texts
from psoup.engine.query.functions.function import Kernel
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

_SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""Unicode's spaces (Zs), which TRIM takes off: neither tabs nor line ends."""
_TRIMMED_BY_STRIP_MAX = 16
"""Characters to trim that `strip` looks for one after the other."""


def each(function: Callable[..., Any]) -> Kernel:
    """Return the kernel that calls a function of Python values once for each combination that occurs."""

    def kernel(columns: Sequence[Column], kind: ColumnType) -> Column:
        return computed(columns, kind, function)

    return kernel


def lower(text: str) -> str:
    """Return the text in small letters, each character by itself: none becomes two."""
    if _FINAL_SIGMA in text or _DOTTED_I in text:
        return "".join(["i" if one == _DOTTED_I else one.lower() for one in text])
    return text.lower()


_FINAL_SIGMA = "\u03a3"
"""Python makes another letter of it at the end of a word."""
_DOTTED_I = "\u0130"
"""Python makes two characters of it."""


def upper(text: str) -> str:
    """Return the text in capitals, each character by itself: none becomes two."""
    whole = text.upper()
    if len(whole) == len(text):
        return whole
    return "".join([_capital(one) for one in text])


@functools.lru_cache(maxsize=4_096)
def _capital(character: str) -> str:
    """Return the capital of a letter: of one character, else the letter itself."""
    for capital in (character.upper(), character.title()):
        if len(capital) == 1:
            return capital
    return _CAPITALS.get(character, character)


_CAPITALS = {"\u00df": "\u1e9e"}
"""Capitals of letters that Python writes as two, in either way."""


def trim(text: str, characters: str = _SPACES) -> str:
    """Return the text without these characters at both ends."""
    return rtrim(ltrim(text, characters), characters)


def ltrim(text: str, characters: str = _SPACES) -> str:
    """Return the text without these characters at its beginning."""
    if len(characters) <= _TRIMMED_BY_STRIP_MAX:
        return text.lstrip(characters)
    trimmed = frozenset(characters)
    return text[next((i for i, one in enumerate(text) if one not in trimmed), len(text)) :]


def rtrim(text: str, characters: str = _SPACES) -> str:
    """Return the text without these characters at its end."""
    if len(characters) <= _TRIMMED_BY_STRIP_MAX:
        return text.rstrip(characters)
    return ltrim(text[::-1], characters)[::-1]


def left(text: str, count: int) -> str:
    """Return the first characters; below 0 all but so many of the last."""
    return text[:count] if count >= 0 else text[: max(len(text) + count, 0)]


def right(text: str, count: int) -> str:
    """Return the last characters; below 0 all but so many of the first."""
    return text[max(len(text) - count, 0) :] if count >= 0 else text[-count:]


def substring(text: str, start: int, count: int | None = None) -> str:
    """Return `count` characters from `start` on, all where it is None.

    The first character is 1, the last one -1; 0 stands before the first. A count below 0 goes backwards.
    """
    first = start - 1 if start >= 0 else len(text) + start
    past = len(text) if count is None else first + count
    first, past = min(first, past), max(first, past)
    return text[max(first, 0) : max(past, 0)]


def replace(text: str, old: str, new: str) -> str | None:
    """Return the text with each `old` replaced, left to right; None where that is longer than a text may be."""
    if not old:
        return text
    found = text.count(old)
    if len(text) + found * (len(new) - len(old)) > STRING_BYTES_MAX:
        return None
    return text.replace(old, new)


def position(text: str, sought: str) -> int:
    """Return where the first fit of a text begins, counted from 1; 0 = nowhere."""
    return text.find(sought) + 1


def concat(columns: Sequence[Column], kind: ColumnType) -> Column:
    """Return the texts one behind the other, NULL as the empty one."""
    return computed([_without_null(column) for column in columns], kind, joined)


def joined(*texts: str) -> str:
    """Return the texts one behind the other."""
    return "".join(texts)


def _without_null(column: Column) -> Column:
    """Return a column of texts with the empty one in place of NULL."""
    if column.valid is None:
        return column
    texts, rows = used_texts(column)
    empty = texts.index("") if "" in texts else len(texts)
    codes = np.where(column.valid, rows, empty).astype(np.int32)
    return Column(column.type, codes, None, [*texts, ""] if empty == len(texts) else texts)
