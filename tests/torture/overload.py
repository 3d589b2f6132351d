"""L-01: more requests than can be answered, sent at their times whether or not the earlier ones were answered.

What is turned away is turned away quickly and says when to come back; what is taken is answered; memory stays;
afterwards the service is what it was. Load and service share the machine: times are shown, not judged, and answers
may become fewer by what turning away takes. The same while the store stands still: nobody waits for it for ever. And
the same over a store that is far away, where nearly all of an answer's time is waiting.
"""

import asyncio
import contextlib
import json
import signal
import statistics
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

from psoup.engine.limits import (
    CUT_CACHE_BYTES_MAX,
    HITS_CACHE_BYTES_MAX,
    MIB,
    PARTIALS_CACHE_BYTES_MAX,
)
from tests.torture import workload
from tests.torture.clients import Client, Producer, Scene
from tests.torture.deployment import Deployment, Shape
from tests.torture.history import History
from tests.torture.load import Load, Order, carried_out
from tests.torture.oracle import judge
from tests.torture.run import Report, Show, declare
from tests.torture.witness import Witness

FACTORS: Final = (1.0, 2.0, 5.0)
ROWS: Final = 25_000
ASKING: Final = 12
"""Connections that ask one after the other: as much as two workers can do."""
ASKING_FAR: Final = 40
"""The same where the store is far away: more than wait for it at once, and fewer than find a place at one worker."""
FAR_S: Final = 0.05
OPEN_MAX: Final = 2_000
"""Connections of the load at a rate; a service refuses more than 4,096."""
STALL_S: Final = 30.0
"""Longer than any request waits for the store."""
COLLAPSED: Final = 0.3
"""Of the peak. Clients and what is turned away take their part of the same two cores."""
LONG_S: Final = 10.0
"""A shorter stretch says nothing of a rate."""
WORKERS: Final = 2
CACHES_BYTES_MAX: Final = CUT_CACHE_BYTES_MAX + HITS_CACHE_BYTES_MAX + PARTIALS_CACHE_BYTES_MAX
GROWTH_BYTES_MAX: Final = WORKERS * (CACHES_BYTES_MAX + 64 * MIB)
"""What workers may come to keep of answers, which each batch makes anew, and what the allocator does not give back."""
HEAVY: Final = "SELECT DISTINCT app, version, n FROM readings WHERE level * 2 > {n} OR n % 3 = {n}"


async def overload(folder: Path, *, seed: int, seconds: float, show: Show) -> Report:
    """Find out what the service can do, ask more of it, and look whether it recovers."""
    return await _overloaded(Report("overload", seed, folder), 0.0, seconds, show)


async def far_store(folder: Path, *, seed: int, seconds: float, show: Show) -> Report:
    """Do the same where each answer of the store takes FAR_S longer."""
    return await _overloaded(Report("far-store", seed, folder), FAR_S, seconds, show)


async def _overloaded(report: Report, delay_s: float, seconds: float, show: Show) -> Report:
    folder, seed = report.folder, report.seed
    history = History(folder / "history.jsonl")
    begun_s = time.monotonic()
    try:
        shape = Shape(engines=1, workers=WORKERS, store_delay_s=delay_s)
        async with Deployment(folder, shape, Random(seed)) as deployment:
            assert deployment.redis is not None
            witness = Witness(deployment.redis.client(), history)
            show(report.name, 0.0, history)
            await _stretches(deployment, history, report, seed, seconds)
            await asyncio.to_thread(witness.look)
            witness.close()
        report.verdict = await asyncio.to_thread(judge, history, witness.operations)
    except Exception:  # noqa: BLE001 - a run that does not come to its end has failed, and says why
        history.violation(traceback.format_exc())
    history.close()
    report.seconds = time.monotonic() - begun_s
    report.counts, report.violations = history.counts, history.violations
    return report


async def _stretches(
    deployment: Deployment, history: History, report: Report, seed: int, seconds: float
) -> None:
    targets = await _prepared(deployment, history, seed)
    stretch_s = max(1.0, seconds / (len(FACTORS) + 4))
    await _asked(deployment, history, targets, 1.0)  # everything is in memory from here on
    peak = await _asked(deployment, history, targets, stretch_s)
    before = _resident(deployment.workers())
    scene = Scene(open=deployment.connection, history=history, rows_max=50, joins=False)
    producer = asyncio.create_task(Producer(scene, "meanwhile", seed, 0.2).run())
    report.figures["peak/s"] = peak.goodput
    for factor in FACTORS:
        load = await _asked(deployment, history, targets, stretch_s, rate=peak.goodput * factor)
        _note(report, f"{factor:g}x", load)
        least = peak.goodput * COLLAPSED if stretch_s >= LONG_S else 0.0
        if load.goodput <= least:
            history.violation(f"at {factor:g} times the load {load.goodput:.0f}/s are answered")
    stalled = await _stalled(deployment, history, targets, stretch_s, peak.goodput)
    _note(report, "stalled store", stalled)
    after = await _asked(deployment, history, targets, stretch_s)
    report.figures["afterwards/s"] = after.goodput
    if after.refused_s or not after.good_s:
        history.violation(f"after the load {len(after.refused_s)} are refused")
    grown = _resident(deployment.workers()) - before
    report.figures["grown MiB"] = grown / 2**20
    if grown > GROWTH_BYTES_MAX:
        history.violation(f"the workers have grown by {grown:,} bytes")
    scene.ending.set()
    await producer
    for one in deployment.ended:
        history.violation(f"{one.name} ended with {one.code} under load")


async def _prepared(deployment: Deployment, history: History, seed: int) -> list[str]:
    """Declare, send rows, register queries that have to be evaluated anew; return what to ask."""
    rng = Random(seed)
    await declare(deployment, history)
    scene = Scene(open=deployment.connection, history=history)
    asker = Client(scene, "filler", seed, 0)
    rows = workload.rows(rng, "readings", "filler", 1, ROWS)
    headers = {"Content-Type": workload.MEDIA["arrow"]}
    body = workload.body(rows, "readings", "arrow")
    assert await asker.resolved("POST", "/v1/streams/readings/rows", body, headers, {200, 202})
    targets = []
    for n in range(4):
        asked_for = {"sql": HEAVY.format(n=n), "materialize": "none", "name": f"heavy-{n}"}
        found = await asker.resolved(
            "POST",
            "/v1/queries",
            json.dumps(asked_for).encode(),
            {"Content-Type": "application/json"},
            {200, 201, 202},
        )
        assert found is not None
        targets.append(f"/v1/queries/{found[2].json()['id']}/results?limit=20")
    asker.connection.close()
    return targets


async def _asked(
    deployment: Deployment,
    history: History,
    targets: Sequence[str],
    seconds: float,
    *,
    rate: float | None = None,
    excused: Sequence[str] = ("overloaded",),
) -> Load:
    """Ask at a rate, or over ASKING connections one request after the other on each; note what must not be."""
    asking = ASKING_FAR if deployment.shape.store_delay_s else ASKING
    connections = asking if rate is None else OPEN_MAX
    where = (deployment.host, deployment.port)
    load = await carried_out(Order(*where, targets, seconds, connections, rate, excused))
    history.counts["load 200"] += len(load.good_s)
    history.counts["load 503"] += len(load.refused_s)
    for what, count in {"broken": load.broken, "not answered": load.silent, **load.wrong}.items():
        if count:
            history.violation(f"of requests at {rate or 'no'} rate {count}: {what}")
    return load


async def _stalled(
    deployment: Deployment, history: History, targets: Sequence[str], seconds: float, rate: float
) -> Load:
    """Ask at a rate while the store stands still, for STALL_S or less, and for a moment after it has gone on."""
    assert deployment.redis is not None
    stall_s = min(seconds, STALL_S)
    excused = ("overloaded", "store-unavailable", "recovering")
    asking = asyncio.create_task(
        _asked(deployment, history, targets, stall_s + seconds / 2, rate=rate, excused=excused)
    )
    history.fault("stall redis", seconds=stall_s)
    deployment.redis.signal(signal.SIGSTOP)
    try:
        await asyncio.sleep(stall_s)
    finally:
        deployment.redis.signal(signal.SIGCONT)
    return await asking


def _note(report: Report, name: str, load: Load) -> None:
    figures = {"good/s": load.goodput, "good p99 ms": _p99(load.good_s) * 1e3}
    figures |= {"refused": len(load.refused_s), "refused p99 ms": _p99(load.refused_s) * 1e3}
    figures["late p99 ms"] = _p99(load.late_s) * 1e3
    report.figures |= {f"{name} {key}": value for key, value in figures.items()}


def _p99(seconds: Sequence[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98] if len(seconds) > 1 else 0.0


def _resident(pids: Sequence[int]) -> int:
    """Return the bytes of memory of these processes."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4_096
    return total
