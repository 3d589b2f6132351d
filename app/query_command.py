"""What `psoup query` and `psoup invoke` do: an answer as a table that may follow, or as data."""

import csv
import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from app.cli_common import OutputFormat, write_bytes, write_line
from app.terminal import QUIET, instant, rows_table, standard_error, standard_output, warnings
from pipeline.client import JsonObject, Service

TABLE_ROWS_DEFAULT: Final = 100
PAGE_ROWS: Final = 10_000
_IDS: Final = ({"name": "_id", "type": "string"}, {"name": "_x", "type": "timestamp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How an answer is to be shown. None = the default for where it goes."""

    now: str | None = None
    limit: int | None = None
    output: OutputFormat | None = None
    ids: bool = False
    every_s: float | None = None
    """Seconds between two looks; None = one look."""
    times: int | None = None


def register_and_show(
    service: Service,
    sql: str,
    view: View,
    *,
    name: str | None,
    materialize: str | None,
    keep: bool,
) -> None:
    """Register a query, show its answer, and remove it unless it is to be kept."""
    described = service.register(sql, name=name, materialize=materialize)
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


def show(service: Service, described: Mapping[str, Any], view: View) -> None:
    """Print the answer of a standing query, once or again and again."""
    console = standard_output()
    output = view.output or (OutputFormat.TABLE if console.is_terminal else OutputFormat.NDJSON)
    if output is not OutputFormat.TABLE:
        looks = 0
        while True:
            _write(service, str(described["id"]), output, view)
            looks += 1
            if not _look_again(view, looks):
                return
    if view.every_s is None:
        console.print(_table(service, described, view))
        return
    _watch(console, service, described, view)


def _watch(console: Console, service: Service, described: Mapping[str, Any], view: View) -> None:
    """Keep one table up to date on a terminal; elsewhere print one after the other."""
    looks = 1
    first = _table(service, described, view)
    if not console.is_terminal:
        console.print(first)
        while _look_again(view, looks):
            console.print(_table(service, described, view))
            looks += 1
        return
    try:
        with Live(first, console=console, auto_refresh=False, vertical_overflow="crop") as live:
            while _look_again(view, looks):
                live.update(_table(service, described, view), refresh=True)
                looks += 1
    except KeyboardInterrupt:
        return  # the way to stop watching, so no failure


def _look_again(view: View, looks: int) -> bool:
    """Return whether to look again, having waited for the moment."""
    if view.every_s is None or (view.times is not None and looks >= view.times):
        return False
    time.sleep(view.every_s)
    return True


def _table(service: Service, described: Mapping[str, Any], view: View) -> Group:
    limit = view.limit or TABLE_ROWS_DEFAULT
    envelope = service.invoke(str(described["id"]), **_parameters(view, limit))
    columns = [*(_IDS if view.ids else ()), *described["columns"]]
    rows = envelope["rows"]
    return Group(rows_table(columns, rows), _caption(envelope, shown=len(rows)))


def _caption(envelope: Mapping[str, Any], *, shown: int) -> Text:
    """Return one line about an answer: how many rows, of which window, as of when."""
    count = envelope["count"]
    window = envelope["window"]
    parts = [
        f"{count:,} rows" if shown == count else f"first {shown:,} of {count:,} rows (--limit)"
    ]
    if window["begin"] or window["end"]:
        parts.append(f"window {instant(window['begin'])} to {instant(window['end'])}")
    parts.append(f"now {instant(envelope['now'])}")
    parts.append(f"seq {envelope['seq']}")
    if envelope.get("complete_from"):
        parts.append(f"complete from {instant(envelope['complete_from'])}")
    return Text("  ".join(parts), style=QUIET)


def _write(service: Service, query_id: str, output: OutputFormat, view: View) -> None:
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


def _whole(service: Service, query_id: str, view: View) -> JsonObject:
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


def _parameters(view: View, limit: int) -> dict[str, str | int]:
    parameters: dict[str, str | int] = {"limit": min(limit, PAGE_ROWS)}
    if view.now is not None:
        parameters["now"] = view.now
    if not view.ids:
        parameters["meta"] = 0
    return parameters
