"""An archive as `archive` has written it: its rows, how far they go, and what they are of.

Spark reads the files that `_spark_metadata` lists: those of micro-batches that were committed, and no others. So what
is there ends with a whole batch of the stream.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, functions
from pyspark.sql.types import DateType, StructField, StructType

from engine.limits import DAY_US, TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from engine.tuples.schema import ColumnSchema
from pipeline.errors import HistoryRefusedError
from pipeline.spark.arriving import ARRIVAL_COLUMNS
from pipeline.spark.history.question import Span
from pipeline.spark.schema import struct_type
from pipeline.spark.transforms.event_time import DAY
from pipeline.spark.transforms.mapping import column

SEQ: Final = "_seq"
_NOTHING_THERE: Final = frozenset({"PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"})
_FROM_FOOTERS: Final = {
    "spark.sql.sources.useV1SourceList": "",  # the other reader takes no aggregates over
    "spark.sql.parquet.aggregatePushdown": "true",
}
_DAY_ONE: Final = dt.date(1970, 1, 1)


def archived_rows(
    spark: SparkSession, path: str, columns: Sequence[ColumnSchema]
) -> DataFrame | None:
    """Return all rows of an archive: `ARRIVAL_COLUMNS`, those of the stream, and `DAY`. None = none were written yet.

    Raises:
        HistoryRefusedError: its columns are others.
    """
    try:
        rows = spark.read.parquet(path)
    except AnalysisException as error:
        if error.getCondition() in _NOTHING_THERE:
            return None
        raise
    expected = struct_type((*ARRIVAL_COLUMNS, *columns)).add(StructField(DAY, DateType()))
    if _shown(rows.schema) != _shown(expected):
        raise HistoryRefusedError(
            f"The archive {path} has the columns {rows.schema.simpleString()}, where those of the stream make"
            f" {expected.simpleString()}: it is another stream's, or of one that was declared otherwise. Name the"
            " folder that `psoup pipeline archive` writes for this stream: --archive STREAM=DIR."
        )
    return rows


def last_position(spark: SparkSession, path: str) -> int:
    """Return the position of the last batch of an archive that has rows; 0 where there are none.

    Cost: the footers of its files are read, by tasks, and nothing else of them.
    """
    own = spark.newSession()
    for name, value in _FROM_FOOTERS.items():
        own.conf.set(name, value)
    try:
        found = own.read.parquet(path).agg(functions.max(SEQ)).first()
    except AnalysisException as error:
        if error.getCondition() in _NOTHING_THERE:
            return 0
        raise
    return int(found[0]) if found is not None and found[0] is not None else 0


def within(rows: DataFrame, *, up_to: int, span: Span) -> DataFrame:
    """Return the rows of batches up to a position, of the days that `span` meets; those of other days are not read."""
    chosen = rows.where((column(SEQ) <= up_to) & (column(DAY) <= _day(span.end_us)))
    return chosen if span.begin_us is None else chosen.where(column(DAY) >= _day(span.begin_us))


def _day(us: int) -> Column:
    """Return the UTC day of an instant, the first or last there is where it lies outside."""
    kept_us = min(max(us, TIMESTAMP_US_MIN), TIMESTAMP_US_MAX)
    day = _DAY_ONE + dt.timedelta(days=kept_us // DAY_US)
    return functions.expr(
        f"DATE '{day.isoformat()}'"
    )  # as a literal it would go by another calendar


def _shown(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in schema]
