"""What the kernels that read JSON are given: arrays here, their addresses there."""

from collections.abc import Sequence
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels import json_rows
from psoup.engine.kernels.addresses import address
from psoup.engine.kernels.json_rows import Columns
from psoup.engine.kernels.json_values import PADDING, Bounds, Cells

_NEWLINE, _BRACE, _COMMA = ord("\n"), ord("{"), ord(",")


class Form(Enum):
    """How rows are written."""

    LINES = "one object per line"
    ARRAY = "one object, or an array of objects"
    COLUMNS = "one object of arrays"


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


def warm_up() -> int:
    """Call every kernel once; return how many there are."""
    columns = columns_of([b"a"], [0], [False], Bounds(0, 0, 0, 0))
    text, cells = text_of(b""), cells_for(1)
    for form in Form:
        read(text, form, columns, cells, room=1)
    json_rows.gather(text, cells.values, np.zeros(2, np.int32), np.zeros(0, np.uint8))
    return len(Form) + 1
