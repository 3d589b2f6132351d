"""The end of the store's append-only file is cut while nothing runs: what is lost is named, everywhere, for an hour."""

import contextlib
import signal
from collections.abc import Iterator

import httpx2
import pytest

from tests.attack.target import EACH_KIND, Kind, Target, launched
from tests.patience import wait_until
from tests.stores import SharedServer

BATCHES = 20


@pytest.fixture
def own_server(tmp_path) -> Iterator[SharedServer]:
    """A server whose file may be damaged."""
    server = SharedServer(tmp_path / "server")
    yield server
    server.stop()


def cut(server: SharedServer) -> None:
    """Stop the server in good order, cut its file amid the operations, start it again."""
    server.client.shut_down()
    assert server._server._process is not None
    server._server._process.wait()
    (appended,) = server.files.glob("*.incr.aof")
    pieces = appended.read_bytes().split(b"XADD")
    appended.write_bytes(b"XADD".join(pieces[: BATCHES // 2]))
    server.start()


def loss_of(target: Target) -> dict[str, int] | None:
    found: dict[str, int] | None = target.ask("GET", "/v1/status").json()["store"]["loss"]
    return found


def history_of(target: Target) -> int:
    return int(target.ask("GET", "/v1/status").json()["gen"])


@contextlib.contextmanager
def started_again(target: Target) -> Iterator[None]:
    """Let the engine, which has ended, begin anew where it was."""
    target.engine.start(*(["--port", str(target.address[1])] if target.kind == "serve" else []))
    wait_until(lambda: answers(target), "it is ready")
    yield
    end(target)


def answers(target: Target) -> bool:
    try:
        return target.ask("GET", "/readyz").status_code == 200
    except httpx2.TransportError:
        return False


def end(target: Target) -> None:
    target.engine.send(signal.SIGTERM)
    target.engine.wait()


@pytest.mark.parametrize("kind", EACH_KIND)
def test_operations_that_are_cut_off_are_named(kind: Kind, own_server: SharedServer, tmp_path):
    """First and last seq in an error line, in status, as a warning and as meters; also after another start."""
    with launched(kind, own_server, tmp_path) as target:
        columns = {"columns": [{"name": "x", "type": "int64"}]}
        assert target.ask("PUT", "/v1/streams/s", json=columns).status_code == 201
        sent = [target.ask("POST", "/v1/streams/s/rows", json=[{"x": n}]) for n in range(BATCHES)]
        assert {200} == {answer.status_code for answer in sent}
        last = sent[-1].json()["seq"]
        gen = history_of(target)
        end(target)
        cut(own_server)
        with started_again(target):
            # A worker is ready until it hears that its engine has ended, and hears later of the next one.
            wait_until(lambda: loss_of(target) is not None, "it names the loss")
            wait_until(lambda: history_of(target) > gen, "it is in the new history")
            wait_until(lambda: answers(target), "it is ready again")
            status, loss = target.ask("GET", "/v1/status").json(), loss_of(target)
            assert loss is not None
            assert last == loss["last_seq"]
            assert 1 < loss["first_seq"] == status["head"] + 1 <= last
            assert loss["total"] == loss["last_seq"] - loss["first_seq"] + 1
            line = target.engine.wait_for("operations-lost")
            assert ("error", loss["first_seq"], last) == (
                line["level"],
                line["first_seq"],
                line["last_seq"],
            )
            ready = target.ask("GET", "/readyz")
            assert (200, ["operations-lost"]) == (ready.status_code, ready.json()["warnings"])
            meters = target.ask("GET", "/metrics").text
            assert f"psoup_operations_lost_total {loss['total']:.1f}" in meters
            assert "psoup_loss_last_time_seconds" in meters
        with started_again(target):
            wait_until(lambda: loss_of(target) == loss, "it still names the loss")
