"""What each job is asked for: one field for each option, the same under `psoup pipeline` and spark-submit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from typing_extensions import override

from psoup.engine.tuples.schema import STREAM_NAME
from psoup.pipeline.errors import DefinitionError

COMMIT_MIB_DEFAULT: Final = 64
"""Of rows that a backfill commits at once: a quarter of what the service takes, so that it can go on answering."""
BATCH_MIB_DEFAULT: Final = 1_024
"""Of files that a backfill puts in order of time together: they are kept on the disks of Spark meanwhile."""
AT_MOST_DEFAULT: Final = "1h"
"""For one history, with all others behind it waiting: large scans take minutes."""
SECONDS: Final[Mapping[str, float]] = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0}

_SERVICE = "The service"
_SOURCE = "The source"
_ROWS = "The rows"
_SPARK = "Spark"


def _option(names: str, help_text: str, panel: str | None = None, **more: Any) -> Any:  # noqa: ANN401 (typer's)
    return typer.Option(*names.split(), help=help_text, rich_help_panel=panel, **more)


Url = Annotated[str, _option("--url", "Where the service listens.", _SERVICE, envvar="PSOUP_URL")]
Token = Annotated[
    str | None,
    _option("--token", "Key, where the service asks for one.", _SERVICE, envvar="PSOUP_TOKEN"),
]
ToStream = Annotated[str, _option("--stream -s", "Where the rows go.", _SERVICE)]
FromStream = Annotated[str, _option("--stream -s", "The stream to be archived.", _SERVICE)]
Archives = Annotated[
    list[str] | None,
    _option(
        "--archive -a",
        "DIR: the archive of each stream is DIR/STREAM. STREAM=DIR: that of one stream. As often as need be.",
        _SOURCE,
    ),
]
Create = Annotated[
    bool,
    _option("--create", "Declare the stream by the rows' columns, if there is none.", _SERVICE),
]
RetentionRows = Annotated[
    int | None, _option("--retention-rows", "With --create: keep so many rows.", _SERVICE, min=1)
]
RetentionTime = Annotated[
    str | None,
    _option("--retention-time", "With --create: keep rows so long, as in 7d.", _SERVICE),
]
RetentionBytes = Annotated[
    str | None,
    _option("--retention-bytes", "With --create: keep so much, as in 500MiB.", _SERVICE),
]
Checkpoint = Annotated[
    str,
    _option(
        "--checkpoint", "Folder in which Spark keeps how far it is: the same one goes on.", _SPARK
    ),
]
Master = Annotated[
    str | None,
    _option("--master", "Where Spark runs; default: all cores of this machine.", _SPARK),
]
Options = Annotated[
    list[str] | None, _option("--option -o", "An option of the source, as in header=true.", _SOURCE)
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
        'A column of the stream, as in "px = price / 100": Spark SQL over the source\'s columns. "*": all'
        " of these. Default: all.",
        _ROWS,
    ),
]
Where = Annotated[
    str | None,
    _option(
        "--where", "Which rows of the source: Spark SQL over its columns. Default: all.", _ROWS
    ),
]
Time = Annotated[
    str | None,
    _option(
        "--time -t", "The column that dates a row; texts and dates become instants, UTC.", _ROWS
    ),
]
URL_DEFAULT: Final = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntoStream:
    """What every job is asked for that brings rows into a stream."""

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
        """Refuse what cannot be before anything is started.

        Raises:
            DefinitionError: an option is not written as it has to be, or does not go with another.
        """
        mapping(self.map)
        source_options(self.options)
        writer_options(self)

    @property
    def subject(self) -> str:
        """Return what the job is about, as Spark shows it."""
        return self.stream


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest(IntoStream):
    """Bring the rows of a Structured Streaming source into a stream, until told to stop.

    Exactly once: with the same --checkpoint it goes on where it was, whatever ended it.
    """

    format: Annotated[
        str, _option("--format -f", "csv, json, parquet, kafka, rate: any that Spark has.", _SOURCE)
    ]
    path: Annotated[str | None, _option("--path", "Of sources that read files.", _SOURCE)] = None
    available_now: Annotated[
        bool, _option("--available-now", "End once all that is there now is in.", _SPARK)
    ] = False
    every: Annotated[
        str | None,
        _option(
            "--every", "Between two micro-batches: 500ms, 2s, 1m. Default: none waits.", _SPARK
        ),
    ] = None

    @override
    def __post_init__(self) -> None:
        """Refuse what cannot be, as for all rows, and two triggers."""
        IntoStream.__post_init__(self)
        if self.every is not None:
            trigger_interval(self.every)
            if self.available_now:
                raise DefinitionError("--every and --available-now exclude each other.")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRequest(IntoStream):
    """Load CSV, JSON or Parquet files into a stream, in order of their tuples' times.

    With the same --checkpoint it goes on where it was, and adds nothing that is there already.
    """

    path: Annotated[str, typer.Argument(help="A file, a folder, or a pattern such as 'in/*.csv'.")]
    format: Annotated[
        str | None,
        _option("--format -f", "csv, json or parquet. Default: as the path's name says.", _SOURCE),
    ] = None
    batch_mib: Annotated[
        int,
        _option("--batch-mib", "Of files put in order of time together, about.", _SPARK, min=1),
    ] = BATCH_MIB_DEFAULT
    commit_mib: Annotated[
        int,
        _option("--commit-mib", "Of rows that appear at once, about.", _SERVICE, min=1, max=192),
    ] = COMMIT_MIB_DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveRequest:
    """Write a stream's tuples to Parquet, by the day of their time, before retention lets them go.

    From its first run on the service keeps what is not archived yet. Run it again and again, or with --every.
    """

    stream: FromStream
    path: Annotated[str, _option("--path -p", "Folder of the archive.", _SOURCE)]
    checkpoint: Annotated[
        str | None,
        _option(
            "--checkpoint",
            "Folder in which Spark keeps how far it is. Default: _checkpoint in the archive.",
            _SPARK,
        ),
    ] = None
    options: Annotated[
        list[str] | None,
        _option("--option -o", "An option of the Parquet sink, as in compression=zstd.", _SOURCE),
    ] = None
    every: Annotated[
        str | None,
        _option(
            "--every", "Go on, looking so often: 1m. Default: end once all is archived.", _SPARK
        ),
    ] = None
    master: Master = None
    url: Url = URL_DEFAULT
    token: Token = None

    def __post_init__(self) -> None:
        """Refuse what cannot be before anything is started.

        Raises:
            DefinitionError: an option is not written as it has to be.
        """
        source_options(self.options)
        if self.every is not None:
            trigger_interval(self.every)

    @property
    def subject(self) -> str:
        """Return what the job is about, as Spark shows it."""
        return self.stream


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """Answer queries whose windows reach past what the service keeps, from archives and its log.

    Who wants such an answer asks the service for it (results?history=true); this computes it there and then.
    """

    archive: Archives = None
    every: Annotated[
        str | None,
        _option("--every", "Look so often whether one is asked for. Default: 2s.", _SPARK),
    ] = None
    at_most: Annotated[
        str,
        _option("--at-most", "Give up a history that takes longer: 20m, 2h. Others wait.", _SPARK),
    ] = AT_MOST_DEFAULT
    available_now: Annotated[
        bool,
        _option("--available-now", "End once all that are asked for now are answered.", _SPARK),
    ] = False
    master: Master = None
    url: Url = URL_DEFAULT
    token: Token = None

    def __post_init__(self) -> None:
        """Refuse what cannot be before anything is started.

        Raises:
            DefinitionError: an option is not written as it has to be, or does not go with another.
        """
        archive_places(self.archive)
        seconds_of(self.at_most, option="--at-most")
        if self.every is not None:
            seconds_of(self.every)
            if self.available_now:
                raise DefinitionError("--every and --available-now exclude each other.")

    @property
    def subject(self) -> str:
        """Return what the job is about, as Spark shows it."""
        return "history"


def writer_options(request: IntoStream) -> dict[str, str]:
    """Return what `format("psoup")` is told to write where the request says.

    Raises:
        DefinitionError: retention is given for a stream that is not to be declared.
    """
    retention = {
        "retentionRows": request.retention_rows,
        "retentionTime": request.retention_time,
        "retentionBytes": request.retention_bytes,
    }
    if not request.create and any(value is not None for value in retention.values()):
        raise DefinitionError("Retention is said of a stream as it is declared: add --create.")
    declared = {"createStream": "true", "time": request.time, **retention} if request.create else {}
    told = {"url": request.url, "stream": request.stream, "token": request.token, **declared}
    return {name: str(value) for name, value in told.items() if value is not None}


def source_options(given: Sequence[str] | None) -> dict[str, str]:
    """Return options written `key=value` by their keys.

    Raises:
        DefinitionError: one is not written so.
    """
    found = {}
    for one in given or ():
        key, sign, value = one.partition("=")
        if not sign or not key.strip():
            raise DefinitionError(f"--option is {one!r}: write it as key=value, as in header=true.")
        found[key.strip()] = value
    return found


def mapping(given: Sequence[str] | None) -> dict[str, str]:
    """Return the expressions of columns written `column = expression`, by column, in their order.

    `*` stands for itself, and a column alone for the source's column of that name.

    Raises:
        DefinitionError: one is written otherwise, or a column is given twice.
    """
    found: dict[str, str] = {}
    for one in given or ():
        name, sign, expression = (part.strip() for part in one.partition("="))
        if (sign and not expression) or not name:
            raise DefinitionError(f'--map is {one!r}: write it as "column = Spark SQL".')
        if name in found:
            raise DefinitionError(f"--map gives column {name!r} twice.")
        found[name] = expression if sign else (name if name == "*" else f"`{name}`")
    return found


def archive_places(given: Sequence[str] | None) -> tuple[str | None, dict[str, str]]:
    """Return the folder that holds the archives of all streams, if one is given, and those of single streams by name.

    Raises:
        DefinitionError: two are given for the same.
    """
    folder: str | None = None
    by_stream: dict[str, str] = {}
    for one in given or ():
        name, sign, path = one.partition("=")
        if sign and STREAM_NAME.fullmatch(name):
            if not path or by_stream.setdefault(name, path) != path:
                raise DefinitionError(f"--archive is {one!r}: name one folder for each stream.")
        elif folder not in (None, one) or not one:
            raise DefinitionError(
                f"--archive names two folders, {folder!r} and {one!r}: one holds the archives of all streams, those"
                " elsewhere are named by STREAM=DIR."
            )
        else:
            folder = one
    return folder, by_stream


def trigger_interval(given: str) -> str:
    """Return `500ms`, `2s`, `1m` or `1h` as Spark takes an interval between micro-batches.

    Raises:
        DefinitionError: it is written otherwise.
    """
    return f"{round(seconds_of(given) * 1_000)} milliseconds"


def seconds_of(given: str, *, option: str = "--every") -> float:
    """Return `500ms`, `2s`, `1m` or `1h` in seconds. `option`: what was given so, for the error.

    Raises:
        DefinitionError: it is written otherwise.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)", given.strip())
    if match is None:
        raise DefinitionError(
            f"{option} is {given!r}: expected a duration such as 500ms, 2s or 1m."
        )
    return float(match[1]) * SECONDS[match[2]]
