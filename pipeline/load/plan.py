"""What a load of files into a stream will do, found out before anything is changed.

Each file is a producer of the stream, named after its content: the service knows which of its batches it has
(`docs/decisions/0028-a-file-is-loaded-once.md`). `pipeline.loading` does what is planned here.
"""

import dataclasses
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from psoup.engine.limits import BATCH_ROWS_MAX
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.client import PsoupClient
from psoup.pipeline.definition import check_stream_name, columns_of, definition_body
from psoup.pipeline.errors import DataFileError, DefinitionError, NoRowsError
from psoup.pipeline.files.columns.kinds import InferredColumn
from psoup.pipeline.files.data_file import DataFile
from psoup.pipeline.files.merging import agreed, check_headers, merged, notes_together
from psoup.pipeline.files.notes import notes_on
from psoup.pipeline.files.options import BATCH_ROWS_DEFAULT, ReadOptions
from psoup.pipeline.load.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """What is asked for. Members that are None are left to the service, or inferred."""

    stream: str
    read: ReadOptions = field(default_factory=ReadOptions)
    schema: Mapping[str, Any] | None = None
    clock: str | None = None
    retention: Mapping[str, Any] | None = None
    batch_rows: int = BATCH_ROWS_DEFAULT
    sort: bool = False
    encoding: str | None = None
    """How bodies are compressed on the way: None, `gzip` or `zstd`."""
    producer: str | None = None
    """Tells this load from others of the same file, which then count apart."""
    replace: bool = False
    """Whether the load takes the place of what the stream holds."""


@dataclass(frozen=True, slots=True)
class LoadFile:
    """One file of a load, and the name under which its batches are counted."""

    source: Source
    data: DataFile
    app: str
    other_app: str
    """That of a load of the same content in the other order: by time, or as it stands in the file."""
    seen: os.stat_result
    """As it was when its digest was taken."""

    def check_unchanged(self) -> None:
        """Refuse a file that was written to since its digest was taken. One that was removed is read to its end.

        Raises:
            DataFileError: its size or its time of change is another.
        """
        try:
            now = self.source.path.stat()
        except OSError:
            return
        same_file = now.st_ino == self.seen.st_ino
        if same_file and _version(now) != _version(self.seen):
            raise DataFileError(
                "it was written to while it was loaded",
                file=self.source.name,
                hint="The batches before stay. Load it with --replace when nothing writes to it any more.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """What will be done: the stream as it will be, and the files."""

    request: LoadRequest
    files: tuple[LoadFile, ...]
    columns: tuple[ColumnSchema, ...]
    time: str | None
    body: Mapping[str, Any] | None
    """The definition to declare; None where the stream exists and nothing was asked of it."""
    inferred: tuple[InferredColumn, ...]
    """What the files showed; empty where the columns were given."""
    notes: tuple[str, ...]
    """What was decided about the files that the user may not expect, in sentences."""
    existing: Mapping[str, Any] | None
    """The stream as the service describes it; None where there is none."""
    replaces: bool
    """Whether `existing` is dropped first."""
    copies: tuple[tuple[str, str], ...]
    """Files left out because another one holds the same bytes: the names of both."""

    @property
    def rows_before(self) -> int:
        """How many rows the stream holds to which this load adds."""
        return 0 if self.existing is None or self.replaces else int(self.existing["rows"])

    @property
    def size_bytes(self) -> int:
        """All files together, as they lie on disk."""
        return sum(file.data.size_bytes for file in self.files)


class Look:
    """How far files have been looked at, in bytes of all passes. Another thread than the one that looks may ask."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.total_bytes = 0
        self._done_bytes = 0
        self._current: DataFile | None = None

    @property
    def done_bytes(self) -> int:
        """Bytes that have been read, of `total_bytes`."""
        current = self._current
        try:
            return self._done_bytes + (0 if current is None else current.bytes_read)
        except ValueError:  # the file was closed in this moment
            return self._done_bytes

    @contextmanager
    def over(self, data: DataFile) -> Iterator[None]:
        """Follow one pass over a file."""
        self._current = data
        yield
        self._current = None
        self._done_bytes += data.size_bytes


def retention_of(rows: int | None, time: str | None, nbytes: str | None) -> dict[str, Any] | None:
    """Return a stream's bounds as PUT takes them; None where none is given."""
    given = {"rows": rows, "time": time, "bytes": nbytes}
    return {name: value for name, value in given.items() if value is not None} or None


def plan_load(
    service: PsoupClient, request: LoadRequest, found: Sequence[Source], look: Look
) -> LoadPlan:
    """Return what loading will do, having looked at the files and at the stream. Changes nothing.

    The columns are those of `--schema`, else those of the stream where it exists and stays, else inferred from all of
    the files. All are looked at in every case, for how their values are written. `look` follows.

    Raises:
        DataFileError: a file cannot be read so, or has other columns than the others.
        DefinitionError: what is asked does not go together.
        ServiceProblem: the service refused.
    """
    _check(request)
    existing = service.stream(request.stream)
    given = request.schema or {}
    asked_time = request.read.time or given.get("time")
    time = asked_time or (existing or {}).get("time")
    opened = _opened(found, dataclasses.replace(request.read, time=time))
    check_headers([(source.name, data) for source, data in opened])
    declared = _declared(request, time, existing)
    if declared is not None:
        _check_columns(declared, opened, request.read)
    look.total_bytes = 2 * sum(data.size_bytes for _, data in opened)
    surveys = _surveyed(opened, declared, look)
    inferred = merged([(source.name, data, columns) for source, data, columns in surveys])
    columns = declared
    if columns is None:
        if not asked_time and time not in {column.name for column in inferred}:
            time = None  # that of a stream that will be dropped
        columns = _with_time(_as_columns(inferred, time, existing), time)
    if request.sort and time is None:
        raise DefinitionError("To sort, the time column has to be named: pass --time COLUMN.")
    types = {column.name: column.type for column in inferred}
    for source, data, seen in surveys:
        with source.shown():
            data.settle(seen, types)
    files, copies = _identified(opened, request, look)
    return LoadPlan(
        request=request,
        files=files,
        columns=columns,
        time=time,
        body=_body(request, columns, time, existing),
        inferred=inferred if declared is None else (),
        notes=(*notes_together([(s.name, data) for s, data in opened]), *notes_on(inferred)),
        existing=existing,
        replaces=request.replace and existing is not None,
        copies=copies,
    )


def _check(request: LoadRequest) -> None:
    check_stream_name(request.stream)
    if request.producer == "":
        raise DefinitionError("--producer is empty: expected a name.")
    if not 1 <= request.batch_rows <= BATCH_ROWS_MAX:
        raise DefinitionError(
            f"A batch has 1 to {BATCH_ROWS_MAX} rows, --batch-rows says {request.batch_rows}."
        )


def _opened(found: Sequence[Source], options: ReadOptions) -> list[tuple[Source, DataFile]]:
    opened = []
    for source in found:
        with source.shown():
            opened.append((source, DataFile(source.path, options)))
    return opened


def _declared(
    request: LoadRequest, time: str | None, existing: Mapping[str, Any] | None
) -> tuple[ColumnSchema, ...] | None:
    """Return the columns of `--schema`, or of a stream that stays; None = they are to be inferred."""
    given = request.schema or {}
    if "columns" in given:
        return _with_time(columns_of({**given, "time": time}), time)
    if existing is None or request.replace:
        return None
    return _with_time(columns_of(existing), time)


def _check_columns(
    declared: Sequence[ColumnSchema], opened: Sequence[tuple[Source, DataFile]], read: ReadOptions
) -> None:
    """Refuse columns of files that are not declared, and types asked for beside others that are declared."""
    given = {column.name: column.type for column in declared}
    for name, kind in read.types:
        if given.get(name, kind) is not kind:
            raise DefinitionError(
                f"Column {name!r} is {given[name]} already, by the stream or --schema; --types says {kind}."
                " Load into another stream, or leave it out of --types."
            )
    for source, data in opened:
        with source.shown():
            data.check_columns(declared)


def _surveyed(
    opened: Sequence[tuple[Source, DataFile]],
    declared: Sequence[ColumnSchema] | None,
    look: Look,
) -> list[tuple[Source, DataFile, Sequence[InferredColumn]]]:
    """Return the columns of each file; files without rows say nothing, unless none has any."""
    types = None if declared is None else {column.name: column.type for column in declared}
    surveys = []
    empty: NoRowsError | None = None
    for source, data in opened:
        try:
            with source.shown(), look.over(data):
                surveys.append((source, data, data.survey(types)))
        except NoRowsError as error:
            empty = empty or error
    if empty is not None and not surveys:
        raise empty
    together = agreed([columns for _, _, columns in surveys])
    return [(source, data, seen) for (source, data, _), seen in zip(surveys, together, strict=True)]


def _identified(
    opened: Sequence[tuple[Source, DataFile]], request: LoadRequest, look: Look
) -> tuple[tuple[LoadFile, ...], tuple[tuple[str, str], ...]]:
    """Return the files with the names of their producers, and which hold the same bytes as one before."""
    files: dict[str, LoadFile] = {}
    copies = []
    for source, data in opened:
        with source.shown(), look.over(data):
            seen = _stat(source)
            digest = data.digest()
        app, other_app = (
            _producer(digest, request, sort=one) for one in (request.sort, not request.sort)
        )
        if app in files:
            copies.append((source.name, files[app].source.name))
        else:
            files[app] = LoadFile(source, data, app, other_app, seen)
    return tuple(files.values()), tuple(copies)


def _as_columns(
    inferred: Sequence[InferredColumn], time: str | None, replaced: Mapping[str, Any] | None
) -> tuple[ColumnSchema, ...]:
    """Return the columns to declare; a timestamp keeps the unit that it has in a stream that is replaced."""
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
    """Return the name under which the batches of a file are counted: that of its content, in one of two orders."""
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


def _version(seen: os.stat_result) -> tuple[int, int]:
    return seen.st_size, seen.st_mtime_ns


def _with_time(columns: tuple[ColumnSchema, ...], time: str | None) -> tuple[ColumnSchema, ...]:
    """Return the columns with the time column not nullable, as every stream declares it."""
    if time is None:
        return columns
    if time not in {column.name for column in columns}:
        listed = ", ".join(column.name for column in columns)
        raise DefinitionError(f"There is no column {time!r} for --time; there are {listed}.")
    return tuple(
        dataclasses.replace(column, nullable=False) if column.name == time else column
        for column in columns
    )


def _body(
    request: LoadRequest,
    columns: tuple[ColumnSchema, ...],
    time: str | None,
    existing: Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    """Return the definition to declare.

    Over an existing stream: its own with what was asked for on top, so that asking for the same again
    is no change and asking for something else is refused by the service, with the difference. One that is
    replaced hands its clock and its bounds on.
    """
    given = dict(request.schema or {})
    asked = given or request.read.time or request.clock or request.retention
    if existing is not None and not asked and not request.replace:
        return None
    kept = {**given.get("retention", {}), **(request.retention or {})}
    base = existing or {}
    known = {name: base[name] for name in ("clock", "retention", "future") if name in base}
    if time is None and base.get("time") is not None:
        known.pop("clock")  # that of a time column which is no more
    members = {**known, **{k: v for k, v in given.items() if k != "columns"}, "time": time}
    if kept:
        members["retention"] = {**known.get("retention", {}), **kept}
    if request.clock is not None:
        members["clock"] = request.clock
    return definition_body(columns, **members)
