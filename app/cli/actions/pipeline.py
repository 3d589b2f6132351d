"""What `psoup pipeline` does around a job: shows each micro-batch, and sums up.

The rows are the purpose, what is printed is not: where nobody reads it any more, the job goes on.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.text import Text

from psoup.app.cli.terminal.output import QUIET, Output, discard, standard_error, standard_output
from psoup.app.cli.terminal.pipeline import backfill_bar, history_bar, micro_batch, one_history
from psoup.pipeline.spark.jobs.archive import archive
from psoup.pipeline.spark.jobs.backfill import backfill
from psoup.pipeline.spark.jobs.history import ArchiveAnswerProgress, history
from psoup.pipeline.spark.jobs.ingest import ingest
from psoup.pipeline.spark.launch.job_run import Job, JobEnd, JobProgress, P, run_job
from psoup.pipeline.spark.launch.requests import (
    ArchiveRequest,
    BackfillRequest,
    HistoryRequest,
    IngestRequest,
)
from psoup.pipeline.wording import counted

R = TypeVar("R", IngestRequest, BackfillRequest, ArchiveRequest, HistoryRequest)


def run_ingest(request: IngestRequest) -> None:
    """Bring a source into a stream and print what happens; Ctrl-C is its usual end.

    Raises:
        PsoupError: any of them.
    """
    console = _console()
    end = _run(console, ingest, request, lambda done: console.print(micro_batch(done)))
    _sum_up(console, end, f"into {request.stream}")


def run_backfill(request: BackfillRequest) -> None:
    """Load files into a stream behind a progress bar, and print what happened.

    Raises:
        PsoupError: any of them.
        KeyboardInterrupt: it was stopped before its end.
    """
    console = _console()
    with _bar(console) as report:
        end = _run(console, backfill, request, report)
    _sum_up(console, end, f"into {request.stream}")
    if end.stopped:
        _heard(console).print("the same command goes on from there", style="yellow")
        raise KeyboardInterrupt


def run_archive(request: ArchiveRequest) -> None:
    """Archive a stream and print what happens; with --every Ctrl-C is its usual end.

    Raises:
        PsoupError: any of them.
    """
    console = _console()
    end = _run(console, archive, request, lambda done: console.print(micro_batch(done)))
    _sum_up(console, end, f"of {request.stream} into {request.path}")


def run_history(request: HistoryRequest) -> None:
    """Answer histories and print what becomes of each, with a bar while it runs; Ctrl-C is its usual end.

    Raises:
        PsoupError: any of them.
    """
    console = _console()
    with _histories(console) as report:
        end = _run(console, history, request, report)
    ended = "stopped after" if end.stopped else "done:"
    text = f"{counted(end.rows, 'row')} in {counted(end.batches, 'answer')}"
    _heard(console).print(Text.assemble((f"{ended} ", "bold green"), text))


def _run(console: Output, job: Job[R, P], request: R, report: Callable[[P], None]) -> JobEnd:
    console.print(Text("starting Spark", style=QUIET))
    return run_job(job, request, report, quiet=True)


@contextmanager
def _bar(console: Output) -> Iterator[Callable[[JobProgress], None]]:
    """Yield what tells of a backfill: a bar on a terminal, else a line for each commit."""
    if not console.is_terminal:
        yield lambda done: console.print(micro_batch(done))
        return
    with backfill_bar(console) as report:
        yield report


@contextmanager
def _histories(console: Output) -> Iterator[Callable[[ArchiveAnswerProgress], None]]:
    """Yield what tells of histories: a line for each that has ended, and on a terminal a bar for the one that runs."""
    if console.is_terminal:
        with history_bar(console) as report:
            yield report
        return

    def tell(told: ArchiveAnswerProgress) -> None:
        if told.state != "running":
            console.print(one_history(told))

    yield tell


def _sum_up(console: Output, end: JobEnd, where: str) -> None:
    ended = "stopped after" if end.stopped else "done:"
    _heard(console).print(
        Text.assemble(
            (f"{ended} ", "bold green"),
            f"{counted(end.rows, 'row')} {where} in {counted(end.batches, 'micro-batch')}",
        )
    )


def _console() -> Output:
    return standard_output(on_closed=_go_on)


def _go_on() -> None:
    discard(sys.stdout)
    standard_error().print("nobody reads the progress any more; the job goes on", style="yellow")


def _heard(console: Output) -> Console:
    """Return a console that somebody may still read."""
    return standard_error() if console.quiet else console
