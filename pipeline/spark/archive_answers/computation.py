"""The computation of an archive answer: find the tuples, run the query in Spark SQL, send the rows."""

import functools
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from psoup.client.calls import PsoupClient
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.time_literals import format_instant
from psoup.engine.query.window import Window, windows_of
from psoup.engine.shaping.found_rows import columns_read
from psoup.engine.tuples.schema import StreamSchema
from psoup.pipeline.errors import JobFailedError
from psoup.pipeline.spark.archive_answers.archive_query import (
    ArchiveQuery,
    archive_query_of,
    bound_query,
    windows_over,
)
from psoup.pipeline.spark.archive_answers.parts import SentParts, dated_rows, send_parts
from psoup.pipeline.spark.archive_answers.shaped_rows import ShapedAnswer
from psoup.pipeline.spark.archive_answers.tuples import (
    StreamTuples,
    find_tuples,
    is_gone,
    part_complete_from_us,
    rows_of,
)
from psoup.pipeline.spark.launch.job_run import translated_spark_errors
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.sql.hits import hits_sql
from psoup.pipeline.spark.sql.standing_query import spark_query
from psoup.pipeline.spark.sql.terms import name_sql

ATTEMPTS_MAX: Final = 3
"""Attempts to find tuples, when batches were archived and dropped from the log before a task read them."""


@dataclass(frozen=True, slots=True)
class ArchivePaths:
    """Paths of archives: `by_stream`, and a `folder` in which the archives of other streams have the stream's name."""

    by_stream: Mapping[str, str]
    folder: str | None = None

    def of(self, stream: str) -> tuple[str | None, bool]:
        """Return the path of a stream's archive (None: it has none), and whether the archive may be missing there."""
        if self.folder is None or stream in self.by_stream:
            return self.by_stream.get(stream), False
        return f"{self.folder}/{stream}", True


@dataclass(frozen=True, slots=True)
class SentAnswer:
    """An answer whose parts are all sent.

    Attributes:
        parts: how many.
        complete_from: None: it is complete.
        overflowed: aggregates that are NULL somewhere because they overflow.
    """

    parts: SentParts
    complete_from: str | None
    overflowed: Sequence[str] = ()


def compute_answer(
    spark: SparkSession,
    service: PsoupClient,
    connection: Connection,
    record: Mapping[str, Any],
    *,
    worker: str,
    paths: ArchivePaths,
) -> SentAnswer:
    """Compute a claimed archive answer and send its rows.

    Args:
        spark: a session that is `agreeing`.
        service: lists the batches of the log.
        connection: options with which tasks read batches and send parts.
        record: the record of the archive answer.
        worker: name under which it was claimed.
        paths: of the archives.

    Raises:
        ArchiveAnswerRefusedError: it cannot be computed at present; the message says what to do.
        JobFailedError: a Spark job failed.
        PsoupError: the service refused a request of the driver or of a task.
    """
    archive_query = archive_query_of(record)
    for attempt in range(ATTEMPTS_MAX):
        with translated_spark_errors():
            streams = [
                _find(spark, service, archive_query, stream, paths)
                for stream in archive_query.streams
            ]
        try:
            with translated_spark_errors():
                return _compute(spark, connection, archive_query, streams, worker)
        except JobFailedError:
            last = attempt == ATTEMPTS_MAX - 1
            if last or not any(is_gone(service, stream) for stream in streams):
                raise
    raise AssertionError("the last attempt returns or raises")


def _find(
    spark: SparkSession,
    service: PsoupClient,
    archive_query: ArchiveQuery,
    stream: str,
    paths: ArchivePaths,
) -> StreamTuples:
    path, may_lack = paths.of(stream)
    return find_tuples(spark, service, archive_query, stream, path, may_lack=may_lack)


def _compute(
    spark: SparkSession,
    connection: Connection,
    archive_query: ArchiveQuery,
    streams: list[StreamTuples],
    worker: str,
) -> SentAnswer:
    schemas = [stream.schema for stream in streams]
    query = bound_query(archive_query, schemas)
    windows = {stream.name: windows_over(query, stream.name) for stream in streams}
    bounds_us = [
        part_complete_from_us(archive_query, stream, windows[stream.name]) for stream in streams
    ]
    latest_us = max((bound_us for bound_us in bounds_us if bound_us is not None), default=None)
    ahead: Sequence[Window] = ()
    if query.shape.keys is not None or query.shape.looks_past_hits:
        # What is to come decides when a row or a group changes.
        ahead = windows_of(query.window, query.ranges, len(query.clause.sources))
    rows = {
        stream.name: rows_of(
            spark,
            connection,
            archive_query,
            stream,
            windows[stream.name],
            ahead=ahead,
        )
        for stream in streams
    }
    send = functools.partial(
        send_parts,
        connection=connection,
        history_id=archive_query.history_id,
        worker=worker,
    )
    complete_from = None if latest_us is None else _written(latest_us)
    with _views(rows) as tables:
        if query.shape.selects_only:
            translated = spark_query(
                archive_query.sql,
                schemas,
                now_us=archive_query.now_us,
                tables=tables,
                in_buckets=True,
            )
            answer = dated_rows(spark.sql(translated.rows), translated.outputs)
            return SentAnswer(send(answer), complete_from)
        shaped = _shaped(spark, archive_query, query, schemas, tables)
        return SentAnswer(send(shaped.rows), complete_from, shaped.overflowed)


def _shaped(
    spark: SparkSession,
    archive_query: ArchiveQuery,
    query: BoundQuery,
    schemas: Sequence[StreamSchema],
    tables: Mapping[str, str],
) -> ShapedAnswer:
    """Return the answer of a query that groups, orders or limits rows, planned."""
    shape = query.shape
    hits = hits_sql(
        archive_query.sql,
        schemas,
        now_us=archive_query.now_us,
        read=columns_read(shape),
        is_ahead=shape.keys is not None,
        tables=tables,
    )
    return ShapedAnswer(
        spark,
        spark.sql(hits),
        shape,
        sources=len(query.clause.sources),
        now_us=query.window.rounded(archive_query.now_us),
    )


def _written(us: int) -> str:
    """Return an instant as the service writes it."""
    return format_instant(us).replace(" ", "T") + "Z"


@contextmanager
def _views(rows: Mapping[str, DataFrame]) -> Iterator[Mapping[str, str]]:
    """Register the rows as temporary views while the context is open; yield the name of each view, by stream."""
    own = uuid.uuid4().hex
    tables = {stream: f"{stream}_{own}" for stream in rows}
    for stream, frame in rows.items():
        frame.createOrReplaceTempView(tables[stream])
    try:
        yield {stream: name_sql(name) for stream, name in tables.items()}
    finally:
        with suppress(Py4JError, OSError):  # the JVM is gone
            for stream, frame in rows.items():
                frame.sparkSession.catalog.dropTempView(tables[stream])
