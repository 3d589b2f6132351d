"""A folder whose files are named as psoup's modules, or Python's own: every command works there and runs none."""

import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import orjson
import pytest

from tests.children import child
from tests.patience import WAIT_S, wait_until

pytestmark = [pytest.mark.service, pytest.mark.redis]

PSOUP = str(Path(sys.executable).with_name("psoup"))
SHADOWS = ("app", "json", "numpy", "pickle", "pipeline", "psoup", "pyspark_psoup", "socket")
PACKAGES = ("engine", "storage")
PROGRAM = "from os import mkdir\nmkdir('imported-' + __name__)\nraise SystemExit('a file of the folder was run')\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Yield a folder full of such files; none has been imported in the end."""
    for name in ("PYTHONPATH", "PYTHONSAFEPATH"):
        monkeypatch.delenv(name, raising=False)
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text(PROGRAM)
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(PROGRAM)
    yield tmp_path
    assert [] == [path.name for path in tmp_path.glob("imported-*")]


def run(folder, *arguments):
    """Run a command in `folder` to its end, which is as it should be; return what it has printed."""
    done = subprocess.run(
        [PSOUP, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=WAIT_S
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


@contextmanager
def started(folder, *arguments):
    """Yield what a process of psoup logs, in a function; end it as asked."""
    path = folder / f"{arguments[0]}.log"
    with path.open("wb") as log:
        command = [PSOUP, *arguments, "--log-format", "json"]
        with child(command, cwd=folder, stdout=log, stderr=log) as process:

            def events(name):
                assert process.poll() is None, path.read_text()
                lines = (line for line in path.read_bytes().split(b"\n")[:-1] if line[:1] == b"{")
                return [one for one in map(orjson.loads, lines) if one["event"] == name]

            yield events
            process.terminate()
            assert 0 == process.wait(WAIT_S), path.read_text()


def address_of(events):
    """Return where a process listens, once it is ready."""
    wait_until(lambda: bool(events("listening")), "it listens")
    url = events("listening")[0]["url"]
    wait_until(lambda: httpx.get(f"{url}/readyz", timeout=WAIT_S).status_code == 200, "it is ready")
    return url


def test_serve_and_its_clients_run_nothing_of_the_folder(folder):
    """The service, and the commands that speak to it, a file among them."""
    (folder / "a.csv").write_text("ts,n\n2024-01-01,7\n")
    with started(folder, "serve", "--store", "memory://", "--port", "0") as events:
        url = address_of(events)
        run(folder, "load", "a.csv", "--stream", "s", "--time", "ts", "--url", url)
        assert '"n":7' in run(folder, "query", "SELECT n FROM s", "--url", url)


def test_demo_and_fsck_run_nothing_of_the_folder(folder):
    """A demo starts a service of its own, and that a store; what it leaves is checked."""
    assert "the service is stopped" in run(folder, "demo", "--seconds", "1", "--data", "kept")
    run(folder, "fsck", "--data", "kept")


def test_workers_beside_an_engine_run_nothing_of_the_folder(folder, attacked_server):
    """Workers are processes that multiprocessing starts, with helpers of its own."""
    attacked_server.client.fetch_one("FLUSHALL")
    store = ("--store", attacked_server.url)
    with ExitStack() as ends:
        ends.enter_context(started(folder, "engine", *store, "--data", "engine-data"))
        events = ends.enter_context(started(folder, "api", *store, "--workers", "2", "--port", "0"))
        wait_until(lambda: len(events("worker-started")) == 2, "both workers start")
        address_of(events)
        assert [] == events("worker-ended")


@pytest.mark.slow
@pytest.mark.spark
def test_pipeline_demo_runs_nothing_of_the_folder(folder):
    """Spark's Python workers find the connector, and do not find the folder."""
    assert "psoup and Spark SQL agree" in run(folder, "pipeline", "demo", "--rows", "5000")


def test_environment_of_children_is_said_once(monkeypatch):
    """What psoup starts gets Python's own switch; its command lines carry it as well."""
    from app.child_python import keep_out_current_folder, psoup_command

    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    keep_out_current_folder()
    assert "1" == os.environ["PYTHONSAFEPATH"]
    assert [sys.executable, "-P"] == psoup_command("serve")[:2]
