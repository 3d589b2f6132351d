"""An answer that is a stream of events: written when its client can take the next one, and ended in good order.

Nothing is queued. The source is asked for what there is to tell when the client has taken what it was told before, so a
client that reads slowly gets the sum of what it has missed, and holds one event in memory. While there is nothing to
tell, the source waits, and may write by itself what the connection takes at once.
"""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import asyncio
import time
from enum import Enum, auto
from typing import Final, NamedTuple, Protocol

import orjson
from starlette.responses import Response

from psoup.app.admission.slots import Activity, no_slot
from psoup.app.http.edge import (
    IS_HEAD,
    PAST_BYTES,
    REQUEST_ID,
    Receive,
    Scope,
    Send,
    problem_answer,
)
from psoup.app.http.problems import is_retryable, problem_body
from psoup.app.http.sending import Sending, sending_of
from psoup.app.routes.endpoint import Call, address_of
from psoup.app.waiting.room import WaitingRoom
from psoup.app.waiting.watch import On, Wake
from psoup.app.wire.answers.event_stream import MEDIA_TYPE, PING, event, retry
from psoup.engine import limits
from psoup.engine.errors import EngineError

RETRY_S: Final = 1.0
"""After what the store, or too much else to do, did not let pass."""
_HEADERS: Final = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
"""What stands between is not to gather events to compress them, and nginx not to gather them at all."""
_PROBLEM_OPTIONS: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY


class News(NamedTuple):
    """What there is to tell now.

    Attributes:
        written: events, b"" where nothing has changed.
        is_last: nothing will follow.
        more: there is more to tell at once.
    """

    written: bytes
    is_last: bool = False
    more: bool = False


_RELEASED: Final = News(b"")
"""Stands for the first events once they are written: a stream lasts minutes, and need not hold them."""


class NewsSource(Protocol):
    """What a stream tells of: one query, or many at once."""

    async def tell(self) -> News:
        """Return what there is to tell since the last time. EngineError: there is no answer now, or none any more."""
        ...

    async def wait(self, writer: "Writer", *, on: On, linger_s: float) -> Wake:
        """Wait, when all was told, until there may be something to tell; TIMED_OUT: nothing has happened for a while.

        Two events are `linger_s` seconds apart at least: what changes meanwhile is one event. `on`: what is told of.
        """
        ...


class _End(Enum):
    """Why a stream has ended."""

    IN_ORDER = auto()
    SHED = auto()
    GONE = auto()


class EventStream(Response):
    """The answer. Holds a slot for watching as long as it is written."""

    def __init__(
        self, call: Call, source: NewsSource, first: News, *, on: On, linger_s: float | None
    ) -> None:
        """Tell `first`, and then what `source` tells whenever its wait by `on` and `linger_s` has ended.

        `linger_s` None: LINGER_S_DEFAULT.
        """
        super().__init__(headers=_HEADERS, media_type=MEDIA_TYPE)
        del self.headers["content-length"]
        self._call = call
        self._source = source
        self._first = first
        self._on = on
        self._linger_s = limits.LINGER_S_DEFAULT if linger_s is None else linger_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write it."""
        call = self._call
        slots, client = call.context.front.slots, call.caller.key_id or address_of(call.request)
        if not slots.take(Activity.WATCHING, client):
            await problem_answer(scope, no_slot())(scope, receive, send)
            return
        sending, begun_s = sending_of(scope), time.monotonic()
        if sending is None:
            raise RuntimeError("a stream of events needs a connection of psoup's own")
        sending.begin_stream()
        # Not all that begin together end together.
        lasts_s = call.room.pace.spread_s(limits.EVENTS_S)
        writer = Writer(send, sending, sending.leaving(), latest_s=begun_s + lasts_s)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if IS_HEAD not in scope:
                await self._written(writer, call.room)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            slots.release(Activity.WATCHING, client)
            call.waited(time.monotonic() - begun_s)
            scope["state"][PAST_BYTES] = writer.past_bytes
            sending.end_stream()

    async def _written(self, writer: "Writer", room: WaitingRoom) -> None:
        """Write all events, until it is time to end."""
        (written, is_last, more), self._first = self._first, _RELEASED
        if not await writer.write(retry(limits.EVENTS_RETRY_MS) + written):
            return
        del written
        if not is_last and await self._told(writer, more=more) is _End.SHED:
            await writer.write(retry(room.pace.later_ms()))

    async def _told(self, writer: "Writer", *, more: bool) -> _End:
        """Tell what there is, wait, and so on. It holds nothing that was told."""
        is_last = False
        while not is_last:
            if not more:
                wake = await self._source.wait(writer, on=self._on, linger_s=self._linger_s)
                if wake is Wake.TIMED_OUT and writer.left_s > 0:
                    if not await writer.write(PING):
                        return _End.GONE
                    continue
                if wake is not Wake.CHANGED:
                    return {Wake.LEFT: _End.GONE, Wake.SHED: _End.SHED}.get(wake, _End.IN_ORDER)
            written, is_last, more = await self._next(writer)
            if not await writer.write(written):
                return _End.GONE if writer.left_s > 0 else _End.IN_ORDER
            del written
        return _End.IN_ORDER

    async def _next(self, writer: "Writer") -> News:
        """Return what there is to tell, or why there is nothing."""
        try:
            return await self._source.tell()
        except EngineError as error:
            if not is_retryable(error):
                return News(end_event(self._call, error), is_last=True)
            await writer.pause(RETRY_S)
            return News(PING, more=True)


class Writer:
    """Writes events when the client can take them. Used by one stream.

    Attributes:
        leaving: done when the client has gone.
        told_s: when something was written last, of `time.monotonic`; 0 = never.
        past_bytes: that were written past the application.
    """

    __slots__ = ("_latest_s", "_send", "_sending", "leaving", "past_bytes", "told_s")

    def __init__(
        self,
        send: Send,
        sending: Sending,
        leaving: asyncio.Future[None],
        *,
        latest_s: float,
    ) -> None:
        """Write by `send`, or by `sending` past it, until `latest_s` of `time.monotonic`."""
        self._send = send
        self._sending = sending
        self._latest_s = latest_s
        self.leaving = leaving
        self.told_s = 0.0
        self.past_bytes = 0

    @property
    def left_s(self) -> float:
        """Seconds until the stream is to end."""
        return self._latest_s - time.monotonic()

    async def write(self, data: bytes) -> bool:
        """Write `data`, and wait until the client can take more; return False where it is gone, or its time is over."""
        if self.leaving.done() or self.left_s <= 0:
            return False
        if data:
            self.told_s = time.monotonic()
            await self._send({"type": "http.response.body", "body": data, "more_body": True})
            # Others that are told the same are written to before this one goes on.
            await asyncio.sleep(0)
        try:
            async with asyncio.timeout(self.left_s):
                await self._send({"type": "http.response.body", "body": b"", "more_body": True})
        except TimeoutError:
            return False
        return not self.leaving.done()

    def hear(self, chunk: bytes) -> bool:
        """Write a chunk at once; return whether it is taken: else `write` waits until it is."""
        self.past_bytes += len(chunk)
        return self._sending.write_chunk(chunk)

    async def linger(self, seconds: float) -> None:
        """Wait until the last event is so long ago, for as long as the client is there."""
        await self.pause(self.told_s + seconds - time.monotonic())

    async def pause(self, seconds: float) -> None:
        """Wait, for as long as the client is there."""
        if seconds > 0:
            await asyncio.wait({self.leaving}, timeout=seconds)


def end_event(call: Call, error: EngineError) -> bytes:
    """Return the last event of a stream, which says why nothing will follow."""
    instance = call.request.scope.get(REQUEST_ID, "")
    body = orjson.dumps(problem_body(error, instance=instance), option=_PROBLEM_OPTIONS)
    return event("end", body)
