"""What `psoup top` does: a table of the queries that cost most, drawn anew look after look, or as data."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.live import Live
from rich.table import Table

from psoup.app.cli.common import ListFormat, write_line
from psoup.app.cli.terminal.output import plain_table, standard_output
from psoup.app.units import spoken_size
from psoup.client.calls import JsonObject, PsoupClient

_HEADINGS: Final = ("handle", "name", "bytes", "matches", "invokes", "shared", "query")


def show_top(
    service: PsoupClient,
    *,
    by: str,
    limit: int,
    every_s: float,
    times: int | None,
    output: ListFormat | None,
) -> None:
    """Show the queries that have most of `by`.

    On a terminal the table is drawn anew until interrupted, or all looks were had; what was seen last stays on it. In a
    pipe, and as ndjson, a line for each query of each look, of one where their number is not given.
    """
    console = standard_output()
    as_data = output is ListFormat.NDJSON or (output is None and not console.is_terminal)
    if as_data or not console.is_terminal:
        for queries in _looks(service, by=by, limit=limit, every_s=every_s, times=times or 1):
            if as_data:
                for query in queries:
                    write_line(query)
            else:
                console.print(_table(queries))
        return
    table: Table | None = None
    try:
        with Live(console=console, auto_refresh=False, screen=True) as live:
            for queries in _looks(service, by=by, limit=limit, every_s=every_s, times=times):
                table = _table(queries)
                live.update(table, refresh=True)
    except KeyboardInterrupt:
        pass  # the way to stop watching, so no failure
    finally:
        if table is not None:
            console.print(table)


def _looks(
    service: PsoupClient, *, by: str, limit: int, every_s: float, times: int | None
) -> Iterator[Sequence[JsonObject]]:
    """Yield the queries, look after look, the largest first."""
    done = 0
    while True:
        yield service.top(by=by, limit=limit)
        done += 1
        if times is not None and done >= times:
            return
        time.sleep(every_s)


def _table(queries: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        (
            one["id"],
            one["name"] or "",
            "" if one["bytes"] is None else spoken_size(one["bytes"]),
            "" if one["matches"] is None else f"{one['matches']:,}",
            f"{one['invokes']:,}",
            f"{one['shared_with']:,}",
            one["canonical"],
        )
        for one in queries
    ]
    return plain_table(_HEADINGS, rows, right="bytes matches invokes shared")
