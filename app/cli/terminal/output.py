"""Output for people: warnings, tables of rows, lists, progress.

Renderables and the two consoles; what is printed when is the caller's affair. Values come from users and
services, so they are never read as markup.
"""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import itertools
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any, Final

from rich.console import Console, Group
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from psoup.app.cli.terminal.phrases import in_command_words

ACCENT: Final = "cyan"
QUIET: Final = "dim"
_NUMERIC: Final = frozenset({"int64", "float64"})


class Output(Console):
    """A console that reports when the reader of its pipe is gone; rich would end the process silently.

    `on_closed` is then called once, and nothing is printed any more; without one, BrokenPipeError is
    raised and the command ends.
    """

    def __init__(self, *, on_closed: Callable[[], None] | None, **options: Any) -> None:  # noqa: ANN401 (rich's)
        """Make a console with rich's `options`."""
        super().__init__(highlight=False, **options)
        self._on_closed = on_closed

    def on_broken_pipe(self) -> None:
        """Do what the class says; rich calls this from within the failed write."""
        if self._on_closed is None:
            raise BrokenPipeError
        self.quiet = True
        self._on_closed()


def standard_output(on_closed: Callable[[], None] | None = None) -> Output:
    """Return a console on standard output, as wide as the terminal; in a pipe it never cuts.

    `on_closed` is for commands whose purpose is not what they print: see `Output`.
    """
    console = Output(on_closed=on_closed)
    if console.is_terminal:
        return console
    return Output(on_closed=on_closed, width=240, soft_wrap=True)


def standard_error() -> Console:
    """Return a console on standard error, for notes, warnings and errors."""
    return Output(on_closed=lambda: discard(sys.stderr), stderr=True, soft_wrap=True)


def discard(stream: IO[str]) -> None:
    """Discard further writes to a stream whose reader is gone: Python would fail at its exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def cell(value: object) -> Text:
    """Return a value as a table shows it: NULL dimmed, floats to twelve significant digits, one line of a text.

    Characters that cannot be seen are written as in Python: a line end would tear the table, and an escape sequence
    would be the terminal's to obey.
    """
    if value is None:
        return Text("NULL", style=QUIET)
    if isinstance(value, bool):
        return Text("true" if value else "false")
    if isinstance(value, float) and len(repr(value)) > 12:
        return Text(f"{value:.12g}")
    return Text("".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(value)))


def instant(text: object) -> str:
    """Return an RFC 3339 instant for reading: `2026-11-21 10:05:00.25`; other values unchanged."""
    if not isinstance(text, str) or not text.endswith("Z") or "T" not in text:
        return "-" if text is None else str(text)
    return text.removesuffix("Z").replace("T", " ").rstrip("0").removesuffix(".")


def rows_table(
    columns: Sequence[Mapping[str, Any]],
    rows: Iterable[Mapping[str, Any]],
    *,
    moment: Callable[[object], str] = instant,
    styles: Iterable[str] = (),
) -> Table:
    """Return rows of an answer as a table.

    Args:
        columns: name and type of each, as the query's description has them.
        rows: of the answer, as objects.
        moment: how a timestamp is written.
        styles: those of the first rows, in order; rows without one have none.
    """
    table = Table(header_style=f"bold {ACCENT}", pad_edge=False, box=None)
    for column in columns:
        table.add_column(
            Text(str(column["name"])),
            justify="right" if column.get("type") in _NUMERIC else "left",
            no_wrap=True,
        )
    for row, style in zip(rows, itertools.chain(styles, itertools.repeat("")), strict=False):
        values = ((column.get("type"), row.get(column["name"])) for column in columns)
        table.add_row(
            *(cell(moment(one) if kind == "timestamp" and one else one) for kind, one in values),
            style=style,
        )
    return table


def plain_table(
    headings: Sequence[str], rows: Iterable[Sequence[object]], *, right: str = ""
) -> Table:
    """Return a table of values; `right` names the headings of numbers, separated by blanks."""
    table = Table(header_style=f"bold {ACCENT}", pad_edge=False, box=None)
    numbers = right.split()
    for heading in headings:
        table.add_column(heading, justify="right" if heading in numbers else "left")
    for row in rows:
        table.add_row(*(cell(value) for value in row))
    return table


def warnings(found: Iterable[Mapping[str, Any]]) -> Group:
    """Return the warnings that came with a query."""
    return Group(
        *(
            Text.assemble(
                ("warning ", "bold yellow"),
                f"{one.get('code')}: {in_command_words(str(one.get('detail')))}",
            )
            for one in found
        )
    )


def failure(sentence: str) -> Text:
    """Return an error that has no problem body."""
    return Text.assemble(("error ", "bold red"), sentence)


def files_bar(console: Console, *, done: str, stays: bool = True) -> Progress:
    """Return a bar of bytes of files; its tasks have the fields `rows` and `rate`. `done` says what a share is of.

    Unless it `stays` it goes when it has ended: what follows on the screen says more.
    """
    return Progress(
        BarColumn(bar_width=None, complete_style=ACCENT),
        TaskProgressColumn(f"[progress.percentage]{{task.percentage:>3.0f}}% {done}"),
        DownloadColumn(binary_units=True),
        TextColumn("{task.fields[rows]}"),
        TextColumn("{task.fields[rate]}", style=QUIET),
        TimeRemainingColumn(compact=True),
        console=console,
        expand=True,
        transient=not stays,
    )
