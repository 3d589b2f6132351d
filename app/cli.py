"""`psoup`: the command line. Everything but `serve` speaks HTTP to a service.

Importing this module loads neither the engine nor the web side: `psoup --help` is quick.
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from app.cli_common import URL_DEFAULT, ExitCode, Handle, ListFormat, Token, Url, exits
from app.cli_load import load
from app.cli_query import invoke, query

_CLIENT_VARIABLES = frozenset({"PSOUP_URL", "PSOUP_TOKEN"})
"""Settings of the command line alone; every other PSOUP_ variable is one of the service."""

EPILOG = (
    "Exit codes: 0 done, 1 refused by the service, 2 wrong use, 3 the service does not answer,"
    " 4 the data file or a row of it, 130 interrupted."
)

application = typer.Typer(
    name="psoup",
    help="Standing windowed SQL queries over live streams: register, leave, come back, invoke.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Format = Annotated[
    ListFormat | None,
    typer.Option("--format", "-f", help="Default: table on a terminal, ndjson in a pipe."),
]


def _text(help_text: str) -> object:
    return typer.Option(help=help_text)


def serve(
    *,
    store: Annotated[
        str | None, _text("memory://, redis://host:port/db; default: embedded.")
    ] = None,
    data: Annotated[Path | None, _text("Folder of the embedded store (./psoup-data).")] = None,
    host: Annotated[str | None, _text("Where to listen (127.0.0.1).")] = None,
    port: Annotated[int | None, _text("Where to listen (8000); 0: any free port.")] = None,
    docs: Annotated[bool | None, _text("Serve the API pages under /docs.")] = None,
    open_bind: Annotated[bool | None, _text("Listen beyond loopback without keys.")] = None,
    keys_file: Annotated[Path | None, _text("Keys and scopes, one JSON object a line.")] = None,
    log_level: Annotated[str | None, _text("debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, _text("console or json.")] = None,
) -> None:
    """Start the service: everything in one process, durable, nothing else to install.

    Every setting can also be given as PSOUP_ and its name; docs/settings.md lists them.
    """
    from app.errors import SettingError
    from app.main import serve as run
    from app.settings import load_settings
    from app.terminal import failure, standard_error

    environment = {k: v for k, v in os.environ.items() if k not in _CLIENT_VARIABLES}
    try:
        settings = load_settings(
            environment,
            store=store,
            data=data,
            host=host,
            port=port,
            docs=docs,
            open_bind=open_bind,
            keys_file=keys_file,
            log_level=log_level,
            log_format=log_format,
        )
    except SettingError as error:
        standard_error().print(failure(error.detail))
        raise typer.Exit(ExitCode.USAGE) from error
    raise typer.Exit(run(settings))


@exits
def demo(
    *,
    seconds: Annotated[float, typer.Option(help="After which it ends by itself.", min=1)] = 60.0,
    data: Annotated[
        Path | None, _text("Keep the data here; default: a temporary folder, removed.")
    ] = None,
    port: Annotated[int, _text("Where the service listens; 0: any free port.")] = 0,
    seed: Annotated[int, _text("Chooses the building's life.")] = 1,
) -> None:
    """Start a service, feed it a building's sensors, and watch standing queries."""
    from app.demo import run

    run(seconds=seconds, data=data, port=port, seed=seed)


@exits
def streams(*, output: Format = None, url: Url = URL_DEFAULT, token: Token = None) -> None:
    """List the streams."""
    from app.list_command import show_streams
    from pipeline.client import Service

    with Service(url, token=token) as service:
        show_streams(service, output)


@exits
def queries(*, output: Format = None, url: Url = URL_DEFAULT, token: Token = None) -> None:
    """List the standing queries."""
    from app.list_command import show_queries
    from pipeline.client import Service

    with Service(url, token=token) as service:
        show_queries(service, output)


@exits
def status(*, output: Format = None, url: Url = URL_DEFAULT, token: Token = None) -> None:
    """Show the service's figures."""
    from app.list_command import show_status
    from pipeline.client import Service

    with Service(url, token=token) as service:
        show_status(service, output)


@exits
def remove(handle: Handle, *, url: Url = URL_DEFAULT, token: Token = None) -> None:
    """Remove a standing query by its handle."""
    from pipeline.client import Service

    with Service(url, token=token) as service:
        service.remove(handle)


for command in (serve, demo, load, query, invoke, streams, queries, status, remove):
    application.command()(command)


def main() -> None:
    """Run the command line: the `psoup` of the installation."""
    application()


if __name__ == "__main__":
    main()
