"""A load that fails leaves no stream behind that it has declared for nothing, and never drops another one."""

import inspect
import os
import signal
import subprocess
import sys
import threading
import traceback
from concurrent.futures import Future
from itertools import pairwise

import pytest

from psoup.app.cli.common import ExitCode
from psoup.client.calls import PsoupClient
from psoup.client.errors import DefinitionError, ServiceProblem, ServiceUnreachableError
from psoup.pipeline.dropping import drop_as_seen, undo_declaration
from psoup.pipeline.files.readers import csv_rows
from tests.children import child
from tests.cli.test_pipes import PSOUP
from tests.patience import WAIT_S, wait_until

COLUMNS = {"columns": [{"name": "n", "type": "int64"}]}
WAIT, WAIT_LINE = inspect.getsourcelines(threading.Condition.wait)
BLOCKED = {WAIT_LINE + n for n, line in enumerate(WAIT) if line.strip() == "waiter.acquire()"}
"""Where `wait` can be interrupted: just before, it has let its lock go and does not take it again."""


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n2024-01-01,1\n2024-01-02,2.5\n")
    return path


def declared(psoup, name="s"):
    with psoup.service() as service:
        return service.stream(name)


def main_thread_waits_for_a_result():
    frame = sys._current_frames()[threading.main_thread().ident or 0]
    calls = [(one.f_code, line) for one, line in traceback.walk_stack(frame)]
    return any(
        (threading.Condition.wait.__code__, Future.result.__code__) == (code, caller)
        and line in BLOCKED
        for (code, line), (caller, _) in pairwise(calls)
    )


def test_failed_load_declares_nothing_and_its_hint_is_the_type_that_fits(psoup, csv_file):
    """A float in a column of integers asks for float64; passing it loads the file."""
    command = ("load", csv_file, "--stream", "s", "--time", "ts", "--schema")
    result = psoup(*command, "ts timestamp, n int64", code=ExitCode.DATA_FILE)
    assert 'Pass "n float64" to --types or --schema' in result.stderr
    assert declared(psoup) is None
    psoup(*command, "ts timestamp, n float64")
    assert 2 == psoup.rows("s")


def test_load_whose_first_batch_the_service_rejects_takes_its_declaration_back(psoup, csv_file):
    """The service's own refusal leaves nothing either; the hint says what to look at."""
    csv_file.write_text("ts,n\n2999-01-01,1\n")
    result = psoup("load", csv_file, "--stream", "s", "--time", "ts", code=ExitCode.DATA_FILE)
    assert "too-far-in-future" in result.stderr
    assert "psoup declare --future" in result.stderr
    assert declared(psoup) is None


def test_load_that_fails_behind_its_first_batch_keeps_what_is_stored(psoup, csv_file, monkeypatch):
    """The hint for another type then says that the stream has to be replaced."""
    monkeypatch.setattr(csv_rows, "BLOCK_BYTES", 16)
    command = ("load", csv_file, "--stream", "s", "--schema", "ts timestamp, n int64")
    result = psoup(*command, "--batch-rows", 1, code=ExitCode.DATA_FILE)
    assert "--replace" in result.stderr
    assert 1 == psoup.rows("s")


def test_load_into_a_stream_of_somebody_else_leaves_it_when_it_fails(psoup, csv_file):
    """Empty as it is: this load has not declared it."""
    schema = "ts timestamp not null, n float64"
    psoup("declare", "s", "--schema", schema, "--time", "ts")
    csv_file.write_text("ts,n\n2999-01-01,1\n")
    psoup("load", csv_file, "--stream", "s", "--time", "ts", code=ExitCode.DATA_FILE)
    assert declared(psoup) is not None


@pytest.mark.parametrize("raised", [KeyboardInterrupt, ServiceProblem(507, {"code": "store-full"})])
def test_load_that_ends_in_its_first_append_takes_its_declaration_back(
    psoup, csv_file, monkeypatch, raised
):
    """By Ctrl-C or by a refusal: nothing of it was stored."""

    def append(*_, **__):
        raise raised

    monkeypatch.setattr(PsoupClient, "append", append)
    code = ExitCode.INTERRUPTED if raised is KeyboardInterrupt else ExitCode.REFUSED
    psoup("load", csv_file, "--stream", "s", code=code)
    assert declared(psoup) is None


def test_load_interrupted_while_it_declares_takes_its_declaration_back(
    psoup, csv_file, monkeypatch
):
    """Ctrl-C before the answer is there: it is waited for, since the stream may be new by then."""
    declare = PsoupClient.declare

    def interrupted(self, *arguments):
        wait_until(main_thread_waits_for_a_result, "the command waits for the declaration")
        os.kill(os.getpid(), signal.SIGINT)
        return declare(self, *arguments)

    monkeypatch.setattr(PsoupClient, "declare", interrupted)
    # pytest may ignore it: where it runs in the background of a shell without jobs.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        psoup("load", csv_file, "--stream", "s", code=ExitCode.INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, before)
    assert declared(psoup) is None


def test_load_whose_rows_were_stored_unacknowledged_keeps_the_stream(psoup, csv_file, monkeypatch):
    """The answer was lost, the rows are there: they are not dropped."""
    append = PsoupClient.append

    def unanswered(self, *arguments, **options):
        append(self, *arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(PsoupClient, "append", unanswered)
    psoup("load", csv_file, "--stream", "s", code=ExitCode.INTERRUPTED)
    assert 2 == psoup.rows("s")


def test_load_that_loses_the_service_waits_for_it_no_second_time(psoup, csv_file, monkeypatch):
    """Out of reach, nothing can be taken back: the load ends."""
    asked = []

    def append(*_, **__):
        raise ServiceUnreachableError("gone")

    monkeypatch.setattr(PsoupClient, "append", append)
    monkeypatch.setattr(PsoupClient, "drop", lambda *_, **__: asked.append("drop"))
    psoup("load", csv_file, "--stream", "s", code=ExitCode.UNREACHABLE)
    assert [] == asked


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_load_interrupted_while_it_reads_its_pipe_declares_nothing(psoup, tmp_path, ending):
    """A process that waits for its input ends with 130 and leaves neither stream nor copy."""
    command = [*PSOUP, "load", "-", "--stream", "s", "--input-format", "csv", "--url", psoup.url]
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with child(command, **options, env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
        assert process.stdin is not None
        process.stdin.write(b"n\n1\n")
        process.stdin.flush()
        wait_until(
            lambda: (
                process.poll() is not None
                or any(path.is_file() for path in tmp_path.rglob("standard input"))
            ),
            "it copies its input",
        )
        assert process.poll() is None
        process.send_signal(ending)
        _, errors = process.communicate(timeout=WAIT_S)
    assert ExitCode.INTERRUPTED == process.returncode, errors
    assert b"Traceback" not in errors
    assert [] == list(tmp_path.iterdir())
    assert declared(psoup) is None


def test_take_back_drops_the_very_declaration_and_nothing_that_is_used(psoup):
    """Rows, queries, another declaration of the name: each of them keeps the stream."""
    with psoup.service() as service:
        mine, is_new = service.declare("s", COLUMNS)
        assert is_new
        service.register("SELECT n FROM s", name="q")
        undo_declaration(service, mine)
        assert service.stream("s") is not None
        (query,) = service.queries()
        service.remove(query["id"])
        service.drop("s")
        theirs, _ = service.declare("s", COLUMNS)
        undo_declaration(service, mine)
        assert theirs["declared"] == (service.stream("s") or {})["declared"]
        service.append("s", b'{"n":1}', content_type="application/json")
        undo_declaration(service, theirs)
        assert 1 == psoup.rows("s")
        undo_declaration(service, {**theirs, "name": "t"})
        empty, _ = service.declare("t", COLUMNS)
        undo_declaration(service, empty)
        assert service.stream("t") is None


def test_drop_as_seen_refuses_a_stream_that_was_declared_anew(psoup):
    """What somebody agreed to is gone: another stream of its name is not meant."""
    with psoup.service() as service:
        seen, _ = service.declare("s", COLUMNS)
        service.drop("s")
        drop_as_seen(service, seen)
        service.declare("s", COLUMNS)
        with pytest.raises(DefinitionError, match="declared anew"):
            drop_as_seen(service, seen)
        assert service.stream("s") is not None
