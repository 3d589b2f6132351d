"""Streams: their tuples in order of arrival, what retention keeps, and when windows show each tuple."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from conformance.windows import EVER, Hops, Window


@dataclass
class Row:
    """One tuple of a stream. `dropped` is the position at which retention let it go."""

    number: int
    time: int
    k: int
    v: int
    entered: int
    dropped: int = EVER


@dataclass
class Stream:
    """A stream's tuples in their order of arrival, and what retention keeps of them."""

    keep_rows: int | None = None
    keep_us: int | None = None
    rows: list[Row] = field(default_factory=list)
    newest: int | None = None

    def append(self, position: int, rows: list[tuple[int, int, int]]) -> list[Row]:
        """Append tuples of (time, k, v) at a position; drop what retention keeps no more."""
        added = []
        for time, k, v in rows:
            added.append(Row(len(self.rows) + 1, time, k, v, position))
            self.rows.append(added[-1])
            self.newest = time if self.newest is None else max(self.newest, time)
        for row in self.rows:
            too_many = self.keep_rows is not None and row.number <= len(self.rows) - self.keep_rows
            too_old = self.keep_us is not None and row.time < (self.newest or 0) - self.keep_us
            if row.dropped == EVER and (too_many or too_old):
                row.dropped = position
        return added

    def at(self, position: int) -> list[Row]:
        """Return the tuples that the stream holds at a position."""
        return [row for row in self.rows if row.entered <= position < row.dropped]


class Newest(NamedTuple):
    """A row window: of what BEGIN-END shows the newest `rows`, of the stream or of each key."""

    rows: int
    by_key: bool = False

    def sql(self) -> str:
        """Return it as SQL writes it."""
        return f" [{'PARTITION BY k ' if self.by_key else ''}ROWS {self.rows}]"


class Stretch(NamedTuple):
    """A tuple, and the instants `[enters, leaves)` at which the windows of its stream show it."""

    row: Row
    enters: int
    leaves: int


def stretches(
    rows: Sequence[Row], window: Window, hops: Hops | None, newest: Newest | None
) -> list[Stretch]:
    """Return when each tuple of a stream is shown; those that never are have none.

    Tuples enter in the order of their times, and leave in it: one is among the newest n until n later have entered.
    """
    shown = []
    for row in rows:
        span = window.shown(row.time)
        if span is not None and hops is not None:
            span = hops.next(span[0]), hops.next(span[1])
        if span is not None and span[0] < span[1]:
            shown.append(Stretch(row, *span))
    if newest is None:
        return shown
    found = []
    later: dict[int | None, list[int]] = {}
    for row, enters, leaves in sorted(shown, key=lambda one: (-one.row.time, -one.row.number)):
        instants = later.setdefault(row.k if newest.by_key else None, [])
        if len(instants) >= newest.rows:
            leaves = min(leaves, instants[-newest.rows])  # noqa: PLW2901
        instants.append(enters)
        if enters < leaves:
            found.append(Stretch(row, enters, leaves))
    return found


def uncovered(stretch: Stretch, others: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the parts of a stretch in which none of the others holds, in their order."""
    found, begins = [], stretch.enters
    for enters, leaves in sorted(others):
        if begins < min(enters, stretch.leaves):
            found.append((begins, min(enters, stretch.leaves)))
        begins = max(begins, leaves)
    return [*found, (begins, stretch.leaves)] if begins < stretch.leaves else found
