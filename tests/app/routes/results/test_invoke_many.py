"""Invoking many queries at once: one position, one instant, each answer as by itself."""

import asyncio
import dataclasses
import hashlib
import itertools
from typing import Any

import orjson
import pytest

from psoup.app.admission.rates import RATES
from psoup.app.routes.results.invoke_many import QUERIES_PER_UNIT
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.limits import SECOND_US
from tests.app.faults import FaultyStore
from tests.app.support import (
    INTERFERES,
    SETTINGS,
    START_US,
    STREAM,
    WINDOW,
    Api,
    assert_problem,
    fill_no_more,
    row,
    running,
)

pytestmark = pytest.mark.anyio

SQL = f"SELECT ts, sym, px FROM trades {WINDOW}"
GONE = "q_" + "0" * 22
OF_AN_INSTANT = ("next", "now", "window", "cursor")
"""Members that differ from one instant to the next where NOW is the server's clock."""


async def invoke(api: Api, queries: list[str], **members: Any) -> dict[str, Any]:
    answer = await api.send("POST", "/v1/invoke", json={"queries": queries, **members})
    assert 200 == answer.status_code, answer.text
    return dict(answer.json())


async def standing(api: Api, rows: int = 5) -> list[str]:
    """Declare, fill and register: three queries over two streams."""
    await api.declare()
    await api.send("PUT", "/v1/streams/other", json={**STREAM, "clock": "server"})
    for name in ("trades", "other"):
        many = [row(i, sym="A", px=i) for i in range(rows)]
        assert 200 == (await api.rows(many, name=name)).status_code
    return [
        await api.register(SQL),
        await api.register(f"SELECT px FROM trades WHERE px > 2 {WINDOW}"),
        await api.register(f"SELECT px FROM other {WINDOW}"),
    ]


@pytest.mark.parametrize(
    "members",
    [{}, {"shape": "columns"}, {"meta": False}, {"count": "only"}, {"limit": 2}, {"min_seq": 3}],
)
async def test_invoke_answers_each_as_it_is_answered_by_itself(api: Api, members):
    """A member is the very body of GET results with the same parameters."""
    ids = await standing(api)
    body = await invoke(api, ids, **members)
    parameters = {name: int(one) if name == "meta" else one for name, one in members.items()}
    for query_id, found in zip(ids, body["results"], strict=True):
        alone = await api.results(query_id, **parameters)
        told = OF_AN_INSTANT if query_id == ids[-1] else ("next",)
        same = {name: found[name] for name in told if name in found}
        assert alone | same == found
        assert (alone["next"] is None) == (found["next"] is None)
        assert (body["gen"], body["seq"]) == (found["gen"], found["seq"])


async def test_invoke_carries_the_position_and_is_not_kept(api: Api):
    """The headers name the one position; caches ask again; large answers are compressed."""
    ids = await standing(api, rows=200)
    answer = await api.send(
        "POST", "/v1/invoke", json={"queries": ids}, headers={"Accept-Encoding": "gzip"}
    )
    assert str(answer.json()["seq"]) == answer.headers["psoup-seq"]
    assert str(answer.json()["gen"]) == answer.headers["psoup-gen"]
    assert "private, no-cache" == answer.headers["cache-control"]
    assert "gzip" == answer.headers["content-encoding"]


@pytest.mark.services
async def test_invoke_of_what_does_not_stand_is_a_problem_beside_the_others(api: Api):
    """Handles that are gone, never were or have another shape do not hold the others up."""
    (first, second, _) = await standing(api)
    await api.send("DELETE", f"/v1/queries/{second}")
    body = await invoke(api, [GONE, first, second, "q_", first])
    refused = [one for one in body["results"] if "problem" in one]
    assert [GONE, second, "q_"] == [one["query"] for one in refused]
    assert {("not-found", 404)} == {
        (one["problem"]["code"], one["problem"]["status"]) for one in refused
    }
    assert body["results"][1] == body["results"][4]
    assert (first, 5) == (body["results"][1]["query"], body["results"][1]["count"])


async def test_invoke_of_none_that_stands_still_names_a_position(api: Api):
    """The position is that of the whole answer, whatever is in it."""
    await api.declare()
    body = await invoke(api, [GONE])
    assert (1, "not-found") == (body["seq"], body["results"][0]["problem"]["code"])


async def test_invoke_at_another_instant_is_each_ones_own_matter(api: Api):
    """`now` is for all; where it is out of a query's range, that one is told so."""
    ids = await standing(api)
    api.clock.advance(60 * SECOND_US)
    for given in ("2026-11-21T10:00:02Z", START_US + 2 * SECOND_US):
        body = await invoke(api, ids, now=given)
        assert [3, 0, 3] == [one["count"] for one in body["results"]]
        assert {None} == {one["cursor"] for one in body["results"]}
    day = await invoke(api, ids, now="2026-11-21")
    assert ["2026-11-21T00:00:00.000000Z"] * 3 == [one["now"] for one in day["results"]]
    later = await invoke(api, ids, now="2026-11-21T10:00:30Z")
    assert ["now-out-of-range", "now-out-of-range", None] == [
        one.get("problem", {}).get("code") for one in later["results"]
    ]


async def test_invoke_of_one_instant_for_all_of_the_servers_clock(monkeypatch):
    """Queries whose NOW is the server's clock are answered for one instant, though it goes on."""
    async with running() as api:
        ids = await standing(api)
        ids = [ids[2], await api.register(f"SELECT ts FROM other {WINDOW}"), ids[2]]
        clock = itertools.count(START_US + 10 * SECOND_US, SECOND_US)
        monkeypatch.setattr(api.clock, "now_us", lambda: next(clock))
        body = await invoke(api, ids)
    assert 1 == len({one["now"] for one in body["results"]})


@pytest.mark.services
async def test_invoke_pages_go_on_by_themselves(api: Api):
    """`next` leads on through GET with the same limit, shape and hidden ids, at the same position."""
    ids = await standing(api, rows=7)
    body = await invoke(api, ids[:1], limit=3, meta=False, shape="columns")
    seen, page = [], body["results"][0]
    while True:
        assert (body["seq"], 7) == (page["seq"], page["count"])
        assert ["ts", "sym", "px"] == page["columns"]
        seen += page["rows"]
        await api.rows([row(100 + len(seen), px=1)])
        if page["next"] is None:
            break
        page = (await api.get(page["next"])).json()
    whole = await api.results(ids[0], meta=0, shape="columns", now="2026-11-21T10:00:06Z")
    assert whole["rows"] == seen


async def test_invoke_all_at_one_position_while_rows_arrive(api: Api):
    """Whatever is applied meanwhile, counts of complements add up: nobody sees a batch in part."""
    await api.declare()
    halves = ("px < 50", "px >= 50", "px < 10 OR px >= 10")
    ids = [await api.register(f"SELECT px FROM trades WHERE {half}") for half in halves]
    await api.rows([row(0, px=1)])
    stop = asyncio.Event()

    async def post() -> int:
        for batch in itertools.count():
            if stop.is_set():
                return batch
            await api.rows([row(batch, px=i) for i in range(0, 100, 7)])
        raise AssertionError

    posting = asyncio.create_task(post())
    seqs = set()
    for _ in range(25):
        body = await invoke(api, ids * 20, limit=1)
        counts = [one["count"] for one in body["results"]]
        assert {body["seq"]} == {one["seq"] for one in body["results"]}
        assert counts == counts[:3] * 20
        assert counts[0] + counts[1] == counts[2]
        seqs.add(body["seq"])
    stop.set()
    assert await posting > 0
    assert len(seqs) > 1, "rows were applied meanwhile"


async def test_invoke_waits_for_the_position_asked_for():
    """A position that is not applied in time is a problem of the whole request."""
    async with running(dataclasses.replace(SETTINGS, invoke_deadline_s=0.05)) as api:
        api.in_haste = True
        ids = await standing(api)
        for asked in (ids, [GONE]):
            answer = await api.send("POST", "/v1/invoke", json={"queries": asked, "min_seq": 2**62})
            assert_problem(answer, "not-yet-visible", applied=7)


@INTERFERES
async def test_invoke_of_a_query_being_filled_is_a_problem_beside_the_others():
    """A registration that is committed and not applied by the deadline holds nobody else up."""
    store = FaultyStore(ManualClock(START_US))
    store.log.tells_ids = False
    quick = dataclasses.replace(SETTINGS, register_deadline_s=0.5, invoke_deadline_s=0.5)
    async with running(quick, store=store) as api:
        await api.declare()
        first = await api.register(SQL)
        api.in_haste = True
        with store.waiting("log", "read"):
            late = (await api.send("POST", "/v1/queries", json={"sql": SQL})).json()
            assert "filling" == late["state"]
            body = await invoke(api, [late["id"], first])
            assert "query-filling" == body["results"][0]["problem"]["code"]
            assert 0 == body["results"][1]["count"]


async def test_invoke_shares_rows_evenly(api: Api, monkeypatch):
    """Together the pages have INVOKE_ROWS_MAX rows at most; each goes on under `next`."""
    ids = await standing(api)
    monkeypatch.setattr(limits, "INVOKE_ROWS_MAX", 6)
    body = await invoke(api, [ids[0]] * 3, limit=5)
    assert [2, 2, 2] == [len(one["rows"]) for one in body["results"]]
    assert all("limit=5" in one["next"] for one in body["results"])


async def test_invoke_shares_bytes_and_loses_no_row(api: Api, monkeypatch):
    """A page over its share is cut, down to none; `next` goes on where it was cut."""
    await api.declare()
    query_id = await api.register("SELECT px, sym FROM trades")
    await api.rows([row(i, px=i, sym="x" * 4_000) for i in range(10)])
    monkeypatch.setattr(limits, "INVOKE_BYTES_MAX", 30_000)
    for handles, fitting in ((1, range(6, 8)), (2, range(2, 4)), (9, range(1))):
        body = await invoke(api, [query_id] * handles)
        first = body["results"][0]
        assert (10, True) == (first["count"], len(first["rows"]) in fitting), len(first["rows"])
        seen, page = first["rows"], first
        while page["next"]:
            page = (await api.get(page["next"])).json()
            assert first["seq"] == page["seq"]
            seen += page["rows"]
        assert [float(i) for i in range(10)] == [one["px"] for one in seen]


async def test_invoke_leaves_to_the_next_what_one_does_not_need(api: Api, monkeypatch):
    """Shares are of what is left: small answers make room for those after them."""
    await api.declare()
    small = await api.register("SELECT px FROM trades WHERE px < 0")
    large = await api.register("SELECT sym FROM trades")
    await api.rows([row(i, px=i, sym="x" * 4_000) for i in range(10)])
    monkeypatch.setattr(limits, "INVOKE_BYTES_MAX", 40_000)
    body = await invoke(api, [small, small, small, large])
    assert len(body["results"][3]["rows"]) > 6
    assert len((await invoke(api, [large, small]))["results"][0]["rows"]) < 6


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"queries": []}, "/queries"),
        ({"queries": [GONE] * (limits.INVOKE_QUERIES_MAX + 1)}, "/queries"),
        ({"queries": GONE}, "/queries"),
        ({"queries": [1]}, "/queries/0"),
        ({"queries": [GONE], "now": "yesterday"}, "/now"),
        ({"queries": [GONE], "min_seq": -1}, "/min_seq"),
        ({"queries": [GONE], "limit": 0}, "/limit"),
        ({"queries": [GONE], "limit": 1.0}, "/limit"),
        ({"queries": [GONE], "count": "all"}, "/count"),
        ({"queries": [GONE], "shape": "cube"}, "/shape"),
        ({"queries": [GONE], "meta": 0}, "/meta"),
        ({}, "/queries"),
    ],
)
async def test_invoke_with_wrong_members_is_refused(api: Api, body, pointer):
    """A member of a wrong type or value is 422 and named."""
    problem = assert_problem(await api.send("POST", "/v1/invoke", json=body), "invalid-field")
    assert problem["errors"][0]["pointer"].startswith(pointer)


async def test_invoke_with_what_is_no_body_of_it_is_refused(api: Api):
    """Unknown members, other media types, a list that is too long as text."""
    known = {"queries": [GONE]}
    problem = assert_problem(
        await api.send("POST", "/v1/invoke", json={**known, "cout": "only"}), "unknown-field"
    )
    assert "count" == problem["nearest"]
    assert_problem(await api.send("POST", "/v1/invoke", content=b"{}"), "unsupported-media")
    long = {"queries": [{"query": "x" * 100, "cursor": "x" * 200}] * 1_000}
    assert_problem(await api.send("POST", "/v1/invoke", json=long), "body-too-large")


async def test_invoke_counts_as_invocations_of_a_key_by_its_handles(tmp_path):
    """The longest list is a key's burst of invocations; what is over is told when to come."""
    keys = tmp_path / "keys"
    digest = hashlib.sha256(b"secret").hexdigest()
    keys.write_text(orjson.dumps({"id": "k", "sha256": digest, "scopes": ["read"]}).decode())
    async with running(dataclasses.replace(SETTINGS, keys_file=keys)) as api:
        fill_no_more(api)
        api.client.headers["Authorization"] = "Bearer secret"
        assert limits.INVOKE_QUERIES_MAX == len(
            (await invoke(api, [GONE] * limits.INVOKE_QUERIES_MAX))["results"]
        )
        assert_problem(
            await api.send("POST", "/v1/invoke", json={"queries": [GONE]}), "rate-limited"
        )
        fill_no_more(api)
        for _ in range(int(RATES["invoke"].burst)):
            await invoke(api, [GONE] * QUERIES_PER_UNIT)
        answer = await api.send("POST", "/v1/invoke", json={"queries": [GONE]})
        assert_problem(answer, "rate-limited")


@pytest.mark.services
async def test_invoke_and_bulk_registration_agree_with_each_alone(api: Api):
    """What is registered in bulk answers together, each as by itself."""
    await api.declare()
    await api.rows([row(i, px=i) for i in range(50)])
    lines = [{"sql": f"SELECT px FROM trades WHERE px < {i}"} for i in range(20)]
    lines += [{"sql": "SELECT px FROM trades", "name": "all"}] * 2
    answer = await api.send(
        "POST",
        "/v1/batch/queries?describe=ids",
        content=b"\n".join(map(orjson.dumps, lines)),
        headers={"Content-Type": "application/x-ndjson"},
    )
    found = [orjson.loads(line) for line in answer.content.splitlines()]
    assert [201] * 21 + [200] == [one["status"] for one in found]
    ids = [one["id"] for one in found]
    assert ids[-1] == ids[-2]
    body = await invoke(api, ids)
    assert [*range(20), 50, 50] == [one["count"] for one in body["results"]]
    assert body["results"][7]["rows"] == (await api.results(ids[7]))["rows"]
