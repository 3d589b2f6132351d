"""A client of answers that go on from a cursor: the rule that the protocol gives it, and nothing else."""

from typing import Any

import numpy as np

from psoup.engine.invocation.position.answer import NO_PART, Answer, RowIds, Since
from psoup.engine.invocation.shaped.grouping import NEVER_US

Shown = tuple[int | None, tuple[Any, ...]]
"""When a row leaves, and its values."""


def names(ids: RowIds) -> list[str]:
    """Return the ids of rows as they travel."""
    if ids.dtype.kind == "S":
        return [one.decode() for one in ids.tolist()]
    return [
        "-".join("" if part == NO_PART else str(part) for part in parts)
        for parts in zip(*np.atleast_2d(ids).tolist(), strict=True)
    ]


def told(answer: Answer) -> dict[str, Shown]:
    """Return the rows of a page by their ids."""
    ids = names(answer.tuple_ids if answer.row_ids is None else answer.row_ids)
    leaves_us: list[int | None] = [None] * len(ids)
    if answer.leaves_us is not None:
        leaves_us = [None if one == NEVER_US else one for one in answer.leaves_us.tolist()]
    values = list(zip(*(column.to_list() for _, column in answer.columns), strict=True))
    return {row_id: (leaves_us[i], values[i]) for i, row_id in enumerate(ids)}


class Client:
    """Rows, and the cursor to ask with. `position` is that of the last answer taken."""

    def __init__(self) -> None:
        self.rows: dict[str, Shown] = {}
        self.cursor: Since | None = None
        self.position: tuple[int, int, int] | None = None
        self.mistaken = False
        """The number of rows differed from that of the answer: the protocol has the client ask for all."""

    def take(self, answer: Answer, asked_with: Since | None, *, save_cursor: bool = True) -> None:
        """Take one page of an answer that was asked for with a cursor."""
        now_us = -(2**62) if answer.now_us is None else answer.now_us
        position = (answer.cut.gen, answer.cut.seq, now_us)
        mine = answer.reset and asked_with is self.cursor
        if self.position is not None and position < self.position and not mine:
            return
        if answer.reset:
            self.rows, self.cursor = {}, None
        if answer.keep is not None:
            kept = set(names(answer.keep))
            self.rows = {row_id: row for row_id, row in self.rows.items() if row_id in kept}
        for row_id in [] if answer.removed is None else names(answer.removed):
            self.rows.pop(row_id, None)
        self.rows |= told(answer)
        self.rows = {
            row_id: row for row_id, row in self.rows.items() if row[0] is None or row[0] > now_us
        }
        self.position = position
        if answer.next is None and save_cursor:
            self.cursor = answer.stands
            self.mistaken |= len(self.rows) != answer.count

    def forget_position(self) -> None:
        """Start anew from what is on disk: rows and a cursor, maybe an older one."""
        self.position = None
