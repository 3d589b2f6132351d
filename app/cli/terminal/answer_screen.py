"""A watched answer on a terminal: its newest rows, as many as fit when it is drawn."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from psoup.app.cli.terminal.output import QUIET, rows_table
from psoup.app.cli.terminal.row_changes import RowMark
from psoup.pipeline.wording import counted

_BESIDE_ROWS: Final = 2
"""Lines for the headings and the caption."""
_TEXT_WIDTH_MIN: Final = 12
"""Longer texts are cut to no less, and other values never: before that, columns on the right are left out."""
_GAP: Final = 2
"""Blanks between two columns."""
MARK: Final = {"name": "", "type": "string"}
"""The column of marks: no output of a query has this name."""


class AnswerScreen:
    """One reading of an answer, drawn for the present size of the terminal, and again when that changes."""

    def __init__(
        self,
        columns: Sequence[Mapping[str, Any]],
        rows: Sequence[Mapping[str, Any]],
        *,
        count: int,
        caption: Text,
        marks: Sequence[RowMark] = (),
    ) -> None:
        """Keep what is to be drawn.

        Args:
            columns: name and type of each.
            rows: the newest of the answer, oldest first, and those that have just left it; more than fit are no harm.
            count: rows of the whole answer.
            caption: one line about it.
            marks: what stands beside each row; () = nothing beside any.
        """
        self._columns = columns
        self._rows = list(zip(rows, marks or [RowMark()] * len(rows), strict=True))
        self._count = count
        self._caption = caption

    def __rich_console__(self, console: Console, _: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield lines that fit the present terminal in number and length."""
        width, height = console.size
        room = height - _BESIDE_ROWS
        if max(self._count, len(self._rows)) > room:
            room -= 1  # for the line that tells of those above
        shown = self._rows[-max(room, 1) :]
        above = self._count - sum(not mark.has_left for _, mark in shown)
        if above:
            yield _line(Text(f"{counted(above, 'row')} above", style=QUIET), width)
        rows = [{**row, MARK["name"]: mark.text} for row, mark in shown]
        columns = [*([MARK] if any(mark.text for _, mark in shown) else ()), *self._columns]
        widths = self._widths(console, columns, rows, width)
        table = rows_table(columns[: len(widths)], rows, styles=[mark.style for _, mark in shown])
        for column, its_width in zip(table.columns, widths, strict=True):
            column.width = its_width
        yield table
        left_out = len(columns) - len(widths)
        more = f"{counted(left_out, 'more column')} in a wider window  "
        yield _line(Text.assemble((more if left_out else "", QUIET), self._caption), width)

    @staticmethod
    def _widths(
        console: Console,
        columns: Sequence[Mapping[str, Any]],
        rows: Sequence[Mapping[str, Any]],
        width: int,
    ) -> list[int]:
        """Return the widths of the columns that fit, from the left; one at least."""
        wanted, widths = [], list[int]()
        spare = width + _GAP
        for column in columns:
            natural = console.measure(rows_table([column], rows)).maximum
            least = min(natural, _TEXT_WIDTH_MIN) if column.get("type") == "string" else natural
            if widths and least + _GAP > spare:
                break
            wanted.append(natural)
            widths.append(min(least, width))
            spare -= widths[-1] + _GAP
        for number, natural in enumerate(wanted):  # what is left goes to texts that were cut
            more = max(min(natural - widths[number], spare), 0)
            widths[number] += more
            spare -= more
        return widths


def _line(text: Text, width: int) -> Text:
    """Return the text, cut to one line."""
    text.truncate(width, overflow="ellipsis")
    return text
