"""What invocations are measured on: the same tuples and queries in psoup's processes, in one, and in PostgreSQL.

PostgreSQL's table has exactly the tuples of the window, so that it need not cut them out.
"""

import functools
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from benchmarks import postgres, postgres_api, process
from benchmarks.apart import STREAM, Apart, declare, fill, text_of
from benchmarks.bench import Size
from benchmarks.load import Answered, Asked, Load
from benchmarks.service import Bodies, Service, await_ready, running, stop
from benchmarks.workloads import (
    EPOCH_US,
    INTEGER,
    SECOND_US,
    Query,
    equality_queries,
    interval_queries,
    record_batch,
    tuples,
)

PAGE_ROWS = 100
QUERIES = 32
ARRIVING_ROWS = 100
ROWS_PATH = f"/v1/streams/{STREAM.name}/rows"


@dataclass(frozen=True, slots=True)
class Mix:
    """What is asked: queries, and the parameters of their invocations."""

    name: str
    title: str
    queries: Sequence[Query]
    parameters: str

    def paths(self, handles: Sequence[str]) -> list[str]:
        """Return the targets of its requests."""
        return [f"/v1/queries/{handle}/results?{self.parameters}" for handle in handles]


@dataclass(frozen=True, slots=True)
class Held:
    """How many tuples are stored, and how many of them, the latest, the window shows."""

    rows: int
    window: int

    @property
    def first(self) -> int:
        """The first row that the window shows."""
        return self.rows - self.window

    @property
    def now_us(self) -> int:
        """When the latest tuple is dated."""
        return EPOCH_US + SECOND_US * (self.rows - 1)


def held(size: Size) -> Held:
    """Return what is stored: 2^16 tuples in the window, half as many before it, and a chunk that is still open."""
    return Held(
        size.pick(smoke=5_000, full=99_304),
        size.pick(smoke=3_000, full=65_536),
    )


def mixes(size: Size) -> list[Mix]:
    """Return what is asked, in four forms."""
    count, rows = size.pick(smoke=4, full=QUERIES), held(size).rows
    near = tuples(INTEGER, rows)
    page = f"limit={PAGE_ROWS}"
    drawn = equality_queries(INTEGER, 8 * count, near=near)
    equal = [query for query in drawn if len(query.bounds) == 1][:count]
    intervals = interval_queries(INTEGER, count)
    large = interval_queries(INTEGER, count, factors=1, width=0.4)
    return [
        Mix("equality", "an equality each", equal, page),
        Mix("interval", "one to four intervals each", intervals, page),
        Mix("large", "an interval of 0.4 of the domain each", large, page),
        Mix("count", "one to four intervals each, count alone", intervals, "count=only"),
    ]


class Stage:
    """All that is asked, started when it is first needed; everything ends with it."""

    def __init__(self, size: Size) -> None:
        """Start nothing yet."""
        self.size = size
        self.held = held(size)
        self.mixes = {mix.name: mix for mix in mixes(size)}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End everything."""
        self._stack.close()

    @functools.cached_property
    def load(self) -> Load:
        """Whoever asks."""
        return self._stack.enter_context(Load())

    def ask(self, asked: Asked) -> Answered:
        """Return what a run took."""
        return self.load.run(asked)

    @functools.cached_property
    def apart(self) -> Apart:
        """The store, and processes over it."""
        return self._stack.enter_context(Apart())

    @functools.cached_property
    def handles(self) -> dict[str, list[str]]:
        """Handles by mix; with them tuples and queries are there."""
        return self._filled(self.api(1))

    @functools.cached_property
    def served(self) -> tuple[Service, dict[str, list[str]]]:
        """`psoup serve` on a store of its own, which holds the same, and its handles by mix."""
        folder = self.apart.folder / "served"
        folder.mkdir()
        service = self._stack.enter_context(running(folder, store=None))
        return service, self._filled(service)

    def api(self, workers: int) -> Service:
        """Return the API with so many workers, and with it an engine."""
        assert self._engine.pid, "the engine is started first"
        return self._apis(workers)

    def postgres_port(self, workers: int, *, remembers: bool = False) -> int:
        """Return where PostgreSQL answers behind so many workers."""
        return self._postgres_apis(workers, remembers)[0]

    def postgres_pids(self, workers: int, *, remembers: bool = False) -> Sequence[int]:
        """Return the processes of that: PostgreSQL's own, and the API's."""
        server = self._postgres.pid
        return [*self._postgres_apis(workers, remembers)[1], server, *process.children(server)]

    def postgres_handles(self, mix: Mix) -> list[str]:
        """Return the handles of a mix in front of PostgreSQL."""
        number = list(self.mixes).index(mix.name)
        return [f"q_{number:02d}{place:020d}" for place in range(len(mix.queries))]

    @functools.cached_property
    def arriving(self) -> Bodies:
        """What arrives from now on: each body's tuples are dated behind all before."""
        columns = tuples(INTEGER, ARRIVING_ROWS)
        batch = record_batch(STREAM, columns, first=self.held.rows)
        return Bodies(batch, step_us=ARRIVING_ROWS * SECOND_US)

    def cpu_s(self, api: Service) -> tuple[float, float, float]:
        """Return the CPU seconds of the API's workers, of the store, and of the engine."""
        workers = sum(map(process.cpu_s, self.apart.worker_pids(api)))
        return workers, process.cpu_s(self.apart.store_pid), process.cpu_s(self._engine.pid)

    def _filled(self, service: Service) -> dict[str, list[str]]:
        declare(service, retained=1_048_576)
        handles = {
            name: service.register(
                [text_of(query, self.held.window - 1) for query in mix.queries], "auto"
            )
            for name, mix in self.mixes.items()
        }
        fill(service, self.held.rows)
        return handles

    @functools.cached_property
    def _engine(self) -> subprocess.Popen[bytes]:
        return self.apart.engine()

    @functools.cached_property
    def _apis(self) -> Callable[[int], Service]:
        return functools.cache(self.apart.api)

    @functools.cached_property
    def _postgres_apis(self) -> Callable[[int, bool], tuple[int, Sequence[int]]]:
        return functools.cache(self._start_postgres_api)

    @functools.cached_property
    def _postgres(self) -> postgres.Server:
        server = self._stack.enter_context(postgres.running())
        shown = {
            name: values[self.held.first :]
            for name, values in tuples(INTEGER, self.held.rows).items()
        }
        postgres.fill(server, shown, first=self.held.first)
        return server

    def _start_postgres_api(self, workers: int, remembers: bool) -> tuple[int, Sequence[int]]:  # noqa: FBT001
        wheres = {
            handle: query.where
            for mix in self.mixes.values()
            for handle, query in zip(self.postgres_handles(mix), mix.queries, strict=True)
        }
        asked = postgres_api.Asked(
            self._postgres.dsn,
            wheres,
            self.held.now_us,
            self.held.window - 1,
            self.held.rows,
            remembers,
        )
        name = f"postgres-{workers}-{remembers}"
        path, log = (self.apart.folder / f"{name}.{kind}" for kind in ("json", "log"))
        postgres_api.write(path, asked)
        listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        port = int(listener.getsockname()[1])
        command = [
            sys.executable,
            "-m",
            "benchmarks.postgres_api",
            str(listener.fileno()),
            str(path),
        ]
        with log.open("wb") as said, listener:
            children = [
                subprocess.Popen(
                    command,
                    stdout=said,
                    stderr=said,
                    pass_fds=[listener.fileno()],
                    start_new_session=True,
                )
                for _ in range(workers)
            ]
        for child in children:
            self._stack.callback(stop, child)
        for child in 2 * children:  # whoever is ready takes the connection
            await_ready(port, child, log)
        return port, [child.pid for child in children]
