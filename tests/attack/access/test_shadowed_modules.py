"""A folder whose files are named as psoup's modules, or Python's own: every command works there and runs none."""

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.commands import Commands, address_of
from tests.patience import wait_until

pytestmark = [pytest.mark.service, pytest.mark.redis]

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


@pytest.fixture
def psoup(folder):
    """Return the commands, in that folder."""
    return Commands(Path(sys.executable).parent, folder)


def test_serve_and_its_clients_run_nothing_of_the_folder(folder, psoup):
    """The service, and the commands that speak to it, a file among them."""
    (folder / "a.csv").write_text("ts,n\n2024-01-01,7\n")
    with psoup.started("serve", "--store", "memory://", "--port", "0") as events:
        url = address_of(events)
        psoup.run("load", "a.csv", "--stream", "s", "--time", "ts", "--url", url)
        assert '"n":7' in psoup.run("query", "SELECT n FROM s", "--url", url)


@pytest.mark.slow
def test_demo_and_fsck_run_nothing_of_the_folder(psoup):
    """A demo starts a service of its own, and that a store; what it leaves is checked."""
    assert "the service is stopped" in psoup.run("demo", "--seconds", "1", "--data", "kept")
    psoup.run("fsck", "--data", "kept")


def test_workers_beside_an_engine_run_nothing_of_the_folder(psoup, attacked_server):
    """Workers are processes that multiprocessing starts, with helpers of its own."""
    attacked_server.client.fetch_one("FLUSHALL")
    store = ("--store", attacked_server.url)
    with ExitStack() as ends:
        ends.enter_context(psoup.started("engine", *store, "--data", "engine-data"))
        events = ends.enter_context(psoup.started("api", *store, "--workers", "1", "--port", "0"))
        wait_until(lambda: events("worker-started"), "a worker starts")
        address_of(events)
        assert [] == events("worker-ended")


@pytest.mark.slow
@pytest.mark.spark
def test_pipeline_demo_runs_nothing_of_the_folder(psoup):
    """Spark's Python workers find the connector, and do not find the folder."""
    assert "psoup and Spark SQL agree" in psoup.run("pipeline", "demo", "--rows", "5000")


def test_environment_of_children_is_said_once(monkeypatch):
    """What psoup starts gets Python's own switch; its command lines carry it as well."""
    from psoup.app.operate.child_python import keep_out_current_folder, psoup_command

    monkeypatch.setenv(
        "PYTHONSAFEPATH", "0"
    )  # so that what is set here is taken back, as of a name that was absent
    monkeypatch.delenv("PYTHONSAFEPATH")
    keep_out_current_folder()
    assert "1" == os.environ["PYTHONSAFEPATH"]
    assert [sys.executable, "-P"] == psoup_command("serve")[:2]
