"""What `psoup streams`, `queries` and `status` do: lists and figures as tables, or as data."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Console

from app.cli_common import ListFormat, write_line
from app.terminal import instant, plain_table, standard_output
from pipeline.client import JsonObject, Service


def show_streams(service: Service, output: ListFormat | None) -> None:
    """Print every stream: its columns, clock, rows and times."""
    console = standard_output()
    if _written(console, output, service.streams()):
        return
    rows = [
        (
            one["name"],
            f"{one['rows']:,}",
            f"{one['bytes']:,}",
            f"{one['queries']:,}",
            instant(one.get("newest")),
            instant(one.get("complete_from")),
            f"{one['time'] or 'arrival'} ({one['clock']})",
            ", ".join(f"{column['name']} {column['type']}" for column in one["columns"]),
        )
        for one in service.streams()
    ]
    headings = ("stream", "rows", "bytes", "queries", "newest", "complete from", "time", "columns")
    console.print(plain_table(headings, rows, right="rows bytes queries"))


def show_queries(service: Service, output: ListFormat | None) -> None:
    """Print every standing query: handle, name, window, text."""
    console = standard_output()
    if _written(console, output, service.queries()):
        return
    rows = [
        (one["id"], one.get("name") or "", one["window"]["kind"], one["state"], one["canonical"])
        for one in service.queries()
    ]
    console.print(plain_table(("handle", "name", "window", "state", "query"), rows))


def show_status(service: Service, output: ListFormat | None) -> None:
    """Print the service's figures, whatever they are: names and values."""
    console = standard_output()
    figures = service.status()
    if not _written(console, output, [figures]):
        console.print(plain_table(("figure", "value"), _flat(figures)))


def _written(console: Console, output: ListFormat | None, entries: Iterable[JsonObject]) -> bool:
    """Write the entries as NDJSON where that is asked for, or nobody watches; say whether."""
    if output is ListFormat.TABLE or (output is None and console.is_terminal):
        return False
    for entry in entries:
        write_line(entry)
    return True


def _flat(figures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield (dotted name, value) of every figure, also of those inside others."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            for index, one in enumerate(value):
                inner = one if isinstance(one, Mapping) else {"": one}
                yield from _flat(inner, f"{prefix}{name}[{index}].")
        else:
            yield f"{prefix}{name}".rstrip("."), f"{value:,}" if type(value) is int else value
