"""`psoup pipeline`: what it refuses without Spark, and what it shows of a job."""

import dataclasses
import io

import pytest
from rich.console import Console
from typer.testing import CliRunner

from psoup.app.cli.actions import pipeline as pipeline_command
from psoup.app.cli.application import application
from psoup.app.cli.common import ExitCode
from psoup.app.cli.terminal.pipeline import history_bar
from psoup.pipeline.errors import JobFailedError
from psoup.pipeline.spark.jobs.history import ArchiveAnswerProgress
from psoup.pipeline.spark.launch.job_run import JobEnd, JobProgress, last_message

INGEST = ["pipeline", "ingest", "-s", "s", "--checkpoint", "c", "--format", "rate"]
BACKFILL = ["pipeline", "backfill", "x.csv", "-s", "s", "--checkpoint", "c"]


def progress(batch):
    done = {"rows": 1_000, "rows_per_s": 2_000.0, "rows_all": (batch + 1) * 1_000}
    return JobProgress(
        batch=batch, batches=batch + 1, seq=41 + batch, bytes_done=5, bytes_all=10, **done
    )


@pytest.fixture
def running(monkeypatch):
    """Return a function that lets jobs end so, after telling of two micro-batches."""

    def ends(*, stopped=False, error=None):
        def run_job(job, request, report, *, quiet):
            report(progress(0))
            report(progress(1))
            if error is not None:
                raise error
            return JobEnd(rows=2_000, batches=2, stopped=stopped)

        monkeypatch.setattr(pipeline_command, "run_job", run_job)

    return ends


def test_pipeline_without_spark_says_what_to_install(monkeypatch):
    """Nothing is started; the exit code is Spark's."""
    monkeypatch.setattr("psoup.app.cli.pipeline.find_spec", lambda name: None)
    result = CliRunner().invoke(application, INGEST)
    assert ExitCode.SPARK == result.exit_code
    assert "pip install 'psoup[spark]'" in result.stderr


def test_pipeline_ingest_tells_of_each_micro_batch(running):
    """Number, rows, rate and position; stopping it is its usual end."""
    running(stopped=True)
    result = CliRunner().invoke(application, INGEST)
    assert 0 == result.exit_code
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "0 1,000 rows 2,000 rows/s seq 41 1,000 in all, 50% of the files" in lines
    assert "1 1,000 rows 2,000 rows/s seq 42 2,000 in all, 50% of the files" in lines
    assert "stopped after 2,000 rows into s in 2 micro-batches" == lines[-1]


def test_pipeline_backfill_that_is_stopped_says_how_to_go_on(running):
    """Interrupted before its end it is not done."""
    running(stopped=True)
    result = CliRunner().invoke(application, BACKFILL)
    assert ExitCode.INTERRUPTED == result.exit_code
    assert "the same command goes on from there" in result.stdout


def test_pipeline_history_tells_what_became_of_each(monkeypatch):
    """A line for each that has ended; one that is running is on a bar, which only a terminal has."""
    told = ArchiveAnswerProgress(history="h_1", state="running", seq=1_000, done=1, of=2)
    ended = dataclasses.replace(told, state="done", rows=2_000, seconds=1.5)
    failed = dataclasses.replace(told, history="h_2", state="failed", detail="Archive it.")

    def run_job(job, request, report, *, quiet):
        for one in (told, ended, failed):
            report(one)
        return JobEnd(rows=2_000, batches=1, stopped=True)

    monkeypatch.setattr(pipeline_command, "run_job", run_job)
    result = CliRunner().invoke(application, ["pipeline", "history", "--archive", "a"])
    assert 0 == result.exit_code
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert [
        "starting Spark",
        "h_1 done 2,000 rows 1.5 s seq 1,000",
        "h_2 failed 0.0 s seq 1,000 Archive it.",
        "stopped after 2,000 rows in 1 answer",
    ] == lines
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=120, color_system=None)
    for last in (told, failed):
        with history_bar(terminal) as report:
            report(told)
            report(last)
    assert "1 of 2 tasks" in screen.getvalue()
    assert "h_2  failed" in screen.getvalue()


def test_pipeline_job_that_fails_ends_with_what_was_said(running):
    """The sentence goes to standard error."""
    running(error=JobFailedError("the disk is full"))
    result = CliRunner().invoke(application, BACKFILL)
    assert ExitCode.SPARK == result.exit_code
    assert "the disk is full" in result.stderr


def test_pipeline_wrong_option_is_refused_before_anything_runs(running):
    """An option that cannot be is the command line's fault."""
    running()
    result = CliRunner().invoke(application, [*INGEST, "--every", "soon"])
    assert ExitCode.USAGE == result.exit_code
    assert "--every is 'soon'" in result.stderr


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: no such file SQLSTATE: XXKST",
            "no such file",
        ),
        (
            (
                "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Traceback (most recent call"
                ' last):\n  File "a.py", line 1, in f\npipeline.errors.SchemaMismatchError: Columns differ.\n'
                "  v: in Spark bigint\n SQLSTATE: 38000\n\tat org.apache.spark.X.f(X.scala:1)"
            ),
            "Columns differ.\n  v: in Spark bigint",
        ),
        (
            "[PYTHON] failed\nTraceback (most recent call last):\nKeyError: 'a'\n\tat java.lang.Y.g(Y.java:2)",
            "KeyError: 'a'",
        ),
        (
            "[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03",
            "[PATH_NOT_FOUND] Path does not exist: file:/x.",
        ),
    ],
)
def test_said_last_is_the_sentence_without_the_stack(message, expected):
    """What a person needs of Spark's errors: whoever raised it, the text and no frames."""
    assert expected == last_message(message)
