"""Writes a stream on Spark 3.5, which has no data sources in Python, by a function for `foreachBatch`.

Makes the same promises as `writeStream.format("psoup")`: tasks stage rows, and one commit makes a micro-batch visible.
"""

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame

from psoup.client.calls import Txn
from psoup.pipeline.errors import OptionError
from psoup.pipeline.spark.options import write_options
from psoup.pipeline.spark.staging import (
    StagedRows,
    WritePlan,
    commit_stages,
    discard_stages,
    plan_write,
    stage_rows,
)

_RECEIPT: Final = "stages array<string>, rows bigint"
_RECEIPT_ARROW: Final = pa.schema([("stages", pa.list_(pa.string())), ("rows", pa.int64())])


def foreach_batch(
    url: str, stream: str, *, app: str, **options: str | float | bool
) -> Callable[[DataFrame, int], None]:
    """Return a function for `df.writeStream.foreachBatch(...)` that writes each micro-batch, once.

    Args:
        url: of the service.
        stream: name of the stream.
        app: name of the job, under which the service knows its micro-batches. Choose a new name with a new checkpoint,
            because micro-batches are then numbered from 0 again.
        options: those of `format("psoup")`, such as `token` and `createStream`.

    Raises:
        AddressError, OptionError: names the malformed argument.
    """
    given = {name: _text(value) for name, value in options.items()}
    checked = write_options({**given, "url": url, "stream": stream})
    if checked.txn is not None or not app:
        raise OptionError(
            "The job is named by app=..., which may not be empty, and Spark numbers its micro-batches: leave"
            " out 'txnAppId' and 'txnVersion'."
        )

    def write(frame: DataFrame, batch_id: int) -> None:
        plan = plan_write(checked, frame.schema)
        receipts = frame.mapInArrow(_staging(plan), _RECEIPT).collect()
        staged = [StagedRows(tuple(receipt.stages), receipt.rows) for receipt in receipts]
        try:
            commit_stages(plan, Txn(app, batch_id), staged)
        except Exception:
            discard_stages(plan, [stage for part in staged for stage in part.stages])
            raise

    return write


def _staging(plan: WritePlan) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function of a task, which stages a partition and yields one row: its receipt."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        staged = stage_rows(plan, batches)
        row = {"stages": list(staged.stages), "rows": staged.rows}
        yield pa.RecordBatch.from_pylist([row], schema=_RECEIPT_ARROW)

    return stage


def _text(value: str | float | bool) -> str:  # noqa: FBT001 - an option's value
    return str(value).lower() if isinstance(value, bool) else str(value)
