"""What has changed since an earlier position: the rows that entered, and those that retention has dropped.

A row entered where one of its tuples arrived since, or where the clock alone has brought it into the window:
    entered(row) <=> visible(row) and (m > S0 or in > T0)
where S0, T0 are the position and the instant that the client stands at, m is the position at which the row became a
match, and `in` the instant at which the window begins to show it. Rows that the clock takes out of the window need no
word: every row says when it leaves. What retention drops earlier is told by its ids, where it is held still and does
not take more room than a page; else by the ids of what stayed; else the answer is a full one.

A row of DISTINCT stands for all that are equal. It is told anew where one of these entered or was dropped: then it may
leave at another instant.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import Tuples
from psoup.engine.errors import PageExpiredError
from psoup.engine.invocation.cache import Order, Whole
from psoup.engine.invocation.distinct import groups_of, last_leaving
from psoup.engine.invocation.position.answer import PagePosition, PartPosition, Since
from psoup.engine.invocation.position.continuing import is_quiet, may_have_forgotten
from psoup.engine.invocation.position.pinning import earliest
from psoup.engine.invocation.row_digest import digests
from psoup.engine.query.reading import Names
from psoup.engine.tuples.batch import Column

Rows = NDArray[np.int64]


class RowsToShape(Protocol):
    """The rows of one query at a position: (m,) numbers, or (n, m) of the parts of a join of n streams."""

    def no_rows(self) -> Rows:
        """Return none."""
        ...

    def visible(self) -> Rows:
        """Return the visible rows, in the order of answers."""
        ...

    def enters_us(self) -> int | None:
        """Return the first instant at which the clock brings a row that is not visible yet; None = at none."""
        ...

    def coming(self) -> tuple[Rows, Rows]:
        """Return the rows that the clock brings though nothing arrives, and the instants at which they enter."""
        ...

    def leaves(self, rows: Rows) -> Rows | None:
        """Return the instants at which rows leave; None = they never do."""
        ...

    def ids(self, rows: Rows) -> Rows:
        """Return the tuple ids of rows, shaped as they are."""
        ...

    def values(self, rows: Rows) -> Sequence[Column]:
        """Return the select list computed for rows."""
        ...

    def tuples(self, rows: Rows, names: Names) -> Sequence[Tuples]:
        """Return the tuples of rows, by source, with these columns of each."""
        ...


class Finder(RowsToShape, Protocol):
    """The same, and the rows that differ from those of an earlier position."""

    def entered(self, since: Since, *, by_clock: bool) -> Rows:
        """Return the visible rows that were not visible at an earlier position, in the order of answers.

        `by_clock` False: the clock alone is known to have brought none.
        """
        ...

    def have_entered(self, rows: Rows, since: Since) -> NDArray[np.bool_]:
        """Return which of visible rows were not visible at an earlier position."""
        ...

    def counted(self, since: Since) -> tuple[Rows, int, int | None]:
        """Return what entered since, the number of all visible rows, and when the first of them leaves."""
        ...

    def forgotten(self, since: Since) -> Rows | None:
        """Return the rows that retention has dropped since, and the windows would show; None = it is not known.

        Rows that became matches after `since` are among them: a client may have rows of a later answer than the one
        whose cursor it has kept.
        """
        ...

    def enters_us(  # type: ignore[explicit-override]  # typing has override from Python 3.12 on
        self, since: Since | None = None
    ) -> int | None:
        """Return the first instant at which the clock brings a row that is not visible yet; None = at none.

        Args:
            since: only rows count that became matches after this position.
        """
        ...

    def gone(self, since: Since, floors: Sequence[PartPosition]) -> Rows | None:
        """Return the rows that were visible since an earlier position, or to come, and are neither; None = most are.

        Args:
            since: the earlier position.
            floors: those of retention above which rows are looked for, one for each source.

        Raises:
            PageExpiredError: one of them is not held any more.
            AnswerTooLargeError: they are too many to be looked at.
        """
        ...

    def arrived(self, rows: Rows, since: Since) -> NDArray[np.bool_]:
        """Return which of some rows became matches after an earlier position."""
        ...


def changed(
    finder: Finder, at: PagePosition, since: Since, *, limit: int, distinct: bool
) -> Order | None:
    """Return what an answer tells that goes on from `since`; None = it has to be a full one.

    Args:
        finder: of the position `at`.
        at: the position. The first page of the answer tells what is forgotten, and it alone.
        since: where the client stands.
        limit: the most ids of rows to be forgotten, or kept.
        distinct: whether of equal rows one is shown.

    Raises:
        PageExpiredError: a row that is needed is not held any more.

    Cost: that of `entered` where the clock has changed nothing, and retention has dropped nothing; else that of
        `counted`. DISTINCT costs as much as the full answer where anything changed.
    """
    forgotten: Rows | None = None
    if not may_have_forgotten(at, since):
        forgotten = finder.no_rows()
    elif distinct or not at.offset:
        forgotten = finder.forgotten(since)
    if is_quiet(at, since) and forgotten is not None and not forgotten.shape[-1]:
        rows = finder.entered(since, by_clock=False)
        changes_us = earliest(since.changes_us, finder.enters_us(since))
        if not rows.shape[-1]:
            state = ("unchanged", since.gen, since.seq, since.now_us)
            return _order(at, rows, Whole(since.count, changes_us, state, unchanged=True))
        if not distinct:
            changes_us = earliest(changes_us, first_of(finder.leaves(rows)))
            return _order(at, rows, _whole(at, since.count + rows.shape[-1], changes_us))
    if distinct:
        return _changed_groups(finder, at, since, forgotten)
    rows, count, leaves_us = finder.counted(since)
    whole = _whole(at, count, earliest(finder.enters_us(), leaves_us))
    if at.offset:
        return _order(at, rows, whole)
    if forgotten is not None and forgotten.shape[-1] <= limit:
        removed = finder.ids(forgotten) if forgotten.shape[-1] else None
        return _order(at, rows, replace(whole, removed=removed))
    if count - rows.shape[-1] > limit:
        return None
    visible = finder.visible()
    stayed = visible[..., ~finder.have_entered(visible, since)]
    return _order(at, rows, replace(whole, keep=finder.ids(stayed)))


def _changed_groups(
    finder: Finder, at: PagePosition, since: Since, forgotten: Rows | None
) -> Order | None:
    """Return the rows of DISTINCT among whose equals one has entered or was dropped; None = say everything."""
    if forgotten is None:
        if at.offset:
            raise PageExpiredError
        return None
    rows = finder.visible()
    count = rows.shape[-1]
    values = finder.values(np.concatenate((rows, forgotten), axis=-1))
    group, first = groups_of(values, count + forgotten.shape[-1])
    of_rows = group[:count]
    touched = np.zeros(len(first), dtype=np.bool_)
    touched[group[count:]] = True
    touched[of_rows[finder.have_entered(rows, since)]] = True
    gone = touched & (first >= count)
    shown = int(
        np.count_nonzero(first < count)
    )  # their first rows lie before those that were dropped
    told = np.flatnonzero(touched[:shown])
    leaves_us, last = finder.leaves(rows), None
    changes_us = finder.enters_us()
    if leaves_us is not None:
        every = last_leaving(of_rows, leaves_us, shown)
        last = rows.take(every[told], axis=-1)
        changes_us = earliest(changes_us, first_of(leaves_us[every]))
    whole = _whole(at, shown, changes_us)
    if gone.any():
        whole = replace(whole, removed=digests([column.take(first[gone]) for column in values]))
    order = _order(at, rows.take(first[told], axis=-1), whole, last)
    if not forgotten.shape[-1]:
        return order
    return replace(order, oldest_rows=tuple([part.floor_row for part in since.parts]))


def first_of(instants: Rows | None) -> int | None:
    """Return the smallest of the instants, if there are any."""
    return int(instants.min()) if instants is not None and len(instants) else None


def _whole(at: PagePosition, count: int, changes_us: int | None) -> Whole:
    return Whole(count, changes_us, ("changed", at.gen, at.seq, at.now_us))


def _order(at: PagePosition, rows: Rows, whole: Whole, last: Rows | None = None) -> Order:
    return Order(rows, tuple([part.floor_row for part in at.parts]), whole, last)
