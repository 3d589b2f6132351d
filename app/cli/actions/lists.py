"""What `psoup streams`, `queries` and `status` do: lists and figures as tables, or as data."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from rich.console import Console

from psoup.app.cli.common import ListFormat, write_line
from psoup.app.cli.terminal.output import QUIET, instant, plain_table, standard_output
from psoup.app.units import spoken_number, spoken_seconds, spoken_size
from psoup.client.calls import JsonObject, PsoupClient

_NAMES: Final = frozenset({"gen"})
"""Numbers that identify something: they are shown without separators."""
_ASKED_MOST: Final = (
    *("version", "ready", "now", "durability", "applied", "backlog"),
    *("streams", "rows", "queries"),
    *("memory.store_bytes", "memory.store_bytes_max", "memory.streams_bytes", "memory.hit_bytes"),
    *("memory.index_bytes", "store.disk.used_percent", "store.disk.free_bytes"),
    *("rates.60s.tuples_per_s", "rates.60s.operations_per_s", "rates.60s.invocations_per_s"),
)
"""Figures of `psoup status` without --all."""


def show_streams(service: PsoupClient, output: ListFormat | None) -> None:
    """Print every stream: its columns, clock, rows and times; from when it is complete, where one has dropped rows."""
    console = standard_output()
    streams = list(service.streams())
    if _written(console, output, streams):
        return
    dropped = any(
        one.get("complete_from") for one in streams
    )  # else a terminal has no room to spare
    rows = [
        (
            one["name"],
            f"{one['rows']:,}",
            spoken_size(one["bytes"]),
            f"{one['queries']:,}",
            instant(one.get("newest")),
            *((instant(one.get("complete_from")),) if dropped else ()),
            f"{one['time'] or 'arrival'} ({one['clock']})",
            ", ".join(f"{column['name']} {column['type']}" for column in one["columns"]),
        )
        for one in streams
    ]
    headings = (
        *("stream", "rows", "size", "queries", "newest"),
        *(("complete from",) if dropped else ()),
        *("time", "columns"),
    )
    console.print(plain_table(headings, rows, right="rows size queries"))


def show_queries(service: PsoupClient, output: ListFormat | None) -> None:
    """Print every standing query: handle, name, window, text."""
    console = standard_output()
    if _written(console, output, service.queries()):
        return
    rows = [
        (one["id"], one.get("name") or "", one["window"]["kind"], one["state"], one["canonical"])
        for one in service.queries()
    ]
    console.print(plain_table(("handle", "name", "window", "state", "query"), rows))


def show_status(service: PsoupClient, output: ListFormat | None, *, every: bool = False) -> None:
    """Print the service's figures in units for people, unless they are data: those asked for most, or every one."""
    console = standard_output()
    figures = service.status()
    if _written(console, output, [figures]):
        return
    now = figures.get("now")
    flat = dict(_flat(figures))
    streams = figures.get("streams", [])
    counts = {"streams": len(streams), "rows": sum(one["rows"] for one in streams)}
    shown = flat if every else {**flat, **counts}
    names = flat if every else [name for name in _ASKED_MOST if name in shown]
    # What is not in order stands first.
    wrong = [] if every else [name for name in flat if name.startswith(("reasons", "warnings"))]
    rows = ((name, spoken_figure(name, shown[name], now)) for name in [*wrong, *names])
    console.print(plain_table(("figure", "value"), rows))
    if not every:
        console.print("psoup status --all shows every figure", style=QUIET)


def _written(console: Console, output: ListFormat | None, entries: Iterable[JsonObject]) -> bool:
    """Write the entries as NDJSON where asked for, or not on a terminal; return whether they were written."""
    if output is ListFormat.TABLE or (output is None and console.is_terminal):
        return False
    for entry in entries:
        write_line(entry)
    return True


def _flat(figures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield (dotted name, value) of every figure, nested ones too."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            for index, one in enumerate(value):
                inner = one if isinstance(one, Mapping) else {"": one}
                yield from _flat(inner, f"{prefix}{name}[{index}].")
        else:
            yield f"{prefix}{name}".rstrip("."), value


def spoken_figure(name: str, value: object, now: object) -> object:
    """Return a figure as people read it. The end of its name says its unit; `now` is the service's clock."""
    last = name.rpartition(".")[2]
    if isinstance(value, str):
        age_s = None if last == "now" else _seconds_between(value, now)
        return instant(value) if age_s is None else f"{instant(value)}, {spoken_seconds(age_s)} ago"
    if isinstance(value, bool) or not isinstance(value, int | float) or last in _NAMES:
        return value
    if "bytes" in last:
        return spoken_size(value)
    if last.endswith("_percent"):
        return f"{value:g} %"
    if last == "seconds" or (last.endswith("_s") and not last.endswith("_per_s")):
        return spoken_seconds(value)
    return spoken_number(value)


def _seconds_between(earlier: str, later: object) -> float | None:
    """Return the seconds from one instant to another; None where one of them is none."""
    try:
        return (
            datetime.fromisoformat(str(later)) - datetime.fromisoformat(earlier)
        ).total_seconds()
    except (TypeError, ValueError):
        return None
