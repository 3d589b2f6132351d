"""Questions before something is done that cannot be undone."""

import sys
from collections.abc import Mapping
from typing import Any

import typer

from psoup.app.cli.common import ExitCode
from psoup.app.cli.terminal.output import standard_error
from psoup.client.errors import DefinitionError
from psoup.pipeline.wording import counted


def require_consent(what: str, *, yes: bool) -> None:
    """Return once the user agrees; without a terminal only `--yes` counts.

    Args:
        what: a sentence that says what would be done.
        yes: whether `--yes` was passed.

    Raises:
        DefinitionError: nobody can be asked.
        typer.Exit: the user does not agree.
    """
    if yes:
        return
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        raise DefinitionError(f"{what} Pass --yes to do so where nobody can be asked.")
    notes = standard_error()
    notes.print(f"{what} Go on? [y/N] ", end="", markup=False)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        notes.print("nothing was changed")
        raise typer.Exit(ExitCode.REFUSED)


def what_is_dropped(described: Mapping[str, Any]) -> str:
    """Return a sentence that names what is removed with a stream."""
    rows = counted(int(described["rows"]), "row")
    queries = counted(int(described["queries"]), "query")
    also = (
        f" and removes {queries} that read it, with their handles" if described["queries"] else ""
    )
    return f"This drops {described['name']} with {rows}{also}."


def _is_terminal(stream: object) -> bool:
    return stream is not None and bool(getattr(stream, "isatty", bool)())
