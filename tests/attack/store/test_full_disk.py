"""The disk under the store fills: additions end in time, reads and removals go on, and all does when there is room."""

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from psoup.app.operate.lifecycle import EXIT_STORE
from psoup.engine.limits import MIB
from tests.app.real_processes import Process
from tests.attack.target import EACH_KIND, Kind, Target, launched
from tests.patience import WAIT_S, wait_until
from tests.stores import SharedServer

DISK_MIB = 48
COLUMNS = {"columns": [{"name": "x", "type": "int64"}]}
ROW = [{"x": 1}]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, that a test can fill."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "psoup-test", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@contextlib.contextmanager
def filled(disk: Path, percent: int) -> Iterator[None]:
    """Have so much of the disk used meanwhile, all but what is left at 100."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        size = DISK_MIB * MIB if percent == 100 else DISK_MIB * MIB * percent // 100
        for _ in range(size // 4_096):
            file.write(bytes(4_096))
    try:
        yield
    finally:
        ballast.unlink()


def reasons(target: Target) -> list[str]:
    found: list[str] = target.ask("GET", "/readyz").json()["reasons"]
    return found


@pytest.mark.parametrize("kind", EACH_KIND)
def test_nearly_full_disk_takes_removals_and_nothing_else(kind: Kind, disk: Path, tmp_path):
    """Above 90 %: 507 for what adds; reads and removals as ever; a warning before, and all again when there is room."""
    server = SharedServer(disk / "server")
    with (
        contextlib.ExitStack() as ends,
        launched(kind, server, tmp_path) as target,
    ):
        ends.callback(server.stop)
        assert target.ask("PUT", "/v1/streams/s", json=COLUMNS).status_code == 201
        sql = {"sql": "SELECT * FROM s"}
        query = target.ask("POST", "/v1/queries", json=sql).json()["id"]
        assert target.ask("POST", "/v1/streams/s/rows", json=ROW).status_code == 200
        with filled(disk, 93):
            wait_until(lambda: reasons(target) == ["disk-full"], "it says that the disk is full")
            for method, path, body in (
                ("POST", "/v1/streams/s/rows", ROW),
                ("PUT", "/v1/streams/t", COLUMNS),
                ("POST", "/v1/queries", {"sql": "SELECT x FROM s WHERE x > 1"}),
                ("POST", "/v1/streams/s/stages", ROW),
            ):
                answer = target.ask(method, path, json=body)
                assert (507, "store-full") == (answer.status_code, answer.json()["code"]), path
            shown = target.ask("GET", f"/v1/queries/{query}/results")
            assert (200, 1) == (shown.status_code, len(shown.json()["rows"]))
            assert target.ask("DELETE", f"/v1/queries/{query}").status_code == 204
            disk_shown = target.ask("GET", "/v1/status").json()["store"]["disk"]
            assert disk_shown["full"]
            assert disk_shown["used_percent"] > 90
            assert "psoup_store_disk_full 1.0" in target.ask("GET", "/metrics").text
            assert target.engine.wait_for("disk-full")["level"] == "error"
        wait_until(lambda: not reasons(target), "it goes on by itself")
        assert target.ask("POST", "/v1/streams/s/rows", json=ROW).status_code == 200


def test_reads_go_on_while_the_embedded_store_cannot_write(disk: Path, tmp_path):
    """Its server has ended for want of disk: what is in memory is answered, and all when there is room."""
    front = Process("serve", None, disk / "serve", settings={"disk_full_percent": 100})
    with contextlib.ExitStack() as ends:
        ends.callback(front.close)
        front.start("--port", "0")
        url = front.wait_for("listening")["url"]

        def ask(method: str, path: str, **more: object) -> httpx2.Response:
            return httpx2.request(method, f"{url}{path}", timeout=WAIT_S, verify=False, **more)  # type: ignore[arg-type]

        wait_until(lambda: ask("GET", "/readyz").status_code == 200, "it is ready")
        assert ask("PUT", "/v1/streams/s", json=COLUMNS).status_code == 201
        query = ask("POST", "/v1/queries", json={"sql": "SELECT * FROM s"}).json()["id"]
        stored = ask("POST", "/v1/streams/s/rows", json=ROW).json()["seq"]
        with filled(disk, 100):
            refused = ask("POST", "/v1/streams/s/rows", json=ROW * 5_000)
            assert refused.status_code in (503, 507), "507 where the full disk was seen first"
            wait_until(
                lambda: ask("GET", "/readyz").json()["reasons"] == ["disk-full"],
                "it says why the store is away",
            )
            for _ in range(3):
                shown = ask("GET", f"/v1/queries/{query}/results")
                assert 200 == shown.status_code, shown.text
                assert stored <= shown.json()["seq"]
            assert 200 == ask("GET", "/v1/streams").status_code
            more = ask("POST", "/v1/streams/s/rows", json=ROW)
            assert (507, "store-full", "disk-full") == (
                more.status_code,
                more.json()["code"],
                more.json()["reason"],
            )
            logged = front.wait_for("disk-full")
            assert ("store-full", True) == (logged["code"], "is full" in logged["detail"])
        wait_until(lambda: ask("GET", "/readyz").status_code == 200, "it goes on by itself")
        assert ask("POST", "/v1/streams/s/rows", json=ROW).status_code == 200
        front.send(signal.SIGTERM)
        front.wait()


@pytest.mark.parametrize("made_before", [False, True])
def test_start_on_a_full_disk_says_that_it_is_full(disk: Path, tmp_path, made_before):
    """Not that the store does not answer: which folder's disk is full, and what to do; with or without old data."""
    data = disk / "data"
    front = Process("serve", None, tmp_path / "serve", settings={"disk_full_percent": 100})
    with contextlib.ExitStack() as ends:
        ends.callback(front.close)
        if made_before:
            front.start("--port", "0", "--data", str(data))
            front.wait_for("listening")
            front.send(signal.SIGTERM)
            front.wait()
        with filled(disk, 100):
            front.start("--port", "0", "--data", str(data))
            assert EXIT_STORE == front.wait()
        said = front.wait_for("not-started")
    assert "store-full" == said["code"]
    assert f"The disk of the data folder {data} is full" in said["detail"]
