"""A bad line between a client and a service: it cuts, delays, doubles, forgets parameters and serves old answers."""

import contextlib
import http.client
import random
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.serving import served

FAULTS = ("refused", "lost", "cut", "late", "doubled", "stripped", "stale", "failed", "none")
LATE_S = 0.02
TIMEOUT_S = 30.0


class Line:
    """What a proxy does to the next request. `is_good` ends all faults.

    One request after the other: the client that is tested has one connection.
    """

    def __init__(self, upstream: str, rng: random.Random) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.rng = rng
        self.is_good = False
        self.done = Counter[str]()
        self.url = ""
        self._old: dict[str, list[tuple[int, bytes]]] = {}

    def answer(self, path: str) -> tuple[int, bytes, bool] | None:
        """Return status, body and whether the body is cut; None: the connection is closed instead."""
        fault = "none" if self.is_good else self.rng.choice(FAULTS)
        self.done[fault] += 1
        if fault == "refused":
            return None
        if fault == "failed":
            return 503, b"{}", False
        if fault == "stripped":
            path = path.partition("?")[0]
        if fault == "stale" and path in self._old:
            return (*self.rng.choice(self._old[path]), False)
        if fault == "late":
            time.sleep(LATE_S)
        given = self._asked(path)
        if fault == "doubled":
            given = self.rng.choice([given, self._asked(path)])
        return None if fault == "lost" else (*given, fault == "cut")

    def _asked(self, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.upstream, timeout=TIMEOUT_S)
        with contextlib.closing(connection):
            connection.request("GET", path)
            reply = connection.getresponse()
            given = reply.status, reply.read()
        if given[0] == http.client.OK:
            self._old.setdefault(path, []).append(given)
        return given


class _Handler(BaseHTTPRequestHandler):
    line: Line

    def do_GET(self) -> None:
        self.close_connection = True
        try:
            answer = self.line.answer(self.path)
        except (OSError, http.client.HTTPException):
            answer = 502, b"{}", False  # the service is down
        if answer is None:
            return
        status, body, is_cut = answer
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if is_cut else body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def bad_line(upstream: str, rng: random.Random) -> Iterator[Line]:
    """Yield a proxy before the service at `upstream`; `url` is where it listens."""
    line = Line(upstream, rng)
    handler = type("Handler", (_Handler,), {"line": line})
    with served(handler) as line.url:
        yield line
