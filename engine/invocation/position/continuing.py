"""Where a client stands: whether an answer can go on from there, and whether it ever has to again."""

from psoup.engine.invocation.position.answer import BEFORE_ALL_US, PagePosition, PartPosition, Since
from psoup.engine.query.window import windows_of
from psoup.engine.results.contract import Snapshot


def continues(snapshot: Snapshot, now_us: int, since: Since) -> bool:
    """Return whether an answer at the snapshot and an instant can say what has changed since.

    It cannot where `since` is of another history, or ahead of the answer: of a worker that is further, of a clock
    that was set back since, of a store of which an older copy was restored. Nor where the query has had another
    definition then.
    """
    cut, streams = snapshot.cut, snapshot.streams
    if since.gen != cut.gen or since.seq > cut.seq or since.now_us > now_us:
        return False
    if since.seq < snapshot.query.defined_seq:
        return False
    return len(since.parts) == len(streams) and all(
        part.past_row <= stream.rows
        and part.floor_row <= stream.floor_row
        and (part.floor_us is None or _reached(part.floor_us, stream.floor_us))
        for part, stream in zip(since.parts, streams, strict=True)
    )


def is_quiet(at: PagePosition, since: Since) -> bool:
    """Return whether the clock alone has changed nothing since."""
    return since.changes_us is None or at.now_us < since.changes_us


def may_have_forgotten(at: PagePosition, since: Since) -> bool:
    """Return whether retention may have dropped tuples since that the windows of an answer still show."""
    if at.complete_from_us is None:
        return False
    return any(
        (now.floor_row, now.floor_us) != (then.floor_row, then.floor_us)
        for now, then in zip(at.parts, since.parts, strict=True)
    )


def before_all(snapshot: Snapshot) -> Since:
    """Return where a client stands whose query has no tuple to tell NOW by."""
    cut = snapshot.cut
    parts = tuple([PartPosition(one.rows, one.floor_row, one.floor_us) for one in snapshot.streams])
    return Since(cut.gen, cut.seq, BEFORE_ALL_US, parts, None, 0)


def is_complete(snapshot: Snapshot, at: PagePosition, *, left_join: bool) -> bool:
    """Return whether the answer at a position, of a LEFT JOIN or not, is what its windows will ever hold.

    Two things alone promise that. Either time has passed the END of every stream, which is constant, and tuples are
    dated by their arrival: the log has given a time past END, and those times never decrease. Or retention has passed
    the END of one of them: what is dated up to there is dropped, and so is what arrives. (Of the last stream of a
    LEFT JOIN that promises nothing: rows beside NULLs may still come.) A stream that dates tuples by a column may get
    one that is late by any time, until retention has passed it.

    Retention may still drop rows of a complete answer later. They were in the window all the same: an answer that
    holds them stays right, and a later one tells by `complete_from_us` that it holds less.
    """
    query, streams = snapshot.query, snapshot.streams
    if not query.window.is_fixed:  # RANGE slides as well
        return False
    closed = at.complete_from_us is None
    windows, last = windows_of(query.window, query.ranges, len(streams)), len(streams) - 1
    for place, (stream, window, part) in enumerate(zip(streams, windows, at.parts, strict=True)):
        if window.end is None or window.end.moving:
            closed = False
            continue
        end_us = window.end.us
        if (
            part.floor_us is not None
            and part.floor_us > end_us
            and not (left_join and place == last)
        ):
            return True
        closed &= (
            stream.schema.time is None
            and min(snapshot.cut.arrival_us, at.now_us) > end_us
            and stream.rows == part.past_row  # the arrival may be of a tuple behind the position
        )
    return closed


def _reached(earlier_us: int, now_us: int | None) -> bool:
    return now_us is not None and earlier_us <= now_us
