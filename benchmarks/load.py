"""Requests as a crowd of clients sends them: a process of its own, a bounded number of connections, 127.0.0.1.

    python -m benchmarks.load        # one order a line on standard input, one JSON answer a line

Closed loop: every connection asks again as soon as it is answered, until so many requests are done. Open loop:
requests fall due at a fixed rate whether or not earlier ones are answered, and what a request takes is counted from
when it was due, so that a server that stalls is not asked more kindly for it.
"""

import hashlib
import json
import select
import socket
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any, Self

RECEIVED_BYTES_MAX = 1 << 18
ANSWER_S_MAX = 10.0
"""A run ends with an error where nothing is answered for so long."""
HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length: "


@dataclass(frozen=True, slots=True)
class Asked:
    """One run: paths in turn, over so many connections; `rate` 0 = closed loop.

    With a `body`, which is JSON, each request posts it; without one it is a GET.
    """

    port: int
    paths: Sequence[str]
    connections: int
    count: int
    rate: float = 0.0
    body: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a run took, in seconds; `unanswered` were not 200, `answer_bytes` is the mean of a body."""

    seconds: float
    count: int
    unanswered: int
    p50_s: float
    p99_s: float
    most_s: float
    answer_bytes: float


class Load:
    """The process, as whoever measures sees it."""

    def __init__(self) -> None:
        """Start it."""
        self._child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.load"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._child.communicate(timeout=ANSWER_S_MAX)  # no more orders: it ends

    @property
    def pid(self) -> int:
        """The process."""
        return self._child.pid

    def run(self, asked: Asked) -> Answered:
        """Return what a run took; RuntimeError where it failed."""
        return Answered(**self._order({"run": asdict(asked)}))

    def digest(self) -> bytes:
        """Return a digest of the last run's answers by path: their counts and rows, and what is around them."""
        return bytes.fromhex(self._order({"digest": True})["digest"])

    def _order(self, order: Mapping[str, object]) -> dict[str, Any]:
        orders, answers = self._child.stdin, self._child.stdout
        assert orders is not None
        assert answers is not None
        print(json.dumps(order), file=orders, flush=True)
        answer: dict[str, Any] = json.loads(answers.readline() or '{"error": "it has ended"}')
        if "error" in answer:
            message = f"load: {answer['error']}"
            raise RuntimeError(message)
        return answer


class Connection:
    """One connection that is kept open, with one request under way at most."""

    def __init__(self, port: int) -> None:
        """Connect."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S_MAX)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.path = -1
        self.due_s = 0.0
        self._received = bytearray()
        self._body_at = self._whole = 0

    def ask(self, request: bytes, path: int, due_s: float) -> None:
        """Send a request, which is small: it never waits for the peer."""
        self.path, self.due_s = path, due_s
        self._received.clear()
        self._whole = 0
        self.socket.sendall(request)

    def answer(self) -> tuple[bool, bytes] | None:
        """Take what has come; return whether it is a 200, and its body, once it is there."""
        part = self.socket.recv(RECEIVED_BYTES_MAX)
        if not part:
            raise ConnectionError("the server has closed the connection")
        self._received += part
        if not self._whole:
            end = self._received.find(HEAD_END)
            if end < 0:
                return None
            head = bytes(self._received[:end]).lower()
            self._body_at = end + len(HEAD_END)
            at = head.index(LENGTH) + len(LENGTH)
            self._whole = self._body_at + int(head[at:].partition(b"\r\n")[0])
        if len(self._received) < self._whole:
            return None
        return self._received.startswith(b"HTTP/1.1 200"), bytes(self._received[self._body_at :])


class Crowd:
    """The connections of one run, and what was answered."""

    def __init__(self, asked: Asked) -> None:
        """Connect all."""
        self._asked = asked
        self._requests = [request_of(path, asked.body) for path in asked.paths]
        self._idle = deque(Connection(asked.port) for _ in range(asked.connections))
        self._by_number = {one.socket.fileno(): one for one in self._idle}
        self._taken_s: list[float] = []
        self._bytes = self._failed = self._sent = 0
        self.bodies: dict[int, bytes] = {}

    def run(self) -> Answered:
        """Return what all requests took; TimeoutError where an answer does not come."""
        asked, begun_s = self._asked, time.perf_counter()
        heard_s = begun_s
        while len(self._taken_s) < asked.count:
            wait_s = self._send_due(begun_s)
            events, _, _ = select.select(self._by_number, (), (), wait_s)  # exact to microseconds
            now_s = time.perf_counter()
            for number in events:
                self._take(self._by_number[number], now_s)
            if events or len(self._idle) == asked.connections:
                heard_s = now_s
            elif now_s - heard_s > ANSWER_S_MAX:
                raise TimeoutError(f"no answer for {ANSWER_S_MAX} seconds")
        seconds = time.perf_counter() - begun_s
        percentiles = statistics.quantiles(self._taken_s, n=100, method="inclusive")
        return Answered(
            seconds=seconds,
            count=asked.count,
            unanswered=self._failed,
            p50_s=percentiles[49],
            p99_s=percentiles[98],
            most_s=max(self._taken_s),
            answer_bytes=self._bytes / asked.count,
        )

    def close(self) -> None:
        """Close all connections."""
        for one in self._by_number.values():
            one.socket.close()

    def _send_due(self, begun_s: float) -> float:
        """Send what is due while a connection is free; return how long until the next is, in seconds."""
        asked = self._asked
        while self._sent < asked.count:
            now_s = time.perf_counter()
            due_s = begun_s + self._sent / asked.rate if asked.rate else now_s
            if due_s > now_s:
                return due_s - now_s
            if not self._idle:
                break
            path = self._sent % len(self._requests)
            self._idle.popleft().ask(self._requests[path], path, due_s)
            self._sent += 1
        return 1.0

    def _take(self, one: Connection, now_s: float) -> None:
        answer = one.answer()
        if answer is None:
            return
        is_ok, body = answer
        self._failed += not is_ok
        self._bytes += len(body)
        self._taken_s.append(now_s - one.due_s)
        self.bodies[one.path] = body
        self._idle.append(one)


def request_of(path: str, body: str) -> bytes:
    """Return the request of a path as it is sent."""
    head = "host: 127.0.0.1\r\naccept: application/json\r\n"
    if not body:
        return f"GET {path} HTTP/1.1\r\n{head}\r\n".encode()
    said = f"content-type: application/json\r\ncontent-length: {len(body.encode())}\r\n"
    return f"POST {path} HTTP/1.1\r\n{head}{said}\r\n{body}".encode()


def digest_of(bodies: Mapping[int, bytes]) -> str:
    """Return a digest of what answers say of their rows; handles, positions and tokens are left out."""
    found = hashlib.sha256()
    for path in sorted(bodies):
        body = json.loads(bodies[path])
        said = [body[name] for name in ("now", "window", "count", "complete_from")]
        found.update(json.dumps([path, *said, body.get("rows")]).encode())
    return found.hexdigest()


def serve(orders: IO[str], answers: IO[str]) -> None:
    """Do one order after the other until there are no more."""
    bodies: Mapping[int, bytes] = {}
    for line in orders:
        order = json.loads(line)
        answer: dict[str, object]
        if "digest" in order:
            answer = {"digest": digest_of(bodies)}
        else:
            try:
                crowd = Crowd(Asked(**order["run"]))
                try:
                    answer = asdict(crowd.run())
                finally:
                    crowd.close()
                bodies = crowd.bodies
            except OSError as error:
                answer = {"error": str(error) or type(error).__name__}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout)
