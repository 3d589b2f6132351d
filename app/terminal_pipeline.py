"""What `psoup pipeline` shows: a line for each micro-batch, a bar for files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from app.terminal import ACCENT, QUIET, files_bar
from pipeline.spark.jobs.running import JobProgress


def micro_batch(done: JobProgress) -> Text:
    """Return one line: number, rows, rate, position, and all rows so far."""
    parts: list[str | tuple[str, str]] = [
        (f"{done.batch:>7,}", f"bold {ACCENT}"),
        f"  {done.rows:>12,} rows  {done.rows_per_s:>11,.0f} rows/s",
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
                rows=f"{done.rows_all:,} rows",
                rate=f"{done.rows_per_s:,.0f} rows/s{seq}",
            )

        yield report
