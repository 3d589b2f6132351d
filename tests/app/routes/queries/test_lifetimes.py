"""Queries with a time to live over HTTP: registered, renewed by use, expired, remembered. A test moves the clock."""

import asyncio
import json

import pytest

from psoup.app.fold import due
from psoup.engine import limits
from psoup.engine.log.operation import QueryId
from tests.app.support import MOVES_THE_CLOCK, WINDOW, Api, assert_problem, row, running
from tests.patience import WAIT_S, wait_until

pytestmark = pytest.mark.anyio

SQL = f"SELECT sym, px FROM trades WHERE px > 40 {WINDOW}"
WRONG: list[object] = ["59s", "367d", "soon", "", 7, "-7d", True, {}]
HOUR_US = 3_600 * limits.SECOND_US


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Let queries go as soon as they are over: clocks are moved by hand."""
    monkeypatch.setattr(due, "OVERDUE_FOR_S", 0.0)


async def described(api: Api, query_id: str):
    answer = await api.get(f"/v1/queries/{query_id}")
    assert 200 == answer.status_code, answer.text
    return answer.json()


async def until_gone(api: Api, query_id: str) -> None:
    """Return once the engine has let a query go whose time is over."""
    asked = [QueryId(query_id)]
    is_gone = lambda: api.service.results.snapshots(asked) == [None]  # noqa: E731
    await asyncio.to_thread(wait_until, is_gone, "the query has expired")


@pytest.mark.services
async def test_query_says_how_long_it_lives(api: Api):
    """In what registers and describes it, and in lists; without a time to live both members are null."""
    await api.declare()
    sent = await api.send("POST", "/v1/queries", json={"sql": SQL, "ttl": "7d", "name": "dear"})
    body = sent.json()
    assert (201, "7d") == (sent.status_code, body["ttl"]), sent.text
    assert body["expires_at"] == (await described(api, body["id"]))["expires_at"] > "2026"
    lasting = await described(api, await api.register(SQL))
    assert [None, None] == [lasting["ttl"], lasting["expires_at"]]
    (listed, other) = (await api.get("/v1/queries")).json()["queries"]
    assert (body["expires_at"], None) == (listed["expires_at"], other["expires_at"])
    again = await api.send("PUT", "/v1/queries/dear", json={"sql": SQL, "ttl": "1h"})
    assert (200, "7d") == (again.status_code, again.json()["ttl"])


async def test_query_of_a_batch_has_a_time_to_live_of_its_own(api: Api):
    """Each line says its own; one that cannot be is refused alone."""
    await api.declare()
    lines = [{"sql": SQL, "ttl": "PT12H"}, {"sql": SQL, "ttl": None}, {"sql": SQL, "ttl": "1s"}]
    batch = await api.send(
        "POST",
        "/v1/batch/queries",
        content=b"\n".join(json.dumps(line).encode() for line in lines),
        headers={"Content-Type": "application/x-ndjson"},
    )
    first, second, third = map(json.loads, batch.text.splitlines())
    assert ["12h", None] == [one["query"]["ttl"] for one in (first, second)]
    assert (422, "invalid-field") == (third["status"], third["problem"]["code"])


async def test_query_of_a_time_to_live_outside_its_bounds_is_refused(api: Api):
    """One too short or too long, or none at all: 422 with what would be accepted."""
    await api.declare()
    for ttl in WRONG:
        answer = await api.send("POST", "/v1/queries", json={"sql": SQL, "ttl": ttl})
        (error,) = assert_problem(answer, "invalid-field")["errors"]
        assert ("/ttl", True) == (error["pointer"], "expected" in error["reason"]), ttl
    assert [] == (await api.get("/v1/queries")).json()["queries"]


@MOVES_THE_CLOCK
async def test_query_that_nobody_uses_expires_at_the_instant_it_has_told(api: Api):
    """Every request for it is 410 then, for thirty days; after these it is as if it had never been."""
    await api.declare()
    query_id = await api.register(SQL, ttl="1h", name="dear")
    expires_at = (await described(api, query_id))["expires_at"]
    path = f"/v1/queries/{query_id}"
    api.clock.advance(HOUR_US)
    await until_gone(api, query_id)
    for method, rest in (
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/results"),
        ("GET", "/results?wait=1"),
        ("GET", "/events"),
        ("GET", "/series?from=-1h&to=now"),
        ("GET", "/explain?row_id=1"),
    ):
        answer = await api.send(method, path + rest)
        assert_problem(answer, "query-expired", expired_at=expires_at)
    sync = await api.send("POST", "/v1/sync", json={"queries": {query_id: {}, "q_none": {}}})
    gone = sync.json()["gone"]
    assert [(410, "query-expired"), (404, "not-found")] == [
        (gone[one]["status"], gone[one]["code"]) for one in (query_id, "q_none")
    ]
    invoked = await api.send("POST", "/v1/invoke", json={"queries": [{"query": query_id}]})
    assert "query-expired" in invoked.text
    assert query_id != await api.register(f"SELECT px FROM trades {WINDOW}", name="dear")
    api.clock.advance(limits.QUERY_EXPIRED_KEPT_US)

    def is_forgotten() -> bool:
        return "not-found" == api.service.results.gone([QueryId(query_id)])[0].code

    await asyncio.to_thread(wait_until, is_forgotten, "it is forgotten that it was there")
    assert_problem(await api.get(f"{path}/results"), "not-found")


USES = {
    "results": ("GET", "/v1/queries/{}/results", None),
    "series": ("GET", "/v1/queries/{}/series?from=-1h&to=now", None),
    "sync": ("POST", "/v1/sync", '{{"queries": {{"{}": {{}}}}}}'),
    "invoke": ("POST", "/v1/invoke", '{{"queries": [{{"query": "{}"}}]}}'),
    "register": ("PUT", "/v1/queries/dear", json.dumps({"sql": SQL})),
    "bulk": ("POST", "/v1/batch/queries", json.dumps({"sql": SQL, "name": "dear"})),
    "bulk of handles": (
        "POST",
        "/v1/batch/queries?describe=ids",
        json.dumps({"sql": SQL, "name": "dear"}),
    ),
}


@MOVES_THE_CLOCK
async def test_query_that_is_used_lives_on(api: Api):
    """Each way of reading it is a use, and so is declaring it again; within a tenth of its time nothing is written."""
    await api.declare()
    await api.rows([row(0, sym="A", px=50.0)])
    query_id = await api.register(SQL, ttl="1h", name="dear")
    log, renewals = api.service.store.log, api.service.renewals

    async def used(use: str) -> tuple[bool, str]:
        """Use the query and renew what is due. Return whether anything was, and when the query expires."""
        method, path, body = USES[use]
        content = None if body is None else body.format(query_id) if "{{" in body else body
        kind = "application/x-ndjson" if "batch" in path else "application/json"
        headers = {"Content-Type": kind}
        answer = await api.send(method, path.format(query_id), content=content, headers=headers)
        assert 200 == answer.status_code, answer.text
        before = log.head()
        await asyncio.to_thread(renewals.renew, ())
        api.service.backend.wake()
        assert await api.service.applied.wait(log.head(), timeout_s=WAIT_S)
        return log.head() > before, (await described(api, query_id))["expires_at"]

    known = (await described(api, query_id))["expires_at"]
    for use in USES:
        api.clock.advance(HOUR_US // 10 - 1)
        assert (False, known) == await used(use), use
        api.clock.advance(1)
        renewed, expires_at = await used(use)
        assert renewed, use
        assert known < expires_at, use
        known = expires_at
    counters = (await api.get("/v1/status")).json()["counters"]
    assert (len(USES), 0) == (counters["renewals"], counters["renewals_refused"])
    metrics = (await api.get("/metrics")).text
    assert f"psoup_renewals_total {len(USES)}.0" in metrics
    assert "psoup_renewals_due 0.0" in metrics
    api.service.check()


@MOVES_THE_CLOCK
async def test_query_that_is_waited_for_lives_on():
    """Who follows it and is told nothing reads it all the same."""
    async with running() as api:
        await api.declare()
        query_id = QueryId(await api.register(SQL, ttl="1h"))
        api.service.renewals.note(api.service.results.query(query_id))
        watched, head = {query_id}, api.service.store.log.head()
        assert not await asyncio.to_thread(api.service.renewals.renew, watched)
        api.clock.advance(HOUR_US // 10)
        assert await asyncio.to_thread(api.service.renewals.renew, watched)
        assert head < api.service.store.log.head()
        assert not await asyncio.to_thread(api.service.renewals.renew, watched)
        api.clock.advance(HOUR_US // 2)
        assert not await asyncio.to_thread(api.service.renewals.renew, ())
