"""What `psoup load` shows: the stream's columns, a progress bar, a summary.

Where nobody watches (no terminal) the bar is a line now and then.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.text import Text

from app.terminal import ACCENT, QUIET, files_bar, plain_table
from pipeline.load import LoadPlan, LoadProgress

LINE_EVERY_S: Final = 2.0
"""Between two lines of progress where there is no terminal."""

Report = Callable[[LoadProgress], None]


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
    source = "inferred from the whole file" if plan.inferred else "as declared"
    console.print(
        Text.assemble(
            (plan.file.path.name, "bold"),
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
        f"{fresh:,} rows into {plan.request.stream} in {done.batches - done.skipped_batches:,} batches,"
        f" {seconds:.1f} s ({rate:,.0f} rows/s)",
    )
    if done.skipped_batches:
        text.append(
            f"; {done.skipped_rows:,} rows in {done.skipped_batches:,} batches were there already",
            QUIET,
        )
    console.print(text)


def warnings_of(plan: LoadPlan, done: LoadProgress) -> list[Text]:
    """Return what is likely a mistake, as the last batch shows it; the same for many batches where it lies in all.

    A first batch that the stream knows nothing of, though it has rows, is how a file comes in twice: loaded before with
    other options, or grown since.
    """
    found = list(done.warnings)
    if done.batches == 1 and not done.skipped_batches and plan.rows_before:
        found.append(
            f"the stream already holds {plan.rows_before:,} rows, none from this load. Where they are rows of"
            " this file, loaded with other options or before it grew, they are now stored twice."
        )
    return [Text.assemble(("warning ", "bold yellow"), one) for one in found]


@contextmanager
def progress_of(console: Console, plan: LoadPlan, clock: Callable[[], float]) -> Iterator[Report]:
    """Yield what is to be called after each batch.

    Args:
        console: where it is shown: a bar on a terminal, else a line every two seconds.
        plan: what is being loaded.
        clock: seconds that only grow.
    """
    if console.is_terminal:
        with files_bar(console, done="read") as bar:
            task = bar.add_task("", total=plan.file.size_bytes, rate="", rows="")
            started = clock()

            def update(done: LoadProgress) -> None:
                bar.update(
                    task,
                    completed=round(done.fraction * plan.file.size_bytes),
                    rows=f"{done.rows:,} rows",
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
                f"{share:>4} read, {done.rows:,} rows sent, {_rate(done, said - started)}"
            )

    yield say


def _rate(done: LoadProgress, seconds: float) -> str:
    rate = done.rows / seconds if seconds > 0 else 0.0
    skipped = f", {done.skipped_rows:,} there already" if done.skipped_rows else ""
    return f"{rate:,.0f} rows/s{skipped}"
