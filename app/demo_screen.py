"""What the demo shows: a header with the service's figures, and one panel for each standing query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from app.demo_queries import DemoQuery
from app.terminal import ACCENT, QUIET, rows_table

TWO_ACROSS_COLUMNS: Final = 76
"""From this width on there are two panels side by side."""
_HEADER_LINES: Final = 5
_PANEL_LINES_MIN: Final = 6
_SQL_LINES: Final = 4
"""What a panel gives to its query's text, and the blank line below it."""
_SQL_LINES_MIN: Final = 11
_SQL_COLUMNS_MIN: Final = 50
_COLOURS: Final = {
    "sliding": "green",
    "landmark": "yellow",
    "delayed": "magenta",
    "snapshot": "blue",
    "none": "white",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One standing query as it is shown: its latest answer, and how long that took."""

    query: DemoQuery
    described: Mapping[str, Any]
    envelope: Mapping[str, Any]
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Everything on the screen at one moment."""

    url: str
    shown: Sequence[Shown]
    waiting: Sequence[DemoQuery]
    tuples: int
    tuples_per_s: float
    elapsed_s: float
    seconds: float


@dataclass(frozen=True, slots=True)
class _Layout:
    """How panels are laid out on a terminal: `across` side by side, each `lines` high."""

    across: int
    lines: int
    fitting: int
    with_sql: bool

    @classmethod
    def of(cls, console: Console, panels: int) -> "_Layout":
        """Return the layout that shows the most; a small terminal does without the SQL."""
        across = 2 if console.width >= TWO_ACROSS_COLUMNS else 1
        room = console.height - _HEADER_LINES - 1
        lines = max(room // -(-panels // across), _PANEL_LINES_MIN)
        fitting = max(room // lines, 1) * across
        with_sql = lines >= _SQL_LINES_MIN and console.width >= across * _SQL_COLUMNS_MIN
        return cls(across, lines, fitting, with_sql)


def screen(frame: Frame, console: Console) -> Group:
    """Return the frame as large as the terminal allows; panels that do not fit are counted."""
    layout = _Layout.of(console, len(frame.shown) + len(frame.waiting))
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    for _ in range(layout.across):
        grid.add_column(ratio=1)
    cells: list[RenderableType] = [_panel(one, layout) for one in frame.shown]
    cells += [_waiting(query, frame.elapsed_s, layout) for query in frame.waiting]
    left_out = len(cells) - layout.fitting
    cells = cells[: layout.fitting]
    for first in range(0, len(cells), layout.across):
        row = cells[first : first + layout.across]
        grid.add_row(*row, *[""] * (layout.across - len(row)))
    parts: list[RenderableType] = [_header(frame), grid]
    if left_out > 0:
        parts.append(Text(f"{left_out} more in a larger window", style=QUIET))
    return Group(*parts)


def tables(frame: Frame) -> Group:
    """Return the frame one below the other, for where there is no terminal."""
    parts: list[RenderableType] = [
        Text(
            f"--- {frame.elapsed_s:.0f} s: {frame.tuples:,} tuples, {frame.tuples_per_s:,.0f}/s,"
            f" API docs at {frame.url}/docs"
        )
    ]
    for one in frame.shown:
        parts += [
            Text(f"\n{one.query.title} [{one.described['window']['kind']}]"),
            Text(one.query.sql),
            rows_table(one.described["columns"], one.envelope["rows"][-4:]),
            _footer(one),
        ]
    return Group(*parts)


def _header(frame: Frame) -> Panel:
    latest = frame.shown[-1].envelope if frame.shown else {}
    docs = Text.assemble(("API docs ", QUIET), (f"{frame.url}/docs", f"underline {ACCENT}"))
    figures = Text.assemble(
        (f"{frame.tuples:,}", "bold"), (" tuples  ", QUIET),
        (f"{frame.tuples_per_s:,.0f}", "bold"), (" tuples/s  seq ", QUIET),
        (str(latest.get("seq", "-")), "bold"), ("  NOW ", QUIET), _clock(latest.get("now")),
    )  # fmt: skip
    inside = Table.grid(expand=True)
    inside.add_column(ratio=1, no_wrap=True)
    inside.add_column(justify="right", no_wrap=True)
    inside.add_row(docs, Text(f"{len(frame.shown)} standing queries", style=QUIET))
    bar = ProgressBar(total=frame.seconds, completed=frame.elapsed_s, complete_style=ACCENT)
    left = Text(f"{frame.seconds - frame.elapsed_s:.0f} s left", style=QUIET)
    inside.add_row(figures, left)
    title = Text.assemble(("psoup ", f"bold {ACCENT}"), "a building's sensors")
    return Panel(
        Group(inside, bar), title=title, title_align="left", border_style=ACCENT, padding=(0, 1)
    )


def _panel(one: Shown, layout: _Layout) -> Panel:
    kind = str(one.described["window"]["kind"])
    colour = _COLOURS.get(kind, "white")
    above = _SQL_LINES if layout.with_sql else 0
    rows = one.envelope["rows"][-max(layout.lines - 3 - above, 1) :]
    table = rows_table(one.described["columns"], rows, moment=_clock)
    return Panel(
        Group(_sql(one.query.sql), Text(), table) if layout.with_sql else table,
        title=Text.assemble((one.query.title, "bold"), (f"  {kind}", colour)),
        title_align="left",
        subtitle=_footer(one, timed=layout.with_sql),
        subtitle_align="right",
        border_style=colour,
        height=layout.lines,
        padding=(0, 1),
    )


def _waiting(query: DemoQuery, elapsed_s: float, layout: _Layout) -> Panel:
    left_s = max(query.after_s - elapsed_s, 0.0)
    soon = Text(f"registered in {left_s:.0f} s", style=QUIET)
    return Panel(
        Group(_sql(query.sql), Text(), soon) if layout.with_sql else soon,
        title=Text(query.title, style="bold"),
        title_align="left",
        border_style=QUIET,
        height=layout.lines,
        padding=(0, 1),
    )


def _sql(sql: str) -> Syntax:
    return Syntax(sql, "sql", theme="ansi_dark", word_wrap=True, background_color="default")


def _footer(one: Shown, *, timed: bool = True) -> Text:
    window = one.envelope["window"]
    bounds = f"{_clock(window['begin'])} to {_clock(window['end'])}"
    spent = f"  {one.milliseconds:.1f} ms" if timed else ""
    return Text.assemble(
        (f"{one.envelope['count']:,}", "bold"), f" rows  {bounds}{spent}", style="default"
    )


def _clock(moment: object) -> str:
    """Return the time of day of an instant, to the tenth of a second."""
    return moment[11:21] if isinstance(moment, str) else "-"
