"""Batches that the service's log still has, read by tasks: some of them each."""

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.errors import ReadRefusedError
from psoup.pipeline.spark.archive_answers.outage import service_of_task
from psoup.pipeline.spark.archive_answers.question import Span
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.read.arrivals import ListedBatch, with_arrival
from psoup.pipeline.spark.read.shaping import arrow_schema_declared, rows_declared
from psoup.pipeline.spark.read.stream_reader import grouped
from psoup.pipeline.spark.schema import struct_type

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What a task does with its batches."""
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
    span: Span,
) -> DataFrame:
    """Return the rows of these batches dated inside `span`: `ARRIVAL_COLUMNS`, then those of the stream.

    Each task fetches some of the batches, whenever Spark reads the rows, which fails where one is gone by then.
    """
    schema = struct_type(with_arrival(columns))
    groups = list(grouped(batches))
    if not groups:
        return spark.createDataFrame([], schema)
    declared = arrow_schema_declared(schema)

    def read(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with service_of_task(connection) as service:
            for number in (one for batch in given for one in batch.column(0).to_pylist()):
                for seq in groups[number]:
                    body = service.batch(stream, seq, gen=gen)
                    if body is None:
                        raise ReadRefusedError(
                            f"The batch of stream {stream!r} at position {seq} is gone: retention dropped it before it"
                            " was read."
                        )
                    for batch in pa.ipc.open_stream(body):
                        yield _inside(rows_declared(batch, declared), time, span)

    return spark.range(0, len(groups), numPartitions=len(groups)).mapInArrow(read, schema)


def _inside(rows: pa.RecordBatch, time: str, span: Span) -> pa.RecordBatch:
    """Return the rows dated inside a span: the query would pass over the others, having had them from a task."""
    times = rows.column(time)
    inside = pc.less_equal(times, pa.scalar(span.end_us, _INSTANT))
    if span.begin_us is not None:
        later = pc.greater_equal(times, pa.scalar(span.begin_us, _INSTANT))
        inside = pc.and_(inside, later)
    return rows.filter(inside)
