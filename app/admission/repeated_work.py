"""Work that is done again in the event loop, because a thread has done the very same a moment ago and it was short.

A thread and back costs more than most answers take, and threads wait for each other's turn of the interpreter. But
nothing long may run in the event loop. So work runs there under three conditions:

- A caller says that it is the same as work of before: the same request, about a state that has not changed since.
- A thread has done it in SHORT_S at most.
- It passes no more checkpoints than it did then. Work passes one before each piece that takes long: where what it had
  remembered is gone, it ends before it begins to make that again, and a thread does it.
"""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from psoup.app.admission.work_pool import Effort, Gone, WorkPool
from psoup.engine.checkpoint import checked_by
from psoup.engine.errors import OverloadedError
from psoup.engine.recent import Recent

Result = TypeVar("Result")

SHORT_S: Final = 0.001
"""Work that a thread has done within this may be done again in the event loop, which waits meanwhile."""
_SLOWER_AT_MOST: Final = 4
"""Times longer than the same work may have taken before: other processes may hold the processor meanwhile."""
KNOWN_MAX: Final = 4_096
"""Pieces of such work that are known, the latest ones."""
KEY_BYTES_MAX: Final = 512
"""Of a request, as far as its work is known by them."""


class Same(NamedTuple):
    """What work is known by: it is the same as other work of this `key` while the `state` it is about is the same."""

    key: Hashable
    state: Hashable


@dataclass(frozen=True, slots=True)
class RepeatedStatistics:
    """Pieces of work.

    Attributes:
        known: those that were short, by key.
        at_once: done in the event loop since the start.
        given_up: begun there since the start, and then done by a thread.
    """

    known: int
    at_once: int
    given_up: int


class RepeatedWork:
    """Does work in a pool, and what it knows to be short at once. Used in one event loop.

    Invariant: what runs in the event loop is what a thread did in SHORT_S, checkpoint by checkpoint.
    """

    def __init__(self, pool: WorkPool, *, known_max: int = KNOWN_MAX) -> None:
        """Know nothing yet. `pool` does what is not known, `known_max` are known at most."""
        self._pool = pool
        self._known: Recent[Hashable, tuple[Hashable, int]] = Recent(known_max)
        """The state that work was done about, and the checkpoints it passed, by key."""
        self._at_once = self._given_up = 0

    async def run(
        self,
        work: Callable[[], Result],
        *,
        same: Same | None,
        deadline_s: float,
        gone: Gone | None = None,
    ) -> Result:
        """Return what `work` returns, or raise what it raises.

        Args:
            work: it only reads, and may be begun twice.
            same: what it is known by; None = it may be long.
            deadline_s: as for `WorkPool.run`.
            gone: as for `WorkPool.run`.

        Raises:
            OverloadedError, FramingError: as `WorkPool.run`.
        """
        if same is None or deadline_s <= 0:
            return await self._pool.run(work, deadline_s=deadline_s, gone=gone)
        known = self._known.get(same.key)
        if known is not None and known[0] == same.state:
            try:
                return self._again(work, known[1])
            except _LongerError:
                self._given_up += 1
        effort = Effort()
        result = await self._pool.run(work, deadline_s=deadline_s, gone=gone, effort=effort)
        if effort.seconds <= SHORT_S:
            self._known.put(same.key, (same.state, effort.checkpoints))
        return result

    def statistics(self) -> RepeatedStatistics:
        """Return counters."""
        return RepeatedStatistics(len(self._known), self._at_once, self._given_up)

    def check(self) -> None:
        """Raise AssertionError if more is known than may be. For tests."""
        self._known.check()

    def _again(self, work: Callable[[], Result], checkpoints: int) -> Result:
        """Return what `work` returns. Raises _LongerError where it is not what it was."""
        left = checkpoints
        latest = time.perf_counter() + SHORT_S * _SLOWER_AT_MOST

        def check() -> None:
            nonlocal left
            left -= 1
            if left < 0 or time.perf_counter() > latest:
                raise _LongerError("The work is longer than it was.", reason="deadline")

        with checked_by(check):
            result = work()
        self._at_once += 1
        return result


class _LongerError(OverloadedError):
    """A checkpoint has ended work in the event loop. Nobody but `RepeatedWork` sees it."""
