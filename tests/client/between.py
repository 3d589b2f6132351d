"""A bad proxy between a client and a service, for every method: it cuts, delays, doubles and loses, both ways."""

import contextlib
import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import ClassVar
from urllib.parse import urlsplit

import psoup
from tests.patience import WAIT_S
from tests.serving import served

LATE_S = 0.02
TIMEOUT_S = 60.0
CHUNK = 512
BRISKER = 20
"""How many times shorter pauses behind the proxy are than those of a program."""
HOP_BY_HOP = frozenset({"connection", "transfer-encoding", "content-length", "host", "keep-alive"})


class Brisk(psoup.RetryPolicy):
    """The pauses of a program between two attempts, drawn as ever, but short."""

    __slots__ = ()

    def pause_s(self, attempt: int, asked_s: float = 0.0) -> float:
        return super().pause_s(attempt, asked_s) / BRISKER


BRISK = Brisk(budget_s=WAIT_S, from_the_start=True)


def brisk_sleep(seconds: float) -> None:
    """Sleep for a short while where a program sleeps for so long."""
    time.sleep(seconds / BRISKER)


class Proxy:
    """What happens to the next request. `is_good` ends all faults; streams of then are cut when it ends itself."""

    FAULTS = ("refused", "lost", "cut", "late", "doubled", "failed", "none")

    def __init__(self, upstream: str, rng: random.Random) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.is_good = False
        self.done = Counter[str]()
        self.streams = 0
        self.url = ""
        self._rng = rng
        self._dealt: list[str] = []
        self._lock = threading.Lock()

    def fault(self) -> str:
        """Draw what happens to a request: of each fourteen in a bad time, every fault to two."""
        with self._lock:
            drawn = "none" if self.is_good else self._deal()
            self.done[drawn] += 1
            return drawn

    def _deal(self) -> str:
        if not self._dealt:
            self._dealt = self._rng.sample(self.FAULTS, counts=[2] * len(self.FAULTS), k=14)
        return self._dealt.pop()

    def length(self) -> int:
        """Draw how many bytes of a stream come through before it is cut."""
        with self._lock:
            return self._rng.randrange(1, 4_000)


class _Handler(BaseHTTPRequestHandler):
    proxy: ClassVar[Proxy]

    def do_GET(self) -> None:
        self.close_connection = True
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.fault()
        if fault == "refused":
            return
        if fault == "failed":
            self._answer(503, [("Content-Type", "application/json")], b"{}")
            return
        if fault == "late":
            time.sleep(LATE_S)
        with contextlib.suppress(OSError, http.client.HTTPException):
            if fault == "doubled":
                self._ask(body, heard=False)
            self._ask(body, heard=fault != "lost", cut=fault == "cut")

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 (the names of http.server)

    def _ask(self, body: bytes, *, heard: bool, cut: bool = False) -> None:
        connection = http.client.HTTPConnection(self.proxy.upstream, timeout=TIMEOUT_S)
        with contextlib.closing(connection):
            headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP}
            connection.request(self.command, self.path, body or None, headers)
            reply = connection.getresponse()
            is_stream = reply.getheader("Content-Type", "").startswith("text/event-stream")
            if is_stream:
                if heard:
                    self._stream(reply)
                return
            content = reply.read()
        if heard:
            self._answer(reply.status, reply.getheaders(), content, cut=cut)

    def _stream(self, reply: http.client.HTTPResponse) -> None:
        self.proxy.streams += 1
        was_good = self.proxy.is_good
        left = None if was_good else self.proxy.length()
        self.send_response(reply.status)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        while (piece := reply.read1(CHUNK)) and left != 0 and was_good <= self.proxy.is_good:
            self.wfile.write(piece[:left])
            self.wfile.flush()
            left = None if left is None else max(0, left - len(piece))

    def _answer(
        self, status: int, headers: list[tuple[str, str]], body: bytes, *, cut: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def bad_proxy(upstream: str, rng: random.Random) -> Iterator[Proxy]:
    """Yield a proxy before the service at `upstream`; `url` is where it listens."""
    proxy = Proxy(upstream, rng)
    handler = type("Handler", (_Handler,), {"proxy": proxy})
    with served(handler) as proxy.url:
        yield proxy
