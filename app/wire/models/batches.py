"""Batches of a stream as the log has them, and the hold that keeps them there: what an archive is written from."""

from collections.abc import Sequence

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from psoup.engine.log.contract import LoggedBatch
from psoup.engine.log.operation import Operation, Rows
from psoup.engine.tuples.arrow import ARROW_TYPES, decode_batch, encode_batch
from psoup.engine.tuples.schema import ColumnType, StreamSchema

ADDED: dict[str, ColumnType] = {
    "_id": ColumnType.INT64,
    "_seq": ColumnType.INT64,
    "_arrival": ColumnType.TIMESTAMP,
}
"""Columns that stand before the declared ones: a tuple's id, its batch's position and arrival."""


class BatchAnswer(BaseModel):
    """One batch in the log; `bytes` are those of its body there."""

    seq: int
    bytes: int


class BatchList(BaseModel):
    """A page of a stream's batches, ascending, up to the applied position `seq`.

    Attributes:
        forgotten_through: the largest position of a batch with rows that the log has forgotten; 0 = none.
    """

    gen: int
    seq: int
    stream: str
    forgotten_through: int
    batches: list[BatchAnswer]
    next: str | None


class HoldBody(BaseModel):
    """The body of PUT /v1/streams/{name}/archive."""

    model_config = ConfigDict(extra="forbid", strict=True)

    through: int = Field(
        ge=0, lt=2**63, description="Batches up to this position need not be held any more."
    )
    gen: int | None = Field(
        default=None, ge=0, lt=2**63, description="The history that the position is of."
    )


class HoldAnswer(BaseModel):
    """What is held for an archive: the stream's batches past `through`, how many and how large."""

    stream: str
    through: int
    held_batches: int
    held_bytes: int


def described(batches: Sequence[LoggedBatch]) -> list[dict[str, int]]:
    """Return the members of `BatchList.batches`."""
    return [{"seq": one.seq, "bytes": one.nbytes} for one in batches]


def batch_to_arrow(schema: StreamSchema, operation: Operation, content: Rows) -> bytes:
    """Return an Arrow IPC stream of one batch: the columns ADDED, then the declared ones, in that order.

    Raises:
        IntegrityError: the body is not a batch of this stream.
    """
    batch = decode_batch(schema, content.body)
    rows, first = batch.num_rows, operation.first_tuple_id
    added = [
        pa.array(range(first, first + rows), ARROW_TYPES[ADDED["_id"]]),
        pa.repeat(pa.scalar(operation.seq, ARROW_TYPES[ADDED["_seq"]]), rows),
        pa.repeat(pa.scalar(operation.arrival_us, ARROW_TYPES[ADDED["_arrival"]]), rows),
    ]
    fields = [pa.field(name, ARROW_TYPES[kind], nullable=False) for name, kind in ADDED.items()]
    whole = pa.RecordBatch.from_arrays(
        [*added, *batch.columns], schema=pa.schema([*fields, *batch.schema])
    )
    return encode_batch(whole)
