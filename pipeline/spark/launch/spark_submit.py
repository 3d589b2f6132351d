"""A job as a program: for spark-submit, and for `python -m psoup.pipeline.spark.jobs.ingest`."""

import functools
import sys
from collections.abc import Callable
from typing import TypeVar

import typer

from psoup.client.errors import PsoupError
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


def run_as_program(
    request: type[R], job: Job[R, P], *, line: Callable[[P], str], done: str = "micro-batch"
) -> None:
    """Run a job with the process's arguments; write a line for each micro-batch to standard output.

    Args:
        request: the class whose fields are the arguments.
        job: the job's function.
        line: returns the line for a progress; an empty one is not written.
        done: noun of the total beside rows.

    Ends the process: 0 if the job ended, 1 with a sentence on standard error if it failed, 2 for wrong arguments.
    """

    def act(given: R) -> None:
        end = run_job(job, given, lambda progress: _write(line(progress)), quiet=False)
        _write(f"{counted(end.rows, 'row')} in {counted(end.batches, done)}")

    command = command_of(request, act)

    @functools.wraps(command)
    def run(**given: object) -> None:
        try:
            command(**given)
        except PsoupError as error:
            sys.stderr.write(f"error {error}\n")
            raise typer.Exit(1) from error

    typer.run(run)


def line_of(progress: JobProgress) -> str:
    """Return the progress of a micro-batch as one line of text."""
    seq = "" if progress.seq is None else f", seq {progress.seq:,}"
    share = (
        f", {progress.bytes_done / progress.bytes_all:.0%} of the files"
        if progress.bytes_all
        else ""
    )
    rows = counted(progress.rows, "row")
    return f"micro-batch {progress.batch:,}: {rows}, {progress.rows_per_s:,.0f} rows/s{seq}{share}"


def _write(line: str) -> None:
    if not line:
        return
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
