"""An answer that is a stream of events: written when its client can take the next one, and ended in good order.

Nothing is queued. The source is asked for what there is to tell when the client has taken what it was told before, so a
client that reads slowly gets the sum of what it has missed, and holds one event in memory.
"""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import asyncio
import time
from collections.abc import Mapping
from enum import Enum, auto
from typing import Final, NamedTuple, Protocol

import orjson
from starlette.responses import Response

from psoup.app.admission.slots import Activity, no_slot
from psoup.app.http.edge import IS_HEAD, REQUEST_ID, Receive, Scope, Send, problem_answer
from psoup.app.http.problems import is_retryable, problem_body
from psoup.app.http.sending import SENDING, Sending
from psoup.app.routes.endpoint import Call, address_of
from psoup.app.waiting.room import WaitingRoom
from psoup.app.waiting.standing import Standing
from psoup.app.waiting.watch import On, Wake
from psoup.app.wire.answers.event_stream import MEDIA_TYPE, PING, event, retry
from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.log.operation import QueryId

RETRY_S: Final = 1.0
"""After what the store, or too much else to do, did not let pass."""
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""The second tells nginx to pass each event on at once."""
_PROBLEM_OPTIONS: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY


class Told(NamedTuple):
    """What there is to tell now.

    Attributes:
        written: events, b"" where nothing has changed.
        is_last: nothing will follow.
        more: there is more to tell at once.
    """

    written: bytes
    is_last: bool = False
    more: bool = False


class Source(Protocol):
    """What a stream tells of: one query, or many at once."""

    @property
    def seen(self) -> Mapping[QueryId, Standing]:
        """Return what is told of, and where it stood when it was last looked at."""
        ...

    async def tell(self) -> Told:
        """Return what there is to tell since the last time. EngineError: there is no answer now, or none any more."""
        ...


class _End(Enum):
    """Why a stream has ended."""

    IN_ORDER = auto()
    SHED = auto()
    GONE = auto()


class EventStream(Response):
    """The answer. Holds a slot for watching as long as it is written."""

    def __init__(self, call: Call, source: Source, first: Told, *, on: On, linger_s: float) -> None:
        """Tell `first`, and then what `source` tells whenever a change ends a wait by `on`.

        Two events are `linger_s` seconds apart at least: what changes meanwhile is one event.
        """
        super().__init__(headers=_HEADERS, media_type=MEDIA_TYPE)
        del self.headers["content-length"]
        self._call = call
        self._source = source
        self._first = first
        self._on = on
        self._linger_s = linger_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write it."""
        call = self._call
        slots, client = call.context.front.slots, call.caller.key_id or address_of(call.request)
        if not slots.take(Activity.WATCHING, client):
            await problem_answer(scope, no_slot())(scope, receive, send)
            return
        leaving = asyncio.ensure_future(_gone(receive))
        sending: Sending | None = scope.get("extensions", {}).get(SENDING)
        begun_s = time.monotonic()
        if sending is not None:
            sending.begin_stream()
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if IS_HEAD not in scope:
                await self._written(send, leaving)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            leaving.cancel()
            slots.release(Activity.WATCHING, client)
            call.waited(time.monotonic() - begun_s)
            if sending is not None:
                sending.end_stream()

    async def _written(self, send: Send, leaving: asyncio.Future[None]) -> None:
        """Write all events, until it is time to end."""
        room = self._call.room
        writer = _Writer(send, leaving, latest_s=time.monotonic() + _lasts_s(room))
        end = _End.GONE
        if await writer.write(retry(limits.EVENTS_RETRY_MS) + self._first.written):
            end = await self._told(writer, room)
        if end is _End.SHED:
            await writer.write(retry(room.pace.later_ms()))

    async def _told(self, writer: "_Writer", room: WaitingRoom) -> _End:
        """Tell what there is, wait, and so on."""
        told = self._first
        while not told.is_last:
            if not told.more:
                wake = await self._wait(writer, room)
                if wake is Wake.TIMED_OUT and writer.left_s > 0:
                    if not await writer.write(PING):
                        return _End.GONE
                    continue
                if wake is not Wake.CHANGED:
                    return {Wake.LEFT: _End.GONE, Wake.SHED: _End.SHED}.get(wake, _End.IN_ORDER)
                await writer.linger(self._linger_s)
            try:
                told = await self._source.tell()
            except EngineError as error:
                if is_retryable(error):
                    await writer.pause(RETRY_S)
                    told = Told(PING, more=True)
                else:
                    told = Told(end_event(self._call, error), is_last=True)
            if not await writer.write(told.written):
                return _End.GONE if writer.left_s > 0 else _End.IN_ORDER
        return _End.IN_ORDER

    async def _wait(self, writer: "_Writer", room: WaitingRoom) -> Wake:
        timeout_s = min(limits.EVENTS_PING_S, writer.left_s)
        if timeout_s <= 0:
            return Wake.TIMED_OUT
        return await room.wait(
            self._source.seen, on=self._on, timeout_s=timeout_s, leaving=writer.leaving
        )


class _Writer:
    """Writes events when the client can take them."""

    def __init__(self, send: Send, leaving: asyncio.Future[None], *, latest_s: float) -> None:
        self._send = send
        self._latest_s = latest_s
        self._written_s: float | None = None
        self.leaving = leaving

    @property
    def left_s(self) -> float:
        """Seconds until the stream is to end."""
        return self._latest_s - time.monotonic()

    async def write(self, data: bytes) -> bool:
        """Write `data`, and wait until the client can take more; return False where it is gone, or its time is over."""
        if self.leaving.done() or self.left_s <= 0:
            return False
        if data:
            self._written_s = time.monotonic()
            await self._send({"type": "http.response.body", "body": data, "more_body": True})
            await asyncio.sleep(
                0
            )  # others that are told the same are written to before this one goes on
        try:
            async with asyncio.timeout(self.left_s):
                await self._send({"type": "http.response.body", "body": b"", "more_body": True})
        except TimeoutError:
            return False
        return not self.leaving.done()

    async def linger(self, seconds: float) -> None:
        """Wait until the last event is so long ago, for as long as the client is there."""
        if self._written_s is not None:
            await self.pause(self._written_s + seconds - time.monotonic())

    async def pause(self, seconds: float) -> None:
        """Wait, for as long as the client is there."""
        if seconds > 0:
            await asyncio.wait({self.leaving}, timeout=seconds)


def end_event(call: Call, error: EngineError) -> bytes:
    """Return the last event of a stream, which says why nothing will follow."""
    instance = call.request.scope.get(REQUEST_ID, "")
    body = orjson.dumps(problem_body(error, instance=instance), option=_PROBLEM_OPTIONS)
    return event("end", body)


async def _gone(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _lasts_s(room: WaitingRoom) -> float:
    """Return how long a stream lasts: not all that begin together end together."""
    return room.pace.spread_s(limits.EVENTS_S)
