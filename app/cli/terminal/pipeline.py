"""What `psoup pipeline` shows: a line for each micro-batch or history, a bar for files or for Spark's tasks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from psoup.app.cli.terminal.output import ACCENT, QUIET, files_bar
from psoup.pipeline.spark.jobs.history import ArchiveAnswerProgress
from psoup.pipeline.spark.launch.job_run import JobProgress
from psoup.pipeline.wording import counted


def micro_batch(done: JobProgress) -> Text:
    """Return one line: number, rows, rate, position, and all rows so far."""
    parts: list[str | tuple[str, str]] = [
        (f"{done.batch:>7,}", f"bold {ACCENT}"),
        f"  {counted(done.rows, 'row'):>17}  {done.rows_per_s:>11,.0f} rows/s",
    ]
    if done.seq is not None:
        parts.append(f"  seq {done.seq:,}")
    share = f", {done.bytes_done / done.bytes_all:.0%} of the files" if done.bytes_all else ""
    parts.append((f"  {done.rows_all:,} in all{share}", QUIET))
    return Text.assemble(*parts)


@contextmanager
def backfill_bar(console: Console) -> Iterator[Callable[[JobProgress], None]]:
    """Yield what moves a bar of bytes of files, with rows, rate and position beside it."""
    with files_bar(console, done="stored") as bar:
        task = bar.add_task("", total=None, rows="", rate="")

        def report(done: JobProgress) -> None:
            seq = "" if done.seq is None else f", seq {done.seq:,}"
            bar.update(
                task,
                completed=done.bytes_done,
                total=done.bytes_all or None,
                rows=counted(done.rows_all, "row"),
                rate=f"{done.rows_per_s:,.0f} rows/s{seq}",
            )

        yield report


def one_history(told: ArchiveAnswerProgress) -> Text:
    """Return one line: which history, what became of it, rows, position, seconds, and why."""
    style = {"done": "green", "failed": "red"}.get(told.state, "yellow")
    rows = f"  {counted(told.rows, 'row'):>17}" if told.state == "done" else ""
    return Text.assemble(
        (told.history, f"bold {ACCENT}"),
        "  ",
        (told.state, style),
        f"{rows}  {told.seconds:,.1f} s  seq {told.seq:,}",
        (f"  {told.detail}" if told.detail else "", QUIET),
    )


@contextmanager
def history_bar(console: Console) -> Iterator[Callable[[ArchiveAnswerProgress], None]]:
    """Yield what prints a line for each history that has ended, below them a bar of the one that runs.

    Spark finds out while it works what there is to do: the bar's end moves.
    """
    columns = (
        TextColumn("{task.description}", style=QUIET),
        BarColumn(bar_width=None, complete_style=ACCENT),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} tasks"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, expand=True, transient=True) as bar:
        task = bar.add_task("", total=1, visible=False)

        def report(told: ArchiveAnswerProgress) -> None:
            if told.state == "running":
                total = max(told.of, 1)
                bar.update(
                    task, description=told.history, completed=told.done, total=total, visible=True
                )
                return
            bar.reset(task, visible=False)
            console.print(one_history(told))

        yield report
