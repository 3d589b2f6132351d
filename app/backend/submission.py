"""Submitting an operation: append it, then wait until it has been applied, or say that it has not yet.

An append that was sent is finished whatever becomes of the client: the task belongs to the submission, not to the
request. One that still waits for its turn is taken back where its client goes or its deadline passes.
"""

import asyncio
import functools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from psoup.app.backend.appender import AppendedAt, Appender, Outcomes
from psoup.app.backend.applied import AppliedPosition, Mark
from psoup.app.backend.at_hand import AtHand, TellAppended
from psoup.app.errors import MemoryFullError
from psoup.engine import limits
from psoup.engine.errors import EngineError, OverloadedError
from psoup.engine.log.contract import Appended, Log
from psoup.engine.log.operation import (
    Commit,
    Content,
    Drop,
    QueryId,
    Remove,
    Staged,
    Tick,
    carried_bytes,
)
from psoup.engine.store.errors import CommitUnknownError
from psoup.engine.tuples.batch import Seq

Result = TypeVar("Result")
RETRY_AFTER_S: Final = 1
"""An append takes milliseconds, the largest on a slow disk a second or two."""
SENT_AGAIN: Final = (
    "Repeat the same request: with an idempotency key or a producer's headers it is stored once, without them it may"
    " be stored twice."
)
STAGED_AGAIN: Final = (
    "Stage the part again: one that no commit names is forgotten when its time is over."
)
DONE_AGAIN: Final = "Repeat the same request: it is done once."
"""What to do where nobody knows whether something was done."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of an operation: committed in any case; `applied` = every later answer shows it.

    `seq` is a position that shows it: its own, that of the original of a duplicate, or a later one where
    the original's is no longer known.
    """

    seq: Seq
    arrival_us: int
    applied: bool
    duplicate: bool = False
    query_id: QueryId | None = None
    rows: int = 0
    """Tuples that a commit has stored."""
    replayed: bool = False
    """It is a duplicate by the key of its request."""


@dataclass(frozen=True, slots=True)
class SubmissionStatistics:
    """Counters of the submissions of this process.

    Attributes:
        in_flight: appends on their way; `bytes_in_flight` of their bodies.
        gathering: operations of these that wait for the next call of the log.
        submitted: operations appended, `duplicates` those of them that had been before.
        calls: calls of the log, which carried `operations`.
        refused: for want of a place, of memory, or of time.
        unknown: whose answer did not come in time.
    """

    in_flight: int
    bytes_in_flight: int
    gathering: int
    submitted: int
    duplicates: int
    calls: int
    operations: int
    refused: int
    unknown: int


class Submission:
    """The one door to the log. Appends on their way are bounded in number and in bytes of bodies."""

    def __init__(
        self,
        *,
        log: Log,
        applied: AppliedPosition,
        wake: TellAppended,
        at_hand: AtHand | None,
        find_room: Callable[[], None],
        in_flight_max: int,
    ) -> None:
        """Append to `log`; `wake` tells the backend that something was appended, and `at_hand` takes it before.

        `find_room` raises MemoryFullError where nothing may be added; what removes is appended all the same.
        """
        self._log = log
        self._applied = applied
        self._wake = wake
        self._find_room = find_room
        self._in_flight_max = in_flight_max
        self._threads = ThreadPoolExecutor(in_flight_max, thread_name_prefix="psoup-append")
        self._appender = Appender(log, start=self._threads.submit, wake=wake, at_hand=at_hand)
        self._tasks: dict[asyncio.Future[Any], int] = {}
        """Appends on their way, and the bytes of each one's body; `_bytes` of all."""
        self._bytes = 0
        self._submitted = self._duplicates = self._refused = self._unknown = 0

    def admit(self, nbytes: int = 0) -> None:
        """Refuse while all slots are taken: asked before a body is read, and again before the append.

        Raises:
            OverloadedError: `in_flight_max` appends are on their way, or bodies that leave no room for
                another `nbytes` bytes.
        """
        if len(self._tasks) >= self._in_flight_max:
            self._refused += 1
            raise OverloadedError(
                "As many operations as psoup holds are on their way into the log.",
                reason="appends-in-flight",
                retry_after_s=RETRY_AFTER_S,
            )
        if self._bytes and self._bytes + nbytes > limits.APPENDS_IN_FLIGHT_BYTES_MAX:
            self._refused += 1
            raise OverloadedError(
                "As many bytes as psoup holds are on their way into the log.",
                reason="append-bytes-in-flight",
                retry_after_s=RETRY_AFTER_S,
            )

    async def submit(self, content: Content, *, deadline_s: float) -> Submitted:
        """Append `content` and wait until it is applied, for `deadline_s` seconds in all.

        Raises:
            OverloadedError, MemoryFullError: nothing was appended.
            CommitUnknownError: the append itself had no answer by the deadline; it may still commit.
            EngineError: what `Log.append` refuses.
        """
        latest = time.monotonic() + deadline_s
        since = self._applied.mark()
        (outcome,) = await self._appended([content], deadline_s)
        if isinstance(outcome, EngineError):
            raise outcome
        return await self._settled(outcome, latest, since)

    async def commit(self, commit: Commit, *, deadline_s: float) -> Submitted:
        """Append the parts of `commit` in one step and wait until they are applied, for `deadline_s` seconds in all.

        Raises:
            OverloadedError, MemoryFullError: nothing was appended.
            CommitUnknownError: as in `submit`.
            EngineError: what `Log.commit` refuses.
        """
        latest = time.monotonic() + deadline_s
        since = self._applied.mark()
        self._refuse_full([commit])
        append = functools.partial(self._committed, commit)
        shown = await self._done(append, 0, deadline_s=deadline_s, again=DONE_AGAIN)
        return await self._settled(shown, latest, since)

    async def stage(self, part: Staged, *, deadline_s: float) -> int:
        """Keep a part for a commit to come; return when it expires, in microseconds of the store's clock.

        Raises:
            OverloadedError, MemoryFullError: nothing was staged.
            CommitUnknownError: the store had not answered by the deadline; nothing counts.
            EngineError: what `Log.stage` refuses.
        """
        self._refuse_full([part])
        stage = functools.partial(self._log.stage, part)
        return await self._done(stage, len(part.body), deadline_s=deadline_s, again=STAGED_AGAIN)

    async def carry_out(self, step: Callable[[Log], Result], *, deadline_s: float) -> Result:
        """Return what `step` returns of the log: something that frees or keeps and is done twice as well as once.

        Raises:
            OverloadedError: it was not begun.
            CommitUnknownError: it had no answer by the deadline.
            EngineError: what the step raises.
        """
        return await self.write(functools.partial(step, self._log), deadline_s=deadline_s)

    async def write(
        self, step: Callable[[], Result], *, nbytes: int = 0, deadline_s: float
    ) -> Result:
        """Return what `step` returns, which writes `nbytes` beside the log and is done twice as well as once.

        Raises:
            OverloadedError: it was not begun.
            CommitUnknownError: it had no answer by the deadline.
            EngineError: what the step raises.
        """
        return await self._done(step, nbytes, deadline_s=deadline_s, again=DONE_AGAIN)

    async def submit_many(
        self, contents: Sequence[Content], *, deadline_s: float
    ) -> Sequence[Submitted | EngineError]:
        """Append `contents` in their order, and wait until the last of them is applied.

        Counts as one append with the bytes of all. What `Log.append_many` refuses stands in its place.

        Raises:
            OverloadedError, MemoryFullError: nothing was appended.
            CommitUnknownError: the appends had no answer by the deadline; they may still commit.
            EngineError: what concerns all of them, as `Log.append_many` says.
        """
        latest = time.monotonic() + deadline_s
        since = self._applied.mark()
        outcomes = await self._appended(contents, deadline_s)
        stored = [one for one in outcomes if not isinstance(one, EngineError)]
        for appended, _ in stored:
            self._count(appended)
        if stored:
            appended, last = max(stored, key=lambda one: one[1])
            await self._applied.wait(
                last, timeout_s=latest - time.monotonic(), since=_behind(since, appended)
            )
        return [
            one if isinstance(one, EngineError) else self._fate(*one, since=since)
            for one in outcomes
        ]

    def close(self) -> None:
        """Wait for the appends on their way. Blocks."""
        self._threads.shutdown(wait=True)

    def statistics(self) -> SubmissionStatistics:
        """Return counters."""
        appender = self._appender.statistics()
        return SubmissionStatistics(
            in_flight=len(self._tasks),
            bytes_in_flight=self._bytes,
            gathering=appender.waiting,
            submitted=self._submitted,
            duplicates=self._duplicates,
            calls=appender.calls,
            operations=appender.operations,
            refused=self._refused,
            unknown=self._unknown,
        )

    def check(self) -> None:
        """Raise AssertionError if more is on its way than may be. For tests."""
        if len(self._tasks) > self._in_flight_max:
            raise AssertionError(
                f"{len(self._tasks)} appends in flight, {self._in_flight_max} at most"
            )
        if self._bytes != sum(self._tasks.values()):
            raise AssertionError("bytes on their way are counted")
        if len(self._tasks) > 1 and self._bytes > limits.APPENDS_IN_FLIGHT_BYTES_MAX:
            raise AssertionError(f"{self._bytes} bytes of bodies in flight")
        self._appender.check()

    def _refuse_full(self, contents: Sequence[Content | Commit | Staged]) -> None:
        """Refuse what would add to memory that is full. Raises MemoryFullError."""
        if all(isinstance(content, Remove | Drop | Tick) for content in contents):
            return
        try:
            self._find_room()
        except MemoryFullError:
            self._refused += len(contents)
            raise

    async def _appended(self, contents: Sequence[Content], deadline_s: float) -> Outcomes:
        """Return what became of each operation of one append.

        Raises:
            OverloadedError, MemoryFullError: nothing was appended; also where its turn did not come by the deadline.
            CommitUnknownError: it was sent and had no answer by the deadline.
            EngineError: what concerns all of them.
        """
        self._refuse_full(contents)
        nbytes = sum(map(carried_bytes, contents))
        self.admit(nbytes)
        outcomes = self._appender.append_at_once(contents)
        if outcomes is not None:
            return outcomes
        task = self._appender.append(contents, nbytes)
        try:
            return await self._outcome(task, nbytes, deadline_s=deadline_s, again=SENT_AGAIN)
        except asyncio.CancelledError:
            self._appender.withdraw(task)
            raise

    async def _done(
        self, step: Callable[[], Result], nbytes: int, *, deadline_s: float, again: str
    ) -> Result:
        """Return what `step` returns in a thread of its own."""
        self.admit(nbytes)
        task = asyncio.get_running_loop().run_in_executor(self._threads, step)
        task.add_done_callback(lambda _: self._wake())
        return await self._outcome(task, nbytes, deadline_s=deadline_s, again=again)

    async def _outcome(
        self, task: "asyncio.Future[Result]", nbytes: int, *, deadline_s: float, again: str
    ) -> Result:
        """Return the result of `task`, which is counted as on its way until it has one.

        `again` says what to do where it has no answer by the deadline.
        """
        self._tasks[task] = nbytes
        self._bytes += nbytes
        task.add_done_callback(self._ended)
        if await _is_done(task, max(deadline_s, 0.001)):
            return task.result()
        if self._appender.withdraw(task):
            self._refused += 1
            raise OverloadedError(
                "The operation's turn did not come before its deadline. Nothing was stored: send the same again.",
                reason="deadline",
                retry_after_s=RETRY_AFTER_S,
            )
        self._unknown += 1
        raise CommitUnknownError(f"The store did not confirm the operation in time. {again}")

    async def _settled(self, shown: AppendedAt, latest: float, since: Mark) -> Submitted:
        """Return what has become by `latest` of an operation that was appended behind `since`."""
        appended, shown_at = shown
        self._count(appended)
        in_time = await self._applied.wait(
            shown_at, timeout_s=latest - time.monotonic(), since=_behind(since, appended)
        )
        return _submitted(appended, shown_at, applied=in_time)

    def _committed(self, commit: Commit) -> AppendedAt:
        """Commit, and return with it a position that shows it. Blocks: runs in a thread."""
        appended = self._log.commit(commit)
        # An original whose seq is no longer known lies somewhere up to the head.
        return appended, appended.seq or self._log.head()

    def _fate(self, appended: Appended, shown_at: Seq, *, since: Mark) -> Submitted:
        """Return what has become of an operation by now."""
        applied = self._applied.shows(shown_at, since=_behind(since, appended))
        return _submitted(appended, shown_at, applied=applied)

    def _count(self, appended: Appended) -> None:
        self._submitted += 1
        self._duplicates += appended.duplicate

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._bytes -= self._tasks.pop(task)
        if not task.cancelled():
            task.exception()  # looked at, so that one nobody waits for any more is not a warning


async def _is_done(task: "asyncio.Future[Any]", timeout_s: float) -> bool:
    """Return whether `task` is done within `timeout_s` seconds; it goes on where the client goes away meanwhile.

    As `asyncio.wait` of one, in a third of its time.
    """
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()

    def wake(*_: object) -> None:
        if not woken.done():
            woken.set_result(None)

    timer = loop.call_later(timeout_s, wake)
    task.add_done_callback(wake)
    try:
        await woken
    finally:
        timer.cancel()
        task.remove_done_callback(wake)
    return task.done()


def _behind(since: Mark, appended: Appended) -> Mark:
    """Return what an operation lies behind: a duplicate's original may be older than the append."""
    return since.of_any_age() if appended.duplicate else since


def _submitted(appended: Appended, shown_at: Seq, *, applied: bool) -> Submitted:
    return Submitted(
        shown_at,
        appended.arrival_us,
        applied,
        appended.duplicate,
        appended.query_id,
        appended.rows,
        appended.replayed,
    )
