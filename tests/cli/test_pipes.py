"""Closed pipes and addresses that cannot be: real processes, real pipes."""

import array
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import termios

import pytest

from psoup.app.cli.common import ExitCode
from tests.children import child
from tests.forked import started
from tests.patience import WAIT_S, wait_until

PSOUP = (sys.executable, "-m", "psoup")


def run_unread(psoup, *arguments, errors_too=False):
    """Run a command whose standard output nobody reads any more; return how it ended."""
    reading, writing = os.pipe()
    os.close(reading)
    words = [*map(str, arguments), "--url", psoup.url]
    with os.fdopen(writing, "wb") as unread, tempfile.TemporaryFile() as said:
        errors = unread if errors_too else said
        process = started("psoup", words, output=unread, errors=errors, env=os.environ)
        code = process.wait(WAIT_S)
        said.seek(0)
        return subprocess.CompletedProcess(words, code, None, said.read().decode())


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n" + "".join(f"2024-01-01T00:00:00Z,{i}\n" for i in range(1_000)))
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("streams", "--format", "table"),
        ("streams", "--format", "ndjson"),
        ("query", "SELECT * FROM s", "--format", "table"),
        ("query", "SELECT * FROM s", "--format", "csv"),
        ("status",),
    ],
)
def test_answer_nobody_reads_any_more_ends_quietly(psoup, csv_file, command):
    """A reader that has seen enough is no failure: exit code 0, nothing said, nothing left behind."""
    psoup("load", csv_file, "--stream", "s")
    ended = run_unread(psoup, *command)
    assert (ExitCode.DONE, "") == (ended.returncode, ended.stderr)
    with psoup.service() as service:
        assert [] == list(service.queries())


def held_bytes(pipe):
    """Return how many bytes wait in a pipe for its reader."""
    held = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, held)
    return held[0]


def test_answer_is_whole_where_its_process_is_stopped_and_continued(psoup, tmp_path):
    """Also where Python is told not to buffer: the system then takes a part of a write, and Python drops the rest."""
    rows = 10_000
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n" + "".join(f"2024-01-01T00:00:00Z,{i}\n" for i in range(rows)))
    psoup("load", path, "--stream", "s")
    command = [*PSOUP, "query", "SELECT * FROM s", "--format", "csv", "--url", psoup.url]
    unbuffered = os.environ | {"PYTHONUNBUFFERED": "1"}
    with child(command, stdout=subprocess.PIPE, env=unbuffered) as process:
        assert process.stdout is not None
        size = fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ)
        # The rest of the answer waits in the same write.
        wait_until(lambda: held_bytes(process.stdout) == size, "the pipe is full")
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        process.send_signal(signal.SIGCONT)
        answer, _ = process.communicate(timeout=WAIT_S)
    assert ExitCode.DONE == process.returncode
    assert [*range(rows)] == sorted(int(line.split(b",")[-1]) for line in answer.splitlines()[1:])


def test_load_nobody_watches_any_more_loads_the_whole_file(psoup, csv_file):
    """The rows are the purpose: loading goes on, says so, and sums up where somebody may read it."""
    ended = run_unread(psoup, "load", csv_file, "--stream", "s", "--batch-rows", 100)
    assert ExitCode.DONE == ended.returncode, ended.stderr
    assert 1_000 == psoup.rows("s")
    assert "loading goes on" in ended.stderr
    assert "loaded 1,000 rows into s" in ended.stderr


def test_load_with_both_outputs_closed_loads_the_whole_file(psoup, csv_file):
    """Also where nobody can be told: no traceback, no failure, every row."""
    ended = run_unread(psoup, "load", csv_file, "--stream", "s", errors_too=True)
    assert ExitCode.DONE == ended.returncode
    assert 1_000 == psoup.rows("s")


def test_refusal_nobody_reads_keeps_its_code(psoup):
    """A closed standard error changes nothing about how a command ends."""
    ended = run_unread(psoup, "query", "SELECT * FROM nope", errors_too=True)
    assert ExitCode.REFUSED == ended.returncode


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "localhost:18731", "127.0.0.1:8000", "http://", "", "http://h:x", "http://h:99999"],
)
def test_url_that_cannot_be_ends_with_2(psoup, url):
    """A URL without a scheme, with another one or without a host is wrong use, said in one sentence."""
    result = psoup("status", "--url", url, code=ExitCode.USAGE)
    assert "http://127.0.0.1:8000" in result.stderr
    assert ".." not in result.stderr


@pytest.mark.parametrize("token", ["hushé", "hush b", "hush\n", "hush\x07"])
def test_token_that_cannot_be_ends_with_2_and_is_not_shown(psoup, token):
    """A token that no header can carry is wrong use; the message names the option, not the secret."""
    result = psoup("status", "--token", token, code=ExitCode.USAGE)
    assert "--token" in result.stderr
    assert "hush" not in result.stderr
