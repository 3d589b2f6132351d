"""What the kernels that read JSON are given: arrays here, their addresses there."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels import json_rows
from psoup.engine.kernels.addresses import address
from psoup.engine.kernels.json_rows import Columns
from psoup.engine.kernels.json_values import PADDING, Bounds, Cells

_NEWLINE, _BRACE, _COMMA = b"\n{,"
_WORD_BYTES = 8
FEW_ROWS_MAX = 64
"""Of a small body: more are read sooner with arrays than by Python code that looks at each cell."""


class Form(Enum):
    """How rows are written."""

    LINES = "one object per line"
    ARRAY = "one object, or an array of objects"
    COLUMNS = "one object of arrays"


class FewCells(NamedTuple):
    """The cells of a small body, all in one piece of memory.

    Attributes:
        rows: how many, or -1 where they are not read, as where there may be more than FEW_ROWS_MAX.
        room: cells of each column, one column behind the other.
        memory: the cells' values, 8 bytes each; behind them what only the kernel needs.
        states: (columns * room,) of the cells.
    """

    rows: int
    room: int
    memory: bytearray
    states: bytearray


def columns_of(
    names: Sequence[bytes], kinds: Sequence[int], nullable: Sequence[bool], bounds: Bounds
) -> Columns:
    """Return columns as arrays, of which no member was met yet: expected are all of them, in their order."""
    return Columns(
        names=np.frombuffer(b"".join(names), np.uint8),
        name_at=np.cumsum([0, *map(len, names)], dtype=np.int64),
        kinds=np.array(kinds, np.int64),
        nullable=np.array(nullable, np.int64),
        follows=np.array([*range(1, len(names)), 0, 0], np.int64),
        given=np.full(len(names), -1, np.int64),
        width=len(names),
        bounds=bounds,
    )


def text_of(body: bytes) -> NDArray[np.uint8]:
    """Return the body's bytes with PADDING zeros behind them."""
    return np.frombuffer(body + bytes(PADDING), np.uint8)


def room_for(text: NDArray[np.uint8], form: Form) -> int:
    """Return a number that a text's rows do not exceed; of columns, one that all values together do not."""
    mark = {Form.LINES: _NEWLINE, Form.ARRAY: _BRACE, Form.COLUMNS: _COMMA}[form]
    return int(np.count_nonzero(text == mark)) + 1


def cells_for(values: int) -> Cells:
    """Return room for so many values, as arrays, NULL all of them."""
    held = np.zeros(values, np.int64)
    return Cells(held, held.view(np.float64), np.zeros(values, np.uint8))


def read(
    text: NDArray[np.uint8], form: Form, columns: Columns, cells: Cells, *, room: int
) -> tuple[int, Sequence[int]]:
    """Return the number of rows, or -1 where they are not read, and where in `cells` each column begins, -1 = nowhere.

    Args:
        text: as `text_of` makes it.
        form: how the rows are written.
        columns: arrays; what is remembered of members is not written.
        cells: arrays, written; room for as many values as `room` means.
        room: as `room_for` tells it.
    """
    begins = np.full(columns.width, -1, np.int64)
    follows, given = columns.follows.copy(), np.full(columns.width, -1, np.int64)
    lent = Columns(
        address(columns.names),
        address(columns.name_at),
        address(columns.kinds),
        address(columns.nullable),
        address(follows),
        address(given),
        columns.width,
        columns.bounds,
    )
    into = Cells(address(cells.values), address(cells.floats), address(cells.states))
    length = len(text) - PADDING
    if form is Form.COLUMNS:
        rows = json_rows.by_column(address(text), length, lent, into, address(begins))
        return rows, begins.tolist()
    kernel = json_rows.lines if form is Form.LINES else json_rows.array
    return kernel(address(text), length, lent, into, room), range(0, room * columns.width, room)


class FewReader:
    """Reads small bodies into the columns of one stream. Any thread may use it.

    The cells are those that `read` makes, in one piece of memory, and nothing but numbers is handed to the kernel: to
    make arrays, to ask for their addresses, and to hand tuples over takes longer than to read a row.
    """

    def __init__(self, columns: Columns) -> None:
        """Take arrays; what is remembered of members is not written."""
        self._held = columns
        self._width = columns.width
        self._met = columns.follows.tobytes() + columns.given.tobytes()
        self._given_from = columns.follows.nbytes
        self._declared = (
            address(columns.names),
            address(columns.name_at),
            address(columns.kinds),
            address(columns.nullable),
        )

    def read(self, body: bytes, form: Form) -> FewCells:
        """Return the cells of a body of UTF-8 whose rows are written one by one, in a form that is not COLUMNS."""
        is_lines, width = form is Form.LINES, self._width
        room = body.count(_NEWLINE) + 1 if is_lines else body.count(_BRACE)
        if room > FEW_ROWS_MAX:
            return FewCells(-1, room, bytearray(), bytearray())
        follows = _WORD_BYTES * room * width
        given = follows + self._given_from
        states = follows + len(self._met)
        text = states + room * width
        memory = bytearray(text + len(body) + PADDING)
        memory[follows:states] = self._met
        memory[text : text + len(body)] = body
        at = address(memory)
        rows = json_rows.few(
            is_lines,
            at + text,
            len(body),
            *self._declared,
            at + follows,
            at + given,
            width,
            *self._held.bounds,
            at,
            at,
            at + states,
            room,
        )
        return FewCells(rows, room, memory, memory[states:text])


def warm_up() -> int:
    """Call every kernel once; return how many there are."""
    columns = columns_of([b"a"], [0], [False], Bounds(0, 0, 0, 0))
    text, cells = text_of(b""), cells_for(1)
    for form in Form:
        read(text, form, columns, cells, room=1)
    FewReader(columns).read(b"", Form.LINES)
    json_rows.gather(text, cells.values, np.zeros(2, np.int32), np.zeros(0, np.uint8))
    return len(Form) + 2
