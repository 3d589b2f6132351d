"""`ingest`: a Structured Streaming source, its rows mapped to a stream's columns, into the stream."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from psoup.pipeline.client import PsoupClient
from psoup.pipeline.spark.jobs.target import described
from psoup.pipeline.spark.launch.job_run import JobEnd, Report, Stop, Tally, followed
from psoup.pipeline.spark.launch.requests import (
    IngestRequest,
    mapping,
    source_options,
    trigger_interval,
    writer_options,
)
from psoup.pipeline.spark.launch.spark_submit import line_of, run_alone
from psoup.pipeline.spark.transforms.event_time import dated
from psoup.pipeline.spark.transforms.mapping import mapped


def ingest(spark: SparkSession, request: IngestRequest, report: Report, stop: Stop) -> JobEnd:
    """Write what the source has into the stream until it ends or `stop` says so; return the sum.

    Raises:
        DefinitionError: what is asked does not go together.
        JobFailedError: Spark, the source or the service gave up.
    """
    into = writer_options(request)
    with PsoupClient(request.url, token=request.token) as service:
        described(service, request.stream, created=request.create)
        query = _writer(_rows(spark, request), request).options(**into).start()
        return followed(query, Tally(service, report), stop)


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
    run_alone(IngestRequest, ingest, line=line_of)
