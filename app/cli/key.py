"""`psoup key`: a key for clients of a service, and its line for the service's keys file."""

from pathlib import Path
from typing import Annotated

import typer

from psoup.app.cli.common import exits

Name = Annotated[str, typer.Argument(help="Whose it is, as rates and the log name it.")]
Scope = Annotated[
    list[str],
    typer.Option(
        help="What it opens, once for each: read, register, admin, ingest:STREAM, ingest:*."
    ),
]
KeysFile = Annotated[
    Path | None, typer.Option(help="Add the line to this file, instead of printing it.")
]


@exits
def key(name: Name, *, scope: Scope, keys_file: KeysFile = None) -> None:
    """Make a key, and print it: it is kept nowhere. The service's keys file holds its hash alone."""
    from psoup.app.cli.actions.key import make_key

    make_key(name, scope, keys_file)
