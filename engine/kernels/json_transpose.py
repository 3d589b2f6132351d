"""Columns of JSON to rows of JSON: the values of arrays, one of each array in turn, and constants between them.

Values are not read, only told apart, eight bytes at a time: a text ends with its quote, any other value before
a comma or a bracket.
"""

from typing import Final

import numpy as np

from psoup.engine.kernels.addresses import byte, eight, put, put_eight, word
from psoup.engine.kernels.compiled import compiled, inlined, lowest
from psoup.engine.kernels.json_values import Memory

NULL: Final = b"null"
"""Written for NULL. The text begins with it, so that a NULL is copied like a value."""
SLACK: Final = 8
"""Bytes past the end of input and output that the kernel may read and write: it copies eight at once."""
COLUMN_WORDS: Final = 5
_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_EACH = 0x0101010101010101
_QUOTES, _BACKSLASHES = np.uint64(_EACH * _QUOTE), np.uint64(_EACH * _BACKSLASH)
_COMMAS, _BRACKETS = np.uint64(_EACH * ord(",")), np.uint64(_EACH * ord("]"))
_LOW = np.uint64(_EACH * 0x7F)


@inlined
def _either(text: Memory, at: int, one: np.uint64, other: np.uint64) -> int:
    """Return where, from `at` on, the first byte stands that is one or the other; each is given eight times."""
    while True:
        first, second = eight(text, at) ^ one, eight(text, at) ^ other
        # A byte's high bit stays clear where the byte is zero, and no byte carries into the next.
        first = ((first & _LOW) + _LOW) | first | _LOW
        second = ((second & _LOW) + _LOW) | second | _LOW
        found = ~(first & second)
        if found:
            return at + (lowest(found) >> 3)
        at += 8


@compiled
def _behind(text: Memory, at: int) -> int:
    """Return where the value that begins at `at` ends."""
    if byte(text, at) == _QUOTE:
        at = _either(text, at + 1, _QUOTES, _BACKSLASHES)
        while byte(text, at) == _BACKSLASH:
            at = _either(text, at + 2, _QUOTES, _BACKSLASHES)
        return at + 1
    return _either(text, at + 1, _COMMAS, _BRACKETS)


@inlined
def _copy(text: Memory, begin: int, end: int, out: Memory, at: int) -> int:
    """Copy a part of the text, and up to seven bytes more that the next part overwrites; return where it ends."""
    for place in range(begin, end, 8):
        put_eight(out, at + place - begin, eight(text, place))
    return at + end - begin


@compiled
def transpose(text: Memory, columns: Memory, width: int, rows: int, out: Memory) -> int:
    """Write rows of values with constants around them; return how many bytes that were.

    Args:
        text: address of NULL, of the constants, and of JSON arrays of `rows` numbers, booleans, texts without
            white space between them; with SLACK bytes behind it all.
        columns: address of (5 * width + 2,) int64. For each column: where the constant before its values
            begins and ends in the text, where its next value begins, which is written; how long each of its
            values is, or 0; and where its `rows` flags begin, 0 = NULL, or 0 where there are none. Then where
            the constant behind each row begins and ends.
        width: columns.
        rows: of each column.
        out: address of the bytes to be written, with room for all and SLACK.

    Cost: about 10 ns a value.
    """
    at = 0
    for row in range(rows):
        for column in range(0, COLUMN_WORDS * width, COLUMN_WORDS):
            at = _copy(text, word(columns, column), word(columns, column + 1), out, at)
            begin, length = word(columns, column + 2), word(columns, column + 3)
            end = begin + length if length else _behind(text, begin)
            put(columns, column + 2, end + 1)
            flags = word(columns, column + 4)
            if flags and not byte(text, flags + row):
                begin, end = 0, 4
            at = _copy(text, begin, end, out, at)
        behind = COLUMN_WORDS * width
        at = _copy(text, word(columns, behind), word(columns, behind + 1), out, at)
    return at
