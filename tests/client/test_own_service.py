"""A service of a program's own: there as long as the program, whatever ends it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import psoup
from psoup.client import own_service
from tests.children import child
from tests.patience import wait_until

pytestmark = pytest.mark.service

PROGRAM = """
import os, sys, psoup
db = psoup.connect(sys.argv[1])
db.stream("s", {"n": "int64"}).append([{"n": 1}])
print(db._own._ending.peek()[2][0].pid, flush=True)
if sys.argv[2] == "raise":
    raise ValueError("of the program's own")
if sys.argv[2] == "wait":
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def settings_of_the_surroundings(monkeypatch):
    """A program's service is as the program says, here in every test: neither keys nor another store.

    With these settings none would be ready.
    """
    monkeypatch.setenv("PSOUP_KEYS_FILE", "/nowhere")
    monkeypatch.setenv("PSOUP_STORE", "redis://127.0.0.1:1/0")


def is_there(pid):
    """Return whether a process runs."""
    path = Path(f"/proc/{pid}/stat")
    return path.exists() and path.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("target", "end"),
    [
        (":memory:", "return"),
        ("folder", "kill"),
        pytest.param("folder", "raise", marks=pytest.mark.slow),
        pytest.param(":memory:", "raise", marks=pytest.mark.slow),
        pytest.param(":memory:", "kill", marks=pytest.mark.slow),
        pytest.param("folder", "return", marks=pytest.mark.slow),
    ],
)
def test_service_ends_with_the_interpreter(target, end, tmp_path):
    """Without close, after an exception, after kill -9: neither the service nor its store goes on."""
    target = target if target.startswith(":") else str(tmp_path / target)
    how = "wait" if end == "kill" else end
    command = [sys.executable, "-c", PROGRAM, target, how]
    with child(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as one:
        assert one.stdout is not None
        pid = int(one.stdout.readline())
        server = Path(target, "server.pid")
        pids = [pid, *([int(server.read_text())] if server.exists() else [])]
        assert target == ":memory:" or 2 == len(pids)
        assert is_there(pid) or how != "wait"
        if end == "kill":
            os.kill(one.pid, signal.SIGKILL)
        one.wait()
    wait_until(lambda: not any(map(is_there, pids)), "service and store have ended")


def test_folder_keeps_what_was_in_it(tmp_path):
    """Rows and queries are there in the next program; memory is forgotten."""
    folder = tmp_path / "data"
    for n in range(2):
        with psoup.connect(folder) as db:
            stream = db.stream("s", {"n": "int64"})
            stream.append([{"n": n}])
            query = db.query("SELECT n FROM s", name="all")
            assert n + 1 == query.count()
            url = db.url
        with pytest.raises(psoup.ServiceUnreachableError), psoup.connect(url) as gone:
            gone.streams()


def test_service_that_cannot_start_says_why(tmp_path):
    """What its log says, in a sentence; nothing is left behind."""
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(psoup.ServiceUnreachableError, match="did not start") as refused:
        psoup.connect(file)
    assert str(file) in str(refused.value)


def test_service_whose_start_is_interrupted_is_ended(monkeypatch, tmp_path):
    """Ctrl-C while it starts, or whatever else is raised there."""
    begun = []

    def interrupt(started, _log):
        begun.append(started.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(own_service, "_await_ready", interrupt)
    with pytest.raises(KeyboardInterrupt):
        psoup.connect(tmp_path / "data")
    assert not is_there(begun[0])
