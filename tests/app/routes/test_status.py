"""What the service says of itself: rates and memory, and that hits have a bound, over HTTP."""

import asyncio
import dataclasses
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from psoup.app.wire.rows.body import NDJSON
from psoup.engine import limits
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.store.contract import StoreHealth
from tests.app.support import KEEPS_HITS, Api, assert_problem, row
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio

DENSE = {"sql": "SELECT px FROM trades WHERE px > 1.0", "materialize": "partial"}
ENTRY_BYTES = 17
"""What a clause takes in a block beside its hits: id, form, count and place."""
BITMAP_BYTES = CHUNK_ROWS // 8


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fold note figures whenever it looks at the log: an operation later they are there."""
    monkeypatch.setattr(limits, "FIGURES_EVERY_S", 0.0)


async def until(api: Api, path: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return what `path` answers once it holds: a worker knows figures when the engine has told them."""
    async with asyncio.timeout(WAIT_S):
        while not holds(body := (await api.get(path)).json()):  # noqa: ASYNC110 (no event to wait for)
            await asyncio.sleep(0.001)
    return dict(body)


async def status(api: Api) -> dict[str, Any]:
    """Return the figures, as they are after everything before."""
    assert 200 == (await api.rows([])).status_code
    return await until(
        api, "/v1/status", lambda body: body["counters"]["operations_folded"] == body["head"]
    )


async def full_chunk(api: Api) -> None:
    """Append the rows of one chunk, of which the dense query wants all; return once it is told what they take."""
    assert 200 == (await api.rows([row(px=2.0)] * CHUNK_ROWS)).status_code
    await status(api)


@KEEPS_HITS
@pytest.mark.usefixtures("looking")
async def test_status_tells_memory_by_what_takes_it(api: Api):
    """Hits to the byte, tuples no less than their values; without clauses nothing falls to one."""
    await api.declare()
    before = (await status(api))["memory"]
    assert (0, 0, 0, None, None) == tuple(
        before[name]
        for name in (
            "hit_bytes",
            "query_text_bytes",
            "clauses",
            "hit_bytes_per_clause",
            "index_bytes_per_clause",
        )
    )
    query_id = (await api.send("POST", "/v1/queries", json=DENSE)).json()["id"]
    await api.register("SELECT px FROM trades WHERE px > 5.0", materialize="partial")
    await api.register("SELECT px FROM trades WHERE px > 6.0", materialize="none")
    await full_chunk(api)
    memory = (await status(api))["memory"]
    assert BITMAP_BYTES + ENTRY_BYTES == memory["hit_bytes"]
    assert (2, memory["hit_bytes"] / 2) == (memory["clauses"], memory["hit_bytes_per_clause"])
    assert limits.HITS_MEMORY_BYTES_MAX == memory["hit_bytes_max"]
    assert (0, memory["index_bytes"] / 2) < (
        memory["index_bytes"],
        memory["index_bytes_per_clause"],
    )
    assert memory["tuple_bytes"] >= memory["streams_bytes"] > 0
    described = (await api.get(f"/v1/queries/{query_id}")).json()
    condition = "SELECT 1 FROM trades WHERE px > 1.0"
    texts = (condition, described["canonical"], query_id, "")
    assert 3 * sum(map(sys.getsizeof, texts)) == memory["query_text_bytes"]
    used = (await api.get("/v1/limits")).json()["use"]["hits_memory_bytes_max"]
    assert memory["hit_bytes"] == used


@pytest.mark.usefixtures("looking")
async def test_status_tells_rates_of_tuples_operations_and_invocations(api: Api):
    """Rates times their seconds are what was counted: invocations one by one and many at once."""
    await api.declare()
    query_ids = [await api.register(f"SELECT * FROM trades WHERE px > {at}") for at in range(3)]
    await api.rows([row()] * 5)
    await api.results(query_ids[0])
    asked = {"queries": [*query_ids, "q_0000000000000000000000"]}
    assert 200 == (await api.send("POST", "/v1/invoke", json=asked)).status_code
    assert 404 == (await api.get("/v1/queries/q_0/results")).status_code
    rates = (await status(api))["rates"]
    assert {"10s", "60s"} == set(rates)
    one = rates["60s"]
    found = [one[f"{name}_per_s"] for name in ("tuples", "operations", "invocations")]
    assert [5, 6, 4] == [pytest.approx(rate * one["seconds"]) for rate in found]
    assert 0 < rates["10s"]["seconds"] <= one["seconds"]
    lines = (await api.get("/metrics")).text.splitlines()
    assert {"psoup_tuples_folded_total 5.0", "psoup_invocations_total 4.0"} <= set(lines)


async def test_status_is_described(api: Api):
    """The OpenAPI names every member that the answer has."""
    schemas = (await api.get("/openapi.json")).json()["components"]["schemas"]
    body = (await api.get("/v1/status")).json()
    for name, members in (("MemoryFigures", body["memory"]), ("RateFigures", body["rates"]["10s"])):
        assert set(members) == set(schemas[name]["properties"])
    assert set(body) == set(schemas["StatusAnswer"]["properties"])


@KEEPS_HITS
@pytest.mark.usefixtures("looking")
async def test_hits_past_their_share_make_the_service_say_so(api: Api, monkeypatch):
    """From 85 % on it is not ready, and takes what comes all the same."""
    await api.declare()
    await api.send("POST", "/v1/queries", json=DENSE)
    await full_chunk(api)
    held = BITMAP_BYTES + ENTRY_BYTES
    monkeypatch.setattr(limits, "HITS_MEMORY_BYTES_MAX", held * 100 // 85 + 1)
    assert 200 == (await api.get("/readyz")).status_code
    monkeypatch.setattr(limits, "HITS_MEMORY_BYTES_MAX", held)
    answer = await api.get("/readyz")
    assert (503, ["memory-high"]) == (answer.status_code, answer.json()["reasons"])
    plain = api.service.store.health()
    assert isinstance(plain, StoreHealth)
    health = dataclasses.replace(plain, reasons=("memory-high",))
    monkeypatch.setattr(api.service.store, "health", lambda: health)
    assert ["memory-high"] == (await api.get("/v1/status")).json()["reasons"]
    assert 200 == (await api.rows(row(px=2.0))).status_code


@KEEPS_HITS
@pytest.mark.usefixtures("looking")
async def test_hits_past_their_bound_refuse_what_adds_and_take_what_frees(api: Api, monkeypatch):
    """Rows, queries and streams are 507 and nothing of them is stored; invocations and removals go on."""
    await api.declare()
    query_id = (await api.send("POST", "/v1/queries", json=DENSE)).json()["id"]
    await full_chunk(api)
    head = (await api.get("/v1/status")).json()["head"]
    monkeypatch.setattr(limits, "HITS_MEMORY_BYTES_MAX", BITMAP_BYTES)
    for answer in (
        await api.rows(row(px=2.0)),
        await api.send("POST", "/v1/queries", json={"sql": "SELECT * FROM trades"}),
        await api.declare("other"),
    ):
        detail = assert_problem(answer, "store-full")["detail"]
        assert "drop a stream" in detail
    lines = "\n".join(json.dumps({"sql": "SELECT * FROM trades"}) for _ in range(2))
    answer = await api.send(
        "POST", "/v1/batch/queries", content=lines, headers={"Content-Type": NDJSON}
    )
    assert_problem(answer, "store-full")
    assert head == (await api.get("/v1/status")).json()["head"]
    assert 5 == (await api.get("/v1/status")).json()["counters"]["appends_refused"]
    assert CHUNK_ROWS == (await api.results(query_id, count="only"))["count"]
    assert 204 == (await api.send("DELETE", f"/v1/queries/{query_id}")).status_code
    assert 204 == (await api.send("DELETE", "/v1/streams/trades")).status_code
    await until(api, "/readyz", lambda body: bool(body["ready"]))
    assert 201 == (await api.declare("other")).status_code
