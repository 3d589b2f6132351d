"""`Connection`: carries operations out, one after the other. All requests of a program that waits go here."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Self, TypeVar

import httpx2

from psoup.client.closing import Closing
from psoup.client.connections.address import checked_url
from psoup.client.connections.messages import (
    EVENT_STREAM,
    Answer,
    Following,
    JsonObject,
    Open,
    Operation,
    Outcome,
    Pause,
    Read,
    Request,
    Tell,
    Unreached,
    following_page,
    get,
    json_object,
)
from psoup.client.connections.retrying import Attempts, RetryPolicy
from psoup.client.connections.transport import answer_of, prepared, settings, unreached

T = TypeVar("T")
N = TypeVar("N")


class Connection(Closing):
    """Sends requests to a psoup service at a URL. Use it as a context manager: it holds connections.

    Several threads may use it.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        retry: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """Open no connection yet; the first request does.

        Raises:
            AddressError: `url` or `token` is malformed.
        """
        self.url = checked_url(url)
        self.policy = retry or RetryPolicy()
        self.sleep = sleep
        self._attempts = Attempts(self.url, self.policy)
        self.http = httpx2.Client(transport=transport, **settings(self.url, token))

    def close(self) -> None:
        """Close the connections. Twice does nothing more."""
        self.http.close()

    def run(self, operation: Operation[T]) -> T:
        """Carry out an operation; return its result.

        Raises:
            ForeignAddressError: it asks for an address of another scheme, host or port; nothing was sent.
            ServiceProblem: the service refused, for good or until the last attempt.
            ServiceUnreachableError: nothing answers.
        """
        attempts = self._attempts.of(operation)
        try:
            step = next(attempts)
            while True:
                if isinstance(step, Pause):
                    self.sleep(step.seconds)
                    step = next(attempts)
                else:
                    step = attempts.send(self.attempt(step))
        except StopIteration as ended:
            result: T = ended.value
            return result
        finally:
            attempts.close()

    def follow(self, following: Following[N]) -> Generator[N]:
        """Carry out steps for as long as there are any, and yield the news."""
        with closing(following), _Stream(self) as stream:
            try:
                step = next(following)
                while True:
                    match step:
                        case Tell():
                            yield step.news
                            step = next(following)
                        case Read():
                            step = following.send(stream.read())
                        case Open():
                            step = following.send(stream.open(step.request))
                        case Request():
                            stream.close()
                            step = following.send(self.attempt(step))
                        case Pause():
                            stream.close()
                            self.sleep(step.seconds)
                            step = next(following)
            except StopIteration:
                return

    def send(self, request: Request, *, stream: bool = False) -> httpx2.Response:
        """Send a request once; of a stream, read no body. Raises RequestError of httpx2: nothing came, or not all."""
        return self.http.send(prepared(self.http, self.url, request), stream=stream)

    def attempt(self, request: Request) -> Outcome:
        """Send a request once, whatever comes."""
        try:
            came = self.send(request)
        except httpx2.RequestError as error:
            return unreached(error)
        return answer_of(came, came.content)

    def request(self, request: Request) -> Answer:
        """Return the 2xx answer to a request, after as many attempts as the budget allows. Raises as `run`."""
        return self.run(_alone(request))

    def listed(self, path: str, member: str) -> Iterator[JsonObject]:
        """Yield the objects of a list, page by page."""
        following: str | None = path
        while following is not None:
            answer = self.request(get(following))
            yield from json_object(answer)[member]
            following = following_page(answer)


def _alone(request: Request) -> Operation[Answer]:
    return (yield request)


class _Stream:
    """The stream of events that a program follows at the moment."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._came: httpx2.Response | None = None
        self._chunks: Iterator[bytes] = iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, request: Request) -> Outcome:
        self.close()
        try:
            self._came = self._connection.send(request, stream=True)
            is_stream = self._came.headers.get("content-type", "").startswith(EVENT_STREAM)
            content = b"" if is_stream else self._came.read()
        except httpx2.RequestError as error:
            return unreached(error)
        self._chunks = self._came.iter_bytes() if is_stream else iter(())
        return answer_of(self._came, content)

    def read(self) -> Unreached | bytes:
        try:
            return next(self._chunks, b"")
        except httpx2.RequestError as error:
            return unreached(error)

    def close(self) -> None:
        if self._came is not None:
            self._came.close()
            self._came = None
            self._chunks = iter(())
