"""Real engines over a real server: they take over, follow each other, are taken for dead, and end with their codes."""

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from psoup.app.operate.lifecycle import (
    EXIT_ADDRESS,
    EXIT_FENCED,
    EXIT_OK,
    EXIT_SETTINGS,
    EXIT_STORE,
)
from psoup.app.processes.engine import run_engine
from psoup.app.settings import Settings
from psoup.engine.log.operation import Declare, Rows
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.schema import StreamId
from psoup.storage.opening import open_worker_store
from tests.app.fold.folding import numbers, schema
from tests.app.real_processes import Process
from tests.patience import LEASE_S, wait_until
from tests.stores import SharedServer
from tests.world import record_batch

NAME = "s"


class Client:
    """Appends to the log as any API worker does, and looks how far the engine is."""

    def __init__(self, url: str) -> None:
        self.store = open_worker_store(url)
        self.rows = 0

    def declare(self) -> None:
        """Declare the stream."""
        self.stream_id = StreamId(self.store.log.append(Declare(schema(NAME, None))).seq)

    def append(self, *values: int) -> int:
        """Append a batch and return its seq."""
        body = encode_batch(record_batch(schema(NAME, None), numbers(*values)))
        self.rows += len(values)
        return self.store.log.append(Rows(self.stream_id, NAME, len(values), body, None)).seq

    def applied(self) -> int:
        return self.store.position().applied

    def settle(self, seq: int) -> None:
        """Return once `seq` is applied; everything that was appended is then there, once."""
        wait_until(lambda: self.applied() >= seq, f"{seq} is applied")
        assert self.rows == self.store.results.stream(NAME).rows


MakeProcess = Callable[..., Process]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeProcess]:
    """Return what makes processes; whatever is left of them is killed."""
    with contextlib.ExitStack() as stack:

        def one(command: str, url: str, name: str, *, lease_s: float = LEASE_S) -> Process:
            process = Process(command, url, tmp_path / name, lease_s=lease_s)
            stack.callback(process.close)
            return process

        yield one


def began(url: str) -> Client:
    """Return a client that has declared the stream, once there is an engine."""
    client = Client(url)
    client.declare()
    return client


@pytest.mark.service
@pytest.mark.redis
def test_engine_is_followed_at_once_by_a_standby_and_later_by_itself(tmp_path, make):
    """A clean end lets the lease go, however long; what is appended while none is there is applied by the next."""
    server = SharedServer(tmp_path / "server")
    try:
        first = make("engine", server.url, "a", lease_s=120)
        second = make("engine", server.url, "b", lease_s=120)
        first.start()
        first.wait_for("recovered")
        second.start()
        second.wait_for("standby")
        client = began(server.url)
        client.settle(client.append(1, 2))
        first.send(signal.SIGTERM)
        assert EXIT_OK == first.wait()
        assert "ended" == first.events()[-1]["event"]
        assert {"applied": 2, "tuples": 2}.items() <= second.wait_for("recovered").items()
        client.settle(client.append(3))

        second.send(signal.SIGINT)
        assert EXIT_OK == second.wait()
        seq = client.append(4, 5)
        assert (seq - 1, False) == (client.applied(), client.store.position().engine_alive)
        first.start()
        client.settle(seq)

        os.kill(int((server.folder / "server.pid").read_text()), signal.SIGKILL)
        server._server.start()
        first.wait_for("store-back")
        client.settle(client.append(6))
        first.send(signal.SIGTERM)
        assert EXIT_OK == first.wait()
    finally:
        server.stop()


@pytest.mark.service
@pytest.mark.redis
def test_engine_that_was_killed_or_held_up_is_followed_within_its_lease(server, make):
    """The standby takes over without an operator; the one that comes back ends with its own code, and wrote nothing."""
    server.client.fetch_one("FLUSHALL")
    first, second = make("engine", server.url, "a"), make("engine", server.url, "b")
    first.start()
    first.wait_for("recovered")
    second.start()
    second.wait_for("standby")
    client = began(server.url)
    client.settle(client.append(1, 2))
    first.send(signal.SIGKILL)
    first.wait()
    client.settle(client.append(3))
    second.wait_for("taken-over")

    first.start()
    first.wait_for("standby")
    second.send(signal.SIGSTOP)
    first.wait_for("taken-over")
    client.settle(client.append(4, 5))
    second.send(signal.SIGCONT)
    assert EXIT_FENCED == second.wait()
    assert "fenced" in [one["event"] for one in second.events()]
    client.settle(client.append(6))
    assert 1 == sum(one["event"] == "standby" for one in first.events())
    first.send(signal.SIGTERM)
    assert EXIT_OK == first.wait()


@pytest.mark.service
@pytest.mark.redis
def test_service_that_was_held_up_ends_where_an_engine_has_taken_over(server, make):
    """`psoup serve` is an engine like any other: it is fenced, and says so with its code."""
    server.client.fetch_one("FLUSHALL")
    service, engine = make("serve", server.url, "a"), make("engine", server.url, "b")
    service.start("--port", "0")
    url = service.wait_for("listening")["url"]
    wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200, "it is ready")
    engine.start("--port", "0")
    operators = engine.wait_for("listening")["url"]
    engine.wait_for("standby")
    shown = httpx2.get(f"{operators}/readyz").json()
    assert (False, ["standby"]) == (shown["ready"], shown["reasons"])
    service.send(signal.SIGSTOP)
    engine.wait_for("recovered")
    assert 200 == httpx2.get(f"{operators}/readyz").status_code
    service.send(signal.SIGCONT)
    assert EXIT_FENCED == service.wait()
    client = began(server.url)
    client.settle(client.append(1))
    engine.send(signal.SIGTERM)
    assert EXIT_OK == engine.wait()


@pytest.mark.parametrize("store", [None, "memory://"])
def test_engine_without_a_store_that_others_reach_is_refused(tmp_path, said, store):
    """It would fold for nobody."""
    assert EXIT_SETTINGS == run_engine(Settings(store=store, data=tmp_path), listens=False)
    (line,) = said
    assert ("not-started", "setting") == (line["event"], line["code"])
    assert "psoup serve" in line["detail"]


def test_engine_whose_store_does_not_answer_ends_with_the_stores_code(tmp_path, said):
    """As a service does."""
    settings = Settings(store=f"unix://{tmp_path}/nobody?db=0", data=tmp_path / "data")
    assert EXIT_STORE == run_engine(settings, listens=False)
    assert ["store-unavailable"] == [line["code"] for line in said if "code" in line]
    assert [settings.store] * 2 == [line["store"] for line in said]


def test_engine_at_an_address_that_is_taken_ends_with_its_code(tmp_path, said):
    """Before the store is opened."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = Settings(store="unix:///nowhere?db=0", data=tmp_path, port=port)
        assert EXIT_ADDRESS == run_engine(settings, listens=True)
    assert ["not-started"] == [line["event"] for line in said]
