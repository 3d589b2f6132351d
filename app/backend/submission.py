"""Submitting an operation: append it, then wait until it has been applied, or say that it has not yet.

An append that was begun is finished whatever becomes of the client: the task belongs to the submission,
not to the request.
"""

import asyncio
import functools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from psoup.app.backend.applied import AppliedPosition, Mark
from psoup.app.errors import MemoryFullError
from psoup.engine import limits
from psoup.engine.errors import EngineError, OverloadedError
from psoup.engine.log.contract import Appended, Log
from psoup.engine.log.operation import (
    Commit,
    Content,
    Drop,
    QueryId,
    Register,
    Remove,
    Rows,
    Staged,
    Tick,
)
from psoup.engine.store.errors import CommitUnknownError
from psoup.engine.tuples.batch import Seq

Result = TypeVar("Result")
Shown = tuple[Appended, Seq]
"""What became of an append, and a position that shows the operation."""

RETRY_AFTER_S: Final = 1
"""An append takes milliseconds, the largest on a slow disk a second or two."""
SENT_AGAIN: Final = "Repeat the same request: with a producer's headers it is stored once, without them it may be stored twice."
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


@dataclass(frozen=True, slots=True)
class SubmissionStatistics:
    """Counters of the submissions of this process."""

    in_flight: int
    bytes_in_flight: int
    submitted: int
    duplicates: int
    refused: int
    unknown: int


class Submission:
    """The one door to the log. Appends on their way are bounded in number and in bytes of bodies."""

    def __init__(
        self,
        *,
        log: Log,
        applied: AppliedPosition,
        wake: Callable[[], None],
        find_room: Callable[[], None],
        in_flight_max: int,
    ) -> None:
        """Append to `log`; `wake` tells the backend that something was appended.

        `find_room` raises MemoryFullError where nothing may be added; what removes is appended all the same.
        """
        self._log = log
        self._applied = applied
        self._wake = wake
        self._find_room = find_room
        self._in_flight_max = in_flight_max
        self._threads = ThreadPoolExecutor(in_flight_max, thread_name_prefix="psoup-append")
        self._tasks: dict[asyncio.Future[Any], int] = {}
        """Appends on their way, and the bytes of each one's body."""
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
        self._refuse_full([content])
        append = functools.partial(self._log.append, content)
        return await self._settled(append, _nbytes(content), deadline_s, again=SENT_AGAIN)

    async def commit(self, commit: Commit, *, deadline_s: float) -> Submitted:
        """Append the parts of `commit` in one step and wait until they are applied, for `deadline_s` seconds in all.

        Raises:
            OverloadedError, MemoryFullError: nothing was appended.
            CommitUnknownError: as in `submit`.
            EngineError: what `Log.commit` refuses.
        """
        self._refuse_full([commit])
        append = functools.partial(self._log.commit, commit)
        return await self._settled(append, 0, deadline_s, again=DONE_AGAIN)

    async def stage(self, part: Staged, *, deadline_s: float) -> int:
        """Keep a part for a commit to come; return when it expires, in microseconds of the store's clock.

        Raises:
            OverloadedError, MemoryFullError: nothing was staged.
            CommitUnknownError: the store had not answered by the deadline; nothing counts.
            EngineError: what `Log.stage` refuses.
        """
        self._refuse_full([part])
        stage = functools.partial(self._log.stage, part)
        return await self._outcome(stage, len(part.body), deadline_s=deadline_s, again=STAGED_AGAIN)

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
        return await self._outcome(step, nbytes, deadline_s=deadline_s, again=DONE_AGAIN)

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
        self._refuse_full(contents)
        since = self._applied.mark()
        outcomes = await self._outcome(
            functools.partial(self._append_many, contents),
            sum(map(_nbytes, contents)),
            deadline_s=deadline_s,
            again=SENT_AGAIN,
        )
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
        return SubmissionStatistics(
            in_flight=len(self._tasks),
            bytes_in_flight=self._bytes,
            submitted=self._submitted,
            duplicates=self._duplicates,
            refused=self._refused,
            unknown=self._unknown,
        )

    def check(self) -> None:
        """Raise AssertionError if more is on its way than may be. For tests."""
        if len(self._tasks) > self._in_flight_max:
            raise AssertionError(
                f"{len(self._tasks)} appends in flight, {self._in_flight_max} at most"
            )
        if len(self._tasks) > 1 and self._bytes > limits.APPENDS_IN_FLIGHT_BYTES_MAX:
            raise AssertionError(f"{self._bytes} bytes of bodies in flight")

    @property
    def _bytes(self) -> int:
        return sum(self._tasks.values())

    def _refuse_full(self, contents: Sequence[Content | Commit | Staged]) -> None:
        """Refuse what would add to memory that is full. Raises MemoryFullError."""
        if all(isinstance(content, Remove | Drop | Tick) for content in contents):
            return
        try:
            self._find_room()
        except MemoryFullError:
            self._refused += len(contents)
            raise

    async def _settled(
        self, append: Callable[[], Appended], nbytes: int, deadline_s: float, *, again: str
    ) -> Submitted:
        """Return what has become by the deadline of what `append` appends."""
        latest = time.monotonic() + deadline_s
        since = self._applied.mark()
        appended, shown_at = await self._outcome(
            functools.partial(self._append, append), nbytes, deadline_s=deadline_s, again=again
        )
        self._count(appended)
        in_time = await self._applied.wait(
            shown_at, timeout_s=latest - time.monotonic(), since=_behind(since, appended)
        )
        return _submitted(appended, shown_at, applied=in_time)

    async def _outcome(
        self, append: Callable[[], Result], nbytes: int, *, deadline_s: float, again: str
    ) -> Result:
        """Return what `append` returns in a thread, counted as on its way until it does.

        `again` says what to do where it has no answer by the deadline.
        """
        self.admit(nbytes)
        task = asyncio.get_running_loop().run_in_executor(self._threads, append)
        self._tasks[task] = nbytes
        task.add_done_callback(self._ended)
        # Waiting, unlike awaiting, does not cancel the append when the client goes away.
        done, _ = await asyncio.wait({task}, timeout=max(deadline_s, 0.001))
        if not done:
            self._unknown += 1
            raise CommitUnknownError(f"The store did not confirm the operation in time. {again}")
        return task.result()

    def _append(self, append: Callable[[], Appended]) -> Shown:
        """Append, and return with it a position that shows the operation. Blocks: runs in a thread."""
        appended = append()
        # An original whose seq is no longer known lies somewhere up to the head.
        return appended, appended.seq or self._log.head()

    def _append_many(self, contents: Sequence[Content]) -> list[Shown | EngineError]:
        """Append all, and return the same of each. Blocks: runs in a thread."""
        return [
            one if isinstance(one, EngineError) else (one, one.seq or self._log.head())
            for one in self._log.append_many(contents)
        ]

    def _fate(self, appended: Appended, shown_at: Seq, *, since: Mark) -> Submitted:
        """Return what has become of an operation by now."""
        applied = self._applied.shows(shown_at, since=_behind(since, appended))
        return _submitted(appended, shown_at, applied=applied)

    def _count(self, appended: Appended) -> None:
        self._submitted += 1
        self._duplicates += appended.duplicate

    def _ended(self, task: asyncio.Future[Any]) -> None:
        del self._tasks[task]
        self._wake()
        if not task.cancelled():
            task.exception()  # looked at, so that one nobody waits for any more is not a warning


def _nbytes(content: Content) -> int:
    """Return what an operation counts on its way: its body, or a query's text."""
    if isinstance(content, Rows):
        return len(content.body)
    return len(content.sql) if isinstance(content, Register) else 0


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
    )
