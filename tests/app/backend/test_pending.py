"""Queries that are committed and not applied yet: asked for, listed and registered again meanwhile."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator

import pytest

from psoup.app.backend.applied import AppliedPosition
from psoup.app.backend.in_process import InProcess
from psoup.app.backend.pending import PendingQueries, PendingQuery
from psoup.engine import limits
from psoup.engine.errors import QueryFillingError
from psoup.engine.log.operation import Content, Operation, QueryId, Register, Remove
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId
from tests.app.faults import FaultyStore
from tests.app.support import INTERFERES, SETTINGS, START_US, Api, assert_problem, hurried, running
from tests.patience import WAIT_S

pytestmark = [pytest.mark.anyio, INTERFERES]

QUICK = dataclasses.replace(SETTINGS, register_deadline_s=0.05)
NAMED = {"sql": "SELECT px FROM trades", "name": "dear", "labels": {"user": "42"}}


@contextlib.asynccontextmanager
async def held_back() -> AsyncIterator[tuple[Api, FaultyStore]]:
    """Yield an application with streams `trades` and `other` whose registrations are soon 202."""
    async with running(SETTINGS) as probe:
        store = FaultyStore(probe.clock)
    store.log.tells_ids = False
    async with running(SETTINGS, store=store) as api:
        await api.declare()
        await api.declare("other")
    async with running(QUICK, store=store) as api:
        api.in_haste = True
        yield api, store


async def test_query_filling_is_described_as_it_was_registered():
    """The Location of a 202 answers the same description at once, and `live` once it is applied."""
    async with held_back() as (api, store):
        with store.waiting("log", "read"):
            registered = await api.send("POST", "/v1/queries", json=NAMED)
            assert (202, "filling") == (registered.status_code, registered.json()["state"])
            found = await api.get(registered.headers["location"])
            assert (200, registered.json()) == (found.status_code, found.json())
        assert await api.service.applied.wait(Seq(3), timeout_s=WAIT_S)
        live = (await api.get(registered.headers["location"])).json()
        assert live.pop("plan")
        assert registered.json() | {"state": "live"} == live
        assert 0 == api.service.pending.statistics().queries
        api.service.pending.check()


async def test_query_replaced_answers_as_before_until_that_is_applied():
    """The replacement is 202 at the deadline; handle, name and position stay."""
    async with held_back() as (api, store):
        before = (await api.send("POST", "/v1/queries", json=NAMED)).headers["location"]
        assert await api.service.applied.wait(Seq(3), timeout_s=WAIT_S)
        other = {"sql": "SELECT sym FROM trades"}
        with store.waiting("log", "read"):
            answer = await api.send("PUT", "/v1/queries/dear?replace=true", json=other)
            assert (202, "replacing", 4) == (
                answer.status_code,
                answer.json()["state"],
                answer.json()["seq"],
            )
            assert before == answer.headers["location"]
            assert 1 == (await api.get(before)).json()["version"]
        assert await api.service.applied.wait(Seq(4), timeout_s=WAIT_S)
        after = (await api.get(before)).json()
        assert (2, ["sym"]) == (after["version"], [one["name"] for one in after["columns"]])


async def test_query_filling_registered_again_by_name_is_the_same():
    """Repeating a named registration while it fills is 202 with the handle and labels of the first."""
    async with held_back() as (api, store):
        with store.waiting("log", "read"):
            first = await api.send("POST", "/v1/queries", json=NAMED)
            again = await api.send("POST", "/v1/queries", json=NAMED | {"labels": {"user": "7"}})
            assert (202, first.json()) == (again.status_code, again.json())
            assert first.headers["location"] == again.headers["location"]
            other = NAMED | {"sql": "SELECT sym FROM trades"}
            answer = await api.send("POST", "/v1/queries", json=other)
            assert_problem(answer, "name-taken", id=first.json()["id"])
        assert await api.service.applied.wait(Seq(3), timeout_s=WAIT_S)
        again = await api.send("POST", "/v1/queries", json=NAMED)
        assert (200, first.json()["id"]) == (again.status_code, again.json()["id"])


async def test_query_filling_whose_first_answer_never_came_is_known_once_it_is_repeated():
    """The first registration was 503; the same request again is 202 with a handle that is there."""
    async with held_back() as (api, store):
        with store.waiting("log", "read"):
            with store.waiting("log", "append_many"):
                lost = await api.send("POST", "/v1/queries", json=NAMED)
                assert_problem(lost, "commit-unknown")
            again = await api.send("POST", "/v1/queries", json=NAMED)
            assert 202 == again.status_code
            described = await api.get(again.headers["location"])
            assert (200, again.json()) == (described.status_code, described.json())
            listed = (await api.get("/v1/queries?state=filling")).json()["queries"]
            assert [again.json()["id"]] == [one["id"] for one in listed]


async def test_queries_filling_are_listed_and_filtered():
    """Lists hold queries that fill beside those that are live, each once, by every filter."""
    async with held_back() as (api, store):
        patient = dataclasses.replace(QUICK, register_deadline_s=WAIT_S)
        api.service.settings = patient
        live = await api.register("SELECT * FROM trades")
        api.service.settings = QUICK

        async def listed(query: str) -> list[str]:
            body = (await api.get(f"/v1/queries?{query}")).json()
            return [one["id"] for one in body["queries"]]

        with store.waiting("log", "read"):
            labelled = (await api.send("POST", "/v1/queries", json=NAMED)).json()["id"]
            elsewhere = {"sql": "SELECT * FROM other"}
            other = (await api.send("POST", "/v1/queries", json=elsewhere)).json()["id"]
            assert [live, labelled, other] == await listed("")
            assert [labelled, other] == await listed("state=filling")
            assert [live] == await listed("state=live")
            assert [live, labelled] == await listed("stream=trades")
            assert [labelled] == await listed("label=user:42")
            assert [] == await listed("state=suspended")
            page = (await api.get("/v1/queries?limit=2")).json()
            rest = (await api.get(page["next"])).json()
            assert [other] == [one["id"] for one in rest["queries"]]
        assert await api.service.applied.wait(Seq(5), timeout_s=WAIT_S)
        assert [live, labelled, other] == await listed("state=live")
        assert [] == await listed("state=filling")


async def test_join_filling_is_listed_under_each_of_its_streams():
    """A join whose old tuples are not met by the deadline is 202, filling, and a query of both streams."""
    async with held_back() as (api, store):
        sql = "SELECT a.px FROM trades a, other b WHERE a.sym = b.sym"
        with store.waiting("log", "read"):
            answer = await api.send("POST", "/v1/queries", json={"sql": sql})
            body = answer.json()
            assert (202, "filling", None) == (answer.status_code, body["state"], body["suspended"])
            for stream in ("trades", "other"):
                found = (await api.get(f"/v1/queries?stream={stream}")).json()["queries"]
                assert [body] == found
            with hurried(api, "invoke_deadline_s"):
                assert_problem(await api.get(body["links"]["results"]), "query-filling")
        assert await api.service.applied.wait(Seq(3), timeout_s=WAIT_S)
        live = (await api.get(body["links"]["self"])).json()
        assert live.pop("plan")
        assert body | {"state": "live"} == live


async def test_sync_waits_for_a_query_that_fills_or_says_so():
    """It is told of once it is applied; at the deadline it has no answer yet."""
    async with held_back() as (api, store):
        with store.waiting("log", "read"):
            query_id = (await api.send("POST", "/v1/queries", json=NAMED)).json()["id"]
            asked: dict[str, object] = {"queries": {query_id: {}}}
            with hurried(api, "invoke_deadline_s"):
                refused = (await api.send("POST", "/v1/sync", json=asked)).json()["gone"]
            assert "query-filling" == refused[query_id]["code"]
            waiting = asyncio.create_task(api.send("POST", "/v1/sync", json=asked))
            done, _ = await asyncio.wait({waiting}, timeout=0.1)
            assert not done
        assert [query_id] == list((await waiting).json()["results"])


async def test_query_filling_and_removed_is_gone_when_that_is_applied():
    """A removal behind a registration is taken, and once both are applied the handle is 404."""
    async with held_back() as (api, store):
        with store.waiting("log", "read"):
            path = (await api.send("POST", "/v1/queries", json=NAMED)).headers["location"]
            assert 202 == (await api.send("DELETE", path)).status_code
        assert await api.service.applied.wait(Seq(4), timeout_s=WAIT_S)
        assert_problem(await api.get(path), "not-found")


async def test_query_filling_when_the_service_ended_is_live_after_the_next_start():
    """A start folds what was registered before it answers: nothing of the filling is lost."""
    async with held_back() as (api, store):
        with store.waiting("log", "read"):
            registered = (await api.send("POST", "/v1/queries", json=NAMED)).json()
    async with running(SETTINGS, store=store) as api:
        again = await api.send("POST", "/v1/queries", json=NAMED)
        assert (200, registered["id"]) == (again.status_code, again.json()["id"])
        assert "live" == (await api.get(f"/v1/queries/{registered['id']}")).json()["state"]


def register(number: int) -> Register:
    """Return registration `number`."""
    return Register(QueryId(f"q_{number}"), "SELECT px FROM trades", {"trades": StreamId(1)})


def noted(number: int, seq: int) -> PendingQuery:
    """Return registration `number`, committed at `seq`, as this process has answered it."""
    return PendingQuery(Seq(seq), register(number), {"seq": seq})


def alone(position: AppliedPosition) -> PendingQueries:
    """Return the pending queries of a process that takes all registrations."""
    here = InProcess()
    return PendingQueries(position, find=here.pending, find_all=here.pending_all)


@pytest.fixture
async def position() -> AppliedPosition:
    """Return a position that nothing has moved."""
    return AppliedPosition(asyncio.get_running_loop())


async def test_pending_forgets_exactly_what_is_applied(position: AppliedPosition):
    """Positions noted out of order are forgotten one by one as they are passed, and none before."""
    pending, seqs = alone(position), [2, 1, 5, 3, 4]
    for number, seq in enumerate(seqs):
        pending.note(noted(number, seq))
        pending.check()
    assert [1, 2, 3, 4, 5] == [one.seq for one in pending.all()]
    for passed in range(1, 6):
        position.advance(Seq(passed))
        assert 5 - passed == pending.statistics().queries
        assert sorted(set(seqs) - set(range(passed + 1))) == [one.seq for one in pending.all()]
        for number, seq in enumerate(seqs):
            assert (seq > passed) == (pending.find(QueryId(f"q_{number}")) is not None)
        pending.check()


async def test_pending_noted_again_is_held_until_its_later_position(position: AppliedPosition):
    """A handle noted at two positions is one query, filling until the later one is applied."""
    pending = alone(position)
    pending.note(noted(0, 3))
    pending.note(noted(0, 7))
    position.advance(Seq(3))
    assert [7] == [one.seq for one in pending.all()]
    position.advance(Seq(7))
    assert (0, None) == (pending.statistics().queries, pending.find(QueryId("q_0")))


async def test_pending_of_many_looks_at_each_once(position: AppliedPosition, monkeypatch):
    """However many are held, noting one more looks at the next to be forgotten and at no other."""
    looked = 0

    class Counted(int):
        def __le__(self, other: int) -> bool:
            nonlocal looked
            looked += 1
            return int(self) <= other

    pending, many = alone(position), 1_000
    for seq in range(1, many + 1):
        pending.note(dataclasses.replace(noted(seq, seq), seq=Seq(Counted(seq))))
    assert many - 1 == looked
    position.advance(Seq(many))
    assert 0 == pending.statistics().queries
    assert 2 * many - 1 == looked
    monkeypatch.setattr(limits, "QUERIES_COUNT_MAX", 2)
    for seq in range(many + 1, many + 4):
        pending.note(noted(seq, seq))
    assert 2 == pending.statistics().queries
    pending.check()


async def test_pending_of_other_processes_are_found_beside_those_held(position: AppliedPosition):
    """What this process answered stands as it answered it; of others there is what the log has, and no removal."""
    removal = Remove(QueryId("q_9"))
    contents: list[tuple[int, Content]] = [(3, register(3)), (5, register(5)), (6, removal)]
    log = [Operation(Seq(seq), START_US, TupleId(1), content) for seq, content in contents]

    def find(query_id: QueryId) -> Operation | None:
        return {QueryId(f"q_{n}"): one for n, one in zip((3, 5, 9), log, strict=True)}.get(query_id)

    pending = PendingQueries(position, find=find, find_all=lambda: log)
    pending.note(noted(5, 5))
    pending.note(noted(4, 4))
    assert [(3, None), (4, {"seq": 4}), (5, {"seq": 5})] == [
        (one.seq, one.description) for one in pending.all()
    ]
    assert noted(5, 5) == pending.find(QueryId("q_5")) == pending.held(QueryId("q_5"))
    assert PendingQuery(Seq(3), register(3)) == pending.find(QueryId("q_3"))
    assert pending.held(QueryId("q_3")) is None
    asked = [QueryId(f"q_{number}") for number in (5, 3, 4)]
    assert [asked[0], asked[2]] == pending.held_among(asked)
    assert pending.find(QueryId("q_9")) is None
    assert pending.find(QueryId("q_0")) is None


async def test_pending_of_other_processes_are_waited_for(position: AppliedPosition):
    """A query that was found is there once its position is applied; by the deadline it is 503."""
    pending = alone(position)
    waiting = asyncio.create_task(pending.wait_for(noted(0, 2), timeout_s=WAIT_S))
    await asyncio.sleep(0)
    position.advance(Seq(2))
    await waiting
    with pytest.raises(QueryFillingError):
        await pending.wait_for(noted(1, 3), timeout_s=0.01)
