"""Reading a request's body: bounded in bytes and in time.

All bodies in memory share one more bound: the limit of one body, times the requests under way, is more memory than a
machine has.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from psoup.app.errors import BodyTooLargeError, FramingError, RequestTimeoutError
from psoup.app.http.edge import Message, Receive
from psoup.app.settings import Settings
from psoup.engine import limits
from psoup.engine.errors import OverloadedError

ARRIVING: Final = "psoup.arriving"
"""The extension of a scope that holds the `Arriving` of the request's body."""


class Arriving(Protocol):
    """A body on its way."""

    @property
    def has_ended(self) -> bool:
        """Return whether all of it has arrived."""
        ...


@dataclass(frozen=True, slots=True)
class BodyStatistics:
    """Bytes of bodies in memory now, the most that ever were, and how often there was no room."""

    held_bytes: int
    highest_bytes: int
    refused: int


class BodyBudget:
    """The bytes of all bodies in memory. Invariant: never more than `bytes_max`. Thread-safe."""

    def __init__(self, bytes_max: int = limits.BODIES_IN_FLIGHT_BYTES_MAX) -> None:
        """Begin with nothing held."""
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._held = self._highest = self._refused = 0

    def take(self, count: int) -> None:
        """Take `count` bytes; a negative count gives bytes back.

        Raises:
            OverloadedError: there is no room; nothing is taken.
        """
        with self._lock:
            if count > 0 and self._held + count > self._bytes_max:
                self._refused += 1
                raise OverloadedError(
                    "The bodies of requests under way fill the memory there is for them: send it again"
                    " soon, or in smaller batches.",
                    reason="memory",
                )
            self._held += count
            self._highest = max(self._highest, self._held)

    def statistics(self) -> BodyStatistics:
        """Return counters."""
        return BodyStatistics(self._held, self._highest, self._refused)

    def check(self) -> None:
        """Raise AssertionError if more is held than may be, or less than nothing. For tests."""
        if not 0 <= self._held <= self._bytes_max:
            raise AssertionError(f"{self._held} bytes held, {self._bytes_max} at most")


class HeldBody:
    """The bytes of a budget that one request holds: they grow while its body arrives and is decoded, until `release`.

    Thread-safe: a thread that still decodes for a request that has ended gets no more bytes.
    """

    def __init__(self, budget: BodyBudget) -> None:
        """Hold nothing yet."""
        self._budget = budget
        self._lock = threading.Lock()
        self._bytes = 0
        self._released = False

    def resize(self, count: int) -> None:
        """Hold `count` bytes from now on, instead of those before.

        Raises:
            OverloadedError: there is no room for more; the bytes before stay held.
            FramingError: the request has ended.
        """
        with self._lock:
            if self._released:
                raise FramingError("The request has ended.")
            self._budget.take(count - self._bytes)
            self._bytes = count

    def release(self) -> None:
        """Release all bytes; no more can be held."""
        with self._lock:
            self._released = True
            self._budget.take(-self._bytes)
            self._bytes = 0


async def read_body(
    receive: Receive,
    *,
    content_length: str | None,
    bytes_max: int,
    settings: Settings,
    held: HeldBody,
    is_here: bool = False,
) -> bytes:
    """Return the whole body.

    Args:
        receive: the request's ASGI channel.
        content_length: the header, None where it was not sent; a body over the limit is refused before it arrives.
        bytes_max: the limit of the body.
        settings: the time for a request, and its least rate after the grace.
        held: grows with the body; the caller releases it.
        is_here: all of it has arrived: it is not waited for.

    Raises:
        OverloadedError: the bodies of other requests leave no memory; no more of this one is read.
        BodyTooLargeError: more than `bytes_max`.
        RequestTimeoutError: too late or too slow.
        FramingError: the client disconnected before the end of the body.
    """
    if content_length is not None and content_length.isdigit() and int(content_length) > bytes_max:
        raise _too_large(bytes_max)
    begun = time.monotonic()
    body = bytearray()
    while True:
        if is_here:
            message = await receive()
        else:
            message = await _awaited(receive, _latest(len(body), begun, settings))
        if message["type"] == "http.disconnect":
            raise FramingError("The request ended before its body did.")
        piece = message.get("body", b"")
        if len(body) + len(piece) > bytes_max:
            raise _too_large(bytes_max)
        held.resize(len(body) + len(piece))
        is_last = not message.get("more_body", False)
        if is_last and not body:
            return bytes(piece)
        body += piece
        if is_last:
            return bytes(body)


def has_arrived(scope: Mapping[str, Any]) -> bool:
    """Return whether all of a request's body is known to have arrived."""
    arriving: Arriving | None = scope.get("extensions", {}).get(ARRIVING)
    return arriving is not None and arriving.has_ended


async def _awaited(receive: Receive, latest: float) -> Message:
    """Return what comes next by `latest`, in the event loop's time. Raises RequestTimeoutError."""
    try:
        async with asyncio.timeout_at(latest):
            return await receive()
    except TimeoutError as error:
        raise RequestTimeoutError(
            "The body did not arrive in time, or too slowly. Send it again, or split it."
        ) from error


def _latest(received: int, begun: float, settings: Settings) -> float:
    """Return the deadline of the next piece, in the event loop's time."""
    allowed = settings.request_s
    rate = settings.request_bytes_per_s_min
    if rate:
        allowed = min(allowed, settings.request_grace_s + received / rate)
    left = begun + allowed - time.monotonic()
    return asyncio.get_running_loop().time() + max(left, 0.0)


def _too_large(bytes_max: int) -> BodyTooLargeError:
    return BodyTooLargeError(
        "The body is over its limit: split it.", limit="body", max_bytes=bytes_max
    )
