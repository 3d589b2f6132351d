"""Real API workers beside a real engine: they answer alike, go on without it, are started anew, and end gracefully."""

import concurrent.futures
import contextlib
import itertools
import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest
from uvicorn.supervisors.multiprocess import Process as SupervisedProcess

from psoup.app.connection.server import Connections, configuration
from psoup.app.operate.lifecycle import EXIT_ADDRESS, EXIT_OK, EXIT_SETTINGS
from psoup.app.processes import api as api_process
from psoup.app.processes.api import Worker, Workers, run_api
from psoup.app.settings import Settings
from psoup.engine.limits import SECOND_US
from tests.app.real_processes import Process
from tests.app.support import STREAM
from tests.patience import WAIT_S, wait_until
from tests.stores import SharedServer

BEGIN_US = 1_600_000_000 * SECOND_US
"""2020-09-13T12:26:40Z: not in the future of any machine."""
NOW = "2020-09-13T12:27:29Z"
ASKED = 12
"""Connections after which each of two workers has most probably taken one."""
SQL = "SELECT qty FROM trades WHERE qty >= 0"


class Api:
    """`psoup api` on a port of its own, and what is asked of it, each time on a fresh connection."""

    def __init__(self, url: str, folder: Path) -> None:
        self.process = Process("api", url, folder)

    def start(self, *, workers: int = 2) -> None:
        """Start it and return once all of its workers answer."""
        self.process.start("--port", "0", "--workers", str(workers))
        self.url = self.process.wait_for("listening")["url"]
        wait_until(lambda: len(self.workers()) == workers, "all workers have begun")
        wait_until(lambda: self.figure("psoup_workers") == workers, "all workers answer")

    def workers(self) -> list[int]:
        """Return the process ids of the workers that live."""
        events = self.process.events()
        begun = [one["worker"] for one in events if one["event"] == "worker-started"]
        ended = [one["worker"] for one in events if one["event"] == "worker-ended"]
        return [pid for pid in begun if pid not in ended]

    def await_end(self, pid: int) -> None:
        """Return once the parent has seen that a worker is gone."""
        wait_until(lambda: pid not in self.workers(), "it is seen")

    def ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """Ask, on a connection of its own."""
        url = f"{self.url}{path}"
        return httpx2.request(
            method, url, timeout=WAIT_S, verify=False, **more
        )  # no TLS to look up

    def figure(self, name: str) -> float:
        """Return a meter's value; 0 where there is none, or no answer."""
        with contextlib.suppress(httpx2.HTTPError):
            for line in self.ask("GET", "/metrics").text.splitlines():
                if line.startswith(f"{name} "):
                    return float(line.split(" ")[1])
        return 0.0

    def declare(self) -> None:
        assert 201 == self.ask("PUT", "/v1/streams/trades", json=STREAM).status_code

    def append(self, *values: int) -> httpx2.Response:
        rows = [{"ts": BEGIN_US + value * SECOND_US, "qty": value} for value in values]
        return self.ask("POST", "/v1/streams/trades/rows", json=rows)

    def register(self, sql: str = SQL, **members: Any) -> httpx2.Response:
        return self.ask("POST", "/v1/queries", json={"sql": sql, **members})

    def values(self, query_id: str, **parameters: Any) -> list[int]:
        """Return what a query over `qty` answers."""
        answer = self.ask("GET", f"/v1/queries/{query_id}/results", params=parameters)
        assert 200 == answer.status_code, answer.text
        return [int(one["qty"]) for one in answer.json()["rows"]]

    def readiness(self) -> set[int]:
        """Return what `/readyz` answers: any worker may take a connection, so it is asked several times."""
        with contextlib.suppress(httpx2.HTTPError):
            return {self.ask("GET", "/readyz").status_code for _ in range(ASKED)}
        return set()


@pytest.fixture
def engine(server: SharedServer, tmp_path: Path) -> Iterator[Process]:
    """Yield an engine over the server, which is emptied; it is not running yet."""
    server.client.fetch_one("FLUSHALL")
    process = Process("engine", server.url, tmp_path / "engine")
    yield process
    process.close()


@pytest.fixture
def api(server: SharedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """Yield workers over the server, whose temporary files are the test's; they are not running yet."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    one = Api(server.url, tmp_path / "api")
    yield one
    with contextlib.suppress(AssertionError, ProcessLookupError):
        one.process.send(signal.SIGTERM)
        one.process.wait()
    one.process.close()


pytestmark = [pytest.mark.service, pytest.mark.redis, pytest.mark.timeout(300)]


def test_workers_answer_alike_and_go_on_without_an_engine(engine: Process, api: Api):
    """From before there is an engine, through its death, to its return; none of them is asked to help."""
    api.start()
    refused = api.ask("GET", "/v1/streams")
    assert (503, "recovering") == (refused.status_code, refused.json()["code"])
    engine.start()
    wait_until(lambda: api.readiness() == {200}, "there is an engine")
    api.declare()
    answer_the_same_bytes(api)
    query_id = api.register().json()["id"]
    before = api.values(query_id)
    engine.send(signal.SIGKILL)
    engine.wait()
    for pid in api.workers():  # one that believed in an engine would wait for it
        with alone(api, pid):
            wait_until(lambda: api.readiness() == {503}, "its lease has ended")
    shown = api.ask("GET", "/readyz").json()
    assert (False, ["no-engine"]) == (shown["ready"], shown["reasons"])
    assert before == api.values(query_id)
    row_seq, told = take_what_is_not_applied(api)
    assert before == api.values(query_id)
    engine.start()
    seq = max(row_seq, told["seq"])
    wait_until(lambda: api.figure("psoup_applied") >= seq, "an engine goes on")
    for _ in range(4):
        assert [*before, 1_003] == api.values(query_id, min_seq=seq)
        assert [1_003] == api.values(told["id"], min_seq=seq)
        described = api.ask("GET", told["links"]["self"]).json()
        assert described.pop("plan")
        assert told | {"state": "live"} == described


def take_what_is_not_applied(api: Api) -> tuple[int, dict[str, Any]]:
    """Send a row and a query while no engine is there; return its seq and what all workers tell of the query."""
    late = api.append(1_003)
    assert 202 == late.status_code
    sql = "SELECT qty FROM trades WHERE qty > 1000"
    told = api.register(sql, name="late")
    assert (202, "filling") == (told.status_code, told.json()["state"])
    for pid in api.workers():
        with alone(api, pid):
            assert told.json() == api.ask("GET", told.headers["location"]).json()
            listed = api.ask("GET", "/v1/queries", params={"state": "filling"}).json()["queries"]
            assert [told.json()] == listed
            again = api.register(sql, name="late")
            assert (202, told.json()) == (again.status_code, again.json())
    refused = api.ask("GET", told.json()["links"]["results"])
    assert (503, "query-filling") == (refused.status_code, refused.json()["code"])
    return late.json()["seq"], told.json()


def answer_the_same_bytes(api: Api) -> None:
    """Ask each worker one question at one position and instant, and page through the answer with all of them."""
    query_id = api.register().json()["id"]
    seq = 0
    for value in range(5):
        seq = api.append(*range(value * 10, value * 10 + 10)).json()["seq"]
    path = f"/v1/queries/{query_id}/results"
    asked = {"now": NOW, "limit": 7, "min_seq": seq}
    bodies = []
    for pid in api.workers():
        with alone(api, pid):
            answers = [api.ask("GET", path, params=asked) for _ in range(5)]
        assert {200} == {one.status_code for one in answers}
        bodies += [one.content for one in answers]
    assert 1 == len(set(bodies))
    assert b'"count":50' in bodies[0]
    # Each page may come from another worker: their tokens are signed with one key.
    found, link = [], path
    for _ in range(50):
        page = api.ask("GET", link, params=asked if link == path else None).json()
        found += [int(one["qty"]) for one in page["rows"]]
        link = page["next"]
        if link is None:
            break
    assert list(range(50)) == found
    counted = api.figure('psoup_http_requests_total{operation="append_rows",status="200"}')
    assert (5.0, 50.0) == (counted, api.figure("psoup_rows_accepted_total"))


@contextlib.contextmanager
def alone(api: Api, pid: int) -> Iterator[None]:
    """Let one worker alone take what is asked: all others are held up meanwhile."""
    others = [one for one in api.workers() if one != pid]
    for one in others:
        os.kill(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in others:
            os.kill(one, signal.SIGCONT)


def test_workers_that_are_killed_are_back_and_end_in_good_order(
    engine: Process, api: Api, tmp_path: Path
):
    """A killed worker is started anew and stays counted; asked to end they lose nothing; none outlives the parent."""
    engine.start()
    api.start()
    wait_until(lambda: api.readiness() == {200}, "there is an engine")
    api.declare()
    assert 200 == api.append(1).status_code
    for pid in api.workers():
        os.kill(pid, signal.SIGKILL)
        api.await_end(pid)
    wait_until(lambda: len(api.workers()) == 2, "two workers")
    wait_until(lambda: api.figure("psoup_workers") == 2, "two workers answer")
    assert 200 == api.append(2).status_code
    assert 2.0 == api.figure("psoup_rows_accepted_total")
    keep_what_was_sent_while_they_end(api)
    (pid,) = api.workers()
    api.process.send(signal.SIGKILL)  # nobody would start the worker anew, or end it
    api.process.wait()
    wait_until(lambda: not is_running(pid), "it has ended by itself")
    assert [] == list(tmp_path.glob("psoup-api-*"))


def test_worker_that_hangs_holds_up_nobody(engine: Process, api: Api):
    """While one gives no sign of life another that died is started anew, and the parent hears signals."""
    engine.start()
    api.start()
    hanging, killed = api.workers()
    os.kill(hanging, signal.SIGSTOP)
    os.kill(killed, signal.SIGKILL)
    api.await_end(killed)
    assert hanging in api.workers()
    wait_until(lambda: api.readiness() == {200}, "there is another one")
    os.kill(hanging, signal.SIGCONT)
    api.process.send(signal.SIGTERM)
    assert EXIT_OK == api.process.wait()


class Ending:
    """A worker's process that was asked to end, and does when it is killed, or by itself."""

    def __init__(self, *, hangs: bool) -> None:
        self.hangs = hangs
        self.calls: list[str] = []

    def join(self, timeout: float | None = None) -> None:
        self.calls.append("join")
        assert timeout is not None or not self.hangs, "it would be waited for, for ever"

    def is_alive(self) -> bool:
        return self.hangs

    def kill(self) -> None:
        self.calls.append("kill")
        self.hangs = False


def test_worker_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch):
    """Not before those that are asked to end have had their time."""
    monkeypatch.setattr(api_process, "ENDS_S", 0.0)
    hanging, other = Ending(hangs=True), Ending(hangs=False)
    workers = SimpleNamespace(
        config=SimpleNamespace(timeout_graceful_shutdown=0),
        processes=[SimpleNamespace(pid=1, process=one) for one in (hanging, other)],
    )
    Workers.join_all(cast("Workers", workers))
    assert (["join", "kill", "join"], ["join"]) == (hanging.calls, other.calls)


def test_worker_is_interrupted_by_nothing_but_what_its_server_takes(
    monkeypatch: pytest.MonkeyPatch,
):
    """Ctrl-C reaches it as often as its parent: before its server handles the signal, and as its event loop closes."""
    ended: list[bool] = []

    def run_server(_worker: Worker, _sockets: list[socket.socket]) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        ended.append(True)

    monkeypatch.setattr(SupervisedProcess, "target", run_server)
    settings = Settings(store="redis://127.0.0.1:1/0")
    connections = Connections(settings)
    worker = Worker(configuration(None, settings, connections), [], connections)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            worker.target([])
    finally:
        signal.signal(signal.SIGINT, before)
    assert [True] == ended


def keep_what_was_sent_while_they_end(api: Api) -> None:
    """End all workers gracefully while rows arrive: each that was answered 2xx is there, and none twice."""
    query_id = api.register().json()["id"]
    told: set[int] = set()
    sent, numbers = set[int](), itertools.count(3)
    ending = threading.Event()

    def send() -> None:
        while not ending.is_set():
            value = next(numbers)
            sent.add(value)
            try:
                answer = api.append(value)
            except httpx2.HTTPError:
                continue
            if answer.status_code in (200, 202):
                told.add(value)

    with concurrent.futures.ThreadPoolExecutor(4) as sending:
        for _ in range(4):
            sending.submit(send)
        try:
            wait_until(lambda: len(told) >= 40, "rows are stored")
            pids = api.workers()
            api.process.send(signal.SIGTERM)
            assert EXIT_OK == api.process.wait()
        finally:
            ending.set()
    assert not any(map(is_running, pids))
    api.start(workers=1)
    seq = api.append(1_000_000).json()["seq"]
    found = Counter(api.values(query_id, min_seq=seq, limit=100_000))
    assert {1} == set(found.values())
    assert told | {1, 2} <= set(found) <= sent | {1, 2, 1_000_000}


def is_running(pid: int) -> bool:
    """Return whether a process runs; one that has ended may wait to be buried."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("store", [None, "memory://", "http://127.0.0.1/"])
def test_workers_without_a_store_to_share_are_refused(store, said):
    """The message says what to give."""
    assert EXIT_SETTINGS == run_api(Settings(store=store, port=0))
    assert "redis://host:6379/0" in said[0]["detail"]


def test_workers_whose_address_is_taken_do_not_start(said):
    """The parent says so before it starts a worker."""
    from psoup.app.connection.listening import listen

    with listen(Settings(port=0)) as taken:
        port = taken.getsockname()[1]
        assert EXIT_ADDRESS == run_api(Settings(store="redis://127.0.0.1:1/0", port=port))
    assert f"127.0.0.1:{port}" == said[0]["address"]
