"""`backfill`: writes files into a stream in time order, once however often it is repeated.

Spark's file source groups the files, oldest first, into micro-batches of a limited size (a file is never split), and
its checkpoint holds the files that are done. A micro-batch is sorted by time and cut into commits, each a version of
the job's producer. A micro-batch that is repeated after a crash is cut the same way, so commits that took place are
not stored again.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from pyspark.sql import DataFrame, Observation, SparkSession, functions, types

from psoup.client.calls import PsoupClient
from psoup.client.errors import PsoupError
from psoup.engine.limits import MIB
from psoup.pipeline.definition import columns_of
from psoup.pipeline.errors import JobFailedError
from psoup.pipeline.spark.jobs.files import Files, infer_schema, list_files
from psoup.pipeline.spark.jobs.target import describe_target
from psoup.pipeline.spark.launch.checkpoints import decide_once, file_name, files_done
from psoup.pipeline.spark.launch.job_run import (
    JobEnd,
    ProgressCounter,
    Report,
    Stop,
    translated_spark_errors,
    wait_until_ended,
)
from psoup.pipeline.spark.launch.requests import (
    BackfillRequest,
    mapping,
    source_options,
    writer_options,
)
from psoup.pipeline.spark.launch.spark_submit import line_of, run_as_program
from psoup.pipeline.spark.schema import struct_type
from psoup.pipeline.spark.transforms.event_time import dated, in_time_order
from psoup.pipeline.spark.transforms.fitting import fitted
from psoup.pipeline.spark.transforms.mapping import mapped, selected
from psoup.pipeline.spark.transforms.pieces import PIECE, cut, extent_of, planned
from psoup.pipeline.spark.writing import QUERY_ID_PROPERTY

FILE: Final = "_psoup_file"
"""Column with the file of each row."""
PIECES_MAX: Final = 2**20
"""Commits of one micro-batch, at most: the version of a commit is its micro-batch's number times this, plus its own."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The files and columns of a backfill, which all its micro-batches share."""

    request: BackfillRequest
    files: Files
    left: Mapping[str, int]
    """Sizes in bytes of the files that are not stored yet, by file."""
    time: str | None
    declared: types.StructType | None
    schema: types.StructType
    into: Mapping[str, str]


def backfill(spark: SparkSession, request: BackfillRequest, report: Report, stop: Stop) -> JobEnd:
    """Write the rows that are not stored yet, until all are or `stop` returns True; return the totals.

    Raises:
        DefinitionError: options exclude each other, or the checkpoint is of another job.
        JobFailedError: Spark failed, for example over a value that does not fit its column.
        PsoupError: the service refused a request.
    """
    with PsoupClient(request.url, token=request.token) as service:
        plan = _plan(spark, service, request)
        tally = ProgressCounter(service, report, bytes_all=sum(plan.left.values()))
        failures: list[PsoupError] = []

        def store(batch: DataFrame, number: int) -> None:
            try:
                with translated_spark_errors():
                    _store(plan, batch, number, tally, stop)
            except PsoupError as error:
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
            stopped = wait_until_ended(query, stop, lambda: None)
        except PsoupError as error:
            raise (failures or [error])[0] from error
        return tally.end(stopped=stopped)


def _plan(spark: SparkSession, service: PsoupClient, request: BackfillRequest) -> _Plan:
    """Return the plan of a backfill, given the stream and the files."""
    into = writer_options(request)
    description = describe_target(service, request.stream, created=request.create)
    options = source_options(request.options)
    files = list_files(spark, request.path, format_given=request.format, options=options)
    declared = None if description is None else struct_type(columns_of(description))
    settings = {
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
    schema = decide_once(
        spark,
        request.checkpoint,
        settings,
        lambda: _schema(spark, request, files, declared).jsonValue(),
    )
    done = files_done(spark, request.checkpoint)
    return _Plan(
        request=request,
        files=files,
        left={name: size for name, size in files.nbytes.items() if name not in done},
        time=request.time or (description or {}).get("time"),
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
    """Return the columns to read: those of `--schema`, else those that Spark infers.

    A column of a text file that goes unchanged into a column of the stream gets that column's type: a postcode stays a
    string if the stream has it as one.
    """
    if request.schema is not None:
        return cast(types.StructType, types.StructType.fromDDL(request.schema))
    schema = infer_schema(spark, files)
    if declared is None or files.format == "parquet" or request.map:
        return schema
    kinds = {field.name: field.dataType for field in declared}
    return types.StructType(
        [types.StructField(f.name, kinds.get(f.name, f.dataType)) for f in schema]
    )


def _rows(spark: SparkSession, plan: _Plan) -> DataFrame:
    """Return the files' rows: the stream's columns, then `FILE`."""
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


def _store(plan: _Plan, batch: DataFrame, number: int, tally: ProgressCounter, stop: Stop) -> None:
    """Write a micro-batch as one commit, or as several if it is larger than `commit_mib`.

    Raises:
        JobFailedError: `stop` returned True between two commits; the next run writes the missing ones.
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
                raise JobFailedError("The backfill was asked to stop.")
            share = numbered.where(functions.col(PIECE) == piece) if division.pieces > 1 else rows
            began = time.perf_counter()
            stored = write(selected(share, names), number * PIECES_MAX + piece)
            share_bytes = size * (piece + 1) // division.pieces - size * piece // division.pieces
            tally.add(number, stored, seconds=time.perf_counter() - began, nbytes=share_bytes)
    finally:
        kept_rows.unpersist()


def _writer(plan: _Plan, spark: SparkSession) -> Callable[[DataFrame, int], int]:
    """Return a function that writes rows under a version and returns their number."""
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
    run_as_program(BackfillRequest, backfill, line=line_of)
