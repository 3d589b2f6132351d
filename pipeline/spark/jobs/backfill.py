"""`backfill`: files into a stream, in order of their tuples' times, once however often it is repeated.

Spark's file source hands out the files, oldest first, in micro-batches of at most so many bytes (a file is
never divided); its checkpoint knows which are done. A micro-batch is put in order of time as a whole and cut
into commits, each a producer's version: a micro-batch repeated after a crash is cut the same way, and the
commits that took place are not done again.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from pyspark.sql import DataFrame, Observation, SparkSession, functions, types

from psoup.engine.limits import MIB
from psoup.pipeline.client import PsoupClient
from psoup.pipeline.definition import columns_of
from psoup.pipeline.errors import JobFailedError, PipelineError
from psoup.pipeline.spark.jobs.files import Files, found_files, inferred
from psoup.pipeline.spark.jobs.target import described
from psoup.pipeline.spark.launch.checkpoints import file_name, files_done, kept
from psoup.pipeline.spark.launch.job_run import (
    JobEnd,
    Report,
    Stop,
    Tally,
    spark_errors_told,
    until_ended,
)
from psoup.pipeline.spark.launch.requests import (
    BackfillRequest,
    mapping,
    source_options,
    writer_options,
)
from psoup.pipeline.spark.launch.spark_submit import line_of, run_alone
from psoup.pipeline.spark.schema import struct_type
from psoup.pipeline.spark.transforms.event_time import dated, in_time_order
from psoup.pipeline.spark.transforms.fitting import fitted
from psoup.pipeline.spark.transforms.mapping import mapped, selected
from psoup.pipeline.spark.transforms.pieces import PIECE, cut, extent_of, planned
from psoup.pipeline.spark.writing import QUERY_ID_PROPERTY

FILE: Final = "_psoup_file"
"""The column that says from which file a row is."""
PIECES_MAX: Final = 2**20
"""Of one micro-batch: the version of a commit is its micro-batch's number times this, and its own."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What every micro-batch is done with."""

    request: BackfillRequest
    files: Files
    left: Mapping[str, int]
    """Files that are not in yet, with their bytes."""
    time: str | None
    declared: types.StructType | None
    schema: types.StructType
    into: Mapping[str, str]


def backfill(spark: SparkSession, request: BackfillRequest, report: Report, stop: Stop) -> JobEnd:
    """Write the files' rows that are not in yet until all are or `stop` says so; return the sum.

    Raises:
        DefinitionError: what is asked does not go together, or not with what the checkpoint is of.
        JobFailedError: Spark gave up, as over a value that does not fit.
        PipelineError: what the service or the way to it refused.
    """
    with PsoupClient(request.url, token=request.token) as service:
        plan = _plan(spark, service, request)
        tally = Tally(service, report, bytes_all=sum(plan.left.values()))
        failures: list[PipelineError] = []

        def store(batch: DataFrame, number: int) -> None:
            try:
                with spark_errors_told():
                    _store(plan, batch, number, tally, stop)
            except PipelineError as error:
                failures.append(error)
                raise

        query = (
            _rows(spark, plan)
            .writeStream.foreachBatch(store)
            .option("checkpointLocation", request.checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        try:
            stopped = until_ended(query, stop, lambda: None)
        except PipelineError as error:
            raise (failures or [error])[0] from error
        return tally.end(stopped=stopped)


def _plan(spark: SparkSession, service: PsoupClient, request: BackfillRequest) -> _Plan:
    """Return what is to be done, having looked at the stream and at the files."""
    into = writer_options(request)
    found = described(service, request.stream, created=request.create)
    options = source_options(request.options)
    files = found_files(spark, request.path, format_given=request.format, options=options)
    declared = None if found is None else struct_type(columns_of(found))
    asked = {
        "stream": request.stream,
        "path": request.path,
        "format": files.format,
        "option": options,
        "schema": request.schema,
        "map": request.map or [],
        "where": request.where,
        "time": request.time,
        "commit-mib": request.commit_mib,
    }
    schema = kept(
        spark,
        request.checkpoint,
        asked,
        lambda: _schema(spark, request, files, declared).jsonValue(),
    )
    done = files_done(spark, request.checkpoint)
    return _Plan(
        request=request,
        files=files,
        left={name: size for name, size in files.nbytes.items() if name not in done},
        time=request.time or (found or {}).get("time"),
        declared=declared,
        schema=types.StructType.fromJson(schema),
        into=into,
    )


def _schema(
    spark: SparkSession,
    request: BackfillRequest,
    files: Files,
    declared: types.StructType | None,
) -> types.StructType:
    """Return the columns to read.

    Those of `--schema`, else those that Spark infers; texts that become a column of the stream as they are get
    its type, so that a postcode that it has as a text is never a number.
    """
    if request.schema is not None:
        return cast(types.StructType, types.StructType.fromDDL(request.schema))
    found = inferred(spark, files)
    if declared is None or files.format == "parquet" or request.map:
        return found
    kinds = {field.name: field.dataType for field in declared}
    return types.StructType(
        [types.StructField(f.name, kinds.get(f.name, f.dataType)) for f in found]
    )


def _rows(spark: SparkSession, plan: _Plan) -> DataFrame:
    """Return the files' rows with the stream's columns, and `FILE` behind them."""
    source = (
        spark.readStream.format(plan.files.format)
        .schema(plan.schema)
        .options(**plan.files.options)
        .option("maxBytesPerTrigger", plan.request.batch_mib * MIB)
        .load(plan.files.path)
    )
    rows = mapped(source, mapping(plan.request.map), where=plan.request.where)
    rows = fitted(dated(rows, plan.request.time), plan.declared)
    return rows.withColumn(FILE, functions.col("_metadata.file_path"))


def _store(plan: _Plan, batch: DataFrame, number: int, tally: Tally, stop: Stop) -> None:
    """Write a micro-batch as one commit, or as several where it is larger than that.

    Raises:
        JobFailedError: `stop` said so between two commits; the next run does those that are missing.
    """
    names = [name for name in batch.columns if name != FILE]
    kept_rows = batch.persist()
    try:
        files = {file_name(row[FILE]) for row in kept_rows.select(FILE).distinct().collect()}
        size = sum(plan.left.get(name, 0) for name in files)
        rows = selected(kept_rows, names)
        extent = extent_of(rows, plan.time)
        division = planned(
            rows, plan.time, extent=extent, piece_bytes=plan.request.commit_mib * MIB
        )
        write = _writer(plan, batch.sparkSession)
        numbered = cut(rows, plan.time, division) if division.pieces > 1 else rows
        for piece in range(division.pieces):
            if stop():
                raise JobFailedError("The backfill was told to stop.")
            share = numbered.where(functions.col(PIECE) == piece) if division.pieces > 1 else rows
            began = time.perf_counter()
            stored = write(selected(share, names), number * PIECES_MAX + piece)
            share_bytes = size * (piece + 1) // division.pieces - size * piece // division.pieces
            tally.add(number, stored, seconds=time.perf_counter() - began, nbytes=share_bytes)
    finally:
        kept_rows.unpersist()


def _writer(plan: _Plan, spark: SparkSession) -> Callable[[DataFrame, int], int]:
    """Return what writes rows under a version and returns how many they were."""
    app = f"spark-backfill:{spark.sparkContext.getLocalProperty(QUERY_ID_PROPERTY)}"

    def write(rows: DataFrame, version: int) -> int:
        counted = Observation()
        ordered = in_time_order(rows, plan.time).observe(
            counted, functions.count("*").alias("rows")
        )
        ordered.write.format("psoup").mode("append").options(
            **plan.into, txnAppId=app, txnVersion=str(version)
        ).save()
        return int(counted.get["rows"])

    return write


if __name__ == "__main__":
    run_alone(BackfillRequest, backfill, line=line_of)
