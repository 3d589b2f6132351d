"""The rows of an answer in its order, cut into parts, and sent by tasks.

The order is total: by the time of a row's earliest tuple, then by its tuple ids as numbers, which no two rows share.
`repartitionByRange` gives each partition the rows between two bounds, and each sorts its own: so the rows of partition
p come before those of p + 1, and which rows it has, in which order, follows from the bounds alone. These Spark draws
once for a DataFrame that is persisted, which is why the same one is counted first and sent then. Parts are cut by a
function of the rows. So whoever computes a partition, and however often (a task that is repeated, or run twice by
speculation), sends the same rows under the same numbers; a part that comes twice takes its own place.

Numbers have to go from 0 on without a gap, and how many parts a partition makes shows only when it is cut. So it is
cut twice: once to count, then to send, each partition from the number on at which those before it end. Whether the
answer is too large shows before anything is sent: by its rows as they are made, by its bytes when they are counted.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import StorageLevel, TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from psoup.engine import limits
from psoup.engine.tuples.arrow import ARROW_TYPES, encode_batch
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.errors import HistoryRefusedError, JobFailedError
from psoup.pipeline.spark.archive_answers.live_batches import Work
from psoup.pipeline.spark.archive_answers.outage import service_of_task
from psoup.pipeline.spark.options import Compression, Connection
from psoup.pipeline.spark.packing import packed
from psoup.pipeline.spark.sql.standing_query import ID, LEAVES
from psoup.pipeline.spark.staging import compressed

PARTITION_ROWS: Final = 200_000
"""Of an answer in one partition, about: a second of work."""
PART_BYTES_MAX: Final = 8 << 20
"""Of one part, in memory: half of what a request may hold."""
PART_ROWS_MAX: Final = 100_000
TIME: Final = "_time"
"""In a part, before `_id` and `_x`: the time of the row's earliest tuple."""
_RECEIPT: Final = "partition int, parts int, rows bigint, bytes bigint"
_RECEIPT_ARROW: Final = pa.schema(
    [
        ("partition", pa.int32()),
        ("parts", pa.int32()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
    ]
)
_NUMBER_IN_PARTITION: Final = f"(monotonically_increasing_id() & {(1 << 33) - 1})"
"""Of a row, from 0 on; the bits above are the partition's."""
_RAISED_IN_SQL: Final = "USER_RAISED_EXCEPTION"
_LAST_INSTANT: Final = "TIMESTAMP '9999-12-31 23:59:59.999999'"
_INSTANT: Final = ARROW_TYPES[ColumnType.TIMESTAMP]


@dataclass(frozen=True, slots=True)
class SentParts:
    """How many parts were sent, numbered from 0 on, and how many rows they have together."""

    parts: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Cut:
    """How a partition is cut: the columns of a part, and how large one may be."""

    schema: pa.Schema
    nbytes_max: int
    rows_max: int

    def parts(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition in parts: the same ones, whenever it is cut."""
        for part in packed(batches, nbytes_max=self.nbytes_max, rows_max=self.rows_max):
            arrays = [
                column.cast(field.type)
                for column, field in zip(part.columns, self.schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


@dataclass(frozen=True, slots=True)
class _Receipt:
    """What a task has cut its partition into; `nbytes` as they are sent and kept, but not compressed."""

    partition: int
    parts: int
    rows: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class _Sending:
    """What a task needs to send the parts of a partition."""

    cutting: _Cut
    connection: Connection
    history_id: str
    worker: str

    def from_numbers(self, numbers: Mapping[int, int]) -> Work:
        """Return what cuts a partition and sends its parts, the first one under the partition's number in `numbers`."""

        def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            rows, nbytes = [], 0
            with service_of_task(self.connection) as service:
                first = numbers[_partition()]
                for number, part in enumerate(self.cutting.parts(batches), first):
                    encoded = encode_batch(part)
                    body, encoding = compressed(encoded, Compression.ZSTD)
                    service.put_answer_part(
                        self.history_id, self.worker, number, body, encoding=encoding
                    )
                    rows.append(part.num_rows)
                    nbytes += len(encoded)
            yield _receipt(rows, nbytes)

        return send


def send_parts(
    rows: DataFrame,
    outputs: Sequence[tuple[str, ColumnType]],
    *,
    connection: Connection,
    history_id: str,
    worker: str,
) -> SentParts:
    """Send the rows of an answer in its order, in parts; return how many.

    Args:
        rows: as `agreement.SparkQuery.rows` shows them, in any order.
        outputs: name and type of each output, as there.
        connection: to the service.
        history_id: the history whose answer it is.
        worker: who has claimed it.

    Raises:
        HistoryRefusedError: the answer is larger than one may be.
        PySparkException: Spark, or a task, gave up.

    Cost: the rows are computed once, and kept on Spark's disks until they are sent.
    """
    cutting = _Cut(_schema_of(outputs), PART_BYTES_MAX, PART_ROWS_MAX)
    send = _Sending(cutting, connection, history_id, worker)
    with _persisted(_bounded(rows, limits.HISTORY_ROWS_MAX)) as kept:
        count = _counted(kept, limits.HISTORY_ROWS_MAX)
        partitions = max(1, -(-count // PARTITION_ROWS))
        with _persisted(_in_order(kept, partitions, len(outputs))) as ordered:
            sent = _counted_and_sent(ordered, cutting, send)
    if sum(one.rows for one in sent) != count:
        raise JobFailedError(f"Of the {count} rows of the answer others were sent.")
    return SentParts(sum(one.parts for one in sent), count)


def _bounded(rows: DataFrame, most: int) -> DataFrame:
    """Return the same rows, the computing of which fails as soon as a partition has more than `most`.

    So no partition of a huge answer is made to its end. LIMIT would bring all rows into one partition to count them
    there; and a function of batches is no end, as Spark computes what that leaves unread.
    """
    return rows.where(f"assert_true({_NUMBER_IN_PARTITION} < {most}) IS NULL")


def _counted(bounded: DataFrame, most: int) -> int:
    """Return how many rows there are. Raises HistoryRefusedError where that is more than `most`."""
    try:
        count = bounded.count()
    except PySparkException as error:
        if error.getCondition() != _RAISED_IN_SQL:
            raise
        count = most + 1
    if count > most:
        raise HistoryRefusedError(_too_large(f"more than {most:,} rows"))
    return count


def _counted_and_sent(ordered: DataFrame, cutting: _Cut, send: _Sending) -> list[_Receipt]:
    """Send the parts of all partitions, each from the number on at which those before it end."""
    cut = _received(ordered, _counting(cutting))
    nbytes = sum(one.nbytes for one in cut)
    if nbytes > limits.HISTORY_BYTES_MAX:
        most = f"{limits.HISTORY_BYTES_MAX >> 20} MiB"
        raise HistoryRefusedError(_too_large(f"{nbytes / 2**20:,.0f} MiB, more than {most}"))
    firsts = itertools.accumulate((one.parts for one in cut), initial=0)
    numbers = {one.partition: first for one, first in zip(cut, firsts, strict=False)}
    return _received(ordered, send.from_numbers(numbers))


def _in_order(rows: DataFrame, partitions: int, outputs: int) -> DataFrame:
    """Return the rows by partition and within each in order: time, ids as a text, instant of leaving, outputs."""
    order = ("time", "ids")
    spread = rows.repartitionByRange(partitions, *order) if partitions > 1 else rows.coalesce(1)
    ids = "concat_ws('-', CAST(ids AS ARRAY<STRING>)) AS id"
    leaves = f"CASE WHEN leaves <= {_LAST_INSTANT} THEN leaves END AS leaves"
    listed = [f"c{i}" for i in range(outputs)]
    return spread.sortWithinPartitions(*order).selectExpr("time", ids, leaves, *listed)


def _schema_of(outputs: Sequence[tuple[str, ColumnType]]) -> pa.Schema:
    """Return the columns of a part. Outputs may be named as the three before them are."""
    named = [(name, ARROW_TYPES[kind]) for name, kind in outputs]
    return pa.schema([(TIME, _INSTANT), (ID, pa.string()), (LEAVES, _INSTANT), *named])


def _counting(cutting: _Cut) -> Work:
    """Return what cuts a partition, to see into how many parts."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cut = [(part.num_rows, len(encode_batch(part))) for part in cutting.parts(batches)]
        yield _receipt([rows for rows, _ in cut], sum(nbytes for _, nbytes in cut))

    return count


def _receipt(rows: Sequence[int], nbytes: int) -> pa.RecordBatch:
    row = {"partition": _partition(), "parts": len(rows), "rows": sum(rows), "bytes": nbytes}
    return pa.RecordBatch.from_pylist([row], schema=_RECEIPT_ARROW)


def _partition() -> int:
    """Return the number of the partition that this task computes."""
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _received(ordered: DataFrame, work: Work) -> list[_Receipt]:
    """Return what tasks have said of each partition, in the order of these."""
    found = [_Receipt(*row) for row in ordered.mapInArrow(work, _RECEIPT).collect()]
    return sorted(found, key=lambda one: one.partition)


@contextmanager
def _persisted(rows: DataFrame) -> Iterator[DataFrame]:
    """Keep the rows on the disks of whoever computes them, for as long as the context lasts."""
    rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield rows
    finally:
        with suppress(Py4JError, OSError):  # of a JVM that is gone
            rows.unpersist()


def _too_large(what: str) -> str:
    return (
        f"The answer has {what}, which is the most that an answer of a history may have. Ask for less: a narrower"
        " window, more conditions, fewer columns."
    )
