"""What `psoup follow` and `--watch` on a terminal do: show what enters an answer and what leaves it, for ever."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from psoup.app.cli.actions.beside import beside
from psoup.app.cli.actions.watched_rows import Look, WatchedRows
from psoup.app.cli.common import FollowFormat, write_bytes, write_line
from psoup.app.cli.terminal.answer_parts import caption_of, columns_of
from psoup.app.cli.terminal.answer_screen import AnswerScreen
from psoup.app.cli.terminal.output import QUIET, cell, instant, standard_error, standard_output
from psoup.app.cli.terminal.row_changes import RowChanges
from psoup.client.calls import JsonObject, PsoupClient
from psoup.client.errors import ServiceProblem, ServiceUnreachableError

SCREEN_ROWS_MAX: Final = 500
"""More than any terminal has lines: it may grow between two looks."""
WAIT_S: Final = 25.0
"""How long a look waits for a change: less than what proxies take for silence."""
AGAIN_S: Final = 1.0
"""Until a service is asked again that did not answer."""
RESIZED_LOOK_S: Final = 0.1
"""Between two looks at the size of the terminal."""
DRAWN_S: Final = 0.2
"""A screen stands for so long, however often something changes."""
AGED_S: Final = 1.0
"""A screen with rows that have come or gone is drawn anew so often: it shows how long ago."""
_META: Final = ("_id", "_x")
_SIGNS: Final = {"entered": "+", "left": "-", "changed": "~"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often a query is asked. `sleep` waits seconds, by `clock`; tests pass their own.

    Attributes:
        every_s: seconds between two looks; None = each look waits for a change.
        times: looks after which all ends; None = never.
    """

    every_s: float | None = None
    times: int | None = None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @property
    def wait_s(self) -> float:
        """Return how long a look waits for a change."""
        return WAIT_S if self.every_s is None else 0.0

    def rest(self, begun_s: float, *, envelope: JsonObject | None, is_news: bool) -> None:
        """Sleep until the next look after one that was begun then; `envelope` None = it had no answer."""
        if self.every_s is not None:
            self.sleep(self.every_s)
        elif envelope is None:
            self.sleep(AGAIN_S)
        elif not is_news and self.clock() - begun_s < WAIT_S:  # it did not let wait, being busy
            self.sleep((envelope["poll_after_ms"] or 1_000 * AGAIN_S) / 1_000)


def looks(
    look_once: Callable[[float], Look], pace: Pace, absent: Callable[[str], None]
) -> Iterator[Look]:
    """Yield look after look. A service that does not answer is asked again for ever, once it has answered.

    Args:
        look_once: looks, and waits so many seconds for a change: `WatchedRows.look`.
        pace: how often, and how many times.
        absent: told why where there was no answer to a look.

    Raises:
        ServiceProblem: the service refused for good: the query was removed.
        ServiceUnreachableError: nothing has answered the first look.
    """
    done, cursor = 0, None
    while True:
        begun_s, envelope, is_news = pace.clock(), None, False
        try:
            look = look_once(pace.wait_s)
        except (ServiceUnreachableError, ServiceProblem) as error:
            may_come_back = isinstance(error, ServiceUnreachableError) or error.retryable
            if not done or not may_come_back:
                raise
            absent(str(error))
        else:
            done += 1
            envelope = look.envelope
            is_news, cursor = envelope["cursor"] != cursor, envelope["cursor"]
            yield look
        if pace.times is not None and done >= pace.times:
            return
        pace.rest(begun_s, envelope=envelope, is_news=is_news)


def noted_looks(rows: WatchedRows, pace: Pace) -> Iterator[Look]:
    """Yield what `looks` does; standard error tells when the service does not answer, and when it does again."""
    notes = standard_error()
    told: list[str] = []

    def absent(why: str) -> None:
        if not told:
            notes.print(Text(f"{why} Asking again.", style=QUIET))
        told.append(why)

    for look in looks(rows.look, pace, absent):
        if told:
            notes.print(Text("The service answers again.", style=QUIET))
            told.clear()
        yield look


def signs_of(look: Look) -> Mapping[str, str]:
    """Return the sign of each row that has entered, left or changed at a look, by its `_id`."""
    changes = (("left", look.left), ("entered", look.entered), ("changed", look.changed))
    return {row["_id"]: _SIGNS[change] for change, rows in changes for row in rows}


def write_changes(rows: WatchedRows, pace: Pace, *, as_json: bool, only_new: bool) -> None:
    """Write a line for each row that has left, for each that has entered, and for each group that has changed.

    Args:
        rows: which are kept up to date.
        pace: how often, and how many times.
        as_json: NDJSON, else `+`, `-` or `~`, NOW, and the values by their names.
        only_new: nothing about the rows that are there at the beginning.
    """
    for number, look in enumerate(noted_looks(rows, pace)):
        for row in look.left:
            _write_change("left", row, look.envelope, as_json=as_json)
        for row in () if only_new and not number else look.entered:
            _write_change("entered", row, look.envelope, as_json=as_json)
        for row in look.changed:
            _write_change("changed", row, look.envelope, as_json=as_json)


def _write_change(change: str, row: JsonObject, envelope: JsonObject, *, as_json: bool) -> None:
    values = {name: value for name, value in row.items() if name not in _META}
    if as_json:
        meta = {name: row[name] for name in _META}
        place = {name: envelope[name] for name in ("seq", "now")}
        write_line({"change": change, **place, **meta, "row": values})
        return
    texts = (f"{name}={cell(value)}" for name, value in values.items())
    write_bytes(f"{_SIGNS[change]} {instant(envelope['now'])}  {'  '.join(texts)}\n".encode())


def follow_query(
    service: PsoupClient,
    described: Mapping[str, Any],
    pace: Pace,
    *,
    output: FollowFormat | None,
    only_new: bool,
) -> None:
    """Show what changes in the answer of a standing query; `output` None: as suits where it goes."""
    console = standard_output()
    is_screen = console.is_terminal and not console.is_dumb_terminal
    output = output or (FollowFormat.SCREEN if is_screen else FollowFormat.LINES)
    query_id = str(described["id"])
    if output is FollowFormat.SCREEN:
        rows = WatchedRows(service, query_id, most=SCREEN_ROWS_MAX)
        LiveAnswer(console, columns_of(described, ids=False), caption_of).run(rows, pace)
        return
    rows = WatchedRows(service, query_id, most=None)
    write_changes(rows, pace, as_json=output is FollowFormat.NDJSON, only_new=only_new)


class LiveAnswer:
    """An answer on the whole terminal; what was seen last stays on it at the end."""

    def __init__(
        self,
        console: Console,
        columns: list[Mapping[str, Any]],
        caption: Callable[[Mapping[str, Any]], Text],
    ) -> None:
        """Draw nothing yet.

        Args:
            console: a terminal.
            columns: name and type of each.
            caption: one line about an answer, given its envelope.
        """
        self._console = console
        self._columns = columns
        self._caption = caption
        self._changes = RowChanges()
        self._rows: Mapping[str, JsonObject] = {}
        self._envelope: JsonObject | None = None
        self._absent_since_s: float | None = None
        self._size = console.size
        self._drawn_s = 0.0

    def run(self, rows: WatchedRows, pace: Pace) -> None:
        """Show look after look until interrupted or all were had; drawn anew for another size of the terminal."""
        try:
            with Live(console=self._console, auto_refresh=False, screen=True) as live:

                def look(wait_s: float) -> Look:
                    return beside(
                        lambda: rows.look(wait_s),
                        lambda: self._keep_up(live),
                        every_s=RESIZED_LOOK_S,
                    )

                patient = replace(pace, sleep=lambda seconds: self._wait(live, seconds))
                for number, seen in enumerate(looks(look, patient, lambda _: self._miss(live))):
                    entered = seen.entered if number else ()
                    self._rows = rows.rows
                    self._changes.note(self._rows, entered, seen.left, time.monotonic())
                    self._envelope, self._absent_since_s = seen.envelope, None
                    self._draw(live)
                    if pace.every_s is None and number + 1 != pace.times:
                        self._wait(live, DRAWN_S)
        except KeyboardInterrupt:
            pass  # the way to stop watching, so no failure
        finally:
            if self._envelope is not None:
                self._console.print(self._screen())

    def _screen(self) -> AnswerScreen:
        assert self._envelope is not None  # noqa: S101 (what cannot happen)
        caption = self._caption(self._envelope)
        if self._absent_since_s is not None:
            seconds = time.monotonic() - self._absent_since_s
            caption = Text.assemble((f"no answer for {seconds:.0f} s  ", "bold yellow"), caption)
        shown = self._changes.shown(time.monotonic())
        return AnswerScreen(
            self._columns,
            [row for row, _ in shown],
            count=self._envelope["count"],
            caption=caption,
            marks=[mark for _, mark in shown],
        )

    def _draw(self, live: Live) -> None:
        self._drawn_s = time.monotonic()
        live.update(self._screen(), refresh=True)

    def _miss(self, live: Live) -> None:
        """Show that a look has had no answer."""
        if self._absent_since_s is None:
            self._absent_since_s = time.monotonic()
        self._draw(live)

    def _wait(self, live: Live, seconds: float) -> None:
        """Wait so long, and keep what is drawn as it has to be."""
        latest_s = time.monotonic() + seconds
        while (left_s := latest_s - time.monotonic()) > 0:
            time.sleep(min(left_s, RESIZED_LOOK_S))
            self._keep_up(live)

    def _keep_up(self, live: Live) -> None:
        """Draw the last look anew where the terminal has another size, or something drawn has grown older."""
        if self._envelope is None:
            return
        now_s = time.monotonic()
        is_aged = self._changes.are_marked or self._absent_since_s is not None
        if self._console.size != self._size or (is_aged and now_s - self._drawn_s >= AGED_S):
            self._size = self._console.size
            self._changes.note(self._rows, (), (), now_s)
            self._draw(live)
