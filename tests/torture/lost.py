"""Stores that came back otherwise than they were: emptied, another's, or without the end of the log.

What was lost is refused with a reason, or announced by a new generation; never an answer as if it had not been.
"""

import asyncio
import contextlib
import shutil
import signal
import time
import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from psoup.engine.errors import EngineError
from psoup.storage.redis.calls.client import RedisClient
from tests.torture.clients import Client, Producer, Scene
from tests.torture.deployment import FENCED, STORE_GONE, Deployment, Shape
from tests.torture.history import History
from tests.torture.oracle import judge
from tests.torture.run import Report, Show, declare
from tests.torture.witness import Witness

FILES: Final = "appendonlydir"
QUERIES: Final = 8
BATCHES: Final = 6
REFUSED_FOR_S: Final = 2.5
"""So long an emptied store is asked for answers: engines are started again and again meanwhile."""
RETURNS_WITHIN_S: Final = 60.0


class Bench:
    """A small deployment with a few queries and batches in it, whose store can be taken away."""

    def __init__(self, folder: Path, deployment: Deployment, history: History, seed: int) -> None:
        """Use a deployment that runs."""
        self.folder = folder
        self.deployment = deployment
        self.history = history
        self.scene = Scene(open=deployment.connection, history=history, rows_max=200)
        self.asker = Client(self.scene, "asker", seed, 0)
        self.producer = Producer(self.scene, "producer", seed + 1, 0)

    async def fill(self) -> None:
        """Declare, register, send."""
        await declare(self.deployment, self.history)
        await self.producer.begin()
        for number in range(QUERIES):
            await self.asker.register(f"query-{number}")
        for _ in range(BATCHES):
            await self.producer.act()

    def leave(self) -> None:
        """Close the connections."""
        self.asker.connection.close()
        self.producer.connection.close()

    async def ask_all(self) -> list[int]:
        """Ask for the answer of every query; return the statuses, 0 = the connection broke."""
        statuses = []
        for query_id in self.scene.standing:
            target = f"/v1/queries/{query_id}/results"
            asked = await self.history.ask(self.asker.connection, "GET", target)
            statuses.append(0 if asked.answer is None else asked.answer.status)
            if asked.answer is not None and asked.answer.status == 200:
                self.asker.note_answer(asked, query_id, {"limit": 1_000}, offset=0)
        return statuses

    async def swap_store(self, change: Callable[[Path], None]) -> None:
        """Kill Redis, change its files, start it again."""
        redis = self.deployment.redis
        assert redis is not None
        redis.wanted = False
        redis.clear_group()
        change(redis.data / FILES)
        redis.start()
        with contextlib.closing(redis.client()) as client:
            latest = time.monotonic() + RETURNS_WITHIN_S
            while time.monotonic() < latest:
                if _has_loaded(client):
                    return
                await asyncio.sleep(0.05)
        raise TimeoutError(f"the store does not return: {redis.said()[-500:]!r}")


def _has_loaded(client: RedisClient) -> bool:
    with contextlib.suppress(EngineError):
        return client.info("persistence")["loading"] == "0"
    return False


async def lost_store(folder: Path, *, seed: int, seconds: float, show: Show) -> Report:
    """R-09: the store is emptied or exchanged, under engines that run or are started again."""
    ways = {
        "flushed": _flush,
        "emptied": _empty,
        "exchanged": _exchange,
    }
    rng = Random(seed)
    report = Report("lost store", seed, folder)
    latest = time.monotonic() + seconds
    for number, (name, way) in enumerate(ways.items()):
        if number and time.monotonic() > latest:
            break
        shape = Shape(engines=2, workers=2, server=rng.choice(["valkey", "redis"]))
        await _guarded(report, folder / name, shape, rng, act=partial(_refused, way), show=show)
    return report


async def lost_tail(folder: Path, *, seed: int, seconds: float, show: Show) -> Report:
    """R-07: the log lost its end, and another batch comes to stand there: the dead one is never seen."""
    rng = Random(seed)
    report = Report("lost tail", seed, folder)
    latest, number = time.monotonic() + seconds, 0
    while not number or (time.monotonic() < latest and not report.violations):
        shape = Shape(engines=1, workers=2, server=rng.choice(["valkey", "redis"]))
        await _guarded(report, folder / f"tail-{number}", shape, rng, act=_tail_replaced, show=show)
        number += 1
    return report


async def _guarded(
    report: Report,
    folder: Path,
    shape: Shape,
    rng: Random,
    *,
    act: Callable[[Bench], Awaitable[None]],
    show: Show,
) -> None:
    """Start a deployment, fill it, `act` on it; add what came of it to the report."""
    await asyncio.to_thread(folder.mkdir)
    history = History(folder / "history.jsonl")
    begun_s = time.monotonic()
    try:
        async with Deployment(folder, shape, rng) as deployment:
            bench = Bench(folder, deployment, history, rng.getrandbits(32))
            show(folder.name, 0.0, history)
            try:
                await bench.fill()
                await act(bench)
            finally:
                bench.leave()
    except Exception:  # noqa: BLE001 - a run that does not come to its end has failed, and says why
        history.violation(traceback.format_exc())
    history.close()
    report.seconds += time.monotonic() - begun_s
    report.counts += history.counts
    report.violations += history.violations


async def _flush(bench: Bench) -> None:
    assert bench.deployment.redis is not None
    client = bench.deployment.redis.client()
    await asyncio.to_thread(client.fetch_one, "FLUSHALL")
    client.close()


async def _empty(bench: Bench) -> None:
    await bench.swap_store(shutil.rmtree)


async def _exchange(bench: Bench) -> None:
    """Put the files of another psoup in the place of this one's."""
    other = bench.folder / "other"
    other.mkdir()
    # Neither reads the files of the other kind.
    shape = Shape(engines=0, workers=0, server=bench.deployment.shape.server)
    async with Deployment(other, shape, Random(1)) as deployment:
        await declare(deployment, bench.history)
        assert deployment.redis is not None
        files = deployment.redis.data / FILES

        def change(own: Path) -> None:
            shutil.rmtree(own)
            shutil.copytree(files, own)

        await bench.swap_store(change)


async def _refused(way: Callable[[Bench], Awaitable[None]], bench: Bench) -> None:
    """After the loss nothing is answered 2xx, by engines that run and by those that are started again."""
    statuses = await bench.ask_all()
    assert set(statuses) == {200}, statuses
    bench.history.fault("store lost")
    await way(bench)
    for restarted in (False, True):
        if restarted:
            for engine in bench.deployment.engines:
                engine.signal(signal.SIGKILL)
        latest = time.monotonic() + REFUSED_FOR_S
        while time.monotonic() < latest:
            statuses = await bench.ask_all()
            if not set(statuses) <= {0, 503}:
                bench.history.violation(f"a lost store answers {statuses}, restarted: {restarted}")
                return
            await _append_refused(bench)
            await asyncio.sleep(0.1)
    for one in bench.deployment.ended:
        # An engine that runs may meet the token of another store's engine before the store's name.
        if one.name.startswith("engine") and one.code not in {STORE_GONE, FENCED, -signal.SIGKILL}:
            bench.history.violation(f"{one.name} ended with {one.code} over a lost store")


async def _append_refused(bench: Bench) -> None:
    headers = {"Content-Type": "application/json"}
    asked = await bench.history.ask(
        bench.asker.connection, "POST", "/v1/streams/readings/rows", body=b"[]", headers=headers
    )
    if asked.answer is not None and asked.answer.status != 503:
        bench.history.violation(f"a lost store takes rows: {asked.answer}")


async def _tail_replaced(bench: Bench) -> None:
    """Copy the files, send a batch that will be dead, put the copy back, send a shorter one."""
    deployment = bench.deployment
    redis = deployment.redis
    assert redis is not None
    witness = Witness(redis.client(), bench.history)
    kept = bench.folder / "kept"
    shutil.copytree(redis.data / FILES, kept)
    known = set(bench.history.batches)
    for _ in range(3):
        await bench.producer.act()
    await bench.ask_all()  # workers have seen the rows that will be dead
    (engine,) = deployment.engines
    code = await asyncio.to_thread(engine.end)
    if code != 0:
        bench.history.violation(f"the engine was asked to end and did with {code}")
    before = await asyncio.to_thread(witness.meta)
    bench.history.fault("tail lost")

    def change(files: Path) -> None:
        shutil.rmtree(files)
        shutil.copytree(kept, files)

    await bench.swap_store(change)
    engine.start()
    after = History(bench.folder / "after.jsonl")
    after.batches = {key: one for key, one in bench.history.batches.items() if key in known}
    bench.history.batches = after.batches
    await deployment.ready(RETURNS_WITHIN_S)
    bench.scene.rows_max = 20
    again = Bench(bench.folder, deployment, after, 7)
    again.scene.standing = bench.scene.standing
    await again.producer.begin()
    again.producer.name = "after"
    for _ in range(3):
        await again.producer.act()
        for _ in range(4):
            statuses = await again.ask_all()
            if not set(statuses) <= {0, 200}:
                after.violation(f"after the loss: {statuses}")
            again.asker.connection.close()  # so that the other worker is asked as well
    second = Witness(witness.client, after)
    await asyncio.to_thread(second.look)
    if int((await asyncio.to_thread(second.meta))["gen"]) <= int(before["gen"]):
        after.violation("operations were lost and the generation is the old one")
    second.close()
    again.leave()
    await asyncio.to_thread(judge, after, second.operations)
    bench.history.violations += after.violations
    bench.history.counts += after.counts
    after.close()
