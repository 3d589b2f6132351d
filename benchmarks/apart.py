"""Processes apart: a store, `psoup engine` and `psoup api` over it, each started, looked at and ended by its id.

The store is the server that psoup embeds, set as psoup sets it (every answer after a sync), on a Unix socket.
"""

import contextlib
import json
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from benchmarks import process
from benchmarks.bench_http import declaration
from benchmarks.service import (
    APPLIED_S_MAX,
    ARROW,
    START_S_MAX,
    Bodies,
    Service,
    listening,
    started,
    stop,
)
from benchmarks.workloads import INTEGER, SECOND_US, Query, record_batch, tuples
from psoup.storage import keys
from psoup.storage.embedded.server import CONFIGURATION, find_executable

STREAM = INTEGER.stream
BATCH_ROWS = 8_192


@dataclass(frozen=True, slots=True)
class Written:
    """What a store was told since its start.

    Attributes:
        calls, call_s: of Functions that write, and the seconds they took the server.
        views, view_s: of Functions that only read, likewise.
        input_bytes: all that came in.
    """

    calls: int
    call_s: float
    views: int
    view_s: float
    input_bytes: int


class Apart:
    """A store of its own and processes over it. All of them end with it."""

    def __init__(self) -> None:
        """Start the store."""
        self._stack = ExitStack()
        try:
            folder = tempfile.TemporaryDirectory(prefix="psoup-bench-", ignore_cleanup_errors=True)
            self.folder = Path(self._stack.enter_context(folder))
            self._socket = self.folder / "store.sock"
            self.url = f"unix://{quote(str(self._socket))}?db=0"
            self.store_pid = self._start_store()
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes, the latest first."""
        self.close()

    def close(self) -> None:
        """End all processes, the latest first. Twice is harmless."""
        self._stack.close()

    def engine(self, name: str = "engine") -> subprocess.Popen[bytes]:
        """Start an engine whose data folder is called `name`; it need not be live yet."""
        command = ["engine", "--store", self.url, "--data", str(self.folder / name)]
        log = self.folder / f"{name}.log"
        return self._stack.enter_context(started(command, log))

    def api(
        self, workers: int, settings: Mapping[str, str] | None = None, *, name: str = "api"
    ) -> Service:
        """Return the API of so many workers, ready; several at once have names of their own."""
        command = ["api", "--store", self.url, "--workers", str(workers)]
        log = self.folder / f"{name}-{workers}.log"
        serving = listening(command, log, data=self.folder / name, settings=settings)
        return self._stack.enter_context(serving)

    def worker_pids(self, api: Service) -> Sequence[int]:
        """Return the processes that answer: the supervisor's, or itself where there is none."""
        found = [pid for pid in process.children(api.pid) if _is_worker(pid)]
        return found or [api.pid]

    def written(self) -> Written:
        """Return what the store was told."""
        import redis

        with redis.Redis(unix_socket_path=str(self._socket)) as store:
            commands: Any = store.info("commandstats")
            traffic: Any = store.info("stats")
        calls, views = (
            commands.get(f"cmdstat_{name}", {"calls": 0, "usec": 0})
            for name in ("fcall", "fcall_ro")
        )
        return Written(
            calls["calls"],
            calls["usec"] / SECOND_US,
            views["calls"],
            views["usec"] / SECOND_US,
            traffic["total_net_input_bytes"],
        )

    def engine_figures(self) -> dict[str, Any]:
        """Return the figures that the engine tells; {} before the first."""
        import redis

        with redis.Redis(unix_socket_path=str(self._socket)) as store:
            told: Any = store.get(keys.FIGURES)
        found: dict[str, Any] = json.loads(told or b"{}")
        return found

    def applied(self) -> int:
        """Return the last operation that was published; 0 where the store knows none."""
        import redis

        with redis.Redis(unix_socket_path=str(self._socket)) as store:
            found: Any = store.hget(keys.META, "applied")
        return int(found or 0)

    def await_applied(self, seq: int) -> None:
        """Wait until an operation was published; RuntimeError after two minutes."""
        latest = time.monotonic() + APPLIED_S_MAX
        while self.applied() < seq:
            if time.monotonic() > latest:
                message = f"operation {seq} is not applied"
                raise RuntimeError(message)
            time.sleep(0.005)

    def _start_store(self) -> int:
        data = self.folder / "store"
        data.mkdir(mode=0o700)
        settings = CONFIGURATION | {
            "dir": str(data),
            "unixsocket": str(self._socket),
            "appendfsync": "always",
            "logfile": str(self.folder / "store.log"),
        }
        options = [text for name, value in settings.items() for text in (f"--{name}", value)]
        child = subprocess.Popen(
            [str(find_executable()), *options],
            cwd=data,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._stack.callback(stop, child)
        latest = time.monotonic() + START_S_MAX
        while not self._socket.exists():
            if child.poll() is not None or time.monotonic() > latest:
                message = "the store does not start"
                raise RuntimeError(message)
            time.sleep(0.01)
        return child.pid


def kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a process as nothing prepares for, and wait until it has gone."""
    child.send_signal(signal.SIGKILL)
    child.wait()


def declare(service: Service, *, retained: int) -> None:
    """Declare the workload's stream."""
    service.client.json("PUT", f"/v1/streams/{STREAM.name}", declaration(retained))


def fill(service: Service, rows: int, *, first: int = 0) -> None:
    """Send the workload's tuples `[first, first + rows)` in batches, and wait until they are applied."""
    columns, path = tuples(INTEGER, first + rows), f"/v1/streams/{STREAM.name}/rows"
    for begin in range(first, first + rows, BATCH_ROWS):
        end = min(begin + BATCH_ROWS, first + rows)
        part = {name: values[begin:end] for name, values in columns.items()}
        body = Bodies(record_batch(STREAM, part, first=begin), step_us=0).next()
        post(service, path, body)
    service.await_applied()


def post(service: Service, path: str, body: bytes) -> int:
    """Send an Arrow body until it is taken; return its position. RuntimeError where it never will be."""
    latest = time.monotonic() + START_S_MAX
    while True:
        status, answer = service.client.ask("POST", path, body, ARROW)
        if status in (200, 202):
            return int(json.loads(answer)["seq"])
        if status != 503 or time.monotonic() > latest:
            message = f"{path}: {status} {answer[:500]!r}"
            raise RuntimeError(message)
        time.sleep(0.01)


def text_of(query: Query, window_s: int | None) -> str:
    """Return a query's text over a window of so many seconds; None = without one."""
    names = ", ".join(column.name for column in STREAM.columns)
    window = "" if window_s is None else f" BEGIN (NOW - {window_s}) END (NOW)"
    return f"SELECT {names} FROM {STREAM.name} WHERE {query.where}{window}"


def _is_worker(pid: int) -> bool:
    """Return whether a child of the supervisor serves: a resource tracker of multiprocessing does not."""
    with contextlib.suppress(OSError):
        return b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
