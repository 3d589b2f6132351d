"""`psoup serve` as a process of its own: started on a free port, fed, measured from outside, ended by its id."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from benchmarks import process
from psoup.engine.tuples.arrow import encode_batch

START_S_MAX = 60.0
STOP_S_MAX = 30.0
ANSWER_S_MAX = 120.0
APPLIED_S_MAX = 120.0
SAID_LENGTH = 600
"""Characters of a log that are shown where something does not start."""
REGISTERED_AT_ONCE = 2_000
"""Lines of one body: registered well inside the service's deadline."""
ARROW = "application/vnd.apache.arrow.stream"
NDJSON = "application/x-ndjson"


class Client:
    """One connection that is kept open. Not for several threads."""

    def __init__(self, port: int) -> None:
        """Connect at the first request."""
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_S_MAX)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self._connection.close()

    def ask(
        self, method: str, path: str, body: bytes | None = None, content_type: str = ""
    ) -> tuple[int, bytes]:
        """Return status and body of the answer."""
        headers = {"Content-Type": content_type} if content_type else {}
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def poll(self, path: str, tag: str) -> tuple[int, str]:
        """Ask for an answer unless it still has this tag, "" = none; return status and tag."""
        self._connection.request("GET", path, headers={"If-None-Match": tag} if tag else {})
        answer = self._connection.getresponse()
        answer.read()
        return answer.status, answer.getheader("ETag", "")

    def json(self, method: str, path: str, value: object = None) -> Any:  # noqa: ANN401
        """Return the answer's JSON value; RuntimeError where it was no success."""
        body = None if value is None else json.dumps(value).encode()
        status, answer = self.ask(method, path, body, "application/json" if body else "")
        if status >= 300:
            message = f"{method} {path}: {status} {answer[:500]!r}"
            raise RuntimeError(message)
        return json.loads(answer)


class Service:
    """A running service, seen from outside."""

    def __init__(self, client: Client, port: int, pid: int, data: Path) -> None:
        """Know where it listens and which process it is."""
        self.client, self.port, self.pid = client, port, pid
        self._pidfile = data / "server.pid"

    @property
    def store_pid(self) -> int | None:
        """The process of its embedded store; None where it has none."""
        with contextlib.suppress(OSError, ValueError):
            return int(self._pidfile.read_text(encoding="utf-8"))
        return None

    def cpu_s(self) -> tuple[float, float]:
        """Return the CPU seconds of the service and of its store."""
        store = self.store_pid
        return process.cpu_s(self.pid), 0.0 if store is None else process.cpu_s(store)

    def resident_bytes(self) -> int:
        """Return the memory of the service, its store's not counted."""
        return process.resident_bytes(self.pid)

    def status(self) -> Any:  # noqa: ANN401 (whatever members this version has)
        """Return the figures it gives of itself."""
        return self.client.json("GET", "/v1/status")

    def register(self, texts: Sequence[str], materialize: str) -> list[str]:
        """Register all texts, in bulk; return the handles of those that stand, in their order."""
        handles: list[str] = []
        for first in range(0, len(texts), REGISTERED_AT_ONCE):
            part = texts[first : first + REGISTERED_AT_ONCE]
            lines = [json.dumps({"sql": text, "materialize": materialize}) for text in part]
            body = "\n".join(lines).encode()
            status, answer = self.client.ask("POST", "/v1/batch/queries?describe=ids", body, NDJSON)
            if status >= 300:
                message = f"registering: {status} {answer[:500]!r}"
                raise RuntimeError(message)
            told = [json.loads(line) for line in answer.splitlines()]
            handles += [one["id"] for one in told if one["status"] in (200, 201, 202)]
        self.await_applied()
        return handles

    def await_applied(self) -> None:
        """Wait until everything committed is applied; RuntimeError after two minutes."""
        latest = time.monotonic() + APPLIED_S_MAX
        while self.status()["backlog"]:
            if time.monotonic() > latest:
                message = "the backlog does not end"
                raise RuntimeError(message)
            time.sleep(0.005)


@contextlib.contextmanager
def running(folder: Path, *, store: str | None) -> Iterator[Service]:
    """Yield a service that is ready; `store` None = the durable default, in `folder`. Ends it."""
    data, options = folder / "data", [] if store is None else ["--store", store]
    command = ["serve", "--data", str(data), *options]
    with listening(command, folder / "service.log", data=data) as service:
        yield service


@contextlib.contextmanager
def listening(
    command: Sequence[str],
    log: Path,
    *,
    data: Path,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Service]:
    """Yield what `psoup <command>` serves on a free port, with these settings, once it is ready. Ends it."""
    port = free_port()
    place = ["--host", "127.0.0.1", "--port", str(port)]
    with (
        started([*command, *place], log, settings) as child,
        Client(port) as client,
    ):
        service = Service(client, port, child.pid, data)
        await_ready(port, child, log)
        yield service


@contextlib.contextmanager
def started(
    command: Sequence[str], log: Path, settings: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Yield the process of `psoup <command>` with these settings, which writes to `log`. Ends it."""
    given = {name: value for name, value in os.environ.items() if name[:6] != "PSOUP_"}
    given |= {f"PSOUP_{name.upper()}": value for name, value in (settings or {}).items()}
    said = ["--log-level", "warning"]
    with log.open("ab") as written:
        child = subprocess.Popen(
            [sys.executable, "-m", "psoup", *command, *said],
            stdout=written,
            stderr=written,
            env=given,
            start_new_session=True,
        )
        try:
            yield child
        finally:
            stop(child)


def free_port() -> int:
    """Return a port on which nobody listens at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Bodies:
    """Arrow bodies of one batch, each with later times than the one before. Not for several threads."""

    def __init__(self, batch: pa.RecordBatch, *, step_us: int) -> None:
        """Encode the batch once; `ts` is moved in place."""
        self._body = bytearray(encode_batch(batch))
        times = batch.column("ts").cast(pa.int64()).to_numpy()
        at = self._body.index(times.tobytes())
        self._times = np.frombuffer(self._body, np.int64, count=len(times), offset=at)
        self._step_us = step_us

    def next(self) -> bytes:
        """Return the next body."""
        body = bytes(self._body)
        self._times += self._step_us
        return body


def post_for(
    service: Service, stream: str, makers: Sequence[Bodies], *, seconds: float
) -> tuple[int, float]:
    """Post bodies from one thread per maker; return how many were taken, and the seconds till applied."""
    taken, path = [0] * len(makers), f"/v1/streams/{stream}/rows"
    start = time.monotonic()

    def post(number: int) -> None:
        with Client(service.port) as client:
            while time.monotonic() - start < seconds:
                body = makers[number].next()
                while (answer := client.ask("POST", path, body, ARROW))[0] == 503:
                    time.sleep(0.01)
                if answer[0] not in (200, 202):
                    message = f"{path}: {answer[0]} {answer[1][:500]!r}"
                    raise RuntimeError(message)
                taken[number] += 1

    _in_threads(post, len(makers))
    service.await_applied()
    return sum(taken), time.monotonic() - start


def _in_threads(work: Callable[[int], None], count: int) -> None:
    """Run `work(number)` in `count` threads, and raise what the first of them raised."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 (raised again below)
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def await_ready(port: int, child: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until what listens on `port` calls itself ready; RuntimeError with the end of its log if it does not."""
    latest = time.monotonic() + START_S_MAX
    while True:
        with contextlib.suppress(OSError, http.client.HTTPException), Client(port) as one:
            if one.ask("GET", "/readyz")[0] == 200:
                return
        if child.poll() is not None or time.monotonic() > latest:
            said = " ".join(log.read_text(errors="replace").split())
            message = f"the service is not ready: {said[-SAID_LENGTH:]}"
            raise RuntimeError(message)
        time.sleep(0.05)


def stop(child: subprocess.Popen[bytes]) -> None:
    """End a process that was started here, and wait for it."""
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    try:
        child.wait(STOP_S_MAX)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
