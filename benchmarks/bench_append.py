"""One row a request, from many connections at once: how far appends that travel together carry.

A crowd posts one row at a time over 1 to 64 connections, in a closed loop, to `memory://` and to the durable default,
where nothing is answered before its sync. Whoever asks runs on the same cores: rates are those of a shared machine, and
the ratio to one connection and the CPU time of a batch say more.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import process
from benchmarks.bench import Figure, Size, Survey
from benchmarks.load import Answered, Asked, Load
from benchmarks.service import Service, running

STORES = {"memory": "memory://", "durable": None}
NAMES = {"memory": "memory://", "durable": "the durable default"}
CONNECTIONS = (1, 8, 32, 64)
SECONDS = 5.0
"""What a run is to take, by the rate of a short one before it."""
COUNT_MAX = 50_000
DECLARATION = {
    "columns": [{"name": "id", "type": "int64"}, {"name": "px", "type": "float64"}],
    "retention": {"rows": 100_000},
}
PATH = "/v1/streams/readings"
ROW = json.dumps({"id": 7, "px": 99.5})
RATE = "batches per second, connections:"
"""How the figures begin that are drawn; what follows is their number."""


def contests(size: Size) -> Iterator[Survey]:
    """Yield one survey per store, where /proc tells what a process takes."""
    if not process.is_known():
        return
    for store in ("memory",) if size is Size.SMOKE else STORES:
        yield survey(store, size)


def survey(store: str, size: Size) -> Survey:
    """One service, asked by more and more connections."""
    key = f"append-{store}"

    def run() -> Sequence[Figure]:
        with (
            tempfile.TemporaryDirectory(prefix="psoup-bench-") as folder,
            running(Path(folder), store=STORES[store]) as service,
            Load() as load,
        ):
            service.client.json("PUT", PATH, DECLARATION)
            crowds = CONNECTIONS[:2] if size is Size.SMOKE else CONNECTIONS
            found = [
                figure
                for connections in crowds
                for figure in posted(key, service, load, connections, size)
            ]
        return [*found, ratio(key, found, crowds[-1])]

    return Survey(key, f"one row a request, {NAMES[store]}", run)


def posted(
    key: str, service: Service, load: Load, connections: int, size: Size
) -> Sequence[Figure]:
    """Return what so many connections reach, in a run that is as long as SECONDS by a short one before it."""
    tried = post(service, load, connections, size.pick(smoke=16, full=20 * connections))
    count = size.pick(smoke=16, full=min(round(tried.count / tried.seconds * SECONDS), COUNT_MAX))
    before = service.cpu_s()
    found = post(service, load, connections, count)
    after = service.cpu_s()
    own_us, store_us = (1e6 * (b - a) / count for a, b in zip(before, after, strict=True))
    key = f"{key}-{connections}"
    figures = [
        Figure(f"{key}-rate", f"{RATE} {connections}", count / found.seconds, "/s"),
        Figure(f"{key}-p50", "of these half are answered within", 1e3 * found.p50_s, "ms"),
        Figure(f"{key}-p99", "of these 99 % are answered within", 1e3 * found.p99_s, "ms"),
        Figure(f"{key}-cpu", "CPU of the service, a batch", own_us, "us"),
    ]
    if service.store_pid is not None:
        figures.append(Figure(f"{key}-store", "CPU of the store, a batch", store_us, "us"))
    return figures


def post(service: Service, load: Load, connections: int, count: int) -> Answered:
    """Post so many rows; RuntimeError where one of them was not stored and shown."""
    found = load.run(Asked(service.port, [f"{PATH}/rows"], connections, count, body=ROW))
    if found.unanswered:
        message = f"{found.unanswered} of {count} batches were not answered 200"
        raise RuntimeError(message)
    return found


def ratio(key: str, figures: Sequence[Figure], most: int) -> Figure:
    """Return how much more the largest crowd reaches than one connection."""
    rates = {figure.key: figure.value for figure in figures}
    times = rates[f"{key}-{most}-rate"] / rates[f"{key}-1-rate"]
    return Figure(f"{key}-ratio", f"{most} connections beside one", times, "times")
