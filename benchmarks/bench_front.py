"""What one request costs the process that answers it: CPU time, beside a bare ASGI function under the same server.

One connection asks in a closed loop, for psoup and for the bare function in turn: both have the same disturbances of a
shared machine, and the ratio of a round is what is told. Goals F1 to F6 are about these ratios.
"""

import contextlib
import functools
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import bare, process
from benchmarks.apart import Apart, declare, fill
from benchmarks.bench import Figure, Size, Survey
from benchmarks.service import Client, Service, free_port, running, stop
from benchmarks.workloads import INTEGER

STREAM = INTEGER.stream
TUPLES, MANY = 65_536, 100
"""Tuples that are stored; handles of one `POST /v1/invoke`, 10 rows each."""
ROUNDS = 9
KINDS = ("memory", "durable", "worker")
NAMES = {
    "memory": "psoup serve --store memory://",
    "durable": "psoup serve, durable default",
    "worker": "psoup api, one worker beside an engine",
}
TIMES = "times a bare ASGI function:"
"""How the figures begin that are drawn; what follows is the request."""
JSON = "application/json"
TS_US = 1_760_000_000_000_000
"""Rows that are sent one by one are dated behind those that are stored."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A kind of request: `ask` sends one, a round of which has `count`; it has `parts` answers."""

    name: str
    ask: Callable[[Client], None]
    count: int
    parts: int = 1


def contests(size: Size) -> Iterator[Survey]:
    """Yield one survey per kind of service, where /proc tells what a process takes."""
    if not process.is_known():
        return
    for kind in KINDS[:1] if size is Size.SMOKE else KINDS:
        yield survey(kind, size)


def survey(kind: str, size: Size) -> Survey:
    """One service, from its start to its end."""
    key = f"front-{kind}"

    def run() -> Sequence[Figure]:
        with served(kind) as (service, pid), bare_function() as (port, bare_pid):
            declare(service, retained=1 << 20)
            fill(service, size.pick(smoke=4_096, full=TUPLES))
            handles = service.register(texts(), "auto")
            asked = requests(handles, size)
            with Client(port) as client:
                costs = measured(service, pid, Bare(client, bare_pid), asked, size)
        return figures(key, asked, costs)

    return Survey(key, NAMES[kind], run)


@contextlib.contextmanager
def served(kind: str) -> Iterator[tuple[Service, int]]:
    """Yield a service of a kind, and the process that answers."""
    if kind == "worker":
        with Apart() as apart:
            apart.engine()
            service = apart.api(1)
            yield service, apart.worker_pids(service)[0]
        return
    with tempfile.TemporaryDirectory(prefix="psoup-bench-") as folder:
        store = "memory://" if kind == "memory" else None
        with running(Path(folder), store=store) as service:
            yield service, service.pid


@contextlib.contextmanager
def bare_function() -> Iterator[tuple[int, int]]:
    """Yield port and process of the bare function, once it answers. Ends it."""
    port = free_port()
    child = subprocess.Popen([sys.executable, "-m", "benchmarks.bare", str(port)])
    try:
        bare.await_answer(port)
        yield port, child.pid
    finally:
        stop(child)


@dataclass(frozen=True, slots=True)
class Bare:
    """The bare function: a connection to it, and its process."""

    client: Client
    pid: int


def texts() -> list[str]:
    """Return the texts of the queries: equalities, each on a value of its own."""
    names = ", ".join(column.name for column in STREAM.columns)
    return [f"SELECT {names} FROM {STREAM.name} WHERE a = {value}" for value in range(MANY)]


def requests(handles: Sequence[str], size: Size) -> Sequence[Asked]:
    """Return the kinds of requests that are measured."""
    count = size.pick(smoke=3, full=300)
    path = f"/v1/queries/{handles[7]}/results"
    many = json.dumps({"queries": handles, "limit": 10}).encode()
    sent = iter(range(sys.maxsize))

    def row(client: Client) -> None:
        body: dict[str, object] = dict.fromkeys((column.name for column in STREAM.columns), 1)
        if STREAM.time is not None:
            body[STREAM.time] = TS_US + next(sent)
        ask(client, "POST", f"/v1/streams/{STREAM.name}/rows", json.dumps([body]).encode())

    tag = ""

    def poll(client: Client) -> None:
        nonlocal tag
        status, tag = client.poll(f"{path}?limit=100", tag)
        if status not in (200, 304):
            message = f"GET {path}: {status}"
            raise RuntimeError(message)

    return [
        Asked("/healthz", lambda client: ask(client, "GET", "/healthz"), count),
        Asked("count=only", lambda client: ask(client, "GET", f"{path}?count=only"), count),
        Asked("10 rows", lambda client: ask(client, "GET", f"{path}?limit=10"), count),
        Asked("100 rows", lambda client: ask(client, "GET", f"{path}?limit=100"), count),
        Asked(
            f"a handle of {MANY}, 10 rows",
            lambda client: ask(client, "POST", "/v1/invoke", many),
            max(3, count // 15),
            parts=MANY,
        ),
        Asked("a row posted", row, count),
        Asked("a poll that finds nothing new", poll, count),
    ]


def ask(client: Client, method: str, path: str, body: bytes | None = None) -> None:
    """Send a request; RuntimeError where it is refused."""
    status, answer = client.ask(method, path, body, JSON if body else "")
    if status not in (200, 202):
        message = f"{method} {path}: {status} {answer[:500]!r}"
        raise RuntimeError(message)


def measured(
    service: Service, pid: int, beside: Bare, asked: Sequence[Asked], size: Size
) -> Mapping[str, list[tuple[float, float]]]:
    """Return for each kind of request and round the CPU seconds of an answer, and those of the bare function."""
    costs: dict[str, list[tuple[float, float]]] = {one.name: [] for one in asked}
    for number in range(size.pick(smoke=1, full=ROUNDS) + 1):
        for one in asked:
            ours = _cpu_s(pid, functools.partial(one.ask, service.client), one.count)
            theirs = _cpu_s(beside.pid, lambda: ask(beside.client, "GET", "/"), asked[0].count)
            if number:  # the first one warms up
                costs[one.name].append((ours / one.parts, theirs))
    return costs


def figures(
    key: str, asked: Sequence[Asked], costs: Mapping[str, list[tuple[float, float]]]
) -> Sequence[Figure]:
    """Return what an answer takes, and how often the bare function could have answered meanwhile."""
    found = []
    for number, one in enumerate(asked):
        rounds = costs[one.name]
        ours = statistics.median(cost for cost, _ in rounds) * 1e6
        times = statistics.median(cost / theirs if theirs else 0.0 for cost, theirs in rounds)
        found.append(Figure(f"{key}-{number}-cpu", f"CPU of an answer: {one.name}", ours, "us"))
        found.append(Figure(f"{key}-{number}", f"{TIMES} {one.name}", times, "x"))
    least = statistics.median(theirs for rounds in costs.values() for _, theirs in rounds) * 1e6
    return [*found, Figure(f"{key}-bare", "CPU of an answer: the bare function", least, "us")]


def _cpu_s(pid: int, work: Callable[[], None], count: int) -> float:
    """Return the CPU seconds that a process takes for each of `count` times that `work` is done."""
    before = process.exact_cpu_s(pid)
    for _ in range(count):
        work()
    return (process.exact_cpu_s(pid) - before) / count
