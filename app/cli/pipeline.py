"""`psoup pipeline`: Spark jobs that bring bulk data into streams, streams into an archive, and answers out of both."""

from importlib.util import find_spec
from typing import Annotated

import typer

from psoup.app.cli.common import ExitCode, exits
from psoup.app.cli.plain_command import PlainCommand
from psoup.pipeline.spark.launch.arguments import command_of
from psoup.pipeline.spark.launch.requests import (
    ArchiveRequest,
    BackfillRequest,
    HistoryRequest,
    IngestRequest,
)

pipeline = typer.Typer(
    name="pipeline",
    help="Bulk data by Spark: into streams, exactly once, from streams into an archive, and answers over both.",
    epilog="Each job can be given to spark-submit as well: docs/pipeline.md.",
    no_args_is_help=True,
)


def _ingest(request: IngestRequest) -> None:
    _require_spark()
    from psoup.app.cli.actions.pipeline import run_ingest

    run_ingest(request)


def _backfill(request: BackfillRequest) -> None:
    _require_spark()
    from psoup.app.cli.actions.pipeline import run_backfill

    run_backfill(request)


def _archive(request: ArchiveRequest) -> None:
    _require_spark()
    from psoup.app.cli.actions.pipeline import run_archive

    run_archive(request)


def _history(request: HistoryRequest) -> None:
    _require_spark()
    from psoup.app.cli.actions.pipeline import run_history

    run_history(request)


@exits
def demo(
    *,
    rows: Annotated[int, typer.Option(help="Of the file that is made up.", min=1_000)] = 200_000,
) -> None:
    """Take a file to psoup and back by Spark, and compare the answer with Spark SQL on the file."""
    _require_spark()
    from psoup.app.cli.demo.spark import run

    raise typer.Exit(ExitCode.DONE if run(rows) else ExitCode.REFUSED)


def _require_spark() -> None:
    """Say how to install Spark, where it is not installed.

    Raises:
        SparkMissingError: it is not.
    """
    from psoup.pipeline.errors import SparkMissingError

    if find_spec("pyspark") is None:
        raise SparkMissingError(
            "This needs Spark, which is not installed: pip install 'psoup[spark]' (in a clone:"
            " pip install -e '.[spark]')."
        )


pipeline.command("ingest", cls=PlainCommand)(exits(command_of(IngestRequest, _ingest)))
pipeline.command("backfill", cls=PlainCommand)(exits(command_of(BackfillRequest, _backfill)))
pipeline.command("archive", cls=PlainCommand)(exits(command_of(ArchiveRequest, _archive)))
pipeline.command("history", cls=PlainCommand)(exits(command_of(HistoryRequest, _history)))
pipeline.command("demo", cls=PlainCommand)(demo)
