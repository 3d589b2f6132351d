"""Waiting for changes: how soon they are told, what thousands who wait cost, and what a sync costs that finds nothing.

One service in a process of its own, over its durable store, and for those who wait also one worker of `psoup api`
beside an engine; the clients are sockets of this process and share its cores with it. Thousands wait for queries that
differ, and only some of what is appended matches. What a worker's clients wait for is appended at another worker: its
position comes by way of the store and the engine. Times are taken here, of the same clock.
"""

import contextlib
import functools
import json
import selectors
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks import process, service as services
from benchmarks.apart import Apart
from benchmarks.bench import Figure, Size, Survey
from benchmarks.service import Service
from psoup.engine.limits import MIB

SQL = "SELECT sym, px FROM trades WHERE px > {low} BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)"
COLUMNS = [{"name": "sym", "type": "string"}, {"name": "px", "type": "float64"}]
SUBSCRIBERS = (1, 100, 1_000)
POLLS = (1, 1_000)
ROUNDS = 30
LONE_ROUNDS = 200
"""Of one who waits with the `linger` that is set where none is given."""
IDLE, SLOW = 10_000, 1_000
AT_ONCE = 32
"""Connections asked on before the service is seen to have let them wait: it works on so many at once and more."""
SYNCED = 1_000
INGEST_S = 5.0
WAIT_S = 60.0
SLOW_BUFFER_BYTES = 4_096
SETTINGS = {"connections": "16000", "requests_watching": "16000"}

Run = Callable[[], AbstractContextManager[tuple[Service, int]]]
"""Starts what is measured: the service, and its process that answers."""
Places = Callable[[], AbstractContextManager[tuple[Service, Service]]]
"""Starts a service at which clients wait, and the one at which rows are appended meanwhile."""


@dataclass(frozen=True, slots=True)
class Polls:
    """Clients that wait for one query, and ask anew when all of them were answered: `rounds` times."""

    key: str
    text: str
    count: int
    rounds: int
    parameters: str = ""


def contests(size: Size) -> Iterator[Survey]:
    """Yield the surveys, where /proc tells what a process takes; small ones of long polls at a worker alone."""
    if not process.is_known():
        return
    is_small = size is Size.SMOKE
    where_measured = slice(1, None) if is_small else slice(None)
    for count in (2,) if is_small else SUBSCRIBERS:
        yield Survey(
            f"waiting-events-{count}",
            f"from an append to {count:,} streams of events",
            functools.partial(told, count, size.pick(smoke=2, full=ROUNDS)),
        )
    for key, where, places in [
        ("waiting-polls", "psoup serve", _one_place),
        ("waiting-polls-worker", "psoup api, one worker, appended at another", _two_places),
    ][where_measured]:
        counts, rounds = ((2,), 2) if is_small else (POLLS, ROUNDS)
        crowds = [
            Polls(f"{key}-{count}", f"{count:,} that do not linger", count, rounds, "linger=0")
            for count in counts
        ]
        usual = Polls(f"{key}-usual", "one as it is by default", 1, 2 if is_small else LONE_ROUNDS)
        yield Survey(
            key,
            f"{where}: from an append to long polls",
            functools.partial(polled, places, [*crowds, usual]),
        )
    idle, slow = (4, 2) if is_small else (IDLE, SLOW)
    crowded = f"{idle:,} long polls that wait, and {slow:,} streams that are read slowly"
    for key, where, run in [
        ("waiting-idle", "psoup serve", _service),
        ("waiting-idle-worker", "psoup api, one worker beside an engine", _worker),
    ][where_measured]:
        yield Survey(
            key,
            f"{where}: {crowded}",
            functools.partial(crowd, key, run, idle, slow, 0.2 if is_small else INGEST_S),
        )
    queries = size.pick(smoke=4, full=SYNCED)
    yield Survey(
        "waiting-sync",
        f"a sync of {queries:,} queries that finds nothing new",
        functools.partial(synced, queries, size.pick(smoke=2, full=ROUNDS)),
    )


class Crowd:
    """Connections that a service has been asked on, each for one thing; read as bytes come."""

    def __init__(self, port: int) -> None:
        """Open none yet."""
        self._address = "127.0.0.1", port
        self._ready = selectors.DefaultSelector()
        self.received: dict[int, bytearray] = {}
        self.sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        for one in self.sockets:
            one.close()
        self._ready.close()

    def ask(self, path: str, *, reads: bool = True, buffer: int | None = None) -> None:
        """Ask for `path` on a connection of its own; one that does not read keeps what comes in `buffer` bytes."""
        one = socket.socket()
        if buffer is not None:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        one.connect(self._address)
        one.sendall(_head(path))
        self.sockets.append(one)
        if reads:
            one.settimeout(0)
            self.received[one.fileno()] = bytearray()
            self._ready.register(one, selectors.EVENT_READ)

    def ask_again(self, path: str) -> None:
        """Ask for `path` on the connection that was asked on longest ago, whose answer was read."""
        self.sockets.append(self.sockets.pop(0))
        self.sockets[-1].sendall(_head(path))

    def read_until(self, mark: bytes, *, seconds: float) -> list[float]:
        """Return when each connection had received `mark`, of `perf_counter`, and forget what it has received.

        RuntimeError where one has not after so many seconds.
        """
        left, seen, latest_s = set(self.received), [], time.perf_counter() + seconds
        for fileno in [one for one in left if mark in self.received[one]]:
            left.discard(fileno)
            seen.append(time.perf_counter())
        while left:
            found = self._ready.select(max(0.0, latest_s - time.perf_counter()))
            if not found:
                message = f"{len(left)} were not told in {seconds:g} s"
                raise RuntimeError(message)
            for key, _ in found:
                data = key.fileobj.recv(65_536)  # type: ignore[union-attr]
                received = self.received[key.fd]
                received += data
                if key.fd in left and mark in received:
                    left.discard(key.fd)
                    seen.append(time.perf_counter())
        for received in self.received.values():
            received.clear()
        return seen


def told(count: int, rounds: int) -> Sequence[Figure]:
    """Return how long it takes from sending a row, and from its commit, to its event at each subscriber."""
    waits: list[float] = []
    appends: list[float] = []
    with _service() as (one, _):
        (query,) = one.register([SQL.format(low=40)], "auto")
        with Crowd(one.port) as crowd:
            for number in range(1, count + 1):
                crowd.ask(f"/v1/queries/{query}/events")
                if number % AT_ONCE == 0:
                    _await_waiting(one, number)
            crowd.read_until(b"event: result", seconds=WAIT_S)
            _await_waiting(one, count)
            for number in range(rounds):
                append_s, waits_s = _told_of_an_append(one, crowd, number)
                waits += waits_s
                appends.append(append_s)
    return _how_soon(f"waiting-events-{count}", appends, waits, what="the event")


def polled(places: Places, crowds: Sequence[Polls]) -> Sequence[Figure]:
    """Return how long it takes from sending a row, and from its commit, to the answer of each who waits for it."""
    figures: list[Figure] = []
    with places() as (one, other):
        (query,) = one.register([SQL.format(low=40)], "auto")
        for polls in crowds:
            appends, waits = _polled(one, other, query, polls)
            figures += _how_soon(polls.key, appends, waits, what=f"the answer of {polls.text}")
    return figures


def _polled(
    one: Service, other: Service, query: str, polls: Polls
) -> tuple[Sequence[float], Sequence[float]]:
    """Return the seconds of each append at `other`, and from its end until each who waits at `one` was answered."""
    waits: list[float] = []
    appends: list[float] = []
    with Crowd(one.port) as crowd:
        for number in range(polls.rounds):
            asked = f"cursor={_cursor(one, query)}&wait=60&{polls.parameters}"
            for client in range(polls.count):
                if client % AT_ONCE == 0:
                    _await_waiting(one, client)
                ask = crowd.ask_again if number else crowd.ask
                ask(f"/v1/queries/{query}/results?{asked}")
            _await_waiting(one, polls.count)
            append_s, waits_s = _told_of_an_append(other, crowd, number)
            waits += waits_s
            appends.append(append_s)
    return appends, waits


def _told_of_an_append(one: Service, crowd: Crowd, number: int) -> tuple[float, list[float]]:
    """Append the row of this number; return in how many seconds that is answered, and how much later each was told."""
    time.sleep(0.1)
    name = f"S{number}_"
    begun = time.perf_counter()
    _append(one, name, 41.0)
    committed = time.perf_counter()
    seen = crowd.read_until(name.encode(), seconds=WAIT_S)
    return committed - begun, [max(0.0, at - committed) for at in seen]


def _how_soon(
    key: str, appends: Sequence[float], waits: Sequence[float], *, what: str
) -> Sequence[Figure]:
    return [
        Figure(f"{key}-append", "append, until it is answered, median", _ms(appends, 0.5), "ms"),
        Figure(f"{key}-p50", f"from then to {what}, median", _ms(waits, 0.5), "ms"),
        Figure(f"{key}-p99", "the same, one in a hundred", _ms(waits, 0.99), "ms"),
    ]


def crowd(key: str, run: Run, idle: int, slow: int, seconds: float) -> Sequence[Figure]:
    """Return the memory of the process in which many wait, and what their waiting leaves of ingest."""
    with run() as (one, pid):
        _ingest(one, seconds)  # what is done for the first time takes longer
        alone = _ingest(one, seconds)
        before = process.resident_bytes(pid)
        queries = one.register(
            [SQL.format(low=1_000 + number % 500) for number in range(500)], "auto"
        )
        cursors = [_cursor(one, query) for query in queries]
        with Crowd(one.port) as waiting:
            for number in range(idle + slow):
                if number % AT_ONCE == 0:
                    _await_waiting(one, number)
                query, cursor = queries[number % 500], cursors[number % 500]
                if number < idle:
                    path = f"/v1/queries/{query}/results?cursor={cursor}&wait=60"
                    waiting.ask(path, reads=False)
                else:
                    path = f"/v1/queries/{query}/events"
                    waiting.ask(path, reads=False, buffer=SLOW_BUFFER_BYTES)
            _await_waiting(one, idle + slow)
            held = process.resident_bytes(pid)
            beside = _ingest(one, seconds)
            after = process.resident_bytes(pid)
    return [
        Figure(f"{key}-before", "memory, before", before / MIB, "MiB"),
        Figure(f"{key}-memory", "memory, while they wait", held / MIB, "MiB"),
        Figure(f"{key}-after", "memory, after that much was ingested", after / MIB, "MiB"),
        Figure(f"{key}-alone", "batches of 100 rows a second, nobody waiting", alone, "/s"),
        Figure(f"{key}-beside", "the same, while they wait", beside, "/s"),
    ]


def synced(count: int, rounds: int) -> Sequence[Figure]:
    """Return what a sync takes that finds nothing new."""
    with _service() as (one, _):
        handles = one.register([SQL.format(low=40 + number) for number in range(count)], "auto")
        _append(one, "A", 41.0)
        listed: dict[str, Any] = {handle: {"cursor": _cursor(one, handle)} for handle in handles}
        body = json.dumps({"queries": listed}).encode()
        times, answer = [], b""
        for _ in range(rounds + 2):
            begun = time.perf_counter()
            status, answer = one.client.ask("POST", "/v1/sync", body, "application/json")
            times.append(time.perf_counter() - begun)
            if status != 200 or json.loads(answer)["results"]:
                message = f"{status}: {answer[:200]!r}"
                raise RuntimeError(message)
    return [
        Figure("waiting-sync-first", "the first time", times[0] * 1_000, "ms"),
        Figure("waiting-sync-again", "asked again, median", _ms(times[2:], 0.5), "ms"),
        Figure("waiting-sync-bytes", "its answer", float(len(answer)), "bytes"),
    ]


@contextlib.contextmanager
def _service() -> Iterator[tuple[Service, int]]:
    """Yield a service over its durable store, with one stream, and its process."""
    with tempfile.TemporaryDirectory() as folder:
        data, log = Path(folder, "data"), Path(folder, "log")
        command = ["serve", "--data", str(data)]
        with services.listening(command, log, data=data, settings=SETTINGS) as one:
            _declare(one)
            yield one, one.pid


@contextlib.contextmanager
def _worker() -> Iterator[tuple[Service, int]]:
    """Yield the API of one worker beside an engine, with one stream, and the worker's process."""
    with Apart() as apart:
        apart.engine()
        one = apart.api(1, SETTINGS)
        _declare(one)
        yield one, apart.worker_pids(one)[0]


@contextlib.contextmanager
def _one_place() -> Iterator[tuple[Service, Service]]:
    """Yield one service, at which clients wait and rows are appended."""
    with _service() as (one, _):
        yield one, one


@contextlib.contextmanager
def _two_places() -> Iterator[tuple[Service, Service]]:
    """Yield two workers beside an engine: one at which clients wait, and one at which rows are appended."""
    with Apart() as apart:
        apart.engine()
        one, other = (apart.api(1, SETTINGS, name=name) for name in ("waiting", "appending"))
        _declare(one)
        yield one, other


def _head(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def _declare(one: Service) -> None:
    one.client.json("PUT", "/v1/streams/trades", {"columns": COLUMNS, "time": None})


def _append(one: Service, name: str, price: float) -> None:
    body = json.dumps([{"sym": name, "px": price}]).encode()
    status, answer = one.client.ask("POST", "/v1/streams/trades/rows", body, "application/json")
    if status != 200:
        message = f"append: {status} {answer[:200]!r}"
        raise RuntimeError(message)


def _ingest(one: Service, seconds: float) -> float:
    """Return how many batches a second are taken, one after the other; none of their rows matches."""
    rows = [{"sym": "A", "px": 1.0}] * 100
    body, count, begun = json.dumps(rows).encode(), 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        status, answer = one.client.ask("POST", "/v1/streams/trades/rows", body, "application/json")
        if status not in {200, 202}:
            message = f"append: {status} {answer[:200]!r}"
            raise RuntimeError(message)
        count += 1
    return count / (time.perf_counter() - begun)


def _cursor(one: Service, query: str) -> str:
    return str(one.client.json("GET", f"/v1/queries/{query}/results")["cursor"])


def _await_waiting(one: Service, count: int) -> None:
    """Return once so many wait; RuntimeError where they do not within WAIT_S."""
    latest = time.monotonic() + WAIT_S
    while one.client.json("GET", "/v1/limits")["use"]["requests_watching_max"] < count:
        if time.monotonic() > latest:
            message = f"{count:,} do not wait"
            raise RuntimeError(message)
        time.sleep(0.005)


def _ms(seconds: Sequence[float], share: float) -> float:
    """Return a quantile in milliseconds."""
    ordered = sorted(seconds)
    if share == 0.5:
        return statistics.median(ordered) * 1_000
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1_000
