"""One body shape for every way to fail: each code is in the table, and each is reached here or beside."""

import asyncio
import dataclasses
import importlib
import pkgutil
import threading
from collections.abc import AsyncIterator

import pytest

import psoup.app
import psoup.storage
from psoup.app.fold.loop import FoldLoop
from psoup.app.http.page_tokens import PageTokens
from psoup.app.http.problems import PROBLEM_TYPES, problem_body, problem_headers, problem_response
from psoup.engine.clock import ManualClock
from psoup.engine.errors import EngineError, IntegrityError, TextPosition, UnknownColumnError
from psoup.engine.store.errors import StoreFullError, StoreUnavailableError, StoreUnsuitableError
from psoup.engine.tuples.batch import Seq
from tests.app.faults import FaultyStore
from tests.app.support import SETTINGS, START_US, Api, assert_problem, hurried, row, running
from tests.patience import WAIT_S, wait_until

pytestmark = pytest.mark.anyio

NEVER_TRAVEL = {"setting", "store-url", "usage", "fenced"}
"""Met only where a process starts or ends: by its exit code and its log."""
DEADLINES = ("ingest_deadline_s", "register_deadline_s", "invoke_deadline_s")


@pytest.fixture
def store() -> FaultyStore:
    return FaultyStore(ManualClock(START_US))


@pytest.fixture
async def faulty(store: FaultyStore) -> AsyncIterator[Api]:
    async with running(store=store) as one:
        assert 201 == (await one.declare()).status_code
        yield one


async def until_ready(api: Api) -> None:
    async with asyncio.timeout(WAIT_S):
        while (await api.get("/readyz")).status_code != 200:  # noqa: ASYNC110 (no event to wait for)
            await asyncio.sleep(0)


def all_errors() -> set[type[EngineError]]:
    for package in (psoup.app, psoup.storage):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if "cli" not in module.name and "demo" not in module.name:
                importlib.import_module(module.name)
    found, left = set(), [EngineError]
    while left:
        found.add(one := left.pop())
        left += one.__subclasses__()
    return {one for one in found if one.__module__.startswith("psoup.")}


def test_every_error_has_its_row_in_the_table():
    """A code without a row would be answered as a bug; a row without an error is dead."""
    abstract = {"SqlError", "EngineError"}
    codes = {one.code for one in all_errors() if one.__name__ not in abstract}
    assert set() == codes - set(PROBLEM_TYPES) - NEVER_TRAVEL
    assert set() == set(PROBLEM_TYPES) - codes - {"internal"}


def test_every_error_is_described():
    """Each class says in a sentence what it means."""
    assert [] == [one.__name__ for one in all_errors() if not one.__doc__]


@pytest.mark.parametrize("code", sorted(PROBLEM_TYPES))
def test_every_code_has_the_one_shape(code):
    """The members every problem has are there for each code, and headers follow its row."""
    kind = PROBLEM_TYPES[code]
    error = type("Some", (EngineError,), {"code": code})("A sentence.", extra=1)
    body = problem_body(error, instance="i")
    assert {"type", "title", "status", "code", "detail", "retryable", "instance"} <= set(body)
    assert (kind.status, code, "i") == (body["status"], body["code"], body["instance"])
    assert (code == "internal") == ("extra" not in body)
    headers = problem_headers(error)
    assert "no-store" == headers["Cache-Control"]
    assert kind.closes == (headers.get("Connection") == "close")
    assert (kind.status in (429, 503, 507) and code != "integrity") == ("Retry-After" in headers)
    retryable = kind.status in (408, 429, 500, 503, 507) or code == "stale-declaration"
    assert (retryable and code != "integrity") == body["retryable"]


def test_sql_problems_quote_only_in_excerpt_and_hint():
    """What names the sender's query stands in `excerpt` and `hint`, never in `detail`."""
    error = UnknownColumnError(
        "The stream has no column of this name.",
        position=TextPosition(1, 8, 6),
        excerpt="SELECT secret",
        remedy="name a declared column",
        quoting="trades has no column 'secret'.",
        hint="Did you mean sacred?",
    )
    body = problem_body(error, instance="i")
    said = "Line 1, column 8: The stream has no column of this name. Name a declared column"
    assert said == body["detail"]
    assert {"line": 1, "column": 8, "length": 6} == body["position"]
    assert "trades has no column 'secret'. Did you mean sacred?" == body["hint"]


def test_a_bug_tells_only_its_instance():
    """What is no error of ours is 500 `internal`, whatever its text says."""
    response = problem_response(ZeroDivisionError("user text"), instance="i")
    assert 500 == response.status_code
    assert b"user text" not in bytes(response.body)


async def test_internal_of_a_bug_in_a_handler(faulty: Api, store: FaultyStore):
    """An exception nobody foresaw is answered in the one shape, and the next request works."""
    store.interfere_with(faulty.service)
    with store.failing("shown", "streams", ZeroDivisionError("user text")):
        answer = await faulty.get("/v1/streams")
    assert "user text" not in answer.text
    assert_problem(answer, "internal")
    assert 200 == (await faulty.get("/v1/streams")).status_code


async def test_not_acceptable_names_what_is(faulty: Api):
    """Accept without any of the four representations is 406."""
    query_id = await faulty.register("SELECT * FROM trades")
    path = f"/v1/queries/{query_id}/results"
    assert_problem(await faulty.get(path, headers={"Accept": "text/html"}), "not-acceptable")


async def test_page_expired_of_another_history(faulty: Api):
    """A page of a generation that is gone is 410, with what to do."""
    query_id = await faulty.register("SELECT * FROM trades")
    await faulty.rows([row(0), row(1)])
    body = await faulty.results(query_id, limit=1)
    tokens: PageTokens = faulty.app.state.context.tokens
    token = body["next"].partition("page=")[2].partition("&")[0]
    signed = tokens.read(query_id, token)
    assert isinstance(signed, list)
    at_now, position = signed
    forged = tokens.sign(query_id, [at_now, [position[0] - 1, *position[1:]]])
    answer = await faulty.get(f"/v1/queries/{query_id}/results", params={"page": forged})
    assert assert_problem(answer, "page-expired")["action"].startswith("invoke")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreFullError("Full."), "store-full"),
        (StoreUnavailableError("Away."), "store-unavailable"),
        (StoreUnsuitableError("Another version's."), "store-unsuitable"),
    ],
)
async def test_store_faults_of_an_append_are_told(faulty: Api, store: FaultyStore, error, code):
    """A store that is full or away refuses the batch; when it is back, the next one is stored."""
    with store.failing("log", "append_many", error):
        assert_problem(await faulty.rows(row()), code)
    assert 200 == (await faulty.rows(row())).status_code


async def test_commit_unknown_of_an_append_without_an_answer(faulty: Api, store: FaultyStore):
    """An append that has no answer by its deadline may still commit, and is told as that."""
    with store.waiting("log", "append_many"), hurried(faulty):
        answer = await faulty.rows(row(), Psoup_Txn_App="a", Psoup_Txn_Version="1")
        assert_problem(answer, "commit-unknown")
    assert await faulty.service.applied.wait(Seq(2), timeout_s=WAIT_S)
    again = await faulty.rows(row(), Psoup_Txn_App="a", Psoup_Txn_Version="1")
    assert (200, True) == (again.status_code, again.json()["duplicate"])
    assert 1 == await faulty.count()


async def test_overloaded_when_all_appends_are_on_their_way(store: FaultyStore):
    """Appends past their number are 503 before their body is read; other requests are not."""
    async with running(dataclasses.replace(SETTINGS, appends_in_flight=1), store=store) as api:
        await api.declare()
        with store.waiting("log", "append_many") as reached:
            first = asyncio.create_task(api.rows(row()))
            assert await asyncio.to_thread(reached.wait, WAIT_S)
            answer = await api.rows(row())
            assert_problem(answer, "overloaded", reason="appends-in-flight")
            assert 200 == (await api.get("/v1/streams")).status_code
        assert 200 == (await first).status_code


async def test_accepted_is_what_is_committed_and_not_applied(faulty: Api, store: FaultyStore):
    """At the deadline rows, queries, streams and removals are 202 with their position; later they show."""
    old = await faulty.register("SELECT px FROM trades")
    store.log.tells_ids = False
    with store.waiting("log", "read"), hurried(faulty, *DEADLINES):
        rows = await faulty.rows([row(0), row(1)])
        assert (202, 2, 3) == (rows.status_code, rows.json()["accepted"], rows.json()["seq"])
        query = await faulty.send("POST", "/v1/queries", json={"sql": "SELECT * FROM trades"})
        assert (202, "filling") == (query.status_code, query.json()["state"])
        path = f"{query.headers['location']}/results"
        assert_problem(await faulty.get(path), "query-filling")
        assert 202 == (await faulty.declare("other")).status_code
        assert 202 == (await faulty.send("DELETE", f"/v1/queries/{old}")).status_code
    assert await faulty.service.applied.wait(Seq(6), timeout_s=WAIT_S)
    assert 2 == (await faulty.get(path)).json()["count"]
    assert_problem(await faulty.get(f"/v1/queries/{old}"), "not-found")


async def test_recovering_until_the_state_is_read_back(monkeypatch, store: FaultyStore):
    """While the engine recovers, requests are 503 `recovering` and readiness says so."""
    monkeypatch.setattr(FoldLoop, "grace_s", 0.0)
    with store.waiting("results", "checkpoint"):
        running_one = running(store=store)
        api = await running_one.__aenter__()
        assert_problem(await api.get("/v1/streams"), "recovering")
        ready = await api.get("/readyz")
        assert (503, ["recovering"]) == (ready.status_code, ready.json()["reasons"])
        assert 200 == (await api.get("/healthz")).status_code
    assert await asyncio.to_thread(api.service.backend.wait_recovered, WAIT_S)
    assert 200 == (await api.get("/readyz")).status_code
    await running_one.__aexit__(None, None, None)


async def test_store_down_until_it_is_back(faulty: Api, store: FaultyStore):
    """While the store is away the service says so and tries again by itself; nothing is lost."""
    with store.failing("log", "read", StoreUnavailableError("Away.")) as again:
        faulty.service.backend.wake()
        assert await asyncio.to_thread(again.wait, WAIT_S)
        assert_problem(await faulty.rows(row()), "store-unavailable")
        assert ["store-down"] == (await faulty.get("/readyz")).json()["reasons"]
    await until_ready(faulty)
    assert store.reopened > 0
    assert 200 == (await faulty.rows(row())).status_code
    assert 1 == await faulty.count()


def until_published(api: Api, seq: Seq) -> None:
    """Return once the store holds what operation `seq` did."""
    wait_until(lambda: api.service.backend.figures().published >= seq, "it is published")


async def test_publish_whose_answer_was_lost_is_not_done_twice(faulty: Api, store: FaultyStore):
    """A delta that was applied before the store went away is recognised, and folding goes on."""
    lost = [StoreUnavailableError("Away.")]

    def lose() -> None:
        if lost:
            raise lost.pop()

    store.results.after["publish"] = lose
    assert (await faulty.rows(row())).status_code in (200, 202)
    await asyncio.to_thread(until_published, faulty, Seq(2))
    await until_ready(faulty)
    assert 1 == await faulty.count()
    assert [] == lost
    assert 200 == (await faulty.rows(row())).status_code


def thread_of(api: Api) -> threading.Thread:
    """Return the thread that folds."""
    loop = api.service.backend
    assert isinstance(loop, FoldLoop)
    return loop._thread


async def test_another_history_stops_the_engine(faulty: Api, store: FaultyStore):
    """A store that comes back with another position than was published is not written to."""
    with store.failing("results", "publish", StoreUnavailableError("Away.")) as again:
        await faulty.rows(row())
        assert await asyncio.to_thread(again.wait, WAIT_S)
        elsewhere = FaultyStore(ManualClock(START_US + 5_000))
        store.results.contract = elsewhere.results.contract
        await asyncio.to_thread(thread_of(faulty).join, WAIT_S)
    assert ["integrity"] == (await faulty.get("/readyz")).json()["reasons"]


async def test_integrity_stops_the_engine_for_good(faulty: Api, store: FaultyStore):
    """State and store that disagree stop publishing: 503 `integrity`, not to be retried."""
    with store.failing("results", "publish", IntegrityError("Disagree.")):
        await faulty.rows(row())
        await asyncio.to_thread(thread_of(faulty).join, WAIT_S)
    assert_problem(await faulty.rows(row()), "integrity")
    assert_problem(await faulty.get("/v1/streams"), "integrity")
    ready = await faulty.get("/readyz")
    assert (503, ["integrity"]) == (ready.status_code, ready.json()["reasons"])
    assert 200 == (await faulty.get("/v1/status")).status_code
