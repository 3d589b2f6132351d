"""What `psoup declare`, `drop` and `register` do."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from rich.console import Console
from rich.text import Text

from psoup.app.cli.common import ListFormat, write_bytes, write_line
from psoup.app.cli.consent import require_consent, what_is_dropped
from psoup.app.cli.terminal.output import (
    ACCENT,
    QUIET,
    plain_table,
    standard_error,
    standard_output,
    warnings,
)
from psoup.client.calls import JsonObject, PsoupClient
from psoup.engine.query.parameters import Parameters
from psoup.pipeline.definition import check_stream_name
from psoup.pipeline.dropping import drop_as_seen
from psoup.pipeline.wording import counted


def declare_stream(
    service: PsoupClient, stream: str, definition: Mapping[str, Any], output: ListFormat | None
) -> None:
    """Declare a stream and print it; what the service warns of goes to standard error.

    Raises:
        DefinitionError: the name is none.
        ServiceProblem: another declaration is in force, or the service refused otherwise.
    """
    check_stream_name(stream)
    described, is_new = service.declare(stream, definition)
    _say_warnings(described)
    _print_stream(described, "declared" if is_new else "declared so already", output)


def add_columns(
    service: PsoupClient, stream: str, columns: Sequence[JsonObject], output: ListFormat | None
) -> None:
    """Add columns to a stream and print it.

    Raises:
        DefinitionError: the name is none.
        ServiceProblem: there is no such stream, it has another column of a name, or the service refused otherwise.
    """
    check_stream_name(stream)
    _print_stream(service.add_columns(stream, columns), "has these columns", output)


def _print_stream(described: JsonObject, state: str, output: ListFormat | None) -> None:
    console = standard_output()
    if not _is_for_people(console, output):
        write_line(described)
        return
    console.print(Text.assemble((described["name"], f"bold {ACCENT}"), (f"  {state}", QUIET)))
    rows = [
        (
            column["name"],
            column["type"],
            "" if column["nullable"] else "not null",
            "the tuple time" if column["name"] == described["time"] else "",
            "" if column.get("unit") is None else f"integers count {column['unit']}",
        )
        for column in described["columns"]
    ]
    console.print(plain_table(("column", "type", "", "", ""), rows))


def drop_stream(service: PsoupClient, stream: str, *, yes: bool) -> None:
    """Drop a stream with its rows and queries, once the user agrees.

    Raises:
        ServiceProblem: `not-found`, or the service refused otherwise.
        DefinitionError: the name is none, nobody can be asked, or the stream was declared anew meanwhile.
    """
    check_stream_name(stream)
    seen = service.stream(stream)
    if seen is None:
        service.drop(stream)  # refused, in the service's words
        return
    require_consent(what_is_dropped(seen), yes=yes)
    drop_as_seen(service, seen)
    rows, queries = counted(seen["rows"], "row"), counted(seen["queries"], "query")
    standard_error().print(Text(f"dropped {stream}: {rows}, {queries}"))


def drop_queries(service: PsoupClient, labels: Sequence[str], *, yes: bool) -> None:
    """Remove the queries that have all of these labels, `key:value` each, once the user agrees.

    Raises:
        ServiceProblem: the service refused.
        DefinitionError: nobody can be asked.
    """
    named = " and ".join(labels)
    found = counted(sum(1 for _ in service.queries(*labels)), "query")
    require_consent(f"This removes {found} labelled {named}, with the handles.", yes=yes)
    removed = counted(service.remove_labelled(*labels), "query")
    standard_error().print(Text(f"removed {removed} labelled {named}"))


def register_query(
    service: PsoupClient,
    sql: str,
    output: ListFormat | None,
    *,
    params: Parameters,
    name: str | None,
    labels: Mapping[str, str],
    materialize: str | None,
    ttl: str | None,
) -> None:
    """Register a query and print its handle, or its description where a format is asked for."""
    described = service.register(
        sql, params=params, name=name, labels=labels, materialize=materialize, ttl=ttl
    )
    _say_warnings(described)
    if output is ListFormat.NDJSON:
        write_line(described)
        return
    if output is ListFormat.TABLE:
        columns = ", ".join(f"{one['name']} {one['type']}" for one in described["columns"])
        labelled = ", ".join(f"{key}:{value}" for key, value in described["labels"].items())
        rows = [
            (name, described[name] or "")
            for name in ("id", "name", "state", "canonical", "materialize")
        ]
        taken: Parameters = described.get("params", {})
        given = ", ".join(f"{key}={orjson.dumps(value).decode()}" for key, value in taken.items())
        rows += [("params", given)] if given else []
        rows += [("expires at", described["expires_at"])] if described.get("expires_at") else []
        rows += [("labels", labelled), ("columns", columns)]
        standard_output().print(plain_table(("", "query"), rows))
        return
    write_bytes(f"{described['id']}\n".encode())
    notes = standard_error()
    if notes.is_terminal:
        notes.print(Text(f"psoup invoke {described['id']}", QUIET))


def _say_warnings(described: JsonObject) -> None:
    if described.get("warnings"):
        standard_error().print(warnings(described["warnings"]))


def _is_for_people(console: Console, output: ListFormat | None) -> bool:
    return output is ListFormat.TABLE or (output is None and console.is_terminal)
