"""What was committed is never answered as if it had not been, whatever else is busy or goes on meanwhile."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import pytest

from psoup.app.backend.service import ANSWER_THREADS
from psoup.app.routes.queries import batch_queries
from psoup.engine.clock import ManualClock
from psoup.engine.errors import OverloadedError, StaleDeclarationError
from tests.app.faults import FaultyStore
from tests.app.fold.folding import folding, numbers, quicken, schema
from tests.app.support import SETTINGS, START_US, Api, row, running
from tests.patience import WAIT_S
from tests.world import World

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def busy_after(api: Api, method: str) -> AsyncIterator[None]:
    """Let all threads that answer be taken from the moment at which `method` of the submission returns."""
    service, released = api.service, threading.Event()
    plain = getattr(service.submission, method)
    waiting: list[asyncio.Future[bool]] = []

    async def submit(*args, **more):
        submitted = await plain(*args, **more)
        for _ in range(ANSWER_THREADS):
            work = service.answering.run(lambda: released.wait(WAIT_S), deadline_s=WAIT_S)
            waiting.append(asyncio.ensure_future(work))
        await asyncio.sleep(0.05)
        return submitted

    setattr(service.submission, method, submit)
    try:
        yield
    finally:
        released.set()
        await asyncio.gather(*waiting)
        setattr(service.submission, method, plain)


async def batch(api: Api, lines: list[dict[str, object]]) -> list[int]:
    """Register in bulk; return the status of each line."""
    body = b"\n".join(map(orjson.dumps, lines))
    headers = {"Content-Type": "application/x-ndjson"}
    answer = await api.send("POST", "/v1/batch/queries", content=body, headers=headers)
    assert 200 == answer.status_code, answer.text
    return [orjson.loads(line)["status"] for line in answer.content.splitlines()]


async def test_rows_committed_while_all_threads_answer_are_told_so():
    """Whoever is refused sends again, and the rows would be there twice."""
    async with running(SETTINGS) as api:
        await api.declare()
        async with busy_after(api, "submit"):
            answer = await api.rows([row(0)])
        assert (200, 1) == (answer.status_code, answer.json()["accepted"])


async def test_batch_registered_while_all_threads_answer_is_told_so():
    """The same for queries without a name."""
    async with running(SETTINGS) as api:
        await api.declare()
        async with busy_after(api, "submit_many"):
            assert [201] * 3 == await batch(api, [{"sql": "SELECT px FROM trades"}] * 3)


async def test_batch_whose_stale_lines_cannot_be_tried_again_tells_of_the_others(api, monkeypatch):
    """What goes wrong at the second attempt stands in the place of the lines it was for."""
    await api.declare()
    plain, attempts = batch_queries._attempt, []

    async def attempt(call, part, latest):
        attempts.append(len(part))
        if len(attempts) > 1:
            raise OverloadedError("Away.", reason="deadline")
        outcomes = await plain(call, part, latest)
        return [outcomes[0], StaleDeclarationError("Once more."), *outcomes[2:]]

    monkeypatch.setattr(batch_queries, "_attempt", attempt)
    assert [201, 503, 201] == await batch(api, [{"sql": "SELECT px FROM trades"}] * 3)
    assert [3, 1] == attempts


async def test_listing_while_a_stream_is_dropped_describes_what_stood(api, monkeypatch):
    """A query is described by the streams of its snapshot, not by those that are declared a moment later."""
    await api.declare()
    query_id = await api.register("SELECT px FROM trades")
    api.service.forget()
    monkeypatch.setattr(api.service.catalogue, "streams", dict)
    answer = await api.get("/v1/queries")
    assert [query_id] == [one["id"] for one in answer.json()["queries"]]


def test_loop_over_a_store_that_lost_its_hits_refuses_to_answer(monkeypatch):
    """Hits from before the start are the store's: without them an answer would lack rows, and say nothing."""
    quicken(monkeypatch)
    clock = ManualClock(START_US)
    store = FaultyStore(clock)
    world = World(store.plain, clock)
    with folding(store) as one:
        world.declare(schema("s", None), fold=False)
        query_id = world.register("SELECT a FROM s WHERE a + 0 = 7", fold=False)
        one.wait(world.append("s", numbers(*range(5_000)), fold=False).seq)
    with folding(store) as one:
        assert [7] == one.answer(query_id)
        clock.advance(1_000)
        store.results.contract = FaultyStore(clock).plain.results
        with pytest.raises(Exception, match="changed under psoup"):
            one.answer(query_id)
