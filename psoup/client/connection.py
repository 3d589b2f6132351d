"""Sends requests to a psoup service, and repeats them as its contract allows. All requests of this package go here.

Retries what the contract calls retryable and nothing else, honours `Retry-After`, and gives up when
its budget of waiting is spent. A request that must not happen twice (rows without a transaction, a
query without a name) is repeated only after answers that say nothing was stored.
"""

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import httpx
import orjson

from psoup.client.address import checked_token, checked_url, is_same_origin
from psoup.client.errors import (
    ForeignAddressError,
    ProblemRequest,
    ServiceProblem,
    ServiceUnreachableError,
)

JsonObject = dict[str, Any]

ARROW_STREAM: Final = "application/vnd.apache.arrow.stream"
CONNECT_TIMEOUT_S: Final = 5.0
ANSWER_TIMEOUT_S: Final = 90.0
"""Longer than any deadline of the service, which therefore answers first, with a reason."""
RETRY_BUDGET_S: Final = 30.0
RETRY_FIRST_S: Final = 0.1
RETRY_LONGEST_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to retry. `sleep` waits seconds and `clock` returns them; tests pass their own.

    A service that never answered is not waited for, unless `from_the_start`: its address is more likely wrong than
    slow. A job, though, outlives restarts of its service.
    """

    budget_s: float = RETRY_BUDGET_S
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    from_the_start: bool = False

    def pause_s(self, attempt: int, retry_after: str | None) -> float:
        """Return the pause before attempt `attempt` + 1: that of `Retry-After`, else one that doubles."""
        doubling: float = min(RETRY_FIRST_S * 2**attempt, RETRY_LONGEST_S)
        if retry_after is not None and retry_after.isdecimal():
            return max(float(retry_after), doubling)
        return doubling


class Caller:
    """Sends requests to a psoup service at a URL. Use it as a context manager: it holds connections."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        retry: RetryPolicy | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Open no connection yet; the first request does.

        Raises:
            AddressError: `url` or `token` is malformed.
        """
        self.url = checked_url(url)
        self._retry = retry or RetryPolicy()
        self._answered = False
        headers = {"User-Agent": "psoup"}
        if token:
            headers["Authorization"] = f"Bearer {checked_token(token)}"
        self._http = httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=httpx.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            transport=transport,
            trust_env=False,  # a proxy of the surroundings has no business between the two
            follow_redirects=False,  # psoup answers none, and the token is for this service alone
            verify=_certificates(self.url),
        )

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections. Twice does nothing more."""
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        repeatable: bool = True,
        params: Mapping[str, str | int] | None = None,
        json: Mapping[str, object] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Return the 2xx answer to a request, after as many attempts as the budget allows.

        Args:
            method: the verb.
            path: below the service's URL, or an address of the service that it has answered, with its own parameters.
            repeatable: whether doing it twice is the same as once.
            params: query parameters; None keeps those of `path`.
            json: a body, sent as JSON.
            content: a body, sent as it is.
            headers: added to those of every request.

        Raises:
            ForeignAddressError: `path` is an address of another scheme, host or port; nothing was sent.
            ServiceProblem: the service refused, for good or until the last attempt.
            ServiceUnreachableError: nothing answers.
        """
        if json is not None:
            content = orjson.dumps(json)
            headers = {**(headers or {}), "Content-Type": "application/json"}
        send = self._http.build_request(
            method, path, params=params or None, content=content, headers=headers
        )
        if not is_same_origin(send.url, self._http.base_url):
            raise ForeignAddressError(self.url, str(send.url.copy_with(query=None)))
        started_s = self._retry.clock()
        attempt = 0
        while True:
            failure, retry_after = self._attempt(send, json or {}, repeatable=repeatable)
            if isinstance(failure, httpx.Response):
                return failure
            pause_s = self._retry.pause_s(attempt, retry_after)
            spent_s = self._retry.clock() - started_s
            answered = self._answered or self._retry.from_the_start
            if not may_repeat(failure, repeatable=repeatable, answered=answered):
                raise failure
            if spent_s + pause_s > self._retry.budget_s:
                raise failure
            self._retry.sleep(pause_s)
            attempt += 1

    def _attempt(
        self, send: httpx.Request, members: Mapping[str, object], *, repeatable: bool
    ) -> tuple[httpx.Response | ServiceProblem | ServiceUnreachableError, str | None]:
        """Return the answer, or the error with its `Retry-After`."""
        try:
            answer = self._http.send(send)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return self._unreachable(error, "Is `psoup serve` running there?"), None
        except httpx.TransportError as error:
            again = "" if repeatable else "It is not known whether the request was carried out."
            return self._unreachable(error, again), None
        self._answered = True
        if answer.is_success:
            return answer, None
        refused = ProblemRequest(send.url.path, dict(send.url.params), members)
        problem = ServiceProblem(answer.status_code, _problem(answer), request=refused)
        return problem, answer.headers.get("Retry-After")

    def _unreachable(self, error: Exception, hint: str) -> ServiceUnreachableError:
        reason = str(error).rstrip(".") or type(error).__name__
        sentence = f"The service at {self.url} does not answer: {reason}. {hint}".rstrip()
        return ServiceUnreachableError(sentence)

    def _listed(self, path: str, member: str) -> Iterator[JsonObject]:
        following: str | None = path
        while following is not None:
            answer = self.request("GET", following)
            yield from json_object(answer)[member]
            following = following_page(answer)


def _certificates(url: str) -> ssl.SSLContext | bool:
    """Return the authorities that verify a service's certificate: the system's, or those of SSL_CERT_FILE."""
    return ssl.create_default_context() if url.lower().startswith("https:") else True


def may_repeat(
    failure: ServiceProblem | ServiceUnreachableError, *, repeatable: bool, answered: bool
) -> bool:
    """Return whether another attempt is allowed and may succeed."""
    if isinstance(failure, ServiceUnreachableError):
        return repeatable and answered
    if not failure.retryable:
        return False
    return repeatable or (failure.status in {429, 503} and failure.problem != "commit-unknown")


def json_object(answer: httpx.Response) -> JsonObject:
    """Return the JSON object of an answer. Raises ServiceUnreachableError for another body, which is not psoup's."""
    try:
        body = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        sentence = f"{answer.request.url} answered {answer.status_code} without a JSON object: "
        raise ServiceUnreachableError(sentence + "something other than psoup listens there.")
    return body


def _problem(answer: httpx.Response) -> JsonObject:
    try:
        body = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        body = None
    return body if isinstance(body, dict) else {}


def following_page(answer: httpx.Response) -> str | None:
    """Return the address of the next page, from `Link` or from the envelope; None: this is the last page."""
    address: object = answer.links.get("next", {}).get("url")
    if address is None and answer.headers.get("Content-Type", "").startswith("application/json"):
        address = orjson.loads(answer.content).get("next")
    return str(answer.url.join(address)) if isinstance(address, str) else None
