"""A process that is forked is as one that is started by its command."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.forked import started, zygote
from tests.patience import WAIT_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
FACTS = "tests.process_facts"


def facts(folder, *arguments, code, **how):
    """Return what a process finds itself to be, whose exit code is `code`."""
    path = folder / "said"
    with path.open("wb") as output:
        process = started(FACTS, arguments, output=output, **how)
    assert code == process.wait(WAIT_S)
    assert code == process.poll() == process.returncode
    told, error = path.read_text().splitlines()
    assert "an error" == error
    return json.loads(told)


@pytest.mark.parametrize("leads", [False, True])
def test_forked_process_finds_itself_as_one_started_by_its_command(tmp_path, monkeypatch, leads):
    """Arguments, module, folder, environment, files, signals, threads and session: all are the same."""
    monkeypatch.chdir(tmp_path)
    env = {**os.environ, "PSOUP_STORE": "memory://", "TZ": "Asia/Kolkata"}
    del env["HOME"]
    found = [
        facts(tmp_path, "3", "--é", code=3, env=env, start_new_session=leads, forked=forked)
        for forked in (False, True)
    ]
    assert found[0] == found[1]
    assert leads == found[1]["leads"]
    assert "memory://" == found[1]["environment"]["PSOUP_STORE"]


@pytest.mark.service
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -9)])
def test_forked_process_that_is_sent_a_signal_ends_of_it(tmp_path, number, code):
    """A service ends as asked; one that is killed says of what."""
    log = tmp_path / "log"
    arguments = ["serve", "--store", "memory://", "--port", "0", "--log-format", "json"]
    with log.open("wb") as output:
        process = started("psoup", arguments, output=output, env=os.environ)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    while b'"listening"' not in log.read_bytes():
        assert process.poll() is None, log.read_text()
    process.send_signal(number)
    assert code == process.wait(WAIT_S)
    process.kill()
    assert code == process.returncode


def test_forked_process_is_not_given_what_its_interpreter_has_read_before(tmp_path):
    """A variable of Python would say nothing any more: the test that sets it is told."""
    with (
        (tmp_path / "log").open("wb") as output,
        pytest.raises(AssertionError, match="PYTHONHASHSEED comes too late"),
    ):
        started(FACTS, ["0"], output=output, env={**os.environ, "PYTHONHASHSEED": "7"})


def test_variable_that_this_process_has_read_later_is_not_given_either(tmp_path, monkeypatch):
    """What a test sets for itself, the process that others are forked from has not read."""
    zygote()
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    with (
        (tmp_path / "log").open("wb") as output,
        pytest.raises(AssertionError, match="NUMBA_DISABLE_JIT comes too late"),
    ):
        started(FACTS, ["0"], output=output, env=os.environ)


def test_end_of_a_forked_process_is_told_again(tmp_path):
    """A test that is interrupted while it asks asks again: the answer is the same, and later tests have theirs."""
    with (tmp_path / "log").open("wb") as output:
        process = started(FACTS, ["3"], output=output, env=os.environ)
    assert 3 == process.wait(WAIT_S)
    assert [3, 3] == [zygote().ask({"ended": process.pid}) for _ in range(2)]
