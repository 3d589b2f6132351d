"""What is asked of a query at an invocation, and what it answers."""

from collections.abc import Hashable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.invocation.position.arrivals import arrivals_us, ticks
from psoup.engine.limits import TIMESTAMP_US_MIN
from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.results.contract import Cut, Gen, Snapshot
from psoup.engine.results.delta import QueryRecord
from psoup.engine.tuples.batch import Column, Seq
from psoup.engine.tuples.value_type import value_type

RowIds = NDArray[np.int64] | NDArray[np.bytes_]

NO_PART: Final = -1
"""Stands for the row number and for the tuple id of a part that a row of LEFT JOIN lacks."""
BEFORE_ALL_US: Final = TIMESTAMP_US_MIN - 1
"""An instant before those of all tuples."""


class PartPosition(NamedTuple):
    """One stream of FROM at the position of an answer. Hashed and compared without a call of Python.

    Attributes:
        past_row: rows of the stream at that position.
        floor_row, floor_us: retention's floors at that position.
    """

    past_row: int
    floor_row: int
    floor_us: int | None


@value_type
class Since:
    """Where a client stands: what a cursor holds, and from where the next answer goes on.

    Attributes:
        gen, seq, now_us: the position and the instant of the answer that the client has. BEFORE_ALL_US where its
            streams had no tuple to tell NOW by.
        parts: the streams of FROM at that position.
        changes_us: the first instant after `now_us` at which the clock alone changes that answer; None = it never
            does.
        count: rows of that answer.
        content: a digest of that answer where it is sent whole or not at all; else b"".
    """

    gen: Gen
    seq: Seq
    now_us: int
    parts: tuple[PartPosition, ...]
    changes_us: int | None
    count: int
    content: bytes = b""


@value_type
class PagePosition:
    """Where a page begins, and which answer it belongs to: what a page token holds.

    Attributes:
        gen, seq, now_us: the position and the instant of the answer.
        parts: its streams, in FROM order.
        complete_from_us: as in the answer.
        oldest_rows: for each of them the smallest row number in the answer, or a smaller one: once it is dropped,
            so is the answer.
        offset: rows of the answer before this page.
        since: of an answer that says what has changed: since when. None = it is a full answer.
    """

    gen: Gen
    seq: Seq
    now_us: int
    parts: tuple[PartPosition, ...]
    complete_from_us: int | None
    oldest_rows: tuple[int, ...]
    offset: int = 0
    since: Since | None = None

    def behind(self, offset: int, oldest_rows: tuple[int, ...]) -> "PagePosition":
        """Return the position in the same answer behind `offset` rows. Faster than `replace`."""
        return PagePosition(
            self.gen,
            self.seq,
            self.now_us,
            self.parts,
            self.complete_from_us,
            oldest_rows,
            offset,
            self.since,
        )

    def whole(self) -> "PagePosition":
        """Return the position of the answer that the page belongs to: one for all of its pages."""
        if not self.offset and not any(self.oldest_rows):
            return self
        return self.behind(0, (0,) * len(self.parts))

    def full(self) -> "PagePosition":
        """Return the first page of the full answer at this position."""
        return PagePosition(
            self.gen,
            self.seq,
            self.now_us,
            self.parts,
            self.complete_from_us,
            (0,) * len(self.parts),
        )

    def first_row(self, source: int) -> int:
        """Return the first row of a source that may be in the answer."""
        return max(self.oldest_rows[source], self.parts[source].floor_row)


@value_type
class Request:
    """What is asked of a query.

    Attributes:
        limit: rows of a page at most; at least 1.
        now_us: the instant asked about; None = NOW. Ignored where there is a `position`.
        position: the page to continue with; None = the first page of a new answer.
        min_seq: do not answer from before this position.
        count_only: the count and the rest of the answer, but no rows.
        since: what has changed since then is asked for; None = everything visible. Ignored where there is a
            `position`, which has its own, and where `now_us` or `seq` is asked for.
        seq: answer as of this position: by the tuples there were, at the NOW of then or at `now_us`; None = the
            latest. Ignored where there is a `position`.
    """

    limit: int
    now_us: int | None = None
    position: PagePosition | None = None
    min_seq: Seq | None = None
    count_only: bool = False
    since: Since | None = None
    seq: Seq | None = None


@value_type
class Answer:
    """One page of an answer.

    A full answer holds everything visible. One since an earlier position holds the rows that became visible after
    it; what else the client has stays as it is, but for rows whose `leaves_us` has come, and for `removed` or what
    is not in `keep`. Row ids in these two are tuple ids, digests where there are `row_ids`.

    Attributes:
        cut: the position answered from; for a later page that of the first.
        query: the query asked.
        now_us: the instant; None where NOW is a high-water mark and there is no tuple yet.
        begin_us, end_us: the window at that instant, both inclusive; None = open.
        count: rows of the whole answer; everything visible, also where only changes were asked for.
        complete_from_us: None if the window lies inside retention, else the time from which it does.
        columns: name and values of each output; () for a count.
        tuple_ids: (n,) the rows' tuple ids; (p, n) those of the parts, in FROM order, of a join of p streams,
            NO_PART where a row of LEFT JOIN has none. Of groups, which are of many tuples, (n,) zeros.
        leaves_us: (n,) the instants at which they leave the window, or the clock changes a group next; None = they
            never do, as is an instant that cannot be written.
        at: the position of this page; None where `now_us` is.
        next: the position of the next page; None = there is none.
        reset: whether the client forgets its rows and its cursor before it takes these: on the first page of a full
            answer, also where `since` was asked for and could not be continued.
        removed: ids, shaped as `tuple_ids`, of rows that retention has dropped since while the window would still
            show them; rows the client never had may be among them. None = there are none.
        keep: ids of all visible rows that are not in the rows of the answer: the client forgets everything else. Only
            where retention has dropped rows since, and it is not known any more which. None = keep all.
        unchanged: nothing has entered, left or been dropped since `since`.
        stands: where the client stands behind this page: what its next cursor holds. The very object that was asked
            with where the answer is `unchanged`. None on all pages but the last, and where `now_us` was asked for.
        changes_us: the first instant after `now_us` at which the answer changes though nothing arrives; None = at
            none.
        state: of the whole answer: two answers to one request whose states are equal have equal rows, in the same
            order, and say the same of them, but for the instants of the window.
        complete: nothing can enter the window any more, whatever arrives, and the clock takes nothing out of it.
        row_ids: (n,) for DISTINCT and groups: 24 hexadecimal digits as bytes, the digest of the row's values, or of the
            group's keys; None = rows are known by their tuple ids.
        clock_brings: as the server's clock moves rows that have arrived may enter, and what is told of groups may
            change.
        overflowed: aggregates that are NULL in a group because their value is none of their type.
        content: a digest of the whole answer where it is sent whole or not at all; else b"".
        snapshot: what was answered from; None where there is no NOW yet, and of answers past memory.
    """

    cut: Cut
    query: QueryRecord
    now_us: int | None
    begin_us: int | None
    end_us: int | None
    count: int
    complete_from_us: int | None
    columns: tuple[tuple[str, Column], ...]
    tuple_ids: NDArray[np.int64]
    leaves_us: NDArray[np.int64] | None
    at: PagePosition | None
    next: PagePosition | None
    reset: bool = True
    removed: RowIds | None = None
    keep: RowIds | None = None
    unchanged: bool = False
    stands: Since | None = None
    changes_us: int | None = None
    state: tuple[Hashable, ...] = ()
    complete: bool = False
    row_ids: NDArray[np.bytes_] | None = None
    clock_brings: bool = False
    overflowed: tuple[AggregateCall, ...] = ()
    content: bytes = b""
    snapshot: Snapshot | None = None

    @property
    def arrivals_us(self) -> int | None:
        """Return the first instant at which a row that is yet to arrive may be visible; None = none ever is."""
        if self.snapshot is None or self.now_us is None:
            return BEFORE_ALL_US
        return arrivals_us(self.snapshot, self.now_us)

    @property
    def clock_us(self) -> int | None:
        """Return the instant of the clock by which the answer was computed: `now_us`, or later where NOW hops."""
        return self.cut.server_now_us if self.ticks else self.now_us

    @property
    def ticks(self) -> bool:
        """Return whether NOW is the server's clock, which moves by itself; else it moves when rows arrive."""
        return self.snapshot is not None and ticks(self.snapshot)
