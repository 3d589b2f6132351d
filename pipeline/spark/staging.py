"""Rows of a DataFrame on their way into a stream: staged by many tasks, made visible by one commit.

What is staged counts for nothing until a commit names it, so tasks that are repeated, overtaken or killed
need no undoing: what no commit names ends by itself within an hour. Knows nothing of Spark's data source
interface, which Spark 3.5 does not have.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import zstandard
from pyspark.sql.types import StructType

from psoup.engine import limits
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.schema import ColumnSchema
from psoup.pipeline.client import ARROW_STREAM, PsoupClient, RetryPolicy, Txn
from psoup.pipeline.definition import columns_of, definition_body
from psoup.pipeline.errors import DefinitionError, PipelineError, ServiceProblem, WriteRefusedError
from psoup.pipeline.spark.options import Compression, Connection, WriteOptions
from psoup.pipeline.spark.packing import packed
from psoup.pipeline.spark.schema import (
    arrow_schema_of,
    as_declared,
    check_columns,
    columns_to_declare,
)

PART_BYTES_MAX: Final = 8 << 20
"""Of one staged part as Arrow: a quarter of what a request may hold, so that tasks send while Spark reads."""
SMALLER: Final = (
    "Make micro-batches smaller: maxFilesPerTrigger or maxBytesPerTrigger for files,"
    " maxOffsetsPerTrigger for Kafka, rowsPerSecond for rate; and with availableNow as well"
)
"""What to do where a micro-batch is larger than a commit may be."""
_ERRORS_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class WritePlan:
    """Where rows go and as what: all that a task has to know."""

    connection: Connection
    stream: str
    columns: tuple[ColumnSchema, ...]
    compression: Compression


@dataclass(frozen=True, slots=True)
class StagedRows:
    """What one task has staged: the handles, in the order of its rows, and how many these are."""

    stages: tuple[str, ...]
    rows: int


def open_client(connection: Connection) -> PsoupClient:
    """Return a client that waits for the service as long as the option `retrySeconds` says."""
    retry = RetryPolicy(budget_s=connection.retry_s, from_the_start=True)
    return PsoupClient(connection.url, token=connection.token, retry=retry)


def plan_write(options: WriteOptions, schema: StructType) -> WritePlan:
    """Return the plan of a write: the stream is there, and the DataFrame has its columns.

    Declares the stream where it is not there and `createStream` says so.

    Raises:
        DefinitionError: there is no such stream, or it is dated by another column.
        SchemaMismatchError: the columns differ.
        ServiceProblem, ServiceUnreachableError: the service refused, or does not answer.
    """
    with open_client(options.connection) as service:
        found = service.stream(options.stream)
        if found is None:
            if not options.create:
                raise DefinitionError(
                    f"There is no stream {options.stream!r} at {options.connection.url}. Declare it"
                    ' (PUT /v1/streams/...), or add .option("createStream", "true"), with "time" for'
                    " the column that dates a row."
                )
            columns = columns_to_declare(schema, time=options.time)
            found, _ = service.declare(options.stream, _definition(options, columns))
    if options.time is not None and found.get("time") != options.time:
        raise DefinitionError(
            f"Stream {options.stream!r} is dated by {found.get('time')!r}, the option 'time' says"
            f" {options.time!r}: leave it out, or write to another stream."
        )
    columns = columns_of(found)
    check_columns(options.stream, columns, schema)
    return WritePlan(options.connection, options.stream, columns, options.compression)


def stage_rows(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> StagedRows:
    """Send rows as parts of at most 8 MiB; return the handles under which they wait for a commit.

    Where it fails, what it has staged is discarded as far as the service can be told.

    Raises:
        WriteRefusedError: a row is not one of this stream; says which value.
        ServiceProblem, ServiceUnreachableError: the service refused, or for too long.
    """
    stages: list[str] = []
    rows = 0
    with open_client(plan.connection) as service:
        try:
            for part in _parts(plan, batches):
                stages.append(_staged(service, plan, part))
                rows += part.num_rows
        except BaseException:
            discard_stages(plan, stages)
            raise
    return StagedRows(tuple(stages), rows)


def commit_stages(plan: WritePlan, txn: Txn, staged: Sequence[StagedRows]) -> None:
    """Make what was staged visible, all at once; nothing where there are no rows, or where it was done.

    Raises:
        WriteRefusedError: the commit cannot be, now or later; says what that means for the job.
        ServiceProblem, ServiceUnreachableError: the service refused otherwise, or for too long.
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
    """Discard what was staged and not committed, as far as the service answers at once.

    What is left ends by itself within an hour, so nothing is raised and nothing is waited for.
    """
    connection = plan.connection
    with PsoupClient(
        connection.url, token=connection.token, retry=RetryPolicy(budget_s=0.0)
    ) as service:
        for stage in stages:
            try:
                service.discard(stage)
            except PipelineError:
                return


def _definition(options: WriteOptions, columns: tuple[ColumnSchema, ...]) -> dict[str, object]:
    return definition_body(
        columns,
        time=options.time,
        clock=options.clock,
        retention=dict(options.retention) or None,
    )


def _parts(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in their order, in the stream's columns, in batches as large as a part may be."""
    declared = arrow_schema_of(plan.columns)
    fitting = (as_declared(batch, declared) for batch in batches)
    return packed(fitting, nbytes_max=PART_BYTES_MAX, rows_max=limits.BATCH_ROWS_MAX)


def _staged(service: PsoupClient, plan: WritePlan, part: pa.RecordBatch) -> str:
    """Send one part; return its handle."""
    body, encoding = compressed(encode_batch(part), plan.compression)
    try:
        receipt = service.stage(plan.stream, body, content_type=ARROW_STREAM, encoding=encoding)
    except ServiceProblem as problem:
        if problem.problem == "rows-rejected":
            raise _rejected(plan, problem) from problem
        raise
    return str(receipt["stage"])


def compressed(body: bytes, compression: Compression) -> tuple[bytes, str | None]:
    """Return a body as it is sent, and its encoding.

    Rows that are nearly all alike pack better than the service believes of honest rows: sent as they are.
    """
    if compression is Compression.NONE:
        return body, None
    packed = zstandard.ZstdCompressor().compress(body)
    if len(body) >= limits.BODY_RATIO_MAX * len(packed):
        return body, None
    return packed, "zstd"


def _rejected(plan: WritePlan, problem: ServiceProblem) -> WriteRefusedError:
    found = problem.body.get("errors")
    errors = found if isinstance(found, list) else []
    shown = "; ".join(
        f"column {str(error.get('pointer', '')).lstrip('/')!r}: {error.get('code')},"
        f" expected {error.get('expected')}, got {error.get('got')}"
        for error in errors[:_ERRORS_SHOWN]
    )
    total = problem.body.get("errors_total", len(errors))
    return WriteRefusedError(
        f"Stream {plan.stream!r} rejects {total} values of the DataFrame: {shown}. Nothing of this"
        " write is stored: filter such rows out, or change them, before writing."
    )


def _meaning(problem: ServiceProblem, size: str) -> str | None:
    """Return what a refused commit means and what to do; None = waiting might have helped."""
    match problem.problem:
        case "txn-content-differs":
            return (
                "Other rows were stored under this version before. Either the source does not give the"
                " same rows again when a micro-batch is repeated, or two jobs write under one name, or"
                " a checkpoint was put back to an earlier state: find out which, then go on with a"
                " new checkpoint, or a new txnAppId."
            )
        case "stage-missing":
            return (
                "Parts of it are gone: the write took longer than staged rows are kept, or the stream"
                " was dropped or declared anew meanwhile. Start the job again; where the write is"
                f" slow: {SMALLER}."
            )
        case _ if problem.status in {413, 422}:
            return f"It has {size}, more than one commit may have. {SMALLER}."
        case _:
            return None
