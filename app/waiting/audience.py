"""Those who follow one query by streams of events, and are told the same: it is computed once, and written to all.

Who has been told everything listens here, and holds neither a timer nor a place of its own in the room: one waits for
all. When the answer has changed, what is new is asked for at one position for all places that listeners stand at, each
place once, and the same bytes are written to all who stand there. From then on they stand at one place.

A listener is released to see for himself where that does not do: his connection has not taken all of it, it is more
than one event, or there is no answer.
"""

import asyncio
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple, Protocol

import structlog

from psoup.app.waiting.room import SHED_AT_ONCE, WOKEN_AT_ONCE, WaitingRoom
from psoup.app.waiting.standing import Standing
from psoup.app.waiting.watch import On, Waiter, Wake, release
from psoup.engine.errors import EngineError
from psoup.engine.invocation.position.answer import Since
from psoup.engine.log.operation import QueryId

_LOG = structlog.get_logger("psoup.waiting")


class Heard(NamedTuple):
    """What is new since a place.

    Attributes:
        piece: as it is written to connections; b"" where nothing has changed.
        since: where a client stands behind it.
        standing: where the answer was looked at.
    """

    piece: bytes
    since: Since
    standing: Standing


class Listener(Protocol):
    """One client's stream of events.

    Attributes:
        since: where the client stands.
        standing: where the answer was last looked at for it.
    """

    since: Since
    standing: Standing

    def hear(self, piece: bytes) -> bool:
        """Write `piece`; return False where the connection has not taken all of it yet."""
        ...

    async def ask(self, places: Sequence[Since]) -> Sequence[Heard | None]:
        """Return for each place what is new since then, all at one position; None = it does not fit one event.

        EngineError: there is no answer now, or none any more.
        """
        ...


Listeners = Sequence[tuple[Listener, Waiter]]
"""Each with what is done when he listens no more."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How listeners are told.

    Attributes:
        on: what they are told of.
        linger_s: two events are so many seconds apart at least.
        ping: is written where nothing has happened for `ping_s` seconds.
    """

    on: On
    linger_s: float
    ping: bytes
    ping_s: float


class Audience:
    """The listeners of one query who are told in one manner. Used in the event loop alone.

    Invariant: while anybody listens, the room is waited in from the earliest place that a listener stands at, or
    listeners are being told.
    """

    def __init__(
        self, room: WaitingRoom, query_id: QueryId, manner: Manner, *, end: Callable[[], object]
    ) -> None:
        """Begin empty; `end` is called when the last listener has left."""
        self._room = room
        self._query_id = query_id
        self._manner = manner
        self._end = end
        self._places: dict[Hashable, dict[Listener, Waiter]] = {}
        self._telling: asyncio.Task[None] | None = None
        self._earlier: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when somebody has come who stands at an earlier place than `_from`."""
        self._from: Standing | None = None
        """What is waited from; None = nothing is waited for now."""
        self._told_s = 0.0
        """When the last event or ping was written, of `time.monotonic`."""

    def __len__(self) -> int:
        """Return how many listen."""
        return sum(map(len, self._places.values()))

    async def listen(
        self,
        listener: Listener,
        *,
        left_s: float,
        leaving: asyncio.Future[None],
        told_s: float,
    ) -> Wake:
        """Tell a listener what changes, until that ends; return why. CHANGED: he has to see for himself.

        Args:
            listener: its place is where it stands when this returns.
            left_s: seconds until its time is over.
            leaving: done when its client has gone.
            told_s: when it was told something last, of `time.monotonic`.
        """
        refusal = self._room.refusal(1)
        if refusal is not None:
            return refusal
        loop = asyncio.get_running_loop()
        ended: Waiter = loop.create_future()
        timer = loop.call_later(left_s, release, ended, Wake.TIMED_OUT)

        def note_left(_: object) -> None:
            release(ended, Wake.LEFT)

        leaving.add_done_callback(note_left)
        self._told_s = max(self._told_s, told_s)
        self._places.setdefault(place_of(listener.since), {})[listener] = ended
        if self._telling is None:
            self._telling = loop.create_task(self._tell_on())
        elif self._from is not None and listener.standing.place < self._from.place:
            release(self._earlier, None)
        try:
            why = await ended
            self._room.note_released(why)
            return why
        finally:
            timer.cancel()
            leaving.remove_done_callback(note_left)
            self._forget(listener)

    async def _tell_on(self) -> None:
        """Wait and tell, until the last listener leaves and cancels this."""
        try:
            while await self._tell_next():
                pass
        except Exception:  # noqa: BLE001 (a bug: clients come again)
            _LOG.exception("not-told")
        finally:
            self._telling = None
            _release_each(list(self._listeners()), Wake.CLOSED)

    async def _tell_next(self) -> bool:
        """Wait for what is next and tell it; return False where nothing follows."""
        manner = self._manner
        match await self._wait():
            case Wake.CLOSED:
                return False
            case Wake.SHED:
                self._shed()
            case Wake.TIMED_OUT:
                await self._ping()
            case Wake.CHANGED:
                await asyncio.sleep(max(0.0, self._told_s + manner.linger_s - time.monotonic()))
                await self._tell()
            case Wake.LEFT:
                pass
        return True

    async def _wait(self) -> Wake:
        """Wait from the earliest place until there may be something to tell, until a ping, or for an earlier place."""
        standings = [listener.standing for listener, _ in self._listeners()]
        self._from = min(standings, key=lambda one: one.place)
        self._earlier = asyncio.get_running_loop().create_future()
        return await self._room.wait(
            {self._query_id: self._from},
            on=self._manner.on,
            timeout_s=max(0.0, self._told_s + self._manner.ping_s - time.monotonic()),
            leaving=self._earlier,
            audience=self,
        )

    async def _tell(self) -> None:
        """Ask what is new since each place, and write it to those who stand there."""
        self._from = None
        first = [next(iter(listeners)) for listeners in self._places.values()]
        places = list(self._places)
        try:
            found = await first[0].ask([one.since for one in first])
        except EngineError:
            _release_each(list(self._listeners()), Wake.CHANGED)
            return
        for place, heard in zip(places, found, strict=True):
            if heard is None:
                _release_each(list(self._places.get(place, {}).items()), Wake.CHANGED)
            else:
                await self._write(place, heard)

    async def _write(self, place: Hashable, heard: Heard) -> None:
        """Write to all who stand at a place and listen still, and move them behind what they heard.

        Who cannot take it is released. Cost: two entries of dictionaries and one call of the system a listener.
        """
        piece, since, standing = heard
        if piece:
            self._told_s = time.monotonic()
        behind = place_of(since)
        for told in _batches(self._places.get(place, {})):
            here = self._places[place]
            there = self._places.setdefault(behind, {})
            for listener, ended in told:
                del here[listener]
                there[listener] = ended
                listener.since, listener.standing = since, standing
                if piece and not listener.hear(piece):
                    release(ended, Wake.CHANGED)
            if not here:
                del self._places[place]
            await asyncio.sleep(0)

    async def _ping(self) -> None:
        """Write to all who listen that nothing has happened; who cannot take it is released."""
        self._told_s = time.monotonic()
        for told in _batches(dict(self._listeners())):
            for listener, ended in told:
                if not listener.hear(self._manner.ping):
                    release(ended, Wake.CHANGED)
            await asyncio.sleep(0)

    def _shed(self) -> None:
        """Let some of those who have listened longest give way."""
        oldest = list(islice(self._listeners(), SHED_AT_ONCE))
        _release_each(oldest, Wake.SHED)

    def _listeners(self) -> Iterator[tuple[Listener, Waiter]]:
        return chain.from_iterable(one.items() for one in self._places.values())

    def _remove(self, listener: Listener) -> None:
        place = place_of(listener.since)
        listeners = self._places[place]
        del listeners[listener]
        if not listeners:
            del self._places[place]

    def _forget(self, listener: Listener) -> None:
        """Forget one who listens no more; with the last one all ends."""
        self._remove(listener)
        if not self._places:
            if self._telling is not None:
                self._telling.cancel()
            self._end()


def place_of(since: Since) -> Hashable:
    """Return what clients have in common between whose places nothing can have changed.

    No row has come or gone between them, and the instant at which the clock changes the answer next is the same: the
    answer was the same all the while, though each has seen it at another instant.
    """
    return since.gen, since.parts, since.changes_us, since.count


def _batches(listeners: Mapping[Listener, Waiter]) -> Iterator[Listeners]:
    """Yield WOKEN_AT_ONCE listeners after the other, of each those who listen still when their turn has come."""
    each = iter(list(listeners.items()))
    while batch := list(islice(each, WOKEN_AT_ONCE)):
        if listening := [one for one in batch if not one[1].done()]:
            yield listening


def _release_each(listeners: Listeners, why: Wake) -> None:
    for _, ended in listeners:
        release(ended, why)
