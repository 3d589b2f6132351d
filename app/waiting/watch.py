"""Those who wait for the answer of one query to change."""

import asyncio
from enum import Enum, StrEnum, auto
from typing import TypeVar

from psoup.app.waiting.standing import Place, Standing
from psoup.engine.log.operation import QueryId

Result = TypeVar("Result")


class On(StrEnum):
    """What ends a wait."""

    ENTER = "enter"
    """A row enters, by new data or by the clock, or is taken back."""
    ANY = "any"
    """The answer changes in any way: also where rows leave."""


class Wake(Enum):
    """Why a wait has ended."""

    CHANGED = auto()
    """The answer may have changed, or the query is gone: ask again."""
    TIMED_OUT = auto()
    LEFT = auto()
    """The client has disconnected."""
    SHED = auto()
    """The service is too busy to let anybody wait."""
    CLOSED = auto()
    """The service ends."""


Waiter = asyncio.Future[Wake]


class Watch:
    """One query that somebody waits for. Used in the event loop alone.

    Attributes:
        query_id: of the query.
        standing: where its answer was last seen to stand.
    """

    __slots__ = ("_any", "_changed", "_entered", "_waiters", "query_id", "standing")

    def __init__(self, query_id: QueryId, at: Standing) -> None:
        """Begin at the standing of the first who waits; what happened before it nobody here knows."""
        self.query_id = query_id
        self.standing = at
        self._any = 0
        """Those who wait for any change."""
        self._changed = self._entered = at.place
        self._waiters: dict[Waiter, tuple[On, Place]] = {}

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiters)

    @property
    def alarm_us(self) -> int | None:
        """Return the instant of the server's clock at which somebody may have to be woken; None = at none."""
        concerns = self._any or self.standing.enters
        return self.standing.alarm_us if concerns and self._waiters else None

    def add(self, waiter: Waiter, at: Standing, on: On) -> None:
        """Let one wait from `at`; wake him now where the answer has changed since."""
        self._waiters[waiter] = on, at.place
        self._any += on is On.ANY
        if at.place < (self._entered if on is On.ENTER else self._changed):
            self._wake(Wake.CHANGED, [waiter])

    def remove(self, waiter: Waiter) -> None:
        """Forget one; one who is not here is no error."""
        waits = self._waiters.pop(waiter, None)
        self._any -= waits is not None and waits[0] is On.ANY

    def change(self, place: Place | None, *, entered: bool) -> int:
        """Note that the answer has changed up to `place`, wake whom that concerns; return how many those are.

        Args:
            place: where it has changed; None = nobody knows, so all have to see for themselves.
            entered: not only have rows left.
        """
        if place is None:
            return self.wake_all(Wake.CHANGED)
        self._changed = max(self._changed, place)
        if entered:
            self._entered = max(self._entered, place)
        return self._wake(
            Wake.CHANGED,
            [
                waiter
                for waiter, (on, theirs) in self._waiters.items()
                if theirs < place and (entered or on is On.ANY)
            ],
        )

    def wake_all(self, why: Wake) -> int:
        """Wake all; return how many those are."""
        return self._wake(why, list(self._waiters))

    def _wake(self, why: Wake, waiters: list[Waiter]) -> int:
        for waiter in waiters:
            release(waiter, why)
        return len(waiters)

    def check(self) -> None:
        """Raise AssertionError if somebody is remembered who waits no more, or rows entered without a change."""
        counted = sum(on is On.ANY for on, _ in self._waiters.values()) == self._any
        done = any(waiter.done() for waiter in self._waiters)
        if done or not counted or self._entered > self._changed:
            raise AssertionError(f"{self.query_id}: {self._waiters}, {self._entered}")


def release(waiter: asyncio.Future[Result], why: Result) -> None:
    """End a wait, unless it has ended: another of the queries that are waited for may have changed first."""
    if not waiter.done():
        waiter.set_result(why)
