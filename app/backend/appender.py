"""Appends that travel together: while a call of the log is under way, later appends gather for the next one.

Group commit: a group is one call of the store, one sync of its disk, one turn of the fold. Each operation keeps its own
seq and its own outcome. Nothing waits for a timer: a lone append leaves at once, and a group grows by what comes while
the store is busy. A log without a disk takes a lone batch in the event loop. Source: DeWitt et al. 1984, Implementation
Techniques for Main Memory Database Systems, 5.2.
"""

import asyncio
import contextlib
import functools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from psoup.app.backend.at_hand import AtHand, TellAppended
from psoup.engine import limits
from psoup.engine.errors import EngineError, OverloadedError
from psoup.engine.log.contract import Appended, Log
from psoup.engine.log.operation import Content, Rows
from psoup.engine.tuples.batch import Seq

AppendedAt = tuple[Appended, Seq]
"""What became of an append, and a position that shows the operation."""
Outcomes = Sequence[AppendedAt | EngineError]
"""What became of each operation of one append."""


@dataclass(frozen=True, slots=True)
class AppenderStatistics:
    """Counters of an appender.

    Attributes:
        waiting: operations that gather for the next call.
        calls: calls of the log that have ended, in whatever way.
        operations: what these carried.
        withdrawn: appends that were taken back before they were sent.
    """

    waiting: int
    calls: int
    operations: int
    withdrawn: int


@dataclass(frozen=True, slots=True, eq=False)
class _Append:
    """Operations of one caller, which stay together and in their order."""

    contents: Sequence[Content]
    nbytes: int
    outcome: "asyncio.Future[Outcomes]"


class Appender:
    """Appends to the log in groups. Its methods are called in the event loop; the log is called in threads.

    Invariants: what waits does so behind a call under way, and is less than a full group. A full group leaves beside
    calls under way, so bodies that fill a call by themselves do not wait for each other.
    """

    def __init__(
        self,
        log: Log,
        *,
        start: Callable[[Callable[[], None]], object],
        wake: TellAppended,
        at_hand: AtHand | None,
    ) -> None:
        """Append to `log`.

        Args:
            log: what to append to.
            start: runs its argument in another thread; RuntimeError where it cannot, or only later.
            wake: told after each call that something may have been appended, in the thread that called.
            at_hand: takes what was appended, before that; None = nobody does.
        """
        self._log = log
        self._start = start
        self._wake = wake
        self._at_hand = at_hand
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        """Guards everything below: threads that end a call take the next group."""
        self._waiting: deque[_Append] = deque()
        self._count = self._nbytes = 0
        """Operations and bytes that wait."""
        self._under_way = 0
        self._calls = self._operations = self._withdrawn = 0

    def append(self, contents: Sequence[Content], nbytes: int) -> "asyncio.Future[Outcomes]":
        """Append `contents`, of `nbytes` bytes, in their order; return the future of what becomes of each.

        The future fails with what concerns the whole call: then it holds for all operations of the call. Whoever waits
        for the future must not cancel it: see `withdraw`.
        """
        one = _Append(contents, nbytes, self._loop.create_future())
        with self._lock:
            self._add(one, 1)
            self._waiting.append(one)
        while group := self._next_group():
            self._send(group)
        return one.outcome

    def append_at_once(self, contents: Sequence[Content]) -> Outcomes | None:
        """Append here and now, if it is one batch, which can be no duplicate, and the log does not wait; else None.

        None = nothing was done.
        """
        content = contents[0] if len(contents) == 1 else None
        if not isinstance(content, Rows) or content.txn is not None or content.key is not None:
            return None
        hand = self._at_hand
        life = 0 if hand is None else hand.life
        outcome = self._log.append_at_once(content)
        if outcome is None:
            return None
        with self._lock:
            self._calls += 1
            self._operations += 1
        at_hand = hand is not None and hand.put(contents, [outcome], life=life)
        self._wake(at_hand=at_hand, lone=at_hand)
        return [outcome if isinstance(outcome, EngineError) else (outcome, outcome.seq)]

    def withdraw(self, outcome: "asyncio.Future[Any]") -> bool:
        """Return whether the append of this future was taken back: it was not sent, and the future is cancelled."""
        with self._lock:
            found = next((one for one in self._waiting if one.outcome is outcome), None)
            if found is None:
                return False
            self._waiting.remove(found)
            self._add(found, -1)
            self._withdrawn += 1
        outcome.cancel()
        return True

    def statistics(self) -> AppenderStatistics:
        """Return counters."""
        with self._lock:
            return AppenderStatistics(self._count, self._calls, self._operations, self._withdrawn)

    def check(self) -> None:
        """Raise AssertionError if an invariant is broken. For tests."""
        with self._lock:
            if self._waiting and not self._under_way:
                raise AssertionError(f"{len(self._waiting)} appends wait for no call")
            if self._is_full:
                raise AssertionError(f"{self._count} operations wait, {self._nbytes} bytes of them")
            if self._count != sum(len(one.contents) for one in self._waiting):
                raise AssertionError("operations that wait are counted")
            if self._nbytes != sum(one.nbytes for one in self._waiting):
                raise AssertionError("bytes that wait are counted")

    @property
    def _is_full(self) -> bool:
        """Whether what waits is worth a call of its own beside others. Under the lock."""
        return (
            self._count >= limits.FOLD_OPERATIONS_MAX
            or self._nbytes >= limits.APPENDS_TOGETHER_BYTES_MAX
        )

    def _add(self, one: _Append, sign: int) -> None:
        self._count += sign * len(one.contents)
        self._nbytes += sign * one.nbytes

    def _next_group(self, *, ended: int | None = None) -> Sequence[_Append]:
        """Take what goes in one call now; empty = nothing does. An append larger than a group goes by itself.

        `ended` = a call of so many operations has ended, in the same step. Any thread.
        """
        group: list[_Append] = []
        with self._lock:
            if ended is not None:
                self._under_way -= 1
                self._calls += 1
                self._operations += ended
            if self._under_way and not self._is_full:
                return group
            count = nbytes = 0
            while self._waiting:
                one = self._waiting[0]
                count, nbytes = count + len(one.contents), nbytes + one.nbytes
                if group and (
                    count > limits.FOLD_OPERATIONS_MAX or nbytes > limits.APPENDS_TOGETHER_BYTES_MAX
                ):
                    break
                group.append(self._waiting.popleft())
                self._add(one, -1)
            self._under_way += bool(group)
        return group

    def _send(self, group: Sequence[_Append]) -> None:
        """Have a thread carry a group. Where none can be started, those of the group are told so."""
        handed = deque([group])
        try:
            self._start(functools.partial(self._carry, handed))
        except RuntimeError:
            # A pool may have kept the work, for a thread that is busy now. Who takes the group decides for it.
            with contextlib.suppress(IndexError):
                refused = handed.popleft()
                with self._lock:
                    self._under_way -= 1
                _tell(refused, _no_thread())

    def _carry(self, handed: "deque[Sequence[_Append]]") -> None:
        """Append the group that was handed over, then what has gathered meanwhile. Blocks: runs in a thread."""
        try:
            group = handed.popleft()
        except IndexError:  # it was refused
            return
        while group:
            contents = [content for one in group for content in one.contents]
            told: Outcomes | Exception
            at_hand = False
            try:
                told, at_hand = self._appended(contents)
            except Exception as error:  # noqa: BLE001 (passed on to each who waits)
                told = error
            following = self._next_group(ended=len(contents))
            self._wake(at_hand=at_hand, lone=at_hand and not following)
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits in it
                self._loop.call_soon_threadsafe(_tell, group, told)
            group = following

    def _appended(self, contents: Sequence[Content]) -> tuple[Outcomes, bool]:
        """Return what became of each operation of one call, with a position that shows it; and whether all are at hand.

        An original whose seq is no longer known lies somewhere up to the head.
        """
        hand = self._at_hand
        life = 0 if hand is None else hand.life
        outcomes = self._log.append_many(contents)
        at_hand = hand is not None and hand.put(contents, outcomes, life=life)
        head: Seq | EngineError = Seq(0)
        if any(isinstance(one, Appended) and not one.seq for one in outcomes):
            try:
                head = self._log.head()
            except EngineError as error:
                head = error
        return [_shown(one, head) for one in outcomes], at_hand


def _shown(outcome: Appended | EngineError, head: Seq | EngineError) -> AppendedAt | EngineError:
    if isinstance(outcome, EngineError):
        return outcome
    if outcome.seq:
        return outcome, outcome.seq
    return head if isinstance(head, EngineError) else (outcome, head)


def _no_thread() -> OverloadedError:
    return OverloadedError(
        "No thread could be started for the operation. Nothing was stored: send the same again.",
        reason="threads",
    )


def _tell(group: Sequence[_Append], told: Outcomes | Exception) -> None:
    """Tell each caller of a call what became of its operations. In the event loop."""
    at = 0
    for one in group:
        if isinstance(told, Exception):
            one.outcome.set_exception(told)
            continue
        one.outcome.set_result(told[at : at + len(one.contents)])
        at += len(one.contents)
