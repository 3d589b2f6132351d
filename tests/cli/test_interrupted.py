"""Commands that are interrupted at any moment, and files that turn out wrong: an exit code each, never an abort."""

import ast
import bz2
import lzma
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from psoup.app.cli.common import ExitCode
from tests import forked
from tests.children import child, printed_by
from tests.patience import WAIT_S

pytestmark = pytest.mark.service

PSOUP = (sys.executable, "-P", "-m", "psoup")
STARTED = "import psoup.__main__ as program; print(flush=True); program.main()"
"""The same, with a line that tells that Python itself has started: before, an interrupt is Python's affair."""
INTERRUPTED_IN_ORJSON = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, *_):
        if "orjson" in sys.modules and "zoneinfo" not in sys.modules:  # which orjson looks for while it starts
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["psoup", "--version"]
import psoup.__main__ as program
program.main()
"""
ROWS = 60_000
PACKERS: dict[str, Callable[[bytes], bytes]] = {"xz": lzma.compress, "bz2": bz2.compress}
ENDS = {ExitCode.DONE, ExitCode.INTERRUPTED}


@pytest.fixture(scope="module")
def packed_files(tmp_path_factory):
    """Return a file of each compression, by its name."""
    chance = random.Random(1)
    rows = (f"2024-01-01T00:00:{i % 60:02d}Z,{i},{chance.random()}\n" for i in range(ROWS))
    text = "ts,n,x\n" + "".join(rows)
    paths = {}
    for name, packed in PACKERS.items():
        paths[name] = tmp_path_factory.mktemp(name) / f"a.csv.{name}"
        paths[name].write_bytes(packed(text.encode()))
    return paths


def load_command(psoup, path, *options):
    return [
        *PSOUP,
        "load",
        str(path),
        "--stream",
        "s",
        "--time",
        "ts",
        "--url",
        psoup.url,
        *options,
    ]


def ended(process):
    """Return the code a process ends with and what it wrote to standard error, without a traceback."""
    _, errors = process.communicate(timeout=WAIT_S)
    assert "Traceback" not in errors
    assert "Fatal" not in errors
    return process.returncode, errors


def assert_interrupted_load_ends_in_order(psoup, paths, times):
    """Interrupt one load after the other at moments that are spread over a whole one."""
    chance = random.Random(times)
    begun_s = time.monotonic()
    subprocess.run(load_command(psoup, paths["xz"]), check=True, stdout=subprocess.DEVNULL)
    whole_s = time.monotonic() - begun_s
    codes = []
    for number in range(times):
        path = list(paths.values())[number % len(paths)]
        arguments = load_command(psoup, path, "--producer", f"load-{number}")
        command = [
            sys.executable,
            "-P",
            "-c",
            STARTED,
            *arguments[len(PSOUP) :],
            "--batch-rows",
            "5000",
        ]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with child(command, **options) as process:
            assert process.stdout is not None
            process.stdout.readline()
            # The moment is the subject: this waits for nothing.
            time.sleep(0.02 + chance.random() * whole_s)
            process.send_signal(signal.SIGINT)
            code, errors = ended(process)
        assert code in ENDS, (code, errors)
        codes.append(code)
    assert ExitCode.INTERRUPTED in codes


def test_load_interrupted_at_any_moment_ends_with_130(psoup, packed_files):
    """Ctrl-C while it starts, looks at the file, reads or sends."""
    assert_interrupted_load_ends_in_order(psoup, packed_files, 4)


@pytest.mark.slow
def test_load_interrupted_two_hundred_times_ends_with_130(psoup, packed_files):
    """The same, often enough to find one in a hundred."""
    assert_interrupted_load_ends_in_order(psoup, packed_files, 200)


def test_start_loads_nothing_before_an_interrupt_is_taken():
    """Until `main` begins an interrupt is a traceback of Python's: what is loaded until then was there before."""
    printed = printed_by(
        "import sys",
        "before = {*sys.modules}",
        "import psoup.__main__",
        "print({*sys.modules} - before)",
    )
    assert {"psoup", "psoup.__main__"} == set(ast.literal_eval(printed))


def test_interrupt_while_orjson_starts_ends_with_130():
    """Its start unwraps what it looks for: interrupted there, it would end the process by SIGSEGV."""
    command = [sys.executable, "-P", "-c", INTERRUPTED_IN_ORJSON]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ExitCode.INTERRUPTED, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize("packing", PACKERS)
def test_load_of_a_bad_value_ends_with_4(psoup, tmp_path, packing):
    """A value that does not fit, while most of the file is still to be read."""
    rows = [f"2024-01-01T00:00:00Z,{i}\n" for i in range(ROWS)]
    rows[ROWS // 10] = "2024-01-01T00:00:00Z,seven\n"
    path = tmp_path / f"a.csv.{packing}"
    path.write_bytes(PACKERS[packing]("".join(["ts,n\n", *rows]).encode()))
    command = load_command(psoup, path, "--schema", "ts timestamp not null, n int64")
    done = forked.ended("psoup", command[len(PSOUP) :])
    assert ExitCode.DATA_FILE == done.returncode
    assert "Traceback" not in done.stderr
    assert f"a.csv.{packing}:{ROWS // 10 + 2}: column 'n'" in done.stderr


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_watching_that_is_ended_removes_its_query(psoup, tmp_path, ending):
    """However a command is asked to end, it leaves no query behind."""
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n2024-01-01,1\n")
    psoup("load", path, "--stream", "s", "--time", "ts")
    command = [*PSOUP, "query", "SELECT * FROM s", "--watch", "--every", "0.1", "--url", psoup.url]
    with (
        psoup.service() as service,
        child(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout is not None
        assert '"n":1' in process.stdout.readline()
        process.send_signal(ending)
        assert ExitCode.INTERRUPTED == ended(process)[0]
        assert [] == list(service.queries())


@pytest.mark.parametrize(
    ("closed", "command"),
    [
        ("<&-", ("streams",)),
        (">&-", ("query", "SELECT * FROM s")),
        ("2>&-", ("status",)),
        ("<&- >&- 2>&-", ("streams",)),
        ("<&- >&- 2>&-", ("query", "SELECT * FROM s")),
    ],
)
def test_command_without_its_standard_files_ends_with_0(psoup, tmp_path, closed, command):
    """A parent that has closed standard input, output or errors gets the code alone."""
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n2024-01-01,1\n")
    psoup("load", path, "--stream", "s", "--time", "ts")
    words = ["sh", "-c", f'exec "$@" {closed}', "sh", *PSOUP, *command, "--url", psoup.url]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ExitCode.DONE, "") == (done.returncode, done.stderr)


def test_command_in_a_folder_that_is_gone_ends_as_elsewhere(psoup, tmp_path):
    """What needs no folder works; a file that is not there is said to be missing."""
    gone = tmp_path / "gone"
    gone.mkdir()
    words = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *PSOUP]
    environment = {**os.environ, "PSOUP_URL": psoup.url}

    def run(*arguments):
        gone.mkdir(exist_ok=True)
        done = subprocess.run(
            [*words, *arguments],
            cwd=gone,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return done.returncode

    assert ExitCode.DONE == run("status")
    assert ExitCode.DATA_FILE == run("load", "a.csv", "--stream", "s")
