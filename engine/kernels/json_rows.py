"""Rows of JSON, read from the bytes of a body straight into columns, where they are written plainly.

Plain are objects, or arrays, of the columns' values as `json_values` reads them, whose members are columns of the
stream, each at most once, with no escape in a name. Of any other body, be it wrong or only rare, -1 is said and nothing
else: what it is takes a reader that knows all of JSON.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.addresses import byte, put, word
from psoup.engine.kernels.compiled import brief, compiled
from psoup.engine.kernels.json_values import SPAN_BITS, Bounds, Cells, Memory, blank, null, value

_NEWLINE, _SPACE, _QUOTE, _COLON, _COMMA, _N = (
    ord("\n"),
    ord(" "),
    ord('"'),
    ord(":"),
    ord(","),
    ord("n"),
)
_OPEN_BRACE, _CLOSE_BRACE, _OPEN, _CLOSE = ord("{"), ord("}"), ord("["), ord("]")


class Columns(NamedTuple):
    """The c columns of a stream, and what is remembered of the members met. Addresses among kernels, as in `Cells`.

    Attributes:
        names: uint8, the names' bytes, one behind the other; without quotes and backslashes.
        name_at: (c + 1,) int64, where each begins.
        kinds: (c,) int64, types as `json_values` numbers them.
        nullable: (c,) int64, whether NULL is allowed.
        follows: (c + 1,) int64, the column met behind each one the last time, the first at the end. Written.
        given: (c,) int64, the last row that had the column, or -1. Written.
        width: c.
        bounds: of values.
    """

    names: Any
    name_at: Any
    kinds: Any
    nullable: Any
    follows: Any
    given: Any
    width: int
    bounds: Bounds


@compiled
def _name(text: Memory, at: int, columns: Columns, before: int) -> tuple[int, int]:
    """Return the column that the name at `at` is of, or -1, and where the name ends; `before` = the column before."""
    column = word(columns.follows, before)
    if byte(text, at) != _QUOTE:
        return -1, at
    for _ in range(columns.width):
        first = word(columns.name_at, column)
        length, same = word(columns.name_at, column + 1) - first, 0
        while same < length and byte(text, at + 1 + same) == byte(columns.names, first + same):
            same += 1
        if same == length and byte(text, at + 1 + same) == _QUOTE:
            put(columns.follows, before, column)
            return column, at + length + 2
        column = column + 1 if column + 1 < columns.width else 0
    return -1, at


@compiled
def _member(text: Memory, at: int, newline: int, columns: Columns, before: int) -> tuple[int, int]:
    """Return the column of the member that begins at `at`, or -1, and where its value begins."""
    column, past = _name(text, at, columns, before)
    past = blank(text, past, newline)
    if column < 0 or byte(text, past) != _COLON:
        return -1, at
    return column, blank(text, past + 1, newline)


@compiled
def _cell(text: Memory, at: int, column: int, columns: Columns, cells: Cells, place: int) -> int:
    """Read a value or `null` of the column; return where it ends, or -1."""
    if byte(text, at) == _N:
        return null(text, at) if word(columns.nullable, column) else -1
    return value(text, at, word(columns.kinds, column), columns.bounds, cells, place)


@compiled
def _row(
    text: Memory, at: int, newline: int, columns: Columns, cells: Cells, room: int, row: int
) -> int:
    """Read the object that begins at `at`; return where it ends, or -1."""
    if byte(text, at) != _OPEN_BRACE:
        return -1
    at = blank(text, at + 1, newline)
    before, members = columns.width, 0
    more = byte(text, at) != _CLOSE_BRACE
    while more:
        column, at = _member(text, at, newline, columns, before)
        if column < 0 or word(columns.given, column) == row:
            return -1
        at = _cell(text, at, column, columns, cells, column * room + row)
        if at < 0:
            return -1
        put(columns.given, column, row)
        before, members = column, members + 1
        at = blank(text, at, newline)
        more = byte(text, at) == _COMMA
        if more:
            at = blank(text, at + 1, newline)
    if byte(text, at) != _CLOSE_BRACE:
        return -1
    if members < columns.width:
        for column in range(columns.width):
            if word(columns.given, column) != row and not word(columns.nullable, column):
                return -1
    return at + 1


@compiled
def lines(text: Memory, length: int, columns: Columns, cells: Cells, room: int) -> int:
    """Read one object per line; lines of white space are passed over.

    Args:
        text: (length + PADDING,) uint8, the body and zeros behind it.
        length: of the body, bytes.
        columns: the columns; `follows` and `given` are written.
        cells: (c * room,) zeros; cell `column * room + row` is written, where there is a value.
        room: as many rows as there could be.

    Returns:
        The number of rows, or -1.

    Cost: about 2 ns a byte.
    """
    at = rows = 0
    while True:
        at = blank(text, at, _NEWLINE)
        if at == length:
            return rows
        at = _row(text, at, _SPACE, columns, cells, room, rows)
        if at < 0:
            return -1
        rows += 1
        at = blank(text, at, _SPACE)
        if at < length and byte(text, at) != _NEWLINE:
            return -1


@compiled
def array(text: Memory, length: int, columns: Columns, cells: Cells, room: int) -> int:
    """Read one object, or an array of objects; arguments, result and cost as those of `lines`."""
    at, rows = blank(text, 0, _NEWLINE), 0
    many = byte(text, at) == _OPEN
    if many:
        at = blank(text, at + 1, _NEWLINE)
    more = not (many and byte(text, at) == _CLOSE)
    while more:
        at = _row(text, at, _NEWLINE, columns, cells, room, rows)
        if at < 0:
            return -1
        rows += 1
        at = blank(text, at, _NEWLINE)
        more = many and byte(text, at) == _COMMA
        if more:
            at = blank(text, at + 1, _NEWLINE)
    if many:
        if byte(text, at) != _CLOSE:
            return -1
        at = blank(text, at + 1, _NEWLINE)
    return rows if at == length else -1


@brief
def few(
    is_lines: bool,  # noqa: FBT001 (compiled functions take no keywords)
    text: Memory,
    length: int,
    names: Memory,
    name_at: Memory,
    kinds: Memory,
    nullable: Memory,
    follows: Memory,
    given: Memory,
    width: int,
    number_length: int,
    text_bytes: int,
    earliest_us: int,
    latest_us: int,
    values: Memory,
    floats: Memory,
    states: Memory,
    room: int,
) -> int:
    """Read by `lines` or by `array`, whose arguments are given one by one.

    Tuples take longer to hand over than a row takes to read.
    """
    bounds = Bounds(number_length, text_bytes, earliest_us, latest_us)
    columns = Columns(names, name_at, kinds, nullable, follows, given, width, bounds)
    cells = Cells(values, floats, states)
    if is_lines:
        return lines(text, length, columns, cells, room)
    return array(text, length, columns, cells, room)


@compiled
def by_column(text: Memory, length: int, columns: Columns, cells: Cells, begins: Memory) -> int:
    """Read one object whose members are columns, each an array of values, all of one length.

    Args:
        text: (length + PADDING,) uint8, the body and zeros behind it.
        length: of the body, bytes.
        columns: the columns; `follows` is written.
        cells: (k,) zeros, for as many values as there could be.
        begins: (c,) int64, filled with -1; written: the cell of each column's first value.

    Returns:
        The number of rows, or -1. A column that is left out keeps its -1.

    Cost: about 2 ns a byte.
    """
    at = blank(text, 0, _NEWLINE)
    if byte(text, at) != _OPEN_BRACE:
        return -1
    at = blank(text, at + 1, _NEWLINE)
    before, rows, first = columns.width, -1, 0
    more = byte(text, at) != _CLOSE_BRACE
    while more:
        column, at = _member(text, at, _NEWLINE, columns, before)
        if column < 0 or word(begins, column) >= 0:
            return -1
        at, past = _values(text, at, column, columns, cells, first)
        if at < 0 or (rows >= 0 and past - first != rows):
            return -1
        put(begins, column, first)
        rows, first, before = past - first, past, column
        at = blank(text, at, _NEWLINE)
        more = byte(text, at) == _COMMA
        if more:
            at = blank(text, at + 1, _NEWLINE)
    if byte(text, at) != _CLOSE_BRACE or blank(text, at + 1, _NEWLINE) != length:
        return -1
    for column in range(columns.width):
        if word(begins, column) < 0 and not word(columns.nullable, column):
            return -1
    return max(rows, 0)


@compiled
def _values(
    text: Memory, at: int, column: int, columns: Columns, cells: Cells, first: int
) -> tuple[int, int]:
    """Read the array at `at` into the cells from `first` on; return where it ends, or -1, and where its cells do."""
    if byte(text, at) != _OPEN:
        return -1, first
    at, place = blank(text, at + 1, _NEWLINE), first
    more = byte(text, at) != _CLOSE
    while more:
        at = _cell(text, at, column, columns, cells, place)
        if at < 0:
            return -1, place
        place += 1
        at = blank(text, at, _NEWLINE)
        more = byte(text, at) == _COMMA
        if more:
            at = blank(text, at + 1, _NEWLINE)
    return (at + 1 if byte(text, at) == _CLOSE else -1), place


@compiled
def gather(
    body: NDArray[np.uint8],
    spans: NDArray[np.int64],
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
) -> None:
    """Copy the bytes of each span to where its offset says.

    Args:
        body: what the spans are of.
        spans: (n,) as `json_values.string` makes them; 0 = no bytes.
        offsets: (n + 1,) where each begins in `data`.
        data: written.
    """
    for i in range(len(spans)):
        begin, into = spans[i] >> SPAN_BITS, offsets[i]
        for j in range(offsets[i + 1] - into):
            data[into + j] = body[begin + j]
