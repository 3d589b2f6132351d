"""The calls of the service that every kind of client makes, as operations: each is written here once."""

import difflib
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from psoup.client.connections.messages import (
    JsonObject,
    Operation,
    Request,
    following_page,
    get,
    json_object,
    with_json,
)
from psoup.client.errors import DefinitionError, ServiceProblem

HANDLE: Final = re.compile("q_[0-9A-Za-z]{22}")
QUERIES: Final = "/v1/queries"
STREAMS: Final = "/v1/streams"


@dataclass(frozen=True, slots=True)
class Txn:
    """The name and version under which a producer sends a batch: the service stores each pair once."""

    app: str
    version: int


def quoted(text: str) -> str:
    """Return a text as one part of an address."""
    return quote(text, safe="")


def stream_path(name: str) -> str:
    """Return the path of a stream."""
    return f"{STREAMS}/{quoted(name)}"


def query_path(query_id: str) -> str:
    """Return the path of a query."""
    return f"{QUERIES}/{quoted(query_id)}"


def queries_path(*labels: str | None) -> str:
    """Return where the queries are listed that have these labels, `key:value` each; None is none."""
    asked = "&".join(f"label={quoted(label)}" for label in labels if label is not None)
    return f"{QUERIES}?{asked}" if asked else QUERIES


def described(path: str) -> Operation[JsonObject]:
    """Return the JSON object at a path."""
    return json_object((yield get(path)))


def described_stream(name: str) -> Operation[JsonObject]:
    """Return the description of a stream; the refusal where there is none says how it is declared."""
    try:
        return (yield from described(stream_path(name)))
    except ServiceProblem as problem:
        if problem.problem == "not-found":
            problem.add_note(
                f'Declare it: .stream("{name}", {{"ts": "timestamp", ...}}, time="ts")'
            )
        raise


def found(path: str) -> Operation[JsonObject | None]:
    """Return the JSON object at a path; None: the service knows none there."""
    try:
        return json_object((yield get(path)))
    except ServiceProblem as problem:
        if problem.problem == "not-found":
            return None
        raise


def listed(path: str, member: str) -> Operation[list[JsonObject]]:
    """Return the objects of all pages of a list."""
    objects: list[JsonObject] = []
    following: str | None = path
    while following is not None:
        answer = yield get(following)
        objects += json_object(answer)[member]
        following = following_page(answer)
    return objects


def declare(stream: str, definition: Mapping[str, object]) -> Operation[tuple[JsonObject, bool]]:
    """Declare a stream; return its description and whether it is new."""
    answer = yield with_json("PUT", stream_path(stream), definition)
    return json_object(answer), answer.status == HTTPStatus.CREATED


def add_columns(stream: str, columns: Sequence[JsonObject]) -> Operation[JsonObject]:
    """Add columns to a stream; return its description. Repeatable: those that are there just so stay."""
    body = {"add_columns": list(columns)}
    return json_object((yield with_json("PATCH", stream_path(stream), body)))


def drop(stream: str, *, cascade: bool) -> Operation[None]:
    """Drop a stream; with `cascade` also the queries over it."""
    params = {"cascade": "true"} if cascade else {}
    yield Request(method="DELETE", path=stream_path(stream), params=params)


def append(
    stream: str, body: bytes, *, content_type: str, txn: Txn | None, encoding: str | None = None
) -> Operation[JsonObject]:
    """Append one batch of rows; return the service's receipt.

    With a `txn` the request is repeated until the service confirms or refuses it. Without one it is repeated
    only after answers that say nothing was stored.
    """
    headers = content_headers(content_type, encoding)
    if txn is not None:
        headers["Psoup-Txn-App"] = txn.app
        headers["Psoup-Txn-Version"] = str(txn.version)
    answer = yield Request(
        method="POST",
        path=f"{stream_path(stream)}/rows",
        content=body,
        headers=headers,
        repeatable=txn is not None,
    )
    return json_object(answer)


def content_headers(content_type: str, encoding: str | None) -> dict[str, str]:
    """Return the headers that describe a body."""
    headers = {"Content-Type": content_type}
    return headers if encoding is None else {**headers, "Content-Encoding": encoding}


def registration(
    sql: str,
    *,
    params: Mapping[str, object] | None = None,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    materialize: str | None = None,
    ttl: str | None = None,
) -> JsonObject:
    """Return the body that registers a query; what is None or empty is left out."""
    members = {
        "params": dict(params or {}),
        "name": name,
        "labels": dict(labels or {}),
        "materialize": materialize,
        "ttl": ttl,
    }
    return {"sql": sql} | {key: value for key, value in members.items() if value not in (None, {})}


def register(body: Mapping[str, object]) -> Operation[JsonObject]:
    """Register a query; return its description. Its idempotency key makes it repeatable."""
    request = with_json("POST", QUERIES, body)
    headers = {**request.headers, "Idempotency-Key": str(uuid.uuid4())}
    return json_object((yield replace(request, headers=headers)))


def change(query_id: str, members: Mapping[str, object]) -> Operation[JsonObject]:
    """Change members of a query; return its description. Twice is the same as once."""
    return json_object((yield with_json("PATCH", query_path(query_id), members, repeatable=True)))


def remove_labelled(*labels: str) -> Operation[int]:
    """Remove all queries that have these labels, at least one; return how many."""
    answer = json_object((yield Request(method="DELETE", path=queries_path(*labels))))
    return int(answer["deleted"])


def top(by: str, limit: int) -> Operation[list[JsonObject]]:
    """Return the queries that have most of `by`."""
    answer = json_object((yield get("/v1/top", {"by": by, "limit": limit})))
    return list(answer["queries"])


def looked_up(given: str) -> Operation[JsonObject]:
    """Return the description of the query with this handle or name. Cost: one request; of a slip, a list of all.

    Raises:
        DefinitionError: no query has the name, and handles look otherwise.
        ServiceProblem: `not-found`: no query has the handle; `invalid-field`: none can have the name.
    """
    if HANDLE.fullmatch(given):
        return json_object((yield get(query_path(given))))
    found: list[JsonObject] = json_object((yield get(QUERIES, {"name": given})))["queries"]
    if found:
        return found[0]
    others = yield from listed(QUERIES, "queries")
    near = difflib.get_close_matches(given, [one["name"] for one in others if one.get("name")], n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    raise DefinitionError(
        f"No query is called {given!r}, and it is not a handle, which is q_ and 22 letters and digits.{meant} `psoup queries` lists names"
        " and handles."
    )


def remove(query_id: str) -> Operation[None]:
    """Remove a query."""
    yield Request(method="DELETE", path=query_path(query_id))
