"""Health, readiness, figures, meters, headers every answer has, and origins of browsers."""

import dataclasses

import pytest

from psoup.app.backend.contract import Phase
from psoup.app.fold.loop import FoldLoop
from psoup.app.routes.endpoints import ENDPOINTS
from psoup.engine import limits
from tests.app.support import LOOKS_INSIDE, SETTINGS, Api, assert_problem, row, running

pytestmark = pytest.mark.anyio


async def test_health_and_readiness_of_a_live_service(api: Api):
    """A live service says so."""
    assert {"status": "ok"} == (await api.get("/healthz")).json()
    ready = {"ready": True, "reasons": [], "warnings": []}
    assert ready == (await api.get("/readyz")).json()


async def test_status_counts_what_there_is(api: Api):
    """The figures name position, durability, streams and queries."""
    await api.declare()
    await api.register("SELECT * FROM trades")
    await api.rows([row(), row()])
    body = (await api.get("/v1/status")).json()
    durability = api.service.store.durability
    assert (3, 3, 0, 1, durability, True) == tuple(
        body[name] for name in ("head", "applied", "backlog", "queries", "durability", "ready")
    )
    assert [("trades", 2, 1)] == [
        (one["name"], one["rows"], one["queries"]) for one in body["streams"]
    ]


async def test_metrics_count_answers_by_operation(api: Api):
    """Prometheus reads counters by operation and status, and the service's positions."""
    await api.declare()
    await api.rows([row(), row()])
    await api.get("/nope")
    answer = await api.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'psoup_http_requests_total{operation="append_rows",status="200"} 1.0' in lines
    assert 'psoup_http_requests_total{operation="other",status="404"} 1.0' in lines
    assert {"psoup_rows_accepted_total 2.0", "psoup_applied 2.0", "psoup_ready 1.0"} <= set(lines)


async def test_every_answer_has_an_id_of_its_own(api: Api):
    """`Request-Id` and `nosniff` are on every answer."""
    answers = [await api.get(path) for path in ("/healthz", "/nope", "/v1/streams", "/docs")]
    assert 4 == len({one.headers["request-id"] for one in answers})
    assert {"nosniff"} == {one.headers["x-content-type-options"] for one in answers}


async def test_docs_can_be_left_out():
    """Without docs neither the pages nor the OpenAPI are served."""
    async with running(dataclasses.replace(SETTINGS, docs=False)) as api:
        assert [404, 404] == [
            (await api.get(path)).status_code for path in ("/docs", "/openapi.json")
        ]


async def test_origins_are_let_in_by_name_alone(api: Api):
    """Browsers of a listed origin may call and read psoup's headers; others, and by default all, may not."""
    origin = {"Origin": "https://a.example"}
    assert "access-control-allow-origin" not in (await api.get("/healthz", headers=origin)).headers
    settings = dataclasses.replace(SETTINGS, cors_origins=("https://a.example",))
    async with running(settings) as open_one:
        answer = await open_one.get("/healthz", headers=origin)
        assert "https://a.example" == answer.headers["access-control-allow-origin"]
        assert "Psoup-Seq" in answer.headers["access-control-expose-headers"]
        other = await open_one.get("/healthz", headers={"Origin": "https://b.example"})
        assert "access-control-allow-origin" not in other.headers


@LOOKS_INSIDE
async def test_service_whose_store_was_taken_over_says_so(api: Api, monkeypatch):
    """The store does answer, and others write to it: whoever asks here is to go there."""
    monkeypatch.setattr(FoldLoop, "phase", property(lambda _: Phase.FENCED))
    refused = await api.get("/v1/streams")
    assert_problem(refused, "recovering")
    assert "Another engine has taken over" in refused.json()["detail"]
    assert int(refused.headers["retry-after"]) >= 1
    assert ["fenced"] == (await api.get("/readyz")).json()["reasons"]


async def test_pages_of_named_origins_read_every_refusal():
    """Also those of a head that is over a limit, and a bug of psoup's; other pages read none."""
    settings = dataclasses.replace(SETTINGS, cors_origins=("https://a.example",))
    async with running(settings) as api:

        def buggy(*_: object, **__: object) -> None:
            raise ZeroDivisionError

        api.service.gate = buggy  # type: ignore[method-assign]
        for path, status in (
            (f"/v1/streams?{'x' * limits.URL_BYTES_MAX}", 414),
            ("/v1/streams", 500),
        ):
            for origin, shown in (("https://a.example", True), ("https://b.example", False)):
                answer = await api.get(path, headers={"Origin": origin})
                assert status == answer.status_code
                assert shown == (origin == answer.headers.get("access-control-allow-origin"))
                exposed = answer.headers.get("access-control-expose-headers", "")
                assert shown == ("Request-Id" in exposed)


async def test_pages_of_named_origins_may_send_what_the_contract_has():
    """Each method of an endpoint, and HEAD, with a key and the headers that are read: browsers ask whether they may."""
    settings = dataclasses.replace(SETTINGS, cors_origins=("https://a.example",))
    asks = {
        "Origin": "https://a.example",
        "Access-Control-Request-Headers": "authorization,content-encoding,content-type,if-match,if-none-match,"
        "last-event-id,prefer,psoup-txn-app,psoup-txn-version",
    }
    async with running(settings) as api:
        for method in {"HEAD"} | {endpoint.method for endpoint in ENDPOINTS}:
            asked = {**asks, "Access-Control-Request-Method": method}
            answer = await api.send("OPTIONS", "/v1/streams", headers=asked)
            assert 200 == answer.status_code, (method, answer.text)
