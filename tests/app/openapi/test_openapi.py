"""The OpenAPI against the running service: schemathesis draws requests, the description judges the answers."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
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
from psoup.app.wire.rows.body import ARROW, NDJSON
from tests.app.serving import served
from tests.app.support import COLUMNS, missed_its_turn
from tests.patience import wait_until

load_all_checks()
SETTINGS = Settings(store="memory://", port=0, ingest_deadline_s=5, invoke_deadline_s=0.25)
IN_SUITE = settings().derandomize
EXAMPLES = 4 if IN_SUITE else settings().max_examples // 4
"""Of each of seventy tests: by `make torture` 250 that are drawn anew."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
DESCRIBED: dict[str, Any] = create_app(SETTINGS).openapi()
WHAT_STANDS: dict[str, Any] = {
    "include-path-regex": r"\{",
    "exclude-method": "DELETE",
    "exclude-path-regex": "/events$",
}
"""Operations on what a path names; a stream of events has no end soon."""
WITHOUT_BOUNDS = {"operations": [{**WHAT_STANDS, "phases": {"coverage": {"enabled": False}}}]}
"""Requests at the bounds of each parameter, some fifty an operation, are sent to what stands, or else to nothing.

`make torture` sends them to both.
"""
schema = schemathesis.openapi.from_dict(DESCRIBED)
drawn = schemathesis.openapi.from_dict(
    DESCRIBED,
    config=schemathesis.Config.from_dict(WITHOUT_BOUNDS if IN_SUITE else {}),
)
of_what_stands = (
    schema.include(path_regex=WHAT_STANDS["include-path-regex"])
    .exclude(method=WHAT_STANDS["exclude-method"])
    .exclude(path_regex=WHAT_STANDS["exclude-path-regex"])
)


@schemathesis.serializer(NDJSON, ARROW)
def as_bytes(_: Any, value: Any) -> bytes:
    """Send what was drawn as it is: these media types have no form of their own for a drawn value."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@pytest.fixture(scope="module")
def standing() -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield the address of a server, path parameters that name what stands there, and the handle of a history."""
    with (
        served(SETTINGS) as (host, port),
        httpx2.Client(base_url=f"http://{host}:{port}") as client,
    ):
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


@drawn.parametrize()
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
def test_openapi_of_drawn_requests_is_kept(case, standing):
    """Whatever is drawn for an operation, its answer is one that is described."""
    url, *_ = standing
    _keeps_to_it(case, url)


@of_what_stands.parametrize()
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
def test_openapi_of_what_stands_is_kept(case, standing):
    """The same for paths that name a stream or a query there is; what stands is left standing."""
    url, names, history_id = standing
    if case.path.startswith("/v1/histories"):
        names = {**names, "id": history_id}
    case.path_parameters = {name: names[name] for name in case.path_parameters or {}}
    _keeps_to_it(case, url)


def _keeps_to_it(case: Any, url: str) -> None:
    """Send a request and judge its answer. What misses its turn on a busy machine is sent again: nothing was done."""
    checks = _expected(case)
    answer = case.call(base_url=url)
    while not_a_server_error in checks and missed_its_turn(answer):
        answer = case.call(base_url=url)
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


def test_openapi_every_endpoint_declares_its_scope():
    """Only health, readiness and the page of the contract are open to all: the rest names the scope a key needs."""
    assert {"health", "ready", "llms"} == {one.name for one in ENDPOINTS if one.scope is None}
