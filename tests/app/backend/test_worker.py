"""Several API workers over one store: each knows what the others were told, with an engine and without."""

import asyncio
import contextlib
import dataclasses
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from psoup.app.fold.loop import FoldLoop
from psoup.app.main import create_worker_app
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.engine import CachedTuples
from psoup.storage import keys
from tests.app.staged import commit, stage
from tests.app.support import SETTINGS, START_US, Api, answering, assert_problem, row
from tests.patience import WAIT_S
from tests.stores import SharedServer

pytestmark = [pytest.mark.anyio, pytest.mark.redis]

SQL = "SELECT qty FROM trades WHERE qty > 0"
ASKED_AFTER_AN_APPEND = 24
"""Calls of the store, at most; eleven, unless there are two looks for those who wait."""
LATE = {
    "sql": "SELECT qty FROM trades WHERE qty > :least",
    "params": {"least": 0},
    "name": "late",
    "labels": {"user": "42"},
}


class Engine:
    """An engine over the server that begins and ends as a test says."""

    def __init__(self, server: SharedServer, folder: Path) -> None:
        self._server, self._folder = server, folder
        self._ending = contextlib.ExitStack()

    def begin(self) -> None:
        """Take the store over and fold what is there."""
        store = self._server.store(self._folder)
        self._ending.callback(store.close)
        loop = FoldLoop(store=store, answers=False)
        loop.start()
        self._ending.callback(loop.stop)
        assert loop.wait_recovered(WAIT_S)

    def end(self) -> None:
        """End it in good order; twice does nothing."""
        self._ending.close()


@pytest.fixture
def engine(
    server: SharedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    """Yield an engine that folds an empty store; while it is away nobody waits long."""
    monkeypatch.setattr("psoup.app.backend.applied.UNMOVED_WAIT_S", 0.05)
    server.empty_store(tmp_path).close()
    one = Engine(server, tmp_path)
    one.begin()
    yield one
    one.end()


@contextlib.asynccontextmanager
async def worker(server: SharedServer) -> AsyncIterator[Api]:
    """Yield one more worker over the server."""
    clock = ManualClock(START_US)
    app = create_worker_app(dataclasses.replace(SETTINGS, store=server.url), clock=clock)
    async with answering(app, clock) as api:
        yield api


@pytest.fixture
async def workers(server: SharedServer, engine: Engine) -> AsyncIterator[tuple[Api, Api]]:
    """Yield two workers with an engine beside them, and a stream."""
    async with worker(server) as one, worker(server) as other:
        assert 201 == (await one.declare()).status_code
        yield one, other
        one.service.check()
        other.service.check()


async def left_alone(engine: Engine, *apis: Api) -> None:
    """End the engine and return once each worker knows."""
    await asyncio.to_thread(engine.end)
    for api in apis:
        while api.service.backend.statistics().engine_alive:  # type: ignore[attr-defined] # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def ids(api: Api, query: str = "") -> list[str]:
    """Return the handles that a list shows."""
    answer = await api.get(f"/v1/queries?{query}")
    return [one["id"] for one in answer.json()["queries"]]


def tuples_of(api: Api) -> CachedTuples:
    """Return the tuples that a worker keeps."""
    source = api.service.backend.source
    assert isinstance(source, CachedTuples)
    return source


async def test_what_one_worker_took_all_others_show(workers: tuple[Api, Api]):
    """Rows, queries and positions: a position from one is waited for by the other; pages go on at the other."""
    one, other = workers
    query_id = await other.register(SQL)
    told = (await one.rows([row(i, qty=i + 1) for i in range(9)])).json()
    first = await other.results(query_id, min_seq=told["seq"], limit=5)
    assert (9, told["seq"]) == (first["count"], first["seq"])
    rest = (await one.get(first["next"])).json()
    assert list(range(1, 10)) == [int(r["qty"]) for r in first["rows"] + rest["rows"]]
    at = {"now": "2026-11-21T10:00:08Z"}
    path = f"/v1/queries/{query_id}/results"
    answers = [await api.get(path, params=at) for api in (one, other, one)]
    assert 1 == len({answer.content for answer in answers})


async def test_what_a_worker_asks_after_an_append_does_not_grow_with_those_who_wait(
    workers: tuple[Api, Api], monkeypatch: pytest.MonkeyPatch
):
    """One look and one answer for all, and nothing while they wait; where the store stands is read by one thread."""
    one, other = workers
    room = one.app.state.context.room
    client = one.service.store._client  # type: ignore[union-attr]
    responses, asked = client._responses, list[Any]()

    def counted(commands: Any, lost: Any) -> Any:
        if threading.current_thread().name != "psoup-follow":
            asked.append(commands)
        return responses(commands, lost)

    monkeypatch.setattr(client, "_responses", counted)
    query_id = await one.register(SQL)
    told = await one.results(query_id)
    for number, many in enumerate((1, 200)):
        given = {"cursor": told["cursor"], "wait": WAIT_S, "linger": 0}
        waits: list[asyncio.Task[Any]] = []
        while len(waits) < many:  # no more at once than are worked on at once
            more = range(min(20, many))
            waits += [asyncio.create_task(one.results(query_id, **given)) for _ in more]
            while room.statistics().waiting < len(waits):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        asked.clear()
        await other.rows([row(number, qty=1)])
        answers = await asyncio.gather(*waits)
        assert [1] * many == [len(answer["rows"]) for answer in answers]
        assert 0 < len(asked) <= ASKED_AFTER_AN_APPEND, asked
        told = answers[0]


async def test_query_that_fills_is_known_to_all_workers(workers: tuple[Api, Api], engine: Engine):
    """Described, listed, waited for and removed by workers that did not register it."""
    one, other = workers
    live = await one.register("SELECT * FROM trades")
    await left_alone(engine, one, other)
    answer = await one.send("POST", "/v1/queries", json=LATE)
    told, late = answer.json(), answer.json()["id"]
    assert (202, "filling") == (answer.status_code, told["state"])
    assert told == (await other.get(answer.headers["location"])).json()
    for api in (one, other):
        assert [live, late] == await ids(api)
        assert [late] == await ids(api, "state=filling")
        assert [live] == await ids(api, "state=live")
        assert [late] == await ids(api, "label=user:42")
        assert [live, late] == await ids(api, "stream=trades")
        assert [] == await ids(api, "stream=other")
        assert_problem(await api.get(told["links"]["results"]), "query-filling")
        asked = {"queries": [late, live, "q_0000000000000000000000"]}
        found = (await api.send("POST", "/v1/invoke", json=asked)).json()["results"]
        codes = [member.get("problem", {}).get("code") for member in found]
        assert ["query-filling", None, "not-found"] == codes
    again = await other.send("POST", "/v1/queries", json=LATE | {"labels": {"user": "7"}})
    assert (202, told) == (again.status_code, again.json())
    assert_problem(await other.get("/v1/queries/q_0000000000000000000000"), "not-found")

    await asyncio.to_thread(engine.begin)
    seq = told["seq"]
    for api in (one, other):
        assert 0 == (await api.results(late, min_seq=seq))["count"]
        live = (await api.get(answer.headers["location"])).json()
        assert live.pop("plan")
        assert told | {"state": "live"} == live


async def test_query_removed_while_it_fills_is_gone(workers: tuple[Api, Api], engine: Engine):
    """A worker that did not register it removes it; after that it is nobody's."""
    one, other = workers
    await left_alone(engine, one, other)
    answer = await one.send("POST", "/v1/queries", json={"sql": SQL})
    path = answer.headers["location"]
    removed = await other.send("DELETE", path)
    assert (202, "removing") == (removed.status_code, removed.json()["state"])
    assert_problem(await other.get(path), "not-found")
    await asyncio.to_thread(engine.begin)
    seq = removed.json()["seq"]
    for api in (one, other):
        assert await api.service.applied.wait(seq, timeout_s=WAIT_S)
        assert_problem(await api.get(path), "not-found")


async def test_invocation_of_what_fills_elsewhere_waits_for_it(
    workers: tuple[Api, Api], engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    """Where an engine is coming, the worker asked waits as the one does that registered it."""
    one, other = workers
    await one.rows([row(1, qty=7)])
    await left_alone(engine, one, other)
    late = (await one.send("POST", "/v1/queries", json={"sql": SQL})).json()["id"]
    monkeypatch.setattr("psoup.app.backend.applied.UNMOVED_WAIT_S", WAIT_S)
    invoked = asyncio.create_task(other.get(f"/v1/queries/{late}/results"))
    asked = {"queries": [late]}
    among = asyncio.create_task(other.send("POST", "/v1/invoke", json=asked))
    await asyncio.to_thread(engine.begin)
    assert (200, 1) == ((await invoked).status_code, (await invoked).json()["count"])
    assert 1 == (await among).json()["results"][0]["count"]


async def test_without_an_engine_reads_go_on_and_rows_are_taken_until_the_backlog_is_full(
    workers: tuple[Api, Api], engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    """Each worker is not ready and says why; 202 up to the bound, then 503 with Retry-After; nothing shows early."""
    one, other = workers
    query_id = await one.register(SQL)
    await one.rows([row(1, qty=1)])
    monkeypatch.setattr(limits, "BACKLOG_OPERATIONS_MAX", 5)
    await left_alone(engine, one, other)
    answer = await other.get("/readyz")
    assert (503, ["no-engine"]) == (answer.status_code, answer.json()["reasons"])
    taken = [(await api.rows([row(2, qty=2)])).status_code for api in (one, other, one, other, one)]
    assert [202] * 5 == taken
    for api in (one, other):
        assert_problem(await api.rows([row(3, qty=3)]), "overloaded")
        assert 1 == (await api.results(query_id))["count"]
        assert ["no-engine", "backlog"] == (await api.get("/readyz")).json()["reasons"]
        status = (await api.get("/v1/status")).json()
        assert (5, 3) == (status["backlog"], status["applied"])
        assert "psoup_backlog_operations 5.0" in (await api.get("/metrics")).text
    # A position that cannot come soon is not waited for.
    late = await one.get(f"/v1/queries/{query_id}/results", params={"min_seq": 8})
    assert_problem(late, "not-yet-visible")
    await asyncio.to_thread(engine.begin)
    assert 6 == (await other.results(query_id, min_seq=8))["count"]


async def test_stream_that_another_worker_declared_anew_is_seen(workers: tuple[Api, Api]):
    """Rows and queries go to the stream in force, whichever worker declared it."""
    one, other = workers
    assert 200 == (await other.rows([row(1, qty=1)])).status_code
    assert 204 == (await one.send("DELETE", "/v1/streams/trades")).status_code
    assert_problem(await other.get("/v1/streams/trades"), "not-found")
    assert 201 == (await one.declare()).status_code
    assert 200 == (await other.rows([row(1, qty=1)])).status_code
    assert [1, 1] == [await api.count() for api in (one, other)]
    query_id = await other.register(SQL)
    assert 1 == (await one.results(query_id))["count"]


async def test_another_history_is_begun_with_nothing_of_the_one_before(
    workers: tuple[Api, Api], engine: Engine, server: SharedServer
):
    """Declarations, descriptions and tuples are read again, and answers carry the new generation."""
    one, other = workers
    query_id = await one.register(SQL)
    await one.rows([row(1, qty=1)])
    before = await one.results(query_id)
    described = (await one.get(f"/v1/queries/{query_id}")).json()
    service = one.service
    assert 0 < tuples_of(one).statistics().segments
    assert 0 < service.catalogue.statistics().held
    await left_alone(engine, one, other)
    server.client.fetch_one("HSET", keys.META, "gen", before["gen"] + 1)
    while service.backend.statistics().histories == 0:  # type: ignore[attr-defined] # noqa: ASYNC110
        await asyncio.sleep(0.005)
    assert 0 == tuples_of(one).statistics().segments
    assert (0, 0) == (service.catalogue.statistics().held, len(service.descriptions))
    after = await one.results(query_id)
    assert (before["gen"] + 1, before["rows"]) == (after["gen"], after["rows"])
    assert described == (await one.get(f"/v1/queries/{query_id}")).json()


async def test_figures_of_a_worker_are_the_engines_and_its_own(workers: tuple[Api, Api]):
    """What the engine has done, at the position of the store; invocations and tuples kept are the worker's."""
    one, other = workers
    query_id = await one.register(SQL)
    await one.rows([row(1, qty=1), row(2, qty=2)])
    await one.results(query_id)
    wanted: dict[str, Any] = {"applied": 3, "published": 3, "head": 3, "backlog": 0, "queries": 1}
    while other.service.backend.figures().operations < 3:  # noqa: ASYNC110 (it is told once a second)
        await asyncio.sleep(0.02)
    status = (await other.get("/v1/status")).json()
    assert wanted.items() <= status.items()
    assert (2, True, []) == (status["written"]["tuples"], status["ready"], status["reasons"])
    lines = set((await one.get("/metrics")).text.splitlines())
    assert {
        "psoup_applied 3.0",
        "psoup_ready 1.0",
        "psoup_workers 1.0",
        "psoup_invocations_total 1.0",
        "psoup_tuples_folded_total 2.0",
        "psoup_backlog_bytes 0.0",
    } <= lines | set((await other.get("/metrics")).text.splitlines())
    assert "psoup_tuples_cache_bytes 0.0" not in lines
    assert "psoup_invocations_total 0.0" in (await other.get("/metrics")).text


async def test_answer_that_another_history_overtakes_is_no_answer(
    workers: tuple[Api, Api], server: SharedServer, monkeypatch: pytest.MonkeyPatch
):
    """Its rows were found in one history, their tuples would be read from the next: 503, and the next ask is whole."""
    api, _ = workers
    query_id = await api.register(SQL)
    await api.rows([row(i) for i in range(9)])
    gen = (await api.results(query_id))["gen"]
    kept, results = tuples_of(api), api.service.results
    tuples = kept.tuples
    begun: list[int] = []

    def overtaken(*asked: Any) -> Any:
        if not begun:
            begun.append(gen + 1)
            server.say("gen", gen + 1)
            results.cut()  # another answer sees it, and what is cached goes
        return tuples(*asked)

    monkeypatch.setattr(kept, "tuples", overtaken)
    many = {"queries": [query_id]}
    for ask in (
        lambda: api.get(f"/v1/queries/{query_id}/results?limit=5"),
        lambda: api.send("POST", "/v1/invoke", json=many),
    ):
        begun.clear()
        gen = results.cut().gen
        refused = await ask()
        assert_problem(refused, "recovering")
        again = await ask()
        assert 200 == again.status_code
        assert gen + 1 == int(again.headers["Psoup-Gen"])


async def test_parts_staged_at_one_worker_are_committed_at_another(workers: tuple[Api, Api]):
    """Nothing of a commit belongs to the worker that was told of it; pages and batches are read at any of them."""
    one, other = workers
    query_id = await one.register(SQL)
    parts = [await stage(api, [row(i, qty=i + 1)]) for i, api in enumerate((one, other, one))]
    told = (await commit(other, parts)).json()
    assert (3, False) == (told["accepted"], told["duplicate"])
    assert told | {"accepted": 0, "duplicate": True} == (await commit(one, parts)).json()
    asked = {"count": "only", "pages": "all", "limit": 1, "min_seq": told["seq"]}
    listed = await one.results(query_id, **asked)
    pages = [
        (await api.get(url)).json()
        for api, url in zip((other, one, other), listed["pages"], strict=True)
    ]
    assert [1, 2, 3] == [page["rows"][0]["qty"] for page in pages]
    assert {told["seq"]} == {page["seq"] for page in pages}
    held = await other.send("PUT", "/v1/streams/trades/archive", json={"through": told["seq"] - 2})
    assert 2 == held.json()["held_batches"]
    assert held.json() == (await one.get("/v1/streams/trades/archive")).json()


async def test_batch_that_another_history_overtakes_is_no_answer(
    workers: tuple[Api, Api], server: SharedServer, monkeypatch: pytest.MonkeyPatch
):
    """A batch that was read while another history began is not told as one of the history before."""
    api, _ = workers
    seq = (await api.rows([row(1)])).json()["seq"]
    gen = int((await api.get(f"/v1/streams/trades/batches/{seq}")).headers["Psoup-Gen"])
    log = api.service.store.log
    read_at = log.read_at

    def overtaken(seqs: Any) -> Any:
        server.say("gen", gen + 1)
        return read_at(seqs)

    monkeypatch.setattr(log, "read_at", overtaken)
    assert_problem(await api.get(f"/v1/streams/trades/batches/{seq}"), "recovering")
    monkeypatch.undo()
    again = await api.get(f"/v1/streams/trades/batches/{seq}")
    assert (200, gen + 1) == (again.status_code, int(again.headers["Psoup-Gen"]))
