"""Where an answer stood that a client has seen: what it waits from."""

from typing import NamedTuple

from psoup.engine.invocation.position.answer import Since
from psoup.engine.invoke import Answer
from psoup.engine.results.contract import Gen, Snapshot
from psoup.engine.tuples.batch import Seq

Place = tuple[Gen, Seq, int]
"""Generation, position and instant. Places of one query are in total order."""


class Standing(NamedTuple):
    """Where an answer stood.

    Attributes:
        seq: the position it was computed at, whether it had changed since an earlier one or not.
        since: from there on the engine can tell what has changed.
        alarm_us: the first instant of the server's clock at which the answer changes with no new data; None = there
            is none, or NOW is not that clock.
        enters: rows may enter at such an instant; else they only leave.
    """

    seq: Seq
    since: Since
    alarm_us: int | None = None
    enters: bool = False

    @property
    def place(self) -> Place:
        """Return the standing's place in the order of all standings of its query."""
        return self.since.gen, self.seq, self.since.now_us


def standing_of(answer: Answer) -> Standing:
    """Return where the client of `answer`, its first page, stands."""
    at, since = answer.at, answer.stands
    if at is not None:  # where it was looked at, not where it has changed last
        place = (at.gen, at.seq, at.now_us, at.parts)
        content = since.content if since is not None and answer.unchanged else answer.content
        since = Since(*place, answer.changes_us, answer.count, content)
    if since is None:
        raise ValueError("only the first page of an answer tells where its client stands")
    if not answer.ticks:
        return Standing(answer.cut.seq, since)
    return Standing(answer.cut.seq, since, answer.changes_us, answer.clock_brings)


def still_stands(snapshot: Snapshot, standing: Standing) -> bool:
    """Return whether nothing can have changed since `standing`: no rows, nothing dropped, no instant has come.

    False = the engine has to be asked. Cost: O(streams), a microsecond.
    """
    cut, since = snapshot.cut, standing.since
    if cut.gen != since.gen or since.seq < snapshot.query.defined_seq:
        return False
    if standing.alarm_us is not None and cut.server_now_us >= standing.alarm_us:
        return False
    return since.parts == tuple(
        [(one.rows, one.floor_row, one.floor_us) for one in snapshot.streams]
    )


def has_entered(answer: Answer) -> bool:
    """Return whether there is more to tell since an earlier answer than that rows have left."""
    told = answer.reset or answer.keep is not None or answer.removed is not None
    return told or answer.tuple_ids.shape[-1] > 0
