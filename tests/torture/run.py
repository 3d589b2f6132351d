"""One run: a deployment, clients and faults for a while; then calm, and everything is looked at."""

import asyncio
import contextlib
import json
import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Final, cast
from urllib.parse import quote

from psoup.engine import limits
from psoup.engine.clock import SystemClock
from psoup.engine.errors import EngineError
from psoup.engine.log.operation import Operation
from psoup.engine.tuples.batch import Seq
from psoup.storage.opening import open_store
from psoup.storage.redis.calls.client import RedisClient
from tests.agreement.replay import published_digest, replayed
from tests.torture import workload
from tests.torture.clients import (
    RESOLVE_S,
    Client,
    Crowd,
    Producer,
    Reader,
    Registrar,
    Scene,
)
from tests.torture.deployment import FENCED, STORE_GONE, Deployment, Shape
from tests.torture.history import History, Sent
from tests.torture.nemesis import Faults, Nemesis
from tests.torture.oracle import Verdict, judge
from tests.torture.phones import Phone
from tests.torture.together import Counting, judge_together
from tests.torture.witness import Witness
from tests.world import World

ROUNDS_MAX: Final = 10
CAUGHT_UP_S: Final = 60.0
LET_GO_S: Final = 10.0
BYTES_COMPARED_OF: Final = 12
"""Queries whose answers are compared byte for byte between workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one run is made of.

    Attributes:
        pace_s: about how long each client waits between two acts.
        cuts: the part of requests whose connection is cut.
        rows_max, large: of the largest batches, and the part of batches of `readings` that is large.
        retained: rows that `readings` keeps.
        takeovers: in each whole minute, at least: with fewer nothing was shown.
        together: operations that travel in one call of the log, on average at least: with fewer nothing was shown.
    """

    name: str
    shape: Shape
    faults: Faults | None = None
    producers: int = 4
    registrars: int = 1
    phones: int = 8
    readers: int = 2
    crowds: int = 0
    pace_s: float = 0.3
    cuts: float = 0.0
    joins: bool = True
    rows_max: int = 2_000
    large: float = 0.03
    retained: int = 30_000
    takeovers: int = 0
    together: float = 0.0


@dataclass(slots=True)
class Report:
    """What a run did and found."""

    name: str
    seed: int
    folder: Path
    seconds: float = 0.0
    verdict: Verdict = field(default_factory=Verdict)
    operations: Sequence[Operation] = ()
    batches: Mapping[tuple[str, str, int], Sent] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    takeovers: int = 0
    violations: list[str] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)


Show = Callable[[str, float, History], None]
"""Is told, now and then, what the run is doing, for how many seconds, and its history."""


@dataclass(slots=True)
class Run:
    """A run under way: what its parts share."""

    plan: Plan
    seed: int
    folder: Path
    deployment: Deployment
    history: History
    scene: Scene
    witness: Witness
    nemesis: Nemesis | None
    clients: Sequence[Client]


async def torture(
    plan: Plan, folder: Path, *, seed: int, seconds: float, show: Show = lambda *_: None
) -> Report:
    """Run `plan` for so many seconds over an empty folder; whatever is wrong is in the report."""
    rng = Random(seed)
    history = History(folder / "history.jsonl")
    report = Report(plan.name, seed, folder)
    begun_s = time.monotonic()
    watching = asyncio.create_task(_watch(plan, history, show))
    try:
        async with Deployment(folder, plan.shape, rng) as deployment:
            run = await _prepared(plan, folder, deployment, history, rng=rng, seed=seed)
            await _storm(run, seconds)
            await _calm(run, report)
            report.operations = run.witness.operations
            report.takeovers = max(0, len(run.witness.epochs) - 1)
            await _end(run)
            run.witness.close()
            if plan.together:
                report.figures |= judge_together(history, plan.together)
        report.verdict = await asyncio.to_thread(judge, history, report.operations)
        if plan.faults is not None and not history.counts["fault"]:
            history.violation("nothing was broken, so nothing was shown")
        if report.takeovers < (least := int(plan.takeovers * seconds / 60)):
            history.violation(f"{report.takeovers} takeovers, not {least}: too little was shown")
    except Exception:  # noqa: BLE001 - a run that does not come to its end has failed, and says why
        history.violation(traceback.format_exc())
    finally:
        watching.cancel()
        history.close()
    report.seconds = time.monotonic() - begun_s
    report.counts, report.violations = history.counts, history.violations
    report.batches = history.batches
    report.figures["slowest answer s"] = history.slowest_s
    for figure in ("held", "phone delta", "phone reset"):
        report.figures[figure] = history.counts[figure]
    return report


async def _prepared(
    plan: Plan, folder: Path, deployment: Deployment, history: History, *, rng: Random, seed: int
) -> Run:
    """Declare the streams and make the clients; nobody acts yet."""
    witness = Witness(_connected(deployment), history)
    scene = Scene(
        open=deployment.connection,
        history=history,
        cuts=plan.cuts,
        joins=plan.joins,
        rows_max=plan.rows_max,
        large=plan.large,
    )
    await declare(deployment, history, retained=plan.retained)
    kinds: list[tuple[type[Client], int, str]] = [
        (Producer, plan.producers, "producer"),
        (Registrar, plan.registrars, "registrar"),
        (Phone, plan.phones, "phone"),
        (Reader, plan.readers, "reader"),
        (Crowd, plan.crowds, "crowd"),
        (Counting, int(plan.together > 0), "counting"),
    ]
    clients = [
        kind(scene, f"{name}-{number}", rng.getrandbits(32), plan.pace_s)
        for kind, count, name in kinds
        for number in range(count)
    ]
    nemesis = None
    if plan.faults is not None:
        nemesis = Nemesis(deployment, witness, history, plan.faults, rng)
    return Run(plan, seed, folder, deployment, history, scene, witness, nemesis, clients)


async def declare(deployment: Deployment, history: History, *, retained: int = 30_000) -> None:
    """Declare all streams; `readings` keeps so many rows."""
    connection = deployment.connection()
    for name, declared in workload.STREAMS.items():
        stream = dict(declared)
        if name == "readings":
            stream["retention"] = {"rows": retained, "bytes": None}
        asked = await history.ask(
            connection,
            "PUT",
            f"/v1/streams/{name}",
            body=json.dumps(stream).encode(),
            headers={"Content-Type": "application/json"},
        )
        assert asked.answer is not None
        assert asked.answer.status in {200, 201, 202}, asked.answer.body
    connection.close()


async def _storm(run: Run, seconds: float) -> None:
    """Let everybody act for so long; then bring what is under way to its end."""
    watching = asyncio.create_task(run.witness.run())
    acting = [asyncio.create_task(client.run()) for client in run.clients]
    try:
        if run.nemesis is None:
            await asyncio.sleep(seconds)
        else:
            await run.nemesis.run(seconds, run.scene.ending)
        await run.deployment.ready()
    finally:
        run.scene.ending.set()
        done, late = await asyncio.wait(acting, timeout=RESOLVE_S + 60)
        for task in late:
            task.cancel()
            run.history.violation("a client did not come to its end")
        for task in done:
            if (error := task.exception()) is not None:
                run.history.violation("".join(traceback.format_exception(error)))
        watching.cancel()
        await asyncio.gather(watching, *late, return_exceptions=True)


async def _calm(run: Run, report: Report) -> None:
    """With nothing under way: everything is applied, all queries answer, all workers say the same."""
    await run.deployment.ready()
    begun_s = time.monotonic()
    while True:
        with contextlib.suppress(EngineError):
            await asyncio.to_thread(run.witness.look)
            if run.witness.applied >= len(run.witness.operations):
                break
        if time.monotonic() > begun_s + CAUGHT_UP_S:
            run.history.violation(
                f"applied is {run.witness.applied}, {CAUGHT_UP_S} s after the end"
            )
            break
        await asyncio.sleep(0.1)
    asker = Client(run.scene, "asker", run.seed, 0)
    for query_id in list(run.scene.standing):
        asked = await run.history.ask(asker.connection, "GET", f"/v1/queries/{query_id}/results")
        if asker.note_answer(asked, query_id, {"limit": 1_000}, offset=0) is None:
            run.history.violation(f"{query_id} does not answer in calm: {asked.answer}")
    asker.connection.close()
    for phone in (client for client in run.clients if isinstance(client, Phone)):
        if phone.query_id is not None and not await phone.come_back():
            run.history.violation(f"{phone.name} is not answered in calm")
        phone.connection.close()
    await _let_go(run)
    if run.plan.shape.workers > 1:
        await _same_bytes(run)
    if run.nemesis is not None and run.nemesis.back_s:
        report.figures["worker back s, at most"] = max(run.nemesis.back_s)
    await asyncio.to_thread(run.witness.look)


async def _let_go(run: Run) -> None:
    """Nobody is connected any more: the API holds no connection, and as many to the store as it may."""
    latest, held = time.monotonic() + LET_GO_S, 0
    while time.monotonic() < latest:
        held = run.deployment.connected()
        if not held:
            break
        await asyncio.sleep(0.1)
    if held:
        run.history.violation(f"{held} connections are held {LET_GO_S} s after their clients went")
    clients = await asyncio.to_thread(run.witness.client.info, "clients")
    shape = run.plan.shape
    most = (shape.engines + max(shape.workers, 1) + 1) * (limits.STORE_CONNECTIONS_MAX + 1)
    if int(clients["connected_clients"]) > most:
        run.history.violation(
            f"{clients['connected_clients']} connections to the store, not {most}"
        )


async def _same_bytes(run: Run) -> None:
    """Let one worker answer at a time, all others being stopped: at one seq they answer the same bytes."""
    some = sorted(run.scene.standing)[:BYTES_COMPARED_OF]
    missing = set(some)
    said: dict[tuple[str, int], dict[int, bytes]] = {}
    workers = await run.deployment.all_workers()
    now_us = SystemClock().now_us() - 2_000_000
    for _ in range(ROUNDS_MAX):
        for worker in workers:
            others = [pid for pid in workers if pid != worker]
            async with _stopped(others):
                await _ask_one(run, worker, sorted(missing), now_us, said)
        for (query_id, _), bodies in said.items():
            if len(bodies) == len(workers):
                missing.discard(query_id)
        if not missing:
            break
    for (query_id, seq), bodies in said.items():
        if len(set(bodies.values())) > 1:
            run.history.violation(f"workers differ about {query_id} at {seq}: {bodies}")
    if missing:
        run.history.violation(f"no seq at which all workers have answered {sorted(missing)}")
    run.history.counts["compared byte for byte"] += len(said)


async def _ask_one(
    run: Run,
    worker: int,
    queries: Sequence[str],
    now_us: int,
    said: dict[tuple[str, int], dict[int, bytes]],
) -> None:
    connection = run.deployment.connection()
    for query_id in queries:
        target = f"/v1/queries/{query_id}/results?limit=200"
        if "arrivals" in run.scene.standing[query_id]:  # whose NOW is the clock
            target += f"&now={now_us}"
        asked = await run.history.ask(connection, "GET", target)
        if asked.answer is not None and asked.answer.status == 200:
            told = asked.answer.json()
            key = (query_id, int(told["seq"]))
            said.setdefault(key, {})[worker] = asked.answer.body
    connection.close()


@contextlib.asynccontextmanager
async def _stopped(pids: Sequence[int]) -> AsyncIterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def _end(run: Run) -> None:
    """End the processes as an operator would, and look at what is left in the store."""
    deployment = run.deployment
    for child in [deployment.api, *deployment.engines]:
        began = bool(child.said())
        code = await asyncio.to_thread(child.end)
        if code != 0 and (began or code != -signal.SIGTERM):  # one that loads Python may just die
            run.history.violation(f"{child.name} was asked to end and did with {code}")
    for one in deployment.ended:
        allowed = {-signal.SIGKILL, FENCED, STORE_GONE}
        run.history.counts[f"{one.name.split('-')[0]} ended {one.code}"] += 1
        if one.code not in allowed:
            run.history.violation(f"{one.name} ended by itself with {one.code}")
    if deployment.redis is not None:
        await asyncio.to_thread(run.witness.look)  # an engine lets time pass to its end
        await asyncio.to_thread(run.witness.recheck)
    await asyncio.to_thread(_check_store, run)


def _check_store(run: Run) -> None:
    """The store's own checks hold, and what is published is what a fresh fold of the log publishes."""
    deployment = run.deployment
    folder = run.folder / ("engine-0" if deployment.split else "serve")
    url = None if deployment.redis is None else deployment.redis.url
    store = open_store(url, data=folder, clock=SystemClock())
    try:
        store.take_over()
        store.log.check()
        store.results.check()
        stored = published_digest(cast(World, SimpleNamespace(store=store)))
        applied = store.results.cut().seq
        seen = run.witness.operations
        ended = store.log.read(Seq(len(seen)), operations_max=1_000, bytes_max=2**20)
    finally:
        store.close()
    if published_digest(replayed([*seen, *ended][:applied])) != stored:
        run.history.violation("what is published is not what a fresh fold of the log publishes")


def _connected(deployment: Deployment) -> RedisClient:
    """Return connections to the deployment's store."""
    if deployment.redis is not None:
        return deployment.redis.client()
    socket = os.fsdecode((deployment.folder / "serve" / "server.socket").read_bytes())
    return RedisClient(f"unix://{quote(socket)}?db=0", answer_s=5.0)


async def _watch(plan: Plan, history: History, show: Show) -> None:
    begun_s = time.monotonic()
    while True:
        show(plan.name, time.monotonic() - begun_s, history)
        await asyncio.sleep(0.5)
