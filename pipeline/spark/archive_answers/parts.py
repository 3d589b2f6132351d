"""The rows of an answer, sorted, cut into parts and sent by tasks.

The order is total: by the time of a row's earliest tuple, then by its tuple ids as numbers, which no two rows share.
Where the query groups, orders or limits rows, it is that of the bytes of their places.
`repartitionByRange` gives each partition the rows between two bounds, and each partition is sorted. So the rows of
partition p come before those of p + 1, and the bounds alone decide the rows of a partition and their order. Spark
samples the bounds once for a persisted DataFrame, so the same DataFrame is counted first and sent then. Parts are cut
by a function of the rows. A task that runs twice (repeated, or by speculation) therefore sends the same rows under the
same numbers, and a part that is sent twice replaces itself.

Parts are numbered from 0 without a gap, and the number of parts of a partition is known only after it is cut. So
partitions are cut twice: once to count parts, then to send them, each from the number where the one before ends. An
answer that is too large is refused before anything is sent: by its rows while they are computed, by its bytes when
they are counted.

Rows that have places are numbered over all partitions, from 0 on, and OFFSET and LIMIT are ranges of these numbers. So
the rows of partitions are counted before they are cut.
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
from psoup.pipeline.errors import ArchiveAnswerRefusedError, JobFailedError
from psoup.pipeline.spark.archive_answers.live_batches import Work
from psoup.pipeline.spark.archive_answers.outage import task_client
from psoup.pipeline.spark.options import Compression, Connection
from psoup.pipeline.spark.packing import packed
from psoup.pipeline.spark.sql.sources import ID
from psoup.pipeline.spark.sql.standing_query import LEAVES
from psoup.pipeline.spark.staging import compressed

PARTITION_ROWS: Final = 200_000
"""Rows of an answer in one partition, about: a second of work."""
PART_BYTES_MAX: Final = 8 << 20
"""Size of one part in memory: half of the limit of a request."""
PART_ROWS_MAX: Final = 100_000
TIME: Final = "_time"
"""First column of a part, before `_id` and `_x`: the time of the row's earliest tuple."""
ROW: Final = "_row"
"""In its place where rows have places: how many rows of the answer stand before the row."""
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
"""Number of a row in its partition, from 0 on; higher bits hold the partition."""
_RAISED_IN_SQL: Final = "USER_RAISED_EXCEPTION"
_LAST_INSTANT: Final = "TIMESTAMP '9999-12-31 23:59:59.999999'"
_INSTANT: Final = ARROW_TYPES[ColumnType.TIMESTAMP]


@dataclass(frozen=True, slots=True)
class SentParts:
    """The number of parts that were sent, and of the rows in them."""

    parts: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRows:
    """The rows of an answer in Spark, in any order.

    Attributes:
        frame: the rows.
        order: columns that sort them.
        shown: SELECT of the columns of a part, but for ROW.
        outputs: name and type of each output.
        has_places: whether rows are numbered.
        offset, limit: which of them the answer has; `limit` None: all behind `offset`.
    """

    frame: DataFrame
    order: Sequence[str]
    shown: Sequence[str]
    outputs: Sequence[tuple[str, ColumnType]]
    has_places: bool = False
    offset: int = 0
    limit: int | None = None

    @property
    def schema(self) -> pa.Schema:
        """Return the columns of a part. An output may have the name of one of the first three."""
        named = [(name, ARROW_TYPES[kind]) for name, kind in self.outputs]
        first = (ROW, pa.int64()) if self.has_places else (TIME, _INSTANT)
        return pa.schema([first, (ID, pa.string()), (LEAVES, _INSTANT), *named])

    def numbers(self, count: int) -> range:
        """Return the numbers of the answer's rows, out of `count` rows."""
        past = count if self.limit is None else self.offset + self.limit
        return range(count)[self.offset : past]


def dated_rows(frame: DataFrame, outputs: Sequence[tuple[str, ColumnType]]) -> AnswerRows:
    """Return the rows of `standing_query.SparkQuery.rows`, which are in order of time and ids."""
    ids = "concat_ws('-', CAST(ids AS ARRAY<STRING>)) AS id"
    leaves = f"CASE WHEN leaves <= {_LAST_INSTANT} THEN leaves END AS leaves"
    listed = [f"c{i}" for i in range(len(outputs))]
    return AnswerRows(
        frame=frame,
        order=("time", "ids"),
        shown=("time", ids, leaves, *listed),
        outputs=outputs,
    )


@dataclass(frozen=True, slots=True)
class _Numbering:
    """Numbers of rows: those of the first row of each partition, and those that the answer has."""

    firsts: Mapping[int, int]
    shown: range

    def numbered(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition that the answer has, behind their numbers in the answer."""
        number = self.firsts[_partition()]
        for batch in batches:
            begin = max(self.shown.start - number, 0)
            past = min(self.shown.stop - number, batch.num_rows)
            if begin < past:
                first = number + begin - self.shown.start
                numbers = pa.array(range(first, first + past - begin), pa.int64())
                rows = batch.slice(begin, past - begin)
                names = [ROW, *batch.schema.names]
                yield pa.RecordBatch.from_arrays([numbers, *rows.columns], names=names)
            number += batch.num_rows


@dataclass(frozen=True, slots=True)
class _Cut:
    """How a partition is cut: the columns of a part, and its largest size; and how rows are numbered."""

    schema: pa.Schema
    nbytes_max: int
    rows_max: int
    numbering: _Numbering | None = None

    def parts(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition in parts, which are the same at every call."""
        if self.numbering is not None:
            batches = self.numbering.numbered(batches)
        for part in packed(batches, nbytes_max=self.nbytes_max, rows_max=self.rows_max):
            arrays = [
                column.cast(field.type)
                for column, field in zip(part.columns, self.schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


@dataclass(frozen=True, slots=True)
class _Receipt:
    """The parts into which a task has cut its partition; `nbytes` is their size before compression."""

    partition: int
    parts: int
    rows: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class _Sending:
    """Sends the parts of a partition, in a task."""

    cutting: _Cut
    connection: Connection
    history_id: str
    worker: str

    def from_numbers(self, numbers: Mapping[int, int]) -> Work:
        """Return the function that cuts a partition and sends its parts, numbered from `numbers[partition]` on."""

        def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            rows, nbytes = [], 0
            with task_client(self.connection) as service:
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
    answer: AnswerRows,
    *,
    connection: Connection,
    history_id: str,
    worker: str,
) -> SentParts:
    """Sort the rows of an answer, send them in parts, and return the number of parts and rows.

    Args:
        answer: its rows.
        connection: options of the tasks' clients.
        history_id: handle of the archive answer.
        worker: name under which it was claimed.

    Raises:
        ArchiveAnswerRefusedError: the answer is too large.
        PySparkException: a Spark job failed.

    Cost: the rows are computed once, and stay on the executors' disks until they are sent. With LIMIT these are all
        rows, unless it is so small that the frame has no others.
    """
    most = limits.HISTORY_ROWS_MAX
    is_cut = answer.limit is not None
    with _persisted(answer.frame if is_cut else _bounded(answer.frame, most)) as kept:
        every = kept.count() if is_cut else _counted(kept, most)
        shown = answer.numbers(every)
        if len(shown) > most:
            raise ArchiveAnswerRefusedError(_too_large(f"more than {most:,} rows"))
        partitions = max(1, -(-every // PARTITION_ROWS))
        with _persisted(_in_order(answer, kept, partitions)) as ordered:
            numbering = _Numbering(_firsts(ordered), shown) if answer.has_places else None
            cutting = _Cut(answer.schema, PART_BYTES_MAX, PART_ROWS_MAX, numbering)
            send = _Sending(cutting, connection, history_id, worker)
            sent = _count_and_send(ordered, cutting, send)
    if sum(receipt.rows for receipt in sent) != len(shown):
        raise JobFailedError(
            f"The tasks sent other rows than the {len(shown)} of the answer: Spark computed them twice, differently."
        )
    return SentParts(sum(receipt.parts for receipt in sent), len(shown))


def _bounded(rows: DataFrame, most: int) -> DataFrame:
    """Return the same rows; their computation fails as soon as a partition has more than `most`.

    So no partition of a huge answer is computed to its end. LIMIT would bring all rows into one partition to count
    them, and mapInArrow cannot end early, because Spark computes the input that it leaves unread.
    """
    return rows.where(f"assert_true({_NUMBER_IN_PARTITION} < {most}) IS NULL")


def _counted(bounded: DataFrame, most: int) -> int:
    """Return the number of rows. Raises ArchiveAnswerRefusedError if there are more than `most`."""
    try:
        count = bounded.count()
    except PySparkException as error:
        if error.getCondition() != _RAISED_IN_SQL:
            raise
        count = most + 1
    if count > most:
        raise ArchiveAnswerRefusedError(_too_large(f"more than {most:,} rows"))
    return count


def _count_and_send(ordered: DataFrame, cutting: _Cut, send: _Sending) -> list[_Receipt]:
    """Send the parts of all partitions, numbered in the order of these."""
    counted = _receipts(ordered, _counting(cutting))
    nbytes = sum(receipt.nbytes for receipt in counted)
    if nbytes > limits.HISTORY_BYTES_MAX:
        most = f"{limits.HISTORY_BYTES_MAX >> 20} MiB"
        raise ArchiveAnswerRefusedError(_too_large(f"{nbytes / 2**20:,.0f} MiB, more than {most}"))
    firsts = itertools.accumulate((receipt.parts for receipt in counted), initial=0)
    numbers = {receipt.partition: first for receipt, first in zip(counted, firsts, strict=False)}
    return _receipts(ordered, send.from_numbers(numbers))


def _in_order(answer: AnswerRows, rows: DataFrame, partitions: int) -> DataFrame:
    """Return the rows of an answer in sorted partitions, with what a part has of them."""
    order = answer.order
    spread = rows.repartitionByRange(partitions, *order) if partitions > 1 else rows.coalesce(1)
    return spread.sortWithinPartitions(*order).selectExpr(*answer.shown)


def _firsts(ordered: DataFrame) -> Mapping[int, int]:
    """Return the number of the first row of each partition."""
    counted = _receipts(ordered, _counting_rows)
    firsts = itertools.accumulate((receipt.rows for receipt in counted), initial=0)
    return {receipt.partition: first for receipt, first in zip(counted, firsts, strict=False)}


def _counting_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield how many rows a partition has."""
    yield _receipt([sum(batch.num_rows for batch in batches)], 0)


def _counting(cutting: _Cut) -> Work:
    """Return the function that cuts a partition to count its parts."""

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


def _receipts(ordered: DataFrame, work: Work) -> list[_Receipt]:
    """Return the receipts of all tasks, by partition."""
    receipts = [_Receipt(*row) for row in ordered.mapInArrow(work, _RECEIPT).collect()]
    return sorted(receipts, key=lambda receipt: receipt.partition)


@contextmanager
def _persisted(rows: DataFrame) -> Iterator[DataFrame]:
    """Keep the rows on the executors' disks while the context is open."""
    rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield rows
    finally:
        with suppress(Py4JError, OSError):  # the JVM is gone
            rows.unpersist()


def _too_large(what: str) -> str:
    return (
        f"The answer has {what}, which is the most that an archive answer may have. Ask for less: a narrower"
        " window, more conditions, fewer columns."
    )
