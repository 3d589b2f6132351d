"""What `psoup query` and `psoup invoke` do: an answer as a table that may follow, or as data."""

import csv
import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import orjson
from rich.console import Console, Group
from rich.text import Text

from psoup.app.cli.actions.following import (
    SCREEN_ROWS_MAX,
    LiveAnswer,
    Pace,
    noted_looks,
    signs_of,
)
from psoup.app.cli.actions.instants import notes_on_now
from psoup.app.cli.actions.watched_rows import WatchedRows
from psoup.app.cli.common import OutputFormat, write_bytes, write_line
from psoup.app.cli.terminal.answer_parts import caption_of, columns_of
from psoup.app.cli.terminal.answer_screen import MARK
from psoup.app.cli.terminal.output import rows_table, standard_error, standard_output, warnings
from psoup.client.calls import JsonObject, PsoupClient
from psoup.engine.query.parameters import Parameters

TABLE_ROWS_DEFAULT: Final = 100
PAGE_ROWS: Final = 10_000
LOOK_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How an answer is to be shown. None = the default for where it goes."""

    now: str | None = None
    limit: int | None = None
    output: OutputFormat | None = None
    ids: bool = False
    watch: bool = False
    """Whether to look again."""
    every_s: float | None = None
    """Seconds between two looks; None = a screen waits for changes, and others look every second."""
    times: int | None = None

    @property
    def look_s(self) -> float:
        """Return the seconds between two looks that are printed one below the other."""
        return LOOK_S if self.every_s is None else self.every_s


def register_and_show(
    service: PsoupClient,
    sql: str,
    view: View,
    *,
    params: Parameters,
    name: str | None,
    materialize: str | None,
    keep: bool,
) -> None:
    """Register a query, show its answer, and remove it unless it is to be kept."""
    described = service.register(sql, params=params, name=name, materialize=materialize)
    notes = standard_error()
    if described.get("warnings"):
        notes.print(warnings(described["warnings"]))
    try:
        show(service, described, view)
        if keep:
            notes.print(
                Text.assemble(
                    "standing: ",
                    (str(described["id"]), "bold"),
                    "  psoup invoke ",
                    str(described["id"]),
                )
            )
    finally:
        if not keep:
            service.remove(str(described["id"]))


def show(service: PsoupClient, described: Mapping[str, Any], view: View) -> None:
    """Print the answer of a standing query, once or again and again."""
    if view.now is not None:
        for note in notes_on_now(service, dict(described), view.now):
            standard_error().print(note)
    console = standard_output()
    output = view.output or (OutputFormat.TABLE if console.is_terminal else OutputFormat.NDJSON)
    if output is not OutputFormat.TABLE:
        looks = 0
        while True:
            _write(service, str(described["id"]), output, view)
            looks += 1
            if not _look_again(view, looks):
                return
    if not view.watch:
        limit = view.limit or TABLE_ROWS_DEFAULT
        envelope = service.invoke(str(described["id"]), **_parameters(view, limit))
        console.print(_table(described, view, envelope, envelope["rows"], part="first"))
    elif console.is_terminal and not console.is_dumb_terminal:
        _watch(console, service, described, view)
    else:
        _watch_in_tables(console, service, described, view)


def _watch(
    console: Console, service: PsoupClient, described: Mapping[str, Any], view: View
) -> None:
    """Keep the newest rows on the whole terminal up to date, with what enters and what leaves."""
    rows = _watched(service, described, view, most=SCREEN_ROWS_MAX)
    pace = Pace(every_s=view.every_s, times=view.times)
    LiveAnswer(console, columns_of(described, ids=view.ids), caption_of).run(rows, pace)


def _watch_in_tables(
    console: Console, service: PsoupClient, described: Mapping[str, Any], view: View
) -> None:
    """Print table after table: a sign stands beside rows that have entered, left or changed since the one before."""
    rows = _watched(service, described, view, most=TABLE_ROWS_DEFAULT)
    pace = Pace(every_s=view.look_s, times=view.times)
    for number, look in enumerate(noted_looks(rows, pace)):
        signs = signs_of(look) if number else {}
        left = look.left if number else []
        console.print(
            _table(
                described,
                view,
                look.envelope,
                list(rows.rows.values()),
                part="newest",
                left=left,
                signs=signs,
            )
        )


def _watched(
    service: PsoupClient, described: Mapping[str, Any], view: View, *, most: int
) -> WatchedRows:
    """Return the newest rows of an answer, to be watched; `most` where the view has no limit."""
    now = {} if view.now is None else {"now": view.now}
    newest = min(view.limit or most, PAGE_ROWS)
    return WatchedRows(service, str(described["id"]), most=newest, **now)


def _look_again(view: View, looks: int) -> bool:
    """Return whether to look again, having waited for the moment."""
    if not view.watch or (view.times is not None and looks >= view.times):
        return False
    time.sleep(view.look_s)
    return True


def _table(
    described: Mapping[str, Any],
    view: View,
    envelope: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    *,
    part: str,
    left: Sequence[Mapping[str, Any]] = (),
    signs: Mapping[str, str] = MappingProxyType({}),
) -> Group:
    """Return rows of an answer with their caption; `part` says which they are where they are not all.

    Before them stand those that have `left`; `signs` stand beside rows, by their `_id`.
    """
    count = envelope["count"]
    shown = None if len(rows) == count else f"{part} {len(rows):,} of {count:,} rows (--limit)"
    columns = columns_of(described, ids=view.ids)
    if signs:
        columns = [MARK, *columns]
        rows = [{**row, MARK["name"]: signs.get(row["_id"], "")} for row in (*left, *rows)]
    return Group(rows_table(columns, rows), caption_of(envelope, shown=shown))


def _write(service: PsoupClient, query_id: str, output: OutputFormat, view: View) -> None:
    """Write an answer as data, page after page, up to the limit."""
    if output is OutputFormat.JSON:
        write_line(_whole(service, query_id, view))
        return
    left = view.limit
    for number, page in enumerate(
        service.pages(query_id, format=output.value, **_parameters(view, left or PAGE_ROWS))
    ):
        header = 1 if output is OutputFormat.CSV else 0
        skipped = header if number else 0  # one header is enough
        if left is None:
            write_bytes(b"".join(page.content.splitlines(keepends=True)[skipped:]))
            continue
        lines, rows = _first_rows(page.content, output, left + header)
        write_bytes(b"".join(lines[skipped:]))
        left -= rows - header
        if left <= 0:
            return


def _first_rows(content: bytes, output: OutputFormat, most: int) -> tuple[list[bytes], int]:
    """Return the lines of the first `most` records of a page, and how many records those are."""
    lines = content.splitlines(keepends=True)
    if output is not OutputFormat.CSV:
        return lines[:most], min(len(lines), most)
    reader = csv.reader(line.decode() for line in lines)  # a quoted cell may hold line ends
    records = sum(1 for _ in itertools.islice(reader, most))
    return lines[: reader.line_num], records


def _whole(service: PsoupClient, query_id: str, view: View) -> JsonObject:
    """Return one envelope with the rows of all pages, up to the limit."""
    envelope: JsonObject = {}
    for page in service.pages(query_id, **_parameters(view, view.limit or PAGE_ROWS)):
        body = orjson.loads(page.content)
        if not envelope:
            envelope = body
        else:
            envelope["rows"] += body["rows"]
            envelope["next"] = body["next"]
        if view.limit is not None and len(envelope["rows"]) >= view.limit:
            envelope["rows"] = envelope["rows"][: view.limit]
            break
    return envelope


def _parameters(view: View, limit: int | None = None) -> dict[str, str | int]:
    parameters: dict[str, str | int] = {} if limit is None else {"limit": min(limit, PAGE_ROWS)}
    if view.now is not None:
        parameters["now"] = view.now
    if not view.ids:
        parameters["meta"] = 0
    return parameters
