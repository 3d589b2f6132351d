"""What time alone brings: a tick where something is to be forgotten, and the expiry of queries that are over."""

from collections import deque
from collections.abc import Callable
from typing import Final

from psoup.app.backend.at_hand import AtHand
from psoup.engine import limits
from psoup.engine.engine import Engine
from psoup.engine.errors import EngineError, OverloadedError
from psoup.engine.log.operation import Expire, Tick
from psoup.engine.store.contract import Store

DUE_EVERY_S: Final = 0.25
"""The clock is asked no oftener whether something is due."""
OVERDUE_FOR_S: Final = 2.0
"""A query expires that was over for so long already. Meanwhile those are renewed that somebody uses at the last moment,
or waits for while the clock jumps, as that of a machine does that has slept: twice what renewals gather for."""


class Due:
    """Appends what is due, by the clock of the store. Used under `Fold.turning`."""

    def __init__(
        self, store: Store, *, at_hand: AtHand | None, elapsed_s: Callable[[], float]
    ) -> None:
        """Begin with nothing asked. What is appended here is noted in `at_hand` as not being there."""
        self._store, self._at_hand, self._elapsed_s = store, at_hand, elapsed_s
        self._due_next_s = self._overdue_next_s = 0.0
        self._clocks: deque[tuple[float, int]] = deque()
        """What the store's clock said (µs), and when that was: the last time OVERDUE_FOR_S ago, and since then."""

    def tick(self, engine: Engine) -> bool:
        """Append a tick if time alone would forget something. Return whether there is something to fold now.

        The store's clock is asked, because it dates the tick: with another one that runs ahead of it, ticks
        would follow each other and bring nothing. It is asked every DUE_EVERY_S at most.
        """
        now_s = self._elapsed_s()
        if now_s < self._due_next_s:
            return False
        due = engine.due(self._store.results.cut().server_now_us)
        self._due_next_s = now_s + DUE_EVERY_S
        if not due:
            return False
        self._note_appended()
        try:
            self._store.log.append(Tick())
        except OverloadedError:  # then it is not idle, and its operations bring the time along
            return False
        return True

    def expire(self, engine: Engine) -> None:
        """Append the expiry of queries that are over for OVERDUE_FOR_S, QUERIES_EXPIRED_TOGETHER_MAX at most.

        The log compares with its own clock and with renewals that are not applied yet: what it refuses is tried again.
        """
        now_s, clocks = self._elapsed_s(), self._clocks
        if now_s < self._overdue_next_s:
            return
        self._overdue_next_s = now_s + DUE_EVERY_S
        clocks.append((now_s, self._store.results.now_us()))
        past_s = now_s - OVERDUE_FOR_S
        while len(clocks) > 1 and clocks[1][0] <= past_s:
            clocks.popleft()
        since_s, then_us = clocks[0]
        if since_s > past_s:
            return
        most = limits.QUERIES_EXPIRED_TOGETHER_MAX
        overdue = engine.overdue(then_us, limit=most)
        if not overdue:
            return
        self._note_appended()
        outcomes = self._store.log.append_many([Expire(query_id) for query_id in overdue])
        if len(outcomes) == most and not any(isinstance(one, EngineError) for one in outcomes):
            self._overdue_next_s = now_s  # there may be more of them: in the next turn

    def _note_appended(self) -> None:
        """Take note that the fold itself is to append something, which is not at hand; also if its answer is lost."""
        if self._at_hand is not None:
            self._at_hand.is_incomplete = True
