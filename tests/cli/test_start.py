"""The start of `serve`, `engine` and `api`: what is said first, what is not loaded, and how it is given up."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2
import pytest
from structlog import DropEvent

from psoup.app.operate.lifecycle import (
    EXIT_ADDRESS,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_SETTINGS,
    EXIT_STORE,
)
from psoup.app.operate.start_sentences import SENTENCES, on_terminal
from psoup.app.processes.loading import Loading, UnwantedError
from psoup.engine.checkpoint import checkpoint
from tests.agreement.service.process import ServiceProcess
from tests.children import child, printed_by
from tests.forked import ended, started
from tests.patience import PATIENT_ENVIRONMENT, WAIT_S, wait_until
from tests.terminals import terminal

PSOUP = (sys.executable, "-P", "-m", "psoup")
HEAVY = (
    *("pandas", "pyspark", "py4j", "matplotlib", "polars", "duckdb", "httpx2", "schemathesis"),
    *("pyarrow.parquet", "pyarrow.dataset", "IPython"),
)
"""Installed or not: a start has no use for them."""
TELLING = (sys.executable, "-X", "importtime", *PSOUP[1:])
"""The command, whose standard error has a line for each module that it imports."""
IMPORTED = re.compile(r"^import time: .*\| +(\S+)$", re.MULTILINE)
JARGON = ("taken-over", "kernels-ready", "recovered", "[info")


def rendered(event, *, colors=False):
    def otherwise(*_):
        return "a log line"

    return on_terminal(otherwise, colors=colors)(None, "info", dict(event))


def starting(*arguments, **options):
    return child([*PSOUP, *map(str, arguments)], stderr=subprocess.PIPE, text=True, **options)


def test_end_looks_for_no_garbage_in_what_was_loaded():
    """Python would look through all of it several times: half a second of a service."""
    printed = printed_by(
        "import atexit, gc, sys",
        "sys.argv = ['psoup', '--version']",
        "atexit.register(lambda: print(gc.get_freeze_count() > len(gc.get_objects())))",
        "import psoup.__main__ as program",
        "program.main()",
    )
    assert "True" == printed.splitlines()[-1]


@pytest.mark.service
def test_start_says_at_once_what_it_does_and_where_everything_is(tmp_path):
    """Log lines tell of the store and the address first, and of the API pages when it is ready.

    Over an empty store it loads nothing heavy.
    """
    arguments = ("serve", "--port", "0", "--data", str(tmp_path / "data"), "--log-format", "json")
    with child([*TELLING, *arguments], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        events: list[dict[str, object]] = []
        told = ""
        while not events or events[-1]["event"] != "listening":
            line = process.stderr.readline()
            assert line, told
            if line.startswith("{"):
                events.append(json.loads(line))
            told += line
        process.send_signal(signal.SIGTERM)
        told += process.stderr.read()
        assert EXIT_OK == process.wait(WAIT_S)
    seen = set(IMPORTED.findall(told))
    assert {"psoup.app.main", "psoup.engine.engine", "psoup.storage"} <= seen
    assert [] == [name for name in HEAVY if name in seen]
    first, last = events[0], events[-1]
    assert ("starting", "serve", str(tmp_path / "data")) == (
        first["event"],
        first["process"],
        first["store"],
    )
    assert (first["url"], "/docs", True) == (last["url"], last["docs"], last["ready"])
    assert "reading-back" in {one["event"] for one in events}


@pytest.mark.service
def test_start_over_rows_and_queries_loads_nothing_heavy(tmp_path):
    """None of the large packages that it has no use for, by Python's own list.

    Whoever sends it the first row and the first query does not wait for them either.
    """
    first = ServiceProcess(tmp_path)
    try:
        first.start()
        send_first(first.url, "s")
    finally:
        first.close()
    seen: set[str] = set()

    def take(lines):
        for line in lines:
            seen.update(IMPORTED.findall(line))

    command = [*TELLING, "serve", "--port", "0", "--data", str(first.data)]
    with child(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = None
        while url is None:
            line = process.stderr.readline()
            take([line])
            found = re.search(r"listening .*url=(\S+)", line)
            url = found and found[1]
        reader = threading.Thread(target=take, args=[process.stderr])
        reader.start()
        for stream in ("s", "new"):
            send_first(url, stream)
        process.send_signal(signal.SIGTERM)
        assert EXIT_OK == process.wait(WAIT_S)
        reader.join()
    assert {"psoup.app.main", "psoup.engine.engine", "psoup.storage"} <= seen
    assert [] == [name for name in HEAVY if name in seen]


def send_first(url, stream):
    """Declare a stream, and send it a row and a query, once the service is ready."""
    with httpx2.Client(base_url=url, trust_env=False, timeout=WAIT_S) as client:
        wait_until(lambda: client.get("/readyz").status_code == 200, "it is ready")
        columns = {"columns": [{"name": "x", "type": "int64"}]}
        assert client.put(f"/v1/streams/{stream}", json=columns).status_code in {200, 201}
        assert 200 == client.post(f"/v1/streams/{stream}/rows", json=[{"x": 1}]).status_code
        sql = {"sql": f"SELECT * FROM {stream} WHERE x > 0"}
        assert client.post("/v1/queries", json=sql).status_code in {200, 201}


@pytest.mark.parametrize(
    "command",
    [
        "serve",
        # Without a process: tests/app/processes.
        pytest.param("api", marks=pytest.mark.slow),
        pytest.param("engine", marks=pytest.mark.slow),
    ],
)
def test_start_at_a_port_in_use_says_so_before_the_store_is_touched(command, tmp_path):
    """The sentence names the port and what to do; no data folder was made."""
    store = () if command == "serve" else ("--store", "redis://127.0.0.1:1/0")
    data = () if command == "api" else ("--data", tmp_path / "data")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [*PSOUP, command, "--port", str(port), *map(str, (*store, *data))],
            capture_output=True,
            text=True,
            check=False,
        )
    assert EXIT_ADDRESS == done.returncode
    assert f"Port {port} is in use" in done.stderr
    assert "--port 0" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "command",
    [
        "serve",
        pytest.param("api", marks=pytest.mark.slow),
        pytest.param("engine", marks=pytest.mark.slow),
    ],
)
def test_start_with_too_few_open_files_says_so_before_the_store_is_touched(command, tmp_path):
    """The sentence names the limit; nothing was started that could be left behind."""
    store = () if command == "serve" else ("--store", "redis://127.0.0.1:1/0")
    data = () if command == "api" else ("--data", tmp_path / "data")
    start = shlex.join([*PSOUP, command, "--port", "0", *map(str, (*store, *data))])
    done = subprocess.run(
        ["sh", "-c", f"ulimit -n 40; exec {start}"], capture_output=True, text=True, check=False
    )
    assert EXIT_SETTINGS == done.returncode
    assert "may open 40 files" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.service
def test_start_that_fails_off_a_terminal_ends_in_one_sentence(tmp_path, nowhere):
    """The last line of standard error says what is wrong and what to do, as on a terminal."""
    command = ["serve", "--data", str(tmp_path / "data"), "--port"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        used = ended("psoup", [*command, port])
    without_store = ended(
        "psoup",
        [*command, "0", "--store", nowhere.replace("http", "redis")],
        env={**os.environ, **PATIENT_ENVIRONMENT},
    )
    assert [EXIT_ADDRESS, EXIT_STORE] == [used.returncode, without_store.returncode]
    assert ["", ""] == [used.stdout, without_store.stdout]
    (line,) = used.stderr.splitlines()
    assert line.startswith(f"error psoup has not started: Port {port} is in use")
    last = without_store.stderr.splitlines()[-1]
    assert last.startswith("error psoup has not started: The store cannot be reached")


@pytest.mark.service
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_serve_that_is_asked_to_end_again_and_again_ends_in_order(number, tmp_path):
    """With the code of one that was asked once, without a traceback, and its server has ended."""
    command = ["serve", "--port", "0", "--log-format", "json", "--data", str(tmp_path / "data")]
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = started("psoup", command, output=output, env=os.environ)
    try:
        wait_until(lambda: '"listening"' in log.read_text(), "it listens")
        store = int((tmp_path / "data" / "server.pid").read_text())
        while process.poll() is None:
            process.send_signal(number)
            time.sleep(0.02)
    finally:
        process.kill()
    assert "Traceback" not in log.read_text()
    assert EXIT_OK == process.returncode
    wait_until(lambda: not Path(f"/proc/{store}").exists(), "the server has ended")


@pytest.mark.service
@pytest.mark.parametrize(
    ("after_s", "workers"),
    [
        (0.3, 2),
        pytest.param(0.0, 3, marks=pytest.mark.slow),
        pytest.param(0.3, 3, marks=pytest.mark.slow),
        pytest.param(1.0, 3, marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_while_workers_start_is_quiet(after_s, workers):
    """It reaches all processes of the terminal; the parent listens, so it ends as asked."""
    command = [*PSOUP, "api", "--store", "redis://127.0.0.1:1/0", "--port", "0"]
    command += ["--workers", str(workers)]
    with child(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "listening" in line)
        time.sleep(after_s)
        os.killpg(process.pid, signal.SIGINT)
        assert "Traceback" not in process.stderr.read()
        assert EXIT_OK == process.wait(WAIT_S)


def test_start_without_its_store_names_the_address_and_no_password(tmp_path, nowhere):
    """Which store could not be reached is said; its password is not."""
    port = nowhere.rpartition(":")[2]
    store = f"redis://me:geheim@127.0.0.1:{port}/3"
    done = ended(
        "psoup",
        ["serve", "--port", "0", "--data", str(tmp_path / "data"), "--log-format", "json"],
        env={**os.environ, **PATIENT_ENVIRONMENT, "PSOUP_STORE": store},
    )
    last = json.loads(done.stderr.splitlines()[-1])
    assert EXIT_STORE == done.returncode
    assert ("not-started", "store-unavailable") == (last["event"], last["code"])
    assert f"redis://me@127.0.0.1:{port}/3" == last["store"]
    assert "geheim" not in done.stderr


@pytest.mark.service
def test_start_on_a_terminal_is_told_in_sentences(tmp_path):
    """Version, folder, URL and API pages for people; no word of the log. Ctrl-C ends what serves with 0."""
    command = [*PSOUP, "serve", "--port", "0", "--data", str(tmp_path / "data")]
    with terminal(command, width=200) as shown:
        shown.wait_for(lambda screen: "API pages" in screen.text, "it is ready")
        text = shown.screen.text
        shown.type(b"\x03")
        assert EXIT_OK == shown.end()
        assert "psoup has ended" in shown.screen.text
    url = re.search(r"ready at (http://127\.0\.0\.1:\d+) after .* s; Ctrl-C ends it", text)
    assert url is not None
    assert f"console {url[1]}/console" in text
    assert f"API pages {url[1]}/docs" in text
    assert f"data in {tmp_path / 'data'}" in text
    assert "starting the store" in text
    assert [] == [word for word in JARGON if word in text]


@pytest.mark.service
@pytest.mark.parametrize(
    ("number", "code", "later_s"),
    [
        (signal.SIGINT, EXIT_INTERRUPTED, 0.0),
        (signal.SIGTERM, EXIT_OK, 0.1),
        (signal.SIGINT, EXIT_INTERRUPTED, 0.4),
        pytest.param(signal.SIGINT, EXIT_INTERRUPTED, 0.1, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, EXIT_INTERRUPTED, 0.8, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, EXIT_OK, 0.0, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, EXIT_OK, 0.4, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, EXIT_OK, 0.8, marks=pytest.mark.slow),
    ],
)
def test_start_that_is_given_up_ends_in_order(tmp_path, number, code, later_s):
    """At whatever moment: Ctrl-C is 130, a polite kill 0, never a traceback; the next start finds the folder free."""
    arguments = ("serve", "--port", 0, "--data", tmp_path / "data", "--log-format", "json")
    with starting(*arguments) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert "starting" == json.loads(said)["event"]
        time.sleep(later_s)  # the moment is the subject: this waits for nothing
        process.send_signal(number)
        rest = process.stderr.read()
        ended = process.wait(WAIT_S)
    assert "Traceback" not in rest
    assert ended == (EXIT_OK if '"listening"' in rest else code), rest
    assert not (tmp_path / "data" / "server.pid").exists()


def test_every_event_of_a_start_is_a_sentence_for_people():
    """What is said is plain, and has no colours where none are wanted; what is no news has no line."""
    assert "reading 12,000 rows and 1 query back, then 3 operations" == rendered(
        {"event": "reading-back", "rows": 12_000, "queries": 1, "operations": 3}
    )
    assert "first start only" in rendered({"event": "compiling-kernels"})
    assert "28 s" in rendered({"event": "kernels-ready", "seconds": 28.0, "kernels": 47})
    assert "; ready once everything is read back" in rendered(
        {"event": "listening", "url": "http://a", "ready": False, "seconds": 5.0, "docs": None}
    )
    pages = {"console": "/console", "docs": "/docs"}
    assert (
        "listening at http://a; 2 workers to start\nconsole http://a/console\nAPI pages http://a/docs"
        == rendered({"event": "listening", "url": "http://a", "workers": 2, **pages})
    )
    assert rendered({"event": "standby", "lease_s": 1.0}).startswith("another engine")
    assert "a log line" == rendered({"event": "store-down"})
    assert "\x1b" in rendered({"event": "ended"}, colors=True)
    for quiet in ({"event": "taken-over"}, {"event": "kernels-ready", "seconds": 0.1}):
        with pytest.raises(DropEvent):
            rendered(quiet)
    assert {"starting", "listening", "not-started"} <= set(SENTENCES)


def test_loading_returns_what_was_loaded_and_gives_kernels_up(monkeypatch):
    """The end of the block waits for both threads; kernels that are not wanted any more are given up."""
    entered, given_up = threading.Event(), []

    def load_kernels():
        entered.set()
        try:
            while True:
                checkpoint()
                time.sleep(0.001)
        except UnwantedError:
            given_up.append("kernels")
            raise

    monkeypatch.setattr("psoup.app.backend.kernels.load_kernels", load_kernels)
    with Loading(lambda: "loaded") as loading:
        assert "loaded" == loading.wait()
        assert entered.wait(WAIT_S)
    assert ["kernels"] == given_up


def test_loading_that_fails_is_told_where_it_is_waited_for(monkeypatch):
    """An error at import is no silent thread, and the end of the block does not hang."""
    monkeypatch.setattr("psoup.app.backend.kernels.load_kernels", lambda: 0)

    def fail():
        raise ImportError("no such module")

    with Loading(fail) as loading, pytest.raises(ImportError, match="no such module"):
        loading.wait()
