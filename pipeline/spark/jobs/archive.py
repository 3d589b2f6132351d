"""`archive`: what a stream was sent, to Parquet by the day of the tuple time, before retention lets it go.

The reader holds the stream's batches in the service's log until Spark has committed the files they are in;
Spark's file sink and its checkpoint see to it that each is in them once.
"""

from typing import Final

from pyspark.sql import SparkSession

from psoup.pipeline.client import JsonObject, PsoupClient
from psoup.pipeline.definition import columns_of
from psoup.pipeline.errors import DefinitionError
from psoup.pipeline.spark.archive_answers.archive_note import ArchiveNote, checkpoint_of
from psoup.pipeline.spark.jobs.archive_notes import note_archive
from psoup.pipeline.spark.jobs.target import described
from psoup.pipeline.spark.launch.job_run import JobEnd, Report, Stop, Tally, followed
from psoup.pipeline.spark.launch.requests import ArchiveRequest, source_options, trigger_interval
from psoup.pipeline.spark.launch.spark_submit import line_of, run_alone
from psoup.pipeline.spark.read.arrivals import with_arrival
from psoup.pipeline.spark.transforms.event_time import DAY, by_day

ARRIVAL: Final = "_arrival"
"""The column that dates tuples of a stream without a time column."""


def archive(spark: SparkSession, request: ArchiveRequest, report: Report, stop: Stop) -> JobEnd:
    """Write what the stream has been sent since the last run until `stop` says so, or all is; return the sum.

    Raises:
        DefinitionError: what is asked does not go together, or not with what the archive is of.
        ReadRefusedError: the stream has columns of names that stand for something else in an archive.
        JobFailedError: Spark or the service gave up; or something may be missing, which is told once.
    """
    with PsoupClient(request.url, token=request.token) as service:
        found = described(service, request.stream) or {}
        if found:
            _refuse_own_day(found)
            with_arrival(columns_of(found))
        note = note_archive(spark, service, request)
        options = _reader_options(request, note)
        source = spark.readStream.format("psoup").options(**options).load()
        # One file for each day and micro-batch: without it, one for each day and task.
        rows = by_day(source, found.get("time") or ARRIVAL).repartition(DAY)
        writer = (
            rows.writeStream.format("parquet")
            .partitionBy(DAY)
            .options(**source_options(request.options))
            .option("path", request.path)
            .option("checkpointLocation", checkpoint_of(request.path, request.checkpoint))
        )
        if request.every is None:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=trigger_interval(request.every))
        return followed(writer.start(), Tally(service, report), stop)


def _refuse_own_day(stream: JsonObject) -> None:
    own = [one["name"] for one in stream["columns"] if one["name"].lower() == DAY]
    if own:
        raise DefinitionError(
            f"The archive's folders are named after {DAY!r}, and the stream has a column {own[0]!r} of its own:"
            " declare it under another name to archive it."
        )


def _reader_options(request: ArchiveRequest, note: ArchiveNote) -> dict[str, str]:
    """Return what `format("psoup")` is told to read: all, that it waits for being archived, and what is gone."""
    told = {"url": request.url, "stream": request.stream, "token": request.token, "hold": "true"}
    told["startingSeq"] = str(note.forgotten_through + 1)
    told["lossKnownThrough"] = str(note.forgotten_through)
    return {name: value for name, value in told.items() if value is not None}


if __name__ == "__main__":
    run_alone(ArchiveRequest, archive, line=line_of)
