"""The writers of `df.write` and `df.writeStream`: Spark calls them in its tasks, and once at the end.

A task's process learns its query and micro-batch from Spark's local properties. The process that commits knows only
the number of the micro-batch, and has a new writer. So the messages of the tasks carry all that a commit needs; Spark
hands over those of the attempts that count.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType
from typing_extensions import override

from psoup.client.appends.writers import Writer
from psoup.client.calls import Txn
from psoup.pipeline.errors import OptionError, WriteRefusedError
from psoup.pipeline.spark.options import WriteOptions
from psoup.pipeline.spark.staging import (
    StagedRows,
    commit_stages,
    discard_stages,
    plan_write,
    stage_rows,
)

QUERY_ID_PROPERTY: Final = "sql.streaming.queryId"
"""Spark's property with `StreamingQuery.id`, which the checkpoint fixes. Undocumented, so a test guards it."""
BATCH_ID_PROPERTY: Final = "streaming.sql.batchId"


@dataclass(frozen=True)
class WrittenPartition(WriterCommitMessage):
    """Message of a task of a batch write to the commit."""

    staged: StagedRows


@dataclass(frozen=True)
class WrittenMicroBatchPartition(WrittenPartition):
    """Message of a task of a micro-batch to the commit, with its query and micro-batch."""

    query_id: str
    batch_id: int


class PsoupWriter(DataSourceArrowWriter):
    """One `df.write`, whose rows become visible at once or not at all.

    Made once, when the write is planned; tasks and commit get copies.
    """

    def __init__(self, options: WriteOptions, schema: StructType, *, overwrite: bool) -> None:
        """Check the stream, or declare it.

        Raises:
            OptionError: a batch write does not support an option.
            PsoupError: as `plan_write`.
        """
        _refuse_overwriting(options.stream, overwrite=overwrite)
        self._txn = None if options.txn is None else Txn(*options.txn)
        self._plan = plan_write(options, schema)

    @override
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage the rows of one partition."""
        return WrittenPartition(stage_rows(self._plan, iterator))

    @override
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make the rows of all partitions visible: under the user's name and number, else under one of this machine's.

        A stream remembers a thousand names for good. So a write has none of its own: it takes one of those that
        programs here use one after the other, as the Python client does.
        """
        staged = [message.staged for message in _written(messages)]
        if self._txn is not None:
            commit_stages(self._plan, self._txn, staged)
            return
        with closing(Writer()) as writer:
            self._txn = writer.next()  # kept: a commit that is repeated is the same one
            commit_stages(self._plan, self._txn, staged)

    @override
    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Discard the parts that the messages name; a commit that took place stays."""
        discard_stages(self._plan, _stages(messages))


class PsoupStreamWriter(DataSourceStreamArrowWriter):
    """One micro-batch of a `df.writeStream`, whose rows become visible at once, and once."""

    def __init__(self, options: WriteOptions, schema: StructType, *, overwrite: bool) -> None:
        """Check the stream, or declare it.

        Raises:
            OptionError: a streaming query does not support an option.
            PsoupError: as `plan_write`.
        """
        _refuse_overwriting(options.stream, overwrite=overwrite)
        if options.txn is not None:
            raise OptionError(
                "The options 'txnAppId' and 'txnVersion' are for df.write: a streaming query has its"
                " own name and numbers, which its checkpoint keeps. Leave them out."
            )
        self._plan = plan_write(options, schema)

    @override
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage the rows of one partition of the micro-batch."""
        query_id, batch_id = micro_batch_of_task()
        return WrittenMicroBatchPartition(stage_rows(self._plan, iterator), query_id, batch_id)

    @override
    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Make the rows of the micro-batch visible, unless they are visible already."""
        written = _written(messages)
        if not any(message.staged.stages for message in written):
            return
        query_ids = {
            (message.query_id, message.batch_id)
            for message in written
            if isinstance(message, WrittenMicroBatchPartition)
        }
        if len(query_ids) != 1 or next(iter(query_ids))[1] != batchId:
            raise WriteRefusedError(
                f"The tasks of micro-batch {batchId} say that they belong to {sorted(query_ids)}:"
                " expected one query and this number. Nothing was stored."
            )
        txn = Txn(app_of(next(iter(query_ids))[0]), batchId)
        commit_stages(self._plan, txn, [message.staged for message in written])

    @override
    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Discard the parts that the messages name; a commit that took place stays.

        Spark also calls this if the commit took place and its answer was lost.
        """
        discard_stages(self._plan, _stages(messages))


def app_of(query_id: str) -> str:
    """Return the name of a streaming query's producer. It changes if the checkpoint is deleted."""
    return f"spark:{query_id}"


def micro_batch_of_task() -> tuple[str, int]:
    """Return `StreamingQuery.id` and the number of the micro-batch of this task.

    Raises:
        WriteRefusedError: this version of Spark does not provide them.
    """
    task = TaskContext.get()
    query_id = None if task is None else task.getLocalProperty(QUERY_ID_PROPERTY)
    batch_id = None if task is None else task.getLocalProperty(BATCH_ID_PROPERTY)
    if query_id is None or batch_id is None:
        raise WriteRefusedError(
            f"Spark does not say to which query and micro-batch a task belongs ({QUERY_ID_PROPERTY},"
            f" {BATCH_ID_PROPERTY}): without them rows could be stored twice. Use a version of Spark"
            " from 4.2 on that psoup is tested with, or foreachBatch with psoup.pipeline.spark.foreach."
        )
    return query_id, int(batch_id)


def _refuse_overwriting(stream: str, *, overwrite: bool) -> None:
    if overwrite:
        raise OptionError(
            f'A stream only grows: {stream!r} cannot be overwritten. Use .mode("append"), or'
            ' outputMode("append"); to begin anew, drop the stream first.'
        )


def _written(messages: Sequence[WriterCommitMessage | None]) -> list[WrittenPartition]:
    return [message for message in messages if isinstance(message, WrittenPartition)]


def _stages(messages: Sequence[WriterCommitMessage | None]) -> list[str]:
    return [stage for message in _written(messages) for stage in message.staged.stages]
