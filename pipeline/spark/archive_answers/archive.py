"""The rows of an archive that the job `archive` has written, and the position of its last batch.

Spark reads only the files that `_spark_metadata` lists: those of committed micro-batches. So an archive ends with a
whole batch of the stream.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, functions
from pyspark.sql.types import DateType, StructField, StructType

from psoup.engine.limits import DAY_US, TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.engine.tuples.schema import ColumnSchema
from psoup.pipeline.errors import ArchiveAnswerRefusedError
from psoup.pipeline.spark.archive_answers.archive_note import ArchiveNote, checkpoint_of
from psoup.pipeline.spark.archive_answers.archive_query import TimeSpan
from psoup.pipeline.spark.launch.checkpoints import last_written_batch, read_position
from psoup.pipeline.spark.read.arrivals import with_arrival
from psoup.pipeline.spark.schema import struct_type
from psoup.pipeline.spark.transforms.event_time import DAY
from psoup.pipeline.spark.transforms.mapping import column

SEQ: Final = "_seq"
_NOTHING_THERE: Final = frozenset({"PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"})
_FROM_FOOTERS: Final = {
    "spark.sql.sources.useV1SourceList": "",  # only the V2 reader pushes aggregates down
    "spark.sql.parquet.aggregatePushdown": "true",
}
_DAY_ONE: Final = dt.date(1970, 1, 1)


def archived_rows(
    spark: SparkSession, path: str, columns: Sequence[ColumnSchema]
) -> DataFrame | None:
    """Return all rows of an archive: `ARRIVAL_COLUMNS`, those of the stream, and `DAY`. None: no rows yet.

    Columns that were added to the stream after a file was written are NULL in its rows.

    Raises:
        ArchiveAnswerRefusedError: its columns are not those of the stream.
    """
    rows = _written(spark, path)
    if rows is None:
        return None
    *fields, day = struct_type(with_arrival(columns)).add(StructField(DAY, DateType())).fields
    expected = StructType([*fields, day])
    # Spark takes the columns of one of the files, which may lack those that were added since it was written.
    count = len(rows.schema) - 1
    written, later = StructType([*fields[:count], day]), fields[count:]
    if _shown(rows.schema) != _shown(written) or not all(field.nullable for field in later):
        raise ArchiveAnswerRefusedError(
            f"The archive {path} has the columns {rows.schema.simpleString()}, where those of the stream make"
            f" {expected.simpleString()}: the archive is of another stream, or of one that was declared otherwise."
            " Name the folder that `psoup pipeline archive` writes for this stream: --archive STREAM=DIR."
        )
    return spark.read.schema(expected).parquet(path)


def archived_through(spark: SparkSession, path: str, note: ArchiveNote) -> int:
    """Return the position up to which an archive has every batch that came since its note.

    Spark's checkpoint holds the position. If the checkpoint is missing, or ahead of the files (as in a copy), it is
    the position of the last batch with rows. Call this before `archived_rows`, which may have rows of later batches.
    """
    known = read_position(spark, checkpoint_of(path, note.checkpoint))
    offset = known.offset
    if (
        offset is None
        or offset["gen"] != note.gen
        or known.committed > last_written_batch(spark, path)
    ):
        return last_position(spark, path)
    return int(offset["seq"])


def last_position(spark: SparkSession, path: str) -> int:
    """Return the position of the last batch of an archive that has rows; 0 if there are none.

    Cost: tasks read the footers of all files: about a millisecond each.
    """
    own = spark.newSession()
    for name, value in _FROM_FOOTERS.items():
        own.conf.set(name, value)
    rows = _written(own, path)
    found = None if rows is None else rows.agg(functions.max(SEQ)).first()
    return int(found[0]) if found is not None and found[0] is not None else 0


def _written(spark: SparkSession, path: str) -> DataFrame | None:
    """Return the rows that Spark has written to an archive; None: no rows yet."""
    try:
        return spark.read.parquet(path)
    except AnalysisException as error:
        if error.getCondition() in _NOTHING_THERE:
            return None
        raise


def within(rows: DataFrame, *, up_to: int, span: TimeSpan) -> DataFrame:
    """Return the rows of batches up to a position, on the days that `span` meets; files of other days are not read."""
    chosen = rows.where((column(SEQ) <= up_to) & (column(DAY) <= _day(span.end_us)))
    return chosen if span.begin_us is None else chosen.where(column(DAY) >= _day(span.begin_us))


def _day(us: int) -> Column:
    """Return the UTC day of an instant, clamped to the first and last day that a timestamp can have."""
    clamped_us = min(max(us, TIMESTAMP_US_MIN), TIMESTAMP_US_MAX)
    day = _DAY_ONE + dt.timedelta(days=clamped_us // DAY_US)
    return functions.expr(
        f"DATE '{day.isoformat()}'"
    )  # PySpark's own literal goes by another calendar


def _shown(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in schema]
