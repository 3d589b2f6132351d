"""Invocations over HTTP: psoup's workers beside PostgreSQL behind the same API layer, and at a fixed rate.

A request is for the first 100 rows of an answer as JSON, with the number of all of them, or for that number alone.
What the API layer costs by itself is a contender as well: its answers are those of PostgreSQL, remembered.
"""

import statistics
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Self

from benchmarks import postgres, process
from benchmarks.bench import Contender, Contest, Figure, Size, Survey
from benchmarks.load import Answered, Asked, Load
from benchmarks.processes_stage import ROWS_PATH, Mix, Stage
from benchmarks.service import ARROW, Bodies, Client, Service

CONNECTIONS = 8
"""In a closed loop, for each worker."""
CONNECTIONS_OPEN = 32
"""In an open loop, all together."""
RATE = 500.0
"""Invocations a second and worker."""
ARRIVING_S = 0.1
"""A hundred tuples each time, where some arrive meanwhile: a thousand a second."""
SERVE, POSTGRES, LAYER = "psoup serve", "PostgreSQL, prepared", "the API layer alone"


def contests(stage: Stage) -> Iterator[Contest]:
    """Yield throughput in closed loops: each mix with one worker, the first two with two."""
    for name in ("equality",) if stage.size is Size.SMOKE else stage.mixes:
        yield contest(stage, stage.mixes[name], workers=1)
    if stage.size is Size.FULL:
        for name in ("equality", "interval"):
            yield contest(stage, stage.mixes[name], workers=2)


def contest(stage: Stage, mix: Mix, *, workers: int) -> Contest:
    """So many invocations, as fast as they are answered."""
    count = stage.size.pick(smoke=20, full=1_000) * workers
    fewer = count // stage.size.pick(smoke=1, full=1 if mix.name == "equality" else 4)
    connections = CONNECTIONS * workers

    def way(
        name: str,
        target: Callable[[], tuple[int, Sequence[str]]],
        *,
        asked: int = count,
        peer: bool = False,
    ) -> Contender:
        return Contender(
            name,
            setup=lambda: _closed(target(), connections, asked),
            run=stage.ask,
            answer=lambda answered: _checked(stage.load, answered),
            count=asked,
            lacking=postgres.lacking if peer else str,
        )

    def ours() -> tuple[int, Sequence[str]]:
        handles = stage.handles[mix.name]
        return stage.api(workers).port, mix.paths(handles)

    def one_process() -> tuple[int, Sequence[str]]:
        service, handles = stage.served
        return service.port, mix.paths(handles[mix.name])

    def theirs(*, remembers: bool) -> tuple[int, Sequence[str]]:
        port = stage.postgres_port(workers, remembers=remembers)
        return port, mix.paths(stage.postgres_handles(mix))

    contenders = [
        way(f"psoup api, {_workers(workers)}", ours),
        way(POSTGRES, lambda: theirs(remembers=False), asked=fewer, peer=True),
        way(LAYER, lambda: theirs(remembers=True), peer=True),
    ]
    if workers == 1 and stage.size is Size.FULL:
        contenders.insert(1, way(SERVE, one_process))
    return Contest(
        f"processes-{mix.name}-{workers}",
        f"{mix.title}, {_workers(workers)}",
        "invocations",
        count,
        contenders,
    )


def surveys(stage: Stage) -> Iterator[Survey]:
    """Yield CPU time, then times at a fixed rate, alone and while tuples arrive."""
    workers = (1,) if stage.size is Size.SMOKE else (1, 2)
    for name in ("equality",) if stage.size is Size.SMOKE else ("equality", "interval"):
        mix = stage.mixes[name]
        yield cpu(stage, mix)
        for number in workers:
            yield at_rate(stage, mix, workers=number)
            if stage.size is Size.FULL:
                yield at_rate(stage, mix, workers=number, arriving=True)


def cpu(stage: Stage, mix: Mix) -> Survey:
    """What an invocation costs all processes that have a part in it: less moved by who else is on the machine."""
    key = f"processes-cpu-{mix.name}"
    count = stage.size.pick(smoke=50, full=2_000)

    def figure(
        name: str,
        title: str,
        target: tuple[int, Sequence[str]],
        pids: Callable[[], Sequence[int]],
    ) -> Figure:
        asked = _closed(target, CONNECTIONS, count)
        stage.ask(replace(asked, count=len(mix.queries)))
        parts = pids()  # PostgreSQL has one for each connection by now
        before_s = sum(map(process.cpu_s, parts))
        stage.ask(asked)
        taken_s = sum(map(process.cpu_s, parts)) - before_s
        return Figure(f"{key}-{name}", title, 1e6 * taken_s / count, "us each")

    def theirs(name: str, title: str, *, remembers: bool) -> Figure:
        port = stage.postgres_port(1, remembers=remembers)
        target = port, mix.paths(stage.postgres_handles(mix))
        return figure(name, title, target, lambda: stage.postgres_pids(1, remembers=remembers))

    def run() -> Sequence[Figure]:
        handles, api = stage.handles[mix.name], stage.api(1)
        ours = [*stage.apart.worker_pids(api), stage.apart.store_pid]
        target = api.port, mix.paths(handles)
        found = [figure("psoup", "psoup: worker and store", target, lambda: ours)]
        if not postgres.lacking():
            found.append(theirs("postgres", "PostgreSQL and the API layer", remembers=False))
            found.append(theirs("layer", LAYER, remembers=True))
        return found

    return Survey(key, f"CPU of all processes, {mix.title}", run)


def at_rate(stage: Stage, mix: Mix, *, workers: int, arriving: bool = False) -> Survey:
    """Invocations at RATE for each worker, whoever is slow or not."""
    key = f"processes-rate-{mix.name}-{workers}{'-arriving' if arriving else ''}"
    meanwhile = ", 1,000 tuples/s arrive" if arriving else ""
    title = f"{RATE * workers:,.0f} invocations/s, {mix.title}, {_workers(workers)}{meanwhile}"

    def run() -> Sequence[Figure]:
        paths = mix.paths(stage.handles[mix.name])
        api = stage.api(workers)
        count = stage.size.pick(smoke=50, full=int(RATE) * 5 * workers)
        one = Asked(api.port, paths, CONNECTIONS_OPEN, count, RATE * workers)
        stage.load.run(replace(one, count=min(count, 200)))
        with ExitStack() as stack:
            if arriving:
                stack.enter_context(Arrivals(api, stage.arriving))
            before = stage.cpu_s(api)
            rounds = [stage.load.run(one) for _ in range(stage.size.pick(smoke=1, full=5))]
            taken = [late - early for late, early in zip(stage.cpu_s(api), before, strict=True)]
        return _figures(key, rounds, taken)

    return Survey(key, title, run)


class Arrivals:
    """Tuples that arrive a hundred at a time, ten times a second, each batch dated behind the one before."""

    def __init__(self, api: Service, bodies: Bodies) -> None:
        """Send `bodies` to `api`."""
        self._port, self._bodies = api.port, bodies
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self.refused = 0

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._ended.set()
        self._thread.join()

    def _send(self) -> None:
        with Client(self._port) as client:
            while not self._ended.wait(ARRIVING_S):
                status, _ = client.ask("POST", ROWS_PATH, self._bodies.next(), ARROW)
                self.refused += status not in (200, 202)


def _figures(key: str, rounds: Sequence[Answered], taken: Sequence[float]) -> list[Figure]:
    """Return medians over the rounds, and CPU time for each invocation."""
    count = sum(one.count for one in rounds)
    found = [
        Figure(
            f"{key}-p50", "median of 50 %", 1e3 * statistics.median(o.p50_s for o in rounds), "ms"
        ),
        Figure(
            f"{key}-p99", "median of 99 %", 1e3 * statistics.median(o.p99_s for o in rounds), "ms"
        ),
        Figure(f"{key}-worst", "worst round's 99 %", 1e3 * max(o.p99_s for o in rounds), "ms"),
        Figure(f"{key}-rate", "answered a second", count / sum(o.seconds for o in rounds), ""),
        Figure(f"{key}-refused", "not answered with 200", sum(o.unanswered for o in rounds), ""),
    ]
    names = ("workers", "store", "engine")
    return found + [
        Figure(f"{key}-cpu-{place}", f"CPU of {name}", 1e6 * cpu_s / count, "us each")
        for place, (name, cpu_s) in enumerate(zip(names, taken, strict=True))
    ]


def _closed(target: tuple[int, Sequence[str]], connections: int, count: int) -> Asked:
    port, paths = target
    return Asked(port, paths, connections, count)


def _checked(load: Load, answered: Answered) -> bytes:
    """Return the digest of the answers; RuntimeError if one was no answer."""
    if answered.unanswered:
        message = f"{answered.unanswered} of {answered.count} invocations were refused"
        raise RuntimeError(message)
    return load.digest()


def _workers(number: int) -> str:
    return "1 worker" if number == 1 else f"{number} workers"
