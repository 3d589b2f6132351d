"""What `psoup validate` and `psoup explain` do."""

from collections.abc import Mapping
from typing import Any

import orjson
from rich.text import Text

from psoup.app.cli.common import ListFormat, write_line
from psoup.app.cli.terminal.output import (
    QUIET,
    plain_table,
    standard_error,
    standard_output,
    warnings,
)
from psoup.client.answers import Asked
from psoup.client.calls import PsoupClient
from psoup.client.database import validated
from psoup.engine.query.parameters import Parameters

_RESULTS = {True: "true", False: "false", None: "unknown"}


def show_validation(
    service: PsoupClient, sql: str, output: ListFormat | None, *, params: Parameters
) -> None:
    """Print what a registration would describe, with plan and forecast. Raises ServiceProblem."""
    found = service.run(validated(sql, params))
    if found["warnings"]:
        standard_error().print(warnings(found["warnings"]))
    if not _is_for_people(output):
        write_line(found)
        return
    plan, forecast = found["plan"], found["forecast"]
    rows = [("canonical", found["canonical"])]
    rows += [("columns", ", ".join(f"{one['name']} {one['type']}" for one in found["columns"]))]
    for one in plan["streams"]:
        asked = [one["driver"] or "every row", *one["residual"]]
        rows.append((one["alias"], f"{'; then '.join(asked)}  ({one['index']})"))
    rows += [("joined on", text) for text in plan["joined_on"]]
    rows += [("then", text) for text in plan["residual"]]
    rows += [
        (name.replace("_", " "), f"{forecast[name]:,}")
        for name in (
            *(("rows",) if forecast["rows"] is not None else ("rows_at_most",)),
            *("bytes", "matches_per_s"),
        )
        if forecast.get(name) is not None
    ]
    standard_output().print(plain_table(("", "query"), rows))
    standard_output().print(Text(f"estimated from {forecast['basis']}", QUIET))


def show_explanation(
    service: PsoupClient, query_id: str, row_id: str, output: ListFormat | None, *, now: str | None
) -> None:
    """Print each predicate of a query for a row, and what the window says of it. Raises ServiceProblem."""
    found = service.run(Asked(query_id, now).explained(row_id))
    if not _is_for_people(output):
        write_line(found)
        return
    for part in found.get("parts") or [found]:
        _print_part(part)


def _print_part(part: Mapping[str, Any]) -> None:
    console = standard_output()
    if "alias" in part:
        console.print(Text(f"as {part['alias']}", "bold"))
    if part["predicates"]:
        rows = [
            (_RESULTS[one["result"]], one["sql"], orjson.dumps(one["value"]).decode())
            for one in part["predicates"]
        ]
        console.print(plain_table(("", "predicate", "value"), rows))
    console.print(Text(part["window"]["because"], "bold" if part["window"]["visible"] else QUIET))


def _is_for_people(output: ListFormat | None) -> bool:
    return output is ListFormat.TABLE or (output is None and standard_output().is_terminal)
