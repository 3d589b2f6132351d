"""Places for requests: so many are worked on at once by one process, and the others are told so at once.

Where more is asked for than can be answered, turning away is most of the work, and what it takes is missing for
answers. So it is decided where a request's head has been read (`app/connection/protocol.py`), by a comparison,
in front of routing, keys and bodies; and once more where the request begins.

A request whose body is on its way, and one that waits for an operation to be applied, need next to nothing, and last
as long as somebody else likes. They have places of their own kinds, of which no client takes more than its share, and
leave those for work to requests that work. A request that was begun is never turned away for want of a place: it
works on when its body is there or its waiting is over, and until then new ones are kept out.
"""

import contextlib
import sys
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto
from typing import Self

from psoup.app.admission.shares import Shares
from psoup.engine.errors import OverloadedError


class Kind(Enum):
    """What a request does: its body is on its way, it waits for an operation, it works, or nobody counts it."""

    FREE = auto()
    READING = auto()
    WAITING = auto()
    WORKING = auto()


@dataclass(frozen=True, slots=True)
class PlaceStatistics:
    """How many are taken now of each kind, and how many requests found none since the start."""

    working: int
    reading: int
    waiting: int
    turned_away: int


class Places:
    """Counts the requests of one application. Only its event loop calls this."""

    def __init__(
        self, *, working: int, reading: int, waiting: int, free: Collection[str] = ()
    ) -> None:
        """Hold so many places of each kind; requests for the paths `free` need none, such as health's."""
        self._working_max, self._begun_max = working, working + reading + waiting
        self._free = frozenset(free)
        self._reading, self._waiting = Shares(reading), Shares(waiting)
        self._working = self._expected = self._turned_away = 0
        self._expected_to_read: list[str] = []
        """Clients whose places for reading are kept until the turn ends."""

    def expect(self, path: str, client: str, *, reads: bool) -> bool:
        """Return whether there is a place for a request whose head is there, and keep it until `end_turn`.

        A turn of the event loop reads hundreds of heads before the first of their requests is begun. Each keeps a
        place of the kind that it will take first, so that it is judged here as `enter` judges it.

        Args:
            path: of the request.
            client: the address that it comes from.
            reads: a body follows the head.
        """
        if path in self._free:
            return True
        full = self._working + self._expected >= self._working_max
        if full or (reads and not self._reading.take(client)):
            self._turned_away += 1
            return False
        if reads:
            self._expected_to_read.append(client)
        else:
            self._expected += 1
        return True

    def end_turn(self) -> None:
        """Keep no place for requests that were expected: they are begun from now on, or never."""
        self._expected = 0
        for client in self._expected_to_read:
            self._reading.give_back(client)
        self._expected_to_read.clear()

    def enter(self, path: str, client: str, *, reads: bool) -> "Place":
        """Return the place of a request that begins, by arguments as `expect` takes.

        Raises:
            OverloadedError: there is none.
        """
        if path in self._free:
            return Place(self, client, Kind.FREE)
        full = self._working >= self._working_max
        if full or (reads and not self._reading.has_room(client)):
            self._turned_away += 1
            raise no_place()
        return Place(self, client, Kind.READING if reads else Kind.WORKING)

    def take(self, kind: Kind, client: str) -> bool:
        """Take a place of `kind` for a request that was begun; return False where there is none. For `Place`.

        For work there always is one: new requests are kept out meanwhile.
        """
        if kind is Kind.WORKING:
            self._working += 1
            return True
        if kind is Kind.READING:
            return self._reading.take(client)
        return kind is Kind.FREE or self._waiting.take(client)

    def give_back(self, kind: Kind, client: str) -> None:
        """Give back what `take` has taken. For `Place`."""
        if kind is Kind.WORKING:
            self._working -= 1
        elif kind is Kind.READING:
            self._reading.give_back(client)
        elif kind is Kind.WAITING:
            self._waiting.give_back(client)

    def hand_over(self, kind: Kind, client: str, heir: str) -> None:
        """Let `heir` have what `take` has taken for `client`. For `Place`.

        Raises:
            OverloadedError: it has its share; `client` keeps the place.
        """
        self.give_back(kind, client)  # first: of places that are all taken this is one
        if not self.take(kind, heir):
            self.take(kind, client)
            self._turned_away += 1
            raise no_place()

    def statistics(self) -> PlaceStatistics:
        """Return counters."""
        reading, waiting = self._reading.taken, self._waiting.taken
        return PlaceStatistics(self._working, reading, waiting, self._turned_away)

    def check(self) -> None:
        """Raise AssertionError if a counter cannot be. For tests."""
        self._reading.check()
        self._waiting.check()
        if not 0 <= self._working <= self._begun_max or not self._expected >= 0:
            raise AssertionError(f"{self._expected} expected, {self.statistics()}")


class Place:
    """The place of one request: a context, in which the request is known and at whose end the place is given back."""

    __slots__ = ("_before", "_client", "_kind", "_places")

    def __init__(self, places: Places, client: str, kind: Kind) -> None:
        """Take a place that there is."""
        self._places, self._client, self._kind = places, client, kind
        places.take(kind, client)

    def __enter__(self) -> Self:
        """Let what is called in here know the place."""
        self._before = _PLACE.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Give the place back."""
        _PLACE.reset(self._before)
        self._places.give_back(self._kind, self._client)

    def belongs_to(self, client: str) -> None:
        """Count as the place of `client` from now on: of a key, which tells more than an address.

        Raises:
            OverloadedError: it has its share; the place stays the address's.
        """
        self._places.hand_over(self._kind, self._client, client)
        self._client = client

    def work(self) -> None:
        """Work from now on: the body is there, or the waiting is over."""
        self._become(Kind.WORKING)

    def wait(self) -> bool:
        """Wait from now on; return False, and keep the place there is, where there is none for that."""
        return self._become(Kind.WAITING)

    def _become(self, kind: Kind) -> bool:
        if kind is not self._kind and self._kind is not Kind.FREE:
            if not self._places.take(kind, self._client):
                return False
            self._places.give_back(self._kind, self._client)
            self._kind = kind
        return True


_PLACE: ContextVar[Place | None] = ContextVar("psoup_place", default=None)
"""Of the request that is worked on here; None = none."""


@contextlib.contextmanager
def waiting() -> Iterator[bool]:
    """Let the request that is worked on here wait in a place for that, and work on at the end.

    Yields whether there is one: who finds none has to do without waiting. What is no request may always wait.
    """
    place = _PLACE.get()
    if place is None:
        yield True
        return
    may_wait = place.wait()
    try:
        yield may_wait
    finally:
        place.work()


def limitless() -> Places:
    """Return places of which there are always enough: for applications that count none."""
    return Places(working=sys.maxsize, reading=sys.maxsize, waiting=sys.maxsize)


def no_place() -> OverloadedError:
    """Return what a request is told that finds no place."""
    return OverloadedError(
        "As many requests as the service holds are being worked on.", reason="requests-in-flight"
    )
