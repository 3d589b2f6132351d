"""`PsoupClient`: one method for each HTTP call that a command, a loader or a job makes.

Not safe for use by several threads at once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import orjson

from psoup.client.connections import operations
from psoup.client.connections.connection import Connection
from psoup.client.connections.messages import (
    ARROW_STREAM,
    NDJSON,
    Answer,
    JsonObject,
    Request,
    following_page,
    get,
    json_object,
    with_json,
)
from psoup.client.connections.operations import (
    Txn,
    content_headers,
    query_path,
    quoted,
    stream_path,
)
from psoup.client.connections.registrations import registration_bodies
from psoup.client.connections.retrying import RetryPolicy, may_repeat
from psoup.client.errors import GenerationChangedError, ServiceProblem
from psoup.engine import limits
from psoup.engine.query.parameters import NO_PARAMETERS, Parameters

__all__ = ["ARROW_STREAM", "JsonObject", "PsoupClient", "RetryPolicy", "Txn"]

WORKER_HEADER: Final = "Psoup-Worker"
"""Names the worker that sends a part of an archive answer."""


class PsoupClient(Connection):
    """A client of one psoup service. Use it as a context manager: it holds connections.

    Each method raises ServiceProblem if the service refuses the request, and ServiceUnreachableError if nothing
    answers, after the attempts that its RetryPolicy allows.
    """

    # --- Streams ----------------------------------------------------------------------------------

    def declare(self, stream: str, definition: Mapping[str, object]) -> tuple[JsonObject, bool]:
        """Declare a stream; return its description and whether it is new."""
        return self.run(operations.declare(stream, definition))

    def add_columns(self, stream: str, columns: Sequence[JsonObject]) -> JsonObject:
        """Add columns to a stream, those of them that are not there just so; return its description."""
        return self.run(operations.add_columns(stream, columns))

    def stream(self, name: str) -> JsonObject | None:
        """Return a stream's description, or None where there is no such stream."""
        return self.run(operations.found(stream_path(name)))

    def streams(self) -> Iterator[JsonObject]:
        """Yield the description of every stream."""
        return self.listed("/v1/streams", "streams")

    def drop(self, stream: str, *, cascade: bool = False) -> None:
        """Drop a stream; with `cascade` also the queries over it."""
        self.run(operations.drop(stream, cascade=cascade))

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

        With a `txn` the request is repeated until the service confirms or refuses it. Without one it is repeated
        only after answers that say nothing was stored.
        """
        return self.run(
            operations.append(stream, body, content_type=content_type, txn=txn, encoding=encoding)
        )

    # --- Queries ----------------------------------------------------------------------------------

    def register(
        self,
        sql: str,
        *,
        params: Parameters = NO_PARAMETERS,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        materialize: str | None = None,
        ttl: str | None = None,
    ) -> JsonObject:
        """Register a query, with values for the parameters `:name` of its text; return its description with `id`."""
        body = operations.registration(
            sql, params=params, name=name, labels=labels, materialize=materialize, ttl=ttl
        )
        return self.run(operations.register(body))

    def register_many(
        self, registrations: Iterable[Mapping[str, object]], *, describe: bool = True
    ) -> Iterator[JsonObject]:
        """Register queries, many in one request; yield one outcome for each, in order.

        Args:
            registrations: bodies of POST /v1/queries.
            describe: whether an outcome holds the whole description of its query.

        Yields:
            The lines of the service: `status`, and `query` (only `id` and `seq` without `describe`) or `problem`.
            `index` counts over all registrations. Those that the service refused for now, without registering
            them, are sent again while the retry budget lasts.
        """
        first = 0
        for body in registration_bodies(registrations):
            for index, line in enumerate(self._register_body(body, describe=describe), first):
                yield {**line, "index": index}
            first += len(body)

    def query(self, query_id: str) -> JsonObject:
        """Return a query's description."""
        return self.run(operations.described(query_path(query_id)))

    def queries(self, *labels: str) -> Iterator[JsonObject]:
        """Yield the description of every query, or of those that have these labels, `key:value` each."""
        return self.listed(operations.queries_path(*labels), "queries")

    def remove(self, query_id: str) -> None:
        """Remove a query."""
        self.run(operations.remove(query_id))

    def remove_labelled(self, *labels: str) -> int:
        """Remove all queries that have these labels, `key:value` each; return how many."""
        return self.run(operations.remove_labelled(*labels))

    def top(self, *, by: str, limit: int) -> Sequence[JsonObject]:
        """Return the queries that have most of `by`: `bytes`, `matches` or `invokes`."""
        return self.run(operations.top(by, limit))

    def invoke(self, query_id: str, **parameters: str | int) -> JsonObject:
        """Return one page of a query's answer, as the service's envelope."""
        path = f"{query_path(query_id)}/results"
        return json_object(self.request(get(path, parameters)))

    def pages(self, query_id: str, **parameters: str | int) -> Iterator[Answer]:
        """Yield every page of one answer, in any format. All pages belong to one seq and instant."""
        path = f"{query_path(query_id)}/results"
        answer = self.request(get(path, parameters))
        while True:
            yield answer
            following = following_page(answer)
            if following is None:
                return
            answer = self.request(get(following))

    def answer_pages(self, query_id: str, **parameters: str | int) -> JsonObject:
        """Return the envelope of a query's answer, with `pages`: the addresses of all of its pages, `limit` rows each.

        All pages belong to one seq and instant. `arrow_page` reads each address, in any order and any number of
        times, from any process.
        """
        return self.invoke(query_id, **{**parameters, "count": "only", "pages": "all"})

    def arrow_page(self, address: str) -> Iterator[bytes]:
        """Yield the rows of one page as Arrow IPC streams: one stream, or several if its bytes are too many for one."""
        following: str | None = address
        while following is not None:
            answer = self.request(get(following, accept=ARROW_STREAM))
            yield answer.content
            following = following_page(answer)

    # --- Staged batches ---------------------------------------------------------------------------

    def stage(
        self, stream: str, body: bytes, *, content_type: str, encoding: str | None = None
    ) -> JsonObject:
        """Stage a batch of rows; return the service's receipt, with `stage`: the handle of the part.

        If the answer is lost, the rows are staged again. The service drops parts that no commit names in time.
        """
        path = f"{stream_path(stream)}/stages"
        return json_object(
            self.request(
                Request(
                    method="POST",
                    path=path,
                    content=body,
                    headers=content_headers(content_type, encoding),
                )
            )
        )

    def commit(self, txn: Txn, stages: Sequence[str]) -> JsonObject:
        """Make staged parts visible at one position; return the service's receipt. Safe to repeat.

        A repeated commit may cut the rows of a stream into other parts: rows are compared by stream. `duplicate` in
        the receipt says that an earlier commit had stored them.
        """
        body = {"app": txn.app, "version": txn.version, "stages": list(stages)}
        return json_object(self.request(with_json("POST", "/v1/commits", body)))

    def discard(self, stage: str) -> None:
        """Drop a staged part. Does nothing to a part that was committed."""
        self.request(Request(method="DELETE", path=f"/v1/stages/{quoted(stage)}"))

    # --- Batches for an archive -------------------------------------------------------------------

    def hold(self, stream: str, through: int, *, gen: int | None = None) -> JsonObject:
        """Hold a stream's batches past position `through`, which never goes back; return the hold.

        Raises:
            GenerationChangedError: the service's generation is not `gen`; nothing has changed.
        """
        position = {"through": through} if gen is None else {"through": through, "gen": gen}
        try:
            return json_object(
                self.request(with_json("PUT", f"{stream_path(stream)}/archive", position))
            )
        except ServiceProblem as problem:
            if problem.problem == "gen-differs":
                raise GenerationChangedError(problem.detail) from problem
            raise

    def held(self, stream: str) -> JsonObject | None:
        """Return a stream's hold: `through`, `held_batches`, `held_bytes`; None: the stream has no hold."""
        return self.run(operations.found(f"{stream_path(stream)}/archive"))

    def unhold(self, stream: str) -> None:
        """Release a stream's hold."""
        self.request(Request(method="DELETE", path=f"{stream_path(stream)}/archive"))

    def batch_list(
        self, stream: str, *, after: int = 0, limit: int = limits.LIST_ROWS_MAX
    ) -> JsonObject:
        """Return the first page of a stream's batches past `after`: `gen`, `seq` of its end, `batches`."""
        params = {"after": after, "limit": limit}
        return json_object(self.request(get(f"{stream_path(stream)}/batches", params)))

    def batches(self, stream: str, *, after: int = 0) -> Iterator[JsonObject]:
        """Yield `seq` and `bytes` of each of a stream's batches past `after`, ascending."""
        path = f"{stream_path(stream)}/batches?after={after}&limit={limits.LIST_ROWS_MAX}"
        return self.listed(path, "batches")

    def batch(self, stream: str, seq: int, *, gen: int | None = None) -> bytes | None:
        """Return one batch as an Arrow IPC stream with `_id`, `_seq` and `_arrival`; None: no such batch.

        Raises:
            GenerationChangedError: the service's generation is not `gen`.
        """
        try:
            answer = self.request(get(f"{stream_path(stream)}/batches/{seq}"))
        except ServiceProblem as problem:
            if problem.problem == "not-found":
                return None
            raise
        check_generation(gen, int(answer.headers["psoup-gen"]))
        return answer.content

    # --- Archive answers --------------------------------------------------------------------------

    # Each call below may be repeated. `worker` is a text of its own for each claim: 8 to 64 letters, digits, `-`
    # or `_`. ServiceProblem `history-taken`: another worker has the claim, or the answer has ended.

    def archive_answers(self, *, state: str | None = None) -> list[JsonObject]:
        """Return the records of the archive answers in this state, the oldest first; None: in any state.

        Those in the state `queued` may be claimed: they were never claimed, or their claim was not renewed in time.
        """
        params = {} if state is None else {"state": state}
        listed = json_object(self.request(get("/v1/histories", params)))
        return list(listed["histories"])

    def claim_archive_answer(
        self, answer_id: str, worker: str, *, done: int = 0, of: int | None = None
    ) -> JsonObject:
        """Claim an archive answer, or renew the claim and report progress; return its record."""
        return self._report(answer_id, worker, state="running", done=done, of=of)

    def finish_archive_answer(
        self,
        answer_id: str,
        worker: str,
        *,
        parts: int,
        rows: int,
        complete_from: str | None,
        overflowed: Sequence[str] = (),
    ) -> JsonObject:
        """Declare the parts 0 to `parts` - 1 to be the answer, complete from an instant on; return its record.

        `overflowed`: aggregates, as the canonical text writes them, that are NULL somewhere because they overflow.
        """
        members: JsonObject = {"overflowed": list(overflowed)} if overflowed else {}
        members |= {"parts": parts, "rows": rows, "complete_from": complete_from}
        return self._report(answer_id, worker, state="done", **members)

    def fail_archive_answer(self, answer_id: str, worker: str, detail: str) -> JsonObject:
        """Give up an archive answer, with the reason that its reader is shown; return its record."""
        return self._report(answer_id, worker, state="failed", detail=detail)

    def put_answer_part(
        self, answer_id: str, worker: str, number: int, body: bytes, *, encoding: str | None = None
    ) -> None:
        """Send one part of the rows, an Arrow IPC stream. It replaces a part of the same number."""
        headers = {**content_headers(ARROW_STREAM, encoding), WORKER_HEADER: worker}
        path = f"{_archive_answer(answer_id)}/parts/{number}"
        self.request(Request(method="PUT", path=path, content=body, headers=headers))

    # --- The service ------------------------------------------------------------------------------

    def status(self) -> JsonObject:
        """Return the service's figures."""
        return self.run(operations.described("/v1/status"))

    def ready(self) -> bool:
        """Return whether the service says that it is ready; False if nothing answers."""
        outcome = self.attempt(get("/readyz"))
        return isinstance(outcome, Answer) and outcome.is_success

    def _report(self, answer_id: str, worker: str, **members: object) -> JsonObject:
        """Report the state of an archive answer; return its record."""
        body = {"worker": worker, **members}
        return json_object(self.request(with_json("POST", _archive_answer(answer_id), body)))

    def _register_body(self, body: Sequence[bytes], *, describe: bool) -> list[JsonObject]:
        """Register the lines of one body; return one outcome for each."""
        params = {"describe": "full" if describe else "ids"}
        headers = {"Content-Type": NDJSON}
        outcomes: list[JsonObject] = [{}] * len(body)
        pending = list(range(len(body)))
        attempt, started_s = 0, self.policy.clock()
        while True:
            content = b"".join(body[index] for index in pending)
            answer = self.request(
                Request(
                    method="POST",
                    path="/v1/batch/queries",
                    repeatable=False,
                    params=params,
                    content=content,
                    headers=headers,
                )
            )
            for index, line in zip(pending, _lines(answer), strict=True):
                outcomes[index] = line
            again = [index for index in pending if _is_retryable(outcomes[index])]
            if len(again) < len(pending):
                attempt, started_s = 0, self.policy.clock()
            pause_s = self.policy.pause_s(attempt)
            if not again or self.policy.clock() + pause_s > started_s + self.policy.budget_s:
                return outcomes
            self.sleep(pause_s)
            pending, attempt = again, attempt + 1


def check_generation(expected: int | None, gen: int) -> None:
    """Raise GenerationChangedError if positions of generation `expected` mean nothing in generation `gen`."""
    if expected is not None and expected != gen:
        raise GenerationChangedError(
            f"The service's history is {gen}, and what was read before is of {expected}: the service has lost its"
            " history since or is another one, so positions of before name nothing in it. Begin anew, with a new"
            " checkpoint, and compare with what was stored before."
        )


def _archive_answer(answer_id: str) -> str:
    return f"/v1/histories/{quoted(answer_id)}"


def _lines(answer: Answer) -> list[JsonObject]:
    return [orjson.loads(line) for line in answer.content.splitlines()]


def _is_retryable(line: JsonObject) -> bool:
    """Return whether a query was not registered, and the same line may succeed later."""
    problem = line.get("problem")
    if not isinstance(problem, dict):
        return False
    return may_repeat(ServiceProblem(line["status"], problem), repeatable=False, answered=True)
