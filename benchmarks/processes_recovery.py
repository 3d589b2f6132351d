"""What a start takes: of a killed engine over millions of tuples, of a standby, of a worker that knows nothing.

A start is over when a batch that was sent meanwhile is published. What the engine reads
back is measured once more in this process, where the time can be told apart: reading records and batches from
the store, building tuples from them, binding clauses.
"""

import statistics
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import process
from benchmarks.apart import STREAM, Apart, declare, fill, kill, post, text_of
from benchmarks.bench import Figure, Size, Survey
from benchmarks.service import Bodies, Service, listening, stop
from benchmarks.workloads import INTEGER, SECOND_US, interval_queries, record_batch, tuples
from psoup.engine.clock import SystemClock
from psoup.engine.engine import Engine, warm_up
from psoup.engine.log.operation import Operation
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.scope import Streams
from psoup.engine.query.clause import BoundQuery
from psoup.storage.opening import open_store

MILLION = 1_000_000
RETAINED = 16 * MILLION
STANDBY_S = 4.0
"""Long enough for a standby to have started and to wait."""
ASKED = 20
"""Queries that a fresh worker is asked, each for its first page."""
PATH = f"/v1/streams/{STREAM.name}/rows"


@dataclass(slots=True)
class Taken:
    """Seconds of reading a state back, by what they went to."""

    read_s: float = 0.0
    bind_s: float = 0.0
    all_s: float = 0.0

    @property
    def build_s(self) -> float:
        """What was neither reading nor binding."""
        return self.all_s - self.read_s - self.bind_s


def surveys(size: Size) -> Iterator[Survey]:
    """Yield starts over ever more tuples, then a takeover and a worker's first answers over the most."""
    queries = size.pick(smoke=8, full=1_000)
    steps = [20_000] if size is Size.SMOKE else [MILLION, 2 * MILLION, 4 * MILLION]
    yield survey(steps, queries)


def survey(steps: Sequence[int], queries: int) -> Survey:
    """One store that grows, and engines and workers that start over it."""
    key = "processes-start"
    title = f"starts over a stream with {queries:,} queries"

    def run() -> Sequence[Figure]:
        found: list[Figure] = []
        with Apart() as apart:
            engine, api = apart.engine(), apart.api(1)
            declare(api, retained=RETAINED)
            asked = interval_queries(INTEGER, queries)
            handles = api.register([text_of(query, 65_535) for query in asked], "auto")
            rows = 0
            for step in steps:
                fill(api, step - rows, first=rows)
                rows = step + 1  # one batch of one tuple is sent to see the engine live
                engine, figures = started_again(key, apart, api, engine, step)
                found += figures
            found += takeover(key, apart, api, engine, rows)
            found += worker(key, apart, handles)
        return found

    return Survey(key, title, run)


def started_again(
    key: str, apart: Apart, api: Service, engine: subprocess.Popen[bytes], rows: int
) -> tuple[subprocess.Popen[bytes], list[Figure]]:
    """Kill the engine and start another on its folder. Return that and what it took."""
    kill(engine)
    begun_s = time.perf_counter()
    again = apart.engine()
    applied_s = _applied_after(apart, api, rows, begun_s)
    resident = process.resident_bytes(again.pid)
    stop(again)
    taken = read_back(apart.url, apart.folder / "engine")
    again = apart.engine()
    api.await_applied()
    name, of = f"{key}-{rows}", f"{rows:,} tuples"
    return again, [
        Figure(f"{name}-live", f"{of}: killed engine until it applies", applied_s, "s"),
        Figure(f"{name}-restore", f"{of}: reading the state back", taken.all_s, "s"),
        Figure(f"{name}-million", f"{of}: the same, a million", taken.all_s * MILLION / rows, "s"),
        Figure(f"{name}-read", f"{of}: of it reading the store", taken.read_s, "s"),
        Figure(f"{name}-build", f"{of}: of it building tuples", taken.build_s, "s"),
        Figure(f"{name}-bind", f"{of}: of it binding clauses", taken.bind_s, "s"),
        Figure(f"{name}-resident", f"{of}: memory of the engine", resident / 2**20, "MiB"),
    ]


def read_back(url: str, data: Path) -> Taken:
    """Read the state back in this process, as an engine does at its start, and tell what it took."""
    taken = Taken()

    def bound(text: str, streams: Streams) -> BoundQuery:
        begun_s = time.perf_counter()
        found = bind(text, streams)
        taken.bind_s += time.perf_counter() - begun_s
        return found

    def read(operations: Iterable[Operation]) -> Iterator[Operation]:
        rest = iter(operations)
        while True:
            begun_s = time.perf_counter()
            one = next(rest, None)
            taken.read_s += time.perf_counter() - begun_s
            if one is None:
                return
            yield one

    warm_up()
    store = open_store(url, data=data, clock=SystemClock())
    try:
        begun_s = time.perf_counter()
        checkpoint = store.results.checkpoint()
        taken.read_s = time.perf_counter() - begun_s
        seqs = sorted(batch.seq for batch in checkpoint.batches)
        Engine.restore(
            checkpoint, read(store.log.read_at(seqs)), bind=bound, make_lock=threading.Lock
        )
        taken.all_s = time.perf_counter() - begun_s
    finally:
        store.close()
    return taken


def takeover(
    key: str, apart: Apart, api: Service, engine: subprocess.Popen[bytes], rows: int
) -> list[Figure]:
    """Kill the engine while a standby waits; return when that has applied a batch."""
    _applied_after(apart, api, rows, time.perf_counter())  # else the standby may be the first
    apart.engine("standby")
    time.sleep(STANDBY_S)
    kill(engine)
    applied_s = _applied_after(apart, api, rows + 1, time.perf_counter())
    return [Figure(f"{key}-takeover", "killed engine until a standby applies", applied_s, "s")]


def worker(key: str, apart: Apart, handles: Sequence[str]) -> list[Figure]:
    """Start another API; return what its start and its first answers took, and its memory."""
    command = ["api", "--store", apart.url, "--workers", "1"]
    begun_s = time.perf_counter()
    with listening(command, apart.folder / "fresh.log", data=apart.folder / "fresh") as fresh:
        ready_s = time.perf_counter() - begun_s
        (pid,) = apart.worker_pids(fresh)
        before = process.resident_bytes(pid)
        paths = [f"/v1/queries/{one}/results?limit=100" for one in handles[:ASKED]]
        first, others = _asked_s(fresh, paths[0]), [_asked_s(fresh, one) for one in paths[1:]]
        again = [_asked_s(fresh, one) for one in paths]
        after = process.resident_bytes(pid)
    return [
        Figure(f"{key}-worker-ready", "fresh worker until it is ready", ready_s, "s"),
        Figure(f"{key}-worker-first", "its first invocation", 1e3 * first, "ms"),
        Figure(
            f"{key}-worker-others",
            "first one of each other query, median",
            1e3 * statistics.median(others),
            "ms",
        ),
        Figure(
            f"{key}-worker-again", "the same again, median", 1e3 * statistics.median(again), "ms"
        ),
        Figure(f"{key}-worker-before", "memory of a worker before", before / 2**20, "MiB"),
        Figure(f"{key}-worker-after", "memory of a worker after", after / 2**20, "MiB"),
    ]


def _applied_after(apart: Apart, api: Service, first: int, begun_s: float) -> float:
    """Send one tuple; return the seconds since `begun_s` when it is applied."""
    one = {name: values[-1:] for name, values in tuples(INTEGER, 1).items()}
    body = Bodies(record_batch(STREAM, one, first=first), step_us=SECOND_US).next()
    apart.await_applied(post(api, PATH, body))
    return time.perf_counter() - begun_s


def _asked_s(service: Service, path: str) -> float:
    begun_s = time.perf_counter()
    status, answer = service.client.ask("GET", path)
    taken_s = time.perf_counter() - begun_s
    if status != 200:
        message = f"{path}: {status} {answer[:500]!r}"
        raise RuntimeError(message)
    return taken_s
