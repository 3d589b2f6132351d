"""`AsyncConnection`: what `Connection` does, for a program that awaits."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, closing
from typing import TypeVar

import httpx2

from psoup.client.connections.address import checked_url
from psoup.client.connections.messages import (
    EVENT_STREAM,
    Following,
    Open,
    Operation,
    Outcome,
    Pause,
    Read,
    Request,
    Tell,
    Unreached,
)
from psoup.client.connections.retrying import Attempts, RetryPolicy
from psoup.client.connections.transport import answer_of, prepared, settings, unreached

T = TypeVar("T")
N = TypeVar("N")


class AsyncConnection:
    """Sends requests to a psoup service at a URL. Several tasks of one event loop may use it."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        retry: RetryPolicy | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Open no connection yet; the first request does.

        Raises:
            AddressError: `url` or `token` is malformed.
        """
        self.url = checked_url(url)
        self.sleep = sleep
        self._attempts = Attempts(self.url, retry or RetryPolicy())
        self._http = httpx2.AsyncClient(transport=transport, **settings(self.url, token))

    async def close(self) -> None:
        """Close the connections. Twice does nothing more."""
        await self._http.aclose()

    async def run(self, operation: Operation[T]) -> T:
        """Carry out an operation; return its result. Raises as `Connection.run`."""
        attempts = self._attempts.of(operation)
        try:
            step = next(attempts)
            while True:
                if isinstance(step, Pause):
                    await self.sleep(step.seconds)
                    step = next(attempts)
                else:
                    step = attempts.send(await self._attempt(step))
        except StopIteration as ended:
            result: T = ended.value
            return result
        finally:
            attempts.close()

    async def follow(self, following: Following[N]) -> AsyncGenerator[N]:
        """Carry out steps for as long as there are any, and yield the news."""
        with closing(following):
            async with aclosing(_Stream(self)) as stream:
                try:
                    step = next(following)
                    while True:
                        match step:
                            case Tell():
                                yield step.news
                                step = next(following)
                            case Read():
                                step = following.send(await stream.read())
                            case Open():
                                step = following.send(await stream.open(step.request))
                            case Request():
                                await stream.aclose()
                                step = following.send(await self._attempt(step))
                            case Pause():
                                await stream.aclose()
                                await self.sleep(step.seconds)
                                step = next(following)
                except StopIteration:
                    return

    async def send(self, request: Request, *, stream: bool = False) -> httpx2.Response:
        """Send a request once; of a stream, read no body. Raises RequestError of httpx2: nothing came, or not all."""
        return await self._http.send(prepared(self._http, self.url, request), stream=stream)

    async def _attempt(self, request: Request) -> Outcome:
        try:
            came = await self.send(request)
        except httpx2.RequestError as error:
            return unreached(error)
        return answer_of(came, came.content)


class _Stream:
    """The stream of events that a program follows at the moment."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._came: httpx2.Response | None = None
        self._chunks: AsyncIterator[bytes] = _nothing()

    async def open(self, request: Request) -> Outcome:
        await self.aclose()
        try:
            self._came = await self._connection.send(request, stream=True)
            is_stream = self._came.headers.get("content-type", "").startswith(EVENT_STREAM)
            content = b"" if is_stream else await self._came.aread()
        except httpx2.RequestError as error:
            return unreached(error)
        self._chunks = self._came.aiter_bytes() if is_stream else _nothing()
        return answer_of(self._came, content)

    async def read(self) -> Unreached | bytes:
        try:
            return await anext(self._chunks, b"")
        except httpx2.RequestError as error:
            return unreached(error)

    async def aclose(self) -> None:
        if self._came is not None:
            await self._came.aclose()
            self._came = None
            self._chunks = _nothing()


async def _nothing() -> AsyncIterator[bytes]:
    for piece in tuple[bytes, ...]():
        yield piece
