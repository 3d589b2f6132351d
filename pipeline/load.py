"""A file into a stream, exactly once however often it is interrupted and repeated.

The file is cut into batches by its content and the options alone. Each batch travels as a producer's
transaction: the app is named after the content, the stream and the options, the version is the batch's
number. The service knows which versions it has, so no state is kept on this side
(`docs/decisions/0002-load-resumes-by-producer-version.md`). Batches are sent strictly in order, one at a
time: a version below the last would count as a duplicate. The next one is read meanwhile.
"""

import dataclasses
import gzip
import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson
import pyarrow as pa
import zstandard

from engine.limits import BATCH_ROWS_MAX, MIB
from engine.tuples.arrow import ARROW_TYPES, encode_batch
from engine.tuples.schema import ColumnSchema
from pipeline.client import ARROW_STREAM, Service, Txn
from pipeline.definition import columns_of, definition_body
from pipeline.errors import DataFileError, DefinitionError, ServiceProblem
from pipeline.files.data_file import DataFile
from pipeline.files.kinds import InferredColumn
from pipeline.files.options import BATCH_ROWS_DEFAULT, ReadOptions

BATCH_BYTES_MAX: Final = 8 * MIB
"""A batch with more bytes of Arrow is halved: half of what one entry of the log may hold."""
BATCHING_VERSION: Final = 1
"""Raised when the same file and options would be cut differently than before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """What is asked for. Members that are None are left to the service, or inferred."""

    path: Path
    stream: str
    read: ReadOptions = field(default_factory=ReadOptions)
    schema: Mapping[str, Any] | None = None
    clock: str | None = None
    retention: Mapping[str, Any] | None = None
    batch_rows: int = BATCH_ROWS_DEFAULT
    sort: bool = False
    encoding: str | None = None
    """How bodies are compressed on the way: None, `gzip` or `zstd`."""
    app: str | None = None
    """The producer's name, where the derived one is not wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """What will be done: the stream as it will be, and the name under which batches are counted."""

    request: LoadRequest
    file: DataFile
    columns: tuple[ColumnSchema, ...]
    time: str | None
    body: Mapping[str, Any] | None
    """The definition to declare; None where the stream exists and nothing was asked of it."""
    inferred: tuple[InferredColumn, ...]
    """What the file showed; empty where the columns were given."""
    rows_before: int
    app: str

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided about the file that the user may not expect, in sentences."""
        return self.file.notes


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProgress:
    """How far a load is. `skipped_rows` of `rows` were there already. `fraction` lies in 0 to 1."""

    rows: int = 0
    skipped_rows: int = 0
    batches: int = 0
    skipped_batches: int = 0
    bytes_read: int = 0
    fraction: float = 0.0
    seq: int | None = None
    now: str | None = None
    warnings: tuple[str, ...] = ()
    """What the service said of the last batch."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One batch on its way: where its rows begin, and its Arrow stream."""

    version: int
    first_row: int
    rows: int
    body: bytes


def plan_load(service: Service, request: LoadRequest) -> LoadPlan:
    """Return what loading will do, having looked at the file and at the stream. Changes nothing.

    The columns are those of `--schema`, else those of the stream where it exists, else inferred from
    the whole file. It is looked at in every case, for how its values are written.

    Raises:
        DataFileError: the file cannot be read so.
        DefinitionError: what is asked does not go together.
        ServiceProblem: the service refused.
    """
    _check(request)
    existing = service.stream(request.stream)
    given = request.schema or {}
    wanted_time = request.read.time or given.get("time") or (existing or {}).get("time")
    if request.sort and wanted_time is None:
        raise DefinitionError("To sort, the time column has to be named: pass --time COLUMN.")
    file = DataFile(request.path, dataclasses.replace(request.read, time=wanted_time))
    inferred: tuple[InferredColumn, ...] = ()
    if "columns" in given:
        columns = columns_of({**given, "time": wanted_time})
    elif existing is not None:
        columns = columns_of(existing)
    else:
        inferred = file.survey()
        columns = tuple(ColumnSchema(c.name, c.type, c.name != wanted_time) for c in inferred)
    columns = _with_time(columns, wanted_time)
    if not inferred:
        _check_types(columns, request.read)
        file.check_columns(columns)
        file.survey({column.name: column.type for column in columns})
    return LoadPlan(
        request=request,
        file=file,
        columns=columns,
        time=wanted_time,
        body=_body(request, columns, wanted_time, existing),
        inferred=inferred,
        rows_before=int((existing or {}).get("rows", 0)),
        app=request.app or _identity(file, request, columns),
    )


def run_load(
    service: Service, plan: LoadPlan, on_progress: Callable[[LoadProgress], None]
) -> LoadProgress:
    """Declare the stream and append the file's rows; return the final figures.

    Repeating it stores nothing twice; interrupting it loses nothing that was acknowledged.

    Args:
        service: where to.
        plan: of `plan_load`.
        on_progress: called after each batch.

    Raises:
        DataFileError: a value does not fit, or the service rejected a row; says the line.
        ServiceProblem: the service refused otherwise.
    """
    request = plan.request
    if plan.body is not None:
        service.declare(request.stream, plan.body)
    progress = LoadProgress()
    with closing(_read_ahead(_parts(plan))) as parts:
        for part in parts:
            try:
                receipt = service.append(
                    request.stream,
                    _packed(part.body, request.encoding),
                    content_type=ARROW_STREAM,
                    txn=Txn(plan.app, part.version),
                    encoding=request.encoding,
                )
            except ServiceProblem as problem:
                if problem.problem == "rows-rejected":
                    raise _rejected(plan, part, problem) from problem
                raise
            skipped = bool(receipt.get("duplicate"))
            progress = dataclasses.replace(
                progress,
                rows=progress.rows + part.rows,
                skipped_rows=progress.skipped_rows + (part.rows if skipped else 0),
                batches=progress.batches + 1,
                skipped_batches=progress.skipped_batches + skipped,
                bytes_read=plan.file.bytes_read,
                fraction=plan.file.fraction(progress.rows + part.rows),
                seq=receipt.get("seq") or progress.seq,
                now=receipt.get("now"),
                warnings=tuple(one["detail"] for one in receipt.get("warnings", ())),
            )
            on_progress(progress)
    return dataclasses.replace(progress, bytes_read=plan.file.size_bytes, fraction=1.0)


def _check(request: LoadRequest) -> None:
    if not 1 <= request.batch_rows <= BATCH_ROWS_MAX:
        raise DefinitionError(
            f"A batch has 1 to {BATCH_ROWS_MAX} rows, --batch-rows says {request.batch_rows}."
        )


def _check_types(columns: tuple[ColumnSchema, ...], read: ReadOptions) -> None:
    """Refuse types asked for beside others that are given already."""
    given = {column.name: column.type for column in columns}
    for name, kind in read.types:
        if given.get(name, kind) is not kind:
            raise DefinitionError(
                f"Column {name!r} is {given[name]} already, by the stream or --schema; --types says {kind}."
                " Load into another stream, or leave it out of --types."
            )


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
    is no change and asking for something else is refused by the service, with the difference.
    """
    given = dict(request.schema or {})
    asked = given or request.read.time or request.clock or request.retention
    if existing is not None and not asked:
        return None
    kept = {**given.get("retention", {}), **(request.retention or {})}
    base = existing or {}
    known = {name: base[name] for name in ("clock", "retention", "future") if name in base}
    members = {**known, **{k: v for k, v in given.items() if k != "columns"}, "time": time}
    if kept:
        members["retention"] = {**known.get("retention", {}), **kept}
    if request.clock is not None:
        members["clock"] = request.clock
    return definition_body(columns, **members)


def _identity(file: DataFile, request: LoadRequest, columns: tuple[ColumnSchema, ...]) -> str:
    """Return the producer's name: the same for the same rows in the same batches, else another.

    Options left at their defaults leave no trace in it, so that one that is new changes no identity.
    """
    usual = dataclasses.asdict(ReadOptions())
    read = {n: v for n, v in dataclasses.asdict(file.options).items() if v != usual[n]}
    if file.options.skip:
        read["skip"] = sorted(file.options.skip)
    parts = {
        "batching": BATCHING_VERSION,
        "batch_rows": request.batch_rows,
        "columns": [[c.name, c.type.value] for c in columns],
        "content": file.digest(),
        "format": file.format.value,
        "read": read,
        "sort": request.sort,
        "stream": request.stream,
    }
    digest = hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return f"load-{digest[:40]}"


def _parts(plan: LoadPlan) -> Generator[_Part, None, None]:
    """Yield the batches in order, each no larger than a request may be."""
    first_row = 0
    version = 0
    request = plan.request
    schema = pa.schema([(column.name, ARROW_TYPES[column.type]) for column in plan.columns])
    for batch in plan.file.batches(plan.columns, rows=request.batch_rows, sort=request.sort):
        for piece in _halved(batch.cast(schema)):
            version += 1
            yield _Part(version, first_row, piece.num_rows, encode_batch(piece))
            first_row += piece.num_rows


def _halved(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.nbytes <= BATCH_BYTES_MAX or batch.num_rows == 1:
        yield batch
        return
    middle = batch.num_rows // 2
    yield from _halved(batch.slice(0, middle))
    yield from _halved(batch.slice(middle))


def _read_ahead(parts: Generator[_Part, None, None]) -> Generator[_Part, None, None]:
    """Yield the same parts, reading the next one while this one is being sent. Closed, it waits for its thread."""
    reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="psoup-read")
    with closing(parts), reader as pool:
        following = pool.submit(next, parts, None)
        while (part := following.result()) is not None:
            following = pool.submit(next, parts, None)
            yield part


def _packed(body: bytes, encoding: str | None) -> bytes:
    match encoding:
        case "gzip":
            return gzip.compress(body, compresslevel=1, mtime=0)
        case "zstd":
            return zstandard.ZstdCompressor().compress(body)
        case _:
            return body


def _rejected(plan: LoadPlan, part: _Part, problem: ServiceProblem) -> DataFileError:
    """Return the service's first complaint about a row as one about the file."""
    errors = problem.body.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else {}
    index = first.get("index")
    line = None
    if isinstance(index, int) and not plan.request.sort:
        line = plan.file.line_of(part.first_row + index)
    expected = first.get("expected")
    reason = f"the service rejected the row ({first.get('code', problem.problem)})"
    got = first.get("got")
    return DataFileError(
        f"{reason}, expected {expected}" if expected else reason,
        file=str(plan.file.path),
        line=line,
        column=str(first.get("pointer", "")).lstrip("/") or None,
        value=None if got is None else str(got),
        hint="Nothing of this batch is stored; the batches before it are.",
    )
