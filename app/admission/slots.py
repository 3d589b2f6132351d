"""Slots for requests: one process works on a bounded number at once, and refuses the others at once.

Under overload most requests are refused, and each refusal takes time that is missing for answers. So a connection
decides as soon as it has read a request's head (`app/connection/protocol.py`), by one comparison, before routing, keys
and bodies; the endpoint decides once more when the request begins.

A request whose body is still arriving, and one that waits for an operation to be applied, take almost no time, but last
as long as somebody else likes. They have slots of their own kinds, of which no client gets more than its share, and
leave the slots for work to requests that work. A request that has begun is never refused for want of a slot: it works
on when its body has arrived or its waiting is over, and new requests are kept out meanwhile.

One that waits for an answer to change lasts longest. It takes a slot for watching, of which there are many, and keeps
it to its end: when thousands are woken at once, requests that work find their slots as before.
"""

import sys
from collections.abc import Callable, Collection
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto
from typing import Self

from psoup.app.admission.shares import Shares
from psoup.engine.errors import OverloadedError


class Activity(Enum):
    """What a request does: its body is arriving, it waits for an operation or for a change, or it works.

    FREE = it needs no slot.
    """

    FREE = auto()
    READING = auto()
    WAITING = auto()
    WATCHING = auto()
    WORKING = auto()


@dataclass(frozen=True, slots=True)
class SlotStatistics:
    """Slots that are taken now, by activity, and requests that were refused since the start because none was free."""

    working: int
    reading: int
    waiting: int
    watching: int
    turned_away: int


class AdmissionSlots:
    """The slots of one application. Used in its event loop alone."""

    def __init__(
        self,
        *,
        working: int,
        reading: int,
        waiting: int,
        watching: int,
        free: Collection[str] = (),
    ) -> None:
        """Have so many slots for each activity; requests for the paths in `free`, such as health, need none."""
        self._working_max, self._begun_max = working, working + reading + waiting
        self._free = frozenset(free)
        self._reading, self._waiting = Shares(reading), Shares(waiting)
        self._watching = Shares(watching)
        self._on_full: Callable[[], None] = _do_nothing
        self._working = self._expected = self._turned_away = 0
        self._expected_to_read: list[str] = []
        """Clients whose slots for reading are reserved until the turn ends."""

    def when_full(self, relieve: Callable[[], None]) -> None:
        """Call `relieve` when a request is turned away for want of a slot: it may make others give way.

        Not when a client already has its share: what one client asks for too much is no reason for others to go.
        """
        self._on_full = relieve

    def expect(self, path: str, client: str, *, reads: bool) -> bool:
        """Return whether a slot is free for a request whose head has been read; reserve it until `end_turn`.

        One turn of the event loop reads hundreds of heads before the first of their requests begins. Each reserves a
        slot for what it will do first, so that `expect` decides as `enter` will.

        Args:
            path: of the request.
            client: the address that it comes from.
            reads: a body follows the head.
        """
        if path in self._free:
            return True
        full = self._working + self._expected >= self._working_max
        if full or (reads and not self._reading.take(client)):
            self._turn_away(for_all=full or self._reading.is_full)
            return False
        if reads:
            self._expected_to_read.append(client)
        else:
            self._expected += 1
        return True

    def end_turn(self) -> None:
        """Release all reserved slots: the expected requests have begun by now, or never will."""
        self._expected = 0
        for client in self._expected_to_read:
            self._reading.release(client)
        self._expected_to_read.clear()

    def enter(self, path: str, client: str, *, reads: bool) -> "Slot":
        """Return the slot of a request that begins; arguments as for `expect`.

        Raises:
            OverloadedError: no slot is free, or the client has its share.
        """
        if path in self._free:
            return Slot(self, client, Activity.FREE)
        full = self._working >= self._working_max
        if full or (reads and not self._reading.has_room(client)):
            self._turn_away(for_all=full or self._reading.is_full)
            raise no_slot()
        return Slot(self, client, Activity.READING if reads else Activity.WORKING)

    def take(self, activity: Activity, client: str) -> bool:
        """Take a slot for a request that has begun; return whether one was free. For `Slot`.

        A slot for work is always given, beyond their number if need be: new requests are kept out meanwhile.
        """
        if activity is Activity.WORKING:
            self._working += 1
            return True
        if activity is Activity.READING:
            return self._reading.take(client)
        if activity is Activity.WATCHING:
            return self._watching.take(client)
        return activity is Activity.FREE or self._waiting.take(client)

    def release(self, activity: Activity, client: str) -> None:
        """Release a slot that `take` gave to `client`. For `Slot`."""
        if activity is Activity.WORKING:
            self._working -= 1
        elif activity is Activity.READING:
            self._reading.release(client)
        elif activity is Activity.WAITING:
            self._waiting.release(client)
        elif activity is Activity.WATCHING:
            self._watching.release(client)

    def transfer(self, activity: Activity, client: str, owner: str) -> None:
        """Count a slot of `client` as one of `owner` from now on. For `Slot`.

        Raises:
            OverloadedError: `owner` has its share; `client` keeps the slot.
        """
        self.release(activity, client)  # first: all slots may be taken, and this is one of them
        if not self.take(activity, owner):
            self.take(activity, client)
            self._turn_away(
                for_all=False
            )  # there was a slot: it is the owner's share that is taken
            raise no_slot()

    def statistics(self) -> SlotStatistics:
        """Return counters."""
        reading, waiting = self._reading.taken, self._waiting.taken
        watching = self._watching.taken
        return SlotStatistics(self._working, reading, waiting, watching, self._turned_away)

    def check(self) -> None:
        """Raise AssertionError if a counter cannot be. For tests."""
        self._reading.check()
        self._waiting.check()
        self._watching.check()
        if not 0 <= self._working <= self._begun_max or not self._expected >= 0:
            raise AssertionError(f"{self._expected} expected, {self.statistics()}")

    def _turn_away(self, *, for_all: bool) -> None:
        self._turned_away += 1
        if for_all:
            self._on_full()


class Slot:
    """The slot of one request, as a context manager: `waiting` finds it inside, and leaving releases it."""

    __slots__ = ("_activity", "_before", "_client", "_slots")

    def __init__(self, slots: AdmissionSlots, client: str, activity: Activity) -> None:
        """Take a slot; the caller has made sure that one is free."""
        self._slots, self._client, self._activity = slots, client, activity
        slots.take(activity, client)

    def __enter__(self) -> Self:
        """Make this the slot of the running request."""
        self._before = _SLOT.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Release the slot."""
        _SLOT.reset(self._before)
        self._slots.release(self._activity, self._client)

    def charge_to(self, client: str) -> None:
        """Count the slot as one of `client`, a key id, and no longer of the address that the request came from.

        Raises:
            OverloadedError: the key has its share; the slot still counts for the address.
        """
        self._slots.transfer(self._activity, self._client, client)
        self._client = client

    def work(self) -> None:
        """Begin to work: the body has arrived, or the waiting is over."""
        self._become(Activity.WORKING)

    def wait(self) -> bool:
        """Begin to wait for an operation; return False and change nothing where no slot for waiting is free."""
        return self._become(Activity.WAITING)

    def watch(self) -> bool:
        """Wait for a change from now on, to the end of the request; return False where no slot for that is free."""
        return self._become(Activity.WATCHING)

    def _become(self, activity: Activity) -> bool:
        if activity is not self._activity and self._activity is not Activity.FREE:
            if not self._slots.take(activity, self._client):
                return False
            self._slots.release(self._activity, self._client)
            self._activity = activity
        return True


_SLOT: ContextVar[Slot | None] = ContextVar("psoup_slot", default=None)
"""Of the running request; None = no request runs here."""


class waiting:  # noqa: N801 (a context manager, used as a function)
    """Holds a slot for waiting within the context, and works on after it.

    Entering returns whether one was free: without one the request must not wait. Outside of requests it always is.
    """

    __slots__ = ("_slot",)

    def __enter__(self) -> bool:
        """Begin to wait."""
        self._slot = slot = _SLOT.get()
        return slot is None or slot.wait()

    def __exit__(self, *_: object) -> None:
        """Work on."""
        if self._slot is not None:
            self._slot.work()


def unlimited_slots() -> AdmissionSlots:
    """Return slots that never run out, for an application without a bound on requests."""
    most = sys.maxsize
    return AdmissionSlots(working=most, reading=most, waiting=most, watching=most)


def _do_nothing() -> None:
    """Make nobody give way."""


def no_slot() -> OverloadedError:
    """Return the refusal of a request that finds no free slot."""
    return OverloadedError(
        "As many requests as the service holds are being worked on.", reason="requests-in-flight"
    )
