"""Batches that the service's log still has, read by tasks."""

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.errors import ReadRefusedError
from psoup.pipeline.spark.archive_answers.archive_query import TimeSpan
from psoup.pipeline.spark.archive_answers.outage import task_client
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.read.arrivals import ListedBatch, with_arrival
from psoup.pipeline.spark.read.shaping import arrow_schema_declared, rows_declared
from psoup.pipeline.spark.read.stream_reader import grouped
from psoup.pipeline.spark.schema import struct_type

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""The function of a task, over its record batches."""
_INSTANT = ARROW_TYPES[ColumnType.TIMESTAMP]


def live_rows(
    spark: SparkSession,
    connection: Connection,
    stream: str,
    columns: Sequence[ColumnSchema],
    batches: Sequence[ListedBatch],
    *,
    gen: int,
    time: str,
    span: TimeSpan,
) -> DataFrame:
    """Return the rows of these batches with times in `span`: `ARRIVAL_COLUMNS`, then the columns of the stream.

    Each task fetches some of the batches when Spark reads the rows, and fails if one is gone by then.
    """
    schema = struct_type(with_arrival(columns))
    groups = list(grouped(batches))
    if not groups:
        return spark.createDataFrame([], schema)
    declared = arrow_schema_declared(schema)

    def read(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with task_client(connection) as service:
            for number in (row for batch in numbers for row in batch.column(0).to_pylist()):
                for seq in groups[number]:
                    body = service.batch(stream, seq, gen=gen)
                    if body is None:
                        raise ReadRefusedError(
                            f"The batch of stream {stream!r} at position {seq} is gone: retention dropped it before it"
                            " was read."
                        )
                    for batch in pa.ipc.open_stream(body):
                        yield _rows_in_span(rows_declared(batch, declared), time, span)

    return spark.range(0, len(groups), numPartitions=len(groups)).mapInArrow(read, schema)


def _rows_in_span(rows: pa.RecordBatch, time: str, span: TimeSpan) -> pa.RecordBatch:
    """Return the rows with times in a span. Others match no window, so tasks need not hand them on."""
    times = rows.column(time)
    inside = pc.less_equal(times, pa.scalar(span.end_us, _INSTANT))
    if span.begin_us is not None:
        later = pc.greater_equal(times, pa.scalar(span.begin_us, _INSTANT))
        inside = pc.and_(inside, later)
    return rows.filter(inside)
