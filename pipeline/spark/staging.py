"""Writes rows of a DataFrame into a stream: many tasks stage them, one commit makes them visible.

Staged rows are invisible until a commit names them, so tasks that are repeated, overtaken or killed need no undoing:
the service drops parts that no commit names within an hour. Independent of Spark's data source interface, which Spark
3.5 does not have.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import zstandard
from pyspark.sql.types import StructType

from psoup.client.calls import ARROW_STREAM, PsoupClient, RetryPolicy, Txn
from psoup.client.columns import least_row_bytes
from psoup.client.errors import DefinitionError, PsoupError, ServiceProblem
from psoup.engine import limits
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.schema import ColumnSchema
from psoup.pipeline.definition import columns_of, definition_body
from psoup.pipeline.errors import WriteRefusedError
from psoup.pipeline.spark.options import Compression, Connection, WriteOptions
from psoup.pipeline.spark.packing import packed
from psoup.pipeline.spark.schema import (
    arrow_schema_of,
    as_declared,
    check_columns,
    columns_to_declare,
)

PART_BYTES_MAX: Final = 8 << 20
"""Size of one staged part as Arrow: a quarter of the limit of a request, so that tasks send while Spark reads."""
SMALLER: Final = (
    "Make micro-batches smaller: maxFilesPerTrigger or maxBytesPerTrigger for files,"
    " maxOffsetsPerTrigger for Kafka, rowsPerSecond for rate; and with availableNow as well"
)
"""Advice for a micro-batch that is larger than a commit may be."""
_ERRORS_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class WritePlan:
    """What the tasks and the commit of a write need.

    Attributes:
        connection: to the service.
        stream: its name.
        columns: those of the stream that are written.
        compression: of parts on their way.
        part_rows: rows of a part, at most: the stream's other columns are NULL in the log, and take their bytes there.
    """

    connection: Connection
    stream: str
    columns: tuple[ColumnSchema, ...]
    compression: Compression
    part_rows: int


@dataclass(frozen=True, slots=True)
class StagedRows:
    """The parts that one task has staged: their handles, in the order of its rows, and the number of rows."""

    stages: tuple[str, ...]
    rows: int


def open_client(connection: Connection) -> PsoupClient:
    """Return a client that retries as long as the option `retrySeconds` says."""
    retry = RetryPolicy(budget_s=connection.retry_s, from_the_start=True)
    return PsoupClient(connection.url, token=connection.token, retry=retry)


def plan_write(options: WriteOptions, schema: StructType) -> WritePlan:
    """Check the stream and the DataFrame's columns; return the plan of a write.

    Declares the stream if it does not exist and `createStream` is true.

    Raises:
        DefinitionError: there is no such stream, or its time column is another one.
        SchemaMismatchError: the columns differ.
        ServiceProblem, ServiceUnreachableError: the service refused, or does not answer.
    """
    with open_client(options.connection) as service:
        description = service.stream(options.stream)
        if description is None:
            if not options.create:
                raise DefinitionError(
                    f"There is no stream {options.stream!r} at {options.connection.url}. Declare it"
                    ' (PUT /v1/streams/...), or add .option("createStream", "true"), with "time" for'
                    " the column that dates a row."
                )
            columns = columns_to_declare(schema, time=options.time)
            description, _ = service.declare(options.stream, _definition(options, columns))
    if options.time is not None and description.get("time") != options.time:
        raise DefinitionError(
            f"The time column of stream {options.stream!r} is {description.get('time')!r}, and the option 'time' names"
            f" {options.time!r}: leave the option out, or write to another stream."
        )
    columns = columns_of(description)
    check_columns(options.stream, columns, schema)
    # A query that was begun before columns were added goes on without them.
    columns = tuple(column for column in columns if column.name in schema.names)
    part_rows = min(
        limits.BATCH_ROWS_MAX, PART_BYTES_MAX // least_row_bytes(description["columns"])
    )
    return WritePlan(options.connection, options.stream, columns, options.compression, part_rows)


def stage_rows(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> StagedRows:
    """Stage rows in parts of at most 8 MiB; return their handles, which a commit needs.

    A failure discards the parts staged so far, if the service answers.

    Raises:
        WriteRefusedError: a row does not fit the stream; names the value.
        ServiceProblem, ServiceUnreachableError: the service refused, or did not answer in time.
    """
    stages: list[str] = []
    rows = 0
    with open_client(plan.connection) as service:
        try:
            for part in _parts(plan, batches):
                stages.append(_stage(service, plan, part))
                rows += part.num_rows
        except BaseException:
            discard_stages(plan, stages)
            raise
    return StagedRows(tuple(stages), rows)


def commit_stages(plan: WritePlan, txn: Txn, staged: Sequence[StagedRows]) -> None:
    """Make the staged rows visible at once. Does nothing without rows, or if they are committed already.

    Raises:
        WriteRefusedError: the service refused the commit for good; says what the job has to do.
        ServiceProblem, ServiceUnreachableError: the service refused for now, or did not answer in time.
    """
    stages = [stage for part in staged for stage in part.stages]
    if not stages:
        return
    with open_client(plan.connection) as service:
        try:
            service.commit(txn, stages)
        except ServiceProblem as problem:
            rows = sum(part.rows for part in staged)
            meaning = _meaning(problem, f"{rows:,} rows in {len(stages):,} parts")
            if meaning is None:
                raise
            raise WriteRefusedError(
                f"Stream {plan.stream!r} refused version {txn.version} of {txn.app!r}"
                f" ({problem}) {meaning}"
            ) from problem


def discard_stages(plan: WritePlan, stages: Sequence[str]) -> None:
    """Discard staged parts that were not committed, if the service answers at once.

    Never raises and never retries: the service drops the others within an hour.
    """
    connection = plan.connection
    with PsoupClient(
        connection.url, token=connection.token, retry=RetryPolicy(budget_s=0.0)
    ) as service:
        for stage in stages:
            try:
                service.discard(stage)
            except PsoupError:
                return


def _definition(options: WriteOptions, columns: tuple[ColumnSchema, ...]) -> dict[str, object]:
    return definition_body(
        columns,
        time=options.time,
        clock=options.clock,
        retention=dict(options.retention) or None,
    )


def _parts(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in order, with the stream's columns, in batches of the size of a part."""
    declared = arrow_schema_of(plan.columns)
    fitting = (as_declared(batch, declared) for batch in batches)
    return packed(fitting, nbytes_max=PART_BYTES_MAX, rows_max=plan.part_rows)


def _stage(service: PsoupClient, plan: WritePlan, part: pa.RecordBatch) -> str:
    """Stage one part; return its handle."""
    body, encoding = compressed(encode_batch(part), plan.compression)
    try:
        receipt = service.stage(plan.stream, body, content_type=ARROW_STREAM, encoding=encoding)
    except ServiceProblem as problem:
        if problem.problem == "rows-rejected":
            raise _rejected(plan, problem) from problem
        raise
    return str(receipt["stage"])


def compressed(body: bytes, compression: Compression) -> tuple[bytes, str | None]:
    """Return a body, compressed if asked for, and its encoding.

    Rows that are nearly all alike are not compressed: the service refuses bodies that expand too much.
    """
    if compression is Compression.NONE:
        return body, None
    packed = zstandard.ZstdCompressor().compress(body)
    if len(body) >= limits.BODY_RATIO_MAX * len(packed):
        return body, None
    return packed, "zstd"


def _rejected(plan: WritePlan, problem: ServiceProblem) -> WriteRefusedError:
    listed = problem.body.get("errors")
    errors = listed if isinstance(listed, list) else []
    shown = "; ".join(
        f"column {str(error.get('pointer', '')).lstrip('/')!r}: {error.get('code')},"
        f" expected {error.get('expected')}, got {error.get('got')}"
        for error in errors[:_ERRORS_SHOWN]
    )
    total = problem.body.get("errors_total", len(errors))
    return WriteRefusedError(
        f"Stream {plan.stream!r} rejects {total} values of the DataFrame: {shown}. Nothing of this"
        " write is stored: filter these rows out, or change them, before writing."
    )


def _meaning(problem: ServiceProblem, size: str) -> str | None:
    """Return what a refused commit means and what to do; None: the refusal is temporary."""
    match problem.problem:
        case "txn-content-differs":
            return (
                "Other rows were stored under this version before. Either the source does not give the"
                " same rows again when a micro-batch is repeated, or two jobs write under one name, or"
                " a checkpoint was restored to an earlier state: find out which, then go on with a"
                " new checkpoint, or a new txnAppId."
            )
        case "stage-missing":
            return (
                "Some of its parts are gone: the write took longer than staged rows are kept, or the stream"
                " was dropped or declared anew meanwhile. Start the job again; if the write is"
                f" slow: {SMALLER}."
            )
        case _ if problem.status in {413, 422}:
            return f"It has {size}, more than one commit may have. {SMALLER}."
        case _:
            return None
