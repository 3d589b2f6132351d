"""Histories for the job that computes them: claims, progress, ends, and who may."""

import asyncio
import hashlib
from pathlib import Path

import orjson
import pytest

from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.limits import SECOND_US
from psoup.engine.store.errors import StoreFullError
from tests.app.archive_job import (
    OTHER,
    WORKER,
    ask,
    claim,
    forgetting,
    prices,
    put,
    queued,
    tell,
)
from tests.app.faults import FaultyStore
from tests.app.support import (
    INTERFERES,
    MOVES_THE_CLOCK,
    SETTINGS,
    START_US,
    Api,
    assert_problem,
    hurried,
    running,
)

pytestmark = pytest.mark.anyio
UNKNOWN = "h_0000000000000000000000"
RECORD = {
    *("id", "query", "sql", "gen", "seq", "now", "window", "asked_at", "state", "done", "of"),
    *("rows", "complete_from", "detail", "expires_at"),
}


async def begun(api: Api) -> str:
    """Return the handle of a history that waits."""
    given = await forgetting(api)
    return str((await ask(api, given.query_id)).json()["history"]["id"])


async def listed(api: Api, **parameters: str) -> list[tuple[str, str]]:
    """Return handle and state of the histories of a list."""
    answer = await api.get("/v1/histories", params=parameters)
    return [(one["id"], one["state"]) for one in answer.json()["histories"]]


@pytest.mark.services
async def test_history_of_a_job_from_its_claim_to_its_end(api: Api):
    """A worker finds it, claims it, renews with its progress, and ends it; whoever sends again hears the same."""
    history_id = await begun(api)
    (record,) = await queued(api)
    assert set(record) == RECORD
    assert (None, None, None) == (record["rows"], record["detail"], record["complete_from"])
    claimed = await claim(api, history_id)
    assert api.service.store.durability == claimed.headers["psoup-durability"]
    assert ("running", 0, None) == tuple(claimed.json()[n] for n in ("state", "done", "of"))
    assert [] == await queued(api)
    renewed = (await claim(api, history_id, done=3, of=10)).json()
    assert (3, 10) == (renewed["done"], renewed["of"])
    assert set(renewed) == RECORD
    missing = await tell(api, history_id, state="done", parts=2, rows=10)
    assert_problem(missing, "history-parts-missing", parts=[0, 1])
    await put(api, history_id, 0, prices(0, 4))
    await put(api, history_id, 1, prices(4, 10))
    wrong = await tell(api, history_id, state="done", parts=2, rows=11)
    assert_problem(wrong, "history-parts-missing", rows=10)
    end = {"state": "done", "parts": 2, "rows": 10, "complete_from": START_US}
    done = await tell(api, history_id, **end)
    assert ("done", 10, "2026-11-21T10:00:00.000000Z") == tuple(
        done.json()[name] for name in ("state", "rows", "complete_from")
    )
    assert done.json() == (await tell(api, history_id, **end)).json()
    assert [(history_id, "done")] == await listed(api)
    assert [(history_id, "done")] == await listed(api, state="done")
    assert [] == await listed(api, state="failed")


@pytest.mark.services
async def test_history_of_another_worker_is_taken(api: Api):
    """While its claim runs, and once it has ended."""
    history_id = await begun(api)
    await claim(api, history_id)
    await put(api, history_id, 0, prices(0, 10))
    other = {"worker": OTHER}
    for members in (
        {"state": "running", "done": 0},
        {"state": "done", "parts": 1, "rows": 10},
        {"state": "failed", "detail": "why"},
    ):
        assert_problem(await tell(api, history_id, **other, **members), "history-taken")
    taken = await put(api, history_id, 0, prices(0, 10), **{"Psoup-Worker": OTHER})
    assert_problem(taken, "history-taken")
    assert 200 == (await tell(api, history_id, state="done", parts=1, rows=10)).status_code
    for worker in (WORKER, OTHER):
        again = await tell(api, history_id, worker=worker, state="running", done=0)
        assert_problem(again, "history-taken")
    assert_problem(await put(api, history_id, 0, prices(0, 10)), "history-taken")
    assert_problem(await tell(api, history_id, state="failed", detail="x"), "history-taken")


@pytest.mark.services
async def test_of_workers_at_once_one_has_the_claim(api: Api):
    """The others look for another history."""
    history_id = await begun(api)
    tries = [tell(api, history_id, worker=f"worker-{i}", state="running", done=0) for i in range(6)]
    codes = sorted(one.status_code for one in await asyncio.gather(*tries))
    assert [200, 409, 409, 409, 409, 409] == codes


@MOVES_THE_CLOCK
async def test_claim_that_lapsed_is_anybodys(api: Api):
    """It is listed as queued; a new claimant begins anew, and the former one is refused."""
    history_id = await begun(api)
    await claim(api, history_id)
    await put(api, history_id, 0, prices(0, 10))
    api.clock.advance(limits.HISTORY_CLAIM_S * SECOND_US - 1)
    assert [] == await listed(api, state="queued")
    assert [(history_id, "running")] == await listed(api, state="running")
    api.clock.advance(1)
    assert [(history_id, "running")] == await listed(api, state="queued")
    taken = await tell(api, history_id, worker=OTHER, state="running", done=0)
    assert 200 == taken.status_code
    assert_problem(await put(api, history_id, 1, prices(0, 10)), "history-taken")
    assert_problem(await claim(api, history_id), "history-taken")
    nothing = await tell(api, history_id, worker=OTHER, state="done", parts=1, rows=10)
    assert_problem(nothing, "history-parts-missing", parts=[0])


@MOVES_THE_CLOCK
async def test_histories_are_listed_in_the_order_they_were_asked_for(api: Api):
    """Whoever asked first is computed first."""
    given = await forgetting(api)
    expected = []
    for second in (5, 2, 9):
        asked = await ask(api, given.query_id, now=f"2026-11-21T10:00:0{second}Z")
        expected.append(asked.json()["history"]["id"])
        api.clock.advance(SECOND_US)
    assert expected == [one["id"] for one in await queued(api)]


async def test_history_that_is_not_there_is_not_found(api: Api):
    """Nor one whose handle has another shape; to drop it is 204 all the same."""
    for history_id in (UNKNOWN, "h_1", "q_0000000000000000000000"):
        assert_problem(await claim(api, history_id), "not-found")
        assert_problem(await put(api, history_id, 0, prices(0, 1)), "not-found")
        dropped = await api.send("DELETE", f"/v1/histories/{history_id}")
        assert (204, b"") == (dropped.status_code, dropped.content)
    history_id = await begun(api)
    await claim(api, history_id)
    assert 204 == (await api.send("DELETE", f"/v1/histories/{history_id}")).status_code
    assert_problem(await put(api, history_id, 0, prices(0, 1)), "not-found")
    assert_problem(await tell(api, history_id, state="failed", detail="x"), "not-found")


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({}, "/state"),
        ({"state": "queued"}, "/state"),
        ({"state": "running"}, "/done"),
        ({"state": "running", "done": -1}, "/done"),
        ({"state": "running", "done": 3, "of": 2}, "/done"),
        ({"state": "running", "done": 0, "rows": 1}, "/rows"),
        ({"state": "running", "done": "0"}, "/done"),
        ({"state": "running", "done": 0, "worker": "short"}, "/worker"),
        ({"state": "running", "done": 0, "worker": "w" * 65}, "/worker"),
        ({"state": "running", "done": 0, "worker": "with space"}, "/worker"),
        ({"state": "done", "rows": 1}, "/parts"),
        ({"state": "done", "parts": 1}, "/rows"),
        ({"state": "done", "parts": limits.HISTORY_PARTS_MAX + 1, "rows": 1}, "/parts"),
        ({"state": "done", "parts": 0, "rows": 0, "complete_from": "soon"}, "/complete_from"),
        ({"state": "done", "parts": 0, "rows": 0, "detail": "x"}, "/detail"),
        ({"state": "failed"}, "/detail"),
        ({"state": "failed", "detail": ""}, "/detail"),
        ({"state": "failed", "detail": "x" * 1_001}, "/detail"),
        ({"state": "failed", "detail": "a\0b"}, "/detail"),
    ],
)
async def test_what_a_worker_says_is_read_strictly(api: Api, members, pointer):
    """Members that are missing, too many or of wrong values change nothing."""
    history_id = await begun(api)
    await claim(api, history_id, done=1, of=2)
    refused = assert_problem(await tell(api, history_id, **members), "invalid-field")
    assert pointer in [one["pointer"] for one in refused["errors"]]
    (record,) = (await api.get("/v1/histories")).json()["histories"]
    assert ("running", 1, 2) == (record["state"], record["done"], record["of"])


@pytest.mark.services
async def test_history_is_complete_from_no_later_than_its_instant(api: Api):
    """The first instant past it says that nothing is; what lies later is a mistake, and changes nothing."""
    history_id = await begun(api)
    await claim(api, history_id)
    last = START_US + 9 * SECOND_US + 1
    end = {"state": "done", "parts": 0, "rows": 0}
    refused = await tell(api, history_id, complete_from=last + 1, **end)
    (wrong,) = assert_problem(refused, "invalid-field")["errors"]
    assert "/complete_from" == wrong["pointer"]
    assert "2026-11-21T10:00:09.000000Z" in wrong["reason"]
    assert [(history_id, "running")] == await listed(api)
    done = await tell(api, history_id, complete_from=last, **end)
    assert (200, "2026-11-21T10:00:09.000001Z") == (done.status_code, done.json()["complete_from"])


async def test_what_a_worker_says_has_no_further_members(api: Api):
    """Nor parameters."""
    history_id = await begun(api)
    assert_problem(await claim(api, history_id, progress=1), "unknown-field")
    assert_problem(await api.get("/v1/histories?status=queued"), "unknown-field")
    assert_problem(await api.get("/v1/histories?state=open"), "invalid-field")
    plain = await api.send("POST", f"/v1/histories/{history_id}", content=b"{")
    assert_problem(plain, "unsupported-media")


async def test_histories_are_for_those_who_may(tmp_path: Path):
    """A reader asks; the job needs the scope that holds of archives need."""
    scopes = {"reader-key": ["read"], "job-key": ["admin"]}
    lines = [
        orjson.dumps({"id": key, "sha256": hashlib.sha256(key.encode()).hexdigest(), "scopes": has})
        for key, has in scopes.items()
    ]
    file = tmp_path / "keys"
    file.write_bytes(b"\n".join(lines))
    settings = type(SETTINGS)(store="memory://", port=0, keys_file=file)
    async with running(settings) as api:
        path = f"/v1/histories/{UNKNOWN}"
        for method, place in (
            ("GET", "/v1/histories"),
            ("POST", path),
            ("PUT", f"{path}/parts/0"),
            ("DELETE", path),
        ):
            for key, code in (("reader-key", "scope-missing"), ("none", "unauthenticated")):
                headers = {"Authorization": f"Bearer {key}"}
                assert_problem(await api.send(method, place, headers=headers), code)
        headers = {"Authorization": "Bearer job-key"}
        assert 200 == (await api.get("/v1/histories", headers=headers)).status_code


@INTERFERES
async def test_history_without_an_answer_is_told_again():
    """What the store does not confirm in time may be sent again; what it has no room for is refused."""
    store = FaultyStore(ManualClock(START_US))
    async with running(store=store) as api:
        history_id = await begun(api)
        await claim(api, history_id)
        with store.waiting("histories", "put"), hurried(api):
            problem = await put(api, history_id, 0, prices(0, 10))
            assert "Repeat the same request" in assert_problem(problem, "commit-unknown")["detail"]
        with store.waiting("histories", "claim"), hurried(api):
            assert_problem(await claim(api, history_id), "commit-unknown")
        with store.failing("histories", "put", StoreFullError("Full.")):
            assert_problem(await put(api, history_id, 0, prices(0, 10)), "store-full")
        assert 204 == (await put(api, history_id, 0, prices(0, 10))).status_code
        assert 200 == (await tell(api, history_id, state="done", parts=1, rows=10)).status_code
