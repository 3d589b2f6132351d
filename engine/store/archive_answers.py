"""Histories: answers that a job computes from an archive and the log, where the window reaches past memory.

A history is of one query at one position and instant, fixed when it begins. It is no operation and in no log: who
answers begins it, a job claims it, sends its rows in parts, and says when they are all there. It is transient, and goes
when its time is over, with its query, and with the generation that it belongs to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, NewType, Protocol

from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import Gen
from psoup.engine.tuples.batch import Seq

HistoryId = NewType("HistoryId", str)

Place = tuple[int, ...]
"""Where a row stands in an answer: its time in microseconds, then its tuple ids in FROM order; or, where the query
groups, orders or limits rows, how many rows stand before it. () = there is no row."""


class HistoryState(StrEnum):
    """Where a history stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AskedHistory:
    """What is to be computed.

    Attributes:
        history_id: its handle.
        query_id, sql: the query, and its canonical text with its window.
        gen, seq, now_us: the position and the instant to answer for.
        window_us: BEGIN and END at that instant, both inclusive; None = open.
        asked_now_us: the instant that was asked for; None = NOW. With the query it says which history it is.
    """

    history_id: HistoryId
    query_id: QueryId
    sql: str
    gen: Gen
    seq: Seq
    now_us: int
    window_us: tuple[int | None, int | None]
    asked_now_us: int | None = None


@dataclass(frozen=True, slots=True)
class History:
    """A history as it stands. Instants are the store's, in microseconds.

    Attributes:
        asked: what is to be computed.
        asked_us: when that was asked for.
        read_us: when this was read.
        expires_us: when it goes.
        worker: who has claimed it; '' = nobody has.
        claimed_us: until when its worker's claim runs; None = nobody has claimed it, or it has ended.
        done, of: its worker's progress, in steps of the worker's own; `of` None = it does not say.
        parts: rows of each part, in order, once it is done.
        nbytes: of all its parts.
        complete_from_us: once it is done, the time from which the answer is complete; None = it is.
        detail: why it failed.
        overflowed: once it is done, the aggregates that are NULL somewhere because their value is none of their type,
            as canonical texts write them.
        ended_us: when it was done or failed.
    """

    asked: AskedHistory
    asked_us: int
    read_us: int
    expires_us: int
    state: HistoryState = HistoryState.QUEUED
    worker: str = ""
    claimed_us: int | None = None
    done: int = 0
    of: int | None = None
    parts: tuple[int, ...] = ()
    nbytes: int = 0
    complete_from_us: int | None = None
    detail: str = ""
    overflowed: tuple[str, ...] = ()
    ended_us: int | None = None

    @property
    def rows(self) -> int | None:
        """Return the rows of the answer; None before it is done."""
        return sum(self.parts) if self.state is HistoryState.DONE else None

    @property
    def is_free(self) -> bool:
        """Return whether a worker may claim it, whoever had claimed it."""
        if self.state is HistoryState.RUNNING:
            return self.claimed_us is not None and self.claimed_us <= self.read_us
        return self.state is HistoryState.QUEUED


@dataclass(frozen=True, slots=True)
class HistoryPart:
    """Some consecutive rows of an answer.

    Attributes:
        number: parts are in order of their numbers, from 0 on.
        rows: how many.
        first, last: where the first and the last of them stand.
        body: an Arrow IPC stream of one batch.
    """

    number: int
    rows: int
    first: Place
    last: Place
    body: bytes


class PartKey(NamedTuple):
    """Which part this is, of which computation of a history.

    A crash of the store at `everysec` can take back that a history is done, and the generation stays: then whoever
    claims it next cuts other parts under the same handle.

    Attributes:
        history_id, number: the history's handle, and the part's number.
        worker, ended_us: who has computed it, and when it was done.
    """

    history_id: HistoryId
    number: int
    worker: str
    ended_us: int | None


@dataclass(frozen=True, slots=True)
class HistoriesStatistics:
    """How many histories there are, and the bytes of their parts."""

    count: int
    nbytes: int


class Histories(Protocol):
    """The histories of a store. Thread-safe; each method is one step, and any process that answers may call it.

    Every method forgets those that have expired, or whose query is gone, but for the two that look one up, which
    pass over them.
    """

    def find(self, query_id: QueryId, asked_now_us: int | None) -> History | None:
        """Return the history of a query and an instant (None = NOW); None = there is none."""
        ...

    def get(self, history_id: HistoryId) -> History | None:
        """Return a history by its handle; None = there is none."""
        ...

    def body(self, history_id: HistoryId, number: int) -> bytes | None:
        """Return the body of a part; None = it is not there."""
        ...

    def begin(self, asked: AskedHistory, *, replaces: HistoryId | None = None) -> History:
        """Begin a history, or return the one that there is of its query and instant.

        Args:
            asked: what is to be computed.
            replaces: the one there is that is to go for it.

        Raises:
            NotFoundError: no such query is registered.
            OverloadedError: there are HISTORIES_MAX; reason `histories`.
        """
        ...

    def all(self) -> Sequence[History]:
        """Return all histories, those asked for first in front."""
        ...

    def claim(self, history_id: HistoryId, worker: str, *, done: int, of: int | None) -> History:
        """Claim a history for HISTORY_CLAIM_S, or renew the claim, and say how far it is.

        Parts that another worker has sent are forgotten.

        Raises:
            NotFoundError: there is no such history.
            HistoryTakenError: another worker's claim runs, or it has ended.
        """
        ...

    def put(self, history_id: HistoryId, worker: str, part: HistoryPart) -> None:
        """Keep a part, in place of one of its number, and renew the claim.

        Raises:
            NotFoundError: there is no such history.
            HistoryTakenError: it is not this worker's, or has ended.
            AnswerTooLargeError: with it the answer has more than HISTORY_ROWS_MAX rows or HISTORY_BYTES_MAX bytes.
            OverloadedError: all histories have HISTORIES_BYTES_MAX; reason `histories-bytes`.
        """
        ...

    def finish(
        self,
        history_id: HistoryId,
        worker: str,
        *,
        parts: int,
        rows: int,
        complete_from_us: int | None,
        overflowed: Sequence[str] = (),
    ) -> History:
        """Say that the answer consists of so many parts, and keep it for HISTORY_LIFE_S. Twice is harmless.

        Raises:
            NotFoundError: there is no such history.
            HistoryTakenError: it is not this worker's, or has ended otherwise.
            HistoryPartsMissingError: some are not there, they have other rows in all, or one begins before the one
                in front of it ends.
        """
        ...

    def fail(self, history_id: HistoryId, worker: str, detail: str) -> History:
        """Give a history up, and say why. Twice is harmless.

        Raises:
            NotFoundError, HistoryTakenError: as `finish` does.
        """
        ...

    def drop(self, history_id: HistoryId) -> None:
        """Forget a history; one that is not there is passed over."""
        ...

    def statistics(self) -> HistoriesStatistics:
        """Return what there is."""
        ...

    def check(self) -> None:
        """Assert that all is counted. For tests."""
        ...
