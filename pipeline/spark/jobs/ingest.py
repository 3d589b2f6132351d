"""`ingest`: writes the rows of a Structured Streaming source into a stream, mapped to its columns."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from psoup.client.calls import PsoupClient
from psoup.pipeline.spark.jobs.target import describe_target
from psoup.pipeline.spark.launch.job_run import JobEnd, ProgressCounter, Report, Stop, follow_query
from psoup.pipeline.spark.launch.requests import (
    IngestRequest,
    mapping,
    source_options,
    trigger_interval,
    writer_options,
)
from psoup.pipeline.spark.launch.spark_submit import line_of, run_as_program
from psoup.pipeline.spark.transforms.event_time import dated
from psoup.pipeline.spark.transforms.mapping import mapped


def ingest(spark: SparkSession, request: IngestRequest, report: Report, stop: Stop) -> JobEnd:
    """Write the source's rows into the stream until the source ends or `stop` returns True; return the totals.

    Raises:
        DefinitionError: options of the request exclude each other, or there is no such stream.
        JobFailedError: Spark, the source or the service failed.
    """
    into = writer_options(request)
    with PsoupClient(request.url, token=request.token) as service:
        describe_target(service, request.stream, created=request.create)
        query = _writer(_rows(spark, request), request).options(**into).start()
        return follow_query(query, ProgressCounter(service, report), stop)


def _rows(spark: SparkSession, request: IngestRequest) -> DataFrame:
    source = spark.readStream.format(request.format).options(**source_options(request.options))
    if request.schema is not None:
        source = source.schema(request.schema)
    rows = mapped(source.load(request.path), mapping(request.map), where=request.where)
    return dated(rows, request.time)


def _writer(rows: DataFrame, request: IngestRequest) -> DataStreamWriter:
    writer = rows.writeStream.format("psoup").option("checkpointLocation", request.checkpoint)
    if request.available_now:
        return writer.trigger(availableNow=True)
    if request.every is not None:
        return writer.trigger(processingTime=trigger_interval(request.every))
    return writer


if __name__ == "__main__":
    run_as_program(IngestRequest, ingest, line=line_of)
