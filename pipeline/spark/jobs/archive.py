"""`archive`: writes a stream to Parquet, by the day of the tuple time, before retention drops its tuples.

The reader holds the stream's batches in the service's log until Spark has committed the files that have them. Spark's
file sink and its checkpoint write each batch once. Where a column is added, the query ends before it would
leave it out, and another one goes on from its checkpoint.
"""

from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from psoup.client.calls import JsonObject, PsoupClient
from psoup.client.errors import DefinitionError
from psoup.pipeline.definition import columns_of
from psoup.pipeline.errors import JobFailedError
from psoup.pipeline.spark.archive_answers.archive_note import ArchiveNote, checkpoint_of
from psoup.pipeline.spark.jobs.archive_notes import note_archive
from psoup.pipeline.spark.jobs.target import describe_target
from psoup.pipeline.spark.launch.job_run import JobEnd, ProgressCounter, Report, Stop, follow_query
from psoup.pipeline.spark.launch.requests import ArchiveRequest, source_options, trigger_interval
from psoup.pipeline.spark.launch.spark_submit import line_of, run_as_program
from psoup.pipeline.spark.read.arrivals import with_arrival
from psoup.pipeline.spark.transforms.event_time import DAY, by_day

ARRIVAL: Final = "_arrival"
"""The column that dates tuples of a stream without a time column."""


def archive(spark: SparkSession, request: ArchiveRequest, report: Report, stop: Stop) -> JobEnd:
    """Write the stream's batches since the last run, until all are written or `stop` returns True; return the totals.

    Columns that are added meanwhile are written from then on.

    Raises:
        DefinitionError: the request does not fit the stream, or the archive is of another one.
        ReadRefusedError: a column of the stream has a name that is reserved in an archive.
        JobFailedError: Spark or the service failed; or the archive may lack batches, which is reported once.
    """
    with PsoupClient(request.url, token=request.token) as service:
        counter = ProgressCounter(service, report)
        while True:
            rows, names = _rows(spark, service, request)
            query = _writer(rows, request).start()
            try:
                return follow_query(query, counter, stop)
            except JobFailedError:
                if not _has_more_columns(service, request.stream, names):
                    raise  # else it has ended before rows that have them: the next one reads them, too


def _rows(
    spark: SparkSession, service: PsoupClient, request: ArchiveRequest
) -> tuple[DataFrame, frozenset[str]]:
    """Note the archive; return the stream's rows as it has them, and the names of the columns that are read."""
    description = describe_target(service, request.stream) or {}
    if description:
        _refuse_own_day(description)
        with_arrival(columns_of(description))
    note = note_archive(spark, service, request)
    options = _reader_options(request, note)
    source = spark.readStream.format("psoup").options(**options).load()
    # Repartitioned, a micro-batch writes one file for each day; otherwise one for each day and task.
    rows = by_day(source, description.get("time") or ARRIVAL).repartition(DAY)
    return rows, frozenset(source.columns)


def _writer(rows: DataFrame, request: ArchiveRequest) -> DataStreamWriter:
    writer = (
        rows.writeStream.format("parquet")
        .partitionBy(DAY)
        .options(**source_options(request.options))
        .option("path", request.path)
        .option("checkpointLocation", checkpoint_of(request.path, request.checkpoint))
    )
    if request.every is None:
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime=trigger_interval(request.every))


def _has_more_columns(service: PsoupClient, stream: str, names: frozenset[str]) -> bool:
    """Return whether the stream has columns that are not among `names`: one was added since."""
    described = service.stream(stream) or {"columns": []}
    return any(column["name"] not in names for column in described["columns"])


def _refuse_own_day(stream: JsonObject) -> None:
    own = [column["name"] for column in stream["columns"] if column["name"].lower() == DAY]
    if own:
        raise DefinitionError(
            f"An archive has a column {DAY!r}, after which its folders are named, and the stream has a column {own[0]!r}"
            " of its own. To archive the stream, declare it with another name for that column."
        )


def _reader_options(request: ArchiveRequest, note: ArchiveNote) -> dict[str, str]:
    """Return the options of `format("psoup")`: read all, hold batches until archived, ignore the known loss."""
    options = {"url": request.url, "stream": request.stream, "token": request.token}
    options |= {"hold": "true", "allColumns": "true"}
    options["startingSeq"] = str(note.forgotten_through + 1)
    options["lossKnownThrough"] = str(note.forgotten_through)
    return {name: value for name, value in options.items() if value is not None}


if __name__ == "__main__":
    run_as_program(ArchiveRequest, archive, line=line_of)
