"""`Service`: the few HTTP calls that a loader, a command line or a job makes.

Retries what the contract calls retryable and nothing else, honours `Retry-After`, and gives up when
its budget of waiting is spent. A request that must not happen twice (rows without a transaction, a
query without a name) is repeated only after answers that say nothing was stored.
Not safe for use by several threads at once.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote

import httpx
import orjson

from pipeline.address import checked_token, checked_url
from pipeline.errors import ServiceProblem, ServiceUnreachableError
from pipeline.registrations import sliced

JsonObject = dict[str, Any]

ARROW_STREAM: Final = "application/vnd.apache.arrow.stream"
NDJSON: Final = "application/x-ndjson"
CONNECT_TIMEOUT_S: Final = 5.0
ANSWER_TIMEOUT_S: Final = 90.0
"""Longer than any deadline of the service: it answers first, with a reason."""
RETRY_BUDGET_S: Final = 30.0
RETRY_FIRST_S: Final = 0.1
RETRY_LONGEST_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Txn:
    """A producer's batch: sending it again under the same pair stores nothing twice."""

    app: str
    version: int


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to keep trying. `sleep` waits seconds, `clock` counts them; tests pass their own."""

    budget_s: float = RETRY_BUDGET_S
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def pause_s(self, attempt: int, retry_after: str | None) -> float:
        """Return the wait before attempt `attempt` + 1: what the service asked, else doubling."""
        doubling: float = min(RETRY_FIRST_S * 2**attempt, RETRY_LONGEST_S)
        if retry_after is not None and retry_after.isdecimal():
            return max(float(retry_after), doubling)
        return doubling


class Service:
    """A psoup service at a URL. Use as a context manager: it holds connections."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        retry: RetryPolicy | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Connect to nothing yet; the first call does.

        Raises:
            AddressError: `url` or `token` cannot be.
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
        )

    def __enter__(self) -> Self:
        """Return the service."""
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

    # --- Streams ----------------------------------------------------------------------------------

    def declare(self, stream: str, definition: Mapping[str, object]) -> tuple[JsonObject, bool]:
        """Declare a stream; return its description and whether it is new."""
        answer = self.request("PUT", f"/v1/streams/{quote(stream, safe='')}", json=definition)
        return _object(answer), answer.status_code == httpx.codes.CREATED

    def stream(self, name: str) -> JsonObject | None:
        """Return a stream's description, or None where there is no such stream."""
        try:
            return _object(self.request("GET", f"/v1/streams/{quote(name, safe='')}"))
        except ServiceProblem as problem:
            if problem.problem == "not-found":
                return None
            raise

    def streams(self) -> Iterator[JsonObject]:
        """Yield the description of every stream."""
        return self._listed("/v1/streams", "streams")

    def drop(self, stream: str, *, cascade: bool = False) -> None:
        """Drop a stream; with `cascade` also the queries over it."""
        parameters = {"cascade": "true"} if cascade else {}
        self.request("DELETE", f"/v1/streams/{quote(stream, safe='')}", params=parameters)

    def append(
        self,
        stream: str,
        body: bytes,
        *,
        content_type: str,
        txn: Txn | None = None,
        encoding: str | None = None,
    ) -> JsonObject:
        """Append one batch of rows; return the service's receipt.

        With a `txn` the batch is repeated until its fate is known; without one only while the answer
        says that nothing was stored.
        """
        headers = {"Content-Type": content_type}
        if encoding is not None:
            headers["Content-Encoding"] = encoding
        if txn is not None:
            headers["Psoup-Txn-App"] = txn.app
            headers["Psoup-Txn-Version"] = str(txn.version)
        path = f"/v1/streams/{quote(stream, safe='')}/rows"
        answer = self.request(
            "POST", path, content=body, headers=headers, repeatable=txn is not None
        )
        return _object(answer)

    # --- Queries ----------------------------------------------------------------------------------

    def register(
        self,
        sql: str,
        *,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        materialize: str | None = None,
    ) -> JsonObject:
        """Register a query; return its description with `id`."""
        body: JsonObject = {"sql": sql}
        if name is not None:
            body["name"] = name
        if labels:
            body["labels"] = dict(labels)
        if materialize is not None:
            body["materialize"] = materialize
        return _object(self.request("POST", "/v1/queries", json=body, repeatable=name is not None))

    def register_many(
        self, registrations: Iterable[Mapping[str, object]], *, describe: bool = True
    ) -> Iterator[JsonObject]:
        """Register queries, many by one request; yield what became of each, in their order.

        Args:
            registrations: bodies of POST /v1/queries.
            describe: whether each is answered with its whole description.

        Yields the service's lines: `status`, and `query` (`id` and `seq` without `describe`) or
        `problem`; `index` counts over all. Those that the service turned away for now, surely without
        registering them, are sent again as the budget of waiting allows.
        """
        first = 0
        for part in sliced(registrations):
            for index, line in enumerate(self._registered(part, describe=describe), first):
                yield {**line, "index": index}
            first += len(part)

    def query(self, query_id: str) -> JsonObject:
        """Return a query's description."""
        return _object(self.request("GET", f"/v1/queries/{quote(query_id, safe='')}"))

    def queries(self) -> Iterator[JsonObject]:
        """Yield the description of every query."""
        return self._listed("/v1/queries", "queries")

    def remove(self, query_id: str) -> None:
        """Remove a query."""
        self.request("DELETE", f"/v1/queries/{quote(query_id, safe='')}")

    def invoke(self, query_id: str, **parameters: str | int) -> JsonObject:
        """Return one page of a query's answer, as the service's envelope."""
        path = f"/v1/queries/{quote(query_id, safe='')}/results"
        return _object(self.request("GET", path, params=parameters))

    def pages(self, query_id: str, **parameters: str | int) -> Iterator[httpx.Response]:
        """Yield every page of one answer, in any format; all belong to one seq and instant."""
        path = f"/v1/queries/{quote(query_id, safe='')}/results"
        answer = self.request("GET", path, params=parameters)
        while True:
            yield answer
            following = _following(answer)
            if following is None:
                return
            answer = self.request("GET", following)

    def status(self) -> JsonObject:
        """Return the service's figures."""
        return _object(self.request("GET", "/v1/status"))

    def ready(self) -> bool:
        """Return whether the service answers that it is ready; False where nothing answers."""
        try:
            return bool(self._http.get("/readyz").status_code == httpx.codes.OK)
        except httpx.TransportError:
            return False

    # --- The one way out --------------------------------------------------------------------------

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
            path: below the service's URL, or an absolute path with its own parameters.
            repeatable: whether doing it twice is the same as once.
            params: query parameters; None keeps those of `path`.
            json: a body, sent as JSON.
            content: a body, sent as it is.
            headers: added to those of every request.

        Raises:
            ServiceProblem: the answer is a problem that waiting does not cure, or did not.
            ServiceUnreachableError: nothing answers.
        """
        if json is not None:
            content = orjson.dumps(json)
            headers = {**(headers or {}), "Content-Type": "application/json"}
        send = self._http.build_request(
            method, path, params=params or None, content=content, headers=headers
        )
        started_s = self._retry.clock()
        attempt = 0
        while True:
            failure, retry_after = self._attempt(send, repeatable=repeatable)
            if isinstance(failure, httpx.Response):
                return failure
            pause_s = self._retry.pause_s(attempt, retry_after)
            spent_s = self._retry.clock() - started_s
            if not _may_repeat(failure, repeatable=repeatable, answered=self._answered):
                raise failure
            if spent_s + pause_s > self._retry.budget_s:
                raise failure
            self._retry.sleep(pause_s)
            attempt += 1

    def _attempt(
        self, send: httpx.Request, *, repeatable: bool
    ) -> tuple[httpx.Response | ServiceProblem | ServiceUnreachableError, str | None]:
        """Return the answer, or what went wrong and the `Retry-After` that came with it."""
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
        return ServiceProblem(answer.status_code, _problem(answer)), answer.headers.get(
            "Retry-After"
        )

    def _unreachable(self, error: Exception, hint: str) -> ServiceUnreachableError:
        reason = str(error).rstrip(".") or type(error).__name__
        sentence = f"The service at {self.url} does not answer: {reason}. {hint}".rstrip()
        return ServiceUnreachableError(sentence)

    def _registered(self, part: Sequence[bytes], *, describe: bool) -> list[JsonObject]:
        """Return what became of each line of one body."""
        params = {"describe": "full" if describe else "ids"}
        headers = {"Content-Type": NDJSON}
        outcomes: list[JsonObject] = [{}] * len(part)
        left = list(range(len(part)))
        attempt, started_s = 0, self._retry.clock()
        while True:
            content = b"".join(part[place] for place in left)
            answer = self.request(
                "POST",
                "/v1/batch/queries",
                repeatable=False,
                params=params,
                content=content,
                headers=headers,
            )
            for place, line in zip(left, _lines(answer), strict=True):
                outcomes[place] = line
            again = [place for place in left if _turned_away(outcomes[place])]
            if len(again) < len(left):
                attempt, started_s = 0, self._retry.clock()
            pause_s = self._retry.pause_s(attempt, None)
            if not again or self._retry.clock() + pause_s > started_s + self._retry.budget_s:
                return outcomes
            self._retry.sleep(pause_s)
            left, attempt = again, attempt + 1

    def _listed(self, path: str, member: str) -> Iterator[JsonObject]:
        following: str | None = path
        while following is not None:
            answer = self.request("GET", following)
            yield from _object(answer)[member]
            following = _following(answer)


def _may_repeat(
    failure: ServiceProblem | ServiceUnreachableError, *, repeatable: bool, answered: bool
) -> bool:
    """Return whether another attempt is allowed and has a point.

    A service that never answered is not waited for: its address is more likely wrong than slow.
    """
    if isinstance(failure, ServiceUnreachableError):
        return repeatable and answered
    if not failure.retryable:
        return False
    return repeatable or (failure.status in {429, 503} and failure.problem != "commit-unknown")


def _object(answer: httpx.Response) -> JsonObject:
    try:
        body = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        sentence = f"{answer.request.url} answered {answer.status_code} without a JSON object: "
        raise ServiceUnreachableError(sentence + "something other than psoup listens there.")
    return body


def _lines(answer: httpx.Response) -> list[JsonObject]:
    return [orjson.loads(line) for line in answer.content.splitlines()]


def _turned_away(line: JsonObject) -> bool:
    """Return whether a line was not registered, and may be later."""
    problem = line.get("problem")
    if not isinstance(problem, dict):
        return False
    return _may_repeat(ServiceProblem(line["status"], problem), repeatable=False, answered=True)


def _problem(answer: httpx.Response) -> JsonObject:
    try:
        body = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        body = None
    return body if isinstance(body, dict) else {}


def _following(answer: httpx.Response) -> str | None:
    """Return the address of the next page: in the envelope, or in `Link` where there is none."""
    address: object = answer.links.get("next", {}).get("url")
    if address is None and answer.headers.get("Content-Type", "").startswith("application/json"):
        address = orjson.loads(answer.content).get("next")
    return str(answer.url.join(address)) if isinstance(address, str) else None
