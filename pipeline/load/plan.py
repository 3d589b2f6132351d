"""The plan of a load: stream, columns and files, determined before anything is changed.

Each file is a producer of the stream, named after the file's content, so the service knows which of its batches it has
(`docs/decisions/0028-a-file-is-loaded-once.md`). `transfer` carries the plan out.
"""

import dataclasses
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from psoup.client.calls import PsoupClient
from psoup.client.errors import DefinitionError
from psoup.engine.limits import BATCH_ROWS_MAX
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.definition import (
    check_stream_name,
    columns_of,
    definition_body,
)
from psoup.pipeline.errors import DataFileError, NoRowsError
from psoup.pipeline.files.columns.kinds import InferredColumn
from psoup.pipeline.files.data_file import DataFile
from psoup.pipeline.files.merging import agree_on_dates, check_headers, merge_columns, shared_notes
from psoup.pipeline.files.notes import notes_on
from psoup.pipeline.files.options import BATCH_ROWS_DEFAULT, ReadOptions
from psoup.pipeline.load.sources import Source
from psoup.pipeline.load.time_column import (
    check_time,
    time_as_written,
    with_time,
    with_time_renamed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """The options of a load. Members that are None are inferred, or left to the service."""

    stream: str
    read: ReadOptions = field(default_factory=ReadOptions)
    schema: Mapping[str, Any] | None = None
    clock: str | None = None
    retention: Mapping[str, Any] | None = None
    batch_rows: int = BATCH_ROWS_DEFAULT
    sort: bool = False
    encoding: str | None = None
    """Compression of request bodies: None, `gzip` or `zstd`."""
    producer: str | None = None
    """Distinguishes this load from others of the same file: its rows are then stored again."""
    replace: bool = False
    """Whether the load replaces all rows of the stream."""


@dataclass(frozen=True, slots=True)
class LoadFile:
    """One file of a load, with the name of its producer."""

    source: Source
    data: DataFile
    app: str
    other_app: str
    """Name of the producer of the same content in the other order: by time, or as in the file."""
    stat: os.stat_result
    """Of the file, when its digest was computed."""

    def check_unchanged(self) -> None:
        """Refuse a file that changed after its digest was computed. A removed file is still read to its end.

        Raises:
            DataFileError: its size or its modification time differs.
        """
        try:
            now = self.source.path.stat()
        except OSError:
            return
        same_file = now.st_ino == self.stat.st_ino
        if same_file and _version(now) != _version(self.stat):
            raise DataFileError(
                "it was written to while it was loaded",
                file=self.source.name,
                hint="The batches before it stay stored. Load the file with --replace once nothing writes to it any more.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """The stream that a load writes to, its columns, and the files."""

    request: LoadRequest
    files: tuple[LoadFile, ...]
    columns: tuple[ColumnSchema, ...]
    time: str | None
    body: Mapping[str, Any] | None
    """The definition to declare; None: the stream exists, and no option concerns its definition."""
    inferred: tuple[InferredColumn, ...]
    """The columns inferred from the files; empty if the columns are declared."""
    notes: tuple[str, ...]
    """Sentences about decisions that the user may not expect."""
    existing: Mapping[str, Any] | None
    """The service's description of the stream; None: there is no such stream."""
    replaces: bool
    """Whether the load drops `existing` first."""
    copies: tuple[tuple[str, str], ...]
    """Files left out because another file has the same bytes: the names of both."""

    @property
    def rows_before(self) -> int:
        """Return the number of rows that the stream holds before this load, without rows that it replaces."""
        return 0 if self.existing is None or self.replaces else int(self.existing["rows"])

    @property
    def size_bytes(self) -> int:
        """Return the size of all files on disk."""
        return sum(file.data.size_bytes for file in self.files)


class SurveyProgress:
    """Progress of the passes over the files before a load, in bytes. Another thread may read it."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.total_bytes = 0
        self._done_bytes = 0
        self._current: DataFile | None = None

    @property
    def done_bytes(self) -> int:
        """Return the bytes that have been read, of `total_bytes`."""
        current = self._current
        try:
            return self._done_bytes + (0 if current is None else current.bytes_read)
        except ValueError:  # the file was closed at this moment
            return self._done_bytes

    @contextmanager
    def over(self, data: DataFile) -> Iterator[None]:
        """Follow one pass over a file."""
        self._current = data
        yield
        self._current = None
        self._done_bytes += data.size_bytes


def retention_of(rows: int | None, time: str | None, nbytes: str | None) -> dict[str, Any] | None:
    """Return a stream's retention as PUT takes it; None: no bound is given."""
    given = {"rows": rows, "time": time, "bytes": nbytes}
    return {name: value for name, value in given.items() if value is not None} or None


def plan_load(
    service: PsoupClient, request: LoadRequest, files: Sequence[Source], progress: SurveyProgress
) -> LoadPlan:
    """Return the plan of a load, given the files and the stream. Changes nothing but `progress`.

    The columns are those of `--schema`, else those of a stream that exists and is not replaced, else inferred from all
    files. The files are read in every case, to learn how their values are written.

    Raises:
        DataFileError: a file cannot be read with these options, or its columns differ from those of the others.
        DefinitionError: options exclude each other.
        ServiceProblem: the service refused.
    """
    _check(request)
    existing = service.stream(request.stream)
    given = request.schema or {}
    named_time = request.read.time or given.get("time")
    time = named_time or (existing or {}).get("time")
    opened = _open(files, dataclasses.replace(request.read, time=time))
    check_headers([(source.name, data) for source, data in opened])
    if request.read.time is not None:
        time = time_as_written(request.read, [data for _, data in opened])
        if existing is not None and not request.replace:
            check_time(time, request.stream, existing)
    if time != opened[0][1].options.time:
        opened = _open(files, with_time_renamed(request.read, time))
    declared = _declared(request, time, existing)
    if declared is not None:
        _check_columns(declared, opened, request.read)
    progress.total_bytes = 2 * sum(data.size_bytes for _, data in opened)
    surveys = _survey(opened, declared, progress)
    inferred = merge_columns([(source.name, data, columns) for source, data, columns in surveys])
    columns = declared
    if columns is None:
        if not named_time and time not in {column.name for column in inferred}:
            time = None  # it is the time column of a stream that the load drops
        columns = with_time(_as_columns(inferred, time, existing), time)
    if request.sort and time is None:
        raise DefinitionError("--sort needs to know the time column: pass --time COLUMN.")
    types = {column.name: column.type for column in inferred}
    for source, data, own_columns in surveys:
        with source.shown():
            data.settle(own_columns, types)
    loaded, copies = _identify(opened, request, progress)
    return LoadPlan(
        request=request,
        files=loaded,
        columns=columns,
        time=time,
        body=_body(request, columns, time, existing),
        inferred=inferred if declared is None else (),
        notes=(
            *shared_notes([(s.name, data) for s, data in opened]),
            *notes_on(inferred, time=time),
        ),
        existing=existing,
        replaces=request.replace and existing is not None,
        copies=copies,
    )


def _check(request: LoadRequest) -> None:
    check_stream_name(request.stream)
    if request.producer == "":
        raise DefinitionError("--producer is empty: expected a name, or no --producer.")
    if not 1 <= request.batch_rows <= BATCH_ROWS_MAX:
        raise DefinitionError(
            f"--batch-rows is {request.batch_rows}: expected 1 to {BATCH_ROWS_MAX}."
        )


def _open(files: Sequence[Source], options: ReadOptions) -> list[tuple[Source, DataFile]]:
    opened = []
    for source in files:
        with source.shown():
            opened.append((source, DataFile(source.path, options)))
    return opened


def _declared(
    request: LoadRequest, time: str | None, existing: Mapping[str, Any] | None
) -> tuple[ColumnSchema, ...] | None:
    """Return the columns of `--schema`, else of a stream that is not replaced; None: the columns are inferred."""
    given = request.schema or {}
    if "columns" in given:
        return with_time(columns_of({**given, "time": time}), time)
    if existing is None or request.replace:
        return None
    return with_time(columns_of(existing), time)


def _check_columns(
    declared: Sequence[ColumnSchema], opened: Sequence[tuple[Source, DataFile]], read: ReadOptions
) -> None:
    """Refuse columns of files that are not declared, and --types that contradict the declared types."""
    given = {column.name: column.type for column in declared}
    for name, kind in read.types:
        if given.get(name, kind) is not kind:
            raise DefinitionError(
                f"The stream or --schema declares column {name!r} as {given[name]}, and --types names {kind}."
                " Load into another stream, or leave the column out of --types."
            )
    for source, data in opened:
        with source.shown():
            data.check_columns(declared)


def _survey(
    opened: Sequence[tuple[Source, DataFile]],
    declared: Sequence[ColumnSchema] | None,
    progress: SurveyProgress,
) -> list[tuple[Source, DataFile, Sequence[InferredColumn]]]:
    """Return the columns of each file. Files without rows are ignored, unless all are."""
    types = None if declared is None else {column.name: column.type for column in declared}
    surveys = []
    empty: NoRowsError | None = None
    for source, data in opened:
        try:
            with source.shown(), progress.over(data):
                surveys.append((source, data, data.survey(types)))
        except NoRowsError as error:
            empty = empty or error
    if empty is not None and not surveys:
        raise empty
    agreed = agree_on_dates([columns for _, _, columns in surveys])
    return [
        (source, data, columns) for (source, data, _), columns in zip(surveys, agreed, strict=True)
    ]


def _identify(
    opened: Sequence[tuple[Source, DataFile]], request: LoadRequest, progress: SurveyProgress
) -> tuple[tuple[LoadFile, ...], tuple[tuple[str, str], ...]]:
    """Return the files with the names of their producers, and the files that repeat the bytes of an earlier one."""
    files: dict[str, LoadFile] = {}
    copies = []
    for source, data in opened:
        with source.shown(), progress.over(data):
            stat = _stat(source)
            digest = data.digest()
        app, other_app = (
            _producer(digest, request, sort=sort) for sort in (request.sort, not request.sort)
        )
        if app in files:
            copies.append((source.name, files[app].source.name))
        else:
            files[app] = LoadFile(source, data, app, other_app, stat)
    return tuple(files.values()), tuple(copies)


def _as_columns(
    inferred: Sequence[InferredColumn], time: str | None, replaced: Mapping[str, Any] | None
) -> tuple[ColumnSchema, ...]:
    """Return the columns to declare. A timestamp keeps the unit that it has in the replaced stream."""
    before = () if replaced is None else columns_of(replaced)
    units = {column.name: column.unit for column in before}
    return tuple(
        ColumnSchema(
            c.name,
            c.type,
            c.name != time,
            units.get(c.name) if c.type is ColumnType.TIMESTAMP else None,
        )
        for c in inferred
    )


def _producer(digest: str, request: LoadRequest, *, sort: bool) -> str:
    """Return the name of a file's producer, which depends on its content and on the order of its rows."""
    parts = {
        "content": digest,
        "producer": request.producer,
        "sort": sort,
        "stream": request.stream,
    }
    named = hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return f"load-{named[:40]}"


def _stat(source: Source) -> os.stat_result:
    try:
        return source.path.stat()
    except OSError as error:
        raise DataFileError(
            f"it cannot be read: {error.strerror or error}", file=source.name
        ) from error


def _version(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_size, stat.st_mtime_ns


def _body(
    request: LoadRequest,
    columns: tuple[ColumnSchema, ...],
    time: str | None,
    existing: Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    """Return the definition to declare; None: the stream stays as it is.

    For an existing stream: its own definition, changed by the options. So equal options change nothing, and the service
    refuses others with the difference. A replaced stream hands on its clock, retention and `future`.
    """
    given = dict(request.schema or {})
    is_defined = given or request.read.time or request.clock or request.retention
    if existing is not None and not is_defined and not request.replace:
        return None
    kept = {**given.get("retention", {}), **(request.retention or {})}
    base = existing or {}
    known = {name: base[name] for name in ("clock", "retention", "future") if name in base}
    if time is None and base.get("time") is not None:
        known.pop("clock")  # it belongs to a time column that the new stream lacks
    members = {**known, **{k: v for k, v in given.items() if k != "columns"}, "time": time}
    if kept:
        members["retention"] = {**known.get("retention", {}), **kept}
    if request.clock is not None:
        members["clock"] = request.clock
    return definition_body(columns, **members)
