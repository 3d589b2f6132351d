"""`psoup load`: files into a stream; repeated after an interruption it goes on where it stopped."""

from enum import StrEnum
from typing import Annotated

import typer

from psoup.app.cli.common import URL_DEFAULT, Token, Url, Yes, exits
from psoup.engine.tuples.schema import ClockKind
from psoup.pipeline.files.options import BATCH_ROWS_DEFAULT, EpochUnit, FileFormat, ReadOptions

_STREAM = "The stream"
_READING = "How the file is read"


class Compression(StrEnum):
    """How bodies are compressed on the way."""

    GZIP = "gzip"
    ZSTD = "zstd"


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="CSV, NDJSON, JSON or Parquet; also .gz, .xz, .bz2, .zst. Several, 'day-*.csv', or - for"
        " standard input.",
    ),
]
Stream = Annotated[str, typer.Option("--stream", "-s", help="Where the rows go.")]
Replace = Annotated[
    bool,
    typer.Option(
        "--replace",
        help="Take the place of what the stream holds: drop it, declare it anew. Asks first.",
        rich_help_panel=_STREAM,
    ),
]
Schema = Annotated[
    str | None,
    typer.Option(
        help='"ts timestamp, id string, mag float64", or a JSON file as in PUT. Default: as the stream'
        " is declared, else inferred from all of the files.",
        rich_help_panel=_STREAM,
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        "-t",
        help="The column that dates a row; year+month+day joins several into ts, at=date+clock into at.",
        rich_help_panel=_STREAM,
    ),
]
Clock = Annotated[
    ClockKind | None,
    typer.Option(
        help="What NOW is: the largest tuple time, or the server's.", rich_help_panel=_STREAM
    ),
]
RetentionRows = Annotated[
    int | None, typer.Option(help="Keep at most so many rows.", min=1, rich_help_panel=_STREAM)
]
RetentionTime = Annotated[
    str | None, typer.Option(help="Keep rows so long: 30m, 7d.", rich_help_panel=_STREAM)
]
RetentionBytes = Annotated[
    str | None, typer.Option(help="Keep at most so much: 500MiB.", rich_help_panel=_STREAM)
]
InputFormat = Annotated[
    FileFormat | None,
    typer.Option(help="Where the file's name does not tell.", rich_help_panel=_READING),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Between the fields of a CSV; tab for a tab. Default: as the first records tell.",
        rich_help_panel=_READING,
    ),
]
Charset = Annotated[
    str | None,
    typer.Option(help="How the text is encoded, such as latin-1.", rich_help_panel=_READING),
]
Comment = Annotated[
    str | None,
    typer.Option(help="Leave out lines of a CSV that begin so: #.", rich_help_panel=_READING),
]
DecimalComma = Annotated[
    bool,
    typer.Option("--decimal-comma", help="Numbers are written 2,5.", rich_help_panel=_READING),
]
Flatten = Annotated[
    bool,
    typer.Option(
        help="Whether members of objects in JSON become columns.", rich_help_panel=_READING
    ),
]
Types = Annotated[
    str | None,
    typer.Option(
        help='Types of some columns, the others as the file shows: "zip string, n int64".',
        rich_help_panel=_READING,
    ),
]
TimeFormat = Annotated[
    list[str] | None,
    typer.Option(
        help="How times are written, as of strptime: %d/%m/%Y %H:%M for --time, COLUMN=%Y%m%d for another;"
        " or what they count: COLUMN=ms.",
        rich_help_panel=_READING,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        help="Load so many rows from the front of each file.", min=1, rich_help_panel=_READING
    ),
]
Null = Annotated[
    list[str] | None,
    typer.Option(help="A cell that means NULL, such as NA.", rich_help_panel=_READING),
]
Header = Annotated[
    bool, typer.Option(help="Whether a CSV begins with its names.", rich_help_panel=_READING)
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Names for the fields of a CSV: -,ts,mag (- leaves one out).",
        rich_help_panel=_READING,
    ),
]
SkipColumns = Annotated[
    str | None, typer.Option(help="Columns to leave out: a,b.", rich_help_panel=_READING)
]
Epoch = Annotated[
    EpochUnit | None,
    typer.Option(help="What numbers in timestamps count.", rich_help_panel=_READING),
]
Sort = Annotated[
    bool, typer.Option("--sort", help="Send in order of --time.", rich_help_panel=_READING)
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Show the columns and the notes, and store nothing."),
]
BatchRows = Annotated[
    int, typer.Option(help="Rows sent at once. Keep it when a load is repeated.", min=1)
]
Compress = Annotated[Compression | None, typer.Option(help="Compress on the way.")]
Producer = Annotated[
    str | None, typer.Option(help="A name for this load, to store a file once more.")
]


@exits
def load(
    files: Files,
    *,
    stream: Stream,
    schema: Schema = None,
    time: Time = None,
    clock: Clock = None,
    retention_rows: RetentionRows = None,
    retention_time: RetentionTime = None,
    retention_bytes: RetentionBytes = None,
    input_format: InputFormat = None,
    delimiter: Delimiter = None,
    charset: Charset = None,
    comment: Comment = None,
    decimal_comma: DecimalComma = False,
    null: Null = None,
    header: Header = True,
    columns: Columns = None,
    skip_columns: SkipColumns = None,
    types: Types = None,
    flatten: Flatten = True,
    epoch: Epoch = None,
    time_format: TimeFormat = None,
    limit: Limit = None,
    sort: Sort = False,
    batch_rows: BatchRows = BATCH_ROWS_DEFAULT,
    compress: Compress = None,
    producer: Producer = None,
    replace: Replace = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    url: Url = URL_DEFAULT,
    token: Token = None,
) -> None:
    """Load files into a stream, declared if there is none. Repeated with the same options it loads nothing twice."""
    from psoup.app.cli.actions.load import run
    from psoup.pipeline.definition import read_definition
    from psoup.pipeline.files import option_texts
    from psoup.pipeline.load.plan import LoadRequest, retention_of

    request = LoadRequest(
        stream=stream,
        read=ReadOptions(
            format=input_format,
            delimiter=option_texts.delimiter_of(delimiter),
            charset=option_texts.charset_of(charset),
            comment=comment or None,
            decimal_comma=decimal_comma,
            nulls=tuple(null or ()),
            header=header,
            columns=option_texts.names_of(columns) or None,
            skip=frozenset(option_texts.names_of(skip_columns)),
            types=option_texts.types_of(types),
            flatten=flatten,
            epoch=epoch,
            limit=limit,
            **option_texts.time_options(time, time_format),
        ),
        schema=None if schema is None else read_definition(schema),
        clock=clock,
        retention=retention_of(retention_rows, retention_time, retention_bytes),
        batch_rows=batch_rows,
        sort=sort,
        encoding=compress,
        producer=producer,
        replace=replace,
    )
    run(request, files, yes=yes, dry_run=dry_run, url=url, token=token)
