"""A history from its record to its end: the tuples found, the text asked of Spark SQL, the rows sent."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from psoup.engine.query.time_literals import format_instant
from psoup.pipeline.client import PsoupClient
from psoup.pipeline.errors import JobFailedError
from psoup.pipeline.spark.archive_answers.parts import SentParts, send_parts
from psoup.pipeline.spark.archive_answers.question import (
    Question,
    bound_query,
    question_of,
    windows_over,
)
from psoup.pipeline.spark.archive_answers.tuples import (
    StreamTuples,
    find_tuples,
    is_gone,
    part_complete_from_us,
    rows_of,
)
from psoup.pipeline.spark.launch.job_run import spark_errors_told
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.sql.expressions import name_sql
from psoup.pipeline.spark.sql.standing_query import spark_query

ATTEMPTS_MAX: Final = 3
"""How often tuples are looked for, when some were archived and dropped from the log before they were read there."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the archives are: by stream, and a folder with those of others, each named after its stream."""

    by_stream: Mapping[str, str]
    folder: str | None = None

    def of(self, stream: str) -> tuple[str | None, bool]:
        """Return where the archive of a stream is to be, None = nowhere, and whether there may be none there."""
        if self.folder is None or stream in self.by_stream:
            return self.by_stream.get(stream), False
        return f"{self.folder}/{stream}", True


@dataclass(frozen=True, slots=True)
class Computed:
    """An answer whose parts are all sent; `complete_from` None = it is complete."""

    parts: SentParts
    complete_from: str | None


def computed(
    spark: SparkSession,
    service: PsoupClient,
    connection: Connection,
    record: Mapping[str, Any],
    *,
    worker: str,
    places: Places,
) -> Computed:
    """Compute the answer of a claimed history, and send it.

    Args:
        spark: a session that is `agreeing`.
        service: tells where tuples are.
        connection: by which tasks read batches and send parts.
        record: the history's.
        worker: who has claimed it.
        places: of archives.

    Raises:
        HistoryRefusedError: it cannot be computed as things are; says what to do.
        JobFailedError: Spark gave up.
        PipelineError: what the service or the way to it refused, the driver or a task.
    """
    question = question_of(record)
    for attempt in range(ATTEMPTS_MAX):
        with spark_errors_told():
            found = [
                _found(spark, service, question, stream, places) for stream in question.streams
            ]
        try:
            with spark_errors_told():
                return _computed(spark, connection, question, found, worker)
        except JobFailedError:
            last = attempt == ATTEMPTS_MAX - 1
            if last or not any(is_gone(service, one) for one in found):
                raise
    raise AssertionError("the last attempt returns or raises")


def _found(
    spark: SparkSession, service: PsoupClient, question: Question, stream: str, places: Places
) -> StreamTuples:
    path, may_lack = places.of(stream)
    return find_tuples(spark, service, question, stream, path, may_lack=may_lack)


def _computed(
    spark: SparkSession,
    connection: Connection,
    question: Question,
    found: list[StreamTuples],
    worker: str,
) -> Computed:
    schemas = [one.schema for one in found]
    query = bound_query(question, schemas)
    windows = {one.name: windows_over(query, one.name) for one in found}
    froms = [part_complete_from_us(question, one, windows[one.name]) for one in found]
    latest_us = max((one for one in froms if one is not None), default=None)
    rows = {one.name: rows_of(spark, connection, question, one, windows[one.name]) for one in found}
    with _views(rows) as tables:
        asked = spark_query(
            question.sql, schemas, now_us=question.now_us, tables=tables, in_buckets=True
        )
        sent = send_parts(
            spark.sql(asked.rows),
            asked.outputs,
            connection=connection,
            history_id=question.history_id,
            worker=worker,
        )
    return Computed(sent, None if latest_us is None else _written(latest_us))


def _written(us: int) -> str:
    """Return an instant as the service reads it."""
    return format_instant(us).replace(" ", "T") + "Z"


@contextmanager
def _views(rows: Mapping[str, DataFrame]) -> Iterator[Mapping[str, str]]:
    """Let SQL texts read the rows for as long as the context lasts; yield under which name, by stream."""
    own = uuid.uuid4().hex
    tables = {stream: f"{stream}_{own}" for stream in rows}
    for stream, frame in rows.items():
        frame.createOrReplaceTempView(tables[stream])
    try:
        yield {stream: name_sql(name) for stream, name in tables.items()}
    finally:
        with suppress(Py4JError, OSError):  # of a JVM that is gone
            for stream, frame in rows.items():
                frame.sparkSession.catalog.dropTempView(tables[stream])
