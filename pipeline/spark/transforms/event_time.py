"""The time column: as an instant, as a sort key, and by day."""

from typing import Final

from pyspark.sql import DataFrame, functions, types

from psoup.pipeline.spark.transforms.mapping import column, selected

DAY: Final = "day"
"""The column by which an archive is partitioned: the UTC day of the tuple time."""
_DATING: Final = (types.DateType, types.StringType, types.TimestampNTZType)
"""What is written as a date or a time of day. Numbers are not: they do not say what they count."""


def dated(rows: DataFrame, time: str | None) -> DataFrame:
    """Return the same columns with `time` as an instant, if it is a text, a date or a time without zone.

    These are read in the session's time zone, which is UTC in the jobs. A text that is no time fails the job. Without
    a time column the rows stay unchanged.
    """
    if time is None or not isinstance(rows.schema[time].dataType, _DATING):
        return selected(rows, rows.columns)
    return rows.select(
        *(
            column(name).cast(types.TimestampType()).alias(name) if name == time else column(name)
            for name in rows.columns
        )
    )


def in_time_order(rows: DataFrame, time: str | None) -> DataFrame:
    """Return the rows sorted by `time` over all partitions; unchanged without a time column.

    Only for batches: Spark sorts no stream.
    """
    ordered = rows if time is None else rows.orderBy(column(time))
    return selected(ordered, rows.columns)


def by_day(rows: DataFrame, time: str) -> DataFrame:
    """Return the columns of the rows, then `DAY`: the date of `time` in the session's time zone."""
    day = functions.to_date(column(time)).alias(DAY)
    return rows.select(*(column(name) for name in rows.columns), day)
