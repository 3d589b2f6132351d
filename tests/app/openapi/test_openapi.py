"""The OpenAPI against the running service: schemathesis draws requests, the description judges the answers."""

from collections.abc import Iterator
from typing import Any

import httpx2
import orjson
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from pydantic import BaseModel
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from psoup.app.http.problems import PROBLEM_TYPES
from psoup.app.main import create_app
from psoup.app.routes.endpoint import QUERY
from psoup.app.routes.endpoints import ENDPOINTS
from psoup.app.settings import Settings
from psoup.app.wire.answers.event_stream import MEDIA_TYPE as EVENTS
from psoup.app.wire.models.problem import Problem
from psoup.app.wire.models.results.invocations import ResultsAnswer
from psoup.app.wire.rows.body import ARROW, JSON, NDJSON
from psoup.engine import limits
from tests.app.serving import served
from tests.app.support import COLUMNS, missed_its_turn
from tests.patience import wait_until

load_all_checks()
SETTINGS = Settings(store="memory://", port=0, ingest_deadline_s=5, invoke_deadline_s=0.25)
IN_SUITE = settings().derandomize
EXAMPLES = 4 if IN_SUITE else settings().max_examples // 4
"""Of each of seventy tests: by `make torture` 250 that are drawn anew."""
NOBODY = "q_AAAAAAAAAAAAAAAAAAAAAA"
CLICKS = (
    "SELECT px FROM clicks BEGIN ('2020-01-01') END ('2020-01-02')",
    "SELECT px FROM clicks",
)
"""The answer of the first never changes again."""
PING_S = 0.005
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OF_EVENTS: dict[str, type[BaseModel]] = {"result": ResultsAnswer, "end": Problem}
DESCRIBED: dict[str, Any] = create_app(SETTINGS).openapi()
WHAT_STANDS: dict[str, Any] = {
    "include-path-regex": r"\{",
    "exclude-method": "DELETE",
}
"""Operations on what a path names."""
WITHOUT_BOUNDS = {"operations": [{**WHAT_STANDS, "phases": {"coverage": {"enabled": False}}}]}
"""Requests at the bounds of each parameter, some fifty an operation, are sent to what stands, or else to nothing.

`make torture` sends them to both.
"""
schema = schemathesis.openapi.from_dict(DESCRIBED)
drawn = schemathesis.openapi.from_dict(
    DESCRIBED,
    config=schemathesis.Config.from_dict(WITHOUT_BOUNDS if IN_SUITE else {}),
)
of_what_stands = schema.include(path_regex=WHAT_STANDS["include-path-regex"]).exclude(
    method=WHAT_STANDS["exclude-method"]
)


@schemathesis.serializer(NDJSON, ARROW)
def as_bytes(_: Any, value: Any) -> bytes:
    """Send what was drawn as it is: these media types have no form of their own for a drawn value."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@pytest.fixture(scope="module")
def standing() -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield the address of a server, path parameters that name what stands there, and the handle of a history.

    Its streams of events end soon.
    """
    with (
        pytest.MonkeyPatch.context() as patch,
        served(SETTINGS) as (host, port),
        httpx2.Client(base_url=f"http://{host}:{port}") as client,
    ):
        patch.setattr(limits, "EVENTS_S", 10 * PING_S)
        patch.setattr(limits, "EVENTS_PING_S", PING_S)
        wait_until(lambda: client.get("/readyz").status_code == 200, "it is ready")
        body: dict[str, Any] = {"columns": COLUMNS, "time": "ts"}
        assert 201 == client.put("/v1/streams/trades", json=body).status_code
        client.post("/v1/streams/trades/rows", json=[{"ts": i, "px": i} for i in range(20)])
        query = client.post("/v1/queries", json={"sql": "SELECT * FROM trades"}).json()
        body["retention"] = {"rows": 1}
        assert 201 == client.put("/v1/streams/forgets", json=body).status_code
        client.post("/v1/streams/forgets/rows", json=[{"ts": i, "px": i} for i in range(20)])
        past = client.post("/v1/queries", json={"sql": "SELECT px FROM forgets"}).json()
        asked = client.get(past["links"]["results"], params={"history": "true"})
        assert 202 == asked.status_code
        names = {"name": "trades", "id": query["id"], "seq": "2", "n": "0"}
        yield str(client.base_url), names, asked.json()["history"]["id"]


@of_what_stands.parametrize()
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
def test_openapi_of_what_stands_is_kept(case, standing):
    """Whatever is drawn for a stream or a query there is, its answer is one that is described; all is left standing."""
    url, names, history_id = standing
    if case.path.startswith("/v1/histories"):
        names = {**names, "id": history_id}
    case.path_parameters = {name: names[name] for name in case.path_parameters or {}}
    _keeps_to_it(case, url)


@drawn.parametrize()
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
def test_openapi_of_drawn_requests_is_kept(case, standing):
    """The same for all operations and whatever they name; some remove what stands, so these are the last."""
    url, *_ = standing
    _keeps_to_it(case, url)


def _keeps_to_it(case: Any, url: str) -> None:
    """Send a request and judge its answer. What misses its turn on a busy machine is sent again: nothing was done."""
    checks = _expected(case)
    answer = case.call(base_url=url)
    while not_a_server_error in checks and missed_its_turn(answer):
        answer = case.call(base_url=url)
    if answer.headers.get("content-type", [""])[0].startswith(EVENTS):
        # A schema describes the text as a whole, and what schemathesis judges by it is each event.
        checks = [check for check in checks if check is not response_schema_conformance]
        for event in events_in(answer.text):
            if "data" in event:
                OF_EVENTS[event["event"]].model_validate_json(event["data"])
    case.validate_response(answer, checks=checks)


def _expected(case: Any) -> list[Any]:
    # A position to come is 503 by contract: it was asked for with min_seq or seq, or told to be archived.
    body = case.body if isinstance(case.body, dict) else {}
    if {"min_seq", "seq", "through"} & {**(case.query or {}), **body}.keys():
        return [check for check in CHECKS if check is not not_a_server_error]
    return CHECKS


def test_openapi_names_every_endpoint_and_its_problems():
    """Each endpoint is described under its operation id, with every status it can answer."""
    for endpoint in ENDPOINTS:
        if endpoint.method == QUERY:
            continue
        operation = DESCRIBED["paths"][endpoint.path][endpoint.method.lower()]
        assert endpoint.name == operation["operationId"]
        statuses = {str(status) for status in endpoint.shown}
        statuses |= {str(PROBLEM_TYPES[code].status) for code in endpoint.codes()}
        assert statuses == set(operation["responses"])
        for status, response in operation["responses"].items():
            shared = DESCRIBED["components"]["responses"].get(f"Problem{status}")
            told = shared if "$ref" in response else response
            assert told["description"], (endpoint.name, status)
        for code in endpoint.codes():
            assert f"`{code}`" in operation["description"], endpoint.name


def test_openapi_names_the_headers_by_which_clients_come_back():
    """They are read like parameters."""
    found = {
        path: {
            one["name"]
            for one in DESCRIBED["paths"][path]["get"]["parameters"]
            if one["in"] == "header"
        }
        for path in ("/v1/queries/{id}/results", "/v1/queries/{id}/events")
    }
    assert {
        "/v1/queries/{id}/results": {"Prefer", "If-None-Match"},
        "/v1/queries/{id}/events": {"Last-Event-ID"},
    } == found


@pytest.mark.parametrize(
    ("operation", "method", "path", "asked"),
    [
        ("follow_query", "GET", "/v1/queries/{id}/events", ({}, {})),
        (
            "sync_queries",
            "POST",
            "/v1/sync",
            ({"queries": {NOBODY: {}}}, {"queries": {"{id}": {}}}),
        ),
    ],
)
def test_openapi_shows_each_event_as_it_is_sent(standing, operation, method, path, asked):
    """Its fields, and the members of what it holds: of a stream that is over, and of one that goes on."""
    url, *_ = standing
    httpx2.put(f"{url}/v1/streams/clicks", json={"columns": COLUMNS[1:]}).raise_for_status()
    posted = [httpx2.post(f"{url}/v1/queries", json={"sql": sql}) for sql in CLICKS]
    content = DESCRIBED["paths"][path][method.lower()]["responses"]["200"]["content"][EVENTS]
    assert operation == DESCRIBED["paths"][path][method.lower()]["operationId"]
    assert all(f"`{name}`" in content["schema"]["description"] for name in ("result", "end", ":"))
    sent: set[Any] = set()
    for query, body in zip(posted, asked, strict=True):
        handle = query.json()["id"]
        text = orjson.dumps(body).replace(b"{id}", handle.encode())
        headers = {"Accept": EVENTS, "Content-Type": JSON}
        address = url + path.format(id=handle)
        answer = httpx2.request(method, address, content=text, headers=headers)
        assert answer.headers["content-type"].startswith(EVENTS)
        sent |= kinds_in(answer.text)
    shown = {name: kinds_in(one["value"]) for name, one in content["examples"].items()}
    assert ["result", "comment", "end"] == list(shown)
    assert set.union(*shown.values()) == sent


def kinds_in(text: str) -> set[Any]:
    """Return each kind of event in a stream: its fields, its name, and the members of its data."""
    return {
        (*event, event.get("event"), *orjson.loads(event.get("data", "{}")))
        for event in events_in(text)
    }


def events_in(text: str) -> list[dict[str, str]]:
    """Return the fields of each event in a stream; a comment has one without a name."""
    blocks = text.removesuffix("\n\n").split("\n\n")
    lines = [[line.partition(":") for line in block.split("\n")] for block in blocks]
    return [{name: value.strip() for name, _, value in block} for block in lines]


def test_openapi_every_endpoint_declares_its_scope():
    """Only health, readiness and the page of the contract are open to all: the rest names the scope a key needs."""
    assert {"health", "ready", "llms"} == {one.name for one in ENDPOINTS if one.scope is None}
