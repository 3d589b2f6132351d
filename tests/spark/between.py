"""A proxy between Spark and the service: it records what passes, and can refuse, lose or act on it."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Forward = Callable[[], "Answer"]
ALWAYS = 1_000_000
"""Times of a rule that does not end."""


@dataclass(frozen=True)
class Answer:
    """What goes back to the client; None in its place closes the connection without an answer."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Rule:
    """What happens to the next `times` requests of a method whose path begins so."""

    method: str
    path: str
    act: Callable[[Forward], Answer | None]
    times: int = 1


@dataclass(frozen=True)
class Passed:
    """A request that came, and its answer's status; None = it got none."""

    method: str
    path: str
    body: bytes
    status: int | None

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Between:
    """Listens at `url`. Requests go to the service, unless a rule says otherwise; the first that fits counts."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url).netloc
        self._lock = threading.Lock()
        self.rules: list[Rule] = []
        self.passed: list[Passed] = []
        between = self

        class Requests(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                between.pass_on(self)

            do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - the library's names

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def refuse(self, method: str, path: str, status: int, *, times: int, **members: object) -> None:
        """Answer the next such requests with a problem of psoup's kind."""
        body = json.dumps({"status": status, **members}).encode()
        headers = {"Retry-After": "1"} if status in {429, 503} else {}
        self.rules.append(Rule(method, path, lambda _: Answer(status, body, headers), times))

    def lose_answer(self, method: str, path: str, *, times: int = 1) -> None:
        """Carry the next such requests out, and close the connection without an answer."""

        def lose(forward: Forward) -> None:
            forward()

        self.rules.append(Rule(method, path, lose, times))

    def change(self, path: str, change: Callable[[Any], object]) -> None:
        """Answer all GETs of such paths with what `change` makes of the JSON that the service answers."""

        def act(forward: Forward) -> Answer:
            answer = forward()
            if "json" not in answer.headers.get("content-type", ""):
                return answer
            body = json.dumps(change(json.loads(answer.body))).encode()
            return Answer(answer.status, body, answer.headers)

        self.rules.insert(0, Rule("GET", path, act, ALWAYS))

    def forget(self, stream: str, *seqs: int) -> None:
        """Let the service look as if its log had forgotten these batches of a stream, and no others."""

        def without(page: dict[str, Any]) -> dict[str, Any]:
            there = [one for one in page["batches"] if one["seq"] not in seqs]
            return page | {"batches": there, "forgotten_through": max(seqs, default=0)}

        self.change(f"/v1/streams/{stream}/batches", without)

    def count(self, method: str, path: str) -> int:
        """Return how many such requests came."""
        return sum(one.method == method and one.path.startswith(path) for one in self.passed)

    def commits(self) -> list[Any]:
        """Return the bodies of all commits that came."""
        return [one.json for one in self.passed if (one.method, one.path) == COMMIT]

    def pass_on(self, request: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))

        def forward() -> Answer:
            connection = HTTPConnection(self._target, timeout=60)
            with contextlib.closing(connection):
                headers = {k: v for k, v in request.headers.items() if k.lower() != "host"}
                connection.request(request.command, request.path, body, headers)
                answer = connection.getresponse()
                kept = {k: v for k, v in answer.getheaders() if k.lower() not in _OF_THE_WAY}
                return Answer(answer.status, answer.read(), kept)

        answer = self._act_of(request)(forward)
        status = None if answer is None else answer.status
        self.passed.append(Passed(request.command, request.path, body, status))
        if answer is None:
            request.close_connection = True
            return
        request.send_response(answer.status)
        for name, value in answer.headers.items():
            request.send_header(name, value)
        if answer.status != 204:
            request.send_header("Content-Length", str(len(answer.body)))
        request.end_headers()
        request.wfile.write(answer.body)

    def _act_of(self, request: BaseHTTPRequestHandler) -> Callable[[Forward], Answer | None]:
        with self._lock:
            for rule in self.rules:
                fits = rule.method == request.command and request.path.startswith(rule.path)
                if fits and rule.times > 0:
                    rule.times -= 1
                    return rule.act
        return lambda forward: forward()

    @contextlib.contextmanager
    def open(self) -> Iterator["Between"]:
        """Listen until the context ends."""
        self._thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


COMMIT = ("POST", "/v1/commits")
_OF_THE_WAY = frozenset({"connection", "content-length", "keep-alive", "transfer-encoding"})
