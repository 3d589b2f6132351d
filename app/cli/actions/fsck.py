"""`psoup fsck`: what a store keeps, computed anew from its tuples and compared. Nothing is changed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.text import Text

from psoup.app.cli.terminal.output import ACCENT, QUIET, plain_table
from psoup.engine.results.contract import Checkpoint
from psoup.engine.tuples.batch import Seq
from psoup.engine.verify.difference import ComparedCounts, Difference, Kept
from psoup.engine.verify.verification import Verification
from psoup.pipeline.wording import counted

DIFFERENCES_SHOWN_MAX: Final = 20


class Inspected(Kept, Protocol):
    """A store that is read and not written."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The records that are compared, of one instant."""
        ...

    @property
    def head(self) -> Seq:
        """The last operation of the log at that instant."""
        ...

    @property
    def keys_compared(self) -> bool:
        """Whether keys and records could be compared, which takes a moment without a publish."""
        ...

    def structure(self) -> Iterator[Difference]:
        """Yield what is wrong with the log and with how keys refer to records."""
        ...


def compare(store: Inspected, console: Console) -> list[Difference]:
    """Compare everything, showing how far it is, print the table, and return what differs.

    Cost: memory for all tuples of the store; time to evaluate each clause over them.
    """
    checkpoint = store.checkpoint
    console.print(
        Text.assemble(
            ("comparing ", "bold"),
            f"generation {checkpoint.cut.gen}, operation {checkpoint.cut.seq}",
            (f"  {store.head - checkpoint.cut.seq} committed and not applied", QUIET),
        )
    )
    verification = Verification(checkpoint, store)
    with _bar(console, verification.count + 1) as advance:
        differences = list(store.structure())
        advance()
        for found in verification.steps():
            differences += found
            advance()
    _show(console, verification.tally, differences, keys_compared=store.keys_compared)
    return differences


@contextmanager
def _bar(console: Console, count: int) -> Iterator[Callable[[], None]]:
    """Yield what is to be called after each step; nobody watches where there is no terminal."""
    columns = (BarColumn(bar_width=None, complete_style=ACCENT), MofNCompleteColumn())
    progress = Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        expand=True,
        transient=True,
        disable=not console.is_terminal,
    )
    with progress as bar:
        task = bar.add_task("", total=count)
        yield lambda: bar.advance(task)


def _show(
    console: Console, tally: ComparedCounts, differences: list[Difference], *, keys_compared: bool
) -> None:
    rows = [
        (
            "streams",
            tally.streams,
            f"{counted(tally.batches, 'batch')}, {counted(tally.tuples, 'tuple')}",
        ),
        ("queries", tally.queries, counted(tally.clauses, "clause")),
        (
            "chunks",
            tally.chunks,
            f"{counted(tally.hits, 'hit')}; {tally.unkept:,} of which the columns tell",
        ),
        ("composites", tally.composites, f"{counted(tally.suspended, 'clause')} suspended"),
        ("left out", tally.left_out, "clauses of damaged streams, or whose join is too large"),
        ("moved", tally.moved, "clauses that were dropped or lost tuples meanwhile"),
        ("differences", len(differences), ""),
    ]
    table = plain_table(
        ("compared", "number", ""),
        [(what, f"{n:,}", text) for what, n, text in rows],
        right="number",
    )
    console.print(table)
    if not keys_compared:
        console.print(Text("keys were not compared: results were being published", QUIET))
    for one in differences[:DIFFERENCES_SHOWN_MAX]:
        console.print(Text.assemble((f"{one.what} ", "bold red"), _told(one)))
    if len(differences) > DIFFERENCES_SHOWN_MAX:
        console.print(Text(f"and {len(differences) - DIFFERENCES_SHOWN_MAX:,} more", QUIET))


def _told(one: Difference) -> str:
    """Return where a difference is, and what it is."""
    places = {
        "stream": one.stream,
        "query": one.query,
        "clause": one.clause,
        "chunk": one.chunk,
        "operation": one.seq,
    }
    said = [f"{name} {value}" for name, value in places.items() if value is not None]
    return f"{', '.join(said)}: {one.detail}" if said else one.detail
