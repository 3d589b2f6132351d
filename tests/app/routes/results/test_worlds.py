"""Clients that come back, in random worlds: over each service, through caches that meddle, while one is killed."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from tests.app.real_processes import Process
from tests.app.routes.results.proxies import Between, BrowserCache, Doubling, Hoarding, Stripping
from tests.app.routes.results.worlds import (
    CLIENTS,
    CLOCK_QUERIES,
    EVENT_QUERIES,
    GROUP_QUERIES,
    World,
)
from tests.app.support import Api
from tests.conformance.following import wait_answering
from tests.patience import WAIT_S, wait_until
from tests.stores import SharedServer

pytestmark = pytest.mark.anyio

STEPS = 60
LONG = range(1, 21)
"""Seeds of long runs."""


@pytest.mark.services
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
async def test_clients_have_what_a_full_answer_shows(api: Api, seed):
    """In every format, alone and many at once, whatever of their answers was lost, late or read in part."""
    world = World(seed, EVENT_QUERIES)
    await world.begin(api.client)
    await world.play(STEPS)
    assert world.seen["delta"] > world.seen["reset"] > 0


@pytest.mark.slow
@pytest.mark.services
@pytest.mark.parametrize("seed", LONG)
async def test_clients_have_what_a_full_answer_shows_for_long(api: Api, seed):
    """The same, over more steps and seeds; all that can happen does."""
    world = World(100 + seed, EVENT_QUERIES)
    await world.begin(api.client)
    await world.play(5 * STEPS)
    happened = {name for name, times in world.seen.items() if times}
    assert {"away", "lost", "crossed", "cursor not saved", "pages", "delta", "removed"} <= happened


@pytest.mark.services
async def test_clients_behind_a_browser_s_cache_have_what_is_true_now(api: Api):
    """Answers that are revalidated are those of this moment, though the windows have moved since."""
    world = World(3, EVENT_QUERIES, revalidated=True)
    cache = BrowserCache(api.client._transport)
    async with through(cache) as http:
        await world.begin(http, direct=api.client)
        await world.play(STEPS)
        for _ in range(2):
            await world.all_come_back()
    assert cache.kept > 0


@pytest.mark.parametrize("proxy", [Stripping, Doubling])
async def test_clients_behind_a_proxy_that_meddles_have_what_is_true(api: Api, proxy):
    """One that throws parameters away, and one that sends everything twice: no loop, and no wrong row."""
    world = World(4, EVENT_QUERIES, revalidated=True)
    async with through(Gets(proxy(api.client._transport), api.client._transport)) as http:
        await world.begin(http, direct=api.client)
        await world.all_come_back()
        await world.all_come_back()
    assert 2 * CLIENTS * len(EVENT_QUERIES) == world.seen["delta"] + world.seen["reset"]


async def test_clients_behind_a_cache_that_hoards_are_late_and_never_wrong(api: Api):
    """What it has kept of every URL leads nobody to rows that were never there; emptied, it is no hindrance."""
    world = World(5, EVENT_QUERIES, revalidated=True)
    hoard = Hoarding(api.client._transport)
    async with through(Gets(hoard, api.client._transport)) as http:
        await world.begin(http, direct=api.client)
        for _ in range(4):
            await world.arrive()
            await world.all_are_consistent()
        hoard.stored.clear()
        await world.all_come_back()
    assert hoard.hits > 0


async def test_clients_of_windows_that_the_clock_moves_outlive_kills(tmp_path):
    """A service that is killed and started again goes on from every cursor, of rows and of groups alike.

    Windows move by the clock meanwhile.
    """
    world, resets = await outlived(6, tmp_path, kills=2, steps=STEPS // 2)
    assert [0, 0] == resets, "a kill is no reason to begin again"
    assert world.seen["delta"] > world.seen["reset"]


@pytest.mark.slow
@pytest.mark.redis
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", LONG[:5])
async def test_clients_of_a_worker_outlive_its_kills_and_those_of_the_engine(tmp_path, seed):
    """A standby takes over, a worker is started anew: neither makes a client begin again, and nothing is wrong."""
    world, resets = await outlived_apart(300 + seed, tmp_path, kills=4, steps=STEPS)
    assert 12 * [0] == resets, "a kill is no reason to begin again"
    assert world.seen["delta"] > world.seen["reset"]


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", LONG)
async def test_clients_outlive_kills_for_long(tmp_path, seed):
    """The same, of more seeds and kills."""
    world, resets = await outlived(200 + seed, tmp_path, kills=8, steps=STEPS)
    assert 8 * [0] == resets, "a kill is no reason to begin again"
    assert world.seen["delta"] > world.seen["reset"]


async def outlived(seed: int, folder: Path, *, kills: int, steps: int) -> tuple[World, list[int]]:
    """Play a world on a service that is killed so often; return it, and how many clients each kill made begin again."""
    resets = []
    world = World(seed, (*EVENT_QUERIES, *GROUP_QUERIES, *CLOCK_QUERIES))
    service = Process("serve", None, folder)
    try:
        for life in range(kills + 1):
            service.start("--port", "0")
            url = service.wait_for("listening")["url"]
            async with httpx2.AsyncClient(base_url=url, timeout=WAIT_S) as http:
                if life:
                    world.http = world.direct = http
                else:
                    await world.begin(http)
                begin_anew = await world.all_begin_anew()
                if life:
                    resets.append(begin_anew)
                await world.play(steps)
            # The last one stops its server as well.
            service.send(signal.SIGKILL if life < kills else signal.SIGTERM)
            service.wait()
    finally:
        service.close()
    return world, resets


async def outlived_apart(
    seed: int, folder: Path, *, kills: int, steps: int
) -> tuple[World, list[int]]:
    """The same over a worker and an engine apart, each killed so often; of an engine both, without one and after it."""
    resets: list[int] = []
    world = World(seed, (*EVENT_QUERIES, *GROUP_QUERIES, *CLOCK_QUERIES))
    server = SharedServer(folder / "server")
    engines = [Process("engine", server.url, folder / name) for name in ("a", "b")]
    api = Process("api", server.url, folder / "api")
    try:
        engines[0].start()
        engines[0].wait_for("recovered")
        api.start("--port", "0", "--workers", "1")
        url = api.wait_for("listening")["url"]
        for life in range(kills + 1):
            wait_answering(url)
            async with httpx2.AsyncClient(base_url=url, timeout=WAIT_S) as http:
                if not life:
                    await world.begin(http)
                world.http = world.direct = http
                begin_anew = await world.all_begin_anew()
                resets += [begin_anew] if life else []
                await world.play(steps)
                if life < kills:
                    resets += await _engine_killed(world, engines)
            if life < kills:
                _kill_worker(api)
        assert 1 == len(world.gens)
    finally:
        for process in (api, *engines):
            process.close()
        server.stop()
    return world, resets


async def _engine_killed(world: World, engines: list[Process]) -> list[int]:
    """Kill the first engine; the other takes over, and is the first of them. Return as `outlived_apart` does."""
    engines[1].start()
    engines[1].wait_for("standby")
    engines[0].send(signal.SIGKILL)
    engines[0].wait()
    engines.reverse()
    without = await world.all_begin_anew()
    arriving = asyncio.create_task(world.arrive())  # committed at once, applied by the other engine
    await asyncio.to_thread(engines[0].wait_for, "recovered")
    await arriving
    return [without, await world.all_begin_anew()]


def _kill_worker(api: Process) -> None:
    """Kill the only worker of an API; return when its parent has seen that."""

    def seen(event: str) -> list[int]:
        return [one["worker"] for one in api.events() if one["event"] == event]

    worker = seen("worker-started")[-1]
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: worker in seen("worker-ended"), "its parent has seen it")


class Gets(Between):
    """Lets requests that only read go by a proxy, and the others by the side of it."""

    def __init__(self, proxy: Between, behind: httpx2.AsyncBaseTransport) -> None:
        super().__init__(behind)
        self._proxy = proxy

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return await self._proxy.handle_async_request(request)
        return await self.forward(request)


@asynccontextmanager
async def through(transport: httpx2.AsyncBaseTransport) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield a client that goes by `transport`; what that goes by is left open."""
    yield httpx2.AsyncClient(transport=transport, base_url="http://localhost")
