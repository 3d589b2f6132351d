"""`Service`: the few HTTP calls that a loader, a command line or a job makes.

Not safe for use by several threads at once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

import httpx
import orjson

from psoup.pipeline.archiving import ArchiveCalls
from psoup.pipeline.calling import (
    ARROW_STREAM,
    JsonObject,
    RetryPolicy,
    following_page,
    json_object,
    may_repeat,
)
from psoup.pipeline.errors import ServiceProblem
from psoup.pipeline.histories import HistoryCalls
from psoup.pipeline.registrations import sliced
from psoup.pipeline.staging import StagingCalls, Txn

__all__ = ["ARROW_STREAM", "JsonObject", "RetryPolicy", "Service", "Txn"]

NDJSON: Final = "application/x-ndjson"


class Service(StagingCalls, ArchiveCalls, HistoryCalls):
    """A psoup service at a URL. Use as a context manager: it holds connections."""

    # --- Streams ----------------------------------------------------------------------------------

    def declare(self, stream: str, definition: Mapping[str, object]) -> tuple[JsonObject, bool]:
        """Declare a stream; return its description and whether it is new."""
        answer = self.request("PUT", f"/v1/streams/{quote(stream, safe='')}", json=definition)
        return json_object(answer), answer.status_code == httpx.codes.CREATED

    def stream(self, name: str) -> JsonObject | None:
        """Return a stream's description, or None where there is no such stream."""
        try:
            return json_object(self.request("GET", f"/v1/streams/{quote(name, safe='')}"))
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
        return json_object(answer)

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
        return json_object(
            self.request("POST", "/v1/queries", json=body, repeatable=name is not None)
        )

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
        return json_object(self.request("GET", f"/v1/queries/{quote(query_id, safe='')}"))

    def queries(self, *, label: str | None = None) -> Iterator[JsonObject]:
        """Yield the description of every query, or of those with a label, `key:value`."""
        path = "/v1/queries" + ("" if label is None else f"?label={quote(label, safe='')}")
        return self._listed(path, "queries")

    def remove(self, query_id: str) -> None:
        """Remove a query."""
        self.request("DELETE", f"/v1/queries/{quote(query_id, safe='')}")

    def invoke(self, query_id: str, **parameters: str | int) -> JsonObject:
        """Return one page of a query's answer, as the service's envelope."""
        path = f"/v1/queries/{quote(query_id, safe='')}/results"
        return json_object(self.request("GET", path, params=parameters))

    def pages(self, query_id: str, **parameters: str | int) -> Iterator[httpx.Response]:
        """Yield every page of one answer, in any format; all belong to one seq and instant."""
        path = f"/v1/queries/{quote(query_id, safe='')}/results"
        answer = self.request("GET", path, params=parameters)
        while True:
            yield answer
            following = following_page(answer)
            if following is None:
                return
            answer = self.request("GET", following)

    def answer_pages(self, query_id: str, **parameters: str | int) -> JsonObject:
        """Return the envelope of a query's answer, with `pages`: the addresses of all of its pages, `limit` rows each.

        All belong to one seq and instant. Whoever has one reads it by `arrow_page`, in any order, as often as he
        likes; so do others, elsewhere.
        """
        return self.invoke(query_id, **{**parameters, "count": "only", "pages": "all"})

    def arrow_page(self, address: str) -> Iterator[bytes]:
        """Yield the rows of one page as Arrow IPC streams: one, or several where their bytes are too many for one."""
        following: str | None = address
        while following is not None:
            answer = self.request("GET", following, headers={"Accept": ARROW_STREAM})
            yield answer.content
            following = following_page(answer)

    def status(self) -> JsonObject:
        """Return the service's figures."""
        return json_object(self.request("GET", "/v1/status"))

    def ready(self) -> bool:
        """Return whether the service answers that it is ready; False where nothing answers."""
        try:
            return bool(self._http.get("/readyz").status_code == httpx.codes.OK)
        except httpx.TransportError:
            return False

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


def _lines(answer: httpx.Response) -> list[JsonObject]:
    return [orjson.loads(line) for line in answer.content.splitlines()]


def _turned_away(line: JsonObject) -> bool:
    """Return whether a line was not registered, and may be later."""
    problem = line.get("problem")
    if not isinstance(problem, dict):
        return False
    return may_repeat(ServiceProblem(line["status"], problem), repeatable=False, answered=True)
