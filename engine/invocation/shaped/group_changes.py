"""The groups that may differ from those of an earlier position: the touched ones.

A group is touched by a row that arrived since, that retention has dropped while the window would still show it, now or
later, or that entered or left by the clock alone. Groups that are not have the rows they had, and say the same instant
at which the clock will change them. A client drops a group when that instant has come; so a group that is gone is told
by its id only where something else than the clock has taken it: a row that arrived, by HAVING, or retention.
Source: the executable model of the protocol, `delta_model_groups.py`.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.errors import AnswerTooLargeError, PageExpiredError
from psoup.engine.invocation.changes import Finder
from psoup.engine.invocation.position.answer import BEFORE_ALL_US, PagePosition, PartPosition, Since
from psoup.engine.invocation.position.continuing import may_have_forgotten
from psoup.engine.invocation.position.pinning import complete_from
from psoup.engine.results.contract import Snapshot
from psoup.engine.tuples.value_type import value_type

Rows = NDArray[np.int64]

FIRST_ROW: Final = 0


@value_type
class Touching:
    """The rows that touch groups, and what has become of them.

    Attributes:
        entered: of the visible rows, those that were not visible then.
        coming: those that have arrived since, and that the clock will bring.
        lost: those that were visible since, or to come, and are neither; None = not known, or most: every group counts
            as touched.
        forgotten: of these, or beside them, those that retention has dropped and the window would still show.
        floors: those of retention above which `lost` was looked for.
    """

    entered: Rows
    coming: Rows
    lost: Rows | None
    forgotten: Rows
    floors: tuple[PartPosition, ...]

    def is_nothing(self, since: Since) -> bool:
        """Return whether no group of the answer at `since` is touched, and none has come to it.

        Rows that are not known may be among those of groups; where that answer had none, it is empty as it was.
        """
        if self.lost is None and since.count:
            return False
        lost = self.entered[..., :0] if self.lost is None else self.lost
        some = (self.entered, self.coming, lost, self.forgotten)
        return not any(rows.shape[-1] for rows in some)


def touching(finder: Finder, snapshot: Snapshot, at: PagePosition, since: Since) -> Touching | None:
    """Return which rows touch groups since an earlier position; None = say everything.

    Everything too where more rows of a join entered, or are to come, than an answer may have: groups may be few.

    Raises:
        PageExpiredError: a later page needs rows that are not held any more.
        AnswerTooLargeError: so many rows entered or are to come, on a later page.
    """
    floors = _floors(snapshot, at, since)
    lost: Rows | None = None
    try:
        lost = finder.gone(since, floors)
    except (PageExpiredError, AnswerTooLargeError):
        if at.offset:
            raise PageExpiredError from None
    forgotten: Rows | None = finder.no_rows()
    if not at.offset and may_have_forgotten(at, since):  # only the first page tells of them
        forgotten = finder.forgotten(since)
    if forgotten is None:
        return None
    try:
        coming, _ = finder.coming()
        entered = finder.entered(since, by_clock=True)
    except AnswerTooLargeError:
        if at.offset:
            raise
        return None
    coming = coming[..., finder.arrived(coming, since)]
    return Touching(entered, coming, lost, forgotten, floors)


def since_nothing(at: PagePosition) -> Since:
    """Return a position before all others: since then every group is touched, on each page of the answer."""
    parts = tuple([part._replace(past_row=FIRST_ROW) for part in at.parts])
    return Since(at.gen, at.seq, BEFORE_ALL_US, parts, None, 0)


def _floors(snapshot: Snapshot, at: PagePosition, since: Since) -> tuple[PartPosition, ...]:
    """Return the floors of retention above which rows are that were visible since.

    They are those of now where retention has dropped nothing since that the windows showed then.
    """
    if at.offset:  # the first page has decided
        then = tuple([part.floor_row for part in since.parts])
        return since.parts if at.oldest_rows == then else at.parts
    floors = [(part.floor_row, part.floor_us) for part in at.parts]
    if floors == [(part.floor_row, part.floor_us) for part in since.parts]:
        return at.parts
    return at.parts if complete_from(snapshot, since.now_us) is None else since.parts
