"""The screen of the demo: the service's figures, and its queries: all in full, or in turn beside a list."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from psoup.app.cli.demo.queries import DemoQuery
from psoup.app.cli.terminal.output import ACCENT, QUIET, rows_table
from psoup.pipeline.wording import counted

_HEADER_LINES: Final = 5
_PANEL_LINES_MIN: Final = 11
"""Four lines of SQL, two about a late registration, the headings, two rows, the border."""
_PANEL_COLUMNS_MIN: Final = 56
_SQL_LINES: Final = 4
_KIND_COLUMNS_MIN: Final = 70
"""In a narrower list the kinds of windows are left out, so that no title is cut."""
MARKED_S: Final = 12.0
"""A query that was registered over old data is marked for so long."""
FOCUS_S: Final = 6.0
"""On a terminal too small for all queries each is shown in full for so long, one after the other."""
_PLAIN_ROWS: Final = 5
"""Rows of an answer where there is no terminal."""
_WINDOWS: Final = {
    "sliding": "sliding window: both its ends move with the clock",
    "landmark": "landmark window: it begins at an instant that stays, and ends now",
    "delayed": "delayed window: it moves some seconds behind the clock, when late readings are in",
}
_COLOURS: Final = {
    "sliding": "green",
    "landmark": "yellow",
    "delayed": "magenta",
    "snapshot": "blue",
    "none": "white",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """The first answer of a query that was registered while the stream ran: `rows` rows, all older than the query."""

    after_s: float
    rows: int
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownQuery:
    """One standing query on the screen: its latest answer, and the time that answer took."""

    query: DemoQuery
    described: Mapping[str, Any]
    envelope: Mapping[str, Any]
    milliseconds: float
    late: Late | None = None

    @property
    def kind(self) -> str:
        """The kind of its window."""
        return str(self.described["window"]["kind"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Everything on the screen at one moment."""

    console: str
    shown: Sequence[ShownQuery]
    waiting: Sequence[DemoQuery]
    tuples: int
    tuples_per_s: float
    elapsed_s: float
    seconds: float

    def is_marked(self, one: ShownQuery) -> bool:
        """Return whether a query was registered over old data a short while ago."""
        return one.late is not None and self.elapsed_s - one.late.after_s < MARKED_S


def screen(frame: Frame, console: Console) -> Group:
    """Return the frame as large as the terminal: all queries in full, or a list of them and one in full at a time."""
    panels = len(frame.shown) + len(frame.waiting)
    room = console.height - _HEADER_LINES - 1
    for across in range(1, 4):
        lines = room // -(-panels // across)
        if lines >= _PANEL_LINES_MIN and console.width >= across * _PANEL_COLUMNS_MIN:
            return Group(_header(frame), _grid(frame, across, lines))
    listed = overview(frame, with_kinds=console.width >= _KIND_COLUMNS_MIN)
    parts: list[RenderableType] = [_header(frame), listed]
    lines = room - panels - 1  # its headings
    if frame.shown and lines > 3:
        parts.append(_panel(frame, _focused(frame), lines))
    return Group(*parts)


def overview(frame: Frame, *, with_kinds: bool = True) -> Table:
    """Return all queries in a list: rows of the answer, and how long it took."""
    table = Table(header_style=f"bold {ACCENT}", pad_edge=False, box=None)
    table.add_column("standing query", no_wrap=True)
    if with_kinds:
        table.add_column("window", no_wrap=True)
    for heading in ("rows", "answered in"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in frame.shown:
        colour = _COLOURS.get(one.kind, "white")
        style = "bold reverse" if frame.is_marked(one) else ""
        cells = [Text(one.query.title, style=style), Text(one.kind, style=colour)]
        figures = (Text(f"{one.envelope['count']:,}"), Text(_took(one)))
        table.add_row(*cells[: 1 + with_kinds], *figures)
    for query in frame.waiting:
        left_s = max(query.after_s - frame.elapsed_s, 0.0)
        cells = [Text(query.title, style=QUIET), Text()]
        table.add_row(*cells[: 1 + with_kinds], Text(), Text(f"in {left_s:.0f} s", style=QUIET))
    return table


def tables(frame: Frame, *, known: Collection[str] = ()) -> Group:
    """Return the parts of the frame one below the other, for output that is no terminal.

    The queries whose titles are `known` were told with their text before.
    """
    parts: list[RenderableType] = [
        Text(
            f"\n--- after {frame.elapsed_s:.0f} s: {counted(frame.tuples, 'row')} have come,"
            f" {frame.tuples_per_s:,.0f} a second now"
        )
    ]
    for one in frame.shown:
        parts.append(Text(f"\n{one.query.title}"))
        if one.query.title not in known:
            parts += [Text(_WINDOWS.get(one.kind, one.kind)), Text(one.query.sql)]
            parts += [] if one.late is None else [Text(_told(one.late))]
        rows = _fitting(one, _PLAIN_ROWS)
        parts += [rows_table(one.described["columns"], rows), _said_of(one, len(rows))]
    return Group(*parts)


def _said_of(one: ShownQuery, shown: int) -> Text:
    """Return a line about an answer of which so many rows are shown."""
    window, count = one.envelope["window"], one.envelope["count"]
    part = "the newest" if one.query.newest_last else "the first"
    rows = counted(count, "row") if shown == count else f"{part} {shown} of {counted(count, 'row')}"
    bounds = f"{_clock(window['begin'])} to {_clock(window['end'])}"
    return Text(f"({rows}; window {bounds}; answered in {_took(one)})")


def _focused(frame: Frame) -> ShownQuery:
    """Return the query to be shown in full: the one that has just come, else each in its turn."""
    for one in frame.shown:
        if frame.is_marked(one):
            return one
    return frame.shown[int(frame.elapsed_s / FOCUS_S) % len(frame.shown)]


def _grid(frame: Frame, across: int, lines: int) -> Table:
    """Return a panel for each query, `across` side by side, each `lines` high."""
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    for _ in range(across):
        grid.add_column(ratio=1)
    cells: list[RenderableType] = [_panel(frame, one, lines) for one in frame.shown]
    cells += [_waiting(query, frame.elapsed_s, lines) for query in frame.waiting]
    for first in range(0, len(cells), across):
        row = cells[first : first + across]
        grid.add_row(*row, *[""] * (across - len(row)))
    return grid


def _told(late: Late) -> str:
    return (
        f"registered {late.after_s:.0f} s after the start, over data that was there before:"
        f" {late.rows:,} rows in its first answer, in {late.milliseconds:.1f} ms"
    )


def _header(frame: Frame) -> Panel:
    latest = frame.shown[-1].envelope if frame.shown else {}
    page = Text.assemble(("console ", QUIET), (frame.console, f"underline {ACCENT}"))
    figures = Text.assemble(
        (f"{frame.tuples:,}", "bold"), (" tuples  ", QUIET),
        (f"{frame.tuples_per_s:,.0f}", "bold"), (" tuples/s  seq ", QUIET),
        (str(latest.get("seq", "-")), "bold"), ("  NOW ", QUIET), _clock(latest.get("now")),
    )  # fmt: skip
    inside = Table.grid(expand=True)
    inside.add_column(ratio=1, no_wrap=True)
    inside.add_column(justify="right", no_wrap=True)
    inside.add_row(page, Text(f"{len(frame.shown)} standing queries", style=QUIET))
    bar = ProgressBar(total=frame.seconds, completed=frame.elapsed_s, complete_style=ACCENT)
    left = Text(f"{frame.seconds - frame.elapsed_s:.0f} s left", style=QUIET)
    inside.add_row(figures, left)
    title = Text.assemble(("psoup ", f"bold {ACCENT}"), "a building's sensors")
    return Panel(
        Group(inside, bar), title=title, title_align="left", border_style=ACCENT, padding=(0, 1)
    )


def _panel(frame: Frame, one: ShownQuery, lines: int) -> Panel:
    """Return one query in full, `lines` high: its text and its newest rows."""
    marked = frame.is_marked(one)
    colour = _COLOURS.get(one.kind, "white")
    above: list[RenderableType] = [_sql(one.query.sql)]
    if one.late is not None:
        above.append(Text(_told(one.late), style=f"bold {colour}" if marked else QUIET))
    rows = _fitting(one, max(lines - 3 - _SQL_LINES - len(above) + 1, 1))
    table = rows_table(one.described["columns"], rows, moment=_clock)
    return Panel(
        Group(*above, table),
        title=Text.assemble((one.query.title, "bold reverse" if marked else "bold")),
        title_align="left",
        subtitle=Text.assemble((one.kind, colour), "  ", _footer(one)),
        subtitle_align="right",
        border_style=f"bold {colour}" if marked else colour,
        height=lines,
        padding=(0, 1),
    )


def _fitting(one: ShownQuery, count: int) -> Sequence[Mapping[str, Any]]:
    """Return the rows of an answer that are shown: so many of its end, or of its beginning where that says most."""
    rows: Sequence[Mapping[str, Any]] = one.envelope["rows"]
    return rows[-count:] if one.query.newest_last else rows[:count]


def _waiting(query: DemoQuery, elapsed_s: float, lines: int) -> Panel:
    left_s = max(query.after_s - elapsed_s, 0.0)
    soon = f"registered in {left_s:.0f} s, over the data that is there by then"
    return Panel(
        Group(_sql(query.sql), Text(), Text(soon, style=QUIET)),
        title=Text(query.title, style="bold"),
        title_align="left",
        border_style=QUIET,
        height=lines,
        padding=(0, 1),
    )


def _sql(sql: str) -> Syntax:
    return Syntax(sql, "sql", theme="ansi_dark", word_wrap=True, background_color="default")


def _footer(one: ShownQuery) -> Text:
    window = one.envelope["window"]
    bounds = f"{_clock(window['begin'])} to {_clock(window['end'])}"
    return Text.assemble(
        (f"{one.envelope['count']:,}", "bold"), f" rows  {bounds}  {_took(one)}", style="default"
    )


def _took(one: ShownQuery) -> str:
    return f"{one.milliseconds:.1f} ms"


def _clock(moment: object) -> str:
    """Return the time of day of an instant, to the tenth of a second."""
    return moment[11:21] if isinstance(moment, str) else "-"
