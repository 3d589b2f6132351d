"""The setting `streams` bounds what comes, not what is there: processes start with fewer than there are."""

import signal
from collections.abc import Iterator

import httpx2
import pytest

from tests.app.real_processes import Process
from tests.app.support import STREAM
from tests.patience import WAIT_S, wait_until

pytestmark = [pytest.mark.service, pytest.mark.redis]

LEASE_S = 10.0
"""So long that an engine keeps it on a machine that stands still: nothing here waits for its end."""
NAMES = ("a", "b", "c")
ROW = {"ts": "2020-09-13T12:27:29Z", "qty": 7}


@pytest.fixture
def started() -> Iterator[list[Process]]:
    """Yield the processes of a test, in the order of their start: they end as asked, the last first."""
    processes: list[Process] = []
    yield processes
    for process in reversed(processes):
        process.send(signal.SIGTERM)
        try:
            assert 0 == process.wait()
        finally:
            process.close()


class Front:
    """A process that answers."""

    def __init__(self, process: Process, *options: str) -> None:
        process.start("--port", "0", *options)
        self.url = process.wait_for("listening")["url"]
        wait_until(lambda: self.ask("GET", "/streams").status_code == 200, "it answers")

    def ask(self, method: str, path: str, **more: object) -> httpx2.Response:
        url = f"{self.url}/v1{path}"
        return httpx2.request(method, url, timeout=WAIT_S, verify=False, **more)  # type: ignore[arg-type]

    def declare(self, name: str) -> httpx2.Response:
        return self.ask("PUT", f"/streams/{name}", json=STREAM)

    def drop(self, name: str) -> None:
        assert 204 == self.ask("DELETE", f"/streams/{name}").status_code

    def assert_takes_no_more(self, limit: int) -> None:
        refused = self.declare("more")
        assert (429, limit) == (refused.status_code, refused.json()["limit"])
        assert limit == self.ask("GET", "/limits").json()["limits"]["streams_count_max"]

    def assert_works(self) -> None:
        """Every stream is there, once the process has followed its log so far, and takes rows."""

        def listed() -> list[str]:
            return [one["name"] for one in self.ask("GET", "/streams").json()["streams"]]

        wait_until(lambda: listed() == list(NAMES), "all streams are listed")
        for name in NAMES:
            assert 200 == self.declare(name).status_code
            assert 200 == self.ask("POST", f"/streams/{name}/rows", json=ROW).status_code


def test_service_starts_with_more_streams_than_the_setting(tmp_path, started):
    """All are replayed and work; another one is refused until fewer are left than may be."""

    def serve(streams: int) -> Front:
        process = Process("serve", None, tmp_path, lease_s=LEASE_S, settings={"streams": streams})
        started.append(process)
        return Front(process)

    front = serve(3)
    assert [201] * 3 == [front.declare(name).status_code for name in NAMES]
    front.assert_works()
    front.assert_takes_no_more(3)
    started[0].send(signal.SIGTERM)
    assert 0 == started[0].wait()
    front = serve(2)
    front.assert_works()
    front.assert_takes_no_more(2)
    front.drop("a")
    front.assert_takes_no_more(2)
    front.drop("b")
    assert 201 == front.declare("more").status_code


def test_workers_bound_streams_each_by_its_setting(tmp_path, server, started):
    """The engine folds what the log has; an API process refuses what its own setting does not allow."""
    server.client.fetch_one("FLUSHALL")
    engine = Process("engine", server.url, tmp_path / "engine", lease_s=LEASE_S)
    started.append(engine)
    engine.start()
    fronts = {}
    for allowed in (3, 2):
        process = Process(
            "api",
            server.url,
            tmp_path / f"api-{allowed}",
            lease_s=LEASE_S,
            settings={"streams": allowed},
        )
        started.append(process)
        fronts[allowed] = Front(process)
    assert [201] * 3 == [fronts[3].declare(name).status_code for name in NAMES]
    for allowed, front in fronts.items():
        front.assert_works()
        front.assert_takes_no_more(allowed)
