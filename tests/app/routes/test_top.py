"""GET /v1/top: the queries that cost most."""

import asyncio

import pytest

from psoup.engine.limits import CHUNK_ROWS, MIB
from tests.app.support import Api, assert_problem, row
from tests.patience import wait_until

pytestmark = pytest.mark.anyio


async def fill(api: Api) -> None:
    """Send two whole chunks: every other row is dated one second later and costs 41."""
    for chunk in range(2):
        first = chunk * CHUNK_ROWS
        rows = [row(i // 2, sym="A", px=40 + i % 2) for i in range(first, first + CHUNK_ROWS)]
        assert 200 == (await api.rows(rows)).status_code


async def top(api: Api, **parameters):
    answer = await api.get("/v1/top", params=parameters)
    assert 200 == answer.status_code, answer.text
    return answer.json()["queries"]


@pytest.mark.services
async def test_queries_that_match_most_come_first(api: Api):
    """Matches are those of whole chunks, and belong to the condition that queries share."""
    await api.declare()
    few = await api.register("SELECT sym FROM trades WHERE px > 40 AND qty IS NOT NULL", name="few")
    half = await api.register("SELECT sym FROM trades WHERE px > 40", materialize="complete")
    same = await api.register("SELECT px FROM trades WHERE px > 40", materialize="complete")
    every = await api.register("SELECT sym FROM trades WHERE px > 1", materialize="partial")
    await fill(api)
    figures = api.service.backend.figures
    await asyncio.to_thread(
        wait_until,
        lambda: max((one.matches for one in figures().clauses), default=0) == 2 * CHUNK_ROWS,
        "the engine has told of all matches",
    )
    found = await top(api, by="matches")
    assert [every, half, same] == [one["id"] for one in found]
    assert [2 * CHUNK_ROWS, CHUNK_ROWS, CHUNK_ROWS] == [one["matches"] for one in found]
    assert [0, 1, 1] == [one["shared_with"] for one in found]
    by_bytes = await top(api, limit=2)
    assert [half, same] == [one["id"] for one in by_bytes]
    assert {2 * CHUNK_ROWS} == {one["bytes"] for one in by_bytes}
    assert few not in [one["id"] for one in await top(api)]
    await api.send("DELETE", f"/v1/queries/{every}")
    await asyncio.to_thread(wait_until, lambda: len(figures().clauses) == 1, "it is forgotten")
    assert [half, same] == [one["id"] for one in await top(api, by="matches")]


@pytest.mark.services
async def test_queries_invoked_most_come_first(api: Api):
    """Invocations are counted by query; those that nobody has invoked are left out."""
    await api.declare()
    await api.rows([row(0, sym="A", px=41)])
    rare, often, never = [await api.register("SELECT sym FROM trades") for _ in range(3)]
    for query_id in (often, rare, often):
        await api.results(query_id)
    await api.send("POST", "/v1/invoke", json={"queries": [often, rare]})
    found = await top(api, by="invokes")
    assert [(often, 3), (rare, 2)] == [(one["id"], one["invokes"]) for one in found]
    assert {None} == {one["matches"] for one in found}
    assert never not in [one["id"] for one in found]


@pytest.mark.parametrize("parameters", ["by=cost", "limit=0", "limit=x"])
async def test_order_that_cannot_be_is_refused(api: Api, parameters):
    """Parameters are read strictly."""
    assert_problem(await api.get(f"/v1/top?{parameters}"), "invalid-field")


async def test_limit_is_clipped(api: Api):
    """Asking for more than there may be is no error."""
    assert [] == await top(api, limit=MIB)
