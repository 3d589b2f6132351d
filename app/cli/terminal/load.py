"""What `psoup load` shows: how far it has looked, the stream's columns, a progress bar, a summary.

Where nobody watches (no terminal) the bar is a line now and then.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.filesize import decimal
from rich.progress import Progress, TaskID
from rich.text import Text

from psoup.app.cli.terminal.output import ACCENT, QUIET, files_bar, plain_table
from psoup.app.cli.terminal.phrases import in_command_words
from psoup.pipeline.load.plan import LoadPlan, SurveyProgress
from psoup.pipeline.load.transfer import LoadProgress
from psoup.pipeline.wording import counted

LOOK_EVERY_S: Final = 0.1
"""Between two steps of the bar while files are looked at."""
LINE_EVERY_S: Final = 2.0
"""Between two lines of progress where there is no terminal."""

Report = Callable[[LoadProgress], None]


@contextmanager
def copying(console: Console) -> Iterator[Callable[[str, int], None]]:
    """Yield what is to be called while a pipe is copied, with its name and the bytes so far."""
    if not console.is_terminal:
        yield lambda _name, _bytes: None
        return
    status = console.status("")

    def show(name: str, copied: int) -> None:
        status.update(Text(f"reading {name}: {decimal(copied)}"))
        status.start()

    try:
        yield show
    finally:
        status.stop()


@contextmanager
def looking(
    console: Console, progress: SurveyProgress, clock: Callable[[], float]
) -> Iterator[None]:
    """Show the progress of the survey of the files inside the block: a bar on a terminal, else a line at times.

    The block is busy with the files, so another thread reads `progress`.
    """
    if console.is_terminal:
        with files_bar(console, done="looked at", stays=False) as bar:
            task = bar.add_task("", total=None, rate="", rows="")
            with _polled(LOOK_EVERY_S, lambda: _advance(bar, task, progress)):
                yield
            _advance(bar, task, progress)
        return
    started = clock()

    def say() -> None:
        if clock() - started >= LINE_EVERY_S and progress.total_bytes:
            console.print(f"{progress.done_bytes / progress.total_bytes:>4.0%} looked at")

    with _polled(LINE_EVERY_S, say):
        yield


def _advance(bar: Progress, task: TaskID, progress: SurveyProgress) -> None:
    bar.update(task, total=progress.total_bytes or None, completed=progress.done_bytes)


@contextmanager
def _polled(every_s: float, act: Callable[[], None]) -> Iterator[None]:
    """Call `act` every so often in a thread of its own until the block ends."""
    ended = threading.Event()

    def poll() -> None:
        while not ended.wait(every_s):
            act()

    thread = threading.Thread(target=poll, name="psoup-look", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def show_plan(console: Console, plan: LoadPlan) -> None:
    """Print the columns as they will be, and where they come from."""
    inferred = {column.name: column for column in plan.inferred}
    rows = []
    for column in plan.columns:
        found = inferred.get(column.name)
        remark = "the tuple time" if column.name == plan.time else ""
        if found is not None:
            empty = f"{found.nulls:,} empty" if found.nulls else ""
            remark = "; ".join(part for part in (remark, empty, found.note) if part)
        rows.append((column.name, column.type.value, "" if column.nullable else "not null", remark))
    files = plan.files[0].source.name if len(plan.files) == 1 else f"{len(plan.files):,} files"
    whole = "the whole file" if len(plan.files) == 1 else "all of them"
    source = f"inferred from {whole}" if plan.inferred else "as declared"
    console.print(
        Text.assemble(
            (files.rpartition("/")[2], "bold"),
            " -> ",
            (plan.request.stream, f"bold {ACCENT}"),
            (f"  columns {source}", QUIET),
        )
    )
    console.print(plain_table(("column", "type", "", ""), rows))
    for token in sorted({c.witness for c in plan.inferred if _may_mean_null(c.witness)}):
        names = ", ".join(c.name for c in plan.inferred if c.witness == token)
        console.print(
            Text(f"--null {token} reads {token} as NULL and keeps the type of {names}", QUIET)
        )
    for copy, original in plan.copies:
        console.print(Text(f"{copy} holds the same bytes as {original}: left out", "yellow"))


def _may_mean_null(witness: str) -> bool:
    """Return whether a value among numbers or times is likely a word for nothing: NA, null, -."""
    return 0 < len(witness) <= 8 and not any(character.isdigit() for character in witness)


def notes_of(plan: LoadPlan) -> list[Text]:
    """Return what was decided about the file that the user may not expect, to be shown before the first batch."""
    return [Text.assemble(("note ", f"bold {ACCENT}"), one) for one in plan.notes]


def show_summary(console: Console, plan: LoadPlan, done: LoadProgress, seconds: float) -> None:
    """Print what was loaded, and how fast."""
    fresh = done.rows - done.skipped_rows
    rate = fresh / seconds if seconds > 0 else 0.0
    text = Text.assemble(
        ("loaded ", "bold green"),
        f"{counted(fresh, 'row')} into {plan.request.stream} in"
        f" {counted(done.batches - done.skipped_batches, 'batch')}, {seconds:.1f} s ({rate:,.0f} rows/s)",
    )
    if done.skipped_batches:
        were = "was" if done.skipped_rows == 1 else "were"
        text.append(
            f"; {counted(done.skipped_rows, 'row')} in {counted(done.skipped_batches, 'batch')} {were} there already",
            QUIET,
        )
    console.print(text)


def warnings_of(done: LoadProgress) -> list[Text]:
    """Return what is likely a mistake, as the last step shows it, with the option to pass.

    Nothing of instants that look like counts of another unit: `notes_of` has told of numbers that are read so, and
    dates of 1970 that a file writes out are meant.
    """
    found = []
    for one in done.warnings:
        detail = one["detail"]
        if one["code"] == "timestamp-unit":
            continue
        if one["code"] == "no-time-column":
            detail = f"{detail}, or pass --time to psoup load"
        found.append(Text.assemble(("warning ", "bold yellow"), in_command_words(detail)))
    return found


@contextmanager
def progress_of(console: Console, plan: LoadPlan, clock: Callable[[], float]) -> Iterator[Report]:
    """Yield what is to be called after each batch.

    Args:
        console: where it is shown: a bar on a terminal, else a line every two seconds.
        plan: what is being loaded.
        clock: seconds that only grow.
    """
    if console.is_terminal:
        with files_bar(console, done="loaded") as bar:
            task = bar.add_task("", total=plan.size_bytes, rate="", rows="")
            started = clock()

            def update(done: LoadProgress) -> None:
                bar.update(
                    task,
                    completed=math.floor(done.fraction * plan.size_bytes),
                    rows=counted(done.rows, "row"),
                    rate=_rate(done, clock() - started),
                )

            yield update
        return
    started = said = clock()

    def say(done: LoadProgress) -> None:
        nonlocal said
        if clock() - said >= LINE_EVERY_S:
            said = clock()
            share = f"{done.fraction:.0%}"
            console.print(
                f"{share:>4} loaded, {counted(done.rows, 'row')} sent, {_rate(done, said - started)}"
            )

    yield say


def _rate(done: LoadProgress, seconds: float) -> str:
    rate = done.rows / seconds if seconds > 0 else 0.0
    skipped = f", {done.skipped_rows:,} there already" if done.skipped_rows else ""
    return f"{rate:,.0f} rows/s{skipped}"
