"""Options, exit codes and output that all commands share."""

import functools
import sys
from collections.abc import Callable
from enum import IntEnum, StrEnum
from typing import Annotated, Any, ParamSpec, TypeVar

import typer

P = ParamSpec("P")
R = TypeVar("R")


class ExitCode(IntEnum):
    """Exit codes of commands; `docs/command_line.md` explains them."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    UNREACHABLE = 3
    DATA_FILE = 4
    SPARK = 5
    INTERRUPTED = 130


class OutputFormat(StrEnum):
    """Formats of an answer."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    NDJSON = "ndjson"


class ListFormat(StrEnum):
    """Formats of a list or a description."""

    TABLE = "table"
    NDJSON = "ndjson"


class FollowFormat(StrEnum):
    """Formats of what changes in an answer."""

    SCREEN = "screen"
    LINES = "lines"
    NDJSON = "ndjson"


class Materialize(StrEnum):
    """Values of --materialize. They repeat the engine's, so that --help loads no engine."""

    AUTO = "auto"
    PARTIAL = "partial"
    COMPLETE = "complete"
    NONE = "none"


Url = Annotated[
    str,
    typer.Option("--url", envvar="PSOUP_URL", help="Where the service listens."),
]
Token = Annotated[
    str | None,
    typer.Option("--token", envvar="PSOUP_TOKEN", help="Key, where the service asks for one."),
]
Params = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", help="name=value, for each :name of the SQL: min=40, sym=ACME."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


Handle = Annotated[str, typer.Argument(help="A query's handle, q_..., or its name.")]
URL_DEFAULT = "http://127.0.0.1:8000"
WATCH_RETRY_S = 2.0
"""Who watches a terminal, or follows, is told after so long that the service does not answer."""


def exits(command: Callable[P, R]) -> Callable[P, R]:
    """Return `command` with its errors printed to standard error and turned into exit codes.

    SIGTERM and a lost terminal interrupt it as Ctrl-C does.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        from psoup.app.operate.interrupts import interruptible
        from psoup.client.errors import (
            AddressError,
            DefinitionError,
            ServiceProblem,
            ServiceUnreachableError,
        )
        from psoup.pipeline.errors import (
            AlreadyLoadedError,
            DataFileError,
            JavaMissingError,
            JobFailedError,
            SparkMissingError,
        )

        try:
            with interruptible():
                return command(*args, **kwargs)
        except ServiceProblem as problem:
            raise _ended(ExitCode.REFUSED, problem) from problem
        except AlreadyLoadedError as error:
            raise _ended(ExitCode.REFUSED, error) from error
        except ServiceUnreachableError as error:
            raise _ended(ExitCode.UNREACHABLE, error) from error
        except DataFileError as error:
            raise _ended(ExitCode.DATA_FILE, error) from error
        except (SparkMissingError, JavaMissingError, JobFailedError) as error:
            raise _ended(ExitCode.SPARK, error) from error
        except (AddressError, DefinitionError) as error:
            raise _ended(ExitCode.USAGE, error) from error
        except KeyboardInterrupt as error:
            raise _ended(ExitCode.INTERRUPTED, error) from error
        except BrokenPipeError:
            from psoup.app.cli.terminal.output import discard

            discard(sys.stdout)  # the reader of the pipe has seen enough
            raise typer.Exit(ExitCode.DONE) from None

    return run


def _ended(code: ExitCode, error: BaseException) -> typer.Exit:
    from psoup.app.cli.terminal import output, problems
    from psoup.client.errors import ServiceProblem

    console = output.standard_error()
    if isinstance(error, ServiceProblem):
        console.print(problems.problem(error))
    elif isinstance(error, KeyboardInterrupt):
        console.print("interrupted", style=output.QUIET)
    else:
        console.print(output.failure(str(error)))
    return typer.Exit(code)


def write_line(value: Any) -> None:  # noqa: ANN401 (any JSON value)
    """Write one JSON value and a line end to standard output."""
    import orjson

    write_bytes(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))


def write_bytes(content: bytes) -> None:
    """Write bytes to standard output unchanged."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
