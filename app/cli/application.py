"""`psoup`: the command line. All commands but those that start a process, and `fsck`, speak HTTP to a service.

Importing this module loads neither the engine nor the web side: `psoup --help` is quick.
"""

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psoup.app.cli.ask import explain, validate
from psoup.app.cli.common import URL_DEFAULT, ExitCode, Handle, ListFormat, Token, Url, exits
from psoup.app.cli.define import declare, drop, register
from psoup.app.cli.follow import follow
from psoup.app.cli.key import key
from psoup.app.cli.load import load
from psoup.app.cli.mcp import mcp
from psoup.app.cli.one_text import OneTextCommand
from psoup.app.cli.pipeline import pipeline
from psoup.app.cli.plain_command import PlainCommand
from psoup.app.cli.query import invoke, query
from psoup.app.cli.top import top
from psoup.app.operate.child_python import keep_out_current_folder

if TYPE_CHECKING:
    from psoup.app.settings import Settings

_CLIENT_VARIABLES = frozenset({"PSOUP_URL", "PSOUP_TOKEN"})
"""Variables of the command line alone; every other PSOUP_ variable is a setting of the service."""

EPILOG = (
    "Exit codes: 0 done, 1 refused by the service, 2 wrong use, 3 the service does not answer,"
    " 4 the data file or a row of it, 5 Spark, 130 interrupted."
)

application = typer.Typer(
    name="psoup",
    help="Standing windowed SQL queries over live streams: register, leave, come back, invoke.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        from psoup.app.cli.version import version_line

        print(version_line())
        raise typer.Exit(ExitCode.DONE)


Version = Annotated[
    bool,
    typer.Option(
        "--version", help="Show the version and end.", is_eager=True, callback=_show_version
    ),
]


@application.callback()
def psoup(*, version: Version = False) -> None:
    """Take the options that stand before a command."""
    del version  # shown by its callback


Format = Annotated[
    ListFormat | None,
    typer.Option("--format", "-f", help="Default: table on a terminal, ndjson in a pipe."),
]


def _text(help_text: str) -> object:
    return typer.Option(help=help_text)


Host = Annotated[str | None, _text("Where to listen (127.0.0.1).")]
Port = Annotated[int | None, _text("Where to listen (8000); 0: any free port.")]
Docs = Annotated[bool | None, _text("Serve the API pages under /docs.")]
OpenBind = Annotated[bool | None, _text("Listen beyond loopback without keys.")]
StorePasswordFile = Annotated[
    Path | None, _text("Password of the store's user, in its first line.")
]
BehindProxy = Annotated[
    bool | None, _text("Listen beyond loopback with keys: a proxy in front ends TLS.")
]
TlsCertFile = Annotated[Path | None, _text("Certificate, in PEM: answer by TLS.")]
TlsKeyFile = Annotated[Path | None, _text("Its private key, in PEM.")]
KeysFile = Annotated[Path | None, _text("Keys and scopes, one JSON object a line.")]
LogLevel = Annotated[str | None, _text("debug, info, warning or error.")]
LogFormat = Annotated[str | None, _text("console or json.")]
AccessLog = Annotated[bool | None, _text("Log each request, not only those that fail or are slow.")]


def _settings(**given: object) -> "Settings":
    """Return the settings of this start; print wrong ones to standard error and end with ExitCode.USAGE."""
    from psoup.app.cli.terminal.output import failure, standard_error
    from psoup.app.errors import SettingError
    from psoup.app.settings import load_settings

    environment = {k: v for k, v in os.environ.items() if k not in _CLIENT_VARIABLES}
    try:
        return load_settings(environment, **given)
    except SettingError as error:
        standard_error().print(failure(error.detail))
        raise typer.Exit(ExitCode.USAGE) from error


def serve(
    *,
    store: Annotated[
        str | None, _text("memory://, redis://host:port/db; default: embedded.")
    ] = None,
    store_password_file: StorePasswordFile = None,
    data: Annotated[Path | None, _text("Folder of the embedded store (./psoup-data).")] = None,
    host: Host = None,
    port: Port = None,
    docs: Docs = None,
    open_bind: OpenBind = None,
    behind_proxy: BehindProxy = None,
    keys_file: KeysFile = None,
    tls_cert_file: TlsCertFile = None,
    tls_key_file: TlsKeyFile = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    access_log: AccessLog = None,
) -> None:
    """Start the service: everything in one process, durable, nothing else to install.

    Every setting can also be given as PSOUP_ and its name; docs/settings.md lists them.
    """
    from psoup.app.processes.serve import serve as run

    settings = _settings(
        store=store,
        store_password_file=store_password_file,
        data=data,
        host=host,
        port=port,
        docs=docs,
        open_bind=open_bind,
        behind_proxy=behind_proxy,
        keys_file=keys_file,
        tls_cert_file=tls_cert_file,
        tls_key_file=tls_key_file,
        log_level=log_level,
        log_format=log_format,
        access_log=access_log,
    )
    raise typer.Exit(run(settings))


def engine(
    *,
    store: Annotated[
        str | None, _text("redis://host:port/db, which API workers reach too.")
    ] = None,
    store_password_file: StorePasswordFile = None,
    data: Annotated[Path | None, _text("Folder of this engine alone (./psoup-data).")] = None,
    host: Annotated[str | None, _text("Where to answer operators (127.0.0.1).")] = None,
    port: Annotated[
        int | None, _text("Answer /healthz, /readyz and /metrics there; default: nowhere.")
    ] = None,
    spark: Annotated[
        str | None, _text("Let the executors of this Spark master match: local[2], spark://….")
    ] = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
) -> None:
    """Start an engine alone, for API workers on the same store; a second one waits to take its place.

    Every setting can also be given as PSOUP_ and its name; docs/settings.md lists them.
    """
    from psoup.app.processes.engine import run_engine

    settings = _settings(
        store=store,
        store_password_file=store_password_file,
        data=data,
        host=host,
        port=port,
        spark=spark,
        log_level=log_level,
        log_format=log_format,
    )
    listens = port is not None or "PSOUP_PORT" in os.environ
    raise typer.Exit(run_engine(settings, listens=listens))


def api(
    *,
    store: Annotated[
        str | None, _text("redis://host:port/db, where an engine folds, now or later.")
    ] = None,
    store_password_file: StorePasswordFile = None,
    workers: Annotated[int | None, _text("Processes that answer (1).")] = None,
    host: Host = None,
    port: Port = None,
    docs: Docs = None,
    open_bind: OpenBind = None,
    behind_proxy: BehindProxy = None,
    keys_file: KeysFile = None,
    tls_cert_file: TlsCertFile = None,
    tls_key_file: TlsKeyFile = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    access_log: AccessLog = None,
) -> None:
    """Start API workers alone: they take data and queries, and answer, from a store that an engine folds.

    Every setting can also be given as PSOUP_ and its name; docs/settings.md lists them.
    """
    from psoup.app.processes.api import run_api

    settings = _settings(
        store=store,
        store_password_file=store_password_file,
        workers=workers,
        host=host,
        port=port,
        docs=docs,
        open_bind=open_bind,
        behind_proxy=behind_proxy,
        keys_file=keys_file,
        tls_cert_file=tls_cert_file,
        tls_key_file=tls_key_file,
        log_level=log_level,
        log_format=log_format,
        access_log=access_log,
    )
    raise typer.Exit(run_api(settings))


@exits
def demo(
    *,
    seconds: Annotated[
        float, typer.Option(help="After which it ends, or, with --stay, prints no more.", min=1)
    ] = 60.0,
    data: Annotated[
        Path | None, _text("Keep the data here; default: a temporary folder, removed.")
    ] = None,
    port: Annotated[int, _text("Where the service listens; 0: any free port.")] = 0,
    seed: Annotated[int, _text("Chooses the building's life.")] = 1,
    url: Annotated[
        str | None, _text("Feed and ask the service there; default: one of its own.")
    ] = None,
    stay: Annotated[
        bool, typer.Option("--stay", help="Let sensors and service go on until Ctrl-C.")
    ] = False,
) -> None:
    """Start a service, feed it a building's sensors, and watch standing queries."""
    from psoup.app.cli.demo.run import run

    run(seconds=seconds, data=data, port=port, seed=seed, url=url, stay=stay)


@exits
def streams(*, output: Format = None, url: Url = URL_DEFAULT, token: Token = None) -> None:
    """List the streams."""
    from psoup.app.cli.actions.lists import show_streams
    from psoup.client.calls import PsoupClient

    with PsoupClient(url, token=token) as service:
        show_streams(service, output)


@exits
def queries(*, output: Format = None, url: Url = URL_DEFAULT, token: Token = None) -> None:
    """List the standing queries."""
    from psoup.app.cli.actions.lists import show_queries
    from psoup.client.calls import PsoupClient

    with PsoupClient(url, token=token) as service:
        show_queries(service, output)


@exits
def status(
    *,
    output: Format = None,
    json: Annotated[
        bool, typer.Option("--json", help="Raw, as one JSON object; as --format ndjson.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Every figure, by its name in --json.")
    ] = False,
    url: Url = URL_DEFAULT,
    token: Token = None,
) -> None:
    """Show the service's figures: in units for people on a terminal, raw in a pipe."""
    from psoup.app.cli.actions.lists import show_status
    from psoup.client.calls import PsoupClient

    with PsoupClient(url, token=token) as service:
        show_status(service, ListFormat.NDJSON if json else output, every=every)


@exits
def remove(handle: Handle, *, url: Url = URL_DEFAULT, token: Token = None) -> None:
    """Remove a standing query by its handle or name."""
    from psoup.app.cli.actions.handles import handle_of
    from psoup.client.calls import PsoupClient

    with PsoupClient(url, token=token) as service:
        service.remove(handle_of(service, handle))


def fsck(
    *,
    store: Annotated[str | None, _text("redis://host:port/db; default: embedded.")] = None,
    store_password_file: StorePasswordFile = None,
    data: Annotated[Path | None, _text("Folder of the embedded store (./psoup-data).")] = None,
) -> None:
    """Compute what a store keeps anew from its tuples, and compare. Changes nothing.

    It may run beside a live engine. Ends with 0 where all is equal, 1 where something differs, 3 for a store that
    cannot be read.
    """
    from psoup.app.cli.actions.fsck import compare
    from psoup.app.cli.terminal.output import failure, standard_error, standard_output
    from psoup.engine.errors import EngineError
    from psoup.engine.store.address import StoreUrlError
    from psoup.storage.inspection import inspect_store

    settings = _settings(store=store, store_password_file=store_password_file, data=data)
    password_file = settings.store_password_file
    try:
        with closing(
            inspect_store(settings.store, data=settings.data, password_file=password_file)
        ) as inspected:
            differences = compare(inspected, standard_output())
    except EngineError as error:
        standard_error().print(failure(error.detail))
        wrong_use = isinstance(error, StoreUrlError)
        raise typer.Exit(ExitCode.USAGE if wrong_use else ExitCode.UNREACHABLE) from error
    raise typer.Exit(ExitCode.REFUSED if differences else ExitCode.DONE)


COMMANDS = (
    *(serve, engine, api, fsck, demo),
    *(declare, load, drop, validate, register, query, invoke, explain, follow),
    *(streams, queries, status, top, remove, key, mcp),
)
for command in COMMANDS:
    is_one_text = command in (validate, register, query)
    application.command(cls=OneTextCommand if is_one_text else PlainCommand)(command)
application.add_typer(pipeline)


def main() -> None:
    """Run the command line and end the process."""
    keep_out_current_folder()
    application()
