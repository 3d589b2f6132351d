"""Requests at a rate, or as fast as they are answered, from a process of its own: L-01's clients.

A client that measures must not be what is slow: one that shares its loop with producers and a witness sends late, and
takes its own delay for the service's. This one parses no more than it judges. It is told what to do by one line of
JSON on its standard input, and tells what came of it by one on its standard output.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, cast

import uvloop

from tests.torture.exchange import ANSWER_S

PACE_S: Final = 0.001
"""The loop looks for requests that are due so often."""
WRONG_SHOWN_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Order:
    """What to ask.

    Attributes:
        targets: asked in turn.
        seconds: for so long requests are sent.
        connections: at most so many are open. Kept alive; a new one is opened where none is idle.
        rate: requests a second, sent at their times whether or not earlier ones were answered, as far as
            connections reach; None = the next one on each connection at once.
        excused: codes of 503 that are a refusal.
    """

    host: str
    port: int
    targets: Sequence[str]
    seconds: float
    connections: int
    rate: float | None = None
    excused: Sequence[str] = ("overloaded",)


@dataclass(slots=True)
class Load:
    """What became of them; seconds from when each was due.

    Attributes:
        seconds: until the last one was resolved.
        good_s, refused_s: of answers 200 and 503.
        broken: connections that ended without an answer, or could not be made.
        silent: without an answer ANSWER_S after the last one was sent.
        wrong: answers that no load excuses.
        late_s: by which the process sent its requests too late itself.
    """

    seconds: float = 0.0
    good_s: list[float] = field(default_factory=list)
    refused_s: list[float] = field(default_factory=list)
    broken: int = 0
    silent: int = 0
    wrong: dict[str, int] = field(default_factory=dict)
    late_s: list[float] = field(default_factory=list)

    @property
    def goodput(self) -> float:
        """Return answers 200 in a second."""
        return len(self.good_s) / self.seconds


async def carried_out(order: Order) -> Load:
    """Return what came of `order`, carried out by another process.

    Raises:
        RuntimeError: it did not come to its end.
        subprocess.TimeoutExpired: not in time.
    """
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "tests.torture.load"],
        input=json.dumps(asdict(order)).encode(),
        stdout=subprocess.PIPE,
        timeout=order.seconds + 2 * ANSWER_S,
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(f"the process of the load ended with {ended.returncode}")
    return Load(**json.loads(ended.stdout))


class _Clients:
    """The connections of one order, and the requests that wait for one."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.load = Load()
        self.idle: list[_Connection] = []
        self.waiting: deque[tuple[float, int]] = deque()
        self.sent = self.open = 0
        self.ended_s = time.monotonic() + order.seconds
        self.wrong: Counter[str] = Counter()
        self._opening: set[asyncio.Task[None]] = set()

    async def run(self) -> Load:
        """Send what is due until time is up, and wait for the answers."""
        begun_s = time.monotonic()
        latest_s = self.ended_s + ANSWER_S
        while (now_s := time.monotonic()) < self.ended_s or (
            self._unresolved() and now_s < latest_s
        ):
            while now_s < self.ended_s and (due_s := self._due_s(begun_s)) <= now_s:
                if self.order.rate is not None:
                    self.load.late_s.append(now_s - due_s)
                self._send(due_s)
            await asyncio.sleep(PACE_S)
        self.load.seconds = time.monotonic() - begun_s
        self.load.silent = self._unresolved()
        self.load.wrong = dict(self.wrong.most_common(WRONG_SHOWN_MAX))
        return self.load

    def freed(self, connection: "_Connection") -> None:
        """Give a connection its next request, or let it wait for one."""
        if self.waiting:
            connection.send(*self.waiting.popleft())
        elif self.order.rate is None and time.monotonic() < self.ended_s:
            self.sent += 1
            connection.send(time.monotonic(), self.sent)
        else:
            self.idle.append(connection)

    def lost(self, connection: "_Connection") -> None:
        """Forget a connection; requests that wait get another one."""
        self.open -= 1
        if connection in self.idle:
            self.idle.remove(connection)
        if self.waiting:
            self._connect(*self.waiting.popleft())

    def _due_s(self, begun_s: float) -> float:
        """Return when the next request is due."""
        if self.order.rate is not None:
            return begun_s + self.sent / self.order.rate
        return begun_s if self.open < self.order.connections else float("inf")

    def _send(self, due_s: float) -> None:
        self.sent += 1
        if self.idle:
            self.idle.pop().send(due_s, self.sent)
        elif self.open < self.order.connections:
            self._connect(due_s, self.sent)
        else:
            self.waiting.append((due_s, self.sent))

    def _connect(self, due_s: float, number: int) -> None:
        self.open += 1
        task = asyncio.create_task(self._connected(due_s, number))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _connected(self, due_s: float, number: int) -> None:
        order, loop = self.order, asyncio.get_running_loop()
        try:
            _, made = await loop.create_connection(
                lambda: _Connection(self), order.host, order.port
            )
        except OSError:
            self.open -= 1
            self.load.broken += 1
            if self.waiting:
                self._connect(*self.waiting.popleft())
            return
        made.send(due_s, number)

    def _unresolved(self) -> int:
        load = self.load
        resolved = len(load.good_s) + len(load.refused_s) + load.broken + self.wrong.total()
        return self.sent - resolved


class _Connection(asyncio.Protocol):
    """One kept-alive connection: one request at a time."""

    def __init__(self, clients: _Clients) -> None:
        self._clients = clients
        self._transport: asyncio.Transport | None = None
        self._due_s: float | None = None
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class

    def send(self, due_s: float, number: int) -> None:
        """Ask for a target in turn."""
        assert self._transport is not None
        order = self._clients.order
        self._due_s, self._answer = due_s, b""
        target = order.targets[number % len(order.targets)]
        self._transport.write(f"GET {target} HTTP/1.1\r\nHost: {order.host}\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        """Judge an answer once it is whole."""
        self._answer += data
        head, parted, body = self._answer.partition(b"\r\n\r\n")
        fields = head.lower()
        if not parted or len(body) < int(_field(fields, b"content-length") or 0):
            return
        assert self._due_s is not None, "nothing was asked for"
        assert self._transport is not None
        spent_s, self._due_s = time.monotonic() - self._due_s, None
        load, status = self._clients.load, int(fields[9:12])
        if status == 200:
            load.good_s.append(spent_s)
        elif status == 503 and _field(fields, b"retry-after") and self._is_excused(body):
            load.refused_s.append(spent_s)
        else:
            self._clients.wrong[f"{status} {body[:200]!r}"] += 1
        if _field(fields, b"connection") == b"close":
            self._transport.close()
        else:
            self._clients.freed(self)

    def _is_excused(self, problem: bytes) -> bool:
        return json.loads(problem)["code"] in self._clients.order.excused

    def connection_lost(self, exc: Exception | None) -> None:
        """Count a request that had no answer."""
        if self._due_s is not None:
            self._clients.load.broken += 1
        self._clients.lost(self)


def _field(head: bytes, name: bytes) -> bytes:
    """Return a header's value, b"" where there is none; all in lower case."""
    _, found, rest = head.partition(b"\r\n" + name + b":")
    return rest.partition(b"\r\n")[0].strip() if found else b""


async def _carry_out(order: Order) -> Load:
    return await _Clients(order).run()


if __name__ == "__main__":
    given = Order(**json.loads(sys.stdin.readline()))
    carried = uvloop.run(_carry_out(given))
    # By a buffer of its own: where Python is told not to buffer, a write that a signal cuts short loses its rest.
    with open(1, "w", encoding="ascii", closefd=False) as told:
        json.dump(asdict(carried), told)
