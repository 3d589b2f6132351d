"""What each job is asked for: one field for each option, the same under `psoup pipeline` and spark-submit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from typing_extensions import override

from psoup.client.errors import DefinitionError
from psoup.engine.tuples.schema import STREAM_NAME

COMMIT_MIB_DEFAULT: Final = 64
"""Of rows that a backfill commits at once: a quarter of what the service takes, so that it can go on answering."""
BATCH_MIB_DEFAULT: Final = 1_024
"""Of files that a backfill puts in order of time together: they are kept on the disks of Spark meanwhile."""
AT_MOST_DEFAULT: Final = "1h"
"""Limit for one archive answer, while the others wait: large scans take minutes."""
SECONDS: Final[Mapping[str, float]] = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0}

_SERVICE = "The service"
_SOURCE = "The source"
_ROWS = "The rows"
_SPARK = "Spark"


def _option(names: str, help_text: str, panel: str | None = None, **more: Any) -> Any:  # noqa: ANN401 (typer's)
    return typer.Option(*names.split(), help=help_text, rich_help_panel=panel, **more)


Url = Annotated[str, _option("--url", "URL of the service.", _SERVICE, envvar="PSOUP_URL")]
Token = Annotated[
    str | None,
    _option("--token", "Key, if the service asks for one.", _SERVICE, envvar="PSOUP_TOKEN"),
]
ToStream = Annotated[str, _option("--stream -s", "Stream that gets the rows.", _SERVICE)]
FromStream = Annotated[str, _option("--stream -s", "Stream to archive.", _SERVICE)]
Archives = Annotated[
    list[str] | None,
    _option(
        "--archive -a",
        "DIR: the archive of each stream is DIR/STREAM. STREAM=DIR: the archive of one stream. Repeatable.",
        _SOURCE,
    ),
]
Create = Annotated[
    bool,
    _option("--create", "Declare the stream by the rows' columns, if it does not exist.", _SERVICE),
]
RetentionRows = Annotated[
    int | None,
    _option("--retention-rows", "With --create: number of rows to keep.", _SERVICE, min=1),
]
RetentionTime = Annotated[
    str | None,
    _option("--retention-time", "With --create: how long to keep rows, such as 7d.", _SERVICE),
]
RetentionBytes = Annotated[
    str | None,
    _option(
        "--retention-bytes", "With --create: size of the rows to keep, such as 500MiB.", _SERVICE
    ),
]
Checkpoint = Annotated[
    str,
    _option(
        "--checkpoint", "Folder with the job's position: with the same one the job goes on.", _SPARK
    ),
]
Master = Annotated[
    str | None,
    _option("--master", "Where Spark runs; default: all cores of this machine.", _SPARK),
]
Options = Annotated[
    list[str] | None,
    _option("--option -o", "An option of the source, such as header=true. Repeatable.", _SOURCE),
]
Schema = Annotated[
    str | None,
    _option(
        "--schema",
        'Columns of the source as Spark writes them: "ts TIMESTAMP, px DOUBLE".',
        _SOURCE,
    ),
]
Map = Annotated[
    list[str] | None,
    _option(
        "--map",
        'A column of the stream, such as "px = price / 100": Spark SQL over the source\'s columns. "*": all'
        " of these. Default: all. Repeatable.",
        _ROWS,
    ),
]
Where = Annotated[
    str | None,
    _option(
        "--where",
        "Condition on the source's rows: Spark SQL over its columns. Default: all rows.",
        _ROWS,
    ),
]
Time = Annotated[
    str | None,
    _option(
        "--time -t", "The column with a row's time; texts and dates become UTC instants.", _ROWS
    ),
]
URL_DEFAULT: Final = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntoStream:
    """Options of the jobs that write rows into a stream."""

    stream: ToStream
    checkpoint: Checkpoint
    options: Options = None
    schema: Schema = None
    map: Map = None
    where: Where = None
    time: Time = None
    create: Create = False
    retention_rows: RetentionRows = None
    retention_time: RetentionTime = None
    retention_bytes: RetentionBytes = None
    master: Master = None
    url: Url = URL_DEFAULT
    token: Token = None

    def __post_init__(self) -> None:
        """Check the options before anything starts.

        Raises:
            DefinitionError: an option is malformed, or excludes another.
        """
        mapping(self.map)
        source_options(self.options)
        writer_options(self)

    @property
    def subject(self) -> str:
        """Return the name that Spark shows for the job."""
        return self.stream


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest(IntoStream):
    """Write the rows of a Structured Streaming source into a stream, until asked to stop.

    Exactly once: with the same --checkpoint the job goes on where it ended, for whatever reason.
    """

    format: Annotated[
        str, _option("--format -f", "csv, json, parquet, kafka, rate: any that Spark has.", _SOURCE)
    ]
    path: Annotated[
        str | None, _option("--path", "Files to read, for sources that read files.", _SOURCE)
    ] = None
    available_now: Annotated[
        bool, _option("--available-now", "End once all rows that exist now are written.", _SPARK)
    ] = False
    every: Annotated[
        str | None,
        _option(
            "--every", "Pause between two micro-batches: 500ms, 2s, 1m. Default: none.", _SPARK
        ),
    ] = None

    @override
    def __post_init__(self) -> None:
        """Check the options as for every such job, and that there is one trigger."""
        IntoStream.__post_init__(self)
        if self.every is not None:
            trigger_interval(self.every)
            if self.available_now:
                raise DefinitionError("--every and --available-now exclude each other.")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRequest(IntoStream):
    """Load CSV, JSON or Parquet files into a stream, in time order.

    With the same --checkpoint the job goes on where it ended, and stores no row twice.
    """

    path: Annotated[str, typer.Argument(help="A file, a folder, or a pattern such as 'in/*.csv'.")]
    format: Annotated[
        str | None,
        _option("--format -f", "csv, json or parquet. Default: by the files' names.", _SOURCE),
    ] = None
    batch_mib: Annotated[
        int,
        _option(
            "--batch-mib",
            "Size of the files that are sorted by time together, about.",
            _SPARK,
            min=1,
        ),
    ] = BATCH_MIB_DEFAULT
    commit_mib: Annotated[
        int,
        _option(
            "--commit-mib",
            "Size of the rows that become visible at once, about.",
            _SERVICE,
            min=1,
            max=192,
        ),
    ] = COMMIT_MIB_DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveRequest:
    """Write a stream's tuples to Parquet, by the day of their time, before retention drops them.

    From the first run on the service keeps tuples that are not archived yet. Run the job regularly, or with --every.
    """

    stream: FromStream
    path: Annotated[str, _option("--path -p", "Folder of the archive.", _SOURCE)]
    checkpoint: Annotated[
        str | None,
        _option(
            "--checkpoint",
            "Folder with the job's position. Default: _checkpoint in the archive.",
            _SPARK,
        ),
    ] = None
    options: Annotated[
        list[str] | None,
        _option("--option -o", "An option of the Parquet sink, such as compression=zstd.", _SOURCE),
    ] = None
    every: Annotated[
        str | None,
        _option(
            "--every", "Go on at this interval: 1m. Default: end once all is archived.", _SPARK
        ),
    ] = None
    master: Master = None
    url: Url = URL_DEFAULT
    token: Token = None

    def __post_init__(self) -> None:
        """Check the options before anything starts. Raises DefinitionError if one is malformed."""
        source_options(self.options)
        if self.every is not None:
            trigger_interval(self.every)

    @property
    def subject(self) -> str:
        """Return the name that Spark shows for the job."""
        return self.stream


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """Answer queries whose windows reach past the tuples that the service keeps, from archives and its log.

    A client asks the service for such an answer (results?history=true); this job computes it.
    """

    archive: Archives = None
    every: Annotated[
        str | None,
        _option("--every", "Interval at which to look for requests. Default: 2s.", _SPARK),
    ] = None
    at_most: Annotated[
        str,
        _option(
            "--at-most",
            "Give up an answer that takes longer: 20m, 2h. Others wait meanwhile.",
            _SPARK,
        ),
    ] = AT_MOST_DEFAULT
    available_now: Annotated[
        bool,
        _option("--available-now", "End once all present requests are answered.", _SPARK),
    ] = False
    master: Master = None
    url: Url = URL_DEFAULT
    token: Token = None

    def __post_init__(self) -> None:
        """Check the options before anything starts.

        Raises:
            DefinitionError: an option is malformed, or excludes another.
        """
        archive_paths(self.archive)
        seconds_of(self.at_most, option="--at-most")
        if self.every is not None:
            seconds_of(self.every)
            if self.available_now:
                raise DefinitionError("--every and --available-now exclude each other.")

    @property
    def subject(self) -> str:
        """Return the name that Spark shows for the job."""
        return "history"


def writer_options(request: IntoStream) -> dict[str, str]:
    """Return the options with which `format("psoup")` writes to the request's stream.

    Raises:
        DefinitionError: retention is given without --create.
    """
    retention = {
        "retentionRows": request.retention_rows,
        "retentionTime": request.retention_time,
        "retentionBytes": request.retention_bytes,
    }
    if not request.create and any(value is not None for value in retention.values()):
        raise DefinitionError(
            "Retention belongs to the declaration of a stream: add --create, or leave the retention out."
        )
    declared = {"createStream": "true", "time": request.time, **retention} if request.create else {}
    options = {"url": request.url, "stream": request.stream, "token": request.token, **declared}
    return {name: str(value) for name, value in options.items() if value is not None}


def source_options(given: Sequence[str] | None) -> dict[str, str]:
    """Return options written `key=value`, by key.

    Raises:
        DefinitionError: one is malformed.
    """
    options = {}
    for text in given or ():
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise DefinitionError(f"--option is {text!r}: write it as key=value, as in a=b.")
        options[key.strip()] = value
    return options


def mapping(given: Sequence[str] | None) -> dict[str, str]:
    """Return expressions written `column = expression`, by column, in order.

    `*` stands for all columns of the source, and a column alone for the source's column of that name.

    Raises:
        DefinitionError: one is malformed, or a column is given twice.
    """
    expressions: dict[str, str] = {}
    for text in given or ():
        name, sign, expression = (part.strip() for part in text.partition("="))
        if (sign and not expression) or not name:
            raise DefinitionError(f'--map is {text!r}: write it as "column = Spark SQL".')
        if name in expressions:
            raise DefinitionError(f"--map gives column {name!r} twice.")
        expressions[name] = expression if sign else (name if name == "*" else f"`{name}`")
    return expressions


def archive_paths(given: Sequence[str] | None) -> tuple[str | None, dict[str, str]]:
    """Return the folder with the archives of all streams (None: none given), and the archives of single streams.

    Raises:
        DefinitionError: two folders are given for the same.
    """
    folder: str | None = None
    by_stream: dict[str, str] = {}
    for text in given or ():
        name, sign, path = text.partition("=")
        if sign and STREAM_NAME.fullmatch(name):
            if not path or by_stream.setdefault(name, path) != path:
                raise DefinitionError(f"--archive is {text!r}: name one folder for each stream.")
        elif folder not in (None, text) or not text:
            raise DefinitionError(
                f"--archive names two folders, {folder!r} and {text!r}, for the archives of all streams: name one, and"
                " archives elsewhere by STREAM=DIR."
            )
        else:
            folder = text
    return folder, by_stream


def trigger_interval(given: str) -> str:
    """Return `500ms`, `2s`, `1m` or `1h` as an interval of Spark's. Raises as `seconds_of` does."""
    return f"{round(seconds_of(given) * 1_000)} milliseconds"


def seconds_of(given: str, *, option: str = "--every") -> float:
    """Return `500ms`, `2s`, `1m` or `1h` in seconds. `option` is the option that the error names.

    Raises:
        DefinitionError: it is malformed.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)", given.strip())
    if match is None:
        raise DefinitionError(
            f"{option} is {given!r}: expected a duration such as 500ms, 2s or 1m."
        )
    return float(match[1]) * SECONDS[match[2]]
