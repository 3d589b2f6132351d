"""A job as a program of its own: for spark-submit, and for `python -m psoup.pipeline.spark.jobs.ingest`."""

import functools
import sys
from collections.abc import Callable
from typing import TypeVar

import typer

from psoup.pipeline.errors import PipelineError
from psoup.pipeline.spark.launch.arguments import command_of
from psoup.pipeline.spark.launch.job_run import Job, JobProgress, P, run_job
from psoup.pipeline.spark.launch.requests import (
    ArchiveRequest,
    BackfillRequest,
    HistoryRequest,
    IngestRequest,
)
from psoup.pipeline.wording import counted

R = TypeVar("R", IngestRequest, BackfillRequest, ArchiveRequest, HistoryRequest)


def run_alone(
    request: type[R], job: Job[R, P], *, line: Callable[[P], str], done: str = "micro-batch"
) -> None:
    """Run a job as the process's arguments say, a line for each micro-batch on standard output.

    Args:
        request: what the arguments make.
        job: the job's function.
        line: what is written of each thing that the job tells; nothing where it is empty.
        done: what is counted at the end beside rows.

    Ends the process: 0 as asked, 1 with a sentence on standard error where the job failed, 2 for arguments that
    cannot be.
    """

    def act(asked: R) -> None:
        end = run_job(job, asked, lambda told: _write(line(told)), quiet=False)
        _write(f"{counted(end.rows, 'row')} in {counted(end.batches, done)}")

    command = command_of(request, act)

    @functools.wraps(command)
    def run(**given: object) -> None:
        try:
            command(**given)
        except PipelineError as error:
            sys.stderr.write(f"error {error}\n")
            raise typer.Exit(1) from error

    typer.run(run)


def line_of(done: JobProgress) -> str:
    """Return a micro-batch's progress as one line of text."""
    seq = "" if done.seq is None else f", seq {done.seq:,}"
    share = f", {done.bytes_done / done.bytes_all:.0%} of the files" if done.bytes_all else ""
    return f"micro-batch {done.batch:,}: {counted(done.rows, 'row')}, {done.rows_per_s:,.0f} rows/s{seq}{share}"


def _write(line: str) -> None:
    if not line:
        return
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
