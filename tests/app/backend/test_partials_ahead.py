"""Partials that a service makes before anybody asks, in the process that answers: in one, and in a worker."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pyarrow as pa
import pytest

from psoup.app.backend.partials_ahead import PartialsAhead
from psoup.engine import limits
from psoup.engine.aggregates.partials.partial_cache import PartialCache
from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.schema import ColumnType
from tests.app.support import START_US, Api
from tests.patience import WAIT_S

pytestmark = [pytest.mark.anyio, pytest.mark.services]

SUMS = "SELECT sym, SUM(px) AS v FROM trades GROUP BY sym"
ROWS = 2 * limits.CHUNK_ROWS + 50


@pytest.fixture
async def filling(api: Api) -> AsyncIterator[Api]:
    """Yield a service with a stream that is empty."""
    await api.declare()
    yield api
    api.service.ahead.check()


async def send(api: Api, first: int) -> None:
    """Append ROWS rows, two whole chunks and a bit."""
    times = pa.array(range(START_US + first, START_US + first + ROWS), pa.int64())
    table = pa.table(
        {
            "ts": times.cast(ARROW_TYPES[ColumnType.TIMESTAMP]),
            "sym": pa.array(["a", "b"] * (ROWS // 2)),
            "px": pa.array([0.5] * ROWS),
        }
    )
    (batch,) = table.to_batches()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    answer = await api.body(sink.getvalue().to_pybytes(), "application/vnd.apache.arrow.stream")
    assert answer.status_code in (200, 202), answer.text


def made(api: Api) -> tuple[int, int]:
    """Return of how many chunks partials were made for those who asked, and before."""
    found = api.service.invocations.partials.statistics()
    return found.chunks_asked, found.chunks_ahead


async def until(condition: Callable[[], bool]) -> None:
    """Wait until another thread has come so far."""
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110 (it tells nobody)
            await asyncio.sleep(0.01)


async def ahead_of(api: Api, chunks: int) -> None:
    """Wait until partials of so many chunks were made ahead."""
    await until(lambda: made(api)[1] >= chunks)


async def test_first_invocation_makes_no_partials_of_whole_chunks(filling: Api):
    """Whether rows came before the query or after it; figures say what was made, and the bytes that are kept."""
    api = filling
    await send(api, 0)
    query_id = await api.register(SUMS, materialize="complete")
    await ahead_of(api, 2)
    answer = await api.results(query_id, meta="0")
    assert [{"sym": "a", "v": ROWS / 4}, {"sym": "b", "v": ROWS / 4}] == answer["rows"]
    await send(api, ROWS)
    await ahead_of(api, 4)
    again = await api.results(query_id, meta="0")
    assert [ROWS / 2, ROWS / 2] == [one["v"] for one in again["rows"]]
    assert (0, 4) == made(api)
    lines = (await api.get("/metrics")).text.splitlines()
    figures = dict(line.split() for line in lines if line.startswith("psoup_partials"))
    assert ("0.0", "4.0") == (
        figures["psoup_partials_chunks_total"],
        figures["psoup_partials_ahead_chunks_total"],
    )
    assert (
        float(figures["psoup_partials_ahead_bytes"]) > 0 == float(figures["psoup_partials_bytes"])
    )


async def test_queries_that_are_replaced_or_removed_are_not_made_ahead_any_more(filling: Api):
    """What was kept for them goes; another policy makes nothing before it is asked."""
    api = filling
    await send(api, 0)
    await api.register(SUMS)
    named = "/v1/queries/board"
    first = await api.send("PUT", named, json={"sql": SUMS, "materialize": "complete"})
    assert 201 == first.status_code
    await ahead_of(api, 2)
    changed = {"sql": SUMS.replace("SUM", "MAX"), "materialize": "complete"}
    await api.send("PUT", named, params={"replace": "true"}, json=changed)
    await ahead_of(api, 4)
    ahead = api.service.ahead
    assert 1 == ahead.statistics().queries
    assert 1 == api.service.invocations.partials.statistics().ahead.entries
    gone = await api.send("DELETE", f"/v1/queries/{first.json()['id']}")
    assert 204 == gone.status_code
    await until(lambda: not ahead.statistics().queries)
    await asyncio.to_thread(ahead.make)
    assert 0 == api.service.invocations.partials.statistics().ahead.entries
    assert (0, 4) == made(api)


async def test_who_begins_later_finds_the_queries_that_stand(filling: Api):
    """As a worker does that starts, and one to which the log does not reach back; what has no room waits for some."""
    api = filling
    await send(api, 0)
    query_id = await api.register(SUMS, materialize="complete")
    await api.register("SELECT qty FROM trades", materialize="complete")
    await ahead_of(api, 2)
    service = api.service
    service.invocations.partials = PartialCache(ahead_bytes_max=0)
    other = PartialsAhead(service.backend, service.store.log, service.invocations)
    while await asyncio.to_thread(other.make):
        pass
    assert (1, 1) == (other.statistics().queries, other.statistics().refused)
    assert (0, 0) == made(api)
    service.invocations.partials = PartialCache()
    await send(api, ROWS)
    await api.results(query_id)
    while await asyncio.to_thread(other.make):
        pass
    assert (1, 0) == (other.statistics().queries, other.statistics().refused)
    other.check()
    other.close()
    assert not await asyncio.to_thread(other.make)
